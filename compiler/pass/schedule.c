/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/schedule.c - independent layout changes run at the same time: each is started as soon as it is worth it, and
 * waited for when nothing else is left to start.
 *
 *   before  %1 = reduce_scatter %x over (tp) dim s : [s/tp, h]
 *           %2 = all_gather %1 over (tp) dim s : [s, h]
 *           %3 = all_gather %y over (dp) dim s : [s, h]
 *   after   %1 = start reduce_scatter %x over (tp) dim s : [s/tp, h]
 *           %2 = start all_gather %y over (dp) dim s : [s, h]
 *           wait %1
 *           %3 = all_gather %1 over (tp) dim s : [s, h]
 *           wait %2
 *
 * List scheduling: of the ops whose operand is there, the one with the longest way to go behind it is started first,
 * unless it would crowd the wires that those under way load; else the op that is predicted to be done first is waited
 * for. That is done for some limits of crowding and orders, and the schedule of the least predicted time stays, if it
 * is better than what stands there by a percent. The order of ops is that of all ranks, so every rank starts and waits
 * in one order.
 *
 * A bound on the buffers of a rank (--max-buffer) counts bytes alive while ops are started, and then the planned arena.
 *
 * Contract: any module in, a scheduled one too; breaks CANONICAL, in which nothing is started. Repeats until it finds
 * nothing better, so that a second run finds nothing. O(ops * (ops + ops under way^2 * classes of wires)) beside what
 * measuring each distinct op takes.
 */
#include "cost/overlap.h"
#include "ir/buffers.h"
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <string.h>

/* More ops under way gain nothing: the wires are full, and the buffers grow. */
#define MOST_UNDER_WAY 16
#define LEAST_GAIN 0.01
#define NONE (-1)

typedef struct Node {
    ChmOp *op;
    int32_t operand; /* index of the op that makes it, or NONE */
    int32_t uses;    /* by layout changes */
    int32_t place;   /* among the ops as they stand */
    int64_t bytes;   /* of its result in the arena */
    double tail_s;   /* from its start to the end of the longest way behind it */
} Node;

typedef CHM_VEC(ChmMoment) Moments;

typedef struct Candidate {
    Moments moments;
    double time_s;
    int64_t arena_bytes;
} Candidate;

typedef struct Schedule {
    ChmRewrite w;
    ChmArena *scratch;
    ChmLoads loads;
    Node *node; /* by index into loads.of_op: the ops as the pass finds them */
    int32_t n;
    int32_t *at_place; /* by place: the index */
    int32_t places;
    Candidate now; /* what stands in the module */
} Schedule;

/* ---- what there is */

static void read_ops(Schedule *s)
{
    ChmMap places; /* from the address of a value to its op's index, counted from 1 */
    chm_map_init(&places, s->scratch);
    s->n = s->places = s->loads.nops;
    s->node = CHM_NEW_ARRAY(s->scratch, Node, s->n);
    s->at_place = CHM_NEW_ARRAY(s->scratch, int32_t, s->n);
    ChmBuffers buffers;
    chm_buffers_plan(s->scratch, s->w.m, &buffers);
    int32_t i = 0;
    for (ChmOp *op = s->w.m->first; op; op = op->next, i++) {
        Node *node = &s->node[i];
        *node = (Node){.op = op, .operand = NONE, .place = i};
        s->at_place[i] = i;
        if (op->operand)
            node->operand = (int32_t)(intptr_t)chm_map_get(&places, &op->operand, sizeof op->operand) - 1;
        if (op->result)
            chm_map_put(&places, &op->result, sizeof op->result, (void *)(intptr_t)(i + 1));
        if (chm_is_layout_op(op) && op->result) {
            s->node[node->operand].uses++;
            if (buffers.place[op->result->id].home == CHM_HOME_ARENA)
                node->bytes = chm_arena_bytes(op->result->type);
        }
    }
    for (i = s->n - 1; i >= 0; i--) {
        Node *node = &s->node[i];
        node->tail_s += s->loads.of_op[i] ? s->loads.of_op[i]->time_s : 0;
        if (chm_is_layout_op(node->op) && s->node[node->operand].tail_s < node->tail_s)
            s->node[node->operand].tail_s = node->tail_s;
    }
}

/* Ops that communicate, and how many of them stand on the longest way from an input. */
static void count_ops(const Schedule *s, int32_t *communicate, int32_t *in_a_row)
{
    int32_t *depth = CHM_NEW_ARRAY(s->scratch, int32_t, s->n);
    *communicate = *in_a_row = 0;
    for (int32_t i = 0; i < s->n; i++) {
        const Node *node = &s->node[i];
        if (!chm_is_layout_op(node->op))
            continue;
        depth[i] = depth[node->operand] + (s->loads.of_op[i] != NULL);
        *communicate += s->loads.of_op[i] != NULL;
        *in_a_row = depth[i] > *in_a_row ? depth[i] : *in_a_row;
    }
}

