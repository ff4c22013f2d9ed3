/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/pricer.c - each layout change measured once, on the mesh of the axes that matter to it.
 */
#include "cost/pricer.h"
#include "cost/fold.h"
#include "cost/overlap.h"
#include "cost/unfold.h"

#include <string.h>

/* A folded mesh, and what measures on it. */
typedef struct Machine {
    ChmMesh mesh;
    ChmTopology topo;
    ChmTraffic traffic;
    ChmPipeline load; /* of chm_pricer_load; empty before */
    int64_t twins;    /* of each of its ranks */
} Machine;

/* Of one layout change. Ranks that differ in other axes have equal bytes. */
typedef struct Figure {
    ChmAxes axes;
    int64_t *sent, *received; /* row-major over the axes, in mesh order */
    int64_t total_sent, messages;
    double time_s;
} Figure;

/* The chain at hand, folded. */
typedef struct Folded {
    ChmFold fold;
    Machine *machine;
    ChmShape shape;
    const ChmLayout *from;
    ChmStep *steps;
} Folded;

struct ChmPricer {
    ChmArena *arena;
    const ChmTopology *topo;
    const ChmMesh *mesh;
    const ChmWires *wires; /* of the whole mesh; made when they are first asked for */
    ChmMap machines;       /* by the sets of axes kept and pinned */
    ChmMap figures;        /* by the form of the change: put_form */
    CHM_VEC(unsigned char) form;
    CHM_VEC(ChmLayout) layouts; /* storage of the chain at hand */
    CHM_VEC(ChmStep) steps;
    ChmBill bill;     /* of chm_pricer_steps and _module */
    ChmUnfold unfold; /* of the change at hand; empty before the first */
    ChmLoadBook *book;
};

ChmPricer *chm_pricer_new(ChmArena *arena, const ChmTopology *topo, const ChmMesh *mesh)
{
    ChmPricer *p = CHM_NEW(arena, ChmPricer);
    *p = (ChmPricer){.arena = arena, .topo = topo, .mesh = mesh};
    chm_map_init(&p->machines, arena);
    chm_map_init(&p->figures, arena);
    chm_bill_init(&p->bill, p);
    return p;
}

/* ---- folding */

static Machine *machine_of(ChmPricer *p, const ChmFold *f)
{
    const ChmAxes key[2] = {f->kept, f->pinned};
    Machine *machine = chm_map_get(&p->machines, key, sizeof key);
    if (machine)
        return machine;
    int64_t wire_twins[CHM_MAX_LEVELS] = {0};
    machine = CHM_NEW(p->arena, Machine);
    chm_fold_mesh(f, &machine->mesh);
    chm_fold_topology(f, p->topo, &machine->topo, wire_twins);
    chm_traffic_init(&machine->traffic, p->arena, &machine->topo, &machine->mesh);
    memcpy(machine->traffic.wire_twins, wire_twins, sizeof wire_twins);
    machine->twins = chm_axes_extent(p->mesh, f->twins);
    chm_map_put(&p->machines, key, sizeof key, machine);
    return machine;
}

static int32_t count_steps(const ChmStep *steps, int32_t n)
{
    int32_t count = n;
    for (int32_t i = 0; i < n; i++)
        count += steps[i].attrs.body_len;
    return count;
}

/* Into storage that is large enough. */
static ChmStep *fold_steps(ChmPricer *p, const ChmFold *f, const ChmMesh *mesh, const ChmStep *steps, int32_t n)
{
    ChmStep *folded = p->steps.at + p->steps.len;
    p->steps.len += n;
    for (int32_t i = 0; i < n; i++) {
        ChmLayout *to = &p->layouts.at[p->layouts.len++];
        chm_fold_layout(f, mesh, steps[i].to, to);
        folded[i].code = steps[i].code;
        folded[i].to = to;
        chm_fold_attrs(f, steps[i].code, &steps[i].attrs, &folded[i].attrs);
        if (steps[i].attrs.body_len > 0) {
            folded[i].attrs.body = fold_steps(p, f, mesh, steps[i].attrs.body, steps[i].attrs.body_len);
            folded[i].attrs.body_len = steps[i].attrs.body_len;
        }
    }
    return folded;
}

