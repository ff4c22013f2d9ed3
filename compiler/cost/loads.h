/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/loads.h - what the ops of a module load, for the time of several under way together (overlap.h).
 */
#ifndef CHM_COST_LOADS_H
#define CHM_COST_LOADS_H

#include "cost/pricer.h"

#define CHM_WIRE_CLASSES 1024
#define CHM_RANK_CLASSES 64

/* What an op loads, as long as it is by itself. */
typedef struct ChmLoad {
    double time_s;       /* l + b */
    double busy_s;       /* b */
    const double *share; /* by class of wires: 0 to 1 of b; NULL where b = 0 */
    uint64_t ranks;      /* classes of ranks that take part, as bits */
    int32_t index;       /* among the distinct loads */
    /* While they are being made. */
    double *class_s;
    int32_t known_wires, known_ranks;
} ChmLoad;

/* The loads of a module's ops. Wires that every op loads alike are one class, and so are ranks that take part in the
 * same ops: there are few however many ranks there are. The last class of wires is what a rank posts and sums. Past
 * CHM_WIRE_CLASSES and CHM_RANK_CLASSES they are thrown together, and count as the busiest of them. */
typedef struct ChmLoads {
    const ChmLoad **of_op; /* in program order; NULL for what communicates nothing */
    int32_t nops, distinct, wire_classes, rank_classes;
} ChmLoads;
/* Measures each distinct op once, on its folded mesh, and not again when the pricer's last module had all of them:
 * O(ops + distinct ops * (what that takes + wires + ranks)). The loads are the pricer's. */
void chm_loads_of_module(ChmLoads *l, ChmArena *arena, ChmPricer *pricer, const ChmModule *m);

#endif
