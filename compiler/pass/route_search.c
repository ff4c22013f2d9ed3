/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/route_search.c - A* over layouts with labels that are not dominated; see route.h.
 */
#include "pass/route_search.h"

#include <string.h>

#define TIME_EPS 1e-9 /* relative: closer times are equal */

typedef struct Label Label;

/* What is known of a layout: the bound of the way from here, and the labels that led here. */
typedef struct State {
    const ChmLayout *layout;
    double rest_s;      /* no way from here to the target takes less, */
    int64_t rest_bytes; /* nor sends less in all */
    int64_t *ends;      /* of the boxes, by rank and dim, lo and hi; or NULL */
    int64_t *elems;     /* in them, by rank; 0 where the layout is absent */
    int32_t search;     /* of the labels */
    CHM_VEC(Label *) labels;
} State;

/* One way from the source to a layout. */
struct Label {
    State *state;
    const Label *parent;
    ChmStep step;
    double time_s;
    int64_t total_bytes, messages, ops;
    int32_t length;           /* in steps */
    int64_t number;           /* in order of making: the first of equals goes first */
    int64_t *sent, *received; /* by rank */
    bool dominated;
    bool expanded; /* by everything but exchanges on the way; those come later, since each costs a look at every layout
                    */
};

typedef struct Search {
    ChmArena *arena;
    ChmPricer *pricer;
    const ChmTopology *topology;
    const RouteSpace *space;
    ChmDtype dtype;
    RouteMemory *memory;
    RouteLayouts stops;
    CHM_VEC(Label *) heap; /* least time + rest first, then first come */
    Label *best;
    int64_t best_worst; /* its worst-rank traffic */
    Label *at;          /* being expanded */
    ChmBill bill;       /* by rank: of the label being made */
    int32_t ranks;
    bool wires;            /* other than ranks' own */
    double weight;         /* of the bound in the order of expansion: 1 for A*, more to reach some way soon */
    int64_t least_worst;   /* no way has less worst-rank traffic */
    double rank_bandwidth; /* of all wires into a rank */
    int64_t labels;
    int64_t work, max_work; /* ranks priced */
    bool exchanges;         /* may be used */
    bool exact;
    /* The wide search: not the best way alone, but several, up to so many times as slow; 0 for the other. */
    double slack;
    CHM_VEC(Label *) arrived;
} Search;

/* ---- comparing */

static int compare_times(double a, double b)
{
    double scale = a > b ? a : b;
    return a < b - TIME_EPS * scale ? -1 : a > b + TIME_EPS * scale ? 1 : 0;
}

