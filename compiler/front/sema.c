/* SPDX-License-Identifier: Apache-2.0
 *
 * front/sema.c - checks of declarations, and the order of all checks.
 */
#include "front/sema.h"
#include "front/plan_parse.h"

#include <string.h>

bool chm_sema_gives_up(const ChmSema *s)
{
    return s->diags->errors - s->options.errors_before >= CHM_PLAN_MAX_ERRORS;
}

const char *chm_sized_names(ChmArena *arena, const ChmSizeds *list)
{
    const char *text = "";
    for (int32_t i = 0; i < list->len && i < CHM_MAX_AXES; i++)
        text = chm_arena_printf(arena, "%s%s%s", text, i ? ", " : "", list->at[i].name.text);
    return text;
}

/* ---- params */

static const ChmDefine *find_define(const ChmSema *s, const char *name)
{
    for (int32_t i = s->options.ndefines - 1; i >= 0; i--) { /* the last one counts */
        if (strcmp(s->options.defines[i].name, name) == 0)
            return &s->options.defines[i];
    }
    return NULL;
}

void chm_check_params(ChmSema *s)
{
    for (int32_t i = 0; i < s->plan->params.len && !chm_sema_gives_up(s); i++) {
        ChmParam *p = s->plan->params.at[i];
        const ChmParam *first = chm_scope_find(&s->params, p->name.text);
        chm_scope_add(s, &s->params, p->name, p, first ? first->name.span : p->name.span);
    }
    for (int32_t i = 0; i < s->plan->params.len && !chm_sema_gives_up(s); i++) {
        ChmParam *p = s->plan->params.at[i];
        const ChmDefine *define = find_define(s, p->name.text);
        if (p->expr && !chm_eval(s, p->expr, &p->value))
            p->bad = true;
        if (define)
            p->value = define->value;
    }
}

/* Names of the params of a plan and of its topology files: what -D may set. */
typedef CHM_VEC(const char *) Names;

static bool is_listed(const Names *names, const char *name)
{
    for (int32_t i = 0; i < names->len; i++) {
        if (strcmp(names->at[i], name) == 0)
            return true;
    }
    return false;
}

static void add_params(ChmSema *s, Names *names, const ChmPlan *text)
{
    for (int32_t i = 0; text && i < text->params.len; i++) {
        const char *name = text->params.at[i]->name.text;
        if (!is_listed(names, name))
            CHM_PUSH(s->arena, names, name);
    }
}

/* "'batch', 'seq' and 'hidden'" */
static const char *list(ChmSema *s, const Names *names)
{
    enum { SHOWN = 12 };
    ChmOut out;
    chm_out_init_arena(&out, s->arena);
    for (int32_t i = 0; i < names->len && i < SHOWN; i++)
        chm_out_printf(&out, "%s'%s'", i == 0 ? "" : i + 1 == names->len ? " and " : ", ", names->at[i]);
    chm_out_puts(&out, names->len > SHOWN ? ", ..." : "");
    return chm_out_text(&out);
}

void chm_check_defines(ChmSema *s, const char *whose)
{
    Names known = {0};
    add_params(s, &known, s->plan);
    add_params(s, &known, s->used);
    add_params(s, &known, s->given);
    for (int32_t i = 0; i < s->options.ndefines; i++) {
        const char *name = s->options.defines[i].name;
        if (is_listed(&known, name) || s->options.damaged)
            continue;
        ChmDiag *d = chm_error(s->diags, (ChmSpan){0}, "-D %s=%lld: the %s has no param '%s'", name,
                               (long long)s->options.defines[i].value, whose, name);
        const char *near = chm_did_you_mean(name, known.at, known.len);
        if (near)
            chm_help(s->diags, d, "Did you mean '%s'?", near);
        else if (known.len == 0)
            chm_help(s->diags, d, "Declare it: `param %s = ...;`.", name);
        else
            chm_help(s->diags, d, "Its %s %s.", known.len == 1 ? "only param is" : "params are", list(s, &known));
    }
}

/* ---- sizes: the names are distinct, the values are in [1, max]; sets *good to false where one is not */
static void check_sizes(ChmSema *s, const char *kind, const char *owner, ChmSizeds *list, int64_t max, bool *good)
{
    ChmScope scope = {.kind = kind};
    chm_map_init(&scope.map, s->arena);
    for (int32_t i = 0; i < list->len && !chm_sema_gives_up(s); i++) {
        ChmSized *it = &list->at[i];
        ChmSized *first = chm_scope_find(&scope, it->name.text);
        *good &= chm_scope_add(s, &scope, it->name, it, first ? first->name.span : it->name.span);
        if (!chm_eval(s, it->expr, &it->size)) {
            *good = false;
        } else if (it->size < 1) {
            ChmDiag *d = chm_error(s->diags, it->expr->span, "%s '%s' of %s has size %lld", kind, it->name.text, owner,
                                   (long long)it->size);
            chm_help(s->diags, d, "Sizes are 1 or more.");
            *good = false;
        } else if (it->size > max) {
            chm_error(s->diags, it->expr->span, "%s '%s' of %s has size %lld; the greatest is %lld", kind,
                      it->name.text, owner, (long long)it->size, (long long)max);
            *good = false;
        }
    }
}

