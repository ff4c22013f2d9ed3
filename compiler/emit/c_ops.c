/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c_ops.c - every op that does something: its step as data, its task in the plan, its call in run.
 */
#include "emit/c.h"

#include <string.h>

static const char *const step_codes[CHM_NOPS] = {
#define CHM_OP(CODE, name, class, syntax, what) "CHRT_" #CODE,
#include "ir/ops.def"
#undef CHM_OP
};

bool chm_c_op_group(const ChmOp *op, ChmAxisSeq *group)
{
    if (chm_is_local(op->code))
        return false;
    *group = op->attrs.over;
    if (chm_op_has(op->code, 'A'))
        return true;
    *group = chm_seq_of_set(CHM_AXIS(op->attrs.axis));
    return chm_op_has(op->code, 'X');
}

/* ---- attributes of a step, each ", .name = value": one function a row of ir/ops.def */

static const char *over(ChmC *w, const ChmOp *op)
{
    return chm_arena_printf(w->arena, ", .over = {%s}", chm_c_axes(w, &op->attrs.over));
}

static const char *over_dim(ChmC *w, const ChmOp *op)
{
    const char *dim = chm_c_dim(w, op->operand->type->shape, op->attrs.dim);
    return chm_arena_printf(w->arena, "%s, .dim = %s", over(w, op), dim);
}

static const char *axis(ChmC *w, const ChmOp *op)
{
    return chm_arena_printf(w->arena, ", .axis = %s", w->axis[op->attrs.axis]);
}

static const char *emit_input(ChmC *w, const ChmOp *op)
{
    (void)w, (void)op; /* a parameter: no step */
    return NULL;
}

static const char *emit_slice(ChmC *w, const ChmOp *op)
{
    return over_dim(w, op);
}

static const char *emit_drop(ChmC *w, const ChmOp *op)
{
    return chm_arena_printf(w->arena, "%s, .target = %d", axis(w, op), (int)op->attrs.to);
}

static const char *emit_shift(ChmC *w, const ChmOp *op)
{
    return chm_arena_printf(w->arena, "%s, .source = %d, .target = %d", axis(w, op), (int)op->attrs.from,
                            (int)op->attrs.to);
}

static const char *emit_reduce_scatter(ChmC *w, const ChmOp *op)
{
    return over_dim(w, op);
}

static const char *emit_all_gather(ChmC *w, const ChmOp *op)
{
    return over_dim(w, op);
}

static const char *emit_all_to_all(ChmC *w, const ChmOp *op)
{
    const char *to_dim = chm_c_dim(w, op->operand->type->shape, op->attrs.to_dim);
    return chm_arena_printf(w->arena, "%s, .to_dim = %s", over_dim(w, op), to_dim);
}

static const char *emit_all_reduce(ChmC *w, const ChmOp *op)
{
    return over(w, op);
}

static const char *emit_broadcast(ChmC *w, const ChmOp *op)
{
    return chm_arena_printf(w->arena, "%s, .source = %d", axis(w, op), (int)op->attrs.from);
}

static const char *emit_reduce(ChmC *w, const ChmOp *op)
{
    return chm_arena_printf(w->arena, "%s, .target = %d", axis(w, op), (int)op->attrs.to);
}

static const char *emit_exchange(ChmC *w, const ChmOp *op)
{
    (void)w, (void)op;
    return "";
}

static const char *emit_reduce_exchange(ChmC *w, const ChmOp *op)
{
    (void)w, (void)op;
    return "";
}

static const char *emit_pipeline(ChmC *w, const ChmOp *op)
{
    (void)w, (void)op; /* its body's ops are its steps */
    return "";
}

static const char *emit_wait(ChmC *w, const ChmOp *op)
{
    (void)w, (void)op; /* a call about the step of another op */
    return "";
}

static const char *emit_output(ChmC *w, const ChmOp *op)
{
    (void)w, (void)op; /* a copy, or nothing */
    return "";
}

