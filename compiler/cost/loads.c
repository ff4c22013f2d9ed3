/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/loads.c - what each op of a module loads: measured once for each distinct op, by classes of wires and ranks.
 */
#include "cost/loads.h"

#include "cost/unfold.h"

#include <string.h>

/* ---- classes: of things that have had the same figure in every op so far */

typedef struct Classes {
    ChmArena *arena;
    int32_t n, max, things;
    int32_t *of_thing;
    int32_t *parent; /* the class that it was split from */
    double *figure;  /* of the op at hand, by class */
    bool *seen;
    int32_t *last_part; /* split off for the op at hand, by class; 0: none */
    double *last_figure;
} Classes;

typedef struct PartKey {
    double figure;
    int64_t class;
} PartKey;

static void classes_init(Classes *c, ChmArena *arena, int32_t things, int32_t max)
{
    *c = (Classes){.arena = arena, .n = 1, .max = max, .things = things};
    c->of_thing = CHM_NEW_ARRAY(arena, int32_t, things);
    c->parent = CHM_NEW_ARRAY(arena, int32_t, max);
    c->figure = CHM_NEW_ARRAY(arena, double, max);
    c->seen = CHM_NEW_ARRAY(arena, bool, max);
    c->last_part = CHM_NEW_ARRAY(arena, int32_t, max);
    c->last_figure = CHM_NEW_ARRAY(arena, double, max);
}

static bool same(double a, double b)
{
    return a >= b && a <= b;
}

/* The part of a class that has this figure; the class itself when no more are to be had. Neighbours are often of one
 * part. */
static int32_t part_of(Classes *c, ChmMap *parts, int32_t class, double figure)
{
    if (c->last_part[class] && same(c->last_figure[class], figure))
        return c->last_part[class];
    PartKey key;
    key.figure = figure;
    key.class = class;
    int32_t *part = chm_map_get(parts, &key, sizeof key);
    if (!part && c->n == c->max)
        return class;
    if (!part) {
        part = CHM_NEW(c->arena, int32_t);
        *part = c->n++;
        c->parent[*part] = class;
        chm_map_put(parts, &key, sizeof key, part);
    }
    c->last_part[class] = *part;
    c->last_figure[class] = figure;
    return *part;
}

/* Classes whose members differ in the figure are split. A thing has that of its place on the folded mesh, or 0. */
static void refine(Classes *c, const int32_t *place, const double *figure_at)
{
    ChmMap parts;
    chm_map_init(&parts, c->arena);
    memset(c->seen, 0, (size_t)c->max * sizeof *c->seen);
    memset(c->last_part, 0, (size_t)c->max * sizeof *c->last_part);
    for (int32_t i = 0; i < c->things; i++) {
        int32_t class = c->of_thing[i];
        double figure = place[i] == CHM_IDLE ? 0 : figure_at[place[i]];
        if (c->seen[class] && same(c->figure[class], figure))
            continue;
        if (c->seen[class])
            class = c->of_thing[i] = part_of(c, &parts, class, figure);
        c->figure[class] = c->seen[class] && c->figure[class] > figure ? c->figure[class] : figure;
        c->seen[class] = true;
    }
}

/* ---- loads */

/* Of the ops of a module; it lives with the pricer. */
struct ChmLoadBook {
    ChmArena *arena;
    ChmPricer *pricer;
    Classes wires, ranks;
    double *wire_s, *takes_part; /* of the op at hand, on its folded mesh: no more of them than of the whole one */
    ChmMap known, bodies;
    ChmLoad **made; /* distinct */
    int32_t nmade;
};

/* Measured on the folded mesh, and from there to every wire and rank of the whole one. */
static void read_step(ChmLoadBook *k, const ChmMeasured *measured)
{
    const ChmTraffic *t = measured->traffic;
    const ChmUnfold *u = measured->unfold;
    for (int32_t i = 0, level = 0; i < chm_traffic_wires(t); i++) {
        while (t->wires && i >= t->wires->first[level + 1])
            level++;
        k->wire_s[i] = chm_step_on_wire(t, level, i);
    }
    for (int32_t r = 0; r < t->ranks; r++)
        k->takes_part[r] = t->step_sent[r] > 0 || t->step_received[r] > 0;
    refine(&k->wires, u->wire, k->wire_s);
    refine(&k->ranks, u->rank, k->takes_part);
}

static ChmLoad *load_of_step(ChmLoadBook *k, const ChmMeasured *measured)
{
    const ChmTraffic *t = measured->traffic;
    ChmLoad *load = CHM_NEW(k->arena, ChmLoad);
    read_step(k, measured);
    double ranks_s = t->step_message_s + t->step_reduce_s, busy_s = t->step_wire_s + ranks_s;
    load->time_s = t->step_time_s;
    load->busy_s = busy_s < t->step_time_s ? busy_s : t->step_time_s; /* in a pipeline they overlap as it is */
    load->known_wires = k->wires.n;
    load->known_ranks = k->ranks.n;
    load->class_s = CHM_NEW_ARRAY(k->arena, double, CHM_WIRE_CLASSES + 1);
    memcpy(load->class_s, k->wires.figure, (size_t)k->wires.n * sizeof *load->class_s);
    load->class_s[CHM_WIRE_CLASSES] = ranks_s;
    for (int32_t i = 0; i < k->ranks.n; i++)
        load->ranks |= k->ranks.figure[i] > 0 ? UINT64_C(1) << i : 0;
    return load;
}

