/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/route_search.c - A* over layouts with labels that are not dominated; see route.h.
 */
#include "pass/route.h"
#include "pass/route_space.h"

#include <string.h>

#define TIME_EPS 1e-9 /* relative: closer times are equal */

typedef struct Label Label;

/* What is known of a layout: the bound of the way from here, and the labels that led here. */
typedef struct State {
    const ChmLayout *layout;
    double rest_s; /* no way from here to the target takes less */
    CHM_VEC(Label *) labels;
} State;

/* One way from the source to a layout. */
struct Label {
    State *state;
    const Label *parent;
    ChmStep step;
    double time_s;
    int64_t total_bytes, messages;
    int32_t length, ops;      /* steps; steps that communicate */
    int64_t *sent, *received; /* by rank */
    bool dominated;
};

typedef struct Search {
    ChmArena *arena;
    const ChmTopology *topology;
    const RouteSpace *space;
    ChmDtype dtype;
    ChmMap states; /* by layout pointer */
    RouteLayouts stops;
    CHM_VEC(Label *) heap; /* least time + rest first, then first come */
    Label *best;
    Label *at; /* being expanded */
    ChmTraffic scratch;
    int64_t moves;
    bool exact;
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
    int before = compare_steps(a->parent, b->parent);
    return before ? before : (int)a->step.code - (int)b->step.code;
}

static int compare_labels(const Label *a, const Label *b, int32_t ranks)
{
    int c = compare_times(a->time_s, b->time_s);
    if (!c)
        c = compare_ints(worst_bytes(a, ranks), worst_bytes(b, ranks));
    if (!c)
        c = compare_ints(a->total_bytes, b->total_bytes);
    if (!c)
        c = compare_ints(a->messages, b->messages);
    if (!c)
        c = a->ops - b->ops;
    return c ? c : compare_steps(a, b);
}

/* Whatever follows, a will be no worse than b. Times first: a longer way to the same layout never catches up. */
static bool dominates(const Label *a, const Label *b, int32_t ranks)
{
    int c = compare_times(a->time_s, b->time_s);
    if (c)
        return c < 0;
    if (a->total_bytes > b->total_bytes || a->messages > b->messages || a->ops > b->ops)
        return false;
    bool equal = a->total_bytes == b->total_bytes && a->messages == b->messages && a->ops == b->ops;
    for (int32_t r = 0; r < ranks; r++) {
        if (a->sent[r] > b->sent[r] || a->received[r] > b->received[r])
            return false;
        equal = equal && a->sent[r] == b->sent[r] && a->received[r] == b->received[r];
    }
    return !equal || compare_steps(a, b) <= 0;
}

/* ---- the queue: a binary heap */

static double promise(const Label *l)
{
    return l->time_s + l->state->rest_s;
}

static void heap_push(Search *s, Label *l)
{
    CHM_PUSH(s->arena, &s->heap, l);
    int32_t i = s->heap.len - 1;
    for (; i > 0 && promise(s->heap.at[(i - 1) / 2]) > promise(l); i = (i - 1) / 2)
        s->heap.at[i] = s->heap.at[(i - 1) / 2];
    s->heap.at[i] = l;
}

static Label *heap_pop(Search *s)
{
    Label *top = s->heap.at[0], *last = s->heap.at[--s->heap.len];
    int32_t i = 0, n = s->heap.len;
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child + 1 < n && promise(s->heap.at[child + 1]) < promise(s->heap.at[child]))
            child++;
        if (child >= n || promise(s->heap.at[child]) >= promise(last))
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
    State *state = chm_map_get(&s->states, &layout, sizeof layout);
    if (!state) {
        state = CHM_NEW(s->arena, State);
        state->layout = layout;
        int64_t rest = chm_bound_arrow(s->arena, s->space->shape, s->dtype, layout, s->space->to);
        state->rest_s = (double)rest / s->topology->bandwidth_bytes_per_s;
        chm_map_put(&s->states, &layout, sizeof layout, state);
    }
    return state;
}

static bool hopeless(const Search *s, double time_s)
{
    return s->best && compare_times(time_s, s->best->time_s) > 0;
}

/* Drops what the new label dominates; false when some label dominates it. */
static bool enters(Search *s, State *state, const Label *l)
{
    int32_t ranks = s->scratch.ranks, kept = 0;
    for (int32_t i = 0; i < state->labels.len; i++)
        if (dominates(state->labels.at[i], l, ranks))
            return false;
    for (int32_t i = 0; i < state->labels.len; i++) {
        Label *old = state->labels.at[i];
        if (dominates(l, old, ranks))
            old->dominated = true;
        else
            state->labels.at[kept++] = old;
    }
    state->labels.len = kept;
    if (kept < CHM_ROUTE_MAX_LABELS)
        return true;
    s->exact = false;
    return false;
}