static const char *(*const attributes[CHM_NOPS])(ChmC *w, const ChmOp *op) = {
#define CHM_OP(CODE, name, class, syntax, what) emit_##name,
#include "ir/ops.def"
#undef CHM_OP
};

/* ---- steps, tasks, calls */

/* An output is a copy unless the value was made in the output's own buffer. */
static bool has_step(const ChmCSchedule *s, const ChmOp *op)
{
    if (op->code == CHM_OP_INPUT || op->code == CHM_OP_WAIT)
        return false;
    if (op->code != CHM_OP_OUTPUT)
        return true;
    const ChmPlace *place = &s->buffers.place[op->operand->id];
    int32_t index = 0;
    for (const ChmOp *o = s->m->first; o != op; o = o->next)
        index += o->code == CHM_OP_OUTPUT;
    return place->home != CHM_HOME_OUTPUT || place->index != index;
}

/* "step_1" and "s_1", or "copy_y" and "c_y"; those of the plan as written have a prefix. */
static const char *name_of(ChmC *w, const ChmCSchedule *s, const ChmOp *op, bool task)
{
    const char *base = s == &w->baseline ? (task ? "b" : "base_") : "";
    bool copy = op->code == CHM_OP_OUTPUT;
    const char *kind = copy ? (task ? "c_" : "copy_") : (task ? "s_" : "step_");
    if (copy || op->result->name)
        return chm_arena_printf(w->arena, "%s%s%s", base, kind, copy ? op->name : op->result->name);
    return chm_arena_printf(w->arena, "%s%s%d", base, kind, (int)op->result->number);
}

const ChmType *chm_c_body_type(ChmC *w, const ChmOp *pipeline, int32_t i)
{
    const ChmType *from = pipeline->operand->type;
    return i == 0 ? from : chm_type_with_layout(w->optimized.m->ctx, from, pipeline->attrs.body[i - 1].to);
}

ChmOp chm_c_body_op(ChmC *w, const ChmOp *pipeline, int32_t i)
{
    (void)w;
    const ChmStep *step = &pipeline->attrs.body[i];
    return (ChmOp){.code = step->code, .attrs = step->attrs, .operand = pipeline->operand, .result = pipeline->result};
}

/* "{CHRT_SHIFT, "%2", &type_3, &type_4, .axis = AXIS_pp, .source = 0, .target = 1}", broken where it does not fit. */
static const char *step_fields(ChmC *w, const ChmOp *op, const char *code, const char *name, const ChmType *from,
                               const ChmType *to, size_t column)
{
    const char *rest = attributes[op->code](w, op);
    /* A designator, so that compilers do not miss the rest. */
    const char *fields = chm_arena_printf(w->arena, "{%s%s, \"%s\", &%s, &%s", *rest ? "" : ".op = ", code, name,
                                          chm_c_type(w, from), chm_c_type(w, to));
    bool fits = column + strlen(fields) + strlen(rest) + 2 <= CHM_C_COLUMNS;
    return chm_arena_printf(w->arena, fits ? "%s%s}" : "%s,\n   %s}", fields, fits ? rest : rest + 1);
}

/* The steps of a pipeline, an element each, and how it is cut. */
static void write_pipeline(ChmC *w, const ChmCSchedule *s, const ChmOp *op, const char *name)
{
    const ChmAttrs *a = &op->attrs;
    chm_out_printf(w->out, "static const ChrtStep %s[] = {\n", name_of(w, s, op, false));
    for (int32_t i = 0; i < a->body_len; i++) {
        ChmOp step = chm_c_body_op(w, op, i);
        chm_out_printf(w->out, "    %s%s\n",
                       step_fields(w, &step, step_codes[step.code], name, chm_c_body_type(w, op, i),
                                   chm_c_body_type(w, op, i + 1), 4),
                       i + 1 < a->body_len ? "," : "};");
    }
    chm_out_printf(w->out, "static const ChrtCut cut_%s = {%s, %d};\n", name_of(w, s, op, false),
                   chm_c_dim(w, op->result->type->shape, a->dim), (int)a->chunks);
}

