/* SPDX-License-Identifier: Apache-2.0
 *
 * check/equiv.c - translation validation by value numbers.
 *
 * A layout change does not change a value, so the number of a value is the tensor it comes from. Whether each op does
 * change the layout as its type says is the verifier's affair; here the ends are compared.
 */
#include "check/check.h"

#include <string.h>

typedef struct Comparison {
    ChmModule *m;
    const ChmExpects *expected;
    const ChmTensor **root; /* by value id */
    bool *seen;             /* by expected input */
    ChmWhy *why;
} Comparison;

#define DIFFER(c, ...) ((c)->why->text = chm_arena_printf(&(c)->m->ctx->arena, __VA_ARGS__), false)

static const char *value_str(const Comparison *c, const ChmValue *v)
{
    ChmArena *arena = &c->m->ctx->arena;
    return v->name ? chm_arena_printf(arena, "%%%s", v->name) : chm_arena_printf(arena, "%%%d", (int)v->number);
}

static const char *type_str(const Comparison *c, const ChmType *t)
{
    ChmCtx *ctx = c->m->ctx;
    if (!t)
        return "a type of another mesh";
    return chm_arena_printf(&ctx->arena, "%s %s", chm_dtypes[t->dtype].name, chm_layout_str(ctx, t->shape, t->layout));
}

static bool same_input(Comparison *c, const ChmOp *op)
{
    for (int32_t i = 0; i < c->expected->inputs.len; i++) {
        const ChmExpectInput *in = &c->expected->inputs.at[i];
        if (in->tensor != op->tensor)
            continue;
        if (c->seen[i])
            return DIFFER(c, "tensor '%s' is input a second time, as value '%s'", op->tensor->name,
                          value_str(c, op->result));
        c->seen[i] = true;
        if (in->type != op->result->type)
            return DIFFER(c, "value '%s' takes tensor '%s' as '%s', but the caller hands it over as '%s'",
                          value_str(c, op->result), op->tensor->name, type_str(c, op->result->type),
                          type_str(c, in->type));
        return true;
    }
    return DIFFER(c, "value '%s' inputs tensor '%s', which the plan does not", value_str(c, op->result),
                  op->tensor->name);
}

static bool same_output(const Comparison *c, const ChmOp *op, int32_t index)
{
    if (index >= c->expected->len)
        return DIFFER(c, "output '%s' is one more than the plan has", op->name);
    const ChmExpect *e = &c->expected->at[index];
    const ChmTensor *root = c->root[op->operand->id];
    if (strcmp(op->name, e->output) != 0)
        return DIFFER(c, "output %d is '%s', but the plan has '%s' there", (int)index + 1, op->name, e->output);
    if (root != e->tensor)
        return DIFFER(c, "output '%s', value '%s', is tensor '%s', but it must be tensor '%s'", op->name,
                      value_str(c, op->operand), root ? root->name : "?", e->tensor->name);
    if (op->operand->type != e->type)
        return DIFFER(c, "output '%s', value '%s', ends in '%s', but it must end in '%s'", op->name,
                      value_str(c, op->operand), type_str(c, op->operand->type), type_str(c, e->type));
    return true;
}

static bool same_ends(Comparison *c)
{
    int32_t noutputs = 0;
    for (const ChmOp *op = c->m->first; op; op = op->next) {
        switch (chm_ops[op->code].class) {
        case CHM_CLASS_SOURCE:
            if (!same_input(c, op))
                return false;
            c->root[op->result->id] = op->tensor;
            break;
        case CHM_CLASS_LAYOUT:
            c->root[op->result->id] = c->root[op->operand->id];
            break;
        case CHM_CLASS_SYNC:
            break; /* it says when, not what */
        case CHM_CLASS_SINK:
            if (!same_output(c, op, noutputs++))
                return false;
            break;
        }
    }
    if (noutputs < c->expected->len)
        return DIFFER(c, "output '%s' is missing", c->expected->at[noutputs].output);
    return true;
}

ChmStatus chm_check_equal(ChmModule *m, const ChmExpects *expected, ChmWhy *why)
{
    Comparison c = {.m = m, .expected = expected, .why = why};
    c.root = CHM_NEW_ARRAY(&m->arena, const ChmTensor *, chm_module_number(m));
    c.seen = CHM_NEW_ARRAY(&m->arena, bool, expected->inputs.len);
    return same_ends(&c) ? CHM_OK : CHM_ERR_INTERNAL;
}
