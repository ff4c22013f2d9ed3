/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/router.c - where an arrow is searched, and the memory of what was found; see route.h.
 */
#include "pass/cut.h"
#include "pass/route_search.h"

#include <string.h>

struct ChmRouter {
    ChmCtx *ctx;
    ChmArena *arena;
    const ChmTopology *topology;
    ChmPricer *pricer;
    ChmMap results, several;
    ChmMap reduced, wide; /* what was found on meshes of the moving axes: stages have many arrows in common there */
};

/* Of the maps. */
typedef struct Arrow {
    const ChmShape *shape;
    const ChmLayout *from, *to;
    int32_t dtype, chunks;
} Arrow;

ChmRouter *chm_router_new(ChmArena *arena, ChmCtx *ctx, const ChmTopology *topology, ChmPricer *pricer)
{
    ChmRouter *r = CHM_NEW(arena, ChmRouter);
    *r = (ChmRouter){.ctx = ctx, .arena = arena, .topology = topology, .pricer = pricer};
    chm_map_init(&r->results, arena);
    chm_map_init(&r->reduced, arena);
    chm_map_init(&r->wide, arena);
    chm_map_init(&r->several, arena);
    return r;
}

/* Something to begin with: of the ways by plain ops over whole axes, which few moves find where those over all their
 * parts and exchanges may be too many, the quickest. */
static ChmSteps first_way(const RouteAsk *ask)
{
    ChmSteps steps = {0};
    RouteAsk plain = *ask;
    RouteSpace whole = *ask->space;
    whole.whole_axes = true;
    plain.space = &whole;
    plain.exchanges = false;
    chm_arrow_baseline(whole.ctx, ask->arena, whole.shape, whole.from, whole.to, &steps);
    (void)route_search(&plain, 1.0, &steps);
    return steps;
}

static void find(ChmRouter *r, const ChmTopology *topology, const RouteSpace *space, ChmDtype dtype, bool exchanges,
                 ChmRoute *route)
{
    ChmArena *scratch = &r->ctx->scratch;
    ChmPricer *pricer = chm_pricer_new(scratch, topology, space->from->mesh);
    RouteAsk ask = {scratch, route_memory_new(scratch), pricer, topology, space, dtype, exchanges};
    ChmSteps steps = first_way(&ask);
    /* First in an order that hurries to the target: a good way known soon makes the exact search short. */
    (void)route_search(&ask, 5.0, &steps);
    route->exact = route_search(&ask, 1.0, &steps);
    for (int32_t i = 0; i < steps.len; i++)
        CHM_PUSH(r->arena, &route->steps, steps.at[i]);
}

/* An exchange of so many pieces takes too long to price, and would take each rank as many messages. */
static bool too_many_pieces(const ChmTopology *topology, const RouteSpace *s, const ChmSteps *steps)
{
    const ChmLayout *at = s->from;
    for (int32_t i = 0; i < steps->len; i++) {
        if (chm_is_exchange(steps->at[i].code) &&
            chm_exchange_visits(topology, s->shape, at, steps->at[i].to) > CHM_ROUTE_MAX_PIECES)
            return true;
        at = steps->at[i].to;
    }
    return false;
}

/* Where an arrow is searched: on the full mesh, or on the reduced one where that is exact or the full one is too large.
 * Under a topology the reduced mesh is not always the same machine: it is then searched as one switch, for the sake of
 * some way. */
typedef struct Place {
    RouteSpace reduced_space;
    ChmTopology folded;
    const RouteSpace *space;
    const ChmTopology *machine;
    bool reduced, exact;
} Place;

static void find_place(Place *p, const ChmRouter *r, const RouteSpace *full)
{
    bool small = full->from->mesh->ranks <= CHM_ROUTE_MAX_RANKS, same;
    bool fits = route_space_fold(full, r->topology, &p->folded);
    route_space_reduce(full, &p->reduced_space, &same);
    p->reduced = !small || (same && fits);
    p->exact = !p->reduced || (same && fits);
    p->space = p->reduced ? &p->reduced_space : full;
    p->machine = !p->reduced ? r->topology : fits ? &p->folded : &chm_default_topology;
}

/* All that a search on the mesh of the moving axes depends on: the machine by the axes that move and those that stay
 * pinned. 'option' is the search's own. */
typedef struct Form {
    const ChmShape *shape;
    const ChmLayout *from, *to;
    ChmAxes moving, pinned;
    int32_t dtype, option;
} Form;

static Form form_of(const RouteSpace *full, const Place *place, ChmDtype dtype, int32_t option)
{
    const RouteSpace *space = place->space;
    ChmAxes pinned = full->from->pinned & full->to->pinned & ~full->moving;
    return (Form){space->shape, space->from, space->to, full->moving, pinned, (int32_t)dtype, option};
}

