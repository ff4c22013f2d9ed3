/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/wires.c - the wires of a topology; see wires.h for which a message loads.
 */
#include "cost/wires.h"

bool chm_topology_is_plain(const ChmTopology *topo)
{
    return topo->nlevels == 1 && topo->level[0].kind == CHM_LEVEL_SWITCH;
}

static bool is_shared(const ChmTopology *topo, int32_t level)
{
    return !chm_is_grid(topo->level + level) && chm_wires_of_units(topo, level);
}

static int32_t unit_of(const ChmTopology *topo, const ChmMesh *mesh, int32_t level, int32_t rank)
{
    return level == 0 ? rank : chm_topology_group(topo, mesh, level - 1, rank);
}

static void place_units(ChmWires *w, ChmArena *arena, const ChmTopology *topo, const ChmMesh *mesh, int32_t level,
                        int32_t nunits)
{
    int32_t *place = CHM_NEW_ARRAY(arena, int32_t, nunits), *unit_at = CHM_NEW_ARRAY(arena, int32_t, nunits);
    int32_t points = chm_topology_units(topo, mesh, level);
    for (int32_t r = 0; r < mesh->ranks; r++) {
        int32_t unit = w->unit[level][r];
        place[unit] = chm_topology_unit(topo, mesh, level, r);
        unit_at[w->group[level][r] * points + place[unit]] = unit;
    }
    w->place[level] = place;
    w->unit_at[level] = unit_at;
    w->units[level] = points;
}

const ChmWires *chm_wires_make(ChmArena *arena, const ChmTopology *topo, const ChmMesh *mesh)
{
    if (chm_topology_is_plain(topo))
        return NULL;
    ChmWires *w = CHM_NEW(arena, ChmWires);
    for (int32_t i = 0; i < topo->nlevels; i++) {
        const ChmLevel *l = &topo->level[i];
        int32_t *unit = CHM_NEW_ARRAY(arena, int32_t, mesh->ranks), *group = CHM_NEW_ARRAY(arena, int32_t, mesh->ranks);
        int32_t nunits = 0;
        for (int32_t r = 0; r < mesh->ranks; r++) {
            unit[r] = unit_of(topo, mesh, i, r);
            group[r] = chm_topology_group(topo, mesh, i, r);
            nunits = unit[r] >= nunits ? unit[r] + 1 : nunits;
        }
        w->unit[i] = unit;
        w->group[i] = group;
        int32_t ends = chm_wires_of_units(topo, i) ? nunits : mesh->ranks;
        w->first[i + 1] = w->first[i] + chm_wires_each(l) * ends;
        if (chm_is_grid(l))
            place_units(w, arena, topo, mesh, i, nunits);
    }
    for (int32_t i = topo->nlevels; i < CHM_MAX_LEVELS; i++)
        w->first[i + 1] = w->first[i];
    return w;
}

int32_t chm_traffic_wires(const ChmTraffic *t)
{
    return chm_count_wires(t->wires, t->ranks);
}

/* ---- messages */

static void load(ChmTraffic *t, int32_t wire, int64_t bytes)
{
    t->step_wire_bytes[wire] = chm_sat_add(t->step_wire_bytes[wire], bytes);
}

/* The rank's wire of a switch level, out (0) or in (1), and what lies between the two. */
static void load_side(ChmTraffic *t, int32_t level, int32_t rank, int32_t way, int64_t bytes)
{
    const ChmWires *w = t->wires;
    for (; level >= 0 && !chm_is_grid(&t->topo->level[level]); level--) {
        bool shared = is_shared(t->topo, level);
        load(t, w->first[level] + 2 * (shared ? w->unit[level][rank] : rank) + way, bytes);
        if (!shared)
            return;
    }
}

