/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/arrow.h"

#include <assert.h>

const char *chm_arrow_illegal(ChmCtx *ctx, const ChmLayout *from, const ChmLayout *to)
{
    ChmAxes made = to->partial & ~from->partial;
    if (!made)
        return NULL;
    ChmAxisSeq axes = chm_seq_of_set(made);
    return chm_arena_printf(&ctx->arena, "it would make axis '%s' partial", to->mesh->axis_name[axes.at[0]]);
}

/* ---- the one op */

typedef struct Arrow {
    ChmCtx *ctx;
    const ChmShape *shape;
    const ChmLayout *from, *to;
} Arrow;

static bool does(const Arrow *a, ChmOpcode code, ChmAttrs attrs, ChmStep *step)
{
    if (chm_infer_layout(a->ctx, code, &attrs, a->shape, a->from, NULL, NULL) != a->to)
        return false;
    *step = (ChmStep){code, attrs, a->to};
    return true;
}

/* Ops that lengthen the split of a dim. */
static bool single_longer(const Arrow *a, int32_t d, ChmStep *step)
{
    const ChmAxisSeq *s = &a->from->dim[d], *t = &a->to->dim[d];
    ChmAttrs attrs = {.over = chm_seq_slice(t, s->len, t->len), .dim = d};
    return does(a, CHM_OP_SLICE, attrs, step) || does(a, CHM_OP_REDUCE_SCATTER, attrs, step);
}

/* Ops that shorten it. */
static bool single_shorter(const Arrow *a, int32_t d, ChmStep *step)
{
    const ChmAxisSeq *s = &a->from->dim[d], *t = &a->to->dim[d];
    ChmAttrs attrs = {.over = chm_seq_slice(s, t->len, s->len), .dim = d};
    if (does(a, CHM_OP_ALL_GATHER, attrs, step))
        return true;
    for (int32_t e = 0; e < a->from->ndims; e++) {
        attrs.to_dim = e;
        if (e != d && does(a, CHM_OP_ALL_TO_ALL, attrs, step))
            return true;
    }
    return false;
}

static bool single_pin(const Arrow *a, int32_t axis, ChmStep *step)
{
    bool was = a->from->pinned & CHM_AXIS(axis), is = a->to->pinned & CHM_AXIS(axis);
    ChmAttrs attrs = {.axis = axis, .from = a->from->pin[axis], .to = a->to->pin[axis]};
    if (was && is)
        return does(a, CHM_OP_SHIFT, attrs, step);
    if (was)
        return does(a, CHM_OP_BROADCAST, attrs, step);
    return is && (does(a, CHM_OP_DROP, attrs, step) || does(a, CHM_OP_REDUCE, attrs, step));
}

bool chm_arrow_single(ChmCtx *ctx, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to, ChmStep *step)
{
    const Arrow a = {ctx, shape, from, to};
    if (from == to)
        return false;
    ChmAxes settled = from->partial & ~to->partial;
    if (settled && does(&a, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = chm_seq_of_set(settled)}, step))
        return true;
    for (int32_t d = 0; d < from->ndims; d++) {
        int32_t s = from->dim[d].len, t = to->dim[d].len;
        if ((t > s && single_longer(&a, d, step)) || (t < s && single_shorter(&a, d, step)))
            return true;
    }
    for (int32_t axis = 0; axis < from->mesh->naxes; axis++)
        if (((from->pinned | to->pinned) & CHM_AXIS(axis)) && single_pin(&a, axis, step))
            return true;
    return false;
}

ChmStep chm_arrow_exchange(const ChmLayout *from, const ChmLayout *to)
{
    return (ChmStep){.code = from->partial == to->partial ? CHM_OP_EXCHANGE : CHM_OP_REDUCE_EXCHANGE, .to = to};
}

/* ---- the baseline */

typedef struct Writer {
    ChmCtx *ctx;
    ChmArena *arena;
    const ChmShape *shape;
    const ChmLayout *at, *to; /* where the sequence has come to; where it goes */
    ChmSteps *steps;
} Writer;

static void write_step(Writer *w, ChmOpcode code, ChmAttrs attrs)
{
    const ChmLayout *next = chm_infer_layout(w->ctx, code, &attrs, w->shape, w->at, NULL, NULL);
    assert(next && "a step of the baseline does not type-check");
    CHM_PUSH(w->arena, w->steps, ((ChmStep){code, attrs, next}));
    w->at = next;
}

