/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/print.c - the text form of the IR. What stands between an op's operand and its type is read from the syntax
 * column of ir/ops.def, the same that ir/parse.c reads.
 */
#include "ir/module.h"

#include <inttypes.h>
#include <string.h>

void chm_value_print(const ChmValue *v, ChmOut *out)
{
    if (v->name)
        chm_out_printf(out, "%%%s", v->name);
    else
        chm_out_printf(out, "%%%d", (int)v->number);
}

static void print_attr(const ChmMesh *mesh, const ChmShape *shape, const ChmAttrs *attrs, char letter, ChmOut *out)
{
    switch (letter) {
    case 'A':
        chm_out_putc(out, '(');
        chm_seq_print(out, mesh, &attrs->over, ", ");
        chm_out_putc(out, ')');
        break;
    case 'D':
        chm_out_puts(out, shape->dim_name[attrs->dim]);
        break;
    case 'E':
        chm_out_puts(out, shape->dim_name[attrs->to_dim]);
        break;
    case 'X':
        chm_out_puts(out, mesh->axis_name[attrs->axis]);
        break;
    case 'I':
        chm_out_printf(out, "%d", (int)attrs->from);
        break;
    case 'J':
        chm_out_printf(out, "%d", (int)attrs->to);
        break;
    case 'N':
        chm_out_printf(out, "%d", (int)attrs->chunks);
        break;
    }
}

void chm_attrs_print(const ChmMesh *mesh, const ChmShape *shape, ChmOpcode code, const ChmAttrs *attrs, ChmOut *out)
{
    for (const char *s = chm_ops[code].syntax; *s;) {
        size_t len = strcspn(s, " ");
        chm_out_putc(out, ' ');
        if (len == 1 && *s >= 'A' && *s <= 'Z')
            print_attr(mesh, shape, attrs, *s, out);
        else
            chm_out_write(out, s, len);
        s += len + (s[len] == ' ');
    }
}

/* Braces and a line for each op of the body. */
static void print_body(const ChmMesh *mesh, const ChmShape *shape, const ChmAttrs *attrs, ChmOut *out)
{
    chm_out_puts(out, " {\n");
    for (int32_t i = 0; i < attrs->body_len; i++) {
        const ChmStep *step = &attrs->body[i];
        chm_out_printf(out, "  %s", chm_ops[step->code].name);
        chm_attrs_print(mesh, shape, step->code, &step->attrs, out);
        chm_out_puts(out, " : ");
        chm_layout_print(out, shape, step->to);
        chm_out_putc(out, '\n');
    }
    chm_out_putc(out, '}');
}

void chm_step_print(const ChmShape *shape, const ChmStep *step, ChmOut *out)
{
    chm_out_puts(out, chm_ops[step->code].name);
    chm_attrs_print(step->to->mesh, shape, step->code, &step->attrs, out);
    if (chm_ops[step->code].syntax[0] == '\0') {
        chm_out_puts(out, " to ");
        chm_layout_print(out, shape, step->to);
    }
}

void chm_op_print(const ChmModule *m, const ChmOp *op, ChmOut *out)
{
    if (op->code == CHM_OP_WAIT) {
        chm_out_printf(out, "%s ", chm_ops[op->code].name);
        chm_value_print(op->operand, out);
        return;
    }
    if (!op->result) {
        chm_out_printf(out, "%s %s = ", chm_ops[op->code].name, op->name);
        chm_value_print(op->operand, out);
        return;
    }
    chm_value_print(op->result, out);
    chm_out_printf(out, " = %s%s ", op->started ? "start " : "", chm_ops[op->code].name);
    if (op->operand)
        chm_value_print(op->operand, out);
    else
        chm_out_puts(out, op->tensor->name);
    chm_attrs_print(m->mesh, op->result->type->shape, op->code, &op->attrs, out);
    if (op->attrs.body_len)
        print_body(m->mesh, op->result->type->shape, &op->attrs, out);
    chm_out_puts(out, " : ");
    chm_layout_print(out, op->result->type->shape, op->result->type->layout);
}

static void print_tensor(const ChmTensor *t, ChmOut *out)
{
    chm_out_printf(out, "tensor %s : %s[", t->name, chm_dtypes[t->dtype].name);
    for (int32_t d = 0; d < t->shape->ndims; d++)
        chm_out_printf(out, "%s%s = %" PRId64, d ? ", " : "", t->shape->dim_name[d], t->shape->dim_size[d]);
    chm_out_puts(out, "]\n");
}

void chm_module_print(ChmModule *m, ChmOut *out)
{
    chm_module_number(m);
    chm_out_printf(out, "plan %s\nmesh ", m->name);
    chm_mesh_print(out, m->mesh);
    chm_out_putc(out, '\n');
    if (m->topology)
        chm_topology_print(m->topology, m->mesh, out);
    for (int32_t i = 0; i < m->tensors.len; i++)
        print_tensor(m->tensors.at[i], out);
    for (const ChmOp *op = m->first; op; op = op->next) {
        chm_op_print(m, op, out);
        chm_out_putc(out, '\n');
    }
}