static void fold_chain(ChmPricer *p, const ChmShape *shape, const ChmLayout *from, const ChmStep *steps, int32_t n,
                       Folded *out)
{
    int32_t count = count_steps(steps, n);
    chm_fold_init(&out->fold, p->topo, shape, from, steps, n);
    out->machine = machine_of(p, &out->fold);
    p->layouts.len = p->steps.len = 0;
    for (int32_t i = 0; i <= count; i++) {
        CHM_PUSH(p->arena, &p->layouts, (ChmLayout){0});
        CHM_PUSH(p->arena, &p->steps, (ChmStep){0});
    }
    p->layouts.len = 1;
    p->steps.len = 0;
    chm_fold_shape(&out->fold, from, &out->shape);
    chm_fold_layout(&out->fold, &out->machine->mesh, from, &p->layouts.at[0]);
    out->from = &p->layouts.at[0];
    out->steps = fold_steps(p, &out->fold, &out->machine->mesh, steps, n);
}

/* ---- unfolding */

ChmArena *chm_pricer_arena(const ChmPricer *p)
{
    return p->arena;
}

ChmLoadBook **chm_pricer_book(ChmPricer *p)
{
    return &p->book;
}

const ChmWires *chm_pricer_wires(ChmPricer *p)
{
    if (!p->wires)
        p->wires = chm_wires_make(p->arena, p->topo, p->mesh);
    return p->wires;
}

/* Filled anew each time: there are nearly as many as there are ops to ask for, and each is as large as the mesh. */
static const ChmUnfold *unfold_of(ChmPricer *p, const ChmFold *f, const ChmTraffic *folded)
{
    const ChmWires *wires = chm_pricer_wires(p);
    if (!p->unfold.rank)
        chm_unfold_init(&p->unfold, p->arena, p->mesh, wires);
    chm_unfold_set(&p->unfold, f, p->topo, wires, folded);
    return &p->unfold;
}

ChmMeasured chm_pricer_measure(ChmPricer *p, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                               const ChmStep *step)
{
    Folded x;
    fold_chain(p, shape, from, step, 1, &x);
    ChmTraffic *t = &x.machine->traffic;
    chm_traffic_measure(t, &x.shape, dtype, x.from, x.steps);
    return (ChmMeasured){t, unfold_of(p, &x.fold, t)};
}

/* ---- the form of a change: all that its figures depend on */

static void put_bytes(ChmPricer *p, const void *bytes, size_t n)
{
    while ((size_t)(p->form.cap - p->form.len) < n)
        p->form.at = chm_vec_grow(p->arena, p->form.at, &p->form.cap, p->form.len, 1);
    memcpy(p->form.at + p->form.len, bytes, n);
    p->form.len += (int32_t)n;
}

static void put_int(ChmPricer *p, int64_t n)
{
    put_bytes(p, &n, sizeof n);
}

static void put_seq(ChmPricer *p, const ChmAxisSeq *s)
{
    put_bytes(p, s, 1 + (size_t)s->len);
}

static void put_layout(ChmPricer *p, const ChmLayout *l)
{
    put_int(p, l->partial);
    put_int(p, l->pinned);
    for (int32_t a = 0; a < l->mesh->naxes; a++)
        if (l->pinned & CHM_AXIS(a))
            put_int(p, l->pin[a]);
    for (int32_t d = 0; d < l->ndims; d++)
        put_seq(p, &l->dim[d]);
}

