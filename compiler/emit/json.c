/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/json.c - the schedule and its figures for other programs, as emit/chimera.schema.json describes them.
 *
 * cJSON uses malloc, which an unwinding would leak. So everything that our arenas must hold is worked out first
 * (facts), then the tree is built, printed and freed without touching them.
 */
#include "cost/tally.h"
#include "emit/emitters.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct OpFact {
    const ChmOp *op; /* NULL in a body */
    ChmOpcode code;
    const ChmAttrs *attrs;
    const ChmShape *shape;
    const char *result, *operand; /* "%x0", or NULL */
    const char *type;
    int64_t sent_bytes, received_bytes;
    struct OpFact *body; /* of a pipeline: what each op of it is, over all chunks; without names */
} OpFact;

typedef struct Facts {
    const ChmModule *m;
    const ChmTopology *topology; /* NULL: the default */
    OpFact *ops;
    int32_t nops;
    ChmPrice baseline, optimized;
    int64_t bound_bytes, arena_bytes;
    double bound_s;
} Facts;

/* ---- facts */

static const char *value_name(ChmArena *arena, const ChmValue *v)
{
    ChmOut text;
    if (!v)
        return NULL;
    chm_out_init_arena(&text, arena);
    chm_value_print(v, &text);
    return chm_out_text(&text);
}

static void traffic_facts(ChmBill *bill, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                          const ChmStep *step, OpFact *fact)
{
    chm_bill_clear(bill);
    chm_bill_add(bill, shape, dtype, from, step);
    ChmPrice price = chm_bill_price(bill);
    fact->sent_bytes = price.worst_sent_bytes;
    fact->received_bytes = price.worst_received_bytes;
}

static void body_facts(const ChmEmitJob *job, const ChmOp *op, ChmBill *bill, OpFact *fact)
{
    const ChmType *from = op->operand->type, *to = op->result->type;
    const ChmAttrs *a = &op->attrs;
    ChmCtx *ctx = job->module->ctx;
    const ChmShape *chunk = chm_chunk_shape(ctx, from->shape, from->layout, to->layout, a->dim, a->chunks, NULL);
    const ChmLayout *at = from->layout;
    fact->body = CHM_NEW_ARRAY(job->arena, OpFact, a->body_len);
    for (int32_t i = 0; i < a->body_len; i++) {
        const ChmStep *step = &a->body[i];
        OpFact *part = &fact->body[i];
        *part = (OpFact){.code = step->code, .attrs = &step->attrs, .shape = to->shape};
        part->type = chm_layout_str(ctx, to->shape, step->to);
        traffic_facts(bill, chunk, from->dtype, at, step, part);
        part->sent_bytes = chm_sat_mul(part->sent_bytes, a->chunks);
        part->received_bytes = chm_sat_mul(part->received_bytes, a->chunks);
        at = step->to;
    }
}

static void op_facts(const ChmEmitJob *job, const ChmOp *op, ChmBill *bill, OpFact *fact)
{
    const ChmValue *v = op->result ? op->result : op->operand;
    *fact = (OpFact){.op = op,
                     .code = op->code,
                     .attrs = &op->attrs,
                     .shape = v->type->shape,
                     .result = value_name(job->arena, op->result),
                     .operand = value_name(job->arena, op->operand),
                     .type = chm_layout_str(job->module->ctx, v->type->shape, v->type->layout)};
    if (!chm_is_layout_op(op) || !op->result)
        return;
    const ChmType *from = op->operand->type;
    ChmStep step = {.code = op->code, .attrs = op->attrs, .to = op->result->type->layout};
    traffic_facts(bill, from->shape, from->dtype, from->layout, &step, fact);
    if (op->attrs.body_len)
        body_facts(job, op, bill, fact);
}

static void collect(const ChmEmitJob *job, Facts *f)
{
    ChmBill bill;
    ChmBuffers buffers;
    *f = (Facts){.m = job->module, .topology = job->topology == &chm_default_topology ? NULL : job->topology};
    chm_buffers_plan(job->arena, job->module, &buffers);
    f->arena_bytes = buffers.arena_bytes;
    for (const ChmOp *op = job->module->first; op; op = op->next)
        f->nops++;
    f->ops = CHM_NEW_ARRAY(job->arena, OpFact, f->nops);
    chm_bill_init(&bill, job->pricer);
    int32_t n = 0;
    for (const ChmOp *op = job->module->first; op; op = op->next)
        op_facts(job, op, &bill, &f->ops[n++]);
    f->baseline = chm_pricer_module(job->pricer, job->baseline);
    f->optimized = chm_pricer_module(job->pricer, job->module);
    f->bound_bytes = chm_bound_module(job->arena, job->baseline);
    f->bound_s = chm_bound_module_time(job->arena, job->topology, job->baseline);
}

/* ---- the tree; *ok becomes false when memory runs out, and cJSON takes NULL for what is missing */

static void add_int(cJSON *object, const char *key, int64_t n, bool *ok) /* exact beyond 2^53 */
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRId64, n);
    *ok = cJSON_AddRawToObject(object, key, digits) && *ok;
}

