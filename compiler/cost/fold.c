/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/fold.c - which axes matter to a chain of layout changes, and the mesh, machine and layouts without the others.
 */
#include "cost/fold.h"
#include "cost/tally.h"

int64_t chm_axes_extent(const ChmMesh *mesh, ChmAxes set)
{
    int64_t n = 1;
    for (int32_t a = 0; a < mesh->naxes; a++)
        n *= (set & CHM_AXIS(a)) ? mesh->axis_size[a] : 1;
    return n;
}

/* ---- what the layouts of a chain have in common */

typedef struct Common {
    const ChmShape *shape;
    const ChmLayout *first;
    ChmAxes partial, pinned, replicated;
    ChmAxes worked;               /* that an op works over */
    int32_t prefix[CHM_MAX_DIMS]; /* of the dim's split, in axes */
    int64_t whole[CHM_MAX_DIMS];  /* what the split cuts: the dim, or one chunk of it */
    bool exchanges;
} Common;

static void common_init(Common *c, const ChmShape *shape, const ChmLayout *l)
{
    *c = (Common){.shape = shape, .first = l, .partial = l->partial, .pinned = l->pinned};
    c->replicated = chm_replicated_axes(l);
    for (int32_t d = 0; d < shape->ndims; d++) {
        c->prefix[d] = l->dim[d].len;
        c->whole[d] = shape->dim_size[d];
    }
}

static void take_layout(Common *c, const ChmLayout *l)
{
    c->partial &= l->partial;
    c->pinned &= l->pinned;
    c->replicated &= chm_replicated_axes(l);
    for (int32_t a = 0; a < l->mesh->naxes; a++)
        if (l->pin[a] != c->first->pin[a])
            c->pinned &= ~CHM_AXIS(a);
    for (int32_t d = 0; d < l->ndims; d++) {
        int32_t same = chm_seq_common_prefix(&c->first->dim[d], &l->dim[d]);
        c->prefix[d] = same < c->prefix[d] ? same : c->prefix[d];
    }
}

static void take_step(Common *c, const ChmStep *step)
{
    const ChmAttrs *a = &step->attrs;
    c->exchanges = c->exchanges || chm_is_exchange(step->code);
    c->worked |= chm_seq_set(&a->over);
    if (chm_op_has(step->code, 'X'))
        c->worked |= CHM_AXIS(a->axis);
    if (step->code == CHM_OP_PIPELINE) {
        int64_t chunk = c->shape->dim_size[a->dim] / a->chunks, *whole = &c->whole[a->dim];
        *whole = *whole == c->shape->dim_size[a->dim] || *whole == chunk ? chunk : 1;
    }
    for (int32_t i = 0; i < a->body_len; i++) {
        c->worked |= chm_seq_set(&a->body[i].attrs.over);
        if (chm_op_has(a->body[i].code, 'X'))
            c->worked |= CHM_AXIS(a->body[i].attrs.axis);
        c->exchanges = c->exchanges || chm_is_exchange(a->body[i].code);
        take_layout(c, a->body[i].to);
    }
    take_layout(c, step->to);
}

/* The axes of the longest common prefix of the dim's split that cuts evenly. */
static ChmAxes even_prefix(const Common *c, int32_t d)
{
    const ChmAxisSeq *split = &c->first->dim[d];
    ChmAxes set = 0, even = 0;
    int64_t k = 1;
    for (int32_t i = 0; i < c->prefix[d]; i++) {
        k *= c->first->mesh->axis_size[split->at[i]];
        set |= CHM_AXIS(split->at[i]);
        if (c->whole[d] % k == 0)
            even = set;
    }
    return even;
}

/* ---- what the topology ties together */

/* The axes that a group of the level spans at least in part; 'whole': in full. Below the first level none. */
static ChmAxes axes_of_group(const ChmTopology *t, const ChmMesh *m, int32_t level, bool whole)
{
    ChmAxes set = 0;
    int32_t block = level < 0 ? 1 : t->level[level].group_ranks;
    if (level == t->nlevels - 1)
        return ~(ChmAxes)0;
    for (int32_t i = 0; i <= level && !block; i++)
        set |= t->level[i].axes;
    for (int32_t a = 0; a < m->naxes && block; a++)
        if (whole ? (int64_t)m->stride[a] * m->axis_size[a] <= block : m->stride[a] < block)
            set |= CHM_AXIS(a);
    return set;
}

/* Axes that blocks of ranks end inside; all of them where the blocks do not even end between coordinates. */
static ChmAxes axes_cut(const ChmTopology *t, const ChmMesh *m)
{
    ChmAxes cut = 0;
    for (int32_t i = 0; i < t->nlevels - 1; i++) {
        int32_t block = t->level[i].group_ranks;
        for (int32_t a = 0; a < m->naxes && block; a++) {
            int64_t end = (int64_t)m->stride[a] * m->axis_size[a];
            if (m->stride[a] >= block || end <= block)
                continue;
            if (block % m->stride[a] || end % block)
                return ~(ChmAxes)0;
            cut |= CHM_AXIS(a);
        }
    }
    return cut;
}

static ChmAxes tie_together(const ChmTopology *t, const ChmMesh *m, ChmAxes kept)
{
    kept |= axes_cut(t, m);
    for (ChmAxes before = 0; kept != before;) {
        before = kept;
        for (int32_t i = 0; i < t->nlevels; i++) {
            ChmAxes along = axes_of_group(t, m, i, false) & ~axes_of_group(t, m, i - 1, true);
            if (t->level[i].kind != CHM_LEVEL_SWITCH && kept & along & ~m->trivial)
                kept |= along;
        }
    }
    return kept;
}

/* ---- the fold */

