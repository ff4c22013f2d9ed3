/* SPDX-License-Identifier: Apache-2.0
 *
 * front/plan_parse.c - from text to syntax tree: runs the parser, and does the work of its actions.
 */
#include "front/plan_parse.h"
#include "front/sema.h"

#include "front/plan.tab.h"
#define YYSTYPE CHM_PLAN_YYSTYPE /* the scanner's names for the parser's types */
#define YYLTYPE ChmSpan
#include "front/plan.lex.h"

#include <ctype.h>
#include <string.h>

/* ---- tokens: the scanner's, with track kept of the statement under way */

int chm_plan_yylex(CHM_PLAN_YYSTYPE *value, ChmSpan *at, ChmParser *p);

static bool begins_declaration(int token)
{
    return token == T_PLAN || token == T_PARAM || token == T_TENSOR || token == T_STEP || token == T_TOPOLOGY ||
           token == T_USE;
}

/* A declaration inside a topology: the '}'s before it are missing, and are put in. */
static void close_topology(ChmParser *p, int token)
{
    if (!p->topology_damaged) {
        ChmDiag *d = chm_error(p->diags, p->last, "expected '}' before the next declaration");
        chm_note(p->diags, d, p->topology_begin, "the topology begins here");
    }
    p->syntax_errors = p->topology_damaged = true;
    p->pending = token;
    p->closing = p->level ? 2 : 1;
}

typedef struct Word {
    const char *text;
    int token;
} Word;

/* The nearest of the words to the name at a place, which is reported; T_NAME when none is near. */
static int nearest_word(ChmParser *p, ChmSpan at, const Word *words, int32_t n)
{
    const char *texts[8], *name = chm_arena_strndup(p->arena, at.source->text + at.begin, at.end - at.begin);
    for (int32_t i = 0; i < n; i++)
        texts[i] = words[i].text;
    const char *near = chm_did_you_mean(name, texts, n);
    for (int32_t i = 0; i < n; i++) {
        if (texts[i] != near)
            continue;
        ChmDiag *d = chm_error(p->diags, at, "unknown word '%s'", name);
        chm_help(p->diags, d, "Did you mean '%s'?", near);
        return words[i].token;
    }
    return T_NAME;
}

static bool begins_line(const ChmSource *s, uint32_t begin)
{
    while (begin > 0 && (s->text[begin - 1] == ' ' || s->text[begin - 1] == '\t'))
        begin--;
    return begin == 0 || s->text[begin - 1] == '\n';
}

/* A misspelt word is read as what it is near to where no name can stand: before another name, or before a '{'. So what
 * follows is read as it was meant, also while the parser skips behind an error. The words 'topology' and 'use' are left
 * to the parser, since the scanner reads differently behind them. */
static int mend_word(ChmParser *p, int token, ChmSpan at)
{
    static const Word step = {"step", T_STEP}, input = {"input", T_INPUT};
    static const Word others[] = {
        {"plan", T_PLAN}, {"param", T_PARAM}, {"mesh", T_MESH}, {"tensor", T_TENSOR}, {"output", T_OUTPUT}};
    const char *next = p->source->text + at.end;
    while (*next == ' ' || *next == '\t')
        next++;
    const char *brace = next + strspn(next, " \t\r\n");
    bool name_follows = isalpha((unsigned char)*next) || *next == '_';
    if (p->last_token == T_EQUALS)
        return name_follows ? nearest_word(p, at, &input, 1) : token;
    bool declared = begins_declaration(p->last_token) || p->last_token == T_MESH; /* a name must come here */
    if (declared || !(p->at_head || begins_line(p->source, at.begin)))
        return token;
    if (*brace == '{')
        return nearest_word(p, at, &step, 1);
    return name_follows ? nearest_word(p, at, others, sizeof others / sizeof *others) : token;
}

static int next_token(CHM_PLAN_YYSTYPE *value, ChmSpan *at, ChmParser *p)
{
    if (chm_parser_gives_up(p))
        return T_END;
    if (!p->pending) {
        int token = chm_plan_scan_lex(value, at, p->scanner);
        if (token == T_NAME && !p->topology)
            token = mend_word(p, token, *at);
        if (!p->topology || !begins_declaration(token))
            return token;
        close_topology(p, token);
    }
    *at = p->last;
    if (p->closing > 0) {
        p->closing--;
        return T_RBRACE;
    }
    int token = p->pending;
    p->pending = 0;
    return token;
}

