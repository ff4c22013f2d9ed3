/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/route.c - every layout change becomes its cheapest sequence of ops, from the cheapest value at hand.
 *
 *     %1 = reduce_exchange %x0 : [seq, h] at(pp=1)            # %x0 : [seq, h] partial(tp) at(pp=0)
 * becomes
 *     %1 = reduce_scatter %x0 over (tp) dim seq : [seq/tp, h] at(pp=0)
 *     %2 = shift %1 pp 0 -> 1 : [seq/tp, h] at(pp=1)
 *     %3 = all_gather %2 over (tp) dim seq : [seq, h] at(pp=1)
 *
 * All layout changes of one tensor are the same logical value, so a change may start from any of them that came before,
 * not only from its operand. Each replacement lowers the price of the op that it replaces, so the pass ends and never
 * makes a schedule dearer. Requires CANONICAL; breaks NO_DEAD (the op that an old operand came from may have no use
 * left). Cost: one search for each distinct (from, to, tensor), then O(ops * values of the tensor).
 */
#include "pass/passes.h"
#include "pass/route_chains.h"

typedef struct Routing {
    ChmRewrite w;
    ChmRouter *router;
    CHM_VEC(ChmValue *) values; /* that came before the op at hand, in program order */
} Routing;

/* Layout changes one after the other, and where they start. */
typedef struct Way {
    ChmValue *source;
    ChmSteps steps;
    ChmPrice price;
    bool exact;
} Way;

static const ChmTensor *root_of(const ChmValue *v)
{
    while (v->def->operand)
        v = v->def->operand;
    return v->def->tensor;
}

/* ---- the ways there are */

/* What stands there: the op, or the chain that 'compose' made one op of. */
static Way way_as_is(Routing *r, const ChmOp *op)
{
    const ChmType *type = op->operand->type;
    Way way = {.source = op->operand, .exact = true};
    for (int32_t i = 0; i < op->made_of_len; i++)
        CHM_PUSH(&r->w.m->arena, &way.steps, op->made_of[i]);
    if (op->made_of_len == 0)
        CHM_PUSH(&r->w.m->arena, &way.steps, ((ChmStep){op->code, op->attrs, op->result->type->layout}));
    way.price = chm_pricer_steps(chm_rewrite_pricer(&r->w), type->shape, type->dtype, type->layout, &way.steps);
    return way;
}

static Way way_from(Routing *r, ChmValue *source, const ChmType *to)
{
    const ChmRoute *route = chm_router_find(r->router, to->shape, to->dtype, source->type->layout, to->layout);
    return (Way){source, route->steps, route->price, route->exact};
}

/* No way from there takes as little, so that none need be searched. */
static bool way_too_slow(Routing *r, const ChmValue *source, const ChmType *to, double best_s)
{
    const ChmLayout *from = source->type->layout;
    return from != to->layout &&
           chm_router_least_s(r->router, to->shape, to->dtype, from, to->layout) > best_s * (1 + 1e-9);
}

/* The cheapest way to the op's result: from its operand, else from a value that came before. The operand wins ties. */
static Way choose(Routing *r, const ChmOp *op)
{
    const ChmType *type = op->result->type;
    Way best = way_from(r, op->operand, type);
    const ChmTensor *root = root_of(op->operand);
    for (int32_t i = 0; i < r->values.len; i++) {
        ChmValue *v = r->values.at[i];
        if (v == op->operand || root_of(v) != root || chm_arrow_illegal(r->w.m->ctx, v->type->layout, type->layout))
            continue;
        if (way_too_slow(r, v, type, best.price.time_s))
            continue;
        Way way = way_from(r, v, type);
        if (chm_price_compare(&way.price, &best.price) < 0)
            best = way;
    }
    return best;
}

/* ---- remarks */

static ChmMoves way_moves(Routing *r, const Way *way)
{
    ChmMoves moves = {0};
    const ChmLayout *at = way->source->type->layout;
    for (int32_t i = 0; i < way->steps.len; i++) {
        CHM_PUSH(&r->w.m->arena, &moves, ((ChmMove){at, way->steps.at[i]}));
        at = way->steps.at[i].to;
    }
    return moves;
}

static const char *moves_text(Routing *r, const ChmOp *op, const ChmMoves *moves)
{
    return moves->len ? chm_moves_text(&r->w, op->result->type, moves->at, moves->len) : "the value itself";
}

