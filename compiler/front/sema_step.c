/* SPDX-License-Identifier: Apache-2.0
 *
 * front/sema_step.c - checks of statements: names, layouts, and that sums are settled or said to be owed.
 */
#include "front/sema.h"

#include <string.h>

/* The statement that defines a value, if it stands before 'user'; else NULL, reported. */
static ChmStmt *find_value(ChmSema *s, const ChmStmt *user, ChmName name)
{
    ChmStmt *def = chm_scope_find(&s->values, name.text);
    if (def && def->index < user->index) {
        def->used = true;
        return def;
    }
    if (def) {
        ChmDiag *d = chm_error(s->diags, name.span, "value '%s' is used before it is defined", name.text);
        chm_note(s->diags, d, def->name.span, "it is defined here");
        return NULL;
    }
    bool suggested;
    ChmDiag *d = chm_scope_unknown(s, &s->values, name, &suggested);
    if (d && chm_scope_find(&s->tensors, name.text))
        chm_help(s->diags, d, "'%s' is a tensor; make a value of it first: `%s0 = input %s [...];`.", name.text,
                 name.text, name.text);
    return NULL;
}

static const char *layout_str(ChmSema *s, const ChmStmt *value)
{
    return chm_layout_str(s->ctx, value->of->shape, value->layout);
}

static void note_definition(ChmSema *s, ChmDiag *d, const ChmStmt *value)
{
    chm_note(s->diags, d, value->name.span, "'%s' is defined here, in layout %s", value->name.text,
             layout_str(s, value));
}

/* ---- input */

static void check_input(ChmSema *s, ChmStmt *st)
{
    ChmTensorDecl *t = chm_scope_find(&s->tensors, st->source.text);
    if (!t) {
        bool suggested;
        ChmDiag *d = chm_scope_unknown(s, &s->tensors, st->source, &suggested);
        if (d && !suggested)
            chm_help(s->diags, d, "Declare it before the step: `tensor %s : f32[...];`.", st->source.text);
        return;
    }
    if (t->input) {
        ChmDiag *d = chm_error(s->diags, st->source.span, "tensor '%s' is input twice", t->name.text);
        chm_note(s->diags, d, t->input->source.span, "it is first input here");
        chm_help(s->diags, d, "Use the value '%s'.", t->input->name.text);
    } else {
        t->input = st;
    }
    if (t->span.begin > st->span.begin && !t->bad) {
        ChmDiag *d = chm_error(s->diags, st->source.span, "tensor '%s' is used before it is declared", t->name.text);
        chm_note(s->diags, d, t->name.span, "it is declared here");
    }
    st->tensor = t;
    st->of = t->bad ? NULL : t;
}

/* ---- arrow */

/* The place in the text where an axis is called partial. */
static ChmSpan partial_span(const ChmLayoutText *text, const char *axis)
{
    for (int32_t i = 0; i < text->partial.axes.len; i++) {
        if (text->partial.axes.at[i].text == axis)
            return text->partial.axes.at[i].span;
    }
    return text->span;
}

/* No arrow makes an axis partial. */
static void check_arrow_partial(ChmSema *s, ChmStmt *st)
{
    const ChmLayout *from = st->operand->layout, *to = st->layout;
    ChmAxes made = to->partial & ~from->partial;
    for (int32_t i = 0; made && i < to->mesh->naxes; i++) {
        if (!(made & CHM_AXIS(i)))
            continue;
        const char *axis = to->mesh->axis_name[i];
        ChmDiag *d = chm_error(s->diags, partial_span(st->text, axis), "the arrow would make axis '%s' partial", axis);
        note_definition(s, d, st->operand);
        chm_help(s->diags, d, "Values become partial only as inputs; an arrow keeps a sum owed or settles it.");
        st->layout = NULL;
        return;
    }
    const char *why = chm_arrow_illegal(s->ctx, from, to);
    if (why) { /* nothing else makes an arrow illegal; but the rule stands in the IR, not here */
        ChmDiag *d = chm_error(s->diags, st->text->span, "no layout change leads there: %s", why);
        note_definition(s, d, st->operand);
        st->layout = NULL;
    }
}

static void check_arrow(ChmSema *s, ChmStmt *st)
{
    ChmStmt *def = find_value(s, st, st->source);
    st->operand = def;
    st->of = def ? def->of : NULL;
}

/* ---- output */

