/* SPDX-License-Identifier: Apache-2.0
 *
 * front/lower.c - from the checked tree to the baseline: each arrow by itself, as chm_arrow_baseline defines it. The
 * last op of an arrow carries its value's name; an arrow that changes nothing names its operand once more. Axes that
 * levels of the machine end inside of stand in the module in parts: the ops are those of the plan's own mesh. O(ops).
 */
#include "front/ast.h"
#include "ir/arrow.h"
#include "ir/parts.h"

/* The axes that are worth cutting: they split or sum, and nowhere hold a value at one coordinate. */
static ChmAxes axes_for_parts(const ChmPlan *plan)
{
    ChmAxes used = 0, pinned = 0;
    for (int32_t i = 0; i < plan->stmts.len; i++) {
        const ChmLayout *l = plan->stmts.at[i]->layout;
        used |= l ? l->split | l->partial : 0;
        pinned |= l ? l->pinned : 0;
    }
    return used & ~pinned;
}

static ChmValue *lower_arrow(ChmModule *m, const ChmParts *parts, const ChmStmt *s, ChmValue *v)
{
    ChmSteps steps = {0};
    chm_arrow_baseline(m->ctx, &m->arena, v->type->shape, s->operand->layout, s->layout, &steps);
    for (int32_t i = 0; i < steps.len; i++) {
        ChmStep step = chm_parts_step(m->ctx, parts, &steps.at[i]);
        v = chm_build_step(m, NULL, s->span, v, &step, i == steps.len - 1 ? s->name.text : NULL);
    }
    return v;
}

static ChmValue *lower_input(ChmModule *m, const ChmParts *parts, const ChmStmt *s, const ChmTensor *t)
{
    const ChmType *type = chm_type_make(m->ctx, t->dtype, t->shape, chm_parts_layout(m->ctx, parts, s->layout));
    return chm_build_input(m, NULL, s->span, t, type, s->name.text);
}

static const ChmTensor *find_tensor(const ChmModule *m, const char *name)
{
    for (int32_t i = 0; i < m->tensors.len; i++) {
        if (m->tensors.at[i]->name == name)
            return m->tensors.at[i];
    }
    return NULL;
}

CHM_GIVE ChmModule *chm_plan_lower(ChmCtx *ctx, const ChmPlan *plan)
{
    ChmParts parts;
    chm_parts_find(ctx, plan->mesh->mesh, plan->topology, axes_for_parts(plan), &parts);
    ChmModule *m = chm_module_new(ctx, plan->name.text, parts.mesh);
    m->topology = chm_parts_topology(ctx, &parts, plan->topology);
    ChmValue **values = CHM_NEW_ARRAY(&m->arena, ChmValue *, plan->stmts.len); /* by statement */
    for (int32_t i = 0; i < plan->tensors.len; i++) {
        const ChmTensorDecl *t = plan->tensors.at[i];
        chm_module_add_tensor(m, t->name.text, t->dtype, t->shape, t->span);
    }
    for (int32_t i = 0; i < plan->stmts.len; i++) {
        const ChmStmt *s = plan->stmts.at[i];
        switch (s->kind) {
        case CHM_STMT_INPUT:
            values[i] = lower_input(m, &parts, s, find_tensor(m, s->source.text));
            break;
        case CHM_STMT_ARROW:
            values[i] = lower_arrow(m, &parts, s, values[s->operand->index]);
            break;
        case CHM_STMT_OUTPUT:
            chm_build_output(m, NULL, s->span, values[s->operand->index], s->name.text);
            break;
        }
    }
    return m;
}