/* Makes the scratch traffic what it was at a label. */
static void load_scratch(Search *s, const Label *l)
{
    size_t bytes = sizeof(int64_t) * (size_t)s->scratch.ranks;
    memcpy(s->scratch.sent, l->sent, bytes);
    memcpy(s->scratch.received, l->received, bytes);
    s->scratch.total_sent = l->total_bytes;
    s->scratch.messages = l->messages;
    s->scratch.time_s = l->time_s;
}

static void consider(void *user, const ChmStep *step)
{
    Search *s = user;
    const Label *parent = s->at;
    s->moves++;
    load_scratch(s, parent);
    chm_traffic_add(&s->scratch, s->topology, s->space->shape, s->dtype, parent->state->layout, step);
    if (hopeless(s, s->scratch.time_s))
        return;
    State *state = state_of(s, step->to);
    if (hopeless(s, s->scratch.time_s + state->rest_s))
        return;
    bool communicates = s->scratch.messages > parent->messages;
    Label draft = {.state = state,
                   .parent = parent,
                   .step = *step,
                   .time_s = s->scratch.time_s,
                   .total_bytes = s->scratch.total_sent,
                   .messages = s->scratch.messages,
                   .length = parent->length + 1,
                   .ops = parent->ops + communicates,
                   .sent = s->scratch.sent,
                   .received = s->scratch.received};
    if (!enters(s, state, &draft))
        return;
    size_t bytes = sizeof(int64_t) * (size_t)s->scratch.ranks;
    Label *l = chm_arena_copy(s->arena, &draft, sizeof draft);
    l->sent = chm_arena_copy(s->arena, draft.sent, bytes);
    l->received = chm_arena_copy(s->arena, draft.received, bytes);
    CHM_PUSH(s->arena, &state->labels, l);
    if (step->to == s->space->to) {
        if (!s->best || compare_labels(l, s->best, s->scratch.ranks) < 0)
            s->best = l;
    } else {
        heap_push(s, l);
    }
}

/* ---- exchanges */

/* No exchange between the two takes less: what the worst rank lacks. Cheap, to spare most of the exact prices. */
static double least_exchange_s(const Search *s, const ChmLayout *from, const ChmLayout *to)
{
    const ChmShape *shape = s->space->shape;
    int64_t worst = 0;
    for (int32_t r = 0; r < s->scratch.ranks; r++) {
        if (!chm_layout_present(to, r))
            continue;
        ChmBox need, have, both;
        chm_layout_box(shape, to, r, &need);
        int64_t lacks = chm_box_elems(&need);
        if (from->partial == to->partial && chm_layout_present(from, r)) {
            chm_layout_box(shape, from, r, &have);
            chm_box_meet(&need, &have, &both);
            lacks -= chm_box_elems(&both);
        }
        worst = lacks > worst ? lacks : worst;
    }
    return (double)(worst * chm_dtypes[s->dtype].bytes) / s->topology->bandwidth_bytes_per_s;
}

static void consider_exchanges(Search *s)
{
    const ChmLayout *from = s->at->state->layout;
    for (int32_t i = 0; i < s->stops.len && s->moves < CHM_ROUTE_MAX_MOVES; i++) {
        const ChmLayout *to = s->stops.at[i];
        if (to == from || to->partial & ~from->partial)
            continue;
        double time_s = s->at->time_s + least_exchange_s(s, from, to);
        if (hopeless(s, time_s) || hopeless(s, time_s + state_of(s, to)->rest_s))
            continue;
        ChmStep step = chm_arrow_exchange(from, to);
        consider(s, &step);
    }
}

/* ---- the search */

/* A first way, so that the search has something to beat. */
static void consider_baseline(Search *s, Label *start)
{
    ChmSteps steps = {0};
    chm_arrow_baseline(s->space->ctx, s->arena, s->space->shape, s->space->from, s->space->to, &steps);
    s->at = start;
    for (int32_t i = 0; i < steps.len; i++) {
        consider(s, &steps.at[i]);
        State *state = state_of(s, steps.at[i].to);
        if (state->labels.len == 0)
            return; /* hopeless already */
        s->at = state->labels.at[0];
    }
}