/* Steps along one dimension from coordinate a to b, as many as the result says: upwards where it is > 0. */
static int32_t steps_along(const ChmLevel *l, int32_t size, int32_t a, int32_t b)
{
    int32_t up = b - a;
    if (l->kind == CHM_LEVEL_MESH)
        return up;
    up = (up + size) % size;
    return up <= size - up ? up : up - size;
}

/* Returns the number of wires on the way. */
static int32_t load_grid(ChmTraffic *t, int32_t level, int32_t from, int32_t to, int64_t bytes)
{
    const ChmLevel *l = &t->topo->level[level];
    const ChmWires *w = t->wires;
    const int32_t *unit_at = w->unit_at[level] + (int64_t)w->group[level][from] * w->units[level];
    int32_t at = w->place[level][w->unit[level][from]], target = w->place[level][w->unit[level][to]], stride = 1;
    int32_t hops = 0;
    for (int32_t d = l->grid_dims - 1; d >= 0; stride *= l->grid[d--]) {
        int32_t size = l->grid[d], coord = at / stride % size;
        int32_t steps = steps_along(l, size, coord, target / stride % size);
        for (; steps != 0; steps += steps > 0 ? -1 : 1, hops++) {
            load(t, w->first[level] + 2 * (unit_at[at] * l->grid_dims + d) + (steps < 0), bytes);
            int32_t next = (coord + (steps > 0 ? 1 : size - 1)) % size;
            at += (next - coord) * stride;
            coord = next;
        }
    }
    return hops;
}

void chm_wires_send(ChmTraffic *t, int32_t from, int32_t to, int64_t bytes, int64_t messages)
{
    const ChmWires *w = t->wires;
    int32_t level = 0;
    int32_t hops = 1;
    if (from == to)
        return;
    while (w->group[level][from] != w->group[level][to])
        level++;
    const ChmLevel *l = &t->topo->level[level];
    t->step_level = level > t->step_level ? level : t->step_level;
    t->step_rank_s[from] += l->message_s * (double)messages;
    if (chm_is_grid(l))
        hops = load_grid(t, level, from, to, bytes);
    load_side(t, chm_is_grid(l) ? level - 1 : level, from, 0, bytes);
    load_side(t, chm_is_grid(l) ? level - 1 : level, to, 1, bytes);
    double away_s = hops * l->latency_s;
    t->step_away_s = away_s > t->step_away_s ? away_s : t->step_away_s;
}

/* ---- bandwidth into a unit */

/* Of the wires of one level that end at one of its units. */
static double unit_wires(const ChmTopology *topo, int32_t level, int32_t ranks)
{
    const ChmLevel *l = &topo->level[level];
    int32_t wires = is_shared(topo, level) ? 1 : ranks;
    if (chm_is_grid(l)) {
        wires = 0;
        for (int32_t d = 0; d < l->grid_dims; d++)
            wires += l->grid[d] > 2 ? 2 : l->grid[d] - 1;
    }
    return wires * l->bandwidth_bytes_per_s;
}

/* What comes to a unit of 'level' over a level above: does it pass wires of a level between, so that it is counted? */
static bool passes(const ChmTopology *topo, int32_t level, int32_t above)
{
    if (!is_shared(topo, above) && !chm_is_grid(&topo->level[above]))
        return false;
    for (int32_t i = above - 1; i >= level; i--) {
        if (chm_is_grid(&topo->level[i]))
            return false;
        if (i == level || !is_shared(topo, i))
            return true;
    }
    return false;
}

double chm_unit_bandwidth(const ChmTopology *topo, const ChmMesh *mesh, int32_t level)
{
    int32_t ranks = level == 0 ? 1 : chm_topology_group_ranks(topo, mesh, level - 1);
    double sum = unit_wires(topo, level, ranks);
    for (int32_t above = level + 1; above < topo->nlevels; above++)
        if (!passes(topo, level, above))
            sum += unit_wires(topo, above, ranks);
    return sum > 0 ? sum : 1; /* a unit by itself: nothing need come */
}
