/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/rewrite.c - what the passes share.
 */
#include "pass/rewrite.h"

#include <stdarg.h>
#include <string.h>

void chm_rewrite_init(ChmRewrite *w, ChmModule *m, const ChmPassEnv *env, const char *pass)
{
    *w = (ChmRewrite){.m = m, .env = env, .pass = pass};
}

/* ---- prices */

ChmMove chm_op_move(const ChmOp *op)
{
    return (ChmMove){op->operand->type->layout, {op->code, op->attrs, op->result->type->layout}};
}

ChmPricer *chm_rewrite_pricer(ChmRewrite *w)
{
    if (!w->pricer) {
        w->pricer = w->env->pricer ? w->env->pricer : chm_pricer_new(&w->m->arena, w->env->topology, w->m->mesh);
        chm_bill_init(&w->bill, w->pricer);
    }
    return w->pricer;
}

ChmPrice chm_moves_price(ChmRewrite *w, const ChmType *type, const ChmMove *moves, int32_t n)
{
    (void)chm_rewrite_pricer(w);
    chm_bill_clear(&w->bill);
    for (int32_t i = 0; i < n; i++)
        chm_bill_add(&w->bill, type->shape, type->dtype, moves[i].from, &moves[i].step);
    return chm_bill_price(&w->bill);
}

/* ---- changes */

void chm_op_become(ChmOp *op, ChmValue *operand, const ChmStep *step)
{
    op->code = step->code;
    op->attrs = step->attrs;
    op->made_of_len = 0;
    chm_op_set_operand(op, operand);
}

static bool in_a_chain(const ChmOp *op)
{
    return chm_is_layout_op(op) && op->code != CHM_OP_PIPELINE;
}

bool chm_ends_chain(const ChmModule *m, const ChmOp *op)
{
    if (!in_a_chain(op))
        return false;
    const ChmOp *user = chm_value_single_user(m, op->result);
    return !user || !in_a_chain(user);
}

ChmOp *chm_find_chain(ChmRewrite *w, ChmOp *tail, ChmMoves *moves)
{
    ChmOp *head = tail;
    moves->len = 0;
    for (;;) {
        CHM_PUSH(&w->m->arena, moves, chm_op_move(head));
        ChmOp *before = head->operand->def;
        if (!in_a_chain(before) || head->operand->uses != 1)
            break;
        head = before;
    }
    for (int32_t i = 0, j = moves->len - 1; i < j; i++, j--) { /* it was walked from its end */
        ChmMove move = moves->at[i];
        moves->at[i] = moves->at[j];
        moves->at[j] = move;
    }
    return head;
}

const ChmStep *chm_keep_steps(ChmRewrite *w, const ChmMoves *moves)
{
    ChmStep *steps = CHM_NEW_ARRAY(&w->m->ctx->arena, ChmStep, moves->len);
    for (int32_t i = 0; i < moves->len; i++)
        steps[i] = moves->at[i].step;
    return steps;
}

void chm_unlink_unused(ChmModule *m, ChmOp *op)
{
    while (chm_is_layout_op(op) && op->result->uses == 0) {
        ChmOp *before = op->operand->def;
        chm_op_unlink(m, op);
        op = before;
    }
}

void chm_renames_init(ChmRenames *r, ChmModule *m)
{
    memset(r, 0, sizeof *r);
    r->m = m;
    chm_map_init(&r->to, &m->arena);
}

void chm_renames_visit(ChmRenames *r, ChmOp *op)
{
    ChmValue *by = op->operand ? chm_map_get(&r->to, &op->operand, sizeof op->operand) : NULL;
    if (by)
        chm_op_set_operand(op, by);
}

void chm_renames_add(ChmRenames *r, ChmOp *op, ChmValue *by)
{
    chm_map_put(&r->to, &op->result, sizeof op->result, by);
    CHM_PUSH(&r->m->arena, &r->gone, op);
    if (!by->name) {
        by->name = op->result->name;
        op->result->name = NULL;
    }
}

void chm_renames_finish(ChmRenames *r)
{
    for (int32_t i = r->gone.len - 1; i >= 0; i--)
        chm_op_unlink(r->m, r->gone.at[i]);
}

ChmOp **chm_only_users(ChmModule *m)
{
    ChmOp **users = CHM_NEW_ARRAY(&m->arena, ChmOp *, chm_module_number(m));
    for (ChmOp *op = m->first; op; op = op->next)
        if (op->operand && op->operand->uses == 1)
            users[op->operand->id] = op;
    return users;
}

