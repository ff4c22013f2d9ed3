/* SPDX-License-Identifier: Apache-2.0
 *
 * check/move.c - kernels per dtype, and the n-d strided loop around them.
 */
#include "check/move.h"

#include "check/half.h"

#include <string.h>

#define COPY_RUN(bytes)                                             \
    static void copy_##bytes(void *dst, const void *src, int64_t n) \
    {                                                               \
        memcpy(dst, src, (size_t)n *(bytes));                       \
    }
COPY_RUN(1)
COPY_RUN(2)
COPY_RUN(4)
COPY_RUN(8)

/* Integers are summed as unsigned: they wrap. */
#define ADD_RUN(T)                                             \
    static void add_##T(void *dst, const void *src, int64_t n) \
    {                                                          \
        T *restrict to = dst;                                  \
        const T *restrict from = src;                          \
        for (int64_t i = 0; i < n; i++)                        \
            to[i] = (T)(to[i] + from[i]);                      \
    }
ADD_RUN(double)
ADD_RUN(float)
ADD_RUN(uint64_t)
ADD_RUN(uint32_t)
ADD_RUN(uint8_t)

#define HALF_RUNS(name)                                             \
    static void widen_##name(void *dst, const void *src, int64_t n) \
    {                                                               \
        float *restrict to = dst;                                   \
        const uint16_t *restrict from = src;                        \
        for (int64_t i = 0; i < n; i++)                             \
            to[i] = chm_f32_of_##name(from[i]);                     \
    }                                                               \
    static void add_##name(void *dst, const void *src, int64_t n)   \
    {                                                               \
        float *restrict to = dst;                                   \
        const uint16_t *restrict from = src;                        \
        for (int64_t i = 0; i < n; i++)                             \
            to[i] += chm_f32_of_##name(from[i]);                    \
    }                                                               \
    static void round_##name(void *dst, const void *src, int64_t n) \
    {                                                               \
        uint16_t *restrict to = dst;                                \
        const float *restrict from = src;                           \
        for (int64_t i = 0; i < n; i++)                             \
            to[i] = chm_##name##_of_f32(from[i]);                   \
    }
HALF_RUNS(f16)
HALF_RUNS(bf16)

ChmKernel chm_copy_kernel(ChmDtype dtype)
{
    int32_t bytes = chm_dtypes[dtype].bytes;
    ChmRunFn run = bytes == 1 ? copy_1 : bytes == 2 ? copy_2 : bytes == 4 ? copy_4 : copy_8;
    return (ChmKernel){run, bytes, bytes};
}

static ChmSummer sum_in_place(ChmDtype dtype, ChmRunFn add)
{
    ChmKernel copy = chm_copy_kernel(dtype);
    return (ChmSummer){.first = copy, .next = {add, copy.dst_bytes, copy.src_bytes}};
}

static ChmSummer sum_in_f32(ChmRunFn widen, ChmRunFn add, ChmRunFn finish)
{
    return (ChmSummer){.first = {widen, 4, 2}, .next = {add, 4, 2}, .finish = finish};
}

ChmSummer chm_summer(ChmDtype dtype)
{
    switch (dtype) {
    case CHM_F64:
        return sum_in_place(dtype, add_double);
    case CHM_F32:
        return sum_in_place(dtype, add_float);
    case CHM_F16:
        return sum_in_f32(widen_f16, add_f16, round_f16);
    case CHM_BF16:
        return sum_in_f32(widen_bf16, add_bf16, round_bf16);
    case CHM_I64:
        return sum_in_place(dtype, add_uint64_t);
    case CHM_I32:
        return sum_in_place(dtype, add_uint32_t);
    case CHM_I8:
    case CHM_U8:
    case CHM_NDTYPES:
        break;
    }
    return sum_in_place(dtype, add_uint8_t);
}

/* The row-major place in a box of a point of it. */
static int64_t offset_in(const ChmBox *box, const int64_t *point)
{
    int64_t at = 0;
    for (int32_t d = 0; d < box->ndims; d++)
        at = at * (box->hi[d] - box->lo[d]) + (point[d] - box->lo[d]);
    return at;
}

static bool spans(const ChmBox *region, const ChmBox *box, int32_t d)
{
    return region->lo[d] == box->lo[d] && region->hi[d] == box->hi[d];
}

ChmRuns chm_runs(const ChmBox *region, int64_t begin, int64_t end, const ChmBox *a, const ChmBox *b)
{
    /* Contiguous on both sides: the trailing dims that the region spans, and one more. */
    int32_t d = region->ndims - 1;
    int64_t longest = region->hi[d] - region->lo[d];
    for (; d > 0 && spans(region, a, d) && spans(region, b, d); d--)
        longest *= region->hi[d - 1] - region->lo[d - 1];
    return (ChmRuns){.region = region, .a = a, .b = b, .next = begin, .end = end, .longest = longest};
}

bool chm_runs_next(ChmRuns *r)
{
    if (r->next >= r->end)
        return false;
    int64_t point[CHM_MAX_DIMS], rest = r->next;
    for (int32_t d = r->region->ndims - 1; d >= 0; d--) {
        int64_t size = r->region->hi[d] - r->region->lo[d];
        point[d] = r->region->lo[d] + rest % size;
        rest /= size;
    }
    r->at_a = offset_in(r->a, point);
    r->at_b = offset_in(r->b, point);
    r->n = r->longest - r->next % r->longest;
    if (r->n > r->end - r->next)
        r->n = r->end - r->next;
    r->next += r->n;
    return true;
}

void chm_move(const ChmKernel *kernel, const ChmBox *region, int64_t begin, int64_t end, const ChmPiece *dst,
              const ChmPiece *src)
{
    char *to = dst->at;
    const char *from = src->at;
    ChmRuns runs = chm_runs(region, begin, end, &dst->box, &src->box);
    while (chm_runs_next(&runs))
        kernel->run(to + runs.at_a * kernel->dst_bytes, from + runs.at_b * kernel->src_bytes, runs.n);
}
