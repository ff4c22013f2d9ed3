/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/unfold.c - a rank's place on the folded mesh by its coordinates, a wire's by the ranks that it serves.
 */
#include "cost/unfold.h"

/* Axis by axis, the major one first: what a coordinate more makes of each place so far. */
static void unfold_ranks(int32_t *rank, const ChmFold *f)
{
    const ChmMesh *m = f->mesh;
    int32_t n = 1;
    rank[0] = 0;
    for (int32_t a = 0; a < m->naxes; a++) {
        int32_t size = m->axis_size[a];
        bool kept = f->kept & CHM_AXIS(a), pinned = f->pinned & CHM_AXIS(a);
        for (int32_t i = n - 1; i >= 0; i--) { /* from the end, so that what is still to be read stands before */
            int32_t at = rank[i];
            for (int32_t k = size - 1; k >= 0; k--) {
                bool here = at != CHM_IDLE && !(pinned && k != f->pin[a]);
                rank[i * size + k] = !here ? CHM_IDLE : kept ? at * size + k : at;
            }
        }
        n *= size;
    }
}

static void unfold_level(ChmUnfold *u, const ChmTopology *topo, const ChmWires *w, const ChmWires *folded,
                         int32_t level, int32_t ranks)
{
    bool by_unit = chm_wires_of_units(topo, level);
    int32_t ends = chm_wires_each(&topo->level[level]);
    for (int32_t r = 0; r < ranks; r++) {
        int32_t at = u->rank[r];
        if (at == CHM_IDLE)
            continue;
        int32_t *to = u->wire + w->first[level] + ends * (by_unit ? w->unit[level][r] : r);
        int32_t from = folded->first[level] + ends * (by_unit ? folded->unit[level][at] : at);
        for (int32_t i = 0; i < ends; i++)
            to[i] = from + i;
    }
}

void chm_unfold_init(ChmUnfold *u, ChmArena *arena, const ChmMesh *mesh, const ChmWires *wires)
{
    u->rank = CHM_NEW_ARRAY(arena, int32_t, mesh->ranks);
    u->wire = CHM_NEW_ARRAY(arena, int32_t, chm_count_wires(wires, mesh->ranks));
}

void chm_unfold_set(ChmUnfold *u, const ChmFold *f, const ChmTopology *topo, const ChmWires *wires,
                    const ChmTraffic *folded)
{
    int32_t ranks = f->mesh->ranks, n = chm_count_wires(wires, ranks);
    unfold_ranks(u->rank, f);
    for (int32_t i = 0; i < n; i++)
        u->wire[i] = CHM_IDLE;
    for (int32_t level = 0; wires && level < topo->nlevels; level++)
        unfold_level(u, topo, wires, folded->wires, level, ranks);
    for (int32_t i = 0; !wires && i < n; i++)
        u->wire[i] = u->rank[i / 2] == CHM_IDLE ? CHM_IDLE : 2 * u->rank[i / 2] + i % 2;
}
