/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/type.h"

#include <string.h>

/* Adds an axis to the set of axes that have a state; false when it has one already. */
static bool claim(ChmAxes *claimed, int32_t axis)
{
    if (*claimed & CHM_AXIS(axis))
        return false;
    *claimed |= CHM_AXIS(axis);
    return true;
}

/* Copies one dim's split without the axes of size 1. */
static bool make_split(const ChmMesh *m, const ChmAxisSeq *draft, ChmAxisSeq *out, ChmAxes *claimed)
{
    for (int32_t i = 0; i < draft->len; i++) {
        int32_t a = draft->at[i];
        if (a >= m->naxes)
            return false;
        if (m->axis_size[a] == 1)
            continue;
        if (!claim(claimed, a))
            return false;
        chm_seq_push(out, a);
    }
    return true;
}

const ChmLayout *chm_layout_make(ChmCtx *ctx, const ChmLayout *draft)
{
    const ChmMesh *m = draft->mesh;
    ChmLayout l;
    memset(&l, 0, sizeof l);
    l.mesh = m;
    l.ndims = draft->ndims;
    ChmAxes claimed = 0;
    for (int32_t d = 0; d < draft->ndims; d++)
        if (!make_split(m, &draft->dim[d], &l.dim[d], &claimed))
            return NULL;
    l.split = claimed;
    for (int32_t a = 0; a < m->naxes; a++) {
        bool partial = draft->partial & CHM_AXIS(a), pinned = draft->pinned & CHM_AXIS(a);
        if (pinned && (draft->pin[a] < 0 || draft->pin[a] >= m->axis_size[a]))
            return NULL;
        if (m->axis_size[a] == 1 || (!partial && !pinned))
            continue;
        if ((partial && pinned) || !claim(&claimed, a))
            return NULL;
        if (partial) {
            l.partial |= CHM_AXIS(a);
        } else {
            l.pinned |= CHM_AXIS(a);
            l.pin[a] = draft->pin[a];
        }
    }
    return chm_intern_bytes(&ctx->records, &l, sizeof l);
}

const ChmLayout *chm_layout_replicated(ChmCtx *ctx, const ChmMesh *mesh, int32_t ndims)
{
    ChmLayout l = {.mesh = mesh, .ndims = ndims};
    return chm_layout_make(ctx, &l);
}

int32_t chm_layout_dim_of(const ChmLayout *l, int32_t axis)
{
    if (l->split & CHM_AXIS(axis))
        for (int32_t d = 0; d < l->ndims; d++)
            if (chm_seq_set(&l->dim[d]) & CHM_AXIS(axis))
                return d;
    return -1;
}

void chm_layout_print(ChmOut *out, const ChmShape *shape, const ChmLayout *l)
{
    chm_out_putc(out, '[');
    for (int32_t d = 0; d < l->ndims; d++) {
        chm_out_printf(out, "%s%s", d ? ", " : "", shape->dim_name[d]);
        if (l->dim[d].len) {
            chm_out_putc(out, '/');
            chm_seq_print(out, l->mesh, &l->dim[d], "/");
        }
    }
    chm_out_putc(out, ']');
    if (l->partial) {
        ChmAxisSeq s = chm_seq_of_set(l->partial);
        chm_out_puts(out, " partial(");
        chm_seq_print(out, l->mesh, &s, ", ");
        chm_out_putc(out, ')');
    }
    const char *before = " at(";
    for (int32_t a = 0; a < l->mesh->naxes; a++)
        if (l->pinned & CHM_AXIS(a)) {
            chm_out_printf(out, "%s%s=%d", before, l->mesh->axis_name[a], (int)l->pin[a]);
            before = ", ";
        }
    if (l->pinned)
        chm_out_putc(out, ')');
}

const char *chm_layout_str(ChmCtx *ctx, const ChmShape *shape, const ChmLayout *l)
{
    ChmOut o;
    chm_out_init_arena(&o, &ctx->arena);
    chm_layout_print(&o, shape, l);
    return chm_out_text(&o);
}