/* What the text says is owed must be what is owed. */
static void check_owed(ChmSema *s, const ChmStmt *st)
{
    const ChmStmt *def = st->operand;
    ChmAxes said = 0, owed = def->layout->partial;
    if (!chm_check_axis_list(s, &st->partial.axes, &said) || said == owed)
        return;
    const char *name = st->name.text;
    if (said & ~owed) {
        ChmDiag *d = chm_error(s->diags, st->partial.span, "value '%s' owes no sum over '%s'", name,
                               chm_axes_str(s, said & ~owed));
        note_definition(s, d, def);
        if (owed)
            chm_help(s->diags, d, "Write `output %s partial(%s);`.", name, chm_axes_str(s, owed));
        else
            chm_help(s->diags, d, "Write `output %s;`.", name);
        return;
    }
    ChmDiag *d = chm_error(s->diags, st->name.span, "output '%s' leaves the sum over '%s' unsettled without saying so",
                           name, chm_axes_str(s, owed & ~said));
    note_definition(s, d, def);
    ChmLayout settled = *def->layout;
    settled.partial = 0;
    const char *target = chm_layout_str(s->ctx, def->of->shape, chm_layout_make(s->ctx, &settled));
    chm_help(s->diags, d, "Settle it with an arrow, such as `-> %s`, or hand it on as it is: `output %s partial(%s);`.",
             target, name, chm_axes_str(s, owed));
}

/* 'outputs' maps names of values to the output statement that has them. */
static void check_output(ChmSema *s, ChmMap *outputs, ChmStmt *st)
{
    const char *name = st->name.text;
    const ChmStmt *first = chm_map_get(outputs, name, strlen(name));
    if (first) {
        ChmDiag *d = chm_error(s->diags, st->name.span, "value '%s' is output twice", name);
        chm_note(s->diags, d, first->name.span, "it is first output here");
        return;
    }
    ChmStmt *def = find_value(s, st, st->name);
    chm_map_put(outputs, name, strlen(name), st);
    st->operand = def;
    if (!def)
        return;
    st->of = def->of;
    st->layout = def->layout;
    if (def->layout && !st->bad)
        check_owed(s, st);
}

/* ---- the whole */

static void enter_values(ChmSema *s)
{
    for (int32_t i = 0; i < s->plan->stmts.len && !chm_sema_gives_up(s); i++) {
        ChmStmt *st = s->plan->stmts.at[i];
        if (st->kind == CHM_STMT_OUTPUT)
            continue;
        const ChmStmt *first = chm_scope_find(&s->values, st->name.text);
        if (first) {
            ChmDiag *d = chm_error(s->diags, st->name.span, "value '%s' is defined twice", st->name.text);
            chm_note(s->diags, d, first->name.span, "it is first defined here");
            chm_help(s->diags, d, "A name stands for one value; give the new one another name.");
            continue;
        }
        chm_scope_add(s, &s->values, st->name, st, st->name.span);
        chm_check_name(s, "value", st->name);
    }
}

static void check_defined_value(ChmSema *s, ChmStmt *st)
{
    if (!st->source.text) /* could not be read */
        return;
    if (st->kind == CHM_STMT_INPUT)
        check_input(s, st);
    else
        check_arrow(s, st);
    const ChmMeshDecl *mesh = s->plan->mesh;
    if (!st->of || !mesh || mesh->bad)
        return;
    st->layout = chm_check_layout(s, st->of, st->text);
    if (st->bad) /* the layout may go on where it could not be read */
        st->layout = NULL;
    if (st->kind == CHM_STMT_ARROW && st->layout && st->operand->layout)
        check_arrow_partial(s, st);
}

/* The step hands nothing on. */
static void check_has_output(ChmSema *s)
{
    const ChmPlan *plan = s->plan;
    const ChmStmt *last = NULL;
    for (int32_t i = 0; i < plan->stmts.len; i++) {
        last = plan->stmts.at[i];
        if (last->kind == CHM_STMT_OUTPUT)
            return;
    }
    if (s->options.damaged || !plan->step_span.source)
        return;
    ChmDiag *d = chm_error(s->diags, plan->step_span, "the step has no output");
    chm_help(s->diags, d, "Say which values are results: `output %s;`.", last ? last->name.text : "NAME");
}

void chm_check_step(ChmSema *s)
{
    ChmMap outputs;
    chm_map_init(&outputs, s->arena);
    enter_values(s);
    for (int32_t i = 0; i < s->plan->stmts.len && !chm_sema_gives_up(s); i++) {
        ChmStmt *st = s->plan->stmts.at[i];
        if (st->kind == CHM_STMT_OUTPUT)
            check_output(s, &outputs, st);
        else
            check_defined_value(s, st);
    }
    check_has_output(s);
}
