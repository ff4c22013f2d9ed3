/* SPDX-License-Identifier: Apache-2.0
 *
 * test_plain.c - what needs no MPI: 16-bit floats over all patterns, blocks, members, runs of boxes.
 */
#include "chrt_driver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(int ok, const char *what, unsigned detail)
{
    if (ok)
        return;
    fprintf(stderr, "%s (%#x)\n", what, detail);
    exit(1);
}

/* A 16-bit float by its definition. */
static double value_of(unsigned bits, int exponent_bits)
{
    int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    unsigned fraction = bits & ((1U << fraction_bits) - 1);
    int exponent = (int)(bits >> fraction_bits & ((1U << exponent_bits) - 1));
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    double one = exponent ? 1 : 0;
    return sign * ldexp(one + ldexp(fraction, -fraction_bits), (exponent ? exponent : 1) - bias);
}

typedef struct Format {
    int exponent_bits;
    uint16_t (*narrow)(float);
    float (*widen)(uint16_t);
} Format;

static void test_format(const Format *f)
{
    unsigned infinity = 0x7FFFU & ~((1U << (15 - f->exponent_bits)) - 1), quiet = 1U << (14 - f->exponent_bits);
    for (unsigned bits = 0; bits <= 0xFFFF; bits++) {
        float wide = f->widen((uint16_t)bits);
        double value = value_of(bits, f->exponent_bits);
        unsigned back = f->narrow(wide);
        if (isnan(value)) {
            demand(isnan(wide), "a NaN must stay one", bits);
            demand(back == (bits | quiet), "a NaN must keep sign and payload and become quiet", bits);
            continue;
        }
        demand((double)wide == value && (signbit(wide) != 0) == (bits >> 15 != 0), "wrong value", bits);
        demand(back == bits, "must survive the round trip", bits);

        /* Half way to the next greater magnitude: the tie goes to the even one, all else to the nearer. The one after
         * the greatest finite counts as if the exponents went on. */
        unsigned magnitude = bits & 0x7FFF;
        if (magnitude >= infinity)
            continue;
        double above = magnitude + 1 == infinity
                           ? 2 * value_of(infinity - 1, f->exponent_bits) - value_of(infinity - 2, f->exponent_bits)
                           : value_of(magnitude + 1, f->exponent_bits);
        float middle = (float)((fabs(value) + above) / 2), sign = bits & 0x8000 ? -1.0F : 1.0F;
        unsigned even = bits + (bits & 1);
        demand(f->narrow(sign * middle) == even, "a tie must go to the even neighbour", bits);
        demand(f->narrow(sign * nextafterf(middle, 0)) == bits, "must round to the lower neighbour", bits);
        demand(f->narrow(sign * nextafterf(middle, INFINITY)) == bits + 1, "must round to the upper neighbour", bits);
    }
    demand(f->narrow(INFINITY) == infinity && f->narrow(-INFINITY) == (infinity | 0x8000), "infinity", 0);
    demand(f->narrow(0x1.fffffep127F) == infinity, "overflow must become an infinity", 0);
    demand(f->narrow(0x1p-149F) == 0 && f->narrow(-0x1p-149F) == 0x8000, "underflow must keep its sign", 0);
}

static void test_blocks(void)
{
    for (int64_t n = 0; n < 70; n++)
        for (int64_t k = 1; k < 20; k++)
            for (int64_t b = 0; b <= k; b++)
                demand(chrt_block_start(n, k, b) == b * n / k, "block start", (unsigned)n);
    /* floor(b n / K) where the product needs more than 64 bits. */
    int64_t n = INT64_MAX, k = INT32_MAX;
    demand(chrt_block_start(n, k, k) == n, "the last block must end at n", 0);
    demand(chrt_block_start(n, k, 1) == n / k, "large block", 1);
    demand(chrt_block_start(n, 4, 3) == n / 4 * 3 + 2, "large block", 3); /* n = 4 q + 3 */
}

static void test_members(void)
{
    enum { AXIS_a = 1, AXIS_b, AXIS_c };
    static const ChrtMesh mesh = {.naxes = 3, .axis = {{"a", 2}, {"b", 3}, {"c", 2}}};
    int32_t members[12];
    demand(chrt_mesh_ranks(&mesh) == 12, "ranks", 0);
    demand(chrt_group_members(&mesh, 9, CHRT_AXES(AXIS_c, AXIS_a), members) == 4, "members", 0);
    demand(members[0] == 2 && members[1] == 8 && members[2] == 3 && members[3] == 9, "order of members", 0);
    demand(chrt_index_in(&mesh, 9, CHRT_AXES(AXIS_c, AXIS_a)) == 3, "place among members", 0);
    for (int32_t rank = 0; rank < 12; rank++) {
        int32_t n = chrt_group_members(&mesh, rank, CHRT_AXES(AXIS_b, AXIS_c, AXIS_a), members);
        demand(n == 12, "members of the whole mesh", (unsigned)rank);
        for (int32_t i = 0; i < n; i++)
            demand(chrt_index_in(&mesh, members[i], CHRT_AXES(AXIS_b, AXIS_c, AXIS_a)) == i, "member order",
                   (unsigned)i);
        demand(chrt_group_members(&mesh, rank, CHRT_AXES(0), members) == 1 && members[0] == rank, "alone",
               (unsigned)rank);
    }
}

/* Values that the compiler's executor must agree with: chrt_driver.h defines them. */
static void test_data(void)
{
    demand(chrt_driver_hash(0, 0, 0, 0) == 0, "hash of zeros", 0);
    uint64_t z = UINT64_C(0x9E3779B97F4A7C15) + UINT64_C(0xBF58476D1CE4E5B9) + 5 * UINT64_C(0x94D049BB133111EB) +
                 3 * UINT64_C(0xD6E8FEB86659FD93);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    demand(chrt_driver_hash(1, 1, 5, 3) == (z ^ z >> 31), "hash", 0);
    /* the same two numbers stand in tests/unit/test_check.c */
    demand(chrt_driver_hash(1, 0, 0, 0) == UINT64_C(0xe220a8397b1dcdaf), "hash as in the executor", 0);
    demand(chrt_driver_hash(1, 2, 3, 4) == UINT64_C(0xe9bb40b99a306ae4), "hash as in the executor", 1);
    for (int64_t k = 1; k < 3000; k = k * 3 / 2 + 1) {
        int64_t half = 0, brain = 0;
        for (int64_t c = 0; c < k; c++) {
            z = chrt_driver_hash(7, 0, (uint64_t)k, (uint64_t)c);
            half += llabs(chrt_driver_small(CHRT_F16, z, c, k));
            brain += llabs(chrt_driver_small(CHRT_BF16, z, c, k));
        }
        demand(half <= 2048 && brain <= 256, "sums of test data must be exact", (unsigned)k);
    }
}

int main(void)
{
    static const Format formats[] = {
        {5, chrt_f16_from_f32, chrt_f32_from_f16},
        {8, chrt_bf16_from_f32, chrt_f32_from_bf16},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        test_format(&formats[i]);
    test_blocks();
    test_members();
    test_data();
    return 0;
}
