/* SPDX-License-Identifier: Apache-2.0
 *
 * check/move.h - copying and summing boxes between row-major local buffers.
 */
#ifndef CHM_CHECK_MOVE_H
#define CHM_CHECK_MOVE_H

#include "ir/geom.h"

/* What happens to n contiguous elements. */
typedef void (*ChmRunFn)(void *dst, const void *src, int64_t n);

typedef struct ChmKernel {
    ChmRunFn run;
    int32_t dst_bytes, src_bytes; /* of an element */
} ChmKernel;

/* How values of a dtype are summed. 16-bit floats go through an accumulator of f32, rounded once by 'finish'; the
 * others are summed in place (finish NULL). */
typedef struct ChmSummer {
    ChmKernel first, next; /* dst = src, dst += src */
    ChmRunFn finish;       /* accumulator to dtype */
} ChmSummer;

ChmKernel chm_copy_kernel(ChmDtype dtype);
ChmSummer chm_summer(ChmDtype dtype);

/* A local buffer and the box of global indices that it holds. */
typedef struct ChmPiece {
    void *at;
    ChmBox box;
} ChmPiece;

/* The elements [begin, end) of a region, flattened row-major, as runs that are contiguous in two boxes round it:
 *   ChmRuns runs = chm_runs(&region, begin, end, &a, &b);
 *   while (chm_runs_next(&runs)) ... runs.n elements at index runs.at_a of a and runs.at_b of b ... */
typedef struct ChmRuns {
    const ChmBox *region, *a, *b;
    int64_t next, end, longest;
    int64_t at_a, at_b, n;
} ChmRuns;
ChmRuns chm_runs(const ChmBox *region, int64_t begin, int64_t end, const ChmBox *a, const ChmBox *b);
bool chm_runs_next(ChmRuns *r);

/* Applies the kernel to the elements [begin, end) of the region. */
void chm_move(const ChmKernel *kernel, const ChmBox *region, int64_t begin, int64_t end, const ChmPiece *dst,
              const ChmPiece *src);

#endif
