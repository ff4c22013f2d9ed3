/* SPDX-License-Identifier: Apache-2.0
 *
 * front/expects.c - what the outputs must be, by the syntax tree alone: the tensor that the arrows lead back to, and
 * the layout that the last arrow asks for. It shares nothing with lower.c, for it is what lowering is checked against.
 */
#include "front/ast.h"

#include <string.h>

static const ChmTensor *tensor_of(const ChmModule *m, const char *name)
{
    for (int32_t i = 0; i < m->tensors.len; i++) {
        if (strcmp(m->tensors.at[i]->name, name) == 0)
            return m->tensors.at[i];
    }
    return NULL;
}

/* O(statements): operands stand before their users, so one pass forward leads every value back to its input. */
void chm_plan_expects(ChmArena *arena, const ChmPlan *plan, const ChmModule *m, ChmExpects *out)
{
    const ChmStmt **origin = CHM_NEW_ARRAY(arena, const ChmStmt *, plan->stmts.len);
    *out = (ChmExpects){0};
    for (int32_t i = 0; i < plan->stmts.len; i++) {
        const ChmStmt *s = plan->stmts.at[i];
        origin[i] = s->kind == CHM_STMT_INPUT ? s : origin[s->operand->index];
        if (s->kind == CHM_STMT_INPUT) {
            const ChmTensorDecl *input = s->tensor;
            ChmExpectInput e = {
                .tensor = tensor_of(m, input->name.text),
                .type = chm_type_make(m->ctx, input->dtype, input->shape, s->layout),
                .span = s->span,
            };
            CHM_PUSH(arena, &out->inputs, e);
        }
        if (s->kind != CHM_STMT_OUTPUT)
            continue;
        const ChmTensorDecl *t = origin[i]->tensor;
        ChmExpect e = {
            .output = s->name.text,
            .tensor = tensor_of(m, t->name.text),
            .type = chm_type_make(m->ctx, t->dtype, t->shape, s->operand->layout),
            .span = s->span,
        };
        CHM_PUSH(arena, out, e);
    }
}