static int compare_ints(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int64_t worst_bytes(const Label *l, int32_t ranks)
{
    int64_t worst = 0;
    for (int32_t r = 0; r < ranks; r++) {
        int64_t here = l->sent[r] > l->received[r] ? l->sent[r] : l->received[r];
        worst = here > worst ? here : worst;
    }
    return worst;
}

static int compare_steps(const Label *a, const Label *b)
{
    if (a->length != b->length)
        return a->length - b->length;
    if (a == b || !a->parent)
        return 0;
    int c = compare_steps(a->parent, b->parent);
    const ChmStep *x = &a->step, *y = &b->step;
    if (!c)
        c = (int)x->code - (int)y->code;
    if (!c)
        c = x->attrs.dim - y->attrs.dim;
    if (!c)
        c = x->attrs.to_dim - y->attrs.to_dim;
    return c ? c : memcmp(x->attrs.over.at, y->attrs.over.at, sizeof x->attrs.over.at);
}

static int compare_labels(const Label *a, const Label *b, int32_t ranks)
{
    int c = compare_times(a->time_s, b->time_s);
    if (!c)
        c = compare_ints(worst_bytes(a, ranks), worst_bytes(b, ranks));
    if (!c)
        c = compare_ints(a->total_bytes, b->total_bytes);
    if (!c)
        c = compare_ints(a->ops, b->ops);
    if (!c)
        c = compare_ints(a->messages, b->messages);
    return c ? c : compare_steps(a, b);
}

/* Whatever follows, a will be no worse than b. Times first: a longer way to the same layout never catches up, but in
 * chunks, where it is the ranks' bytes that count. */
static bool dominates(const Search *s, const Label *a, const Label *b)
{
    int32_t ranks = s->ranks;
    int c = compare_times(a->time_s, b->time_s);
    if (c > 0 || (c < 0 && s->slack == 0))
        return c < 0;
    bool lighter = a->total_bytes <= b->total_bytes && a->messages <= b->messages && a->ops <= b->ops;
    if (!lighter && s->slack == 0)
        return false;
    bool equal = c == 0 && a->total_bytes == b->total_bytes && a->messages == b->messages && a->ops == b->ops;
    for (int32_t r = 0; r < ranks; r++) {
        if (a->sent[r] > b->sent[r] || a->received[r] > b->received[r])
            return false;
        equal = equal && a->sent[r] == b->sent[r] && a->received[r] == b->received[r];
    }
    return !equal || compare_steps(a, b) <= 0;
}

/* ---- the queue: a binary heap */

static double promise(const Search *s, const Label *l)
{
    return l->time_s + s->weight * l->state->rest_s;
}

static bool before(const Search *s, const Label *a, const Label *b)
{
    double x = promise(s, a), y = promise(s, b);
    if (x != y)
        return x < y;
    return a->expanded != b->expanded ? b->expanded : a->number < b->number;
}

static void heap_push(Search *s, Label *l)
{
    CHM_PUSH(s->arena, &s->heap, l);
    int32_t i = s->heap.len - 1;
    for (; i > 0 && before(s, l, s->heap.at[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap.at[i] = s->heap.at[(i - 1) / 2];
    s->heap.at[i] = l;
}

static Label *heap_pop(Search *s)
{
    Label *top = s->heap.at[0], *last = s->heap.at[--s->heap.len];
    int32_t i = 0, n = s->heap.len;
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child + 1 < n && before(s, s->heap.at[child + 1], s->heap.at[child]))
            child++;
        if (child >= n || !before(s, s->heap.at[child], last))
            break;
        s->heap.at[i] = s->heap.at[child];
        i = child;
    }
    if (n > 0)
        s->heap.at[i] = last;
    return top;
}

/* ---- states and labels */

static State *state_of(Search *s, const ChmLayout *layout)
{
    State *state = chm_map_get(&s->memory->states, &layout, sizeof layout);
    if (!state) {
        state = CHM_NEW(s->arena, State);
        state->layout = layout;
        ChmBound rest = chm_bound_on(s->arena, s->topology, s->space->shape, s->dtype, layout, s->space->to);
        state->rest_s = rest.time_s;
        state->rest_bytes = rest.total_bytes;
        chm_map_put(&s->memory->states, &layout, sizeof layout, state);
    }
    if (state->search != s->memory->searches) { /* labels of an earlier search */
        state->search = s->memory->searches;
        state->labels.len = 0;
    }
    return state;
}

/* Nothing better than the best way known goes on from here, with at least so much more to come. Time decides, then
 * worst-rank traffic (of which only the bound for the whole way is known beforehand), then bytes, then ops. */
static bool hopeless(const Search *s, double time_s, int64_t total_bytes, int64_t ops)
{
    const Label *best = s->best;
    if (!best)
        return false;
    if (s->slack > 0)
        return time_s > s->slack * best->time_s;
    int c = compare_times(time_s, best->time_s);
    if (!c && s->best_worst > s->least_worst)
        return false;
    if (!c)
        c = compare_ints(total_bytes, best->total_bytes);
    return c ? c > 0 : ops >= best->ops;
}

/* The least weight of the ops that are still needed. */
static int64_t ops_to_come(const State *state)
{
    return state->rest_bytes > 0 ? chm_op_weight(CHM_OP_ALL_REDUCE) : 0;
}

/* Drops what the new label dominates; false when some label dominates it. */
static bool enters(Search *s, State *state, const Label *l)
{
    int32_t kept = 0, most = s->slack > 0 ? CHM_ROUTE_WIDE_LABELS : CHM_ROUTE_MAX_LABELS;
    for (int32_t i = 0; i < state->labels.len; i++)
        if (dominates(s, state->labels.at[i], l))
            return false;
    for (int32_t i = 0; i < state->labels.len; i++) {
        Label *old = state->labels.at[i];
        if (dominates(s, l, old))
            old->dominated = true;
        else
            state->labels.at[kept++] = old;
    }
    state->labels.len = kept;
    if (kept < most)
        return true;
    s->exact = false;
    return false;
}

/* Makes the bill what it was at a label. */
static void load_bill(Search *s, const Label *l)
{
    size_t bytes = sizeof(int64_t) * (size_t)s->ranks;
    memcpy(s->bill.sent, l->sent, bytes);
    memcpy(s->bill.received, l->received, bytes);
    s->bill.total_sent = l->total_bytes;
    s->bill.messages = l->messages;
    s->bill.ops = l->ops;
    s->bill.time_s = l->time_s;
}

static void set_best(Search *s, Label *l)
{
    s->best = l;
    s->best_worst = worst_bytes(l, s->ranks);
}

static void consider(void *user, const ChmStep *step)
{
    Search *s = user;
    const Label *parent = s->at;
    s->work += s->ranks;
    if (chm_is_exchange(step->code))
        s->work += chm_exchange_visits(s->topology, s->space->shape, parent->state->layout, step->to) / 8;
    load_bill(s, parent);
    chm_bill_add(&s->bill, s->space->shape, s->dtype, parent->state->layout, step);
    State *state = state_of(s, step->to);
    bool arrived = step->to == s->space->to;
    if (!arrived && hopeless(s, s->bill.time_s + state->rest_s, s->bill.total_sent + state->rest_bytes,
                             s->bill.ops + ops_to_come(state)))
        return;
    Label draft = {.state = state,
                   .parent = parent,
                   .step = *step,
                   .time_s = s->bill.time_s,
                   .total_bytes = s->bill.total_sent,
                   .messages = s->bill.messages,
                   .length = parent->length + 1,
                   .ops = s->bill.ops,
                   .sent = s->bill.sent,
                   .received = s->bill.received};
    bool all_arrive = arrived && s->slack > 0;
    if (all_arrive ? s->arrived.len == CHM_ROUTE_ARRIVALS : !enters(s, state, &draft))
        return;
    size_t bytes = sizeof(int64_t) * (size_t)s->ranks;
    Label *l = chm_arena_copy(s->arena, &draft, sizeof draft);
    l->number = ++s->labels;
    l->sent = chm_arena_copy(s->arena, draft.sent, bytes);
    l->received = chm_arena_copy(s->arena, draft.received, bytes);
    if (all_arrive)
        CHM_PUSH(s->arena, &s->arrived, l);
    else
        CHM_PUSH(s->arena, &state->labels, l);
    if (arrived) {
        if (!s->best || compare_labels(l, s->best, s->ranks) < 0)
            set_best(s, l);
    } else {
        heap_push(s, l);
    }
}

/* ---- exchanges */

/* Kept with the state: they are asked for again and again. */
static void make_boxes(Search *s, State *state)
{
    const ChmShape *shape = s->space->shape;
    if (state->ends)
        return;
    int64_t *ends = state->ends = CHM_NEW_ARRAY(s->arena, int64_t, (int64_t)s->ranks * shape->ndims * 2);
    state->elems = CHM_NEW_ARRAY(s->arena, int64_t, s->ranks);
    for (int32_t r = 0; r < s->ranks; r++, ends += 2 * shape->ndims) {
        ChmBox box;
        if (!chm_layout_present(state->layout, r))
            continue;
        chm_layout_box(shape, state->layout, r, &box);
        state->elems[r] = chm_box_elems(&box);
        for (int32_t d = 0; d < shape->ndims; d++) {
            ends[2 * d] = box.lo[d];
            ends[2 * d + 1] = box.hi[d];
        }
    }
}

/* Elements of the rank's two blocks. */
static int64_t shared_elems(const Search *s, const State *a, const State *b, int32_t rank)
{
    int32_t ndims = s->space->shape->ndims;
    const int64_t *x = a->ends + (int64_t)rank * ndims * 2, *y = b->ends + (int64_t)rank * ndims * 2;
    int64_t elems = 1;
    for (int32_t i = 0; i < 2 * ndims && elems > 0; i += 2) {
        int64_t lo = x[i] > y[i] ? x[i] : y[i], hi = x[i + 1] < y[i + 1] ? x[i + 1] : y[i + 1];
        elems *= hi > lo ? hi - lo : 0;
    }
    return elems;
}

typedef struct Least {
    double time_s;
    int64_t total_bytes;
} Least;

/* No exchange between the two takes less: what the worst rank lacks, and what is lacked in all over the ranks that can
 * send. Cheap, to spare most of the exact prices. */
static Least least_exchange(Search *s, State *from, State *to)
{
    make_boxes(s, from);
    make_boxes(s, to);
    bool same_sums = from->layout->partial == to->layout->partial;
    int64_t worst = 0, all = 0, senders = 0;
    for (int32_t r = 0; r < s->ranks; r++) {
        int64_t lacks = to->elems[r];
        senders += from->elems[r] > 0;
        if (same_sums && lacks > 0 && from->elems[r] > 0)
            lacks -= shared_elems(s, from, to, r);
        worst = lacks > worst ? lacks : worst;
        all += lacks;
    }
    if (senders > 0 && all / senders > worst)
        worst = all / senders;
    int64_t bytes = chm_dtypes[s->dtype].bytes;
    return (Least){(double)(worst * bytes) / s->rank_bandwidth, all * bytes};
}

typedef struct LevelKey {
    const ChmLayout *from, *to;
    int64_t level;
} LevelKey;

static double level_time(Search *s, const ChmLayout *from, const ChmLayout *to, int32_t level)
{
    LevelKey key = {from, to, level};
    double *time_s = chm_map_get(&s->memory->levels, &key, sizeof key);
    if (!time_s) {
        time_s = CHM_NEW(s->arena, double);
        *time_s = chm_bound_level_time(s->arena, s->topology, level, s->space->shape, s->dtype, from, to);
        chm_map_put(&s->memory->levels, &key, sizeof key, time_s);
    }
    return *time_s;
}

/* Is the exchange hopeless by what must come over the wires of some level, the slow ones first? Then its price, which
 * takes longer, need not be known. */
static bool hopeless_by_levels(Search *s, const State *to, int64_t total_bytes, int64_t ops)
{
    const Label *at = s->at;
    for (int32_t level = s->wires ? s->topology->nlevels - 1 : -1; level >= 0; level--) {
        double least_s = level_time(s, at->state->layout, to->layout, level);
        if (hopeless(s, at->time_s + to->rest_s + least_s, total_bytes, ops))
            return true;
    }
    return false;
}

/* Counts the work of pricing an exchange; false when that is more than is left. */
static bool affordable(Search *s, const ChmLayout *from, const ChmLayout *to)
{
    if (!s->exchanges)
        return false;
    int64_t work = chm_exchange_visits(s->topology, s->space->shape, from, to) / 8;
    if (work > s->max_work - s->work) {
        s->exact = false;
        return false;
    }
    return true;
}

static void consider_exchanges(Search *s)
{
    Label *at = s->at;
    int32_t weight = chm_op_weight(CHM_OP_EXCHANGE);
    if (hopeless(s, at->time_s + at->state->rest_s, at->total_bytes + at->state->rest_bytes, at->ops + weight + 1))
        return; /* whatever the stop */
    for (int32_t i = 0; i < s->stops.len && s->work < s->max_work; i++) {
        const ChmLayout *to = s->stops.at[i];
        if (to == at->state->layout || to == s->space->to || to->partial & ~at->state->layout->partial)
            continue;
        State *state = state_of(s, to);
        if (!affordable(s, at->state->layout, to))
            continue;
        int64_t more = state->rest_bytes, ops = at->ops + weight + ops_to_come(state);
        if (hopeless(s, at->time_s + state->rest_s, at->total_bytes + more, ops))
            continue;
        s->work += s->ranks / 8;
        Least least = least_exchange(s, at->state, state);
        more += at->total_bytes + least.total_bytes;
        if (hopeless(s, at->time_s + state->rest_s + least.time_s, more, ops) ||
            hopeless_by_levels(s, state, more, ops))
            continue;
        ChmStep step = chm_arrow_exchange(at->state->layout, to);
        consider(s, &step);
    }
}

/* ---- the search */

/* A way known beforehand, so that the search has something to beat. */
static void consider_way(Search *s, Label *start, const ChmSteps *steps)
{
    s->at = start;
    for (int32_t i = 0; i < steps->len; i++) {
        consider(s, &steps->at[i]);
        State *state = state_of(s, steps->at[i].to);
        if (state->labels.len == 0)
            return; /* hopeless already */
        s->at = state->labels.at[0];
    }
}

static void expand(Search *s)
{
    Label *at = s->at;
    if (at->expanded) {
        consider_exchanges(s);
        return;
    }
    ChmStep last = chm_arrow_exchange(at->state->layout, s->space->to);
    if (affordable(s, at->state->layout, s->space->to))
        consider(s, &last);
    route_moves(s->space, at->state->layout, consider, s);
    at->expanded = true;
    if (s->slack == 0)
        heap_push(s, at);
}

static void search(Search *s, const ChmSteps *known)
{
    const RouteSpace *space = s->space;
    s->memory->searches++;
    s->ranks = space->from->mesh->ranks;
    s->wires = !chm_topology_is_plain(s->topology);
    chm_bill_init(&s->bill, s->pricer);
    chm_bill_by_rank(&s->bill);
    s->rank_bandwidth = chm_rank_bandwidth(s->topology, space->from->mesh);
    Label *start = CHM_NEW(s->arena, Label);
    start->state = state_of(s, space->from);
    s->least_worst = chm_bound_arrow(s->arena, space->shape, s->dtype, space->from, space->to);
    start->sent = CHM_NEW_ARRAY(s->arena, int64_t, s->ranks);
    start->received = CHM_NEW_ARRAY(s->arena, int64_t, s->ranks);
    CHM_PUSH(s->arena, &start->state->labels, start);
    consider_way(s, start, known);
    if (s->slack == 0 && !route_layouts(space, s->arena, CHM_ROUTE_MAX_LAYOUTS, &s->stops)) {
        s->stops.len = 0; /* exchanges go straight to the target */
        s->exact = false;
    }
    heap_push(s, start);
    while (s->heap.len > 0 && s->work < s->max_work) {
        s->at = heap_pop(s);
        if (s->at->dominated)
            continue;
        State *here = s->at->state;
        if (hopeless(s, s->at->time_s + here->rest_s, s->at->total_bytes + here->rest_bytes,
                     s->at->ops + ops_to_come(here)))
            continue;
        expand(s);
    }
    s->exact = s->exact && s->work < s->max_work;
}

/* Does b, which follows a, only slice the same dim on? */
static bool slices_on(const ChmStep *a, const ChmStep *b)
{
    return a->code == CHM_OP_SLICE && b->code == CHM_OP_SLICE && a->attrs.dim == b->attrs.dim;
}

/* The steps of a label, neighbouring slices on one dim joined. */
static ChmSteps steps_of(const Search *s, const Label *l)
{
    ChmStep *steps = CHM_NEW_ARRAY(s->arena, ChmStep, l->length + 1);
    int32_t length = l->length, n = 0;
    for (; l->parent; l = l->parent)
        steps[l->length - 1] = l->step;
    for (int32_t i = 0; i < length; i++) {
        if (n == 0 || !slices_on(&steps[n - 1], &steps[i])) {
            steps[n++] = steps[i];
            continue;
        }
        for (int32_t k = 0; k < steps[i].attrs.over.len; k++)
            chm_seq_push(&steps[n - 1].attrs.over, steps[i].attrs.over.at[k]);
        steps[n - 1].to = steps[i].to;
    }
    return (ChmSteps){.at = steps, .len = n, .cap = length + 1};
}

RouteMemory *route_memory_new(ChmArena *arena)
{
    RouteMemory *memory = CHM_NEW(arena, RouteMemory);
    *memory = (RouteMemory){0};
    chm_map_init(&memory->states, arena);
    chm_map_init(&memory->levels, arena);
    return memory;
}

static Search search_of(const RouteAsk *ask, double weight, int64_t max_work)
{
    return (Search){.arena = ask->arena,
                    .memory = ask->memory,
                    .pricer = ask->pricer,
                    .topology = ask->topology,
                    .space = ask->space,
                    .dtype = ask->dtype,
                    .weight = weight,
                    .max_work = max_work,
                    .exchanges = ask->exchanges,
                    .exact = true};
}

bool route_search(const RouteAsk *ask, double weight, ChmSteps *steps)
{
    Search s = search_of(ask, weight, CHM_ROUTE_MAX_WORK);
    search(&s, steps);
    *steps = steps_of(&s, s.best);
    return s.exact;
}

void route_search_wide(const RouteAsk *ask, const ChmSteps *best, RouteWays *ways)
{
    Search s = search_of(ask, 1, CHM_ROUTE_WIDE_WORK);
    s.slack = CHM_ROUTE_SLACK;
    search(&s, best);
    for (int32_t i = 0; i < s.arrived.len; i++)
        CHM_PUSH(ask->arena, ways, steps_of(&s, s.arrived.at[i]));
}
