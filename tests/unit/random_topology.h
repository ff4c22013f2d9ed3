/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/random_topology.h - machines at random, for the mesh of a world.
 */
#ifndef TESTS_RANDOM_TOPOLOGY_H
#define TESTS_RANDOM_TOPOLOGY_H

#include "layouts.h"

static inline void random_grid(World *w, ChmLevel *l, int32_t units)
{
    l->kind = (ChmLevelKind)(CHM_LEVEL_RING + pick(w, 3));
    l->grid_dims = 1;
    l->grid[0] = units;
    for (int32_t d = 2; d <= 4 && l->kind != CHM_LEVEL_RING; d++)
        if (l->grid[0] % d == 0) {
            l->grid[l->grid_dims++] = d;
            l->grid[0] /= d;
        }
    if (l->kind == CHM_LEVEL_RING)
        return;
    while (l->grid_dims > 3)
        l->grid[0] *= l->grid[--l->grid_dims];
}

/* One to three levels, each sized in ranks or by axes; it may not fit the mesh. */
static inline ChmTopology random_topology(World *w)
{
    ChmTopology t = {.name = "random", .nlevels = 1 + pick(w, 3)};
    int32_t below = 1;
    for (int32_t i = 0; i < t.nlevels; i++) {
        ChmLevel *l = &t.level[i];
        *l = (ChmLevel){.name = "level", .shared = pick(w, 2)};
        l->bandwidth_bytes_per_s = 1e3 * (1 + pick(w, 20));
        l->latency_s = 1e-4 * pick(w, 3);
        l->message_s = 1e-4 * pick(w, 2);
        if (i + 1 < t.nlevels && pick(w, 2)) {
            int32_t factor = 1 + pick(w, 4);
            l->group_ranks = (w->mesh->ranks % (below * factor)) ? below : below * factor;
            below = l->group_ranks;
        } else if (i + 1 < t.nlevels) {
            l->axes = CHM_AXIS(pick(w, w->mesh->naxes));
            below = w->mesh->ranks; /* no level above is sized in ranks, unless all nests */
        }
    }
    t.reduce_bytes_per_s = pick(w, 2) * 1e5;
    for (int32_t i = 0; i < t.nlevels; i++)
        if (pick(w, 3) == 0 && chm_topology_check(&w->ctx, &t, w->mesh) == CHM_OK)
            random_grid(w, &t.level[i], chm_topology_units(&t, w->mesh, i));
    return t;
}

#endif
