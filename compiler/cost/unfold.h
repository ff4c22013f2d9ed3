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

/* Storage for any fold of a mesh. The wires are those of the whole mesh, and NULL on a plain switch, here and below. */
void chm_unfold_init(ChmUnfold *u, ChmArena *arena, const ChmMesh *mesh, const ChmWires *wires);
/* Whatever it said before. O(ranks * levels + wires) */
void chm_unfold_set(ChmUnfold *u, const ChmFold *f, const ChmTopology *topo, const ChmWires *wires,
                    const ChmTraffic *folded);

#endif