/* The search on the mesh of the moving axes, done once for all arrows that are the same there. */
static const ChmRoute *find_reduced(ChmRouter *r, const RouteSpace *full, const Place *place, ChmDtype dtype,
                                    bool exchanges)
{
    Form key = form_of(full, place, dtype, exchanges);
    ChmRoute *route = chm_map_get(&r->reduced, &key, sizeof key);
    if (!route) {
        route = CHM_NEW(r->arena, ChmRoute);
        find(r, place->machine, place->space, dtype, exchanges, route);
        chm_map_put(&r->reduced, &key, sizeof key, route);
    }
    return route;
}

static void find_somewhere(ChmRouter *r, const RouteSpace *full, ChmDtype dtype, ChmRoute *route)
{
    Place place;
    find_place(&place, r, full);
    if (!place.reduced) {
        find(r, place.machine, full, dtype, true, route);
        return;
    }
    const ChmRoute *part = find_reduced(r, full, &place, dtype, true);
    route_space_lift(full, r->arena, &part->steps, &route->steps);
    bool plain = too_many_pieces(r->topology, full, &route->steps);
    if (plain) { /* then the best way of plain ops */
        part = find_reduced(r, full, &place, dtype, false);
        route->steps = (ChmSteps){0};
        route_space_lift(full, r->arena, &part->steps, &route->steps);
    }
    route->exact = part->exact && !plain && place.exact;
}

/* What a search on a smaller mesh found may be dearer on the true one. */
static void price_against_baseline(ChmRouter *r, const RouteSpace *full, ChmDtype dtype, ChmRoute *route)
{
    ChmSteps steps = {0};
    chm_arrow_baseline(r->ctx, r->arena, full->shape, full->from, full->to, &steps);
    ChmPrice price = chm_pricer_steps(r->pricer, full->shape, dtype, full->from, &steps);
    route->price = chm_pricer_steps(r->pricer, full->shape, dtype, full->from, &route->steps);
    if (chm_price_compare(&price, &route->price) < 0) {
        route->steps = steps;
        route->price = price;
    }
}

static void drop_scratch(ChmRouter *r)
{
    chm_arena_fini(&r->ctx->scratch);
    chm_arena_init(&r->ctx->scratch, &r->ctx->guard);
}

const ChmRoute *chm_router_find(ChmRouter *r, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                                const ChmLayout *to)
{
    Arrow key = {shape, from, to, (int32_t)dtype, 0};
    ChmRoute *route = chm_map_get(&r->results, &key, sizeof key);
    if (route)
        return route;
    route = CHM_NEW(r->arena, ChmRoute);
    route->exact = true;
    if (from != to) {
        RouteSpace full;
        bool all = route_space_init(&full, r->ctx, shape, from, to);
        find_somewhere(r, &full, dtype, route);
        route->exact = route->exact && all;
        if (route->exact)
            route->price = chm_pricer_steps(r->pricer, shape, dtype, from, &route->steps);
        else
            price_against_baseline(r, &full, dtype, route);
        drop_scratch(r);
    }
    chm_map_put(&r->results, &key, sizeof key, route);
    return route;
}

double chm_router_least_s(ChmRouter *r, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                          const ChmLayout *to)
{
    Place place;
    RouteSpace full;
    Arrow key = {shape, from, to, (int32_t)dtype, 0};
    if (chm_map_get(&r->results, &key, sizeof key))
        return 0; /* found already: its price is at hand */
    (void)route_space_init(&full, r->ctx, shape, from, to);
    find_place(&place, r, &full);
    if (!place.exact)
        return 0;
    const RouteSpace *s = place.space;
    double least_s = chm_bound_time(&r->ctx->scratch, place.machine, s->shape, dtype, s->from, s->to);
    drop_scratch(r);
    return least_s;
}

/* ---- several ways */

static bool same_steps(const ChmSteps *a, const ChmSteps *b)
{
    bool same = a->len == b->len;
    for (int32_t i = 0; i < a->len && same; i++)
        same = a->at[i].code == b->at[i].code && a->at[i].to == b->at[i].to;
    return same;
}

/* A way, and what it loads. */
typedef struct Met {
    ChmWay way;
    const int64_t *sent, *received; /* by rank */
} Met;
typedef CHM_VEC(Met) Mets;

/* As quick, and every rank has as much to do: which of the two is taken is seen from no price. */
static bool twins(const Met *a, const Met *b, int32_t ranks)
{
    double greater_s = a->way.price.time_s > b->way.price.time_s ? a->way.price.time_s : b->way.price.time_s;
    double apart_s = a->way.price.time_s - b->way.price.time_s;
    size_t bytes = sizeof *a->sent * (size_t)ranks;
    return apart_s <= 1e-9 * greater_s && -apart_s <= 1e-9 * greater_s && memcmp(a->sent, b->sent, bytes) == 0 &&
           memcmp(a->received, b->received, bytes) == 0;
}

