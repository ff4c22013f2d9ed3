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
#include "pass/route.h"

#include "pass/pass.h"
#include "pass/passes.h"

typedef struct Routing {
    ChmModule *m;
    const ChmPassEnv *env;
    ChmRouter *router;
    CHM_VEC(ChmValue *) values; /* that came before the op at hand, in program order */
} Routing;

static const ChmTensor *root_of(const ChmValue *v)
{
    while (v->def->operand)
        v = v->def->operand;
    return v->def->tensor;
}

static ChmPrice price_of_op(Routing *r, const ChmOp *op)
{
    const ChmType *type = op->operand->type;
    ChmStep step = {op->code, op->attrs, op->result->type->layout};
    ChmSteps one = {.at = &step, .len = 1, .cap = 1};
    return chm_steps_price(&r->m->arena, r->env->topology, type->shape, type->dtype, type->layout, &one);
}

typedef struct Choice {
    ChmValue *source;
    const ChmRoute *route;
} Choice;

/* The cheapest way to the op's result: from its operand, else from a value that came before. The operand wins ties. */
static Choice choose(Routing *r, const ChmOp *op)
{
    const ChmType *type = op->result->type;
    Choice best = {op->operand,
                   chm_router_find(r->router, type->shape, type->dtype, op->operand->type->layout, type->layout)};
    const ChmTensor *root = root_of(op->operand);
    for (int32_t i = 0; i < r->values.len; i++) {
        ChmValue *v = r->values.at[i];
        if (v == op->operand || root_of(v) != root || chm_arrow_illegal(r->m->ctx, v->type->layout, type->layout))
            continue;
        const ChmRoute *route = chm_router_find(r->router, type->shape, type->dtype, v->type->layout, type->layout);
        if (chm_price_compare(&route->price, &best.route->price) < 0)
            best = (Choice){v, route};
    }
    return best;
}

static const char *route_text(Routing *r, const Choice *c)
{
    ChmOut o;
    chm_out_init_arena(&o, &r->m->ctx->arena);
    for (int32_t i = 0; i < c->route->steps.len; i++)
        chm_out_printf(&o, "%s%s", i ? ", " : "", chm_ops[c->route->steps.at[i].code].name);
    return c->route->steps.len ? chm_out_text(&o) : "nothing";
}

static void remark(Routing *r, const ChmOp *op, const Choice *c, const ChmPrice *old)
{
    ChmCtx *ctx = r->m->ctx;
    const ChmType *type = op->result->type;
    chm_remark(r->env->remarks, CHM_APPLIED, "route", op->span, old->worst_bytes - c->route->price.worst_bytes,
               "%s -> %s: %s instead of %s%s", chm_layout_str(ctx, type->shape, c->source->type->layout),
               chm_layout_str(ctx, type->shape, type->layout), route_text(r, c), chm_ops[op->code].name,
               c->source == op->operand ? "" : ", from another value of the same tensor");
    if (!c->route->exact)
        chm_remark(r->env->remarks, CHM_MISSED, "route", op->span, 0,
                   "this search was cut short; a cheaper way may exist");
}

/* Is the route worth a change? Cheaper, or as cheap and made of plain ops where the op is an exchange. */
static bool better(const ChmOp *op, const Choice *c, const ChmPrice *old)
{
    int order = chm_price_compare(&c->route->price, old);
    bool is_exchange = op->code == CHM_OP_EXCHANGE || op->code == CHM_OP_REDUCE_EXCHANGE;
    return order < 0 || (order == 0 && is_exchange && c->route->steps.at[0].code != op->code);
}

static bool route_op(Routing *r, ChmOp *op)
{
    Choice c = choose(r, op);
    ChmPrice old = price_of_op(r, op);
    if (!better(op, &c, &old))
        return false;
    remark(r, op, &c, &old);
    ChmValue *v = c.source;
    for (int32_t i = 0; i < c.route->steps.len; i++)
        v = chm_build_step(r->m, op, op->span, v, &c.route->steps.at[i], NULL);
    chm_value_replace(r->m, op->result, v);
    chm_op_unlink(r->m, op);
    return true;
}

static int32_t sweep(Routing *r)
{
    int32_t changes = 0;
    r->values.len = 0;
    for (ChmOp *op = r->m->first, *next; op; op = next) {
        next = op->next;
        ChmOp *before = op->prev;
        if (chm_is_layout_op(op) && route_op(r, op)) {
            changes++;
            op = before ? before->next : r->m->first; /* the ops that stand in its place */
        }
        for (; op != next; op = op->next)
            if (op->result)
                CHM_PUSH(&r->m->arena, &r->values, op->result);
    }
    return changes;
}

int32_t chm_pass_route(ChmModule *m, const ChmPassEnv *env)
{
    Routing r = {.m = m, .env = env, .router = chm_router_new(&m->arena, m->ctx, env->topology)};
    int32_t changes = 0;
    /* A step of a route may itself have a twin as quick but lighter, so sweeps repeat; prices fall each time. */
    for (int32_t n = sweep(&r); n > 0; n = sweep(&r))
        changes += n;
    return changes;
}
