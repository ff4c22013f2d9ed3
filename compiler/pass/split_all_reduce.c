/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/split_all_reduce.c - an all_reduce of which only slices are kept sums straight into the slices.
 *
 *   before  %1 = all_reduce %0 over (dp, tp) : [s, h]             from [s, h] partial(dp, tp)
 *           %2 = slice %1 over (tp) dim h : [s, h/tp]
 *   after   %1 = reduce_scatter %0 over (tp) dim h : [s, h/tp] partial(dp)
 *           %2 = all_reduce %1 over (dp) : [s, h/tp]
 *
 * An all_reduce is a reduce_scatter and an all_gather; the gather is never written here, because the pass acts only
 * where it would cancel against a slice at once, or after moving past the ops that stand between. So the whole chain
 * from the all_reduce to a slice over axes that it sums is rewritten:
 *   - a slice falls into runs of axes that are summed, each a reduce_scatter, and runs that are not, each a slice;
 *   - the reduce_scatters stand in the slices' places or before everything else, whichever is the cheaper;
 *   - what remains to be summed is summed at the end, or right after the reduce_scatters.
 *
 * Contract: CHM_PROP_CANONICAL in, and it stays. Legal when every op of the new chain applies and the chain ends in the
 * same layout (so a slice over another order of axes, or a middle that cuts the same dim, refuses itself), no middle
 * has another use, and the new chain is strictly cheaper. O(ops) for each all_reduce that is split.
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

/* The all_reduce and the ops behind it, each the only user of the one before. */
typedef struct Chain {
    ChmOp **at;
    int32_t len;
} Chain;

typedef enum Variant {
    IN_PLACE,
    SCATTER_FIRST,         /* the rest of the sum at the end */
    SCATTER_AND_SUM_FIRST, /* the rest of the sum right after */
    NVARIANTS
} Variant;

typedef struct Draft {
    ChmRewrite *w;
    const ChmShape *shape;
    const ChmLayout *layout; /* so far; NULL when an op did not apply */
    ChmAxes owed;            /* of the all_reduce's axes, those not summed yet */
    ChmMoves moves;
} Draft;

static void add_step(Draft *d, ChmOpcode code, const ChmAttrs *attrs, const ChmLayout *target)
{
    if (!d->layout)
        return;
    const ChmLayout *to = chm_infer_layout(d->w->m->ctx, code, attrs, d->shape, d->layout, target, NULL);
    if (to)
        CHM_PUSH(&d->w->m->arena, &d->moves, ((ChmMove){d->layout, {code, *attrs, to}}));
    d->layout = to;
}

typedef enum Runs { RUNS_SUMMED = 1, RUNS_FREE = 2, RUNS_ALL = 3 } Runs;

/* The runs of a slice's axes; 'summed' is what the all_reduce sums. */
static void add_slice(Draft *d, const ChmAttrs *slice, ChmAxes summed, Runs which)
{
    const ChmAxisSeq *over = &slice->over;
    for (int32_t begin = 0, end; begin < over->len; begin = end) {
        bool sums = summed & CHM_AXIS(over->at[begin]);
        for (end = begin + 1; end < over->len && sums == !!(summed & CHM_AXIS(over->at[end]));)
            end++;
        if (!(which & (sums ? RUNS_SUMMED : RUNS_FREE)))
            continue;
        ChmAttrs attrs = {.over = chm_seq_slice(over, begin, end), .dim = slice->dim};
        add_step(d, sums ? CHM_OP_REDUCE_SCATTER : CHM_OP_SLICE, &attrs, NULL);
        if (sums)
            d->owed &= ~chm_seq_set(&attrs.over);
    }
}

static void add_rest_of_sum(Draft *d)
{
    if (d->owed) {
        ChmAttrs attrs = {.over = chm_seq_of_set(d->owed)};
        add_step(d, CHM_OP_ALL_REDUCE, &attrs, NULL);
    }
    d->owed = 0;
}

/* The layout that an exchange aims at stays the same but for what is still owed and what is scattered already; that is
 * not worth working out, so an exchange ends the chain (walk_chain). */
static void write_variant(Draft *d, const Chain *c, Variant v)
{
    ChmAxes summed = chm_seq_set(&c->at[0]->attrs.over);
    d->layout = c->at[0]->operand->type->layout;
    d->owed = summed;
    d->moves.len = 0;
    for (int32_t i = 1; v != IN_PLACE && i < c->len; i++)
        if (c->at[i]->code == CHM_OP_SLICE)
            add_slice(d, &c->at[i]->attrs, summed, RUNS_SUMMED);
    if (v == SCATTER_AND_SUM_FIRST)
        add_rest_of_sum(d);
    for (int32_t i = 1; i < c->len; i++) {
        const ChmOp *op = c->at[i];
        if (op->code == CHM_OP_SLICE)
            add_slice(d, &op->attrs, summed, v == IN_PLACE ? RUNS_ALL : RUNS_FREE);
        else
            add_step(d, op->code, &op->attrs, NULL);
    }
    add_rest_of_sum(d);
}

static bool slices_a_sum(const ChmOp *op, ChmAxes summed)
{
    return op->code == CHM_OP_SLICE && (chm_seq_set(&op->attrs.over) & summed);
}

