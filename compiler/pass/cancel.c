/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/cancel.c - two layout changes in a row become one op of the table, or none.
 *
 *   before  %1 = all_reduce %0 over (tp) : [s]
 *           %2 = slice %1 over (tp) dim s : [s/tp]
 *           %3 = all_gather %2 over (tp) dim s : [s]
 *   after   %3 = all_reduce %0 over (tp) : [s]
 *
 * For first: S -> M and second: M -> T,
 *   S = T:  uses of the second's result become uses of S, whatever else uses M;
 *   else:   the one op, other than the exchanges, that does S -> T takes the second's place when all ops concerned
 *           together are no dearer for it. They are first and second before; after, the new op, and the first too when
 *           M has another use.
 * That covers gather and slice in either order, reduce_scatter + gather, all_reduce + slice or drop, chains of
 * all_to_all or shift, and merging two of a kind. The guards of the field's rules are typing: another dim, another
 * order of axes or another coordinate gives another S, T or op. Second uses are a matter of price, since no rewrite
 * takes M away from them.
 *
 * Contract: CHM_PROP_CANONICAL in, and it stays. No pair of the result can be rewritten. Each rewrite shortens a path
 * to an input, so it ends. A sweep is O(ops * ranks * group); a second one is needed where a rewrite took a use from a
 * value that was looked at before.
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

typedef struct Pair {
    ChmOp *first, *second;
    const ChmType *type; /* of T; all of them have its dtype and shape */
    ChmMove moves[2];    /* first, second */
} Pair;

static bool find_pair(ChmOp *second, Pair *p)
{
    if (!chm_is_layout_op(second) || !chm_is_layout_op(second->operand->def))
        return false;
    p->first = second->operand->def;
    p->second = second;
    p->type = second->result->type;
    p->moves[0] = chm_op_move(p->first);
    p->moves[1] = chm_op_move(second);
    return true;
}

static void remove_pair(ChmRewrite *w, const Pair *p)
{
    bool both = p->first->result->uses == 1;
    int64_t saved = chm_moves_price(w, p->type, &p->moves[!both], both ? 2 : 1).worst_bytes;
    const char *brief = chm_arena_printf(w->env->remarks->arena, "%s undoes %s", chm_ops[p->second->code].name,
                                         chm_ops[p->first->code].name);
    chm_rewrite_applied(w, p->second, saved, brief, "%s undoes %s: %s is back in the layout %s",
                        chm_op_text(w, p->second), chm_op_text(w, p->first), chm_value_text(w, p->first->operand),
                        chm_type_text(w, p->type));
    chm_value_replace(w->m, p->second->result, p->first->operand);
    chm_unlink_unused(w->m, p->second);
}

static void replace_pair(ChmRewrite *w, const Pair *p, const ChmMove *one, int64_t saved)
{
    ChmMoves old = {0}, new = {0};
    CHM_PUSH(&w->m->arena, &old, p->moves[0]);
    CHM_PUSH(&w->m->arena, &old, p->moves[1]);
    CHM_PUSH(&w->m->arena, &new, *one);
    const char *brief = chm_change_brief(w, p->first->operand->type, p->type, &new, &old);
    chm_rewrite_applied(w, p->second, saved, brief, "%s is %s: both take %s to %s",
                        chm_moves_text(w, p->type, p->moves, 2), chm_move_text(w, p->type, one),
                        chm_type_text(w, p->first->operand->type), chm_type_text(w, p->type));
    chm_op_become(p->second, p->first->operand, &one->step);
    chm_unlink_unused(w->m, p->first);
}

static void say_why_not(ChmRewrite *w, const Pair *p, const ChmMove *one, bool shared, int64_t saved)
{
    const char *pair = chm_moves_text(w, p->type, p->moves, 2), *single = chm_move_text(w, p->type, one);
    if (shared)
        chm_rewrite_missed(w, p->second, saved, "%s is not made %s: %s has another use, %s", pair, single,
                           chm_value_text(w, p->first->result),
                           chm_op_text(w, chm_other_use(w->m, p->first->result, p->second)));
    else
        chm_rewrite_missed(w, p->second, 0, "%s is not made %s: on these sizes that is dearer", pair, single);
}

/* Whether the pair was rewritten; else, when asked, a remark that says why not. */
static bool cancel(ChmRewrite *w, ChmOp *second, bool explain)
{
    Pair p;
    if (!find_pair(second, &p))
        return false;
    if (p.first->operand->type == p.type) {
        remove_pair(w, &p);
        return true;
    }
    ChmMove one[2] = {{p.moves[0].from, {0}}, p.moves[0]};
    if (!chm_arrow_single(w->m->ctx, p.type->shape, p.moves[0].from, p.type->layout, &one[0].step))
        return false;
    bool shared = p.first->result->uses > 1;
    ChmPrice old = chm_moves_price(w, p.type, p.moves, 2), new = chm_moves_price(w, p.type, one, shared ? 2 : 1);
    if (chm_price_compare(&new, &old) <= 0) {
        replace_pair(w, &p, one, old.worst_bytes - new.worst_bytes);
        return true;
    }
    if (explain) {
        ChmPrice alone = chm_moves_price(w, p.type, one, 1);
        bool held_up = shared && chm_price_compare(&alone, &old) <= 0;
        say_why_not(w, &p, one, held_up, old.worst_bytes - alone.worst_bytes);
    }
    return false;
}

/* One sweep in program order; whether anything changed. */
static bool sweep(ChmRewrite *w, bool explain)
{
    bool changed = false;
    for (ChmOp *op = w->m->first, *next; op; op = next) {
        next = op->next;
        while (op->operand && cancel(w, op, explain)) /* what took its place may go with the op before that */
            changed = true;
    }
    return changed;
}

int32_t chm_pass_cancel(ChmModule *m, const ChmPassEnv *env)
{
    ChmRewrite w;
    chm_rewrite_init(&w, m, env, "cancel");
    while (sweep(&w, false)) {
    }
    sweep(&w, true);
    return w.changes;
}
