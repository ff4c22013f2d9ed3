/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/compose.c - a chain of layout changes whose middles nothing else uses becomes one exchange from its first layout
 * to its last.
 *
 *   before  %1 = all_reduce %0 over (tp) : [s] at(pp=0)
 *           %2 = shift %1 pp 0 -> 1 : [s] at(pp=1)
 *           output y = %2
 *   after   %2 = reduce_exchange %0 : [s] at(pp=1)
 *           output y = %2
 *
 * A normal form for 'route', which finds the best way to do the one change; by itself it may well be dearer. A chain
 * from a layout back to it goes altogether.
 *
 * Contract: CHM_PROP_CANONICAL and CHM_PROP_NO_DEAD in, and they stay. Afterwards every layout change starts from an
 * input or from a value with several uses, or ends at one. Legal because a layout change is determined by its two ends,
 * and no op makes an axis partial, so the arrow is one that the exchanges can do. O(ops).
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

static void say_what_stays(ChmRewrite *w, const ChmOp *head)
{
    const ChmValue *v = head->operand;
    if (chm_is_layout_op(v->def) && v->uses > 1)
        chm_rewrite_missed(w, head, 0, "%s is not composed with %s before it: %s has another use, %s",
                           chm_op_text(w, head), chm_op_text(w, v->def), chm_value_text(w, v),
                           chm_op_text(w, chm_other_use(w->m, v, head)));
}

/* Whether the tail is still there. */
static bool compose(ChmRewrite *w, ChmOp *head, ChmOp *tail, const ChmMoves *moves)
{
    ChmValue *from = head->operand;
    const ChmType *type = tail->result->type;
    ChmOp *before = tail->operand->def;
    int64_t bytes = chm_moves_price(w, type, moves->at, moves->len).worst_bytes;
    const char *brief = chm_change_brief(w, from->type, type, &(ChmMoves){0}, moves);
    chm_rewrite_applied(
        w, tail, from->type == type ? bytes : 0, from->type == type ? brief : NULL,
        "%s become one change from %s to %s: no other op uses what lies between (worst rank before: %s)",
        chm_moves_text(w, type, moves->at, moves->len), chm_type_text(w, from->type), chm_type_text(w, type),
        chm_bytes_text(w, bytes));
    if (from->type == type) {
        chm_value_replace(w->m, tail->result, from);
        chm_unlink_unused(w->m, tail);
        return false;
    }
    ChmStep step = chm_arrow_exchange(from->type->layout, type->layout);
    chm_op_become(tail, from, &step);
    tail->made_of = chm_keep_steps(w, moves);
    tail->made_of_len = moves->len;
    chm_unlink_unused(w->m, before);
    return true;
}

int32_t chm_pass_compose(ChmModule *m, const ChmPassEnv *env)
{
    ChmRewrite w;
    ChmMoves moves = {0};
    chm_rewrite_init(&w, m, env, "compose");
    /* From the end, so that the first op of a chain that is met is its last; the others stand before it. */
    for (ChmOp *op = m->last, *after; op;) {
        after = op->next;
        bool stays = true;
        if (chm_is_layout_op(op) && op->code != CHM_OP_PIPELINE) {
            ChmOp *head = chm_find_chain(&w, op, &moves);
            say_what_stays(&w, head);
            if (moves.len >= 2)
                stays = compose(&w, head, op, &moves);
        }
        op = stays ? op->prev : after ? after->prev : m->last;
    }
    return w.changes;
}