static void put_steps(ChmPricer *p, const ChmStep *steps, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const ChmAttrs *a = &steps[i].attrs;
        const int32_t numbers[] = {
            (int32_t)steps[i].code, a->dim, a->to_dim, a->axis, a->from, a->to, a->chunks, a->body_len};
        put_bytes(p, numbers, sizeof numbers);
        put_seq(p, &a->over);
        put_layout(p, steps[i].to);
        put_steps(p, a->body, a->body_len);
    }
}

static void put_form(ChmPricer *p, const Folded *x, ChmDtype dtype)
{
    p->form.len = 0;
    put_int(p, x->fold.kept);
    put_int(p, x->fold.pinned);
    put_int(p, dtype);
    put_int(p, x->shape.ndims);
    put_bytes(p, x->shape.dim_size, sizeof *x->shape.dim_size * (size_t)x->shape.ndims);
    put_layout(p, x->from);
    put_steps(p, x->steps, 1);
}

/* ---- figures */

/* Does no figure change along the axis? */
static bool constant_along(const ChmMesh *m, int32_t axis, const int64_t *figures)
{
    int32_t stride = m->stride[axis], whole = stride * m->axis_size[axis];
    for (int32_t at = 0; at < m->ranks; at += whole)
        if (memcmp(figures + at, figures + at + stride, sizeof *figures * (size_t)(whole - stride)) != 0)
            return false;
    return true;
}

/* Those of the ranks with coordinate 0 on the axes that are not in the set. */
static int64_t *one_of_each(ChmArena *arena, const ChmMesh *m, ChmAxes set, const int64_t *figures)
{
    ChmAxisSeq seq = chm_seq_of_set(set);
    int32_t n = (int32_t)chm_mesh_extent(m, &seq);
    int64_t *table = CHM_NEW_ARRAY(arena, int64_t, n);
    for (int32_t i = 0; i < n; i++)
        table[i] = figures[chm_seq_offset(m, &seq, i)];
    return table;
}

static Figure *measure(ChmPricer *p, const Folded *x, ChmDtype dtype)
{
    Figure *figure = CHM_NEW(p->arena, Figure);
    ChmTraffic *t = &x->machine->traffic;
    const ChmMesh *m = &x->machine->mesh;
    chm_traffic_measure(t, &x->shape, dtype, x->from, x->steps);
    ChmAxes folded = 0;
    for (int32_t a = 0, place = 0; a < p->mesh->naxes; a++) {
        if (!(x->fold.kept & CHM_AXIS(a)))
            continue;
        if (!constant_along(m, place, t->step_sent) || !constant_along(m, place, t->step_received)) {
            folded |= CHM_AXIS(place);
            figure->axes |= CHM_AXIS(a);
        }
        place++;
    }
    figure->sent = one_of_each(p->arena, m, folded, t->step_sent);
    figure->received = one_of_each(p->arena, m, folded, t->step_received);
    figure->total_sent = chm_sat_mul(t->step_total_sent, x->machine->twins);
    figure->messages = chm_sat_mul(t->step_messages, x->machine->twins);
    figure->time_s = t->step_time_s;
    return figure;
}

static const Figure *figure_of(ChmPricer *p, const Folded *x, ChmDtype dtype)
{
    put_form(p, x, dtype);
    Figure *figure = chm_map_get(&p->figures, p->form.at, (size_t)p->form.len);
    if (!figure) {
        figure = measure(p, x, dtype);
        chm_map_put(&p->figures, p->form.at, (size_t)p->form.len, figure);
    }
    return figure;
}

/* ---- sums by class of ranks */

static void make_room(ChmBill *b, int32_t places)
{
    ChmArena *arena = b->pricer->arena;
    b->room = places;
    b->spare[0] = CHM_NEW_ARRAY(arena, int64_t, places);
    b->spare[1] = CHM_NEW_ARRAY(arena, int64_t, places);
}

void chm_bill_init(ChmBill *b, ChmPricer *p)
{
    *b = (ChmBill){.pricer = p};
    b->sent = CHM_NEW_ARRAY(p->arena, int64_t, 1);
    b->received = CHM_NEW_ARRAY(p->arena, int64_t, 1);
    make_room(b, 1);
    chm_bill_clear(b);
}

