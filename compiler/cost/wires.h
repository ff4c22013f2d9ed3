/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/wires.h - inside the cost module: the wires of a topology, numbered, and which of them a message loads.
 *
 * A wire carries bytes one way.
 *   switch            an up and a down wire for each rank, or, where 'shared', for each unit
 *   ring, mesh, torus one from each unit to each of its neighbours, two for each dimension
 * A message whose ends first meet at level c loads
 *   c a switch, wires of ranks   the sender's up and the receiver's down wire of c, and nothing else: a NIC of one's
 * own c a switch, shared wires     the up wire of the sender's unit, the down wire of the receiver's, and what lies
 *                                between each rank and the wire of its unit
 *   c a grid                     the wires of the shortest way between the two units, dimension by dimension from the
 *                                last, and what lies between each rank and its unit's point
 * Between a rank and its unit at level c lie the rank's wires of level c-1 where those are ranks' own; where they are
 * shared, those and what lies between the rank and its unit at c-1; nothing where c-1 is a grid (its way out is at
 * every point). On a torus or ring, of two ways as short the message takes the one of rising coordinates.
 */
#ifndef CHM_COST_WIRES_H
#define CHM_COST_WIRES_H

#include "cost/tally.h"

struct ChmWires {
    int32_t first[CHM_MAX_LEVELS + 1];   /* wire of the level; the last is the number of wires */
    const int32_t *unit[CHM_MAX_LEVELS]; /* by rank: its unit at the level, counted over the whole machine */
    /* Grids only. */
    const int32_t *place[CHM_MAX_LEVELS];   /* by unit: its point in the group's grid */
    const int32_t *unit_at[CHM_MAX_LEVELS]; /* by group * points + point */
    int32_t units[CHM_MAX_LEVELS];          /* points of one grid */
    const int32_t *group[CHM_MAX_LEVELS];   /* by rank */
};

static inline bool chm_is_grid(const ChmLevel *l)
{
    return l->kind != CHM_LEVEL_SWITCH;
}

/* Whether the wires of the level are units' and not ranks'. At the first level units are ranks: never shared. */
static inline bool chm_wires_of_units(const ChmTopology *topo, int32_t level)
{
    const ChmLevel *l = topo->level + level;
    return chm_is_grid(l) || (level > 0 && l->shared);
}

/* So many to each of them. */
static inline int32_t chm_wires_each(const ChmLevel *l)
{
    return chm_is_grid(l) ? 2 * l->grid_dims : 2;
}

/* All; on a plain switch (NULL) two a rank, out and in. */
static inline int32_t chm_count_wires(const ChmWires *w, int32_t ranks)
{
    return w ? w->first[CHM_MAX_LEVELS] : 2 * ranks;
}

/* NULL where the topology is a plain switch: its wires are the ranks' bytes sent and received. O(ranks * levels). */
const ChmWires *chm_wires_make(ChmArena *arena, const ChmTopology *topo, const ChmMesh *mesh);

/* Takes a message of the layout change being measured into t's step_ fields, except for what ranks send and receive.
 * 'messages' many of them may carry the bytes. Only where t has wires. O(levels + hops). */
void chm_wires_send(ChmTraffic *t, int32_t from, int32_t to, int64_t bytes, int64_t messages);

/* Bytes per second that can reach a unit of the level (a rank, at level 0) from outside, over all its wires together.
 */
double chm_unit_bandwidth(const ChmTopology *topo, const ChmMesh *mesh, int32_t level);

/* Seconds of the op measured last on a wire of the level. On a plain switch: rank r's out is wire 2r, its in 2r+1. */
double chm_step_on_wire(const ChmTraffic *t, int32_t level, int32_t wire);

/* The bytes of a pipeline into t's step_ fields, and its load into t->load. */
void chm_measure_pipeline(ChmTraffic *t, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                          const ChmAttrs *attrs);

#endif
