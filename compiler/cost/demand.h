/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/demand.h - inside the cost module: what the first and last layouts of one tensor demand of its ranks.
 *
 * For an element e, H is the ranks that hold it, in k classes of equal contributions, and N those that need it.
 *   in     a rank receives e at least once when it needs e and does not hold all of it (k > 1, or not in H)
 *   out    a class sends e at least once when a rank outside it needs e
 *   total  one class: a transfer for each of N outside it; k > 1: k-1 + |N|-1 + [N and H share no rank]
 * Axes that stay partial cut all this into equal problems on disjoint ranks. A class is a set of replicas: ranks that
 * differ only in axes replicated in the source.
 *
 * N is a coset too: fixed on the split and pinned axes of its layout, free on the replicated ones. So everything above
 * is said by which coordinates agree, and sums over the elements of e turn into sums over ranks of shared boxes.
 */
#ifndef CHM_COST_DEMAND_H
#define CHM_COST_DEMAND_H

#include "cost/tally.h"

#define CHM_DEMAND_TARGETS 8 /* at once; more are taken in turns, and the greatest figures count */

typedef struct ChmDemand {
    const ChmShape *shape;
    const ChmLayout *from;
    const ChmLayout *to[CHM_DEMAND_TARGETS]; /* different, with equal partial axes */
    int32_t targets;
    ChmAxes inside; /* ranks that differ in these axes count as one, the lowest; one target only */
    int64_t *in;    /* by rank, in elements */
    int64_t *out;   /* of a set of replicas together, at its lowest rank; 0 at the other ranks */
    int64_t total;
} ChmDemand;

/* With axes inside, a unit of ranks holds and needs what its ranks do together: an axis of them that splits is joined,
 * one that pins is dropped, a sum over it is taken. One that stays partial gives the problem so many times over, which
 * is left to the caller. What a unit holds of a dim is then no longer one interval where an outer axis stands after an
 * inner one in the split, but still the same for all dims by themselves.
 *
 * Both fill in, out and total. One target: closed form, O(ranks), times the intervals. Several: O(sets of replicas *
 * blocks of the targets that meet a source block, dim by dim). */
void chm_demand_of_one(ChmDemand *x);
void chm_demand_of_several(ChmArena *scratch, ChmDemand *x);
int64_t chm_demand_several_work(const ChmDemand *x); /* that product */

#endif