/* ---- one schedule, by a list */

typedef struct Limits {
    double crowding;   /* on any wire, by the ops under way */
    int32_t under_way; /* ops */
    bool by_place;     /* ops start in the order in which they stand, else those of the longest way first */
    int64_t max_bytes; /* of the results that are alive; 0: no limit */
} Limits;

typedef struct List {
    const Schedule *s;
    Limits limits;
    Moments *out;
    ChmTimeline time;
    int32_t *under_way, nunder_way; /* in order of start */
    bool *done, *begun;             /* by index */
    int32_t *crowded;               /* by distinct load: at which step it was too much for the wires, counted from 1 */
    int32_t step;                   /* of time */
    int32_t *uses_left;             /* by index */
    int64_t alive_bytes;
} List;

static void emit(List *l, int32_t op, bool start, bool wait)
{
    Moments *out = l->out;
    if (wait && !start && out->len && out->at[out->len - 1].op == op && out->at[out->len - 1].start)
        out->at[out->len - 1].wait = true; /* nothing between: it runs to its end */
    else
        CHM_PUSH(l->s->scratch, out, ((ChmMoment){op, start, wait}));
}

static void end(List *l, int32_t i)
{
    const Node *node = &l->s->node[i], *operand = &l->s->node[node->operand];
    l->done[i] = true;
    if (--l->uses_left[node->operand] == 0)
        l->alive_bytes -= operand->bytes;
    if (l->uses_left[i] == 0)
        l->alive_bytes -= node->bytes;
}

static bool takes_time(const List *l, int32_t i)
{
    return l->s->loads.of_op[i] && l->s->loads.of_op[i]->time_s > 0;
}

static void begin(List *l, int32_t i)
{
    l->begun[i] = true;
    l->alive_bytes += l->s->node[i].bytes;
    emit(l, i, true, !takes_time(l, i));
    if (!takes_time(l, i)) {
        end(l, i);
        return;
    }
    chm_timeline_start(&l->time, i, l->s->loads.of_op[i]);
    l->under_way[l->nunder_way++] = i;
}

/* Once an op like this is too much, it is so until some op is done. */
static bool crowds(List *l, const ChmLoad *load)
{
    if (l->crowded[load->index] == l->step)
        return true;
    bool too_much = chm_timeline_crowding(&l->time, load) > l->limits.crowding;
    if (too_much)
        l->crowded[load->index] = l->step;
    return too_much;
}

static bool may_begin(List *l, int32_t i)
{
    if (l->nunder_way == 0)
        return true;
    if (l->limits.max_bytes && l->s->node[i].bytes > l->limits.max_bytes - l->alive_bytes)
        return false;
    return !takes_time(l, i) || (l->nunder_way < l->limits.under_way && !crowds(l, l->s->loads.of_op[i]));
}

static bool goes_before(const List *l, int32_t a, int32_t b)
{
    const Node *x = &l->s->node[a], *y = &l->s->node[b];
    if (!l->limits.by_place && (x->tail_s > y->tail_s || x->tail_s < y->tail_s))
        return x->tail_s > y->tail_s;
    return x->place < y->place;
}

/* The first of those that may begin, or NONE. */
static int32_t choose(List *l)
{
    int32_t best = NONE;
    for (int32_t i = 0; i < l->s->n; i++) {
        const Node *node = &l->s->node[i];
        bool ready = chm_is_layout_op(node->op) && !l->begun[i] && l->done[node->operand];
        if (ready && (best == NONE || goes_before(l, i, best)) && may_begin(l, i))
            best = i;
    }
    return best;
}

/* Until some op is done; those that are done with it are waited for as well. */
static void wait_for_one(List *l)
{
    int32_t n = 0;
    l->step++;
    chm_timeline_wait(&l->time, chm_timeline_next(&l->time));
    for (int32_t k = 0; k < l->nunder_way; k++) {
        int32_t i = l->under_way[k];
        if (chm_timeline_has(&l->time, i)) {
            l->under_way[n++] = i;
            continue;
        }
        emit(l, i, false, true);
        end(l, i);
    }
    l->nunder_way = n;
}

static void emit_ends(List *l, ChmOpClass class)
{
    for (int32_t place = 0; place < l->s->places; place++) { /* those keep their order */
        int32_t i = l->s->at_place[place];
        if (chm_ops[l->s->node[i].op->code].class != class)
            continue;
        l->done[i] = true;
        emit(l, i, true, true);
    }
}

