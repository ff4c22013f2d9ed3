/* SPDX-License-Identifier: Apache-2.0
 *
 * check/half.h - 16-bit floats as bit patterns: f16 (IEEE binary16) and bf16. Towards f32 exact; from f32 rounded to
 * nearest, ties to even; overflow becomes infinity, subnormals are kept, a NaN stays a (quiet) NaN.
 */
#ifndef CHM_CHECK_HALF_H
#define CHM_CHECK_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t chm_f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float chm_f32_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline float chm_f32_of_bf16(uint16_t h)
{
    return chm_f32_of_bits((uint32_t)h << 16);
}

static inline uint16_t chm_bf16_of_f32(float f)
{
    uint32_t u = chm_f32_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static inline float chm_f32_of_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, u = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t exponent = u & 0x0f800000u;
    if (exponent == 0x0f800000u) /* infinity, NaN */
        u += (uint32_t)(255 - 31) << 23;
    else if (exponent != 0)
        u += (uint32_t)(127 - 15) << 23;
    else /* zero, subnormal: as the mantissa of 2^-14, minus its leading one */
        u = chm_f32_bits(chm_f32_of_bits(u + (113u << 23)) - chm_f32_of_bits(113u << 23));
    return chm_f32_of_bits(u | sign);
}

uint16_t chm_f16_of_f32(float f);

#endif