static void write_step(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    bool copy = op->code == CHM_OP_OUTPUT;
    ChmOut name;
    chm_out_init_arena(&name, w->arena);
    if (copy)
        chm_out_puts(&name, op->name);
    else
        chm_value_print(op->result, &name);
    const ChmType *from = op->operand->type, *to = copy ? from : op->result->type;
    if (op->code == CHM_OP_PIPELINE) {
        write_pipeline(w, s, op, chm_out_text(&name));
        return;
    }
    const char *head = chm_arena_printf(w->arena, "static const ChrtStep %s = ", name_of(w, s, op, false));
    chm_out_printf(
        w->out, "%s%s;\n", head,
        step_fields(w, op, copy ? "CHRT_COPY" : step_codes[op->code], chm_out_text(&name), from, to, strlen(head)));
}

void chm_c_write_steps(ChmC *w, const ChmCSchedule *s)
{
    for (const ChmOp *op = s->m->first; op; op = op->next)
        if (has_step(s, op))
            write_step(w, s, op);
}

void chm_c_write_tasks(ChmC *w, const ChmCSchedule *s)
{
    const char *separator = "    ChrtTask *";
    size_t column = 0;
    for (const ChmOp *op = s->m->first; op; op = op->next) {
        if (!has_step(s, op))
            continue;
        const char *name = name_of(w, s, op, true);
        if (column > 0 && column + strlen(name) + 4 > CHM_C_COLUMNS) {
            separator = ";\n    ChrtTask *";
            column = 0;
        }
        chm_out_printf(w->out, "%s%s", separator, name);
        column += strlen(name) + (column > 0 ? 3 : 14);
        separator = ", *";
    }
    chm_out_puts(w->out, column > 0 ? ";\n" : "");
}

void chm_c_write_prepare(ChmC *w, const ChmCSchedule *s)
{
    for (const ChmOp *op = s->m->first; op; op = op->next) {
        if (!has_step(s, op))
            continue;
        const char *step = name_of(w, s, op, false), *task = name_of(w, s, op, true);
        if (op->code == CHM_OP_PIPELINE)
            chm_out_printf(w->out, "    if (!status) status = chrt_prepare(rt, %s, %d, &cut_%s, &(*plan)->%s);\n", step,
                           (int)op->attrs.body_len, step, task);
        else
            chm_out_printf(w->out, "    if (!status) status = chrt_prepare(rt, &%s, 1, NULL, &(*plan)->%s);\n", step,
                           task);
    }
}

/* The op as the IR has it, in a comment; a pipeline takes several lines. */
static void write_op_comment(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    ChmOut text;
    chm_out_init_arena(&text, w->arena);
    chm_op_print(s->m, op, &text);
    chm_out_puts(w->out, "    /* ");
    for (const char *c = chm_out_text(&text); *c; c++) {
        chm_out_putc(w->out, *c);
        if (*c == '\n')
            chm_out_puts(w->out, "     * ");
    }
    chm_out_puts(w->out, " */\n");
}

void chm_c_write_op(ChmC *w, const ChmCSchedule *s, const ChmOp *op)
{
    if (op->code == CHM_OP_WAIT)
        chm_out_printf(w->out, "    if (!status) status = chrt_wait(plan->%s);\n",
                       name_of(w, s, op->operand->def, true));
    if (!has_step(s, op))
        return;
    if (chm_is_layout_op(op))
        write_op_comment(w, s, op);
    const char *to = op->code == CHM_OP_OUTPUT ? chm_arena_printf(w->arena, "plan->out_%s", op->name)
                                               : chm_c_value(w, s, op->result);
    chm_out_printf(w->out, "    if (!status) status = chrt_%s(plan->%s, %s, %s);\n", op->started ? "start" : "run",
                   name_of(w, s, op, true), chm_c_value(w, s, op->operand), to);
}
