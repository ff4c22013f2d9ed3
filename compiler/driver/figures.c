/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/figures.c - what a schedule communicates.
 */
#include "driver/figures.h"
#include "ir/buffers.h"

bool chm_op_communicates(ChmOpcode code)
{
    return chm_ops[code].class == CHM_CLASS_LAYOUT && !chm_is_local(code);
}

/* Position of an axis in a split, and the dim, as one number; -1 when it splits nothing. */
static int32_t split_place(const ChmLayout *l, int32_t axis)
{
    int32_t d = chm_layout_dim_of(l, axis);
    for (int32_t i = 0; d >= 0 && i < l->dim[d].len; i++) {
        if (l->dim[d].at[i] == axis)
            return d * CHM_MAX_AXES + i;
    }
    return -1;
}

static ChmAxes changed_axes(const ChmLayout *a, const ChmLayout *b)
{
    ChmAxes changed = 0;
    for (int32_t i = 0; i < a->mesh->naxes; i++) {
        if (((a->partial ^ b->partial) | (a->pinned ^ b->pinned)) & CHM_AXIS(i) || a->pin[i] != b->pin[i] ||
            split_place(a, i) != split_place(b, i))
            changed |= CHM_AXIS(i);
    }
    return changed;
}

ChmAxes chm_op_axes(const ChmOp *op)
{
    if (chm_op_has(op->code, 'A'))
        return chm_seq_set(&op->attrs.over);
    if (chm_op_has(op->code, 'X'))
        return CHM_AXIS(op->attrs.axis);
    return chm_is_layout_op(op) ? changed_axes(op->operand->type->layout, op->result->type->layout) : 0;
}

static ChmStep step_of(const ChmOp *op)
{
    return (ChmStep){.code = op->code, .attrs = op->attrs, .to = op->result->type->layout};
}

/* Worst rank over the ops of m that work over just these axes. */
static int64_t worst_over(ChmBill *bill, const ChmModule *m, ChmAxes axes)
{
    chm_bill_clear(bill);
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (!chm_op_communicates(op->code) || chm_op_axes(op) != axes)
            continue;
        const ChmType *from = op->operand->type;
        ChmStep step = step_of(op);
        chm_bill_add(bill, from->shape, from->dtype, from->layout, &step);
    }
    return chm_bill_price(bill).worst_bytes;
}

int64_t chm_figures_axis(const ChmFigures *f, ChmAxes axes)
{
    for (int32_t i = 0; i < f->axes.len; i++) {
        if (f->axes.at[i].axes == axes)
            return f->axes.at[i].worst_bytes;
    }
    return 0;
}

static bool listed(const ChmFigures *f, ChmAxes axes)
{
    for (int32_t i = 0; i < f->axes.len; i++) {
        if (f->axes.at[i].axes == axes)
            return true;
    }
    return false;
}

void chm_figures_of(ChmFigures *f, ChmArena *arena, ChmPricer *pricer, ChmModule *m)
{
    ChmBill bill;
    ChmBuffers buffers;
    *f = (ChmFigures){0};
    chm_module_number(m);
    chm_buffers_plan(arena, m, &buffers);
    chm_bill_init(&bill, pricer);
    f->price = chm_pricer_module(pricer, m);
    f->arena_bytes = buffers.arena_bytes;
    for (const ChmOp *op = m->first; op; op = op->next) {
        f->count[op->code]++;
        f->started += op->started;
        ChmAxes axes = chm_op_axes(op);
        if (!chm_op_communicates(op->code) || listed(f, axes))
            continue;
        ChmAxisFigure figure = {.axes = axes, .worst_bytes = worst_over(&bill, m, axes)};
        CHM_PUSH(arena, &f->axes, figure);
    }
}
