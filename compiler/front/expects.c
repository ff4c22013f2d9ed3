/* SPDX-License-Identifier: Apache-2.0
 *
 * front/expects.c - what the ends must be, by the syntax tree alone: of outputs the tensor that the arrows lead back
 * to and the layout that the last arrow asks for, of inputs the layout in which they come. It shares nothing with
 * lower.c, nor with what cuts axes for it, for it is what lowering is checked against.
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

/* Where axis a of the plan stands in the module: under its name, or as the parts of it, side by side and as large. */
static bool find_axis(const ChmMesh *plan, int32_t a, const ChmMesh *module, int32_t *first, int32_t *count)
{
    size_t len = strlen(plan->axis_name[a]);
    int32_t size = 1, n = 0, i = 0;
    while (i < module->naxes && (strncmp(module->axis_name[i], plan->axis_name[a], len) != 0 ||
                                 (module->axis_name[i][len] != '\0' && module->axis_name[i][len] != '.')))
        i++;
    while (i + n < module->naxes && size < plan->axis_size[a])
        size *= module->axis_size[i + n++];
    *first = i;
    *count = n ? n : 1;
    return i < module->naxes && size == plan->axis_size[a] && module->stride[i + *count - 1] == plan->stride[a];
}

/* A layout of the plan on the mesh of the module; NULL when that is not the plan's in parts. O(axes^2). */
static const ChmLayout *on_module(const ChmModule *m, const ChmLayout *l)
{
    ChmLayout out = {.mesh = m->mesh, .ndims = l->ndims};
    int32_t first[CHM_MAX_AXES], count[CHM_MAX_AXES];
    if (m->mesh == l->mesh)
        return l;
    for (int32_t a = 0; a < l->mesh->naxes; a++) {
        if (!find_axis(l->mesh, a, m->mesh, &first[a], &count[a]) || (l->pinned & CHM_AXIS(a) && count[a] != 1))
            return NULL;
        out.pin[first[a]] = l->pin[a];
        for (int32_t i = first[a]; i < first[a] + count[a]; i++) {
            out.partial |= (l->partial & CHM_AXIS(a)) ? CHM_AXIS(i) : 0;
            out.pinned |= (l->pinned & CHM_AXIS(a)) ? CHM_AXIS(i) : 0;
        }
    }
    for (int32_t d = 0; d < l->ndims; d++)
        for (int32_t k = 0; k < l->dim[d].len; k++)
            for (int32_t i = 0; i < count[l->dim[d].at[k]]; i++)
                chm_seq_push(&out.dim[d], first[l->dim[d].at[k]] + i);
    return chm_layout_make(m->ctx, &out);
}

/* NULL, which no value's type is, when the module's mesh is another. */
static const ChmType *type_on_module(const ChmModule *m, const ChmTensorDecl *t, const ChmLayout *l)
{
    const ChmLayout *layout = on_module(m, l);
    return layout ? chm_type_make(m->ctx, t->dtype, t->shape, layout) : NULL;
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
            const ChmType *type = type_on_module(m, t, s->layout);
            CHM_PUSH(arena, &out->inputs, ((ChmExpectInput){tensor, type, s->span}));
        } else if (s->kind == CHM_STMT_OUTPUT) {
            const ChmType *type = type_on_module(m, t, s->operand->layout);
            CHM_PUSH(arena, out, ((ChmExpect){s->name.text, tensor, type, s->span}));
        }
    }
}
