/* SPDX-License-Identifier: Apache-2.0
 *
 * front/sema_layout.c - checks of layouts as written. Size-1 axes have no state, but are checked like the others.
 */
#include "front/sema.h"

#include <string.h>

/* ---- axes */

const char *chm_axes_str(ChmSema *s, ChmAxes set)
{
    const ChmMesh *mesh = s->plan->mesh->mesh;
    const char *text = "";
    for (int32_t i = 0; i < mesh->naxes; i++) {
        if (set & CHM_AXIS(i))
            text = chm_arena_printf(s->arena, "%s%s%s", text, *text ? ", " : "", mesh->axis_name[i]);
    }
    return text;
}

int32_t chm_check_axis(ChmSema *s, ChmName name, const ChmTensorDecl *t)
{
    const ChmMesh *mesh = s->plan->mesh->mesh;
    int32_t axis = chm_mesh_find_axis(mesh, name.text);
    if (axis >= 0)
        return axis;
    if (t && chm_shape_find_dim(t->shape, name.text) >= 0) {
        ChmDiag *d = chm_error(s->diags, name.span, "'%s' is a dim of tensor '%s', not an axis of mesh '%s'", name.text,
                               t->name.text, mesh->name);
        chm_help(s->diags, d, "The axes are %s.", chm_sized_names(s->arena, &s->plan->mesh->axes));
        return -1;
    }
    ChmDiag *d = chm_error(s->diags, name.span, "mesh '%s' has no axis '%s'", mesh->name, name.text);
    const char *near = chm_did_you_mean(name.text, mesh->axis_name, mesh->naxes);
    if (near)
        chm_help(s->diags, d, "Did you mean '%s'?", near);
    else
        chm_help(s->diags, d, "The axes are %s.", chm_sized_names(s->arena, &s->plan->mesh->axes));
    return -1;
}

bool chm_check_axis_list(ChmSema *s, const ChmNames *axes, ChmAxes *set)
{
    ChmAxes written = 0;
    bool good = true;
    for (int32_t i = 0; i < axes->len; i++) {
        int32_t axis = chm_check_axis(s, axes->at[i], NULL);
        if (axis < 0) {
            good = false;
        } else if (written & CHM_AXIS(axis)) {
            chm_error(s->diags, axes->at[i].span, "axis '%s' stands twice in the list", axes->at[i].text);
            good = false;
        } else {
            written |= CHM_AXIS(axis);
        }
    }
    *set = written & ~s->plan->mesh->mesh->trivial;
    return good;
}

/* ---- the state of each axis */

typedef enum State { REPLICATED, SPLITS, PARTIAL, PINNED } State;

typedef struct Use {
    State state;
    const char *dim; /* SPLITS */
    ChmSpan span;
} Use;

typedef struct Check {
    ChmSema *s;
    const ChmTensorDecl *t;
    Use uses[CHM_MAX_AXES];
    bool good;
} Check;

static const char *state_in_words(ChmSema *s, const Use *use)
{
    switch (use->state) {
    case REPLICATED:
        return "is replicated";
    case SPLITS:
        return chm_arena_printf(s->arena, "splits dim '%s'", use->dim);
    case PARTIAL:
        return "is partial";
    case PINNED:
        return "is pinned";
    }
    return "";
}

static void report_two_states(ChmSema *s, const char *axis, const Use *first, const Use *second)
{
    ChmDiag *d;
    if (first->state != second->state)
        d = chm_error(s->diags, second->span, "axis '%s' is in two states: it %s and %s", axis,
                      state_in_words(s, first), state_in_words(s, second));
    else if (first->state == SPLITS && first->dim != second->dim)
        d = chm_error(s->diags, second->span, "axis '%s' splits two dims, '%s' and '%s'", axis, first->dim,
                      second->dim);
    else
        d = chm_error(s->diags, second->span, "axis '%s' %s twice", axis, state_in_words(s, first));
    chm_note(s->diags, d, first->span, "the first use is here");
    chm_help(s->diags, d, "In a layout an axis splits one dim, or is partial, or is pinned, or is not named at all.");
}

/* Enters a use of an axis; its index, or -1 when it is no good. */
static int32_t use_axis(Check *c, ChmName name, State state, const char *dim)
{
    int32_t axis = chm_check_axis(c->s, name, c->t);
    if (axis < 0) {
        c->good = false;
        return -1;
    }
    Use use = {state, dim, name.span};
    if (c->uses[axis].state != REPLICATED) {
        report_two_states(c->s, name.text, &c->uses[axis], &use);
        c->good = false;
        return -1;
    }
    c->uses[axis] = use;
    return axis;
}

/* ---- dims */

/* "[seq/tp, hidden]": the dims as they should be listed, with the splits that were written. */
static const char *right_dims(ChmSema *s, const ChmTensorDecl *t, const ChmLayoutText *text)
{
    const char *out = "[";
    for (int32_t d = 0; d < t->shape->ndims; d++) {
        out = chm_arena_printf(s->arena, "%s%s%s", out, d ? ", " : "", t->shape->dim_name[d]);
        for (int32_t i = 0; i < text->dims.len; i++) {
            const ChmDimUse *use = &text->dims.at[i];
            if (use->dim.text != t->shape->dim_name[d])
                continue;
            for (int32_t k = 0; k < use->axes.len && k < CHM_MAX_AXES; k++)
                out = chm_arena_printf(s->arena, "%s/%s", out, use->axes.at[k].text);
            break;
        }
    }
    return chm_arena_printf(s->arena, "%s]", out);
}

