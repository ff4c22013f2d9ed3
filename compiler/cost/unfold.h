/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/unfold.h - inside the cost module: where the ranks and wires of a folded mesh (fold.h) stand on the whole one.
 */
#ifndef CHM_COST_UNFOLD_H
#define CHM_COST_UNFOLD_H

#include "cost/fold.h"
#include "cost/wires.h"

#define CHM_IDLE (-1) /* does nothing: pinned elsewhere */

typedef struct ChmUnfold {
    int32_t *rank; /* by rank: the one on the folded mesh that does the same */
    int32_t *wire; /* by wire, likewise; several to one are loaded alike */
} ChmUnfold;

/* The wires are those of the whole mesh, and NULL on a plain switch. O(ranks * levels) */
void chm_unfold_init(ChmUnfold *u, ChmArena *arena, const ChmFold *f, const ChmTopology *topo, const ChmWires *wires,
                     const ChmTraffic *folded);

#endif
