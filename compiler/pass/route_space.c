/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/route_space.h"

#include "pass/route.h"

#include <assert.h>

/* The axes that differ between the ends, in the set sense of section 6. */
static ChmAxes differing(RouteSpace *s)
{
    const ChmLayout *a = s->from, *b = s->to;
    ChmAxes kept = a->partial & b->partial;
    for (int32_t d = 0; d < a->ndims; d++) {
        s->fixed[d] = chm_seq_common_prefix(&a->dim[d], &b->dim[d]);
        ChmAxisSeq prefix = chm_seq_slice(&a->dim[d], 0, s->fixed[d]);
        kept |= chm_seq_set(&prefix);
    }
    for (int32_t x = 0; x < a->mesh->naxes; x++)
        if (a->pinned & b->pinned & CHM_AXIS(x) && a->pin[x] == b->pin[x])
            kept |= CHM_AXIS(x);
    return (a->partial | b->partial | a->split | b->split | a->pinned | b->pinned) & ~kept;
}

static int32_t count_axes(ChmAxes set)
{
    return chm_seq_of_set(set).len;
}

bool route_space_init(RouteSpace *s, ChmCtx *ctx, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to)
{
    *s = (RouteSpace){.ctx = ctx, .shape = shape, .from = from, .to = to};
    s->moving = differing(s);
    ChmAxes stateful =
        from->partial | from->split | from->pinned | to->partial | to->split | to->pinned | from->mesh->trivial;
    bool all = true;
    for (int32_t x = 0; x < from->mesh->naxes; x++) {
        if (stateful & CHM_AXIS(x))
            continue;
        if (count_axes(s->moving) < CHM_ROUTE_MAX_MOVING)
            s->moving |= CHM_AXIS(x);
        else
            all = false;
    }
    return all && count_axes(s->moving) <= CHM_ROUTE_MAX_MOVING;
}

/* ---- moves */

typedef struct Mover {
    const RouteSpace *s;
    const ChmLayout *at;
    RouteVisit *visit;
    void *user;
} Mover;

/* Slices, which come axis by axis, do in any case. */
static bool takes_whole_axes(const ChmMesh *mesh, ChmOpcode code, const ChmAttrs *attrs)
{
    ChmAxes set = chm_op_has(code, 'X') ? CHM_AXIS(attrs->axis) : chm_seq_set(&attrs->over);
    for (int32_t x = 0, n; x < mesh->naxes && !chm_is_local(code); x += n) {
        n = chm_mesh_parts(mesh, x);
        ChmAxes parts = 0;
        for (int32_t i = x; i < x + n; i++)
            parts |= CHM_AXIS(i);
        if ((set & parts) && (set & parts) != parts)
            return false;
    }
    return true;
}

static void offer(const Mover *m, ChmOpcode code, const ChmAttrs *attrs)
{
    if (m->s->whole_axes && !takes_whole_axes(m->at->mesh, code, attrs))
        return;
    const ChmLayout *to = chm_infer_layout(m->s->ctx, code, attrs, m->s->shape, m->at, NULL, NULL);
    if (to)
        m->visit(m->user, &(ChmStep){code, *attrs, to});
}

/* Every ordered choice of axes from 'set', as 'over' of the op. */
static void offer_sequences(const Mover *m, ChmOpcode code, ChmAttrs *attrs, ChmAxes set)
{
    for (int32_t x = 0; x < m->at->mesh->naxes; x++) {
        if (!(set & CHM_AXIS(x)))
            continue;
        chm_seq_push(&attrs->over, x);
        offer(m, code, attrs);
        offer_sequences(m, code, attrs, set & ~CHM_AXIS(x));
        attrs->over.at[--attrs->over.len] = 0;
    }
}

/* Every non-empty subset, in mesh order: for all_reduce the order is immaterial. */
static void offer_subsets(const Mover *m, ChmOpcode code, ChmAxes set)
{
    for (ChmAxes sub = set; sub; sub = (sub - 1) & set)
        offer(m, code, &(ChmAttrs){.over = chm_seq_of_set(sub)});
}

