/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/parse_layout.c - names of axes and dims, and layouts, in the text form of the IR.
 */
#include "ir/reader.h"

#include <string.h>

#define ERROR(r, at, ...) chm_error(&(r)->ctx->diags, (at), __VA_ARGS__)
#define NOTE(r, diag, at, ...) chm_note(&(r)->ctx->diags, (diag), (at), __VA_ARGS__)
#define HELP(r, diag, ...) chm_help(&(r)->ctx->diags, (diag), __VA_ARGS__)

#define MAX_SUGGESTED_FROM 1000 /* a suggestion is not worth a search through more names than this */

void chm_ir_unknown(ChmIrReader *r, ChmIrName name, const char *kind, const char *const *known, int32_t n)
{
    bool defined_in_a_line = strcmp(kind, "value") == 0 || strcmp(kind, "tensor") == 0;
    if (r->syntax_errors && defined_in_a_line)
        return;
    ChmDiag *d = ERROR(r, name.span, "unknown %s '%s'", kind, name.text);
    bool numbered = name.text[0] == '%' && name.text[1] >= '0' && name.text[1] <= '9'; /* is near to any other */
    const char *near = NULL;
    if (d->text && n <= MAX_SUGGESTED_FROM && !numbered)
        near = chm_did_you_mean(name.text, known, n);
    if (near)
        HELP(r, d, "Did you mean '%s'?", near);
    else if (strcmp(kind, "value") == 0)
        HELP(r, d, "A value is defined on a line before its uses.");
}

/* The axes that a name stands for: one, or all parts of one. */
static bool find_parts(ChmIrReader *r, ChmIrName name, int32_t *first, int32_t *count)
{
    const ChmMesh *mesh = r->module->mesh;
    *first = chm_mesh_find(mesh, name.text, count);
    if (*first < 0)
        chm_ir_unknown(r, name, "axis", mesh->axis_name, mesh->naxes);
    return *first >= 0;
}

bool chm_ir_find_axis(ChmIrReader *r, ChmIrName name, int32_t *out)
{
    int32_t count;
    if (!find_parts(r, name, out, &count))
        return false;
    if (count > 1) {
        ChmDiag *d = ERROR(r, name.span, "axis '%s' is in %d parts, where one axis stands", name.text, count);
        HELP(r, d, "Name one of its parts: '%s'.", r->module->mesh->axis_name[*out]);
        return false;
    }
    return true;
}

bool chm_ir_find_dim(ChmIrReader *r, const ChmShape *shape, ChmIrName name, int32_t *out)
{
    *out = chm_shape_find_dim(shape, name.text);
    if (*out < 0)
        chm_ir_unknown(r, name, "dim", shape->dim_name, shape->ndims);
    return *out >= 0;
}

bool chm_ir_find_axes(ChmIrReader *r, const ChmIrNames *names, ChmAxisSeq *out)
{
    ChmAxes seen = 0;
    for (int32_t i = 0; i < names->len; i++) {
        int32_t first, count;
        if (!find_parts(r, names->at[i], &first, &count))
            return false;
        for (int32_t axis = first; axis < first + count; axis++) {
            if (seen & CHM_AXIS(axis)) {
                ERROR(r, names->at[i].span, "axis '%s' stands twice", r->module->mesh->axis_name[axis]);
                return false;
            }
            seen |= CHM_AXIS(axis);
            chm_seq_push(out, axis);
        }
    }
    return true;
}

/* ---- layouts */

/* Modifiers come in any order, each once. */
static bool is_modifier(ChmIrReader *r, ChmIrName word, const char *expected, bool again)
{
    if (strcmp(word.text, expected) != 0)
        ERROR(r, word.span, "unexpected '%s' after a layout, expected 'partial(AXIS, ...)' or 'at(AXIS=N, ...)'",
              word.text);
    else if (again)
        ERROR(r, word.span, "a second '%s' after one layout", word.text);
    else
        return true;
    return false;
}

