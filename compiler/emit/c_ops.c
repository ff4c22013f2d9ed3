/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c_ops.c - one call of the runtime for each op.
 */
#include "emit/c.h"

typedef void OpWriter(ChmC *w, const ChmCSchedule *s, const ChmOp *op);

#define CHM_OP(CODE, name, class, syntax, what) static OpWriter emit_##name;
#include "ir/ops.def"
#undef CHM_OP

static OpWriter *const writers[CHM_NOPS] = {
#define CHM_OP(CODE, name, class, syntax, what) emit_##name,
#include "ir/ops.def"
#undef CHM_OP
};

bool chm_c_op_group(const ChmOp *op, ChmAxisSeq *group)
{
    if (op->code == CHM_OP_SLICE || op->code == CHM_OP_DROP)
        return false; /* local */
    *group = op->attrs.over;
    if (chm_op_has(op->code, 'A'))
        return true;
    *group = chm_seq_of_set(CHM_AXIS(op->attrs.axis));
    return chm_op_has(op->code, 'X');
}

/* if (!status) status = chrt_NAME(rt, "%1", &type_0, in_x, &type_1, v_1ATTRIBUTES); */
static void write_call(ChmC *w, const char *function, const char *name, const ChmType *from, const char *in,
                       const ChmType *to, const char *result, const char *attributes)
{
    const char *first = chm_arena_printf(w->arena, "    if (!status) status = chrt_%s(rt, \"%s\", &%s, %s,", function,
                                         name, chm_c_type(w, from), in);
    const char *rest = chm_arena_printf(w->arena, " &%s, %s%s);\n", chm_c_type(w, to), result, attributes);
    ChmOut whole;
    chm_out_init_arena(&whole, w->arena);
    chm_out_puts(&whole, first);
    chm_out_puts(&whole, rest);
    if (whole.len <= CHM_C_COLUMNS + 1)
        chm_out_puts(w->out, chm_out_text(&whole));
    else
        chm_out_printf(w->out, "%s\n           %s", first, rest);
}

static void call(ChmC *w, const ChmCSchedule *s, const ChmOp *op, const char *attributes)
{
    ChmOut name;
    chm_out_init_arena(&name, w->arena);
    chm_value_print(op->result, &name);
    write_call(w, chm_ops[op->code].name, chm_out_text(&name), op->operand->type, chm_c_value(w, s, op->operand),
               op->result->type, chm_c_value(w, s, op->result), attributes);
}

static const char *over(ChmC *w, const ChmOp *op)
{
    return chm_arena_printf(w->arena, ", CHRT_AXES(%s)", chm_c_axes(w, &op->attrs.over));
}

static void call_over_dim(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    const char *dim = chm_c_dim(w, op->operand->type->shape, op->attrs.dim);
    call(w, s, op, chm_arena_printf(w->arena, "%s, %s", over(w, op), dim));
}

static void call_axis(ChmC *w, const ChmCSchedule *s, const ChmOp *op, int32_t at)
{
    call(w, s, op, chm_arena_printf(w->arena, ", AXIS_%s, %d", w->mesh->axis_name[op->attrs.axis], (int)at));
}

/* ---- handlers, one a row of ir/ops.def */

static void emit_input(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    (void)w, (void)s, (void)op; /* a parameter */
}

static void emit_slice(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call_over_dim(w, s, op);
}

static void emit_drop(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call_axis(w, s, op, op->attrs.to);
}

static void emit_shift(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call(w, s, op,
         chm_arena_printf(w->arena, ", AXIS_%s, %d, %d", w->mesh->axis_name[op->attrs.axis], (int)op->attrs.from,
                          (int)op->attrs.to));
}

static void emit_reduce_scatter(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call_over_dim(w, s, op);
}

static void emit_all_gather(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call_over_dim(w, s, op);
}

static void emit_all_to_all(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    const ChmShape *shape = op->operand->type->shape;
    call(w, s, op,
         chm_arena_printf(w->arena, "%s, %s, %s", over(w, op), chm_c_dim(w, shape, op->attrs.dim),
                          chm_c_dim(w, shape, op->attrs.to_dim)));
}

static void emit_all_reduce(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call(w, s, op, over(w, op));
}

static void emit_broadcast(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call_axis(w, s, op, op->attrs.from);
}

static void emit_reduce(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call_axis(w, s, op, op->attrs.to);
}

static void emit_exchange(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call(w, s, op, "");
}

static void emit_reduce_exchange(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    call(w, s, op, "");
}

/* Nothing when the value was made in the output's own buffer; else a copy. */
static void emit_output(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    const char *from = chm_c_value(w, s, op->operand);
    const char *to = chm_arena_printf(w->arena, "out_%s", op->name);
    const ChmPlace *place = &s->buffers.place[op->operand->id];
    int32_t index = 0;
    for (const ChmOp *o = s->m->first; o != op; o = o->next)
        index += o->code == CHM_OP_OUTPUT;
    if (place->home == CHM_HOME_OUTPUT && place->index == index)
        return;
    write_call(w, "copy", op->name, op->operand->type, from, op->operand->type, to, "");
}

void chm_c_write_op(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    if (chm_is_layout_op(op)) {
        chm_out_puts(w->out, "    /* ");
        chm_op_print(s->m, op, w->out);
        chm_out_puts(w->out, " */\n");
    }
    writers[op->code](w, s, op);
}