void chm_bill_clear(ChmBill *b)
{
    b->axes = 0;
    b->places = 1;
    b->sent[0] = b->received[0] = 0;
    b->total_sent = b->messages = b->ops = 0;
    b->time_s = 0;
}

/* Figures over some axes, and where the others are pinned, on their way to all the classes of a bill. */
typedef struct Spread {
    ChmAxisSeq axes;                                            /* the bill's */
    int32_t to_stride[CHM_MAX_AXES], from_stride[CHM_MAX_AXES]; /* 0: the figures are equal along it */
    int32_t begin[CHM_MAX_AXES], end[CHM_MAX_AXES];             /* coordinates at which there is anything */
    const int64_t *from;
    int64_t *to;
    int32_t sign; /* of what is added */
} Spread;

static void spread_init(Spread *s, const ChmMesh *m, ChmAxes to, ChmAxes from, ChmAxes pinned, const int32_t *pin)
{
    int32_t to_stride = 1, from_stride = 1;
    s->axes = chm_seq_of_set(to);
    s->sign = 1;
    for (int32_t i = s->axes.len - 1; i >= 0; i--) {
        int32_t a = s->axes.at[i], size = m->axis_size[a];
        bool is_pinned = pinned & CHM_AXIS(a);
        s->begin[i] = is_pinned ? pin[a] : 0;
        s->end[i] = is_pinned ? pin[a] + 1 : size;
        s->to_stride[i] = to_stride;
        s->from_stride[i] = (from & CHM_AXIS(a)) ? from_stride : 0;
        to_stride *= size;
        from_stride *= (from & CHM_AXIS(a)) ? size : 1;
    }
}

static int64_t add_signed(int64_t a, int32_t sign, int64_t b)
{
    return sign > 0 ? chm_sat_add(a, b) : a - b;
}

static void spread(const Spread *s, int32_t i, int32_t to, int32_t from)
{
    for (int32_t k = s->begin[i]; k < s->end[i]; k++) {
        int32_t next_to = to + k * s->to_stride[i], next_from = from + k * s->from_stride[i];
        if (i + 1 < s->axes.len)
            spread(s, i + 1, next_to, next_from);
        else
            s->to[next_to] = add_signed(s->to[next_to], s->sign, s->from[next_from]);
    }
}

static void spread_table(Spread *s, int64_t *to, const int64_t *from)
{
    s->to = to;
    s->from = from;
    if (s->axes.len > 0)
        spread(s, 0, 0, 0);
    else
        *to = add_signed(*to, s->sign, *from);
}

/* Exchanges a table for its spare, which gets the same sums. */
static void widen_table(Spread *s, int32_t places, int64_t **table, int64_t **spare)
{
    int64_t *wider = *spare;
    memset(wider, 0, sizeof *wider * (size_t)places);
    spread_table(s, wider, *table);
    *spare = *table;
    *table = wider;
}

/* Tells classes apart by these axes too. */
static void widen(ChmBill *b, ChmAxes axes)
{
    Spread s;
    if (!(axes & ~b->axes))
        return;
    axes |= b->axes;
    const int32_t nowhere[CHM_MAX_AXES] = {0};
    spread_init(&s, b->pricer->mesh, axes, b->axes, 0, nowhere);
    b->places = (int32_t)chm_axes_extent(b->pricer->mesh, axes);
    b->axes = axes;
    bool more = b->places > b->room;
    if (more)
        make_room(b, b->places);
    widen_table(&s, b->places, &b->sent, &b->spare[0]);
    widen_table(&s, b->places, &b->received, &b->spare[1]);
    if (more)
        make_room(b, b->places); /* what was before is too small */
}