/* From the all_reduce as far as middles have one use. */
static Chain walk_chain(ChmRewrite *w, ChmOp *all_reduce, ChmOp *const *only_user)
{
    CHM_VEC(ChmOp *) ops = {0};
    ChmOp *op = all_reduce;
    do {
        CHM_PUSH(&w->m->arena, &ops, op);
        op = only_user[op->result->id];
    } while (op && chm_is_layout_op(op) && !chm_is_exchange(op->code));
    return (Chain){ops.at, ops.len};
}

static void rewrite(ChmRewrite *w, const Chain *c, const ChmMoves *moves, int64_t saved)
{
    ChmOp *last = c->at[c->len - 1], *before = last->operand->def;
    const ChmType *type = last->result->type;
    ChmMoves old = {0};
    for (int32_t i = 0; i < c->len; i++)
        CHM_PUSH(&w->m->arena, &old, chm_op_move(c->at[i]));
    const char *brief = chm_change_brief(w, c->at[0]->operand->type, type, moves, &old);
    chm_rewrite_applied(w, c->at[0], saved, brief, "%s become %s: of the sum, only slices are kept",
                        chm_moves_text(w, type, old.at, old.len), chm_moves_text(w, type, moves->at, moves->len));
    ChmValue *v = c->at[0]->operand;
    for (int32_t i = 0; i + 1 < moves->len; i++)
        v = chm_build_step(w->m, last, c->at[0]->span, v, &moves->at[i].step, NULL);
    chm_op_become(last, v, &moves->at[moves->len - 1].step);
    chm_unlink_unused(w->m, before);
}

/* The cheapest variant that ends in the chain's last layout; false when none is cheaper than the chain as it stands. */
static bool best_variant(ChmRewrite *w, const Chain *c, ChmMoves *best, int64_t *saved)
{
    const ChmType *type = c->at[c->len - 1]->result->type;
    ChmMoves old = {0};
    for (int32_t i = 0; i < c->len; i++)
        CHM_PUSH(&w->m->arena, &old, chm_op_move(c->at[i]));
    ChmPrice old_price = chm_moves_price(w, type, old.at, old.len), best_price = old_price;
    best->len = 0;
    for (Variant v = IN_PLACE; v < NVARIANTS; v++) {
        Draft d = {.w = w, .shape = type->shape};
        write_variant(&d, c, v);
        if (d.layout != type->layout)
            continue;
        ChmPrice price = chm_moves_price(w, type, d.moves.at, d.moves.len);
        if (chm_price_compare(&price, &best_price) < 0) {
            best_price = price;
            *best = d.moves;
        }
    }
    *saved = old_price.worst_bytes - best_price.worst_bytes;
    return best->len > 0;
}

/* What a slice that shares the sum would have saved, or nothing of note. */
static void say_why_not(ChmRewrite *w, ChmOp *all_reduce, const Chain *c)
{
    ChmAxes summed = chm_seq_set(&all_reduce->attrs.over);
    ChmValue *v = c->at[c->len - 1]->result;
    for (ChmOp *op = v->uses > 1 ? w->m->first : NULL; op; op = op->next) {
        if (op->operand != v || !slices_a_sum(op, summed))
            continue;
        Chain alone = {CHM_NEW_ARRAY(&w->m->arena, ChmOp *, c->len + 1), c->len + 1};
        for (int32_t i = 0; i < c->len; i++)
            alone.at[i] = c->at[i];
        alone.at[c->len] = op;
        ChmMoves moves;
        int64_t saved;
        if (best_variant(w, &alone, &moves, &saved)) {
            chm_rewrite_missed(w, all_reduce, saved, "%s stays whole: %s is sliced, but has another use, %s",
                               chm_op_text(w, all_reduce), chm_value_text(w, v),
                               chm_op_text(w, chm_other_use(w->m, v, op)));
            return;
        }
    }
    for (int32_t i = 1; i < c->len; i++)
        if (slices_a_sum(c->at[i], summed)) {
            chm_rewrite_missed(w, all_reduce, 0,
                               "%s stays whole: summing into %s first would not end in the same "
                               "layout, or not be cheaper",
                               chm_op_text(w, all_reduce), chm_op_text(w, c->at[i]));
            return;
        }
    chm_rewrite_missed(w, all_reduce, 0, "%s stays whole: nothing slices its result over an axis of the sum",
                       chm_op_text(w, all_reduce));
}

static bool split(ChmRewrite *w, ChmOp *all_reduce, ChmOp *const *only_user)
{
    ChmAxes summed = chm_seq_set(&all_reduce->attrs.over);
    Chain c = walk_chain(w, all_reduce, only_user), whole = c;
    ChmMoves moves;
    int64_t saved;
    for (; c.len >= 2; c.len--)
        if (slices_a_sum(c.at[c.len - 1], summed) && best_variant(w, &c, &moves, &saved)) {
            rewrite(w, &c, &moves, saved);
            return true;
        }
    say_why_not(w, all_reduce, &whole);
    return false;
}

int32_t chm_pass_split_all_reduce(ChmModule *m, const ChmPassEnv *env)
{
    ChmRewrite w;
    chm_rewrite_init(&w, m, env, "split-all-reduce");
    ChmOp **only_user = chm_only_users(m);
    for (ChmOp *op = m->first, *before; op; op = op->next) {
        if (op->code != CHM_OP_ALL_REDUCE)
            continue;
        before = op->prev; /* an input at least */
        if (split(&w, op, only_user)) {
            op = before; /* what took its place may hold an all_reduce again */
            only_user = chm_only_users(m);
        }
    }
    return w.changes;
}