/* Slices move no bytes, so they are offered axis by axis; neighbours on one dim are joined when the route is done. */
static void offer_slices(const Mover *m, ChmAxes replicated)
{
    for (int32_t d = 0; d < m->at->ndims; d++)
        for (int32_t x = 0; x < m->at->mesh->naxes; x++)
            if (replicated & CHM_AXIS(x)) {
                ChmAttrs attrs = {.dim = d};
                chm_seq_push(&attrs.over, x);
                offer(m, CHM_OP_SLICE, &attrs);
            }
}

static void offer_suffixes(const Mover *m, int32_t d)
{
    const ChmAxisSeq *split = &m->at->dim[d];
    for (int32_t p = m->s->fixed[d]; p < split->len; p++) {
        ChmAttrs attrs = {.over = chm_seq_slice(split, p, split->len), .dim = d};
        offer(m, CHM_OP_ALL_GATHER, &attrs);
        for (attrs.to_dim = 0; attrs.to_dim < m->at->ndims; attrs.to_dim++)
            if (attrs.to_dim != d)
                offer(m, CHM_OP_ALL_TO_ALL, &attrs);
    }
}

static void offer_pin(const Mover *m, int32_t x, int32_t coord)
{
    ChmAxes bit = CHM_AXIS(x);
    ChmAttrs attrs = {.axis = x, .to = coord};
    if (m->at->pinned & bit) {
        attrs.from = m->at->pin[x];
        if (attrs.from != coord)
            offer(m, CHM_OP_SHIFT, &attrs);
        return;
    }
    offer(m, (m->at->partial & bit) ? CHM_OP_REDUCE : CHM_OP_DROP, &attrs);
}

/* A pin is only ever at a coordinate that occurs at an end of the arrow. */
static void offer_pins(const Mover *m, int32_t x)
{
    ChmAxes bit = CHM_AXIS(x);
    const ChmLayout *from = m->s->from, *to = m->s->to;
    if (m->at->pinned & bit)
        offer(m, CHM_OP_BROADCAST, &(ChmAttrs){.axis = x, .from = m->at->pin[x]});
    if (from->pinned & bit)
        offer_pin(m, x, from->pin[x]);
    if (to->pinned & bit && !(from->pinned & bit && from->pin[x] == to->pin[x]))
        offer_pin(m, x, to->pin[x]);
}

void route_moves(const RouteSpace *s, const ChmLayout *at, RouteVisit *visit, void *user)
{
    const Mover m = {s, at, visit, user};
    ChmAxes owed = at->partial & s->moving, replicated = s->moving & ~(at->partial | at->pinned | at->split);
    offer_subsets(&m, CHM_OP_ALL_REDUCE, owed);
    for (int32_t d = 0; d < at->ndims; d++) {
        offer_sequences(&m, CHM_OP_REDUCE_SCATTER, &(ChmAttrs){.dim = d}, owed);
        offer_suffixes(&m, d);
    }
    offer_slices(&m, replicated);
    for (int32_t x = 0; x < at->mesh->naxes; x++)
        if (s->moving & CHM_AXIS(x))
            offer_pins(&m, x);
}

/* ---- all layouts */

typedef struct Lister {
    const RouteSpace *s;
    ChmArena *arena;
    RouteLayouts *out;
    int32_t max;
    bool all;
} Lister;

static void list_from(Lister *l, ChmLayout *draft, int32_t axis);

static void list_pinned(Lister *l, ChmLayout *draft, int32_t x, int32_t coord)
{
    draft->pinned |= CHM_AXIS(x);
    draft->pin[x] = coord;
    list_from(l, draft, x + 1);
    draft->pinned &= ~CHM_AXIS(x);
    draft->pin[x] = 0;
}