static void search(Search *s)
{
    const RouteSpace *space = s->space;
    chm_map_init(&s->states, s->arena);
    chm_traffic_init(&s->scratch, s->arena, space->from->mesh->ranks);
    Label *start = CHM_NEW(s->arena, Label);
    start->state = state_of(s, space->from);
    start->sent = CHM_NEW_ARRAY(s->arena, int64_t, s->scratch.ranks);
    start->received = CHM_NEW_ARRAY(s->arena, int64_t, s->scratch.ranks);
    CHM_PUSH(s->arena, &start->state->labels, start);
    ChmStep direct = chm_arrow_exchange(space->from, space->to);
    s->at = start;
    consider(s, &direct);
    consider_baseline(s, start);
    if (!route_layouts(space, s->arena, CHM_ROUTE_MAX_LAYOUTS, &s->stops)) {
        s->stops.len = 0; /* exchanges go straight to the target */
        CHM_PUSH(s->arena, &s->stops, space->to);
        s->exact = false;
    }
    heap_push(s, start);
    while (s->heap.len > 0 && s->moves < CHM_ROUTE_MAX_MOVES) {
        s->at = heap_pop(s);
        if (s->at->dominated)
            continue;
        if (hopeless(s, promise(s->at)))
            break;
        route_moves(space, s->at->state->layout, consider, s);
        consider_exchanges(s);
    }
    s->exact = s->exact && s->moves < CHM_ROUTE_MAX_MOVES;
}

/* The steps of a label, neighbouring slices on one dim joined. */
static void steps_of(const Search *s, const Label *l, ChmSteps *out)
{
    if (!l->parent)
        return;
    steps_of(s, l->parent, out);
    ChmStep *last = out->len ? &out->at[out->len - 1] : NULL;
    if (last && last->code == CHM_OP_SLICE && l->step.code == CHM_OP_SLICE && last->attrs.dim == l->step.attrs.dim) {
        for (int32_t i = 0; i < l->step.attrs.over.len; i++)
            chm_seq_push(&last->attrs.over, l->step.attrs.over.at[i]);
        last->to = l->step.to;
        return;
    }
    CHM_PUSH(s->arena, out, l->step);
}

/* ---- the router */

struct ChmRouter {
    ChmCtx *ctx;
    ChmArena *arena;
    const ChmTopology *topology;
    ChmMap results;
};

ChmRouter *chm_router_new(ChmArena *arena, ChmCtx *ctx, const ChmTopology *topology)
{
    ChmRouter *r = CHM_NEW(arena, ChmRouter);
    *r = (ChmRouter){.ctx = ctx, .arena = arena, .topology = topology};
    chm_map_init(&r->results, arena);
    return r;
}

static void find(ChmRouter *r, const RouteSpace *space, ChmDtype dtype, ChmArena *scratch, ChmRoute *route)
{
    Search s = {.arena = scratch, .topology = r->topology, .space = space, .dtype = dtype, .exact = route->exact};
    search(&s);
    ChmSteps steps = {0};
    steps_of(&s, s.best, &steps);
    for (int32_t i = 0; i < steps.len; i++)
        CHM_PUSH(r->arena, &route->steps, steps.at[i]);
    route->exact = s.exact;
}

const ChmRoute *chm_router_find(ChmRouter *r, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                                const ChmLayout *to)
{
    struct Key {
        const ChmShape *shape;
        const ChmLayout *from, *to;
        int64_t dtype;
    } key = {shape, from, to, dtype};
    ChmRoute *route = chm_map_get(&r->results, &key, sizeof key);
    if (route)
        return route;
    route = CHM_NEW(r->arena, ChmRoute);
    route->exact = true;
    if (from != to) {
        ChmArena *scratch = &r->ctx->scratch;
        RouteSpace full, reduced;
        bool all = route_space_init(&full, r->ctx, shape, from, to), even;
        route_space_reduce(&full, &reduced, &even);
        if (even || from->mesh->ranks > CHM_ROUTE_MAX_RANKS) {
            ChmRoute part = {.exact = true};
            find(r, &reduced, dtype, scratch, &part);
            route_space_lift(&full, r->arena, &part.steps, &route->steps);
            route->exact = part.exact && even;
        } else {
            find(r, &full, dtype, scratch, route);
        }
        route->exact = route->exact && all;
        route->price = chm_steps_price(scratch, r->topology, shape, dtype, from, &route->steps);
        chm_arena_fini(scratch);
        chm_arena_init(scratch, &r->ctx->guard);
    }
    chm_map_put(&r->results, &key, sizeof key, route);
    return route;
}

ChmPrice chm_steps_price(ChmArena *arena, const ChmTopology *topology, const ChmShape *shape, ChmDtype dtype,
                         const ChmLayout *from, const ChmSteps *steps)
{
    ChmTraffic t;
    chm_traffic_init(&t, arena, from->mesh->ranks);
    for (int32_t i = 0; i < steps->len; i++) {
        chm_traffic_add(&t, topology, shape, dtype, from, &steps->at[i]);
        from = steps->at[i].to;
    }
    return chm_traffic_price(&t);
}
