/* SPDX-License-Identifier: Apache-2.0
 *
 * check/half.c - rounding to f16.
 */
#include "check/half.h"

uint16_t chm_f16_of_f32(float f)
{
    uint32_t u = chm_f32_bits(f), sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (u >> 13 & 0x3ffu));
    if (u >= 0x477ff000u) /* 65520, half-way between the largest f16 and the next step */
        return (uint16_t)(sign | 0x7c00u);
    if (u < 0x38800000u) { /* below 2^-14: adding 0.5 makes the hardware round at the place of a subnormal's last bit */
        uint32_t rounded = chm_f32_bits(chm_f32_of_bits(u) + 0.5f) - chm_f32_bits(0.5f);
        return (uint16_t)(sign | rounded);
    }
    uint32_t odd = u >> 13 & 1u;
    u += 0xfffu + odd;
    return (uint16_t)(sign | (u - (112u << 23)) >> 13);
}