/* Inserting each axis at every place of every dim's moving part makes each order exactly once. */
static void list_split(Lister *l, ChmLayout *draft, int32_t x)
{
    for (int32_t d = 0; d < draft->ndims; d++)
        for (int32_t p = l->s->fixed[d]; p <= draft->dim[d].len; p++) {
            ChmAxisSeq before = draft->dim[d], split = chm_seq_slice(&before, 0, p);
            chm_seq_push(&split, x);
            for (int32_t i = p; i < before.len; i++)
                chm_seq_push(&split, before.at[i]);
            draft->dim[d] = split;
            list_from(l, draft, x + 1);
            draft->dim[d] = before;
        }
}

static void list_from(Lister *l, ChmLayout *draft, int32_t axis)
{
    const RouteSpace *s = l->s;
    int32_t x = axis;
    while (x < s->from->mesh->naxes && !(s->moving & CHM_AXIS(x)))
        x++;
    if (!l->all)
        return;
    if (x == s->from->mesh->naxes) {
        l->all = l->out->len < l->max;
        if (l->all)
            CHM_PUSH(l->arena, l->out, chm_layout_make(s->ctx, draft));
        return;
    }
    ChmAxes bit = CHM_AXIS(x);
    list_from(l, draft, x + 1);
    list_split(l, draft, x);
    if (s->from->partial & bit) {
        draft->partial |= bit;
        list_from(l, draft, x + 1);
        draft->partial &= ~bit;
    }
    if (s->from->pinned & bit)
        list_pinned(l, draft, x, s->from->pin[x]);
    if (s->to->pinned & bit && !(s->from->pinned & bit && s->from->pin[x] == s->to->pin[x]))
        list_pinned(l, draft, x, s->to->pin[x]);
}

/* The layout with the moving axes replicated: what the ends have in common. */
static ChmLayout common_part(const RouteSpace *s)
{
    ChmLayout draft = *s->from;
    draft.partial &= ~s->moving;
    draft.pinned &= ~s->moving;
    for (int32_t d = 0; d < draft.ndims; d++)
        draft.dim[d] = chm_seq_slice(&s->from->dim[d], 0, s->fixed[d]);
    for (int32_t x = 0; x < CHM_MAX_AXES; x++)
        if (!(draft.pinned & CHM_AXIS(x)))
            draft.pin[x] = 0;
    return draft;
}

bool route_layouts(const RouteSpace *s, ChmArena *arena, int32_t max, RouteLayouts *out)
{
    Lister l = {s, arena, out, max, true};
    ChmLayout draft = common_part(s);
    list_from(&l, &draft, 0);
    return l.all;
}

/* ---- reduction to the moving axes */

/* Coordinates of pins in the reduced space: 0 for the first that occurs at an end, 1 for another. */
static int32_t first_pin(const RouteSpace *s, int32_t x)
{
    return (s->from->pinned & CHM_AXIS(x)) ? s->from->pin[x] : s->to->pin[x];
}

static int32_t reduce_pin(const RouteSpace *s, int32_t x, int32_t coord)
{
    return coord != first_pin(s, x);
}

static int32_t lift_pin(const RouteSpace *s, int32_t x, int32_t coord)
{
    return coord == 0 ? first_pin(s, x) : s->to->pin[x];
}

/* Halves the largest axes until there are few enough ranks. What n ranks do, n/2 do alike: only (n-1)/n changes. */
static bool shrink(int32_t *sizes, int32_t n)
{
    bool shrunk = false;
    for (;;) {
        int64_t ranks = 1;
        int32_t largest = 0;
        for (int32_t i = 0; i < n; i++) {
            ranks *= sizes[i];
            if (sizes[i] > sizes[largest])
                largest = i;
        }
        if (ranks <= CHM_ROUTE_MAX_RANKS)
            return shrunk;
        sizes[largest] /= 2;
        shrunk = true;
    }
}

