/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/prop/gen.h - random plans as text, the same for the same seed everywhere.
 */
#ifndef TESTS_GEN_H
#define TESTS_GEN_H

#include "base/out.h"

/* 0 to n-1; *state is the seed at first. */
int32_t gen_number(uint64_t *state, int32_t n);

/* A legal plan: a mesh of 1-4 axes of sizes 1-4 and at most max_ranks ranks, one or two tensors of 1-3 dims and any
 * dtype, 1-6 arrows each in a chain with forks, and outputs on the way as well as at the end. Sizes are 1-13, or in a
 * third of the plans such that blocks and chunks divide them, where chains go to another stage; a third has a topology
 * of 1-3 levels of any kinds, but one switch above 8 ranks. */
void gen_plan(ChmOut *out, uint64_t seed, int32_t max_ranks);

#endif
