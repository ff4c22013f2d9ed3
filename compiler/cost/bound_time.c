/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/bound_time.c - the least time of one arrow on a topology, and of a plan.
 *
 * Whatever the sequence of ops, all that must reach a rank comes over the wires that end there, and all that must reach
 * a unit of ranks from outside over the wires that end at the unit; the sum of the ops' times is no less than that of
 * any wire. So the byte bounds of ranks, and those of the units of every level, each over the bandwidth of all such
 * wires together, are bounds on time.
 *
 * A unit is a set of ranks that differ in some axes; where it ends inside an axis, that one is taken as two.
 */
#include "cost/bounds.h"
#include "cost/wires.h"

/* An axis taken as two, the major one first. */
typedef struct Cut {
    int32_t axis; /* -1: none */
    int32_t inner_size;
} Cut;

static ChmAxes axes_up_to(const ChmTopology *topo, int32_t level)
{
    ChmAxes set = 0;
    for (int32_t i = 0; i <= level; i++)
        set |= topo->level[i].axes;
    return set;
}

/* The axes inside a group of the level, a block of consecutive ranks or a span of axes. False: it is no such set. */
static bool find_inside(const ChmTopology *topo, const ChmMesh *m, int32_t level, ChmAxes *inside, Cut *cut)
{
    int32_t block = topo->level[level].group_ranks;
    *inside = axes_up_to(topo, level);
    cut->axis = -1;
    if (!block)
        return true;
    *inside = 0;
    for (int32_t a = m->naxes - 1; a >= 0; a--) {
        if (m->trivial & CHM_AXIS(a) || m->stride[a] >= block)
            continue;
        int64_t whole = (int64_t)m->stride[a] * m->axis_size[a];
        *inside |= CHM_AXIS(a);
        if (whole <= block)
            continue;
        if (block % m->stride[a] || whole % block || m->naxes == CHM_MAX_AXES)
            return false;
        *cut = (Cut){a, block / m->stride[a]};
    }
    return true;
}

static void cut_mesh(ChmMesh *c, const ChmMesh *m, Cut cut)
{
    *c = (ChmMesh){.name = m->name, .naxes = m->naxes + 1, .ranks = m->ranks};
    for (int32_t i = 0; i < c->naxes; i++) {
        int32_t a = i <= cut.axis ? i : i - 1;
        bool inner = i == cut.axis + 1, outer = i == cut.axis;
        c->axis_name[i] = m->axis_name[a];
        c->axis_size[i] = inner ? cut.inner_size : outer ? m->axis_size[a] / cut.inner_size : m->axis_size[a];
        c->stride[i] = outer ? m->stride[a] * cut.inner_size : m->stride[a];
        c->trivial |= c->axis_size[i] == 1 ? CHM_AXIS(i) : 0;
    }
}

/* A set of axes with both halves of the axis for the whole one. */
static ChmAxes cut_axes(ChmAxes set, Cut cut)
{
    ChmAxes low = CHM_AXIS(cut.axis) - 1;
    ChmAxes both = (set & CHM_AXIS(cut.axis)) ? CHM_AXIS(cut.axis) | CHM_AXIS(cut.axis + 1) : 0;
    return (set & low) | both | (set & ~low & ~CHM_AXIS(cut.axis)) << 1;
}

static void cut_layout(ChmLayout *c, const ChmMesh *mesh, const ChmLayout *l, Cut cut)
{
    *c = (ChmLayout){.mesh = mesh, .ndims = l->ndims};
    c->partial = cut_axes(l->partial, cut);
    c->pinned = cut_axes(l->pinned, cut);
    c->split = cut_axes(l->split, cut);
    for (int32_t i = 0; i < mesh->naxes; i++) {
        int32_t pin = l->pin[i <= cut.axis ? i : i - 1];
        c->pin[i] = i == cut.axis ? pin / cut.inner_size : i == cut.axis + 1 ? pin % cut.inner_size : pin;
    }
    for (int32_t d = 0; d < l->ndims; d++)
        for (int32_t i = 0; i < l->dim[d].len; i++) {
            int32_t a = l->dim[d].at[i];
            chm_seq_push(&c->dim[d], a <= cut.axis ? a : a + 1);
            if (a == cut.axis)
                chm_seq_push(&c->dim[d], a + 1);
        }
}

