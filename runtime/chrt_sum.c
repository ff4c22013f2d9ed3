/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_sum.c - local sums: plain loops that compilers vectorise. Integers are summed unsigned, so they wrap.
 */
#include "chrt_internal.h"

#include <string.h>

int32_t chrt_sum_bytes(ChrtDtype dtype)
{
    return chrt_dtype_is_half(dtype) ? (int32_t)sizeof(float) : chrt_dtype_bytes(dtype);
}

void chrt_sum_set(ChrtDtype dtype, void *sum, const void *values, int64_t elems)
{
    const uint16_t *half = values;
    float *wide = sum;
    switch (dtype) {
    case CHRT_F16:
        for (int64_t i = 0; i < elems; i++)
            wide[i] = chrt_f32_from_f16(half[i]);
        return;
    case CHRT_BF16:
        for (int64_t i = 0; i < elems; i++)
            wide[i] = chrt_f32_from_bf16(half[i]);
        return;
    case CHRT_F64:
    case CHRT_F32:
    case CHRT_I64:
    case CHRT_I32:
    case CHRT_I8:
    case CHRT_U8:
        memcpy(sum, values, (size_t)(elems * chrt_dtype_bytes(dtype)));
        return;
    }
}

/* sum[i] += values[i] in the type T. */
#define ADD(T)                                \
    do {                                      \
        T *restrict into = sum;               \
        const T *restrict from = values;      \
        for (int64_t i = 0; i < elems; i++)   \
            into[i] = (T)(into[i] + from[i]); \
        return;                               \
    } while (0)

void chrt_sum_add(ChrtDtype dtype, void *sum, const void *values, int64_t elems)
{
    const uint16_t *half = values;
    float *wide = sum;
    switch (dtype) {
    case CHRT_F64:
        ADD(double);
    case CHRT_F32:
        ADD(float);
    case CHRT_F16:
        for (int64_t i = 0; i < elems; i++)
            wide[i] += chrt_f32_from_f16(half[i]);
        return;
    case CHRT_BF16:
        for (int64_t i = 0; i < elems; i++)
            wide[i] += chrt_f32_from_bf16(half[i]);
        return;
    case CHRT_I64:
        ADD(uint64_t);
    case CHRT_I32:
        ADD(uint32_t);
    case CHRT_I8:
    case CHRT_U8:
        ADD(uint8_t);
    }
}

void chrt_sum_round(ChrtDtype dtype, const void *sum, void *values, int64_t elems)
{
    const float *wide = sum;
    uint16_t *half = values;
    switch (dtype) {
    case CHRT_F16:
        for (int64_t i = 0; i < elems; i++)
            half[i] = chrt_f16_from_f32(wide[i]);
        return;
    case CHRT_BF16:
        for (int64_t i = 0; i < elems; i++)
            half[i] = chrt_bf16_from_f32(wide[i]);
        return;
    case CHRT_F64:
    case CHRT_F32:
    case CHRT_I64:
    case CHRT_I32:
    case CHRT_I8:
    case CHRT_U8:
        if (sum != values)
            memcpy(values, sum, (size_t)(elems * chrt_dtype_bytes(dtype)));
        return;
    }
}