int chm_plan_yylex(CHM_PLAN_YYSTYPE *value, ChmSpan *at, ChmParser *p)
{
    p->prev_end = p->last.end;
    int token = next_token(value, at, p);
    if (token == T_END)
        *at = p->last = (ChmSpan){p->source, p->source->len, p->source->len};
    if (p->at_head) {
        p->head = token;
        p->saw_arrow = false;
    }
    p->at_head = token == T_SEMI || token == T_LBRACE || token == T_RBRACE;
    p->saw_arrow |= token == T_ARROW;
    p->last_token = token;
    return token;
}

/* ---- expressions */

static ChmExpr *bad_expr(ChmParser *p, ChmSpan span)
{
    ChmExpr *e = CHM_NEW(p->arena, ChmExpr);
    *e = (ChmExpr){.kind = CHM_EXPR_BAD, .depth = 1, .span = span};
    return e;
}

ChmExpr *chm_ast_param_ref(ChmParser *p, ChmName name)
{
    ChmExpr *e = CHM_NEW(p->arena, ChmExpr);
    *e = (ChmExpr){.kind = CHM_EXPR_PARAM, .depth = 1, .span = name.span, .param = name.text};
    return e;
}

ChmExpr *chm_ast_expr(ChmParser *p, ChmExprKind kind, ChmSpan span, const ChmExpr *left, const ChmExpr *right)
{
    int32_t depth = left->depth;
    if (right && right->depth > depth)
        depth = right->depth;
    if (depth >= CHM_EXPR_MAX_DEPTH) {
        if (depth == CHM_EXPR_MAX_DEPTH)
            chm_plan_too_deep(p);
        ChmExpr *bad = bad_expr(p, span);
        bad->depth = CHM_EXPR_MAX_DEPTH + 1; /* reported: not again for what is built on it */
        return bad;
    }
    ChmExpr *e = CHM_NEW(p->arena, ChmExpr);
    *e = (ChmExpr){.kind = kind, .depth = depth + 1, .span = span, .left = left, .right = right};
    return e;
}

/* ---- lists */

ChmNames *chm_ast_names(ChmParser *p, ChmNames *names, ChmName name)
{
    if (!names)
        names = CHM_NEW(p->arena, ChmNames);
    CHM_PUSH(p->arena, names, name);
    return names;
}

ChmSizeds *chm_ast_sizeds(ChmParser *p, ChmSizeds *list, ChmName name, const ChmExpr *expr)
{
    if (!list)
        list = CHM_NEW(p->arena, ChmSizeds);
    CHM_PUSH(p->arena, list, ((ChmSized){.name = name, .expr = expr}));
    return list;
}

ChmPins *chm_ast_pins(ChmParser *p, ChmPins *list, ChmName axis, const ChmExpr *expr)
{
    if (!list)
        list = CHM_NEW(p->arena, ChmPins);
    CHM_PUSH(p->arena, list, ((ChmPinUse){.axis = axis, .expr = expr}));
    return list;
}

/* ---- layouts */

ChmDimUse *chm_ast_dim(ChmParser *p, ChmDimUse *dim, ChmName name)
{
    if (!dim) {
        dim = CHM_NEW(p->arena, ChmDimUse);
        dim->dim = name;
    } else {
        CHM_PUSH(p->arena, &dim->axes, name);
    }
    return dim;
}

ChmLayoutText *chm_ast_dims(ChmParser *p, ChmLayoutText *layout, const ChmDimUse *dim)
{
    if (!layout)
        layout = CHM_NEW(p->arena, ChmLayoutText);
    CHM_PUSH(p->arena, &layout->dims, *dim);
    return layout;
}

ChmLayoutText *chm_ast_layout(ChmLayoutText *layout, ChmSpan span)
{
    layout->span = layout->dims_span = span;
    return layout;
}

