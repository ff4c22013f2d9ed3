/* SPDX-License-Identifier: Apache-2.0
 *
 * values.h - random layouts, and what a rank must hold of a value: shared by the tests on random schedules.
 */
#ifndef VALUES_H
#define VALUES_H

#include "chrt.h"

enum { MAX_AXES = 5, MAX_DIMS = 4 };

/* Random numbers: the same on every rank. */
uint64_t mix(uint64_t z);
int32_t draw(uint64_t *state, int32_t n);

/* Lists of axes and pins. */
void append(uint8_t *axes, int32_t axis);
bool contains(const uint8_t *axes, int32_t axis);
void take_out(uint8_t *axes, const uint8_t *gone);
void append_pin(ChrtType *type, int32_t axis, int32_t at);
void remove_pin(ChrtType *type, int32_t axis);

ChrtMesh random_mesh(uint64_t *r, int32_t ranks);
/* A random state for one axis, partial only if allowed. */
void random_state(uint64_t *r, const ChrtMesh *mesh, ChrtType *type, int32_t axis, bool partial);
/* All axes in a random order. */
void shuffle(uint64_t *r, const ChrtMesh *mesh, uint8_t *axes);

/* A logical value: what it was in the first layout says how many contributions it has. */
typedef struct Value {
    uint64_t seed;
    const ChrtMesh *mesh;
    ChrtType from;
    bool rough; /* 16-bit floats: numbers whose sums are not exact */
} Value;

/* What the rank holds of the value in the type; settled: partial axes of `from` that are summed by then, in order.
 * NULL and 0 when absent or empty. */
unsigned char *local_buffer(const Value *c, const ChrtType *type, const uint8_t *settled, int32_t rank, size_t *bytes);

#endif