/* Classes that were split off later have the figures of what they were split from. */
static void finish_load(const ChmLoadBook *k, ChmLoad *load)
{
    double *share = load->class_s, ranks_s = share[CHM_WIRE_CLASSES];
    int32_t n = k->wires.n;
    for (int32_t i = load->known_wires; i < n; i++)
        share[i] = share[k->wires.parent[i]];
    share[n] = ranks_s;
    for (int32_t i = 0; i <= n && load->busy_s > 0; i++)
        share[i] = share[i] < load->busy_s ? share[i] / load->busy_s : 1;
    load->share = load->busy_s > 0 ? share : NULL;
    for (int32_t i = load->known_ranks; i < k->ranks.n; i++)
        load->ranks |= (load->ranks >> k->ranks.parent[i] & 1) << i;
}

typedef struct Key {
    const ChmType *from, *to;
    ChmAttrs attrs;
    ChmOpcode code;
} Key;

typedef struct BodyStep {
    const ChmLayout *to;
    int64_t code;
} BodyStep;

/* Bodies of equal steps are one pointer: given where it begins, a step is told by its code and its end. */
static const void *intern_body(ChmLoadBook *k, const ChmAttrs *attrs)
{
    BodyStep *steps = CHM_NEW_ARRAY(k->arena, BodyStep, attrs->body_len);
    for (int32_t i = 0; i < attrs->body_len; i++) {
        steps[i].to = attrs->body[i].to;
        steps[i].code = attrs->body[i].code;
    }
    return chm_intern_bytes(&k->bodies, steps, (size_t)attrs->body_len * sizeof *steps);
}

static Key key_of(ChmLoadBook *making, const ChmOp *op)
{
    Key k;
    memset(&k, 0, sizeof k); /* keys are compared by their bytes, padding too */
    memcpy(&k.attrs, &op->attrs, sizeof k.attrs);
    if (op->attrs.body_len)
        k.attrs.body = intern_body(making, &op->attrs);
    k.from = op->operand->type;
    k.to = op->result->type;
    k.code = op->code;
    return k;
}

static const ChmLoad *find_load(ChmLoadBook *k, const ChmOp *op)
{
    Key key = key_of(k, op);
    return chm_map_get(&k->known, &key, sizeof key);
}

static void make_load(ChmLoadBook *k, const ChmOp *op)
{
    Key key = key_of(k, op);
    ChmStep step = {op->code, op->attrs, op->result->type->layout};
    const ChmType *from = op->operand->type;
    ChmMeasured measured = chm_pricer_measure(k->pricer, from->shape, from->dtype, from->layout, &step);
    ChmLoad *load = load_of_step(k, &measured);
    load->index = k->nmade;
    chm_map_put(&k->known, &key, sizeof key, load);
    k->made[k->nmade++] = load;
}

static bool is_loading(const ChmOp *op)
{
    return chm_is_layout_op(op) && !chm_is_local(op->code);
}

static ChmLoadBook *make_book(ChmPricer *pricer, const ChmModule *m)
{
    ChmArena *arena = chm_pricer_arena(pricer);
    ChmLoadBook *k = CHM_NEW(arena, ChmLoadBook);
    const ChmWires *wires = chm_pricer_wires(pricer);
    k->arena = arena;
    k->pricer = pricer;
    chm_map_init(&k->known, arena);
    chm_map_init(&k->bodies, arena);
    classes_init(&k->wires, arena, chm_count_wires(wires, m->mesh->ranks), CHM_WIRE_CLASSES);
    classes_init(&k->ranks, arena, m->mesh->ranks, CHM_RANK_CLASSES);
    k->wire_s = CHM_NEW_ARRAY(arena, double, k->wires.things);
    k->takes_part = CHM_NEW_ARRAY(arena, double, k->ranks.things);
    int32_t most = 0;
    for (const ChmOp *op = m->first; op; op = op->next)
        most += is_loading(op);
    k->made = CHM_NEW_ARRAY(arena, ChmLoad *, most);
    for (const ChmOp *op = m->first; op; op = op->next)
        if (is_loading(op) && !find_load(k, op))
            make_load(k, op);
    for (int32_t i = 0; i < k->nmade; i++)
        finish_load(k, k->made[i]);
    return k;
}

static bool covers(ChmLoadBook *k, const ChmModule *m)
{
    for (const ChmOp *op = m->first; op; op = op->next)
        if (is_loading(op) && !find_load(k, op))
            return false;
    return true;
}

void chm_loads_of_module(ChmLoads *l, ChmArena *arena, ChmPricer *pricer, const ChmModule *m)
{
    ChmLoadBook **book = chm_pricer_book(pricer);
    if (!*book || !covers(*book, m)) /* a module and what 'schedule' makes of it have the same */
        *book = make_book(pricer, m);
    *l = (ChmLoads){.distinct = (*book)->nmade, .wire_classes = (*book)->wires.n + 1};
    l->rank_classes = (*book)->ranks.n;
    for (const ChmOp *op = m->first; op; op = op->next)
        l->nops++;
    l->of_op = CHM_NEW_ARRAY(arena, const ChmLoad *, l->nops);
    int32_t n = 0;
    for (const ChmOp *op = m->first; op; op = op->next, n++)
        if (is_loading(op))
            l->of_op[n] = find_load(*book, op);
}