ChmPartialUse *chm_ast_partial(ChmParser *p, ChmSpan span, ChmName kind, const ChmNames *axes)
{
    if (kind.text && strcmp(kind.text, "sum") != 0) {
        ChmDiag *d = chm_error(p->diags, kind.span, "a partial value of kind '%s' is not supported", kind.text);
        chm_help(p->diags, d, "What is owed is a sum so far: write partial(...) without a kind.");
    } else if (kind.text) {
        ChmDiag *d = chm_error(p->diags, kind.span, "'sum' is not written");
        chm_help(p->diags, d, "A sum is the kind that is meant without a word: write partial(...).");
    }
    ChmPartialUse *partial = CHM_NEW(p->arena, ChmPartialUse);
    *partial = (ChmPartialUse){span, *axes};
    return partial;
}

static void report_second(ChmParser *p, const char *what, ChmSpan second, ChmSpan first, const char *example)
{
    ChmDiag *d = chm_error(p->diags, second, "a layout has one '%s', this is the second", what);
    chm_note(p->diags, d, first, "the first is here");
    chm_help(p->diags, d, "Write them as one: %s.", example);
}

ChmLayoutText *chm_ast_layout_partial(ChmParser *p, ChmLayoutText *layout, ChmSpan span, const ChmPartialUse *partial)
{
    layout->span = span;
    if (layout->partial.span.source)
        report_second(p, "partial", partial->span, layout->partial.span, "partial(tp, dp)");
    else
        layout->partial.span = partial->span;
    for (int32_t i = 0; i < partial->axes.len; i++)
        CHM_PUSH(p->arena, &layout->partial.axes, partial->axes.at[i]);
    return layout;
}

ChmLayoutText *chm_ast_layout_at(ChmParser *p, ChmLayoutText *layout, ChmSpan span, ChmSpan at, const ChmPins *pins)
{
    layout->span = span;
    if (layout->at_span.source)
        report_second(p, "at", at, layout->at_span, "at(dp=0, pp=1)");
    else
        layout->at_span = at;
    for (int32_t i = 0; i < pins->len; i++)
        CHM_PUSH(p->arena, &layout->pins, pins->at[i]);
    return layout;
}

/* ---- declarations */

static void report_another(ChmParser *p, const char *what, ChmSpan second, ChmSpan first, const char *help)
{
    ChmDiag *d = chm_error(p->diags, second, "a plan has one %s, this is the second", what);
    chm_note(p->diags, d, first, "the first is here");
    if (help)
        chm_help(p->diags, d, "%s", help);
}

void chm_ast_plan(ChmParser *p, ChmSpan span, ChmName name)
{
    ChmPlan *plan = p->plan;
    if (plan->span.source) {
        report_another(p, "name", name.span, plan->name.span, NULL);
        return;
    }
    bool first = plan->params.len == 0 && !plan->mesh && plan->tensors.len == 0 && !plan->step_span.source &&
                 !plan->topology_span.source;
    if (!first && !p->syntax_errors) {
        ChmDiag *d = chm_error(p->diags, span, "the plan's name comes first");
        chm_help(p->diags, d, "Move `plan %s;` to the top.", name.text);
    }
    plan->name = name;
    plan->span = span;
}

void chm_ast_param(ChmParser *p, ChmSpan span, ChmName name, const ChmExpr *expr, bool whole)
{
    ChmParam *param = CHM_NEW(p->arena, ChmParam);
    *param = (ChmParam){.name = name, .span = span, .expr = expr, .bad = !whole};
    CHM_PUSH(p->arena, &p->plan->params, param);
}

void chm_ast_mesh(ChmParser *p, ChmSpan span, ChmName name, const ChmSizeds *axes, bool whole)
{
    if (p->plan->mesh) {
        report_another(p, "mesh", name.span, p->plan->mesh->name.span,
                       "Several meshes over the same ranks are not supported yet: give one mesh all the axes.");
        return;
    }
    ChmMeshDecl *mesh = CHM_NEW(p->arena, ChmMeshDecl);
    *mesh = (ChmMeshDecl){.name = name, .span = span, .axes = axes ? *axes : (ChmSizeds){0}, .bad = !whole};
    p->plan->mesh = mesh;
}

