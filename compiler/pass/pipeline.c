/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/pipeline.c - a chain of layout changes becomes one op that does them chunk by chunk: while chunk i+1 is in one
 * step of the chain, chunk i is in the next, so that steps that load different wires run at the same time.
 *
 *   before  %1 = reduce_scatter %0 over (tp) dim s : [s/tp, h] at(pp=0)
 *           %2 = shift %1 pp 0 -> 1 : [s/tp, h] at(pp=1)
 *           output y = %2
 *   after   %2 = pipeline %0 dim h chunks 16 {
 *             reduce_scatter over (tp) dim s : [s/tp, h] at(pp=0)
 *             shift pp 0 -> 1 : [s/tp, h] at(pp=1)
 *           } : [s/tp, h] at(pp=1)
 *           output y = %2
 *
 * The dim and the number of chunks are those of the least predicted time: the busiest wire's total plus the time of one
 * chunk through the others, and the latency of every chunk. Legal where the splits of the dim at the two ends of the
 * chain are the same or one goes on from the other, and the chunks divide it; no other op may use what lies between.
 *
 * Contract: CHM_PROP_CANONICAL and CHM_PROP_NO_DEAD in, and they stay. O(ops * ops), and what pricing a chain takes.
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

/* More chunks than this gain less than a percent or two, and each costs its messages. */
#define MAX_CHUNKS 32

typedef struct Cutting {
    int32_t dim, chunks;
    double time_s;
} Cutting;

/* What the chain loads; NULL when fewer than two of its ops communicate, so that there is nothing to overlap. */
static const ChmPipeline *measure_load(ChmRewrite *w, const ChmType *type, const ChmMoves *moves)
{
    ChmSteps steps = {0};
    int32_t communicate;
    for (int32_t i = 0; i < moves->len; i++)
        CHM_PUSH(&w->m->arena, &steps, moves->at[i].step);
    const ChmPipeline *load =
        chm_pricer_load(chm_rewrite_pricer(w), type->shape, type->dtype, moves->at[0].from, &steps, &communicate);
    return communicate < 2 ? NULL : load;
}

/* The largest number of chunks up to 'limit' that divide the dim at its finer end. */
static int32_t most_chunks(const ChmShape *shape, int64_t blocks, int32_t dim, int32_t limit)
{
    int64_t size = shape->dim_size[dim];
    if (blocks == 0 || size % blocks != 0)
        return 1;
    int32_t chunks = limit < size / blocks ? limit : (int32_t)(size / blocks);
    while (size / blocks % chunks != 0)
        chunks--;
    return chunks;
}

/* The best number of chunks along one dim: the one asked for, as far as it divides, or the cheapest power of two. */
static Cutting cut_along(const ChmRewrite *w, const ChmType *from, const ChmType *to, const ChmPipeline *load,
                         int32_t dim)
{
    int64_t blocks = chm_chunk_blocks(from->layout, to->layout, dim);
    Cutting best = {dim, 1, chm_pipeline_time(load, 1)};
    if (w->env->chunks > 0) {
        best.chunks = most_chunks(from->shape, blocks, dim, w->env->chunks);
        best.time_s = chm_pipeline_time(load, best.chunks);
        return best;
    }
    for (int32_t chunks = 2; chunks <= MAX_CHUNKS; chunks *= 2) {
        double time_s = chm_pipeline_time(load, chunks);
        if (blocks > 0 && from->shape->dim_size[dim] % (blocks * chunks) == 0 && time_s < best.time_s * (1 - 1e-9))
            best = (Cutting){dim, chunks, time_s};
    }
    return best;
}

/* The first dim of the least time. With a number asked for, the first that takes the most chunks of it. */
static Cutting choose(const ChmRewrite *w, const ChmType *from, const ChmType *to, const ChmPipeline *load)
{
    Cutting best = cut_along(w, from, to, load, 0);
    for (int32_t d = 1; d < from->shape->ndims; d++) {
        Cutting c = cut_along(w, from, to, load, d);
        if (w->env->chunks > 0 ? c.chunks > best.chunks : c.time_s < best.time_s * (1 - 1e-9))
            best = c;
    }
    return best;
}

