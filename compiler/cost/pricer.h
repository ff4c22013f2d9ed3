/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/pricer.h - prices of layout changes on one machine, whatever the number of ranks: each is measured once, on the
 * mesh of the axes that matter to it (fold.h), and sums over several of them are kept for each class of ranks that do
 * the same, not for each rank. The figures are those of chm_traffic_add, rank by rank on the whole mesh.
 */
#ifndef CHM_COST_PRICER_H
#define CHM_COST_PRICER_H

#include "cost/cost.h"

typedef struct ChmPricer ChmPricer;
typedef struct ChmLoadBook ChmLoadBook; /* loads.c */

/* Lives in the arena, and keeps there what it measures. The topology must fit the mesh, and both outlive it. */
ChmPricer *chm_pricer_new(ChmArena *arena, const ChmTopology *topo, const ChmMesh *mesh);

/* Sums over layout changes of the pricer's mesh. Empty after _init and _clear. */
typedef struct ChmBill {
    ChmPricer *pricer;
    ChmAxes axes; /* ranks that differ in other axes have equal figures */
    int32_t places, room;
    int64_t *sent, *received; /* bytes, row-major over the axes, in mesh order */
    int64_t *spare[2];        /* as large, for the tables over more axes */
    int64_t total_sent, messages, ops;
    double time_s;
} ChmBill;
void chm_bill_init(ChmBill *b, ChmPricer *p);
void chm_bill_clear(ChmBill *b);
/* O(axes) and O(classes of ranks), besides what chm_traffic_measure takes on the folded mesh when the change is the
 * first of its form. */
void chm_bill_add(ChmBill *b, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from, const ChmStep *step);
/* Adds the sums of another bill of the same pricer, or takes them away (sign -1) where they were added before. */
void chm_bill_join(ChmBill *b, const ChmBill *other, int32_t sign);
/* Tells all ranks apart: then sent and received are by rank. O(ranks) */
void chm_bill_by_rank(ChmBill *b);
ChmPrice chm_bill_price(const ChmBill *b);

/* The price of the steps one after the other. */
ChmPrice chm_pricer_steps(ChmPricer *p, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                          const ChmSteps *steps);
/* Of every layout op of the module, dead ones too. Where ops are started, its time is that of overlap.h. */
ChmPrice chm_pricer_module(ChmPricer *p, const ChmModule *m);

/* One layout change by itself: measured on its folded mesh, and where that stands on the whole one (unfold.h). Both are
 * the pricer's, good until its next call. */
typedef struct ChmMeasured {
    const ChmTraffic *traffic;
    const struct ChmUnfold *unfold;
} ChmMeasured;
ChmMeasured chm_pricer_measure(ChmPricer *p, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                               const ChmStep *step);
ChmArena *chm_pricer_arena(const ChmPricer *p);
ChmLoadBook **chm_pricer_book(ChmPricer *p);           /* for loads.c to keep; NULL at first */
const struct ChmWires *chm_pricer_wires(ChmPricer *p); /* of the whole mesh; NULL on a plain switch */

/* What a chain of n steps loads, and how many of them communicate. The load is the pricer's, good until the next call.
 */
const ChmPipeline *chm_pricer_load(ChmPricer *p, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                                   const ChmStep *steps, int32_t n, int32_t *communicate);

#endif