static void say_applied(Routing *r, const ChmOp *op, const Way *old, const Way *way)
{
    ChmMoves new_moves = way_moves(r, way), old_moves = way_moves(r, old);
    const char *brief = chm_change_brief(&r->w, way->source->type, op->result->type, &new_moves, &old_moves);
    chm_rewrite_applied(&r->w, op, old->price.worst_bytes - way->price.worst_bytes, brief,
                        "from %s to %s by %s instead of %s%s", chm_type_text(&r->w, way->source->type),
                        chm_type_text(&r->w, op->result->type), moves_text(r, op, &new_moves),
                        moves_text(r, op, &old_moves),
                        way->source == op->operand ? "" : ", starting from another value of the same tensor");
}

/* ---- the change */

static bool is_that_op(const ChmOp *op, const Way *way)
{
    return way->source == op->operand && way->steps.len == 1 && way->steps.at[0].code == op->code;
}

static bool is_plain(const Way *way)
{
    for (int32_t i = 0; i < way->steps.len; i++)
        if (chm_is_exchange(way->steps.at[i].code))
            return false;
    return true;
}

/* Is the way worth a change of what is there? When it is cheaper, or as cheap and made of plain ops instead of an
 * exchange. */
static bool better(const ChmOp *op, const Way *way, const Way *old)
{
    int order = chm_price_compare(&way->price, &old->price);
    return order < 0 || (order == 0 && chm_is_exchange(op->code) && op->made_of_len == 0 && is_plain(way));
}

static void put_in_place(Routing *r, ChmOp *op, const Way *way)
{
    ChmValue *v = way->source;
    for (int32_t i = 0; i < way->steps.len; i++)
        v = chm_build_step(r->w.m, op, op->span, v, &way->steps.at[i], NULL);
    chm_value_replace(r->w.m, op->result, v);
    chm_op_unlink(r->w.m, op);
}

/* Whether the op is gone. */
static bool route_op(Routing *r, ChmOp *op)
{
    Way old = way_as_is(r, op), way = choose(r, op);
    bool worth = better(op, &way, &old);
    if (worth && op->made_of_len == 0)
        worth = chm_route_suits_plan(&r->w, op, way.source, &way.steps);
    if (worth)
        say_applied(r, op, &old, &way);
    if (!way.exact)
        chm_rewrite_missed(&r->w, op, 0, "the search from %s to %s was cut short; a cheaper way may exist",
                           chm_type_text(&r->w, way.source->type), chm_type_text(&r->w, op->result->type));
    if (!worth)
        way = old; /* the chain again, where 'compose' took it away */
    op->made_of_len = 0;
    if (is_that_op(op, &way))
        return false;
    put_in_place(r, op, &way);
    return true;
}

static int32_t sweep(Routing *r)
{
    int32_t changes = 0;
    r->values.len = 0;
    for (ChmOp *op = r->w.m->first, *next; op; op = next) {
        next = op->next;
        ChmOp *before = op->prev;
        if (chm_is_layout_op(op) && route_op(r, op)) {
            changes++;
            op = before ? before->next : r->w.m->first; /* the ops that stand in its place */
        }
        for (; op != next; op = op->next)
            if (op->result)
                CHM_PUSH(&r->w.m->arena, &r->values, op->result);
    }
    return changes;
}

/* A step of a route may itself have a twin as quick but lighter, so sweeps repeat; prices fall each time. */
static void sweep_until_stable(Routing *r)
{
    for (int32_t n = sweep(r); n > 0; n = sweep(r))
        r->w.changes += n;
}

int32_t chm_pass_route(ChmModule *m, const ChmPassEnv *env)
{
    enum { MAX_ROUNDS = 8 }; /* one is the rule */
    Routing r = {0};
    chm_rewrite_init(&r.w, m, env, "route");
    r.router = chm_router_new(&m->arena, m->ctx, env->topology, chm_rewrite_pricer(&r.w));
    sweep_until_stable(&r);
    for (int32_t round = 0; round < MAX_ROUNDS; round++) {
        int32_t before = r.w.changes;
        chm_route_chains(&r.w, r.router);
        if (r.w.changes == before)
            break;
        sweep_until_stable(&r);
    }
    return r.w.changes;
}
