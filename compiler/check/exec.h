/* SPDX-License-Identifier: Apache-2.0
 *
 * check/exec.h - a module in execution: all ranks in one process, each with its own buffers.
 */
#ifndef CHM_CHECK_EXEC_H
#define CHM_CHECK_EXEC_H

#include "check/data.h"
#include "check/move.h"

typedef struct ChmExec {
    ChmModule *m;
    const ChmExpects *expected;
    ChmArena *scratch; /* small things; dies with the run */
    ChmBuffers buffers;
    int32_t ranks;
    int32_t outputs_done; /* output ops executed so far */
    bool late;            /* started ops do their work at the wait, not at the start */
    char **arena;         /* by rank */
    char **chunk_arena;   /* by rank: the values of a pipeline's body, for one chunk */
    char **input;         /* [tensor index * ranks + rank]; NULL where nothing is held */
    char **output;        /* [output op * ranks + rank]; likewise */
    float *sums;          /* accumulator of one receiver of 16-bit floats */
    char *reference;      /* one logical tensor */
    ChmData *data;        /* by tensor index; .tensor NULL for tensors that are not input */
} ChmExec;

/* What the rank holds of a value; false where the value is absent or the rank's block is empty. */
bool chm_exec_piece(const ChmExec *x, const ChmValue *v, int32_t rank, ChmPiece *out);

/* Runs one op for all ranks. A task may work at any time between its start and its wait; here it does so at one of the
 * two, so that runs at both find an operand that another value overwrites meanwhile as well as a result that is. What
 * no rank writes of the result keeps the poison 0xA5. O(ranks * group) moves, for exchanges O(ranks^2) looks. */
void chm_exec_op(ChmExec *x, const ChmOp *op);

/* ---- pipelines (exec_pipeline.c) */
void chm_exec_pipeline(ChmExec *x, const ChmOp *op);
/* Bytes of chunk_arena that the op needs; 0 for other ops. */
int64_t chm_exec_chunk_bytes(ChmCtx *ctx, const ChmOp *op);

void chm_exec_fill_inputs(ChmExec *x);
void chm_exec_check_outputs(ChmExec *x, ChmRunReport *report);

#define CHM_EXEC_POISON 0xA5

#endif
