/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/infer.c - the typing rules of layout changes: design section 4, one function a row of ops.def.
 *
 * Axes of size 1 have no state, so a rule passes over them: 'over (tp)' with tp = 1 asks for nothing and changes
 * nothing.
 */
#include "ir/geom.h"
#include "ir/module.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct Rule {
    ChmCtx *ctx;
    const ChmAttrs *attrs;
    const ChmShape *shape;
    const ChmLayout *from, *target;
    ChmLayout to;    /* a draft, at first equal to *from */
    ChmAxisSeq over; /* attrs->over without axes of size 1 */
    ChmWhy *why;
} Rule;

static bool CHM_PRINTF(2, 3) fail(Rule *r, const char *fmt, ...)
{
    if (r->why) { /* the searches ask without wanting to know */
        char text[512];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        r->why->text = chm_arena_strndup(&r->ctx->arena, text, strlen(text));
    }
    return false;
}

static const char *axis_name(const Rule *r, int32_t axis)
{
    return r->from->mesh->axis_name[axis];
}

static const char *state_of(const Rule *r, int32_t axis)
{
    ChmAxes bit = CHM_AXIS(axis);
    return r->from->partial & bit  ? "partial"
           : r->from->pinned & bit ? "pinned"
           : r->from->split & bit  ? "splitting a dim"
                                   : "replicated";
}

static bool all_over_in(Rule *r, ChmAxes set, const char *state)
{
    for (int32_t i = 0; i < r->over.len; i++)
        if (!(set & CHM_AXIS(r->over.at[i])))
            return fail(r, "axis '%s' is %s, not %s", axis_name(r, r->over.at[i]), state_of(r, r->over.at[i]), state);
    return true;
}

static ChmAxes replicated_axes(const ChmLayout *l)
{
    return ~(l->partial | l->pinned | l->split);
}

static void append_over(Rule *r, int32_t dim)
{
    for (int32_t i = 0; i < r->over.len; i++)
        chm_seq_push(&r->to.dim[dim], r->over.at[i]);
}

/* What an axis that should split dim does instead. */
static bool fail_unsplit(Rule *r, int32_t axis, int32_t dim, const char *does)
{
    const char *name = axis_name(r, axis), *of = r->shape->dim_name[dim];
    int32_t other = chm_layout_dim_of(r->from, axis);
    if (other >= 0)
        return fail(r, "axis '%s' splits dim '%s', not '%s'", name, r->shape->dim_name[other], of);
    if (replicated_axes(r->from) & CHM_AXIS(axis))
        return fail(r, "axis '%s' is replicated: this would %s %d copies", name, does,
                    (int)r->from->mesh->axis_size[axis]);
    return fail(r, "axis '%s' is %s, not splitting dim '%s'", name, state_of(r, axis), of);
}

static bool cut_over(Rule *r, int32_t dim, const char *does)
{
    ChmAxisSeq *split = &r->to.dim[dim];
    for (int32_t i = 0; i < r->over.len; i++)
        if (!(chm_seq_set(split) & CHM_AXIS(r->over.at[i])))
            return fail_unsplit(r, r->over.at[i], dim, does);
    if (!chm_seq_ends_with(split, &r->over))
        return fail(r, "the split of dim '%s' does not end with the axes of 'over', in that order",
                    r->shape->dim_name[dim]);
    *split = chm_seq_slice(split, 0, split->len - r->over.len);
    return true;
}

static bool settle_over(Rule *r)
{
    if (!all_over_in(r, r->from->partial, "partial"))
        return false;
    r->to.partial &= ~chm_seq_set(&r->over);
    return true;
}

/* ---- one rule a row */

static bool rule_slice(Rule *r)
{
    if (!all_over_in(r, replicated_axes(r->from), "replicated"))
        return false;
    append_over(r, r->attrs->dim);
    return true;
}

static bool rule_all_reduce(Rule *r)
{
    return settle_over(r);
}

static bool rule_reduce_scatter(Rule *r)
{
    if (!settle_over(r))
        return false;
    append_over(r, r->attrs->dim);
    return true;
}

static bool rule_all_gather(Rule *r)
{
    return cut_over(r, r->attrs->dim, "join");
}

static bool rule_all_to_all(Rule *r)
{
    if (r->attrs->dim == r->attrs->to_dim)
        return fail(r, "it moves a split from dim '%s' to itself", r->shape->dim_name[r->attrs->dim]);
    if (!cut_over(r, r->attrs->dim, "move"))
        return false;
    append_over(r, r->attrs->to_dim);
    return true;
}

static bool coord_in_axis(Rule *r, int32_t coord)
{
    int32_t a = r->attrs->axis, size = r->from->mesh->axis_size[a];
    return (coord >= 0 && coord < size) ||
           fail(r, "coordinate %d is outside axis '%s' of size %d", coord, axis_name(r, a), size);
}

/* The axis of the op has size 1: there is nothing to pin or to settle. */
static bool trivial_axis(const Rule *r)
{
    return r->from->mesh->axis_size[r->attrs->axis] == 1;
}

