/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/route_chains.c - the second half of 'route': chains of layout changes, chosen for what all of them do together.
 *
 * The cheapest way of an arrow by itself may not be the best for the plan: in chunks a chain takes the time of its
 * busiest wire, not the sum over its steps; and of ways that are as quick one may load other ranks than the rest of the
 * plan does. So each chain in turn is given the way of the router's several that makes the price of the whole plan, as
 * 'pipeline' will leave it, least, until none changes. Every change lowers that price. O(rounds * chains * ways *
 * ranks).
 */
#include "pass/cut.h"
#include "pass/route_chains.h"

#define MAX_ROUNDS 16
/* Chains times ranks: beyond, ways that are merely as quick are not looked at. */
#define MAX_EVEN_WORK 200000
#define EVEN 1e-9 /* relative: closer times are equal */

typedef struct Chain {
    ChmOp *head, *tail;
    ChmSteps steps, old; /* as chosen; as it stands */
    const ChmWays *ways;
    bool changed;
} Chain;

typedef struct Chains {
    ChmRewrite *w;
    ChmCutter cutter;
    CHM_VEC(Chain) list;
    ChmBill sum; /* over all ops */
    bool evenly; /* look at ways that are as quick; else each chain is judged by itself, with no sums */
} Chains;

/* Adds what the cutter's last chain is to the sum, or takes it away (sign -1). */
static void join(Chains *c, int32_t sign)
{
    if (c->evenly)
        chm_bill_join(&c->sum, &c->cutter.bill, sign);
}

static ChmPrice cut_price(Chains *c, const Chain *chain, const ChmSteps *steps)
{
    const ChmType *from = chain->head->operand->type;
    return chm_cut_chain(&c->cutter, from->shape, from->dtype, from->layout, steps->at, steps->len).price;
}

/* Of the plan, with the cutter's last chain in its place besides what is summed up. */
static ChmPrice whole_price(Chains *c)
{
    if (!c->evenly)
        return chm_bill_price(&c->cutter.bill);
    double sum_s = c->sum.time_s; /* kept as it is: what is added and taken away again leaves something behind */
    join(c, 1);
    ChmPrice all = chm_bill_price(&c->sum);
    join(c, -1);
    c->sum.time_s = sum_s;
    return all;
}

static bool same_steps(const ChmSteps *a, const ChmSteps *b)
{
    bool same = a->len == b->len;
    for (int32_t i = 0; i < a->len && same; i++)
        same = a->at[i].code == b->at[i].code && a->at[i].to == b->at[i].to;
    return same;
}

/* By the search's own prices, which spares the true ones of most ways. */
static bool worth_a_look(const Chains *c, const ChmWays *ways, int32_t i, double now_s)
{
    double best_s = ways->at[0].price.time_s, time_s = ways->at[i].price.time_s;
    if (ways->exact && time_s > now_s * (1 + EVEN))
        return false;
    return time_s <= best_s * (1 + EVEN) && (c->evenly || (i == 0 && (!ways->exact || time_s < now_s * (1 - EVEN))));
}

static bool any_worth_a_look(const Chains *c, const Chain *chain, double now_s)
{
    for (int32_t i = 0; i < chain->ways->len; i++)
        if (worth_a_look(c, chain->ways, i, now_s) && !same_steps(&chain->ways->at[i].steps, &chain->steps))
            return true;
    return false;
}

/* The same for a chain as it stands, unpriced: what the search knows of it may be enough. */
static bool may_change(const Chains *c, const Chain *chain)
{
    for (int32_t i = 0; i < chain->ways->len && chain->ways->exact; i++)
        if (same_steps(&chain->ways->at[i].steps, &chain->steps))
            return any_worth_a_look(c, chain, chain->ways->at[i].price.time_s);
    return chain->ways->len > 0;
}

static bool choose_way(Chains *c, Chain *chain)
{
    const ChmSteps *best = NULL;
    if (!c->evenly && !may_change(c, chain))
        return false;
    ChmPrice own = cut_price(c, chain, &chain->steps);
    if (!any_worth_a_look(c, chain, own.time_s))
        return false;
    join(c, -1);
    ChmPrice least = whole_price(c);
    for (int32_t i = 0; i < chain->ways->len; i++) {
        if (!worth_a_look(c, chain->ways, i, own.time_s))
            continue;
        (void)cut_price(c, chain, &chain->ways->at[i].steps);
        ChmPrice all = whole_price(c);
        if (chm_price_compare(&all, &least) < 0) {
            least = all;
            best = &chain->ways->at[i].steps;
        }
    }
    if (best)
        chain->steps = *best;
    (void)cut_price(c, chain, &chain->steps);
    join(c, 1);
    chain->changed = chain->changed || best;
    return best;
}

