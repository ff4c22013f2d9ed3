/* SPDX-License-Identifier: Apache-2.0
 *
 * check/data.c - test data by hash.
 */
#include "check/data.h"

#include "check/half.h"

#include <float.h>
#include <math.h>

uint64_t chm_data_hash(uint64_t seed, uint64_t tensor, uint64_t element, uint64_t contribution)
{
    uint64_t z = seed * UINT64_C(0x9E3779B97F4A7C15) + tensor * UINT64_C(0xBF58476D1CE4E5B9) +
                 element * UINT64_C(0x94D049BB133111EB) + contribution * UINT64_C(0xD6E8FEB86659FD93);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* The largest N such that every integer of at most N in magnitude is exact; f64 need not go further than f32. */
static int64_t exact_limit(ChmDtype dtype)
{
    switch (dtype) {
    case CHM_F64:
    case CHM_F32:
        return 1 << 20;
    case CHM_F16:
        return 1 << 11;
    case CHM_BF16:
        return 1 << 8;
    case CHM_I64:
    case CHM_I32:
    case CHM_I8:
    case CHM_U8:
    case CHM_NDTYPES:
        break;
    }
    return 1; /* integers wrap */
}

static double epsilon(ChmDtype dtype)
{
    switch (dtype) {
    case CHM_F64:
        return DBL_EPSILON;
    case CHM_F32:
        return FLT_EPSILON;
    case CHM_F16:
        return 0x1p-10;
    case CHM_BF16:
        return 0x1p-7;
    case CHM_I64:
    case CHM_I32:
    case CHM_I8:
    case CHM_U8:
    case CHM_NDTYPES:
        break;
    }
    return 0;
}

void chm_data_init(ChmData *d, const ChmDataSpec *spec, const ChmTensor *t, const ChmLayout *layout)
{
    ChmAxisSeq partial = chm_seq_of_set(layout->partial);
    int64_t k = chm_mesh_extent(layout->mesh, &partial), limit = exact_limit(t->dtype);
    *d = (ChmData){.spec = spec, .tensor = t, .layout = layout, .contributions = k, .limit = 1, .stride = 1};
    d->random = spec->random_float && chm_dtypes[t->dtype].kind == CHM_KIND_FLOAT;
    if (k > limit)
        d->stride = (k + limit - 1) / limit;
    else
        d->limit = limit / k;
}

static inline uint64_t hash_of(const ChmData *d, int64_t element, int64_t contribution)
{
    return chm_data_hash(d->spec->seed, (uint64_t)d->tensor->index, (uint64_t)element, (uint64_t)contribution);
}

static inline int64_t small_of(const ChmData *d, uint64_t z, int64_t contribution)
{
    if (contribution % d->stride != 0)
        return 0;
    return (int64_t)(z % (uint64_t)(2 * d->limit + 1)) - d->limit;
}

static inline double uniform_of(uint64_t z)
{
    return (double)(z >> 11) * 0x1p-52 - 1.0;
}

/* STORE(i, expression): one loop per dtype, so that the loops stay tight. i64 and i32 bits are those of the unsigned
 * sum. */
#define FOR_EACH(T, expression)         \
    do {                                \
        T *at = out;                    \
        for (int64_t i = 0; i < n; i++) \
            at[i] = (T)(expression);    \
    } while (0)

#define FOR_DTYPE(dtype, integer, small)                     \
    switch (dtype) {                                         \
    case CHM_F64:                                            \
        FOR_EACH(double, small);                             \
        break;                                               \
    case CHM_F32:                                            \
        FOR_EACH(float, small);                              \
        break;                                               \
    case CHM_F16:                                            \
        FOR_EACH(uint16_t, chm_f16_of_f32((float)(small)));  \
        break;                                               \
    case CHM_BF16:                                           \
        FOR_EACH(uint16_t, chm_bf16_of_f32((float)(small))); \
        break;                                               \
    case CHM_I64:                                            \
        FOR_EACH(uint64_t, integer);                         \
        break;                                               \
    case CHM_I32:                                            \
        FOR_EACH(uint32_t, integer);                         \
        break;                                               \
    case CHM_I8:                                             \
    case CHM_U8:                                             \
        FOR_EACH(uint8_t, integer);                          \
        break;                                               \
    case CHM_NDTYPES:                                        \
        break;                                               \
    }

void chm_data_fill(const ChmData *d, int64_t contribution, int64_t element, int64_t n, void *out)
{
    if (d->random) {
        FOR_DTYPE(d->tensor->dtype, 0, uniform_of(hash_of(d, element + i, contribution)));
    } else {
        FOR_DTYPE(d->tensor->dtype, hash_of(d, element + i, contribution),
                  small_of(d, hash_of(d, element + i, contribution), contribution));
    }
}

static inline uint64_t sum_integers(const ChmData *d, const int64_t *c, int64_t nc, int64_t element)
{
    uint64_t sum = 0;
    for (int64_t j = 0; j < nc; j++)
        sum += hash_of(d, element, c[j]);
    return sum;
}

static inline int64_t sum_small(const ChmData *d, const int64_t *c, int64_t nc, int64_t element)
{
    int64_t sum = 0;
    for (int64_t j = 0; j < nc; j++)
        sum += small_of(d, hash_of(d, element, c[j]), c[j]);
    return sum;
}

void chm_data_sum(const ChmData *d, const int64_t *contributions, int64_t ncontributions, int64_t element, int64_t n,
                  void *out)
{
    FOR_DTYPE(d->tensor->dtype, sum_integers(d, contributions, ncontributions, element + i),
              sum_small(d, contributions, ncontributions, element + i));
}

double chm_data_load(ChmDtype dtype, const void *at)
{
    switch (dtype) {
    case CHM_F64:
        return *(const double *)at;
    case CHM_F32:
        return (double)*(const float *)at;
    case CHM_F16:
        return (double)chm_f32_of_f16(*(const uint16_t *)at);
    case CHM_BF16:
        return (double)chm_f32_of_bf16(*(const uint16_t *)at);
    case CHM_I64:
        return (double)*(const int64_t *)at;
    case CHM_I32:
        return (double)*(const int32_t *)at;
    case CHM_I8:
        return (double)*(const int8_t *)at;
    case CHM_U8:
        return (double)*(const uint8_t *)at;
    case CHM_NDTYPES:
        break;
    }
    return 0;
}

void chm_data_sum_random(const ChmData *d, const int64_t *contributions, int64_t ncontributions, int64_t element,
                         double *sum, double *tolerance)
{
    double total = 0, magnitude = 0;
    for (int64_t j = 0; j < ncontributions; j++) {
        union {
            double d;
            float f;
            uint16_t h;
        } one;
        chm_data_fill(d, contributions[j], element, 1, &one);
        double v = chm_data_load(d->tensor->dtype, &one);
        total += v;
        magnitude += fabs(v);
    }
    *sum = total;
    *tolerance = ncontributions > 1 ? (double)ncontributions * epsilon(d->tensor->dtype) * magnitude : 0;
}

int64_t chm_data_agreeing(const ChmData *d, ChmAxes stay, int32_t rank, int64_t *out)
{
    const ChmMesh *mesh = d->layout->mesh;
    int64_t n = 0;
    for (int64_t c = 0; c < d->contributions; c++) {
        bool agrees = true;
        int64_t rest = c;
        for (int32_t a = mesh->naxes - 1; a >= 0; a--) {
            if (!(d->layout->partial & CHM_AXIS(a)))
                continue;
            if (stay & CHM_AXIS(a) && rest % mesh->axis_size[a] != chm_mesh_coord(mesh, rank, a))
                agrees = false;
            rest /= mesh->axis_size[a];
        }
        if (agrees)
            out[n++] = c;
    }
    return n;
}