static Moments list_schedule(const Schedule *s, Limits limits)
{
    Moments moments = {0};
    List l = {.s = s, .limits = limits, .out = &moments, .step = 1};
    chm_timeline_init(&l.time, s->scratch, &s->loads);
    l.under_way = CHM_NEW_ARRAY(s->scratch, int32_t, s->n);
    l.done = CHM_NEW_ARRAY(s->scratch, bool, s->n);
    l.begun = CHM_NEW_ARRAY(s->scratch, bool, s->n);
    l.uses_left = CHM_NEW_ARRAY(s->scratch, int32_t, s->n);
    l.crowded = CHM_NEW_ARRAY(s->scratch, int32_t, s->loads.distinct);
    for (int32_t i = 0; i < s->n; i++)
        l.uses_left[i] = s->node[i].uses;
    emit_ends(&l, CHM_CLASS_SOURCE);
    for (;;) {
        int32_t next = choose(&l);
        if (next != NONE)
            begin(&l, next);
        else if (l.nunder_way > 0)
            wait_for_one(&l);
        else
            break;
    }
    emit_ends(&l, CHM_CLASS_SINK);
    return moments;
}

/* What stands there, without any start. */
static Moments one_by_one(const Schedule *s)
{
    Moments moments = {0};
    for (int32_t place = 0; place < s->places; place++)
        if (s->node[s->at_place[place]].op->code != CHM_OP_WAIT)
            CHM_PUSH(s->scratch, &moments, ((ChmMoment){s->at_place[place], true, true}));
    return moments;
}

/* ---- the module */

static void apply(Schedule *s, const Moments *moments)
{
    ChmModule *m = s->w.m;
    for (ChmOp *op = m->first, *next; op; op = next) {
        next = op->next;
        if (op->code == CHM_OP_WAIT)
            chm_op_unlink(m, op);
    }
    for (int32_t k = 0; k < moments->len; k++) {
        const ChmMoment *at = &moments->at[k];
        ChmOp *op = s->node[at->op].op;
        if (at->start) {
            chm_op_put(m, op, NULL);
            op->started = !at->wait;
        } else {
            chm_build_wait(m, NULL, op->span, op->result);
        }
    }
}

static int64_t arena_now(Schedule *s)
{
    ChmBuffers buffers;
    chm_buffers_plan(s->scratch, s->w.m, &buffers);
    return buffers.arena_bytes;
}

/* Without any start, what the price of such a module is: the sum. */
static double time_of(const Schedule *s, const Moments *moments)
{
    double sum_s = 0;
    bool started = false;
    for (int32_t k = 0; k < moments->len; k++) {
        const ChmLoad *load = s->loads.of_op[moments->at[k].op];
        started = started || !moments->at[k].start || !moments->at[k].wait;
        sum_s += load && moments->at[k].start ? load->time_s : 0;
    }
    return started ? chm_loads_time(s->scratch, &s->loads, moments->at, moments->len) : sum_s;
}

static void measure(Schedule *s, Candidate *c)
{
    c->time_s = time_of(s, &c->moments);
    apply(s, &c->moments);
    c->arena_bytes = arena_now(s);
    apply(s, &s->now.moments);
}

static bool fits(const Schedule *s, const Candidate *c)
{
    return s->w.env->max_buffer_bytes == 0 || c->arena_bytes <= s->w.env->max_buffer_bytes;
}

/* Of the schedules with and without too large buffers: that of the least time, the first of equals. */
static void consider(Schedule *s, Moments moments, Candidate *best, Candidate *too_large)
{
    Candidate c = {.moments = moments};
    measure(s, &c);
    Candidate *to = fits(s, &c) ? best : too_large;
    if (to->moments.len == 0 || c.time_s < to->time_s * (1 - 1e-9) ||
        (c.time_s <= to->time_s && c.arena_bytes < to->arena_bytes))
        *to = c;
}

static void find_best(Schedule *s, Candidate *best, Candidate *too_large)
{
    static const double crowding[] = {1 + 1e-9, 1.5, 2 + 1e-9, 1e9};
    static const int32_t under_way[] = {MOST_UNDER_WAY, 4, 3, 2};
    int64_t max_bytes = s->w.env->max_buffer_bytes;
    *best = *too_large = (Candidate){.time_s = 0};
    for (int32_t by_place = 0; by_place < 2; by_place++)
        for (size_t k = 0; k < sizeof crowding / sizeof crowding[0]; k++) {
            consider(s, list_schedule(s, (Limits){crowding[k], MOST_UNDER_WAY, by_place, 0}), best, too_large);
            for (int32_t i = 0; max_bytes && i < 4; i++) /* fewer ops under way only spare buffers */
                consider(s, list_schedule(s, (Limits){crowding[k], under_way[i], by_place, max_bytes}), best,
                         too_large);
        }
    if (!fits(s, &s->now))
        consider(s, one_by_one(s), best, too_large);
}

