/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/dce.c - layout changes that nothing uses go.
 *
 *   before  %1 = all_gather %0 over (tp) dim s : [s]
 *           %2 = slice %1 over (dp) dim s : [s/dp]
 *           output y = %0
 *   after   output y = %0
 *
 * Contract: any module in; CHM_PROP_NO_DEAD out: every value is used, but for inputs, which stay, since the caller's
 * list of buffers must not depend on what the optimizer finds. Legal because ops have no effect but their result.
 * O(ops).
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

/* What is started has a wait, which is no use. */
static void unlink_dead(ChmModule *m, ChmOp *op)
{
    for (ChmOp *wait = op->next; wait && op->result->uses; wait = wait->next)
        if (wait->operand == op->result) {
            chm_op_unlink(m, wait);
            break;
        }
    chm_op_unlink(m, op);
}

int32_t chm_pass_dce(ChmModule *m, const ChmPassEnv *env)
{
    ChmRewrite w;
    chm_rewrite_init(&w, m, env, "dce");
    for (ChmOp *op = m->last, *before; op; op = before) {
        before = op->prev; /* users stand behind their operands, so one sweep from the end suffices */
        if (!chm_is_layout_op(op) || op->result->uses > op->started)
            continue;
        ChmMove move = chm_op_move(op);
        const char *brief = chm_arena_printf(env->remarks->arena, "%s is not used", chm_ops[op->code].name);
        chm_rewrite_applied(&w, op, chm_moves_price(&w, op->result->type, &move, 1).worst_bytes, brief,
                            "%s of %s removed: nothing uses its result", chm_op_text(&w, op),
                            chm_value_text(&w, op->operand));
        unlink_dead(m, op);
    }
    return w.changes;
}
