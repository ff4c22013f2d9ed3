/* SPDX-License-Identifier: Apache-2.0
 *
 * front/eval.c - integer expressions, in checked 64-bit arithmetic.
 */
#include "front/sema.h"

#include <assert.h>

static bool eval_param(ChmSema *s, const ChmExpr *e, int64_t *value)
{
    ChmName name = {e->param, e->span};
    ChmParam *param = chm_scope_find(&s->params, e->param);
    if (!param) {
        bool suggested;
        ChmDiag *d = chm_scope_unknown(s, &s->params, name, &suggested);
        if (d && !suggested)
            chm_help(s->diags, d, "Declare it before its use: `param %s = ...;`.", e->param);
        return false;
    }
    param->used = true;
    if (param->span.end > e->span.begin) {
        if (!param->bad) {
            ChmDiag *d = chm_error(s->diags, e->span, "param '%s' is used before it is declared", e->param);
            chm_note(s->diags, d, param->name.span, "it is declared here");
        }
        return false;
    }
    *value = param->value;
    return !param->bad;
}

static bool overflows(ChmSema *s, const ChmExpr *e, const char *op, int64_t a, int64_t b)
{
    chm_error(s->diags, e->span, "%lld %s %lld does not fit 64 bits", (long long)a, op, (long long)b);
    return false;
}

static bool negative_overflows(ChmSema *s, const ChmExpr *e, int64_t a)
{
    chm_error(s->diags, e->span, "-(%lld) does not fit 64 bits", (long long)a);
    return false;
}

static bool eval_division(ChmSema *s, const ChmExpr *e, int64_t a, int64_t b, int64_t *value)
{
    bool is_div = e->kind == CHM_EXPR_DIV;
    assert(e->right);
    if (b == 0) {
        chm_error(s->diags, e->right->span, "%s by zero", is_div ? "division" : "remainder of a division");
        return false;
    }
    if (b == -1) { /* INT64_MIN / -1 traps */
        if (!is_div)
            *value = 0;
        else if (!chm_sub64(0, a, value))
            return overflows(s, e, "/", a, b);
        return true;
    }
    *value = is_div ? a / b : a % b;
    return true;
}

bool chm_eval(ChmSema *s, const ChmExpr *e, int64_t *value)
{
    int64_t a = 0, b = 0;
    bool good = true;
    if (e->left)
        good &= chm_eval(s, e->left, &a);
    if (e->right)
        good &= chm_eval(s, e->right, &b);
    if (!good)
        return false;
    switch (e->kind) {
    case CHM_EXPR_BAD:
        return false;
    case CHM_EXPR_INT:
        *value = e->value;
        return true;
    case CHM_EXPR_PARAM:
        return eval_param(s, e, value);
    case CHM_EXPR_NEG:
        return chm_sub64(0, a, value) || negative_overflows(s, e, a);
    case CHM_EXPR_ADD:
        return chm_add64(a, b, value) || overflows(s, e, "+", a, b);
    case CHM_EXPR_SUB:
        return chm_sub64(a, b, value) || overflows(s, e, "-", a, b);
    case CHM_EXPR_MUL:
        return chm_mul64(a, b, value) || overflows(s, e, "*", a, b);
    case CHM_EXPR_DIV:
    case CHM_EXPR_MOD:
        return eval_division(s, e, a, b, value);
    }
    return false;
}
