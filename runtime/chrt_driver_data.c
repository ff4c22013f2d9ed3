/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_driver_data.c - see chrt_driver.h for the definition of the data. O(local elements x contributions).
 */
#include "chrt_driver_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t chrt_driver_hash(uint64_t seed, uint64_t tensor, uint64_t element, uint64_t contribution)
{
    uint64_t z = seed * UINT64_C(0x9E3779B97F4A7C15) + tensor * UINT64_C(0xBF58476D1CE4E5B9) +
                 element * UINT64_C(0x94D049BB133111EB) + contribution * UINT64_C(0xD6E8FEB86659FD93);
    z ^= z >> 30;
    z *= UINT64_C(0xBF58476D1CE4E5B9);
    z ^= z >> 27;
    z *= UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int64_t chrt_driver_small(ChrtDtype dtype, uint64_t z, int64_t contribution, int64_t contributions)
{
    int64_t limit = dtype == CHRT_F16 ? 1 << 11 : dtype == CHRT_BF16 ? 1 << 8 : 1 << 20, m = limit / contributions;
    if (m < 1) {
        int64_t stride = (contributions + limit - 1) / limit;
        if (contribution % stride != 0)
            return 0;
        m = 1;
    }
    return (int64_t)(z % (uint64_t)(2 * m + 1)) - m;
}

/* ---- one element ------------------------------------------------------------------------------------------------ */

static bool is_float(ChrtDtype dtype)
{
    return dtype == CHRT_F64 || dtype == CHRT_F32 || dtype == CHRT_F16 || dtype == CHRT_BF16;
}

/* The bits of a number in a floating-point dtype, rounded. */
static uint64_t encode(ChrtDtype dtype, double value)
{
    uint64_t bits = 0;
    float narrow = (float)value;
    if (dtype == CHRT_F64)
        memcpy(&bits, &value, sizeof value);
    else if (dtype == CHRT_F32)
        memcpy(&bits, &narrow, sizeof narrow);
    else
        bits = dtype == CHRT_F16 ? chrt_f16_from_f32(narrow) : chrt_bf16_from_f32(narrow);
    return bits;
}

static double decode(ChrtDtype dtype, uint64_t bits)
{
    double value = 0;
    float narrow = 0;
    if (dtype == CHRT_F64)
        memcpy(&value, &bits, sizeof value);
    else if (dtype == CHRT_F32) {
        memcpy(&narrow, &bits, sizeof narrow);
        value = (double)narrow;
    } else if (dtype == CHRT_F16 || dtype == CHRT_BF16)
        value = (double)(dtype == CHRT_F16 ? chrt_f32_from_f16((uint16_t)bits) : chrt_f32_from_bf16((uint16_t)bits));
    return value;
}

static double epsilon(ChrtDtype dtype)
{
    return dtype == CHRT_F64 ? 0x1p-52 : dtype == CHRT_F32 ? 0x1p-23 : dtype == CHRT_F16 ? 0x1p-10 : 0x1p-7;
}

static uint64_t load(const void *buffer, int64_t i, int32_t width)
{
    const unsigned char *at = (const unsigned char *)buffer + i * width;
    uint8_t b1;
    uint16_t b2;
    uint32_t b4;
    uint64_t b8;
    switch (width) {
    case 1:
        memcpy(&b1, at, sizeof b1);
        return b1;
    case 2:
        memcpy(&b2, at, sizeof b2);
        return b2;
    case 4:
        memcpy(&b4, at, sizeof b4);
        return b4;
    default:
        memcpy(&b8, at, sizeof b8);
        return b8;
    }
}

static void store(void *buffer, int64_t i, int32_t width, uint64_t bits)
{
    unsigned char *at = (unsigned char *)buffer + i * width;
    uint8_t b1 = (uint8_t)bits;
    uint16_t b2 = (uint16_t)bits;
    uint32_t b4 = (uint32_t)bits;
    switch (width) {
    case 1:
        memcpy(at, &b1, sizeof b1);
        return;
    case 2:
        memcpy(at, &b2, sizeof b2);
        return;
    case 4:
        memcpy(at, &b4, sizeof b4);
        return;
    default:
        memcpy(at, &bits, sizeof bits);
        return;
    }
}

/* One contribution to one element, as a number of the dtype. */
static double contribution_float(const ChrtDriverData *data, const ChrtDriverInput *input, int64_t element, int64_t c,
                                 int64_t k)
{
    ChrtDtype dtype = input->type->dtype;
    uint64_t z = chrt_driver_hash(data->seed, (uint64_t)input->tensor, (uint64_t)element, (uint64_t)c);
    if (data->floats)
        return decode(dtype, encode(dtype, (double)(z >> 11) * 0x1p-52 - 1));
    return (double)chrt_driver_small(dtype, z, c, k);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The row-major global index of the i-th element of a block; at gets its coordinates. */
static int64_t global_index(const ChrtType *type, const ChrtBox *box, int64_t i, int64_t *at)
{
    int64_t index = 0, stride = 1;
    for (int32_t d = box->ndims - 1; d >= 0; d--) {
        at[d] = box->lo[d] + i % box->n[d];
        i /= box->n[d];
        index += at[d] * stride;
        stride *= type->size[d];
    }
    return index;
}

/* Elements that lie one after the other both in the block and in the tensor: rows of the last dim. */
static int64_t row_elems(const ChrtBox *box)
{
    return box->ndims ? box->n[box->ndims - 1] : 1;
}

/* The partial axes of an input in mesh order, so that an index in them is the contribution. */
static int64_t partial_axes(const ChrtMesh *mesh, const ChrtType *type, uint8_t *axes)
{
    int64_t contributions = 1;
    int32_t n = 0;
    for (int32_t a = 1; a <= mesh->naxes; a++)
        for (const uint8_t *p = type->partial; *p; p++)
            if (*p == a) {
                axes[n++] = (uint8_t)a;
                contributions *= mesh->axis[a - 1].size;
            }
    axes[n] = 0;
    return contributions;
}

void chrt_driver_fill(const ChrtDriverData *data, const ChrtDriverInput *input, void *buffer)
{
    const ChrtMesh *mesh = data->driver->mesh;
    const ChrtType *type = input->type;
    ChrtAxes partial;
    int64_t k = partial_axes(mesh, type, partial), c = chrt_index_in(mesh, data->rank, partial);
    int64_t elems = chrt_local_elems(mesh, type, data->rank), at[CHRT_MAX_DIMS];
    ChrtBox box = chrt_local_box(mesh, type, data->rank);
    int32_t width = chrt_dtype_bytes(type->dtype);
    for (int64_t row = 0; row < elems; row += row_elems(&box)) {
        int64_t element = global_index(type, &box, row, at);
        for (int64_t j = 0; j < row_elems(&box); j++) {
            uint64_t bits =
                is_float(type->dtype)
                    ? encode(type->dtype, contribution_float(data, input, element + j, c, k))
                    : chrt_driver_hash(data->seed, (uint64_t)input->tensor, (uint64_t)(element + j), (uint64_t)c);
            store(buffer, row + j, width, bits);
        }
    }
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/* The contributions that an output element of this rank is the sum of: all those whose coordinates on `kept` (partial
 * in the output) are the rank's. Walked as an odometer over the rest, by mesh coordinates. */
typedef struct Terms {
    const ChrtMesh *mesh;
    ChrtAxes partial;
    int64_t contributions, terms;
    int32_t rank; /* of which only the coordinates on the partial axes matter */
    ChrtAxes summed;
} Terms;

static Terms find_terms(const ChrtDriverData *data, const ChrtType *in, const ChrtType *out)
{
    Terms t = {.mesh = data->driver->mesh, .terms = 1, .rank = data->rank};
    t.contributions = partial_axes(t.mesh, in, t.partial);
    ChrtAxes kept = {0}; /* looked through as a whole below */
    partial_axes(t.mesh, out, kept);
    int32_t n = 0;
    for (const uint8_t *a = t.partial; *a; a++)
        if (!memchr(kept, *a, sizeof kept)) {
            t.summed[n++] = *a;
            t.terms *= t.mesh->axis[*a - 1].size;
        }
    return t;
}

/* The contribution index of term i. */
static int64_t term(const Terms *t, int64_t i)
{
    int64_t index = 0, scale = 1;
    int32_t n = 0;
    while (t->partial[n])
        n++;
    for (n--; n >= 0; n--) {
        int32_t axis = t->partial[n], size = t->mesh->axis[axis - 1].size;
        int64_t at = chrt_coordinate(t->mesh, t->rank, axis);
        if (memchr(t->summed, axis, sizeof t->summed)) {
            at = i % size;
            i /= size;
        }
        index += at * scale;
        scale *= size;
    }
    return index;
}

/* What an output element must be: its bits, or for sums of random floats a number and a tolerance. */
typedef struct Expected {
    uint64_t bits;
    double value, tolerance; /* tolerance 0: the bits count */
} Expected;

enum { MAX_TERMS = 4096 }; /* contribution indices kept at hand; more are computed every time */

static Expected expect(const ChrtDriverData *data, const ChrtDriverInput *input, const Terms *terms,
                       const int64_t *index, int64_t element)
{
    ChrtDtype dtype = input->type->dtype;
    Expected e = {0, 0, 0};
    long double sum = 0, magnitude = 0;
    for (int64_t i = 0; i < terms->terms; i++) {
        int64_t c = i < MAX_TERMS ? index[i] : term(terms, i);
        if (!is_float(dtype)) {
            e.bits += chrt_driver_hash(data->seed, (uint64_t)input->tensor, (uint64_t)element, (uint64_t)c);
            continue;
        }
        double v = contribution_float(data, input, element, c, terms->contributions);
        sum += v;
        magnitude += v < 0 ? -v : v;
    }
    if (!is_float(dtype)) {
        int32_t width = chrt_dtype_bytes(dtype);
        if (width < 8)
            e.bits &= (UINT64_C(1) << 8 * width) - 1;
        return e;
    }
    e.value = (double)sum;
    e.bits = encode(dtype, e.value);
    if (data->floats && terms->terms > 1)
        e.tolerance = (double)(magnitude * (long double)terms->terms * (long double)epsilon(dtype));
    return e;
}

static bool matches(ChrtDtype dtype, const Expected *e, uint64_t bits)
{
    if (e->tolerance == 0)
        return bits == e->bits;
    double off = decode(dtype, bits) - e->value;
    return off <= e->tolerance && -off <= e->tolerance; /* false for a NaN */
}

static void print_value(ChrtDtype dtype, uint64_t bits, char *text, size_t bytes)
{
    if (is_float(dtype))
        snprintf(text, bytes, "%.9g (0x%" PRIx64 ")", decode(dtype, bits), bits);
    else
        snprintf(text, bytes, "0x%" PRIx64, bits);
}

static void tell(const ChrtDriverData *data, const ChrtDriverOutput *output, const int64_t *at, const Expected *e,
                 uint64_t baseline, uint64_t optimized, char *text, size_t bytes)
{
    char place[CHRT_MAX_DIMS * 24] = "", expected[64], one[64], two[64];
    ChrtDtype dtype = output->type->dtype;
    size_t used = 0;
    for (int32_t d = 0; d < output->type->ndims; d++)
        used += (size_t)snprintf(place + used, sizeof place - used, "%s%" PRId64, d ? ", " : "", at[d]);
    if (e->tolerance > 0)
        snprintf(expected, sizeof expected, "%.9g +- %.3g", e->value, e->tolerance);
    else
        print_value(dtype, e->bits, expected, sizeof expected);
    print_value(dtype, baseline, one, sizeof one);
    print_value(dtype, optimized, two, sizeof two);
    snprintf(text, bytes,
             "seed %" PRIu64 ", output '%s', rank %" PRId32 ", element [%s]: expected %s, baseline %s, optimized %s",
             data->seed, output->name, data->rank, place, expected, one, two);
}

bool chrt_driver_check(const ChrtDriverData *data, const ChrtDriverOutput *output, const void *baseline,
                       const void *optimized, char *mismatch, size_t bytes)
{
    const ChrtMesh *mesh = data->driver->mesh;
    const ChrtDriverInput *input = &data->driver->inputs[output->input];
    const ChrtType *type = output->type;
    Terms terms = find_terms(data, input->type, type);
    int64_t index[MAX_TERMS], at[CHRT_MAX_DIMS];
    for (int64_t i = 0; i < terms.terms && i < MAX_TERMS; i++)
        index[i] = term(&terms, i);
    int64_t elems = chrt_local_elems(mesh, type, data->rank);
    ChrtBox box = chrt_local_box(mesh, type, data->rank);
    int32_t width = chrt_dtype_bytes(type->dtype);
    for (int64_t row = 0; row < elems; row += row_elems(&box)) {
        int64_t element = global_index(type, &box, row, at);
        for (int64_t j = 0; j < row_elems(&box); j++) {
            Expected e = expect(data, input, &terms, index, element + j);
            uint64_t one = load(baseline, row + j, width), two = load(optimized, row + j, width);
            if (matches(type->dtype, &e, one) && matches(type->dtype, &e, two))
                continue;
            global_index(type, &box, row + j, at);
            tell(data, output, at, &e, one, two, mismatch, bytes);
            return false;
        }
    }
    return true;
}
