/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/canonicalize.c - axes of size 1 leave the 'over' lists, ops whose result has the type of their operand go, and
 * what was started runs to its end where it stands.
 *
 *   before  %1 = all_gather %0 over (dp, tp) dim s : [s]          dp = 1
 *           %2 = shift %1 pp 0 -> 0 : [s] at(pp=0)                from [s] at(pp=0)
 *           output y = %2
 *   after   %1 = all_gather %0 over (tp) dim s : [s]
 *           output y = %1
 *
 * The axes of an all_reduce are put in mesh order, since theirs alone is immaterial, so that equal ops have equal
 * bytes. The passes after this one see plain sequences, and 'schedule' starts ops anew at the end.
 *
 * Contract: any module in; CHM_PROP_CANONICAL out. Legal because axes of size 1 have no state in any layout, and an
 * equal type is an equal layout of the same value. Expected O(ops).
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

static ChmAxisSeq without(const ChmAxisSeq *s, ChmAxes axes)
{
    ChmAxisSeq r = {0};
    for (int32_t i = 0; i < s->len; i++)
        if (!(axes & CHM_AXIS(s->at[i])))
            chm_seq_push(&r, s->at[i]);
    return r;
}

static ChmAxisSeq canonical_axes(const ChmModule *m, const ChmOp *op)
{
    ChmAxisSeq over = without(&op->attrs.over, m->mesh->trivial);
    return op->code == CHM_OP_ALL_REDUCE ? chm_seq_of_set(chm_seq_set(&over)) : over;
}

/* True when the op, a wait, is gone. */
static bool run_in_place(ChmRewrite *w, ChmOp *op)
{
    if (op->code == CHM_OP_WAIT) {
        chm_op_unlink(w->m, op);
        return true;
    }
    if (op->started)
        chm_rewrite_applied(w, op, 0, NULL, "%s runs to its end where it stands: 'schedule' starts ops anew",
                            chm_op_text(w, op));
    op->started = false;
    return false;
}

int32_t chm_pass_canonicalize(ChmModule *m, const ChmPassEnv *env)
{
    ChmRewrite w;
    ChmRenames renames;
    chm_rewrite_init(&w, m, env, "canonicalize");
    chm_renames_init(&renames, m);
    for (ChmOp *op = m->first, *next; op; op = next) {
        next = op->next;
        chm_renames_visit(&renames, op);
        if (run_in_place(&w, op) || !chm_is_layout_op(op))
            continue;
        if (op->result->type == op->operand->type) {
            chm_rewrite_applied(&w, op, 0, NULL, "%s removed: it changes nothing of %s", chm_op_text(&w, op),
                                chm_value_text(&w, op->operand));
            chm_renames_add(&renames, op, op->operand);
            continue;
        }
        ChmAxisSeq over = canonical_axes(m, op);
        if (!chm_seq_equal(&over, &op->attrs.over)) {
            const char *before = chm_op_text(&w, op);
            bool shorter = over.len < op->attrs.over.len;
            op->attrs.over = over;
            chm_rewrite_applied(&w, op, 0, NULL, "%s is %s: %s", before, chm_op_text(&w, op),
                                shorter ? "an axis of size 1 has no state" : "a sum has no order of axes");
        }
    }
    chm_renames_finish(&renames);
    return w.changes;
}
