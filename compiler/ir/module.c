/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/module.h"

#include <stdlib.h>
#include <string.h>

const ChmOpInfo chm_ops[CHM_NOPS] = {
#define CHM_OP(CODE, name, class, syntax, what) {#name, CHM_CLASS_##class, syntax, what},
#include "ir/ops.def"
#undef CHM_OP
};

ChmOpcode chm_op_find(const char *name)
{
    for (int code = 0; code < CHM_NOPS; code++)
        if (strcmp(chm_ops[code].name, name) == 0)
            return (ChmOpcode)code;
    return CHM_NOPS;
}

bool chm_op_has(ChmOpcode code, char attr)
{
    return strchr(chm_ops[code].syntax, attr) != NULL;
}

ChmModule *chm_module_new(ChmCtx *ctx, const char *name, const ChmMesh *mesh)
{
    ChmModule *m = calloc(1, sizeof *m);
    if (!m)
        chm_guard_unwind(&ctx->guard);
    m->ctx = ctx;
    chm_arena_init(&m->arena, &ctx->guard);
    m->name = name;
    m->mesh = mesh;
    m->older = ctx->modules;
    if (m->older)
        m->older->newer = m;
    ctx->modules = m;
    return m;
}

void chm_module_free(ChmModule *m)
{
    if (!m)
        return;
    *(m->newer ? &m->newer->older : &m->ctx->modules) = m->older;
    if (m->older)
        m->older->newer = m->newer;
    chm_arena_fini(&m->arena);
    free(m);
}

const ChmTensor *chm_module_add_tensor(ChmModule *m, const char *name, ChmDtype dtype, const ChmShape *shape,
                                       ChmSpan span)
{
    ChmTensor *t = CHM_NEW(&m->ctx->arena, ChmTensor); /* outlives the module: clones and expectations share it */
    *t = (ChmTensor){.name = name, .dtype = dtype, .shape = shape, .index = m->tensors.len, .span = span};
    CHM_PUSH(&m->arena, &m->tensors, t);
    return t;
}

/* ---- building */

static void link_before(ChmModule *m, ChmOp *op, ChmOp *at)
{
    op->next = at;
    op->prev = at ? at->prev : m->last;
    *(op->prev ? &op->prev->next : &m->first) = op;
    *(at ? &at->prev : &m->last) = op;
}

static void unlink_op(ChmModule *m, ChmOp *op)
{
    *(op->prev ? &op->prev->next : &m->first) = op->next;
    *(op->next ? &op->next->prev : &m->last) = op->prev;
    op->prev = op->next = NULL;
}

static ChmOp *insert(ChmModule *m, ChmOp *at, ChmOp op)
{
    ChmOp *o = CHM_NEW(&m->arena, ChmOp);
    *o = op;
    link_before(m, o, at);
    if (o->operand)
        o->operand->uses++;
    return o;
}

static ChmValue *give_result(ChmModule *m, ChmOp *op, const ChmType *type, const char *name)
{
    ChmValue *v = CHM_NEW(&m->arena, ChmValue);
    *v = (ChmValue){.def = op, .type = type, .name = name};
    op->result = v;
    return v;
}

ChmValue *chm_build_input(ChmModule *m, ChmOp *at, ChmSpan span, const ChmTensor *t, const ChmType *type,
                          const char *name)
{
    ChmOp *op = insert(m, at, (ChmOp){.code = CHM_OP_INPUT, .span = span, .tensor = t});
    return give_result(m, op, type, name);
}

ChmValue *chm_build_step(ChmModule *m, ChmOp *at, ChmSpan span, ChmValue *operand, const ChmStep *step,
                         const char *name)
{
    ChmOp *op = insert(m, at, (ChmOp){.code = step->code, .span = span, .operand = operand, .attrs = step->attrs});
    return give_result(m, op, chm_type_with_layout(m->ctx, operand->type, step->to), name);
}

ChmOp *chm_build_output(ChmModule *m, ChmOp *at, ChmSpan span, ChmValue *operand, const char *name)
{
    return insert(m, at, (ChmOp){.code = CHM_OP_OUTPUT, .span = span, .operand = operand, .name = name});
}

ChmOp *chm_build_wait(ChmModule *m, ChmOp *at, ChmSpan span, ChmValue *started)
{
    return insert(m, at, (ChmOp){.code = CHM_OP_WAIT, .span = span, .operand = started});
}

ChmModule *chm_module_clone(const ChmModule *m)
{
    ChmModule *c = chm_module_new(m->ctx, m->name, m->mesh);
    c->topology = m->topology;
    for (int32_t i = 0; i < m->tensors.len; i++)
        CHM_PUSH(&c->arena, &c->tensors, m->tensors.at[i]);
    ChmMap copies; /* from the address of an old value to the new one */
    chm_map_init(&copies, &c->arena);
    for (const ChmOp *op = m->first; op; op = op->next) {
        ChmOp copy = *op;
        if (op->operand)
            copy.operand = chm_map_get(&copies, &op->operand, sizeof op->operand);
        ChmOp *o = insert(c, NULL, copy);
        if (op->result) {
            ChmValue *v = give_result(c, o, op->result->type, op->result->name);
            chm_map_put(&copies, &op->result, sizeof op->result, v);
        }
    }
    return c;
}

/* ---- changing */

void chm_op_put(ChmModule *m, ChmOp *op, ChmOp *at)
{
    unlink_op(m, op);
    link_before(m, op, at);
}

void chm_op_unlink(ChmModule *m, ChmOp *op)
{
    unlink_op(m, op);
    if (op->operand)
        op->operand->uses--;
    op->operand = NULL;
}

void chm_op_set_operand(ChmOp *op, ChmValue *v)
{
    op->operand->uses--;
    v->uses++;
    op->operand = v;
}

void chm_value_replace(ChmModule *m, ChmValue *old, ChmValue *by)
{
    for (ChmOp *op = m->first; op && old->uses; op = op->next)
        if (op->operand == old)
            chm_op_set_operand(op, by);
    if (!by->name) {
        by->name = old->name;
        old->name = NULL;
    }
}

ChmOp *chm_value_single_user(const ChmModule *m, const ChmValue *v)
{
    if (v->uses == 1)
        for (ChmOp *op = m->first; op; op = op->next)
            if (op->operand == v)
                return op;
    return NULL;
}

int32_t chm_module_number(ChmModule *m)
{
    int32_t id = 0, number = 0;
    for (ChmOp *op = m->first; op; op = op->next)
        if (op->result) {
            op->result->id = id++;
            op->result->number = op->result->name ? 0 : ++number;
        }
    return id;
}