/* ---- in and out of the module */

/* What leads to an output, by value id; 'dce' will take the rest away. */
static const bool *mark_live(ChmModule *m)
{
    bool *live = CHM_NEW_ARRAY(&m->arena, bool, chm_module_number(m));
    for (const ChmOp *op = m->last; op; op = op->prev)
        if (op->operand && (!op->result || live[op->result->id]))
            live[op->operand->id] = true;
    return live;
}

static void add_chain(Chains *c, ChmRouter *router, ChmOp *tail, int32_t chunks)
{
    ChmModule *m = c->w->m;
    ChmMoves moves = {0};
    Chain chain = {.tail = tail, .head = chm_find_chain(c->w, tail, &moves)};
    for (int32_t i = 0; i < moves.len; i++)
        CHM_PUSH(&m->arena, &chain.steps, moves.at[i].step);
    chain.old = chain.steps;
    const ChmType *from = chain.head->operand->type, *to = tail->result->type;
    chain.ways = chm_router_several(router, from->shape, from->dtype, from->layout, to->layout, chunks);
    CHM_PUSH(&m->arena, &c->list, chain);
}

/* What is no chain: pipelines. */
static void add_other(Chains *c, const ChmOp *op)
{
    ChmMove move = chm_op_move(op);
    const ChmType *type = op->result->type;
    chm_bill_add(&c->sum, type->shape, type->dtype, move.from, &move.step);
}

static void add_all(Chains *c, const bool *live)
{
    for (int32_t i = 0; i < c->list.len; i++) {
        (void)cut_price(c, &c->list.at[i], &c->list.at[i].steps);
        join(c, 1);
    }
    for (const ChmOp *op = c->w->m->first; op; op = op->next)
        if (op->code == CHM_OP_PIPELINE && live[op->result->id])
            add_other(c, op);
}

static ChmMoves moves_of(Chains *c, const Chain *chain, const ChmSteps *steps)
{
    ChmMoves moves = {0};
    const ChmLayout *at = chain->head->operand->type->layout;
    for (int32_t i = 0; i < steps->len; i++) {
        CHM_PUSH(&c->w->m->arena, &moves, ((ChmMove){at, steps->at[i]}));
        at = steps->at[i].to;
    }
    return moves;
}

static void put_in_place(Chains *c, Chain *chain, int64_t saved_bytes)
{
    ChmModule *m = c->w->m;
    const ChmType *from = chain->head->operand->type, *to = chain->tail->result->type;
    ChmMoves new = moves_of(c, chain, &chain->steps), old = moves_of(c, chain, &chain->old);
    ChmPrice before = cut_price(c, chain, &chain->old), after = cut_price(c, chain, &chain->steps);
    bool quicker = after.time_s < before.time_s * (1 - EVEN);
    const char *why = "as quick, and the plan's worst rank has less to do";
    if (quicker)
        why = chm_arena_printf(c->w->env->remarks->arena, "%.4g ms instead of %.4g ms predicted%s", after.time_s * 1e3,
                               before.time_s * 1e3, c->w->env->cuts ? ", cut into chunks where that helps" : "");
    else if (saved_bytes <= 0)
        why = "as quick, with less traffic";
    chm_rewrite_applied(c->w, chain->tail, quicker ? 0 : saved_bytes, chm_change_brief(c->w, from, to, &new, &old),
                        "from %s to %s by %s instead of %s: %s", chm_type_text(c->w, from), chm_type_text(c->w, to),
                        chm_moves_text(c->w, to, new.at, new.len), chm_moves_text(c->w, to, old.at, old.len), why);
    ChmValue *v = chain->head->operand;
    for (int32_t i = 0; i < chain->steps.len; i++)
        v = chm_build_step(m, chain->tail, chain->tail->span, v, &chain->steps.at[i], NULL);
    chm_value_replace(m, chain->tail->result, v);
    chm_unlink_unused(m, chain->tail);
}