void chm_bill_add(ChmBill *b, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from, const ChmStep *step)
{
    Folded x;
    Spread s;
    fold_chain(b->pricer, shape, from, step, 1, &x);
    const Figure *figure = figure_of(b->pricer, &x, dtype);
    b->messages = chm_sat_add(b->messages, figure->messages);
    b->time_s += figure->time_s;
    if (figure->total_sent == 0)
        return;
    b->total_sent = chm_sat_add(b->total_sent, figure->total_sent);
    b->ops += chm_op_weight(step->code);
    widen(b, figure->axes | x.fold.pinned);
    spread_init(&s, b->pricer->mesh, b->axes, figure->axes, x.fold.pinned, x.fold.pin);
    spread_table(&s, b->sent, figure->sent);
    spread_table(&s, b->received, figure->received);
}

void chm_bill_join(ChmBill *b, const ChmBill *other, int32_t sign)
{
    Spread s;
    const int32_t nowhere[CHM_MAX_AXES] = {0};
    widen(b, other->axes);
    spread_init(&s, b->pricer->mesh, b->axes, other->axes, 0, nowhere);
    s.sign = sign;
    spread_table(&s, b->sent, other->sent);
    spread_table(&s, b->received, other->received);
    b->total_sent = add_signed(b->total_sent, sign, other->total_sent);
    b->messages = add_signed(b->messages, sign, other->messages);
    b->ops += sign * other->ops;
    b->time_s += sign * other->time_s;
}

void chm_bill_by_rank(ChmBill *b)
{
    const ChmMesh *m = b->pricer->mesh;
    widen(b, chm_axes_outside(m, m->trivial));
}

ChmPrice chm_bill_price(const ChmBill *b)
{
    ChmPrice p = {.time_s = b->time_s, .total_bytes = b->total_sent, .messages = b->messages, .ops = b->ops};
    for (int32_t i = 0; i < b->places; i++) {
        p.worst_sent_bytes = chm_max64(p.worst_sent_bytes, b->sent[i]);
        p.worst_received_bytes = chm_max64(p.worst_received_bytes, b->received[i]);
    }
    p.worst_bytes = chm_max64(p.worst_sent_bytes, p.worst_received_bytes);
    return p;
}

/* ---- several changes */

ChmPrice chm_pricer_steps(ChmPricer *p, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                          const ChmSteps *steps)
{
    ChmBill *b = &p->bill;
    chm_bill_clear(b);
    for (int32_t i = 0; i < steps->len; i++) {
        chm_bill_add(b, shape, dtype, from, &steps->at[i]);
        from = steps->at[i].to;
    }
    return chm_bill_price(b);
}

ChmPrice chm_pricer_module(ChmPricer *p, const ChmModule *m)
{
    ChmBill *b = &p->bill;
    bool started = false;
    chm_bill_clear(b);
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (!chm_is_layout_op(op))
            continue;
        started = started || op->started;
        const ChmType *from = op->operand->type;
        ChmStep step = {op->code, op->attrs, op->result->type->layout};
        chm_bill_add(b, from->shape, from->dtype, from->layout, &step);
    }
    if (started)
        b->time_s = chm_overlapped_time(p, m);
    return chm_bill_price(b);
}

const ChmPipeline *chm_pricer_load(ChmPricer *p, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                                   const ChmStep *steps, int32_t n, int32_t *communicate)
{
    Folded x;
    fold_chain(p, shape, from, steps, n, &x);
    ChmTraffic *t = &x.machine->traffic;
    ChmPipeline *load = &x.machine->load;
    if (load->each)
        chm_pipeline_clear(load);
    else
        chm_pipeline_init(load, p->arena, t);
    *communicate = 0;
    const ChmLayout *at = x.from;
    for (int32_t i = 0; i < n; i++) {
        chm_traffic_measure(t, &x.shape, dtype, at, &x.steps[i]);
        chm_pipeline_add(load, t, 1);
        *communicate += t->step_total_sent > 0;
        at = x.steps[i].to;
    }
    return load;
}