static void report_unknown_dim(Check *c, ChmName name)
{
    ChmSema *s = c->s;
    ChmDiag *d = chm_error(s->diags, name.span, "tensor '%s' has no dim '%s'", c->t->name.text, name.text);
    chm_note(s->diags, d, c->t->name.span, "the tensor is declared here");
    const char *near = chm_did_you_mean(name.text, c->t->shape->dim_name, c->t->shape->ndims);
    if (near)
        chm_help(s->diags, d, "Did you mean '%s'?", near);
    else
        chm_help(s->diags, d, "Its dims are %s.", chm_sized_names(s->arena, &c->t->dims));
    c->good = false;
}

static void help_with_dims(Check *c, ChmDiag *d, const ChmLayoutText *text)
{
    chm_note(c->s->diags, d, c->t->name.span, "the tensor is declared here");
    chm_help(c->s->diags, d, "A layout lists all dims in declared order: %s.", right_dims(c->s, c->t, text));
    c->good = false;
}

/* All dims are there, once each, in declared order. Sets index[i] to the dim that place i names, or -1. */
static void check_dims(Check *c, const ChmLayoutText *text, int32_t *index)
{
    ChmSema *s = c->s;
    const ChmShape *shape = c->t->shape;
    int32_t place[CHM_MAX_DIMS]; /* where each dim stands, or -1 */
    bool unknown = false, out_of_order = false;
    int32_t greatest = -1, late = -1;
    for (int32_t d = 0; d < shape->ndims; d++)
        place[d] = -1;
    for (int32_t i = 0; i < text->dims.len && !chm_sema_gives_up(s); i++) {
        ChmName name = text->dims.at[i].dim;
        int32_t d = chm_shape_find_dim(shape, name.text);
        if (i < CHM_MAX_DIMS)
            index[i] = d;
        if (d < 0) {
            report_unknown_dim(c, name);
            unknown = true;
        } else if (place[d] >= 0) {
            ChmDiag *diag = chm_error(s->diags, name.span, "dim '%s' stands twice in the layout", name.text);
            help_with_dims(c, diag, text);
            unknown = true;
        } else {
            place[d] = i;
            if (d < greatest && !out_of_order) {
                out_of_order = true;
                late = i;
            }
            greatest = d > greatest ? d : greatest;
        }
    }
    if (unknown)
        return;
    for (int32_t d = 0; d < shape->ndims; d++) {
        if (place[d] < 0) {
            ChmDiag *diag =
                chm_error(s->diags, text->dims_span, "dim '%s' is missing from the layout", shape->dim_name[d]);
            help_with_dims(c, diag, text);
            return;
        }
    }
    if (out_of_order) {
        ChmName name = text->dims.at[late].dim;
        ChmDiag *diag = chm_error(s->diags, name.span, "dim '%s' is out of order", name.text);
        help_with_dims(c, diag, text);
    }
}

static void check_splits(Check *c, const ChmLayoutText *text, const int32_t *index, ChmLayout *draft)
{
    for (int32_t i = 0; i < text->dims.len && i < CHM_MAX_DIMS && !chm_sema_gives_up(c->s); i++) {
        const ChmDimUse *use = &text->dims.at[i];
        for (int32_t k = 0; k < use->axes.len && !chm_sema_gives_up(c->s); k++) {
            int32_t axis = use_axis(c, use->axes.at[k], SPLITS, use->dim.text);
            if (axis >= 0 && index[i] >= 0)
                chm_seq_push(&draft->dim[index[i]], axis);
        }
    }
}

/* ---- pins */

static void check_pin(Check *c, ChmPinUse *pin, ChmLayout *draft)
{
    ChmSema *s = c->s;
    int32_t axis = use_axis(c, pin->axis, PINNED, NULL);
    if (!chm_eval(s, pin->expr, &pin->coord)) {
        c->good = false;
        return;
    }
    if (axis < 0)
        return;
    int32_t size = draft->mesh->axis_size[axis];
    if (pin->coord >= 0 && pin->coord < size) {
        draft->pinned |= CHM_AXIS(axis);
        draft->pin[axis] = (int32_t)pin->coord;
        return;
    }
    ChmDiag *d = chm_error(s->diags, pin->expr->span, "coordinate %lld is outside axis '%s'", (long long)pin->coord,
                           pin->axis.text);
    chm_note(s->diags, d, s->plan->mesh->axes.at[axis].name.span, "the axis is declared here, with size %d", size);
    if (size == 1)
        chm_help(s->diags, d, "Its only coordinate is 0.");
    else
        chm_help(s->diags, d, "Its coordinates are 0 to %d.", size - 1);
    c->good = false;
}

/* ---- the whole */

const ChmLayout *chm_check_layout(ChmSema *s, const ChmTensorDecl *t, ChmLayoutText *text)
{
    Check c = {.s = s, .t = t, .good = true};
    ChmLayout draft = *chm_layout_replicated(s->ctx, s->plan->mesh->mesh, t->shape->ndims);
    int32_t index[CHM_MAX_DIMS];
    for (int32_t i = 0; i < CHM_MAX_DIMS; i++)
        index[i] = -1;
    check_dims(&c, text, index);
    check_splits(&c, text, index, &draft);
    for (int32_t i = 0; i < text->partial.axes.len && !chm_sema_gives_up(s); i++) {
        int32_t axis = use_axis(&c, text->partial.axes.at[i], PARTIAL, NULL);
        if (axis >= 0)
            draft.partial |= CHM_AXIS(axis);
    }
    for (int32_t i = 0; i < text->pins.len && !chm_sema_gives_up(s); i++)
        check_pin(&c, &text->pins.at[i], &draft);
    return c.good ? chm_layout_make(s->ctx, &draft) : NULL;
}
