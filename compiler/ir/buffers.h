/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/buffers.h - where each value of a schedule lives at run time: in a buffer of the caller, or at an offset of one
 * arena that is planned by liveness. The executor and the emitted C use the same plan, so that a wrong offset shows in
 * 'chimerac run'.
 *
 * While a started op is under way, until its wait, its operand and its result are not free for another value.
 *
 * Sizes are the largest of any rank, so that one set of offsets serves all ranks and the emitted C does not grow with
 * them.
 */
#ifndef CHM_IR_BUFFERS_H
#define CHM_IR_BUFFERS_H

#include "ir/module.h"

typedef enum ChmHome { CHM_HOME_ARENA, CHM_HOME_INPUT, CHM_HOME_OUTPUT } ChmHome;

typedef struct ChmPlace {
    ChmHome home;
    int32_t index;        /* of the tensor (INPUT) or of the output op, counted from 0 (OUTPUT) */
    int64_t offset_bytes; /* ARENA: a multiple of CHM_ARENA_ALIGN */
} ChmPlace;

#define CHM_ARENA_ALIGN 64

/* Of a value there: those of the rank that holds most of it, rounded up to CHM_ARENA_ALIGN; INT64_MAX when too many. */
int64_t chm_arena_bytes(const ChmType *type);

typedef struct ChmBuffers {
    ChmPlace *place; /* by value id */
    int32_t nvalues;
    int64_t arena_bytes; /* peak, on the worst rank; INT64_MAX when the values do not fit an address space */
    const ChmValue *top; /* the first that reaches as far; NULL where there is none in the arena */
} ChmBuffers;

/* An input lives in the caller's buffer, which is only read. Another value that is an output lives in the buffer of its
 * first output op; further outputs of it are copies. The rest share the arena, two of them only when their live ranges
 * do not meet; an op's result never overlaps its operand. Numbers the module. Values are placed in order of size, the
 * largest first, each at the lowest offset that is free while it lives (Pisarchyk and Lee, "Efficient memory
 * management for deep neural net inference", 2020). O(values^2). */
void chm_buffers_plan(ChmArena *arena, ChmModule *m, ChmBuffers *out);

#endif