/* ---- mesh */

static bool check_rank_count(ChmSema *s, const ChmMeshDecl *m)
{
    int64_t ranks = 1;
    for (int32_t i = 0; i < m->axes.len; i++) {
        ranks *= m->axes.at[i].size;
        if (ranks > CHM_MAX_RANKS) {
            chm_error(s->diags, m->name.span, "mesh '%s' has too many ranks: %d are the most", m->name.text,
                      CHM_MAX_RANKS);
            return false;
        }
    }
    return true;
}

static void check_mesh(ChmSema *s)
{
    ChmMeshDecl *m = s->plan->mesh;
    if (!m || m->bad)
        return;
    const char *owner = chm_arena_printf(s->arena, "mesh '%s'", m->name.text);
    bool good = true;
    if (m->axes.len == 0) {
        ChmDiag *d = chm_error(s->diags, m->name.span, "%s has no axes", owner);
        chm_help(s->diags, d, "Name at least one: `mesh %s (tp = 4);`.", m->name.text);
        good = false;
    }
    if (m->axes.len > CHM_MAX_AXES) {
        chm_error(s->diags, m->axes.at[CHM_MAX_AXES].name.span, "%s has %d axes; %d are the most", owner, m->axes.len,
                  CHM_MAX_AXES);
        good = false;
    }
    check_sizes(s, "axis", owner, &m->axes, CHM_MAX_RANKS, &good);
    m->bad = !good || !check_rank_count(s, m);
    if (m->bad)
        return;
    const char *names[CHM_MAX_AXES];
    int32_t sizes[CHM_MAX_AXES];
    for (int32_t i = 0; i < m->axes.len; i++) {
        names[i] = m->axes.at[i].name.text;
        sizes[i] = (int32_t)m->axes.at[i].size;
    }
    m->mesh = chm_mesh_make(s->ctx, m->name.text, m->axes.len, names, sizes);
}

/* ---- tensors */

static bool check_dtype(ChmSema *s, ChmTensorDecl *t)
{
    const char *names[CHM_NDTYPES];
    for (int32_t i = 0; i < CHM_NDTYPES; i++) {
        names[i] = chm_dtypes[i].name;
        if (strcmp(names[i], t->dtype_name.text) == 0) {
            t->dtype = (ChmDtype)i;
            return true;
        }
    }
    ChmDiag *d = chm_error(s->diags, t->dtype_name.span, "unknown dtype '%s'", t->dtype_name.text);
    const char *near = chm_did_you_mean(t->dtype_name.text, names, CHM_NDTYPES);
    if (near)
        chm_help(s->diags, d, "Did you mean '%s'?", near);
    else
        chm_help(s->diags, d, "The dtypes are f64, f32, f16, bf16, i64, i32, i8 and u8.");
    return false;
}

static bool check_elems(ChmSema *s, const ChmTensorDecl *t)
{
    int64_t bits = 64; /* of the widest dtype */
    for (int32_t i = 0; i < t->dims.len; i++) {
        if (!chm_mul64(bits, t->dims.at[i].size, &bits)) {
            ChmDiag *d = chm_error(s->diags, t->name.span, "tensor '%s' is too large: its size does not fit 64 bits",
                                   t->name.text);
            chm_help(s->diags, d, "The product of the dims' sizes is at most 2^57 - 1.");
            return false;
        }
    }
    return true;
}