void chm_route_chains(ChmRewrite *w, ChmRouter *router)
{
    Chains c = {.w = w};
    int32_t chunks = w->env->cuts ? w->env->chunks : 1, ranks = w->m->mesh->ranks;
    chm_cutter_init(&c.cutter, chm_rewrite_pricer(w), chunks);
    chm_bill_init(&c.sum, w->pricer);
    const bool *live = mark_live(w->m);
    for (ChmOp *op = w->m->first; op; op = op->next) {
        if (!op->result || !live[op->result->id])
            continue;
        if (chm_ends_chain(w->m, op))
            add_chain(&c, router, op, chunks);
    }
    c.evenly = (int64_t)c.list.len * ranks <= MAX_EVEN_WORK;
    bool any = false;
    for (int32_t i = 0; i < c.list.len && !any; i++)
        any = may_change(&c, &c.list.at[i]);
    if (!any)
        return;
    if (c.evenly)
        add_all(&c, live);
    int64_t worst_before = chm_bill_price(&c.sum).worst_bytes;
    bool changes = true;
    for (int32_t round = 0; round < MAX_ROUNDS && changes; round++) {
        changes = false;
        for (int32_t i = 0; i < c.list.len; i++)
            changes = choose_way(&c, &c.list.at[i]) || changes;
    }
    int64_t saved_bytes = worst_before - chm_bill_price(&c.sum).worst_bytes;
    for (int32_t i = 0; i < c.list.len; i++) {
        if (!c.list.at[i].changed)
            continue;
        put_in_place(&c, &c.list.at[i], saved_bytes);
        saved_bytes = 0; /* said once */
    }
}

/* ---- for the first half */

/* The steps of the chain that the op stands in, as they are, or with others in the op's place. */
static const ChmOp *steps_around(ChmRewrite *w, const ChmOp *op, const ChmSteps *instead, ChmSteps *steps)
{
    ChmOp *tail = op->result->def;
    ChmMoves moves = {0};
    while (!chm_ends_chain(w->m, tail))
        tail = chm_value_single_user(w->m, tail->result);
    const ChmOp *head = chm_find_chain(w, tail, &moves), *at = head;
    for (int32_t i = 0; i < moves.len; i++, at = i < moves.len ? chm_value_single_user(w->m, at->result) : at) {
        for (int32_t k = 0; instead && at == op && k < instead->len; k++)
            CHM_PUSH(&w->m->arena, steps, instead->at[k]);
        if (!instead || at != op)
            CHM_PUSH(&w->m->arena, steps, moves.at[i].step);
    }
    return head;
}

static double cut_time(ChmRewrite *w, ChmCutter *cutter, const ChmOp *op, const ChmSteps *instead)
{
    ChmSteps steps = {0};
    const ChmType *from = steps_around(w, op, instead, &steps)->operand->type;
    return steps.len == 0
               ? 0
               : chm_cut_chain(cutter, from->shape, from->dtype, from->layout, steps.at, steps.len).price.time_s;
}

/* The price of all that is used, but for this op. */
static void add_all_but(ChmBill *t, ChmModule *m, const ChmOp *but)
{
    const bool *live = mark_live(m);
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (op == but || !chm_is_layout_op(op) || !live[op->result->id])
            continue;
        ChmMove move = chm_op_move(op);
        chm_bill_add(t, op->result->type->shape, op->result->type->dtype, move.from, &move.step);
    }
}

bool chm_route_suits_plan(ChmRewrite *w, const ChmOp *op, const ChmValue *source, const ChmSteps *instead)
{
    const ChmType *type = op->result->type;
    ChmCutter cutter;
    ChmBill *t = &w->bill;
    ChmMove old = chm_op_move(op);
    (void)chm_rewrite_pricer(w);
    chm_bill_clear(t);
    add_all_but(t, w->m, op);
    chm_bill_add(t, type->shape, type->dtype, old.from, &old.step);
    ChmPrice before = chm_bill_price(t);
    chm_bill_clear(t);
    add_all_but(t, w->m, op);
    const ChmLayout *at = source->type->layout;
    for (int32_t i = 0; i < instead->len; i++) {
        chm_bill_add(t, type->shape, type->dtype, at, &instead->at[i]);
        at = instead->at[i].to;
    }
    ChmPrice after = chm_bill_price(t);
    bool in_chain = source == op->operand && op->code != CHM_OP_PIPELINE;
    if (in_chain && w->env->cuts) { /* the chain's own time is that in chunks */
        chm_cutter_init(&cutter, w->pricer, w->env->chunks);
        before.time_s = cut_time(w, &cutter, op, NULL);
        after.time_s = cut_time(w, &cutter, op, instead);
    }
    return chm_price_compare(&after, &before) <= 0;
}
