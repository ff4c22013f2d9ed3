/* SPDX-License-Identifier: Apache-2.0
 *
 * front/expects.c - what the ends must be, by the syntax tree alone: of outputs the tensor that the arrows lead back
 * to and the layout that the last arrow asks for, of inputs the layout in which they come. It shares nothing with
 * lower.c, for it is what lowering is checked against.
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
    for (int32_t i = 0; i < plan->stmts.len; i++) {
        const ChmStmt *s = plan->stmts.at[i];
        origin[i] = s->kind == CHM_STMT_INPUT ? s : origin[s->operand->index];
        const ChmTensorDecl *t = origin[i]->tensor;
        const ChmTensor *tensor = tensor_of(m, t->name.text);
        if (s->kind == CHM_STMT_INPUT) {
            const ChmType *type = chm_type_make(m->ctx, t->dtype, t->shape, s->layout);
            CHM_PUSH(arena, &out->inputs, ((ChmExpectInput){tensor, type, s->span}));
        } else if (s->kind == CHM_STMT_OUTPUT) {
            const ChmType *type = chm_type_make(m->ctx, t->dtype, t->shape, s->operand->layout);
            CHM_PUSH(arena, out, ((ChmExpect){s->name.text, tensor, type, s->span}));
        }
    }
}
