/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/cse.c - equal layout changes of one value are done once; the first of them stays.
 *
 *   before  %1 = all_gather %0 over (tp) dim s : [s]
 *           %2 = all_gather %0 over (tp) dim s : [s]
 *           output y = %1
 *           output z = %2
 *   after   %1 = all_gather %0 over (tp) dim s : [s]
 *           output y = %1
 *           output z = %1
 *
 * Contract: any module in; CHM_PROP_CANONICAL makes more ops equal. Legal because an op has no effect but its result,
 * which its operand, attributes and type determine. Operands are replaced before an op is looked at, so chains of equal
 * ops meet in one run. Expected O(ops).
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <string.h>

typedef struct Key {
    const ChmValue *operand;
    const ChmType *type;
    ChmAttrs attrs;
    ChmOpcode code;
} Key;

static Key key_of(const ChmOp *op)
{
    Key k;
    memset(&k, 0, sizeof k); /* keys are compared by their bytes, padding too */
    k.operand = op->operand;
    k.type = op->result->type;
    k.attrs.over.len = op->attrs.over.len;
    memcpy(k.attrs.over.at, op->attrs.over.at, sizeof k.attrs.over.at);
    k.attrs.dim = op->attrs.dim;
    k.attrs.to_dim = op->attrs.to_dim;
    k.attrs.axis = op->attrs.axis;
    k.attrs.from = op->attrs.from;
    k.attrs.to = op->attrs.to;
    k.code = op->code;
    return k;
}

int32_t chm_pass_cse(ChmModule *m, const ChmPassEnv *env)
{
    ChmRewrite w;
    ChmRenames renames;
    ChmMap firsts; /* from keys to ops */
    chm_rewrite_init(&w, m, env, "cse");
    chm_renames_init(&renames, m);
    chm_map_init(&firsts, &m->arena);
    for (ChmOp *op = m->first; op; op = op->next) {
        chm_renames_visit(&renames, op);
        if (!chm_is_layout_op(op))
            continue;
        Key key = key_of(op);
        ChmOp *first = chm_map_get(&firsts, &key, sizeof key);
        if (!first) {
            chm_map_put(&firsts, &key, sizeof key, op);
            continue;
        }
        ChmMove move = chm_op_move(op);
        const char *brief = chm_arena_printf(env->remarks->arena, "%s is done twice", chm_ops[op->code].name);
        chm_rewrite_applied(&w, op, chm_moves_price(&w, op->result->type, &move, 1).worst_bytes, brief,
                            "%s of %s is done once: an equal op stands before it", chm_op_text(&w, op),
                            chm_value_text(&w, op->operand));
        chm_renames_add(&renames, op, first->result);
    }
    chm_renames_finish(&renames);
    return w.changes;
}