void chm_fold_init(ChmFold *f, const ChmTopology *topo, const ChmShape *shape, const ChmLayout *from,
                   const ChmStep *steps, int32_t n)
{
    const ChmMesh *m = from->mesh;
    Common c;
    common_init(&c, shape, from);
    for (int32_t i = 0; i < n; i++)
        take_step(&c, &steps[i]);
    ChmAxes twins = c.partial | (c.exchanges ? 0 : c.replicated);
    for (int32_t d = 0; d < shape->ndims; d++)
        twins |= even_prefix(&c, d);
    ChmAxes own = chm_axes_outside(m, m->trivial);
    *f = (ChmFold){.mesh = m, .shape = shape, .kept = (own & ~twins & ~c.pinned) | c.worked};
    f->kept = tie_together(topo, m, f->kept) & (own | c.worked);
    f->pinned = c.pinned & ~f->kept;
    f->twins = own & ~f->kept & ~f->pinned;
    for (int32_t a = 0; a < m->naxes; a++)
        f->pin[a] = from->pin[a];
}

/* A set of kept axes, in the numbers of the folded mesh. */
static ChmAxes fold_axes(const ChmFold *f, ChmAxes set)
{
    ChmAxes folded = 0;
    int32_t place = 0;
    for (int32_t a = 0; a < f->mesh->naxes; a++) {
        if (set & f->kept & CHM_AXIS(a))
            folded |= CHM_AXIS(place);
        place += (f->kept & CHM_AXIS(a)) != 0;
    }
    return folded;
}

static int32_t fold_axis(const ChmFold *f, int32_t axis)
{
    int32_t place = 0;
    for (int32_t a = 0; a < axis; a++)
        place += (f->kept & CHM_AXIS(a)) != 0;
    return place;
}

static void fold_seq(const ChmFold *f, const ChmAxisSeq *seq, ChmAxisSeq *folded)
{
    for (int32_t i = 0; i < seq->len; i++)
        if (f->kept & CHM_AXIS(seq->at[i]))
            chm_seq_push(folded, fold_axis(f, seq->at[i]));
}

void chm_fold_mesh(const ChmFold *f, ChmMesh *folded)
{
    const ChmMesh *m = f->mesh;
    *folded = (ChmMesh){.name = m->name, .ranks = 1};
    for (int32_t a = 0; a < m->naxes; a++) {
        if (!(f->kept & CHM_AXIS(a)))
            continue;
        folded->axis_name[folded->naxes] = m->axis_name[a];
        folded->axis_size[folded->naxes++] = m->axis_size[a];
    }
    for (int32_t a = folded->naxes - 1; a >= 0; a--) {
        folded->stride[a] = folded->ranks;
        folded->ranks *= folded->axis_size[a];
        folded->trivial |= folded->axis_size[a] == 1 ? CHM_AXIS(a) : 0;
    }
}

void chm_fold_topology(const ChmFold *f, const ChmTopology *topo, ChmTopology *folded, int64_t *wire_twins)
{
    *folded = *topo;
    for (int32_t i = 0; i < topo->nlevels; i++) {
        ChmLevel *l = &folded->level[i];
        ChmAxes inside = axes_of_group(topo, f->mesh, i, true) & chm_axes_outside(f->mesh, 0);
        if (l->group_ranks)
            l->group_ranks /= (int32_t)chm_axes_extent(f->mesh, inside & ~f->kept);
        l->axes = fold_axes(f, l->axes);
        ChmAxes of_unit = axes_of_group(topo, f->mesh, i - 1, true); /* whose ranks share its wires */
        bool one = !l->shared && l->kind == CHM_LEVEL_SWITCH;
        wire_twins[i] = one ? 1 : chm_axes_extent(f->mesh, of_unit & f->twins);
        for (int32_t d = 0; d < l->grid_dims; d++) /* a grid is kept as a whole, or nothing goes along it */
            l->grid[d] = fold_axes(f, axes_of_group(topo, f->mesh, i, false) & ~of_unit) ? l->grid[d] : 1;
    }
}

void chm_fold_shape(const ChmFold *f, const ChmLayout *from, ChmShape *folded)
{
    *folded = *f->shape;
    folded->elems = 1;
    for (int32_t d = 0; d < folded->ndims; d++) {
        for (int32_t i = 0; i < from->dim[d].len; i++) {
            int32_t a = from->dim[d].at[i];
            if (f->twins & CHM_AXIS(a))
                folded->dim_size[d] /= f->mesh->axis_size[a];
        }
        folded->elems *= folded->dim_size[d];
    }
}

void chm_fold_layout(const ChmFold *f, const ChmMesh *mesh, const ChmLayout *l, ChmLayout *folded)
{
    *folded = (ChmLayout){.mesh = mesh, .ndims = l->ndims};
    folded->partial = fold_axes(f, l->partial);
    folded->pinned = fold_axes(f, l->pinned);
    folded->split = fold_axes(f, l->split);
    for (int32_t a = 0, place = 0; a < f->mesh->naxes; a++)
        if (f->kept & CHM_AXIS(a))
            folded->pin[place++] = l->pin[a];
    for (int32_t d = 0; d < l->ndims; d++)
        fold_seq(f, &l->dim[d], &folded->dim[d]);
}

void chm_fold_attrs(const ChmFold *f, ChmOpcode code, const ChmAttrs *attrs, ChmAttrs *folded)
{
    *folded = *attrs;
    folded->over = (ChmAxisSeq){0};
    fold_seq(f, &attrs->over, &folded->over);
    if (chm_op_has(code, 'X'))
        folded->axis = fold_axis(f, attrs->axis);
    folded->body = NULL;
    folded->body_len = 0;
}
