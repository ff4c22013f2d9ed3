/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/overlap.c - the time of ops that are under way together.
 */
#include "cost/overlap.h"

#include "cost/wires.h"

#include <string.h>

#define MAX_WIRE_CLASSES 1024
#define MAX_RANK_CLASSES 64
#define NONE (-1)

/* ---- classes: of things that have had the same figure in every op so far */

typedef struct Classes {
    ChmArena *arena;
    int32_t n, max, things;
    int32_t *of_thing;
    int32_t *parent; /* the class that it was split from */
    double *figure;  /* of the op at hand, by class */
    bool *seen;
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
}

/* The part of a class that has this figure; the class itself when no more are to be had. */
static int32_t part_of(Classes *c, ChmMap *parts, int32_t class, double figure)
{
    PartKey key;
    key.figure = figure;
    key.class = class;
    const int32_t *part = chm_map_get(parts, &key, sizeof key);
    if (part)
        return *part;
    if (c->n == c->max)
        return class;
    int32_t *made = CHM_NEW(c->arena, int32_t);
    *made = c->n++;
    c->parent[*made] = class;
    chm_map_put(parts, &key, sizeof key, made);
    return *made;
}

/* Classes whose members differ in the figure are split. */
static void refine(Classes *c, const double *figure)
{
    ChmMap parts;
    chm_map_init(&parts, c->arena);
    memset(c->seen, 0, (size_t)c->max * sizeof *c->seen);
    for (int32_t i = 0; i < c->things; i++) {
        int32_t class = c->of_thing[i];
        if (c->seen[class] && !(c->figure[class] >= figure[i] && c->figure[class] <= figure[i]))
            class = part_of(c, &parts, class, figure[i]);
        c->of_thing[i] = class;
        c->figure[class] = c->seen[class] && c->figure[class] > figure[i] ? c->figure[class] : figure[i];
        c->seen[class] = true;
    }
}

/* ---- loads */

typedef struct Making {
    ChmArena *arena;
    ChmTraffic traffic;
    Classes wires, ranks;
    double *wire_s, *takes_part; /* of the op at hand */
    ChmMap known, bodies;
    ChmLoad **made; /* distinct */
    int32_t nmade;
} Making;

static void read_step(Making *k)
{
    const ChmTraffic *t = &k->traffic;
    int32_t level = 0;
    for (int32_t i = 0; i < k->wires.things; i++) {
        while (t->wires && i >= t->wires->first[level + 1])
            level++;
        k->wire_s[i] = chm_step_on_wire(t, level, i);
    }
    for (int32_t r = 0; r < k->ranks.things; r++)
        k->takes_part[r] = t->step_sent[r] > 0 || t->step_received[r] > 0;
    refine(&k->wires, k->wire_s);
    refine(&k->ranks, k->takes_part);
}

static ChmLoad *load_of_step(Making *k)
{
    const ChmTraffic *t = &k->traffic;
    ChmLoad *load = CHM_NEW(k->arena, ChmLoad);
    read_step(k);
    double ranks_s = t->step_message_s + t->step_reduce_s, busy_s = t->step_wire_s + ranks_s;
    load->time_s = t->step_time_s;
    load->busy_s = busy_s < t->step_time_s ? busy_s : t->step_time_s; /* in a pipeline they overlap as it is */
    load->known_wires = k->wires.n;
    load->known_ranks = k->ranks.n;
    load->class_s = CHM_NEW_ARRAY(k->arena, double, MAX_WIRE_CLASSES + 1);
    memcpy(load->class_s, k->wires.figure, (size_t)k->wires.n * sizeof *load->class_s);
    load->class_s[MAX_WIRE_CLASSES] = ranks_s;
    for (int32_t i = 0; i < k->ranks.n; i++)
        load->ranks |= k->ranks.figure[i] > 0 ? UINT64_C(1) << i : 0;
    return load;
}