/* Is there a dim that two chunks divide? */
static bool can_be_cut(const ChmType *from, const ChmType *to)
{
    for (int32_t d = 0; d < from->shape->ndims; d++) {
        int64_t blocks = chm_chunk_blocks(from->layout, to->layout, d);
        if (blocks > 0 && from->shape->dim_size[d] % (2 * blocks) == 0)
            return true;
    }
    return false;
}

static ChmMove pipeline_of(ChmRewrite *w, const ChmOp *head, const ChmOp *tail, const ChmMoves *moves,
                           const Cutting *cut)
{
    ChmAttrs attrs = {.dim = cut->dim, .chunks = cut->chunks, .body = chm_keep_steps(w, moves), .body_len = moves->len};
    return (ChmMove){head->operand->type->layout, {CHM_OP_PIPELINE, attrs, tail->result->type->layout}};
}

static void consider(ChmRewrite *w, ChmOp *head, ChmOp *tail, const ChmMoves *moves)
{
    const ChmType *from = head->operand->type, *to = tail->result->type;
    const ChmPipeline *load = measure_load(w, from, moves);
    if (!load)
        return;
    Cutting cut = choose(w, from, to, load);
    const char *text = chm_moves_text(w, to, moves->at, moves->len);
    if (w->env->chunks > 0 && cut.chunks < w->env->chunks)
        chm_rewrite_missed(w, tail, 0, "%d chunks asked for, %d taken: more do not divide a dim of the chain evenly",
                           (int)w->env->chunks, (int)cut.chunks);
    if (w->env->chunks == 1)
        return; /* as it was asked for */
    /* The load is that of the whole: blocks of chunks may be less even than those of the tensor. */
    ChmMove pipeline = pipeline_of(w, head, tail, moves, &cut);
    double plain_s = chm_moves_price(w, to, moves->at, moves->len).time_s, time_s = plain_s;
    if (cut.chunks > 1)
        time_s = chm_moves_price(w, to, &pipeline, 1).time_s;
    if (cut.chunks == 1 || (w->env->chunks == 0 && time_s >= plain_s * (1 - 1e-9))) {
        chm_rewrite_missed(w, tail, 0, "%s: %s", text,
                           can_be_cut(from, to) ? "chunks of it would not be faster"
                                                : "no dim of it divides into chunks of every block at both ends");
        return;
    }
    const char *brief =
        chm_arena_printf(w->env->remarks->arena, "%d chunks along '%s': %.4g ms instead of %.4g ms predicted",
                         (int)cut.chunks, from->shape->dim_name[cut.dim], time_s * 1e3, plain_s * 1e3);
    chm_rewrite_applied(w, tail, 0, brief, "%s in %s", text, brief);
    ChmOp *before = tail->operand->def;
    chm_op_become(tail, head->operand, &pipeline.step);
    chm_unlink_unused(w->m, before);
}

/* The chain goes on behind this op. */
static bool in_the_middle(const ChmModule *m, const ChmOp *op)
{
    const ChmOp *user = chm_value_single_user(m, op->result);
    return user && chm_is_layout_op(user) && user->code != CHM_OP_PIPELINE;
}

int32_t chm_pass_pipeline(ChmModule *m, const ChmPassEnv *env)
{
    ChmRewrite w;
    ChmMoves moves = {0};
    chm_rewrite_init(&w, m, env, "pipeline");
    for (ChmOp *op = m->last; op; op = op->prev) {
        if (!chm_is_layout_op(op) || op->code == CHM_OP_PIPELINE || in_the_middle(m, op))
            continue;
        ChmOp *head = chm_find_chain(&w, op, &moves);
        if (moves.len >= 2)
            consider(&w, head, op, &moves);
    }
    return w.changes;
}