static bool worth_it(const Schedule *s, const Candidate *c)
{
    return c->moments.len > 0 && (c->time_s < s->now.time_s * (1 - LEAST_GAIN) || !fits(s, &s->now));
}

static void become(Schedule *s, const Candidate *c)
{
    apply(s, &c->moments);
    s->now = *c;
    s->places = 0;
    for (int32_t k = 0; k < c->moments.len; k++)
        if (c->moments.at[k].start) {
            s->node[c->moments.at[k].op].place = s->places;
            s->at_place[s->places++] = c->moments.at[k].op;
        }
}

/* ---- remarks */

static const char *ms_text(Schedule *s, double time_s)
{
    return chm_arena_printf(s->w.env->remarks->arena, "%.4g ms", time_s * 1e3);
}

static const ChmOp *first_started(const ChmModule *m, int32_t *n)
{
    const ChmOp *first = NULL;
    *n = 0;
    for (const ChmOp *op = m->first; op; op = op->next) {
        first = first ? first : op->started ? op : NULL;
        *n += op->started;
    }
    return first;
}

static void say_applied(Schedule *s, const Candidate *before)
{
    int32_t n;
    const ChmOp *first = first_started(s->w.m, &n);
    chm_rewrite_applied(&s->w, first ? first : s->w.m->first, 0, NULL,
                        "independent layout changes overlap, %d started early: %s instead of %s predicted; arena of a "
                        "rank %s, before %s",
                        (int)n, ms_text(s, s->now.time_s), ms_text(s, before->time_s),
                        chm_bytes_text(&s->w, s->now.arena_bytes), chm_bytes_text(&s->w, before->arena_bytes));
}

static void say_missed(Schedule *s, const ChmOp *op, const Candidate *best, const Candidate *too_large)
{
    if (worth_it(s, too_large))
        chm_rewrite_missed(&s->w, op, 0,
                           "started early the layout changes would take %s instead of %s, but the arena of a rank %s "
                           "instead of %s, more than the %s allowed",
                           ms_text(s, too_large->time_s), ms_text(s, s->now.time_s),
                           chm_bytes_text(&s->w, too_large->arena_bytes), chm_bytes_text(&s->w, s->now.arena_bytes),
                           chm_bytes_text(&s->w, s->w.env->max_buffer_bytes));
    else if (best->moments.len > 0)
        chm_rewrite_missed(&s->w, op, 0, "starting layout changes early would not help: %s predicted, %s as it stands",
                           ms_text(s, best->time_s), ms_text(s, s->now.time_s));
}

/* ---- the pass */

static const ChmOp *last_layout_op(const ChmModule *m)
{
    const ChmOp *op = m->last;
    while (op && !chm_is_layout_op(op))
        op = op->prev;
    return op;
}

static void improve(Schedule *s)
{
    Candidate before = s->now, best, too_large;
    bool changed = false;
    int32_t started;
    for (;;) {
        find_best(s, &best, &too_large);
        if (!worth_it(s, &best))
            break;
        become(s, &best);
        changed = true;
    }
    if (changed)
        say_applied(s, &before);
    else if (!first_started(s->w.m, &started))
        say_missed(s, last_layout_op(s->w.m), &best, &too_large);
}

int32_t chm_pass_schedule(ChmModule *m, const ChmPassEnv *env)
{
    Schedule s = {.scratch = &m->arena};
    int32_t communicate, in_a_row;
    chm_rewrite_init(&s.w, m, env, "schedule");
    chm_loads_of_module(&s.loads, s.scratch, chm_rewrite_pricer(&s.w), m);
    read_ops(&s);
    count_ops(&s, &communicate, &in_a_row);
    if (communicate < 2)
        return 0;
    if (communicate == in_a_row) {
        chm_rewrite_missed(&s.w, last_layout_op(m), 0,
                           "no layout change is independent of the others: none can overlap");
        return 0;
    }
    ChmMoment *moments = chm_moments_of_module(s.scratch, m);
    for (int32_t i = 0; i < s.n; i++)
        CHM_PUSH(s.scratch, &s.now.moments, moments[i]);
    s.now.time_s = chm_loads_time(s.scratch, &s.loads, moments, s.n);
    s.now.arena_bytes = arena_now(&s);
    improve(&s);
    return s.w.changes;
}