static void check_tensor(ChmSema *s, ChmTensorDecl *t)
{
    if (t->bad)
        return;
    const char *owner = chm_arena_printf(s->arena, "tensor '%s'", t->name.text);
    bool good = check_dtype(s, t);
    chm_check_name(s, "tensor", t->name);
    if (t->dims.len == 0) {
        ChmDiag *d = chm_error(s->diags, t->name.span, "%s has no dims", owner);
        chm_help(s->diags, d, "A single element is written `tensor %s : %s[one = 1];`.", t->name.text,
                 t->dtype_name.text);
        good = false;
    }
    if (t->dims.len > CHM_MAX_DIMS) {
        chm_error(s->diags, t->dims.at[CHM_MAX_DIMS].name.span, "%s has %d dims; %d are the most", owner, t->dims.len,
                  CHM_MAX_DIMS);
        good = false;
    }
    check_sizes(s, "dim", owner, &t->dims, INT64_MAX, &good);
    t->bad = !good || !check_elems(s, t);
    if (t->bad)
        return;
    const char *names[CHM_MAX_DIMS];
    int64_t sizes[CHM_MAX_DIMS];
    for (int32_t i = 0; i < t->dims.len; i++) {
        names[i] = t->dims.at[i].name.text;
        sizes[i] = t->dims.at[i].size;
    }
    t->shape = chm_shape_make(s->ctx, t->dims.len, names, sizes);
    t->bad = t->shape == NULL;
}

static void check_tensors(ChmSema *s)
{
    for (int32_t i = 0; i < s->plan->tensors.len && !chm_sema_gives_up(s); i++) {
        ChmTensorDecl *t = s->plan->tensors.at[i];
        const ChmTensorDecl *first = chm_scope_find(&s->tensors, t->name.text);
        chm_scope_add(s, &s->tensors, t->name, t, first ? first->name.span : t->name.span);
        check_tensor(s, t);
    }
}

/* ---- the whole */

static void check_parts(ChmSema *s)
{
    const ChmPlan *plan = s->plan;
    ChmSpan start = {plan->source, 0, 0}, end = {plan->source, plan->source->len, plan->source->len};
    if (plan->name.text)
        chm_check_name(s, "plan", plan->name);
    if (s->options.damaged)
        return;
    if (plan->topology_span.source && !plan->name.text && !plan->mesh && !plan->step_span.source) {
        ChmDiag *d = chm_error(s->diags, plan->topology_span, "this is a topology and not a plan");
        chm_help(s->diags, d, "A plan is compiled for it with `--topology FILE` or with `use \"FILE\";` in the plan.");
        return;
    }
    if (!plan->name.text) {
        ChmDiag *d = chm_error(s->diags, start, "the plan has no name");
        chm_help(s->diags, d, "A plan begins with `plan NAME;`.");
    }
    if (!plan->mesh) {
        ChmDiag *d = chm_error(s->diags, plan->name.text ? plan->name.span : start, "the plan has no mesh");
        chm_help(s->diags, d, "Say which ranks there are: `mesh cluster (dp = 2, tp = 4);`.");
    }
    if (!plan->step_span.source) {
        ChmDiag *d = chm_error(s->diags, end, "the plan has no step");
        chm_help(s->diags, d, "What is done stands in `step { ... }`.");
    }
}

static void warn_unused(ChmSema *s)
{
    for (int32_t i = 0; i < s->plan->params.len; i++) {
        const ChmParam *p = s->plan->params.at[i];
        if (!p->used)
            chm_warning(s->diags, p->name.span, "param '%s' is never used", p->name.text);
    }
    for (int32_t i = 0; i < s->plan->tensors.len; i++) {
        const ChmTensorDecl *t = s->plan->tensors.at[i];
        if (!t->input)
            chm_warning(s->diags, t->name.span, "tensor '%s' is never input", t->name.text);
    }
    for (int32_t i = 0; i < s->plan->stmts.len; i++) {
        const ChmStmt *st = s->plan->stmts.at[i];
        if (st->kind != CHM_STMT_OUTPUT && !st->used)
            chm_warning(s->diags, st->name.span, "value '%s' is never used", st->name.text);
    }
}

static void init_scope(ChmSema *s, ChmScope *scope, const char *kind)
{
    *scope = (ChmScope){.kind = kind};
    chm_map_init(&scope->map, s->arena);
    chm_map_init(&scope->reported, s->arena);
}

void chm_sema_init(ChmSema *s, ChmCtx *ctx, ChmPlan *plan, const ChmSemaOptions *options)
{
    *s = (ChmSema){.ctx = ctx, .arena = &ctx->arena, .diags = &ctx->diags, .plan = plan, .options = *options};
    init_scope(s, &s->params, "param");
    init_scope(s, &s->tensors, "tensor");
    init_scope(s, &s->values, "value");
}

void chm_plan_check(ChmCtx *ctx, ChmPlan *plan, const ChmSemaOptions *options)
{
    ChmSema s;
    chm_sema_init(&s, ctx, plan, options);
    check_parts(&s);
    chm_check_params(&s);
    chm_read_topology_files(&s);
    chm_check_defines(&s, "plan");
    check_mesh(&s);
    check_tensors(&s);
    chm_check_topology(&s);
    chm_check_step(&s);
    if (ctx->diags.errors == options->errors_before)
        warn_unused(&s);
}
