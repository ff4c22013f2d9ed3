/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/figures.h - what a schedule communicates, for the reports. Private to this folder.
 */
#ifndef CHM_DRIVER_FIGURES_H
#define CHM_DRIVER_FIGURES_H

#include "cost/pricer.h"

/* Bytes of the ops that work over one set of axes. */
typedef struct ChmAxisFigure {
    ChmAxes axes;
    int64_t worst_bytes; /* the worst rank's greater of sent and received, over these ops */
} ChmAxisFigure;

typedef struct ChmFigures {
    ChmPrice price;
    int64_t arena_bytes;
    int32_t count[CHM_NOPS];
    int32_t started;             /* ops that do not end where they stand */
    CHM_VEC(ChmAxisFigure) axes; /* in order of first use */
} ChmFigures;

void chm_figures_of(ChmFigures *f, ChmArena *arena, ChmPricer *pricer, ChmModule *m);

bool chm_op_communicates(ChmOpcode code); /* false for input, output, slice, drop */
/* The axes that a layout change works over; of an exchange, those whose state it changes. */
ChmAxes chm_op_axes(const ChmOp *op);
int64_t chm_figures_axis(const ChmFigures *f, ChmAxes axes); /* 0 when there is no such op */

#endif