static void add_string(cJSON *object, const char *key, const char *s, bool *ok)
{
    *ok = cJSON_AddStringToObject(object, key, s) && *ok;
}

static cJSON *add_array(cJSON *object, const char *key, bool *ok)
{
    cJSON *array = cJSON_AddArrayToObject(object, key);
    *ok = array && *ok;
    return array;
}

static cJSON *add_object(cJSON *object, const char *key, bool *ok)
{
    cJSON *child = cJSON_AddObjectToObject(object, key);
    *ok = child && *ok;
    return child;
}

static cJSON *append(cJSON *array, cJSON *item, bool *ok)
{
    if (item && cJSON_AddItemToArray(array, item))
        return item;
    cJSON_Delete(item);
    *ok = false;
    return NULL;
}

static void add_mesh(cJSON *root, const ChmMesh *mesh, bool *ok)
{
    cJSON *object = add_object(root, "mesh", ok);
    add_string(object, "name", mesh->name, ok);
    add_int(object, "ranks", mesh->ranks, ok);
    cJSON *axes = add_array(object, "axes", ok);
    for (int32_t i = 0; i < mesh->naxes; i++) {
        cJSON *axis = append(axes, cJSON_CreateObject(), ok);
        add_string(axis, "name", mesh->axis_name[i], ok);
        add_int(axis, "size", mesh->axis_size[i], ok);
    }
}

static void add_number(cJSON *object, const char *key, double x, bool *ok)
{
    *ok = cJSON_AddNumberToObject(object, key, x) && *ok;
}

static void add_level(cJSON *object, const ChmTopology *t, int32_t i, const ChmMesh *mesh, bool *ok)
{
    const ChmLevel *level = &t->level[i];
    add_string(object, "name", level->name, ok);
    add_string(object, "kind", chm_level_kinds[level->kind], ok);
    add_int(object, "group_ranks", chm_topology_group_ranks(t, mesh, i), ok);
    cJSON *list = level->axes ? add_array(object, "axes", ok) : NULL;
    for (int32_t a = 0; list && a < mesh->naxes; a++) {
        if (level->axes & CHM_AXIS(a))
            append(list, cJSON_CreateString(mesh->axis_name[a]), ok);
    }
    list = level->grid_dims ? add_array(object, "grid", ok) : NULL;
    for (int32_t k = 0; list && k < level->grid_dims; k++)
        append(list, cJSON_CreateNumber(level->grid[k]), ok);
    *ok = cJSON_AddBoolToObject(object, "shared", level->shared) && *ok;
    add_number(object, "bandwidth_bytes_per_s", level->bandwidth_bytes_per_s, ok);
    add_number(object, "latency_s", level->latency_s, ok);
    add_number(object, "message_s", level->message_s, ok);
}

static void add_topology(cJSON *root, const ChmTopology *t, const ChmMesh *mesh, bool *ok)
{
    if (!t)
        return;
    cJSON *object = add_object(root, "topology", ok);
    add_string(object, "name", t->name, ok);
    cJSON *levels = add_array(object, "levels", ok);
    for (int32_t i = 0; i < t->nlevels; i++)
        add_level(append(levels, cJSON_CreateObject(), ok), t, i, mesh, ok);
    if (t->reduce_bytes_per_s > 0)
        add_number(object, "reduce_bytes_per_s", t->reduce_bytes_per_s, ok);
}

static void add_tensors(cJSON *root, const ChmModule *m, bool *ok)
{
    cJSON *tensors = add_array(root, "tensors", ok);
    for (int32_t i = 0; i < m->tensors.len; i++) {
        const ChmTensor *t = m->tensors.at[i];
        cJSON *tensor = append(tensors, cJSON_CreateObject(), ok);
        add_string(tensor, "name", t->name, ok);
        add_string(tensor, "dtype", chm_dtypes[t->dtype].name, ok);
        cJSON *dims = add_array(tensor, "dims", ok);
        for (int32_t d = 0; d < t->shape->ndims; d++) {
            cJSON *dim = append(dims, cJSON_CreateObject(), ok);
            add_string(dim, "name", t->shape->dim_name[d], ok);
            add_int(dim, "size", t->shape->dim_size[d], ok);
        }
    }
}

static void add_attrs(cJSON *object, const OpFact *fact, const ChmMesh *mesh, bool *ok)
{
    const ChmAttrs *a = fact->attrs;
    const ChmShape *shape = fact->shape;
    ChmOpcode code = fact->code;
    if (chm_op_has(code, 'A')) {
        cJSON *over = add_array(object, "over", ok);
        for (int32_t i = 0; i < a->over.len; i++)
            append(over, cJSON_CreateString(mesh->axis_name[a->over.at[i]]), ok);
    }
    if (chm_op_has(code, 'E')) {
        add_string(object, "from_dim", shape->dim_name[a->dim], ok);
        add_string(object, "to_dim", shape->dim_name[a->to_dim], ok);
    } else if (chm_op_has(code, 'D')) {
        add_string(object, "dim", shape->dim_name[a->dim], ok);
    }
    if (chm_op_has(code, 'X'))
        add_string(object, "axis", mesh->axis_name[a->axis], ok);
    if (chm_op_has(code, 'I'))
        add_int(object, "from", a->from, ok);
    if (chm_op_has(code, 'J'))
        add_int(object, "to", a->to, ok);
    if (chm_op_has(code, 'N'))
        add_int(object, "chunks", a->chunks, ok);
}

