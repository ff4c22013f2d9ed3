/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/parts.h"

/* ---- where to cut */

/* A mesh being written down: the axes of the whole one, outer first, in parts. */
typedef struct Cutting {
    ChmCtx *ctx;
    const ChmTopology *topology;
    ChmParts *parts;
    int32_t naxes;
    const char *name[CHM_MAX_AXES];
    int32_t size[CHM_MAX_AXES];
} Cutting;

/* The levels that end inside an axis, inner first: each at a multiple of the last end that divides the rest. */
static int32_t ends_inside(const Cutting *c, int32_t axis, int32_t *ends)
{
    const ChmMesh *m = c->parts->whole;
    int64_t begin = m->stride[axis], end = begin * m->axis_size[axis];
    int32_t n = 0;
    for (int32_t i = 0; i < c->topology->nlevels; i++) {
        int32_t ranks = c->topology->level[i].group_ranks;
        if (ranks <= begin || ranks >= end || ranks % begin || end % ranks)
            continue;
        ends[n++] = ranks;
        begin = ranks;
    }
    return n;
}

static void push_axis(Cutting *c, const char *name, int64_t size)
{
    c->name[c->naxes] = name;
    c->size[c->naxes++] = (int32_t)size;
}

/* The part of an axis whose coordinates are 'begin' ranks apart and end before 'end', called by the level where the
 * furthest of them meet. No two parts are called alike: the ranks of an inner one are in one group of the level that it
 * ends with, those of an outer one are not. */
static void push_part(Cutting *c, int32_t axis, int64_t begin, int64_t end)
{
    const ChmMesh *m = c->parts->whole;
    int32_t level = chm_topology_level_between(c->topology, m, 0, (int32_t)(end - begin));
    push_axis(c, chm_arena_printf(&c->ctx->arena, "%s.%s", m->axis_name[axis], c->topology->level[level].name),
              end / begin);
}

static void cut_axis(Cutting *c, int32_t axis, const int32_t *ends, int32_t n)
{
    const ChmMesh *m = c->parts->whole;
    int64_t end = (int64_t)m->stride[axis] * m->axis_size[axis];
    for (int32_t i = n - 1; i >= 0; i--) {
        push_part(c, axis, ends[i], end);
        end = ends[i];
    }
    push_part(c, axis, m->stride[axis], end);
}

void chm_parts_find(ChmCtx *ctx, const ChmMesh *whole, const ChmTopology *topology, ChmAxes axes, ChmParts *out)
{
    Cutting c = {.ctx = ctx, .topology = topology ? topology : &chm_default_topology, .parts = out};
    *out = (ChmParts){.whole = whole};
    for (int32_t a = 0; a < whole->naxes; a++) {
        int32_t ends[CHM_MAX_LEVELS];
        int32_t n = (axes & CHM_AXIS(a)) ? ends_inside(&c, a, ends) : 0;
        out->first[a] = c.naxes;
        if (n > 0 && c.naxes + n + whole->naxes - a <= CHM_MAX_AXES)
            cut_axis(&c, a, ends, n);
        else
            push_axis(&c, whole->axis_name[a], whole->axis_size[a]);
        out->count[a] = c.naxes - out->first[a];
    }
    out->mesh = chm_mesh_make(ctx, whole->name, c.naxes, c.name, c.size);
}

/* ---- what stands on the mesh */

static ChmAxes set_in_parts(const ChmParts *p, ChmAxes set)
{
    ChmAxes cut = 0;
    for (int32_t a = 0; a < p->whole->naxes; a++)
        for (int32_t i = 0; i < p->count[a] && (set & CHM_AXIS(a)); i++)
            cut |= CHM_AXIS(p->first[a] + i);
    return cut;
}

static ChmAxisSeq seq_in_parts(const ChmParts *p, const ChmAxisSeq *s)
{
    ChmAxisSeq cut = {0};
    for (int32_t k = 0; k < s->len; k++)
        for (int32_t i = 0; i < p->count[s->at[k]]; i++)
            chm_seq_push(&cut, p->first[s->at[k]] + i);
    return cut;
}

const ChmLayout *chm_parts_layout(ChmCtx *ctx, const ChmParts *parts, const ChmLayout *l)
{
    if (parts->mesh == parts->whole)
        return l;
    ChmLayout cut = {.mesh = parts->mesh, .ndims = l->ndims};
    for (int32_t d = 0; d < l->ndims; d++)
        cut.dim[d] = seq_in_parts(parts, &l->dim[d]);
    cut.partial = set_in_parts(parts, l->partial);
    cut.pinned = set_in_parts(parts, l->pinned);
    for (int32_t a = 0; a < parts->whole->naxes; a++)
        cut.pin[parts->first[a]] = l->pin[a];
    return chm_layout_make(ctx, &cut);
}

ChmStep chm_parts_step(ChmCtx *ctx, const ChmParts *parts, const ChmStep *step)
{
    ChmStep cut = *step;
    cut.attrs.over = seq_in_parts(parts, &step->attrs.over);
    if (chm_op_has(step->code, 'X'))
        cut.attrs.axis = parts->first[step->attrs.axis];
    cut.to = chm_parts_layout(ctx, parts, step->to);
    return cut;
}

const ChmTopology *chm_parts_topology(ChmCtx *ctx, const ChmParts *parts, const ChmTopology *topology)
{
    if (!topology || parts->mesh == parts->whole)
        return topology;
    ChmTopology *cut = CHM_NEW(&ctx->arena, ChmTopology);
    *cut = *topology;
    for (int32_t i = 0; i < cut->nlevels; i++)
        cut->level[i].axes = set_in_parts(parts, topology->level[i].axes);
    return cut;
}