/* Classes that were split off later have the figures of what they were split from. */
static void finish_load(const Making *k, ChmLoad *load)
{
    double *share = load->class_s, ranks_s = share[MAX_WIRE_CLASSES];
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
static const void *intern_body(Making *k, const ChmAttrs *attrs)
{
    BodyStep *steps = CHM_NEW_ARRAY(k->arena, BodyStep, attrs->body_len);
    for (int32_t i = 0; i < attrs->body_len; i++) {
        steps[i].to = attrs->body[i].to;
        steps[i].code = attrs->body[i].code;
    }
    return chm_intern_bytes(&k->bodies, steps, (size_t)attrs->body_len * sizeof *steps);
}

static Key key_of(Making *making, const ChmOp *op)
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

static const ChmLoad *load_of_op(Making *k, const ChmOp *op)
{
    Key key = key_of(k, op);
    ChmLoad *load = chm_map_get(&k->known, &key, sizeof key);
    if (load)
        return load;
    ChmStep step = {op->code, op->attrs, op->result->type->layout};
    const ChmType *from = op->operand->type;
    chm_traffic_measure(&k->traffic, from->shape, from->dtype, from->layout, &step);
    load = load_of_step(k);
    load->index = k->nmade;
    chm_map_put(&k->known, &key, sizeof key, load);
    k->made[k->nmade++] = load;
    return load;
}

void chm_loads_of_module(ChmLoads *l, ChmArena *arena, const ChmTopology *topo, const ChmModule *m)
{
    Making *k = CHM_NEW(arena, Making);
    *l = (ChmLoads){0};
    k->arena = arena;
    chm_traffic_init(&k->traffic, arena, topo, m->mesh);
    chm_map_init(&k->known, arena);
    chm_map_init(&k->bodies, arena);
    classes_init(&k->wires, arena, chm_traffic_wires(&k->traffic), MAX_WIRE_CLASSES);
    classes_init(&k->ranks, arena, m->mesh->ranks, MAX_RANK_CLASSES);
    k->wire_s = CHM_NEW_ARRAY(arena, double, k->wires.things);
    k->takes_part = CHM_NEW_ARRAY(arena, double, k->ranks.things);
    for (const ChmOp *op = m->first; op; op = op->next)
        l->nops++;
    l->of_op = CHM_NEW_ARRAY(arena, const ChmLoad *, l->nops);
    k->made = CHM_NEW_ARRAY(arena, ChmLoad *, l->nops);
    int32_t n = 0;
    for (const ChmOp *op = m->first; op; op = op->next, n++)
        if (chm_is_layout_op(op) && !chm_is_local(op->code))
            l->of_op[n] = load_of_op(k, op);
    for (int32_t i = 0; i < k->nmade; i++)
        finish_load(k, k->made[i]);
    l->distinct = k->nmade;
    l->wire_classes = k->wires.n + 1;
    l->rank_classes = k->ranks.n;
}

/* ---- time */

void chm_timeline_init(ChmTimeline *t, ChmArena *arena, const ChmLoads *loads)
{
    *t = (ChmTimeline){.classes = loads->wire_classes};
    t->flight = CHM_NEW_ARRAY(arena, ChmFlight, loads->nops);
    t->used = CHM_NEW_ARRAY(arena, double, loads->wire_classes);
    t->wanted = CHM_NEW_ARRAY(arena, double, loads->wire_classes);
    t->asked = CHM_NEW_ARRAY(arena, double, loads->wire_classes);
}

static void add_share(double *sum, const ChmLoad *load, int32_t classes, double times)
{
    for (int32_t x = 0; load->share && x < classes; x++)
        sum[x] += times * load->share[x];
}

void chm_timeline_start(ChmTimeline *t, int32_t id, const ChmLoad *load)
{
    if (load->time_s <= 0)
        return; /* done at once */
    t->flight[t->under_way++] = (ChmFlight){.id = id, .load = load, .left = 1};
    add_share(t->asked, load, t->classes, 1);
    t->stale = true;
}

/* What the ops without a speed ask of each class. */
static void add_wanted(ChmTimeline *t)
{
    memset(t->wanted, 0, (size_t)t->classes * sizeof *t->wanted);
    for (int32_t i = 0; i < t->under_way; i++)
        if (t->flight[i].speed < 0)
            add_share(t->wanted, t->flight[i].load, t->classes, 1);
}

static double room_for(const ChmTimeline *t, int32_t class)
{
    return t->wanted[class] > 0 ? (1 - t->used[class]) / t->wanted[class] : 1;
}

static bool held_up(const ChmTimeline *t, const ChmFlight *f, double speed)
{
    for (int32_t x = 0; x < t->classes; x++)
        if (f->load->share[x] > 0 && room_for(t, x) <= speed * (1 + 1e-12))
            return true;
    return false;
}

/* All speeds rise together; those that a full class holds up stay. */
static void settle_speeds(ChmTimeline *t)
{
    int32_t open = 0;
    double speed = 0;
    if (!t->stale)
        return;
    t->stale = false;
    memset(t->used, 0, (size_t)t->classes * sizeof *t->used);
    for (int32_t i = 0; i < t->under_way; i++) {
        bool busy = t->flight[i].load->share != NULL;
        t->flight[i].speed = busy ? NONE : 1;
        open += busy;
    }
    while (open > 0) {
        double before = speed;
        speed = 1;
        add_wanted(t);
        for (int32_t x = 0; x < t->classes; x++)
            speed = room_for(t, x) < speed ? room_for(t, x) : speed;
        speed = speed > before ? speed : before; /* it never falls, but for want of precision */
        for (int32_t i = 0; i < t->under_way; i++) {
            ChmFlight *f = &t->flight[i];
            if (f->speed >= 0 || (speed < 1 && !held_up(t, f, speed)))
                continue;
            f->speed = speed;
            open--;
        }
        memset(t->used, 0, (size_t)t->classes * sizeof *t->used);
        for (int32_t i = 0; i < t->under_way; i++)
            if (t->flight[i].speed >= 0)
                add_share(t->used, t->flight[i].load, t->classes, t->flight[i].speed);
    }
}

/* Seconds that all of the op would take at its speed. */
static double whole_s(const ChmFlight *f)
{
    return f->load->time_s - f->load->busy_s + f->load->busy_s / f->speed;
}

static int32_t first_done(ChmTimeline *t)
{
    int32_t first = NONE;
    settle_speeds(t);
    for (int32_t i = 0; i < t->under_way; i++)
        if (first == NONE || t->flight[i].left * whole_s(&t->flight[i]) <
                                 t->flight[first].left * whole_s(&t->flight[first]) * (1 - 1e-12))
            first = i;
    return first;
}

int32_t chm_timeline_next(ChmTimeline *t)
{
    int32_t first = first_done(t);
    return first == NONE ? NONE : t->flight[first].id;
}

bool chm_timeline_has(const ChmTimeline *t, int32_t id)
{
    for (int32_t i = 0; i < t->under_way; i++)
        if (t->flight[i].id == id)
            return true;
    return false;
}

void chm_timeline_wait(ChmTimeline *t, int32_t id)
{
    while (chm_timeline_has(t, id)) {
        int32_t first = first_done(t), n = 0;
        double passed_s = t->flight[first].left * whole_s(&t->flight[first]);
        t->now_s += passed_s;
        for (int32_t i = 0; i < t->under_way; i++) {
            ChmFlight f = t->flight[i];
            f.left -= passed_s / whole_s(&f);
            if (i != first && f.left > 1e-12)
                t->flight[n++] = f;
        }
        t->under_way = n;
        t->stale = true;
        memset(t->asked, 0,
               (size_t)t->classes * sizeof *t->asked); /* afresh, so that it is exactly 0 when all are done */
        for (int32_t i = 0; i < n; i++)
            add_share(t->asked, t->flight[i].load, t->classes, 1);
    }
}

double chm_timeline_crowding(const ChmTimeline *t, const ChmLoad *load)
{
    double most = 0;
    for (int32_t x = 0; load->share && x < t->classes; x++)
        if (load->share[x] > 0 && t->asked[x] + load->share[x] > most)
            most = t->asked[x] + load->share[x];
    return most;
}

/* ---- schedules */

/* A schedule on its way: each class of ranks is at a place of it. */
typedef struct Play {
    const ChmLoads *loads;
    const ChmMoment *moments;
    int32_t n;
    ChmTimeline time;
    int32_t at[MAX_RANK_CLASSES];
    uint64_t *started; /* by op: classes of ranks that have come to its start */
} Play;

/* Goes on with one class of ranks until it has to wait, or is through. */
static void play_on(Play *p, int32_t class)
{
    uint64_t bit = UINT64_C(1) << class;
    for (; p->at[class] < p->n; p->at[class]++) {
        const ChmMoment *m = &p->moments[p->at[class]];
        const ChmLoad *load = p->loads->of_op[m->op];
        if (!load || !(load->ranks & bit))
            continue;
        if (m->start && !(p->started[m->op] & bit)) {
            p->started[m->op] |= bit;
            if (p->started[m->op] == load->ranks)
                chm_timeline_start(&p->time, m->op, load);
        }
        if (m->wait && (p->started[m->op] != load->ranks || chm_timeline_has(&p->time, m->op)))
            return;
    }
}

double chm_loads_time(ChmArena *scratch, const ChmLoads *l, const ChmMoment *moments, int32_t n)
{
    Play p = {.loads = l, .moments = moments, .n = n};
    chm_timeline_init(&p.time, scratch, l);
    p.started = CHM_NEW_ARRAY(scratch, uint64_t, l->nops);
    for (;;) {
        for (int32_t class = 0; class < l->rank_classes; class ++)
            play_on(&p, class);
        int32_t next = chm_timeline_next(&p.time);
        if (next == NONE)
            return p.time.now_s;
        chm_timeline_wait(&p.time, next);
    }
}

ChmMoment *chm_moments_of_module(ChmArena *arena, const ChmModule *m)
{
    ChmMap places; /* from the address of a started value to its op's place, counted from 1 */
    int32_t n = 0;
    for (const ChmOp *op = m->first; op; op = op->next)
        n++;
    ChmMoment *moments = CHM_NEW_ARRAY(arena, ChmMoment, n);
    chm_map_init(&places, arena);
    n = 0;
    for (const ChmOp *op = m->first; op; op = op->next, n++) {
        moments[n] = (ChmMoment){.op = n, .start = true, .wait = !op->started};
        if (op->started)
            chm_map_put(&places, &op->result, sizeof op->result, (void *)(intptr_t)(n + 1));
        if (op->code == CHM_OP_WAIT)
            moments[n] = (ChmMoment){
                .wait = true, .op = (int32_t)(intptr_t)chm_map_get(&places, &op->operand, sizeof op->operand) - 1};
    }
    return moments;
}

double chm_overlapped_time(ChmArena *arena, const ChmTopology *topo, const ChmModule *m)
{
    ChmLoads loads;
    chm_loads_of_module(&loads, arena, topo, m);
    return chm_loads_time(arena, &loads, chm_moments_of_module(arena, m), loads.nops);
}