static cJSON *add_op(cJSON *ops, const OpFact *fact, bool *ok)
{
    cJSON *op = append(ops, cJSON_CreateObject(), ok);
    add_string(op, "op", chm_ops[fact->code].name, ok);
    return op;
}

static void add_figures(cJSON *op, const OpFact *fact, bool *ok)
{
    add_string(op, "type", fact->type, ok);
    add_int(op, "sent_bytes", fact->sent_bytes, ok);
    add_int(op, "received_bytes", fact->received_bytes, ok);
}

static void add_body(cJSON *op, const OpFact *fact, const ChmMesh *mesh, bool *ok)
{
    cJSON *body = add_array(op, "body", ok);
    for (int32_t i = 0; i < fact->attrs->body_len; i++) {
        cJSON *step = add_op(body, &fact->body[i], ok);
        add_attrs(step, &fact->body[i], mesh, ok);
        add_figures(step, &fact->body[i], ok);
    }
}

static void add_ops(cJSON *root, const Facts *f, bool *ok)
{
    cJSON *ops = add_array(root, "ops", ok);
    for (int32_t i = 0; i < f->nops; i++) {
        const OpFact *fact = &f->ops[i];
        cJSON *op = add_op(ops, fact, ok);
        if (fact->result)
            add_string(op, "result", fact->result, ok);
        if (fact->op->started)
            *ok = cJSON_AddTrueToObject(op, "started") && *ok;
        if (fact->op->tensor)
            add_string(op, "tensor", fact->op->tensor->name, ok);
        if (fact->op->code == CHM_OP_OUTPUT)
            add_string(op, "output", fact->op->name, ok);
        add_attrs(op, fact, f->m->mesh, ok);
        if (fact->body)
            add_body(op, fact, f->m->mesh, ok);
        cJSON *operands = add_array(op, "operands", ok);
        if (fact->operand)
            append(operands, cJSON_CreateString(fact->operand), ok);
        add_figures(op, fact, ok);
    }
}

static void add_outputs(cJSON *root, const Facts *f, bool *ok)
{
    cJSON *outputs = add_array(root, "outputs", ok);
    for (int32_t i = 0; i < f->nops; i++) {
        if (f->ops[i].op->code != CHM_OP_OUTPUT)
            continue;
        cJSON *output = append(outputs, cJSON_CreateObject(), ok);
        add_string(output, "name", f->ops[i].op->name, ok);
        add_string(output, "type", f->ops[i].type, ok);
    }
}

static void add_seconds(cJSON *object, const char *key, double s, bool *ok)
{
    char text[40];
    snprintf(text, sizeof text, "%.12g", s);
    *ok = cJSON_AddRawToObject(object, key, text) && *ok;
}

static void add_price(cJSON *traffic, const char *key, const ChmPrice *price, bool *ok)
{
    cJSON *object = add_object(traffic, key, ok);
    add_int(object, "sent_bytes", price->worst_sent_bytes, ok);
    add_int(object, "received_bytes", price->worst_received_bytes, ok);
    add_int(object, "worst_bytes", price->worst_bytes, ok);
    add_int(object, "total_bytes", price->total_bytes, ok);
    add_int(object, "messages", price->messages, ok);
    add_seconds(object, "time_s", price->time_s, ok);
}

static cJSON *tree(const Facts *f, bool *ok)
{
    cJSON *root = cJSON_CreateObject();
    *ok = root != NULL;
    add_int(root, "schema_version", CHM_JSON_SCHEMA_VERSION, ok);
    add_string(root, "plan", f->m->name, ok);
    add_mesh(root, f->m->mesh, ok);
    add_topology(root, f->topology, f->m->mesh, ok);
    add_tensors(root, f->m, ok);
    add_ops(root, f, ok);
    add_outputs(root, f, ok);
    cJSON *traffic = add_object(root, "traffic", ok);
    add_price(traffic, "baseline", &f->baseline, ok);
    add_price(traffic, "optimized", &f->optimized, ok);
    add_int(traffic, "lower_bound_bytes", f->bound_bytes, ok);
    add_seconds(traffic, "bound_s", f->bound_s, ok);
    add_int(root, "arena_bytes", f->arena_bytes, ok);
    return root;
}

void chm_emit_json(const ChmEmitJob *job, ChmOut *out)
{
    Facts facts;
    collect(job, &facts);
    bool ok;
    cJSON *root = tree(&facts, &ok);
    char *text = ok ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    char *copy = text ? chm_arena_try_alloc(job->arena, strlen(text) + 1) : NULL;
    if (copy)
        memcpy(copy, text, strlen(text) + 1);
    free(text);
    if (!copy)
        chm_guard_unwind(job->arena->guard);
    chm_out_puts(out, copy);
    chm_out_putc(out, '\n');
}