void chm_ir_partial(ChmIrReader *r, ChmIrLayout *l, ChmIrName word, const ChmIrNames *axes)
{
    if (is_modifier(r, word, "partial", l->partial.len > 0))
        l->partial = *axes;
    else
        l->bad = true;
}

void chm_ir_at(ChmIrReader *r, ChmIrLayout *l, ChmIrName word, const ChmIrPairs *pins)
{
    if (is_modifier(r, word, "at", l->at.len > 0))
        l->at = *pins;
    else
        l->bad = true;
}

/* The first place of each axis in the layout being read, so that a second one is reported with both. */
typedef struct Claims {
    ChmSpan at[CHM_MAX_AXES];
    ChmAxes set;
} Claims;

static bool claim(ChmIrReader *r, Claims *claims, ChmSpan at, int32_t axis)
{
    if (claims->set & CHM_AXIS(axis)) {
        ChmDiag *d = ERROR(r, at, "axis '%s' is in two states", r->module->mesh->axis_name[axis]);
        NOTE(r, d, claims->at[axis], "its first is here");
        return false;
    }
    claims->set |= CHM_AXIS(axis);
    claims->at[axis] = at;
    return true;
}

static bool claim_axis(ChmIrReader *r, Claims *claims, ChmIrName name, int32_t *axis)
{
    return chm_ir_find_axis(r, name, axis) && claim(r, claims, name.span, *axis);
}

static bool claim_parts(ChmIrReader *r, Claims *claims, ChmIrName name, ChmAxisSeq *out)
{
    int32_t first, count;
    if (!find_parts(r, name, &first, &count))
        return false;
    for (int32_t axis = first; axis < first + count; axis++) {
        if (!claim(r, claims, name.span, axis))
            return false;
        chm_seq_push(out, axis);
    }
    return true;
}

static bool read_splits(ChmIrReader *r, Claims *claims, const ChmShape *shape, const ChmIrLayout *l, ChmLayout *draft)
{
    for (int32_t d = 0; d < l->splits.len; d++) {
        const ChmIrSplit *s = &l->splits.at[d];
        int32_t dim;
        if (!chm_ir_find_dim(r, shape, s->dim, &dim))
            return false;
        if (dim != d) {
            ERROR(r, s->dim.span, "dim '%s' is out of place: the declared order is '%s'", s->dim.text,
                  chm_layout_str(r->ctx, shape, chm_layout_replicated(r->ctx, draft->mesh, shape->ndims)));
            return false;
        }
        for (int32_t i = 0; i < s->axes.len; i++) {
            if (!claim_parts(r, claims, s->axes.at[i], &draft->dim[d]))
                return false;
        }
    }
    if (l->splits.len < shape->ndims) {
        ERROR(r, l->span, "the layout lacks dim '%s'", shape->dim_name[l->splits.len]);
        return false;
    }
    return true;
}

const ChmLayout *chm_ir_make_layout(ChmIrReader *r, const ChmShape *shape, const ChmIrLayout *l)
{
    Claims claims = {.set = 0};
    const ChmMesh *mesh = r->module->mesh;
    ChmLayout draft = {.mesh = mesh, .ndims = shape->ndims};
    ChmAxisSeq partial = {0};
    int32_t axis;
    if (!read_splits(r, &claims, shape, l, &draft))
        return NULL;
    for (int32_t i = 0; i < l->partial.len; i++) {
        if (!claim_parts(r, &claims, l->partial.at[i], &partial))
            return NULL;
    }
    draft.partial = chm_seq_set(&partial);
    for (int32_t i = 0; i < l->at.len; i++) {
        const ChmIrPair *p = &l->at.at[i];
        if (!claim_axis(r, &claims, p->name, &axis))
            return NULL;
        if (p->number >= mesh->axis_size[axis]) {
            ERROR(r, p->span, "coordinate %lld is outside axis '%s' of size %d", (long long)p->number, p->name.text,
                  mesh->axis_size[axis]);
            return NULL;
        }
        draft.pinned |= CHM_AXIS(axis);
        draft.pin[axis] = (int32_t)p->number;
    }
    return l->bad ? NULL : chm_layout_make(r->ctx, &draft);
}
