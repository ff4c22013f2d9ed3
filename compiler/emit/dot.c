/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/dot.c - a drawing of the schedule: ops are boxes with their traffic, values are arrows with their layout and the
 * size of a rank's block. The ops of a pipeline stand in its box, one a line. A started op says so, and a dashed arrow
 * leads to its wait.
 */
#include "emit/emitters.h"
#include "ir/geom.h"

/* Of a pipeline: a line for each op of its body. */
static void put_body(const ChmOp *op, ChmOut *out)
{
    for (int32_t i = 0; i < op->attrs.body_len; i++) {
        chm_out_puts(out, "\\n");
        chm_step_print(op->result->type->shape, &op->attrs.body[i], out);
    }
}

static void put_traffic(const ChmEmitJob *job, const ChmOp *op, ChmOut *out)
{
    ChmBill bill;
    const ChmType *from = op->operand->type;
    ChmStep step = {.code = op->code, .attrs = op->attrs, .to = op->result->type->layout};
    chm_bill_init(&bill, job->pricer);
    chm_bill_add(&bill, from->shape, from->dtype, from->layout, &step);
    ChmPrice price = chm_bill_price(&bill);
    if (!price.worst_bytes) {
        chm_out_puts(out, "\\nlocal");
        return;
    }
    chm_out_puts(out, "\\nworst rank sends ");
    chm_out_bytes(out, price.worst_sent_bytes);
    chm_out_puts(out, ", receives ");
    chm_out_bytes(out, price.worst_received_bytes);
}

static void put_node(const ChmEmitJob *job, const ChmOp *op, int32_t n, ChmOut *out)
{
    chm_out_printf(out, "    op%d [label=\"%s%s", (int)n, op->started ? "start " : "", chm_ops[op->code].name);
    switch (chm_ops[op->code].class) {
    case CHM_CLASS_SOURCE:
        chm_out_printf(out, " %s\", shape=ellipse];\n", op->tensor->name);
        break;
    case CHM_CLASS_LAYOUT:
        chm_attrs_print(job->module->mesh, op->result->type->shape, op->code, &op->attrs, out);
        put_body(op, out);
        put_traffic(job, op, out);
        chm_out_puts(out, "\"];\n");
        break;
    case CHM_CLASS_SYNC:
        chm_out_puts(out, "\", shape=plaintext];\n");
        break;
    case CHM_CLASS_SINK:
        chm_out_printf(out, " %s\", shape=ellipse];\n", op->name);
        break;
    }
}

static void put_edge(const ChmOp *op, int32_t from, int32_t to, ChmOut *out)
{
    const ChmValue *v = op->operand;
    if (op->code == CHM_OP_WAIT) {
        chm_out_printf(out, "    op%d -> op%d [style=dashed];\n", (int)from, (int)to);
        return;
    }
    chm_out_printf(out, "    op%d -> op%d [label=\"", (int)from, (int)to);
    chm_value_print(v, out);
    chm_out_puts(out, "\\n");
    chm_layout_print(out, v->type->shape, v->type->layout);
    chm_out_puts(out, "\\n");
    chm_out_bytes(out, chm_max_local_bytes(v->type));
    chm_out_puts(out, "\"];\n");
}

void chm_emit_dot(const ChmEmitJob *job, ChmOut *out)
{
    ChmModule *m = job->module;
    int32_t nvalues = chm_module_number(m), n = 0;
    int32_t *node = CHM_NEW_ARRAY(job->arena, int32_t, nvalues); /* by value id */
    chm_out_printf(out, "digraph \"%s\" {\n    label=\"%s on ", m->name, m->name);
    chm_mesh_print(out, m->mesh);
    chm_out_puts(out, "\";\n    node [shape=box, fontname=\"sans-serif\"];\n    edge [fontname=\"sans-serif\"];\n");
    for (const ChmOp *op = m->first; op; op = op->next, n++) {
        put_node(job, op, n, out);
        if (op->operand)
            put_edge(op, node[op->operand->id], n, out);
        if (op->result)
            node[op->result->id] = n;
    }
    chm_out_puts(out, "}\n");
}