/* Bytes that pass the wires of the worst group of a level, taken as a unit of the next. */
static int64_t group_bytes(ChmArena *scratch, const ChmTopology *topo, int32_t level, const ChmShape *shape,
                           ChmDtype dtype, const ChmLayout *from, const ChmLayout *to)
{
    ChmAxes inside;
    Cut cut;
    if (!find_inside(topo, from->mesh, level, &inside, &cut))
        return 0;
    if (cut.axis < 0)
        return chm_bound_units(scratch, shape, dtype, from, to, inside).worst_bytes;
    ChmMesh mesh; /* not interned: nothing below compares them by pointer */
    ChmLayout cut_from, cut_to;
    cut_mesh(&mesh, from->mesh, cut);
    cut_layout(&cut_from, &mesh, from, cut);
    cut_layout(&cut_to, &mesh, to, cut);
    inside = cut_axes(inside, cut) & ~CHM_AXIS(cut.axis);
    return chm_bound_units(scratch, shape, dtype, &cut_from, &cut_to, inside).worst_bytes;
}

double chm_bound_level_time(ChmArena *scratch, const ChmTopology *topo, int32_t level, const ChmShape *shape,
                            ChmDtype dtype, const ChmLayout *from, const ChmLayout *to)
{
    int64_t bytes = level == 0   ? chm_bound_units(scratch, shape, dtype, from, to, 0).worst_bytes
                    : from == to ? 0
                                 : group_bytes(scratch, topo, level - 1, shape, dtype, from, to);
    return (double)bytes / chm_unit_bandwidth(topo, from->mesh, level);
}

ChmBound chm_bound_on(ChmArena *scratch, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                      const ChmLayout *from, const ChmLayout *to)
{
    ChmUnitBound ranks = chm_bound_units(scratch, shape, dtype, from, to, 0);
    ChmBound b = {.worst_bytes = ranks.worst_bytes, .total_bytes = ranks.total_bytes};
    b.time_s = (double)b.worst_bytes / chm_rank_bandwidth(topo, from->mesh);
    for (int32_t level = 1; level < topo->nlevels; level++) {
        double time_s = chm_bound_level_time(scratch, topo, level, shape, dtype, from, to);
        b.time_s = time_s > b.time_s ? time_s : b.time_s;
    }
    return b;
}

double chm_bound_time(ChmArena *scratch, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                      const ChmLayout *from, const ChmLayout *to)
{
    return chm_bound_on(scratch, topo, shape, dtype, from, to).time_s;
}

double chm_rank_bandwidth(const ChmTopology *topo, const ChmMesh *mesh)
{
    return chm_unit_bandwidth(topo, mesh, 0);
}

/* ---- a plan */

static const ChmLayout *cut_copy(ChmArena *arena, const ChmMesh *mesh, const ChmLayout *l, Cut cut)
{
    ChmLayout *half = CHM_NEW(arena, ChmLayout);
    cut_layout(half, mesh, l, cut);
    return half;
}

/* The same needs with one axis taken as two. */
static void cut_needs(ChmArena *arena, const ChmMesh *mesh, const ChmNeeds *needs, Cut cut, ChmNeeds *halves)
{
    *halves = (ChmNeeds){0};
    for (int32_t i = 0; i < needs->len; i++) {
        const ChmNeed *need = &needs->at[i];
        ChmNeed half = {.shape = need->shape, .dtype = need->dtype, .from = cut_copy(arena, mesh, need->from, cut)};
        for (int32_t k = 0; k < need->to.len; k++)
            CHM_PUSH(arena, &half.to, cut_copy(arena, mesh, need->to.at[k], cut));
        CHM_PUSH(arena, halves, half);
    }
}

/* As group_bytes, over all tensors of a plan. */
static int64_t group_needs(ChmArena *scratch, const ChmTopology *topo, int32_t level, const ChmMesh *mesh,
                           const ChmNeeds *needs)
{
    ChmAxes inside;
    Cut cut;
    if (!find_inside(topo, mesh, level, &inside, &cut))
        return 0;
    if (cut.axis < 0)
        return chm_bound_needs(scratch, mesh, needs, inside);
    ChmNeeds halves;
    ChmMesh halved; /* not interned, as above */
    cut_mesh(&halved, mesh, cut);
    cut_needs(scratch, &halved, needs, cut, &halves);
    return chm_bound_needs(scratch, &halved, &halves, cut_axes(inside, cut) & ~CHM_AXIS(cut.axis));
}

double chm_bound_module_time(ChmArena *scratch, const ChmTopology *topo, const ChmModule *m)
{
    ChmNeeds needs;
    chm_module_needs(scratch, m, &needs);
    double worst_s = (double)chm_bound_needs(scratch, m->mesh, &needs, 0) / chm_rank_bandwidth(topo, m->mesh);
    for (int32_t level = 1; level < topo->nlevels; level++) {
        double time_s =
            (double)group_needs(scratch, topo, level - 1, m->mesh, &needs) / chm_unit_bandwidth(topo, m->mesh, level);
        worst_s = time_s > worst_s ? time_s : worst_s;
    }
    return worst_s;
}