void chm_ast_tensor(ChmParser *p, ChmSpan span, ChmName name, ChmName dtype, const ChmSizeds *dims, bool whole)
{
    ChmTensorDecl *t = CHM_NEW(p->arena, ChmTensorDecl);
    *t = (ChmTensorDecl){.name = name, .span = span, .dtype_name = dtype, .bad = !whole};
    if (dims)
        t->dims = *dims;
    CHM_PUSH(p->arena, &p->plan->tensors, t);
}

/* ---- statements */

void chm_ast_step(ChmParser *p, ChmSpan span)
{
    if (p->plan->step_span.source)
        report_another(p, "step", span, p->plan->step_span, "Join the statements in one step.");
    else
        p->plan->step_span = span;
}

static ChmStmt *add_stmt(ChmParser *p, ChmStmtKind kind, ChmSpan span, ChmName name, bool whole)
{
    ChmStmt *s = CHM_NEW(p->arena, ChmStmt);
    *s = (ChmStmt){.kind = kind, .span = span, .name = name, .bad = !whole, .index = p->plan->stmts.len};
    CHM_PUSH(p->arena, &p->plan->stmts, s);
    return s;
}

void chm_ast_input(ChmParser *p, ChmSpan span, ChmName name, ChmName tensor, ChmLayoutText *layout, bool whole)
{
    ChmStmt *s = add_stmt(p, CHM_STMT_INPUT, span, name, whole);
    s->source = tensor;
    s->text = layout;
}

void chm_ast_arrow(ChmParser *p, ChmSpan span, ChmName name, ChmName operand, ChmLayoutText *layout, bool whole)
{
    ChmStmt *s = add_stmt(p, CHM_STMT_ARROW, span, name, whole);
    s->source = operand;
    s->text = layout;
}

void chm_ast_output(ChmParser *p, ChmSpan span, ChmName name, const ChmPartialUse *partial, bool whole)
{
    ChmStmt *s = add_stmt(p, CHM_STMT_OUTPUT, span, name, whole);
    if (partial)
        s->partial = *partial;
}

/* 'name = ...' that could not be read: the name is known from here on, and nothing else. */
void chm_ast_bad_value(ChmParser *p, ChmSpan span, ChmName name)
{
    add_stmt(p, CHM_STMT_ARROW, span, name, false);
}

/* ---- the whole */

/* The text behind two NULs, as the scanner wants it. */
static void scan_text(ChmParser *p)
{
    size_t len = p->source->len;
    char *text = chm_arena_alloc(p->arena, len + 2);
    memcpy(text, p->source->text, len);
    chm_plan_scan_lex_init_extra(p, &p->scanner);
    chm_plan_scan__scan_buffer(text, len + 2, p->scanner);
}

ChmPlan *chm_plan_read(ChmCtx *ctx, const ChmSource *source, int32_t errors_before)
{
    if (chm_source_check(&ctx->diags, source) != CHM_OK)
        return NULL;
    ChmPlan *plan = CHM_NEW(&ctx->arena, ChmPlan);
    plan->source = source;
    ChmParser p = {
        .ctx = ctx,
        .arena = &ctx->arena,
        .diags = &ctx->diags,
        .source = source,
        .plan = plan,
        .last = {source, 0, 0},
        .at_head = true,
        .errors_before = errors_before,
    };
    scan_text(&p);
    bool read_all = chm_plan_yyparse(&p) == 0;
    plan->damaged = !read_all || p.syntax_errors;
    return plan;
}

const ChmPlan *chm_plan_parse_on(ChmCtx *ctx, const ChmSource *source, const ChmSource *topology,
                                 const ChmDefine *defines, int32_t ndefines)
{
    int32_t errors_before = ctx->diags.errors;
    ChmPlan *plan = chm_plan_read(ctx, source, errors_before);
    if (plan && ctx->diags.errors - errors_before < CHM_PLAN_MAX_ERRORS) {
        ChmSemaOptions options = {defines, ndefines, plan->damaged, errors_before, topology};
        chm_plan_check(ctx, plan, &options);
    }
    return ctx->diags.errors == errors_before ? plan : NULL;
}

const ChmPlan *chm_plan_parse(ChmCtx *ctx, const ChmSource *source, const ChmDefine *defines, int32_t ndefines)
{
    return chm_plan_parse_on(ctx, source, NULL, defines, ndefines);
}