static const ChmLayout *reduce_layout(const RouteSpace *s, const ChmMesh *mesh, const ChmAxisSeq *axes,
                                      const ChmLayout *l)
{
    ChmLayout draft = {.mesh = mesh, .ndims = l->ndims};
    for (int32_t i = 0; i < axes->len; i++) {
        ChmAxes bit = CHM_AXIS(axes->at[i]);
        if (l->partial & bit)
            draft.partial |= CHM_AXIS(i);
        if (l->pinned & bit) {
            draft.pinned |= CHM_AXIS(i);
            draft.pin[i] = reduce_pin(s, axes->at[i], l->pin[axes->at[i]]);
        }
    }
    for (int32_t d = 0; d < l->ndims; d++)
        for (int32_t p = s->fixed[d]; p < l->dim[d].len; p++)
            for (int32_t i = 0; i < axes->len; i++)
                if (axes->at[i] == l->dim[d].at[p])
                    chm_seq_push(&draft.dim[d], i);
    return chm_layout_make(s->ctx, &draft);
}

void route_space_reduce(const RouteSpace *s, RouteSpace *reduced, bool *exact)
{
    ChmAxisSeq axes = chm_seq_of_set(s->moving);
    const char *names[CHM_MAX_AXES];
    int32_t sizes[CHM_MAX_AXES];
    for (int32_t i = 0; i < axes.len; i++) {
        names[i] = s->from->mesh->axis_name[axes.at[i]];
        sizes[i] = s->from->mesh->axis_size[axes.at[i]];
    }
    int64_t dims[CHM_MAX_DIMS], moving = chm_mesh_extent(s->from->mesh, &axes), fewer = 1;
    *exact = !shrink(sizes, axes.len);
    for (int32_t i = 0; i < axes.len; i++)
        fewer *= sizes[i];
    for (int32_t d = 0; d < s->shape->ndims; d++) {
        ChmAxisSeq prefix = chm_seq_slice(&s->from->dim[d], 0, s->fixed[d]);
        int64_t n = s->shape->dim_size[d], k = chm_mesh_extent(s->from->mesh, &prefix);
        dims[d] = n - chm_block_begin(n, k, k - 1); /* the largest block */
        if (n % k != 0 || n / k % moving != 0)
            *exact = false;
        else
            dims[d] = n / k / moving * fewer;
    }
    const ChmMesh *mesh = chm_mesh_make(s->ctx, "", axes.len, names, sizes);
    *reduced = (RouteSpace){.ctx = s->ctx, .shape = chm_shape_make(s->ctx, s->shape->ndims, s->shape->dim_name, dims)};
    reduced->from = reduce_layout(s, mesh, &axes, s->from);
    reduced->to = reduce_layout(s, mesh, &axes, s->to);
    reduced->moving = mesh->naxes == CHM_MAX_AXES ? ~(ChmAxes)0 : CHM_AXIS(mesh->naxes) - 1;
}

static const ChmLayout *lift_layout(const RouteSpace *full, const ChmAxisSeq *axes, const ChmLayout *l)
{
    ChmLayout draft = common_part(full);
    for (int32_t i = 0; i < axes->len; i++) {
        int32_t x = axes->at[i];
        if (l->partial & CHM_AXIS(i))
            draft.partial |= CHM_AXIS(x);
        if (l->pinned & CHM_AXIS(i)) {
            draft.pinned |= CHM_AXIS(x);
            draft.pin[x] = lift_pin(full, x, l->pin[i]);
        }
    }
    for (int32_t d = 0; d < l->ndims; d++)
        for (int32_t p = 0; p < l->dim[d].len; p++)
            chm_seq_push(&draft.dim[d], axes->at[l->dim[d].at[p]]);
    return chm_layout_make(full->ctx, &draft);
}

