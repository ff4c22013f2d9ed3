/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_number.c - dtypes, and the 16-bit floats in plain integer arithmetic.
 */
#include "chrt_internal.h"

#include <string.h>

int32_t chrt_dtype_bytes(ChrtDtype dtype)
{
    switch (dtype) {
    case CHRT_F64:
    case CHRT_I64:
        return 8;
    case CHRT_F32:
    case CHRT_I32:
        return 4;
    case CHRT_F16:
    case CHRT_BF16:
        return 2;
    case CHRT_I8:
    case CHRT_U8:
        return 1;
    }
    return 0;
}

bool chrt_dtype_is_half(ChrtDtype dtype)
{
    return dtype == CHRT_F16 || dtype == CHRT_BF16;
}

MPI_Datatype chrt_dtype_mpi(ChrtDtype dtype)
{
    switch (dtype) {
    case CHRT_F64:
        return MPI_DOUBLE;
    case CHRT_F32:
        return MPI_FLOAT;
    case CHRT_F16:
    case CHRT_BF16:
        return MPI_UINT16_T;
    case CHRT_I64:
        return MPI_UINT64_T;
    case CHRT_I32:
        return MPI_UINT32_T;
    case CHRT_I8:
    case CHRT_U8:
        return MPI_UINT8_T;
    }
    return MPI_DATATYPE_NULL;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* x / 2^shift to nearest, ties to even; 0 < shift < 32. */
static uint32_t shift_to_even(uint32_t x, uint32_t shift)
{
    uint32_t rest = x & ((UINT32_C(1) << shift) - 1), half = UINT32_C(1) << (shift - 1);
    x >>= shift;
    return x + (rest > half || (rest == half && (x & 1)) ? 1 : 0);
}

uint16_t chrt_bf16_from_f32(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(bits >> 16 | 0x0040);
    return (uint16_t)shift_to_even(bits, 16);
}

float chrt_f32_from_bf16(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t chrt_f16_from_f32(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
    if (rest > 0x7F800000) /* NaN: keep the upper payload, quiet */
        return (uint16_t)(sign | 0x7E00 | (rest >> 13 & 0x03FF));
    if (rest >= 0x47800000) /* 2^16 and more, infinity */
        return (uint16_t)(sign | 0x7C00);
    if (rest >= 0x38800000) /* 2^-14 and more: normal; a carry may run on into the exponent and to infinity */
        return (uint16_t)(sign | shift_to_even(rest - 0x38000000, 13));
    if (rest < 0x33000000) /* less than 2^-25 */
        return (uint16_t)sign;
    /* Subnormal: the significand with its leading one, in units of 2^-24. */
    uint32_t shift = 126 - (rest >> 23);
    return (uint16_t)(sign | shift_to_even((rest & 0x007FFFFF) | 0x00800000, shift));
}

float chrt_f32_from_f16(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 0x1F, rest = bits & 0x03FF;
    if (exponent == 0x1F)
        return float_of(sign | 0x7F800000 | rest << 13);
    if (exponent)
        return float_of(sign | (exponent + 112) << 23 | rest << 13);
    float magnitude = (float)rest * 0x1p-24F;
    return sign ? -magnitude : magnitude;
}