ChmOp *chm_other_use(const ChmModule *m, const ChmValue *v, const ChmOp *but)
{
    for (ChmOp *op = m->first; op; op = op->next)
        if (op->operand == v && op != but)
            return op;
    return NULL;
}

/* ---- remarks */

static void print_move(ChmOut *o, const ChmType *type, const ChmMove *move)
{
    chm_step_print(type->shape, &move->step, o);
}

const char *chm_moves_text(ChmRewrite *w, const ChmType *type, const ChmMove *moves, int32_t n)
{
    ChmOut o;
    chm_out_init_arena(&o, w->env->remarks->arena);
    for (int32_t i = 0; i < n; i++) {
        chm_out_puts(&o, i ? "; " : "");
        print_move(&o, type, &moves[i]);
    }
    return chm_out_text(&o);
}

static void print_names(ChmOut *o, const ChmMoves *moves)
{
    for (int32_t i = 0; i < moves->len; i++)
        chm_out_printf(o, "%s%s", i ? ", " : "", chm_ops[moves->at[i].step.code].name);
    chm_out_puts(o, moves->len ? "" : "nothing");
}

const char *chm_change_brief(ChmRewrite *w, const ChmType *from, const ChmType *to, const ChmMoves *new,
                             const ChmMoves *old)
{
    enum { SUMMARY_COLUMNS = 128 }; /* of 160, what the summary leaves for it */
    ChmOut o;
    chm_out_init_arena(&o, w->env->remarks->arena);
    print_names(&o, new);
    chm_out_puts(&o, " instead of ");
    print_names(&o, old);
    const char *names = chm_out_text(&o);
    const char *full =
        chm_arena_printf(w->env->remarks->arena, "%s to %s by %s", chm_type_text(w, from), chm_type_text(w, to), names);
    return strlen(full) <= SUMMARY_COLUMNS ? full : names;
}

const char *chm_move_text(ChmRewrite *w, const ChmType *type, const ChmMove *move)
{
    return chm_moves_text(w, type, move, 1);
}

const char *chm_op_text(ChmRewrite *w, const ChmOp *op)
{
    if (chm_is_layout_op(op)) {
        ChmMove move = chm_op_move(op);
        return chm_move_text(w, op->result->type, &move);
    }
    return chm_arena_printf(w->env->remarks->arena, "%s '%s'", chm_ops[op->code].name,
                            op->name ? op->name : op->tensor->name);
}

const char *chm_bytes_text(ChmRewrite *w, int64_t bytes)
{
    ChmOut o;
    chm_out_init_arena(&o, w->env->remarks->arena);
    chm_out_bytes(&o, bytes);
    return chm_out_text(&o);
}

const char *chm_type_text(ChmRewrite *w, const ChmType *type)
{
    return chm_layout_str(w->m->ctx, type->shape, type->layout);
}

const char *chm_value_text(ChmRewrite *w, const ChmValue *v)
{
    return v->name ? chm_arena_printf(w->env->remarks->arena, "'%s'", v->name)
                   : chm_arena_printf(w->env->remarks->arena, "the result of %s", chm_op_text(w, v->def));
}

static bool already_said(const ChmRemarks *r, const ChmRemark *remark)
{
    for (int32_t i = 0; i < r->list.len; i++) {
        const ChmRemark *other = &r->list.at[i];
        if (other->kind == remark->kind && other->span.source == remark->span.source &&
            other->span.begin == remark->span.begin && strcmp(other->pass, remark->pass) == 0 &&
            strcmp(other->text, remark->text) == 0)
            return true;
    }
    return false;
}

void chm_rewrite_applied(ChmRewrite *w, const ChmOp *op, int64_t saved_bytes, const char *brief, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = chm_arena_vprintf(w->env->remarks->arena, fmt, args);
    va_end(args);
    chm_remark(w->env->remarks, CHM_APPLIED, w->pass, op->span, saved_bytes, "%s", text)->brief = brief;
    w->changes++;
}

void chm_rewrite_missed(ChmRewrite *w, const ChmOp *op, int64_t saved_bytes, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = chm_arena_vprintf(w->env->remarks->arena, fmt, args);
    va_end(args);
    ChmRemark remark = {CHM_MISSED, w->pass, op->span, text, saved_bytes, NULL};
    if (!already_said(w->env->remarks, &remark))
        chm_remark(w->env->remarks, CHM_MISSED, w->pass, op->span, saved_bytes, "%s", text);
}