static bool pinned_at(Rule *r, int32_t coord)
{
    int32_t a = r->attrs->axis;
    if (!coord_in_axis(r, coord))
        return false;
    if (trivial_axis(r))
        return true;
    if (!(r->from->pinned & CHM_AXIS(a)))
        return fail(r, "axis '%s' is %s, not pinned", axis_name(r, a), state_of(r, a));
    return r->from->pin[a] == coord ||
           fail(r, "the value is at %s=%d, not at %s=%d", axis_name(r, a), r->from->pin[a], axis_name(r, a), coord);
}

static bool pin_at(Rule *r, int32_t coord)
{
    if (!coord_in_axis(r, coord))
        return false;
    if (!trivial_axis(r)) {
        r->to.pinned |= CHM_AXIS(r->attrs->axis);
        r->to.pin[r->attrs->axis] = coord;
    }
    return true;
}

static bool rule_shift(Rule *r)
{
    return pinned_at(r, r->attrs->from) && pin_at(r, r->attrs->to);
}

static bool rule_broadcast(Rule *r)
{
    r->to.pinned &= ~CHM_AXIS(r->attrs->axis);
    return pinned_at(r, r->attrs->from);
}

static bool rule_reduce(Rule *r)
{
    ChmAxes bit = CHM_AXIS(r->attrs->axis);
    if (!trivial_axis(r) && !(r->from->partial & bit))
        return fail(r, "axis '%s' is %s, not partial", axis_name(r, r->attrs->axis), state_of(r, r->attrs->axis));
    r->to.partial &= ~bit;
    return pin_at(r, r->attrs->to);
}

static bool rule_drop(Rule *r)
{
    if (!trivial_axis(r) && !(replicated_axes(r->from) & CHM_AXIS(r->attrs->axis)))
        return fail(r, "axis '%s' is %s, not replicated", axis_name(r, r->attrs->axis), state_of(r, r->attrs->axis));
    return pin_at(r, r->attrs->to);
}

static bool has_target(Rule *r)
{
    if (!r->target || r->target->mesh != r->from->mesh || r->target->ndims != r->from->ndims)
        return fail(r, "it needs a result layout of the same mesh and dims");
    r->to = *r->target;
    return true;
}

static bool rule_exchange(Rule *r)
{
    if (!has_target(r))
        return false;
    return r->target->partial == r->from->partial ||
           fail(r, "an exchange keeps the partial axes as they are; reduce_exchange settles some");
}

static bool rule_reduce_exchange(Rule *r)
{
    if (!has_target(r))
        return false;
    if (r->target->partial & ~r->from->partial)
        return fail(r, "it would make an axis partial; no op does");
    return r->target->partial != r->from->partial || fail(r, "it settles no axis; exchange is the op for that");
}

/* Its result is asked for; the body must lead there. */
static bool rule_pipeline(Rule *r)
{
    return has_target(r) && chm_check_body(r->ctx, r->attrs, r->shape, r->from, r->target, r->why);
}

/* ---- the table */

static bool rule_input(Rule *r)
{
    return fail(r, "it is no layout change");
}

static bool rule_wait(Rule *r)
{
    return fail(r, "it is no layout change");
}

static bool rule_output(Rule *r)
{
    return fail(r, "it is no layout change");
}

static bool (*const rules[CHM_NOPS])(Rule *) = {
#define CHM_OP(CODE, name, class, syntax, what) rule_##name,
#include "ir/ops.def"
#undef CHM_OP
};

static bool attrs_in_range(Rule *r, ChmOpcode code)
{
    const ChmAttrs *a = r->attrs;
    int32_t naxes = r->from->mesh->naxes, ndims = r->from->ndims;
    for (int32_t i = 0; i < a->over.len; i++)
        if (a->over.at[i] >= naxes)
            return fail(r, "an axis of 'over' is not of the mesh");
    if (chm_op_has(code, 'X') && (a->axis < 0 || a->axis >= naxes))
        return fail(r, "its axis is not of the mesh");
    if ((chm_op_has(code, 'D') && (a->dim < 0 || a->dim >= ndims)) ||
        (chm_op_has(code, 'E') && (a->to_dim < 0 || a->to_dim >= ndims)))
        return fail(r, "its dim is not of the tensor");
    return true;
}

const ChmLayout *chm_infer_layout(ChmCtx *ctx, ChmOpcode code, const ChmAttrs *attrs, const ChmShape *shape,
                                  const ChmLayout *from, const ChmLayout *target, ChmWhy *why)
{
    Rule r = {.ctx = ctx, .attrs = attrs, .shape = shape, .from = from, .target = target, .to = *from, .why = why};
    if (!attrs_in_range(&r, code))
        return NULL;
    ChmAxes seen = 0;
    for (int32_t i = 0; i < attrs->over.len; i++) {
        if (seen & CHM_AXIS(attrs->over.at[i])) {
            fail(&r, "axis '%s' stands twice in 'over'", axis_name(&r, attrs->over.at[i]));
            return NULL;
        }
        seen |= CHM_AXIS(attrs->over.at[i]);
        if (from->mesh->axis_size[attrs->over.at[i]] > 1)
            chm_seq_push(&r.over, attrs->over.at[i]);
    }
    if (!rules[code](&r))
        return NULL;
    const ChmLayout *to = chm_layout_make(ctx, &r.to);
    if (!to)
        fail(&r, "the result would have an axis in two states");
    return to;
}
