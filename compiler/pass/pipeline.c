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
 * Contract: CHM_PROP_CANONICAL and CHM_PROP_NO_DEAD in, and they stay. O(ops * (ops + ranks)).
 */
#include "pass/cut.h"
#include "pass/passes.h"
#include "pass/rewrite.h"

static void consider(ChmRewrite *w, ChmCutter *cutter, ChmOp *head, ChmOp *tail, const ChmMoves *moves)
{
    const ChmType *from = head->operand->type, *to = tail->result->type;
    const ChmStep *steps = chm_keep_steps(w, moves);
    ChmCut cut = chm_cut_chain(cutter, from->shape, from->dtype, from->layout, steps, moves->len);
    if (cut.communicate < 2)
        return; /* nothing to overlap */
    const char *text = chm_moves_text(w, to, moves->at, moves->len);
    if (w->env->chunks > 0 && cut.chunks < w->env->chunks)
        chm_rewrite_missed(w, tail, 0, "%d chunks asked for, %d taken: more do not divide a dim of the chain evenly",
                           (int)w->env->chunks, (int)cut.chunks);
    if (w->env->chunks == 1)
        return; /* as it was asked for */
    if (!cut.taken) {
        chm_rewrite_missed(w, tail, 0, "%s: %s", text,
                           chm_can_be_cut(from->shape, from->layout, to->layout)
                               ? "chunks of it would not be faster"
                               : "no dim of it divides into chunks of every block at both ends");
        return;
    }
    const char *brief =
        chm_arena_printf(w->env->remarks->arena, "%d chunks along '%s': %.4g ms instead of %.4g ms predicted",
                         (int)cut.chunks, from->shape->dim_name[cut.dim], cut.price.time_s * 1e3, cut.plain_s * 1e3);
    chm_rewrite_applied(w, tail, 0, brief, "%s in %s", text, brief);
    ChmOp *before = tail->operand->def;
    ChmStep pipeline = chm_cut_step(&cut, steps, moves->len);
    chm_op_become(tail, head->operand, &pipeline);
    chm_unlink_unused(w->m, before);
}

int32_t chm_pass_pipeline(ChmModule *m, const ChmPassEnv *env)
{
    ChmRewrite w;
    ChmMoves moves = {0};
    ChmCutter cutter;
    chm_rewrite_init(&w, m, env, "pipeline");
    chm_cutter_init(&cutter, chm_rewrite_pricer(&w), env->chunks);
    for (ChmOp *op = m->last; op; op = op->prev) {
        if (!chm_ends_chain(m, op))
            continue;
        ChmOp *head = chm_find_chain(&w, op, &moves);
        if (moves.len >= 2)
            consider(&w, &cutter, head, op, &moves);
    }
    return w.changes;
}