void route_space_lift(const RouteSpace *full, ChmArena *arena, const ChmSteps *steps, ChmSteps *out)
{
    ChmAxisSeq axes = chm_seq_of_set(full->moving);
    for (int32_t i = 0; i < steps->len; i++) {
        ChmStep step = steps->at[i];
        for (int32_t k = 0; k < step.attrs.over.len; k++)
            step.attrs.over.at[k] = axes.at[step.attrs.over.at[k]];
        if (chm_op_has(step.code, 'X'))
            step.attrs.axis = axes.at[step.attrs.axis];
        if (chm_op_has(step.code, 'I'))
            step.attrs.from = lift_pin(full, step.attrs.axis, step.attrs.from);
        if (chm_op_has(step.code, 'J'))
            step.attrs.to = lift_pin(full, step.attrs.axis, step.attrs.to);
        step.to = lift_layout(full, &axes, step.to);
        assert(step.to && "a step of the reduced space has no counterpart");
        CHM_PUSH(arena, out, step);
    }
}

/* ---- the machine of the reduced space */

/* The axes that a group of the level spans; false when it ends inside an axis. */
static bool axes_inside(const ChmTopology *t, const ChmMesh *m, int32_t level, ChmAxes below, ChmAxes *inside)
{
    const ChmLevel *l = &t->level[level];
    *inside = below | l->axes;
    if (l->group_ranks > 0) {
        *inside = 0;
        int64_t ranks = 1;
        for (int32_t x = m->naxes - 1; x >= 0 && ranks < l->group_ranks; x--) {
            *inside |= CHM_AXIS(x);
            ranks *= m->axis_size[x];
        }
        return ranks == l->group_ranks;
    }
    if (level == t->nlevels - 1)
        *inside = ~(ChmAxes)0;
    return true;
}

/* A set of axes of the full mesh, as far as they move, in the reduced one. */
static ChmAxes reduce_axes(const RouteSpace *full, ChmAxes set)
{
    ChmAxisSeq axes = chm_seq_of_set(full->moving);
    ChmAxes reduced = 0;
    for (int32_t i = 0; i < axes.len; i++)
        if (set & CHM_AXIS(axes.at[i]))
            reduced |= CHM_AXIS(i);
    return reduced;
}

/* How many twins of a rank there are among the axes: it has one at every place of those that do not move, unless they
 * are pinned. */
static int64_t twins(const RouteSpace *full, ChmAxes set)
{
    ChmAxisSeq still = {0};
    for (int32_t x = 0; x < full->from->mesh->naxes; x++)
        if (set & ~full->moving & ~(full->from->pinned & full->to->pinned) & CHM_AXIS(x))
            chm_seq_push(&still, x);
    return chm_mesh_extent(full->from->mesh, &still);
}

bool route_space_fold(const RouteSpace *full, const ChmTopology *topology, ChmTopology *folded)
{
    const ChmMesh *m = full->from->mesh;
    *folded = (ChmTopology){.name = topology->name, .reduce_bytes_per_s = topology->reduce_bytes_per_s};
    ChmAxes below = 0, inside;
    for (int32_t i = 0; i < topology->nlevels; i++, below = inside) {
        if (!axes_inside(topology, m, i, below, &inside))
            return false;
        ChmLevel l = topology->level[i];
        ChmAxes own = inside & ~below & ~m->trivial, moving = reduce_axes(full, own);
        bool last = i == topology->nlevels - 1, grid = l.kind != CHM_LEVEL_SWITCH;
        if (grid && moving && (twins(full, own) > 1 || full->from->pinned & full->to->pinned & own))
            return false;
        if (!moving && !last)
            continue; /* joins one unit with itself: nothing goes over it */
        if (l.shared || grid)
            l.bandwidth_bytes_per_s /= (double)twins(full, below);
        l.shared = l.shared && folded->nlevels > 0;
        l.group_ranks = 0;
        l.axes = last ? 0 : moving;
        if (grid && !moving)
            l.kind = CHM_LEVEL_SWITCH;
        folded->level[folded->nlevels++] = l;
    }
    return true;
}
