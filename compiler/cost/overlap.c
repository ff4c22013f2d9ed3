/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/overlap.c - the time of ops that are under way together.
 */
#include "cost/overlap.h"

#include <string.h>

#define NONE (-1)

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
    int32_t at[CHM_RANK_CLASSES];
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

double chm_overlapped_time(ChmPricer *p, const ChmModule *m)
{
    ChmLoads loads;
    ChmArena *arena = chm_pricer_arena(p);
    chm_loads_of_module(&loads, arena, p, m);
    return chm_loads_time(arena, &loads, chm_moments_of_module(arena, m), loads.nops);
}