/* Of twins the cheaper is kept, the first of equals. */
static void add_met(ChmArena *arena, Mets *mets, const Met *met, int32_t ranks)
{
    for (int32_t i = 0; i < mets->len; i++) {
        if (!same_steps(&mets->at[i].way.steps, &met->way.steps) && !twins(&mets->at[i], met, ranks))
            continue;
        if (chm_price_compare(&met->way.price, &mets->at[i].way.price) < 0)
            mets->at[i] = *met;
        return;
    }
    CHM_PUSH(arena, mets, *met);
}

/* What the wide search met, with its prices on the machine of the search. */
static void look_wide(ChmRouter *r, const Place *place, ChmDtype dtype, int32_t chunks, Mets *mets)
{
    ChmArena *scratch = &r->ctx->scratch;
    const RouteSpace *space = place->space;
    RouteWays found = {0};
    ChmCutter cutter;
    ChmPricer *pricer = chm_pricer_new(scratch, place->machine, space->from->mesh);
    RouteAsk ask = {scratch, route_memory_new(scratch), pricer, place->machine, space, dtype, true};
    size_t bytes = sizeof(int64_t) * (size_t)space->from->mesh->ranks;
    ChmSteps first = first_way(&ask);
    route_search_wide(&ask, &first, &found);
    chm_cutter_init(&cutter, pricer, chunks);
    for (int32_t i = 0; i < found.len; i++) {
        const ChmSteps *steps = &found.at[i];
        Met met = {.way.steps = *steps};
        ChmCut cut = chm_cut_chain(&cutter, space->shape, dtype, space->from, steps->at, steps->len);
        met.way.price = cut.price;
        met.way.plain_s = cut.plain_s;
        chm_bill_by_rank(&cutter.bill);
        met.sent = chm_arena_copy(scratch, cutter.bill.sent, bytes);
        met.received = chm_arena_copy(scratch, cutter.bill.received, bytes);
        add_met(scratch, mets, &met, space->from->mesh->ranks);
    }
}

/* Stable: equal ways stay in the order found. Ways are few. */
static void sort_mets(Mets *mets)
{
    for (int32_t i = 1; i < mets->len; i++) {
        Met met = mets->at[i];
        int32_t k = i;
        for (; k > 0 && chm_price_compare(&met.way.price, &mets->at[k - 1].way.price) < 0; k--)
            mets->at[k] = mets->at[k - 1];
        mets->at[k] = met;
    }
}

/* The same, cheapest first, once for all arrows that are the same on the mesh of the moving axes; on the full mesh each
 * arrow is one by itself. */
static const Mets *find_wide(ChmRouter *r, const RouteSpace *full, const Place *place, ChmDtype dtype, int32_t chunks)
{
    Form key = form_of(full, place, dtype, chunks);
    Mets *mets = chm_map_get(&r->wide, &key, sizeof key);
    if (mets)
        return mets;
    Mets found = {0};
    look_wide(r, place, dtype, chunks, &found);
    sort_mets(&found);
    mets = CHM_NEW(r->arena, Mets);
    for (int32_t i = 0; i < found.len; i++) { /* out of the scratch arena */
        const ChmSteps *steps = &found.at[i].way.steps;
        Met met = {.way = found.at[i].way};
        met.way.steps.at = chm_arena_copy(r->arena, steps->at, sizeof *steps->at * (size_t)steps->len);
        met.way.steps.cap = steps->len;
        CHM_PUSH(r->arena, mets, met);
    }
    chm_map_put(&r->wide, &key, sizeof key, mets);
    return mets;
}

const ChmWays *chm_router_several(ChmRouter *r, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                                  const ChmLayout *to, int32_t chunks)
{
    Arrow key = {shape, from, to, (int32_t)dtype, chunks};
    ChmWays *several = chm_map_get(&r->several, &key, sizeof key);
    if (several)
        return several;
    several = CHM_NEW(r->arena, ChmWays);
    chm_map_put(&r->several, &key, sizeof key, several);
    if (from == to)
        return several;
    Place place;
    RouteSpace full;
    (void)route_space_init(&full, r->ctx, shape, from, to);
    find_place(&place, r, &full);
    const Mets *mets = find_wide(r, &full, &place, dtype, chunks);
    several->exact = place.exact;
    for (int32_t i = 0; i < mets->len && several->len < CHM_ROUTE_WAYS; i++) {
        ChmWay *way = &several->at[several->len];
        const ChmSteps *steps = &mets->at[i].way.steps;
        *way = mets->at[i].way;
        way->steps = (ChmSteps){0};
        if (place.reduced)
            route_space_lift(&full, r->arena, steps, &way->steps);
        for (int32_t k = 0; !place.reduced && k < steps->len; k++)
            CHM_PUSH(r->arena, &way->steps, steps->at[k]);
        several->len += !too_many_pieces(r->topology, &full, &way->steps);
    }
    drop_scratch(r);
    return several;
}