/* The length of the common prefix of a dim's split here and at the end. */
static int32_t settled_prefix(const Writer *w, int32_t d)
{
    return chm_seq_common_prefix(&w->at->dim[d], &w->to->dim[d]);
}

static void gather_from(Writer *w, int32_t d, int32_t begin)
{
    const ChmAxisSeq *s = &w->at->dim[d];
    if (begin < s->len)
        write_step(w, CHM_OP_ALL_GATHER, (ChmAttrs){.over = chm_seq_slice(s, begin, s->len), .dim = d});
}

/* (b) from the first axis that ends up splitting nothing */
static void gather_unwanted(Writer *w)
{
    for (int32_t d = 0; d < w->at->ndims; d++) {
        int32_t p = settled_prefix(w, d);
        while (p < w->at->dim[d].len && w->to->split & CHM_AXIS(w->at->dim[d].at[p]))
            p++;
        gather_from(w, d, p);
    }
}

/* (c) one all_to_all: lowest source dim, lowest target dim, longest suffix */
static bool move_a_suffix(Writer *w)
{
    for (int32_t d = 0; d < w->at->ndims; d++)
        for (int32_t e = 0; e < w->at->ndims; e++)
            for (int32_t p = settled_prefix(w, d); e != d && p < w->at->dim[d].len; p++) {
                ChmAxisSeq suffix = chm_seq_slice(&w->at->dim[d], p, w->at->dim[d].len), moved = w->at->dim[e];
                for (int32_t i = 0; i < suffix.len; i++)
                    chm_seq_push(&moved, suffix.at[i]);
                if (chm_seq_common_prefix(&moved, &w->to->dim[e]) < moved.len)
                    continue;
                write_step(w, CHM_OP_ALL_TO_ALL, (ChmAttrs){.over = suffix, .dim = d, .to_dim = e});
                return true;
            }
    return false;
}

/* (e), (g) as far as the order allows: an axis that is still pinned ends it */
static void slice_what_is_free(Writer *w)
{
    for (int32_t d = 0; d < w->at->ndims; d++) {
        const ChmAxisSeq *t = &w->to->dim[d];
        int32_t begin = w->at->dim[d].len, end = begin;
        while (end < t->len && !((w->at->pinned | w->at->split | w->at->partial) & CHM_AXIS(t->at[end])))
            end++;
        if (end > begin)
            write_step(w, CHM_OP_SLICE, (ChmAttrs){.over = chm_seq_slice(t, begin, end), .dim = d});
    }
}

/* (f) */
static void move_pins(Writer *w)
{
    for (int32_t a = 0; a < w->at->mesh->naxes; a++) {
        bool was = w->at->pinned & CHM_AXIS(a), is = w->to->pinned & CHM_AXIS(a);
        ChmAttrs attrs = {.axis = a, .from = w->at->pin[a], .to = w->to->pin[a]};
        if (was && is && attrs.from != attrs.to)
            write_step(w, CHM_OP_SHIFT, attrs);
        else if (was && !is)
            write_step(w, CHM_OP_BROADCAST, attrs);
        else if (!was && is)
            write_step(w, CHM_OP_DROP, attrs);
    }
}

void chm_arrow_baseline(ChmCtx *ctx, ChmArena *arena, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to,
                        ChmSteps *steps)
{
    Writer w = {ctx, arena, shape, from, to, steps};
    ChmStep one;
    if (from == to)
        return;
    if (chm_arrow_single(ctx, shape, from, to, &one)) {
        CHM_PUSH(arena, steps, one);
        return;
    }
    ChmAxes owed = from->partial & ~to->partial;
    if (owed)
        write_step(&w, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = chm_seq_of_set(owed)}); /* (a) */
    gather_unwanted(&w);
    while (move_a_suffix(&w)) {
    }
    for (int32_t d = 0; d < to->ndims; d++)
        gather_from(&w, d, settled_prefix(&w, d)); /* (d) */
    slice_what_is_free(&w);
    move_pins(&w);
    slice_what_is_free(&w);
    assert(w.at == to && "the baseline does not reach its target");
}
