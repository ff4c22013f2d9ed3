/* SPDX-License-Identifier: Apache-2.0
 *
 * base/base.c - checked arithmetic and hashing.
 */
#include "base/base.h"

/* The builtins store the wrapped result even when they fail; the contract leaves *out untouched. */

bool chm_mul64(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

bool chm_add64(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

bool chm_sub64(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    if (__builtin_sub_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

uint64_t chm_hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h;
}
