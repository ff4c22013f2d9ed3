/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c_types.c - the tables of emitted C: axes, dims, mesh, groups, types.
 */
#include "emit/c.h"

/* ---- collecting */

static void add_dims(ChmC *w, const ChmShape *shape)
{
    for (int32_t d = 0; d < shape->ndims; d++) {
        int32_t i = 0;
        while (i < w->dims.len && w->dims.at[i].name != shape->dim_name[d])
            i++;
        if (i < w->dims.len) {
            if (w->dims.at[i].index != d)
                w->dims.at[i].index = -1;
            continue;
        }
        ChmCDim dim = {.name = shape->dim_name[d], .index = d};
        CHM_PUSH(w->arena, &w->dims, dim);
    }
}

static void add_type(ChmC *w, const ChmType *t)
{
    for (int32_t i = 0; i < w->types.len; i++) {
        if (w->types.at[i] == t)
            return;
    }
    CHM_PUSH(w->arena, &w->types, t);
}

static void add_group(ChmC *w, const ChmAxisSeq *group)
{
    for (int32_t i = 0; i < w->groups.len; i++) {
        if (chm_seq_equal(&w->groups.at[i], group))
            return;
    }
    CHM_PUSH(w->arena, &w->groups, *group);
}

void chm_c_collect_tables(ChmC *w, const ChmCSchedule *s)
{
    for (int32_t i = 0; i < w->inputs.len; i++)
        add_type(w, w->inputs.at[i]->result->type);
    for (int32_t i = 0; i < w->outputs.len; i++)
        add_type(w, w->outputs.at[i]->operand->type);
    for (const ChmOp *op = s->m->first; op; op = op->next) {
        ChmAxisSeq group;
        if (op->result) {
            add_dims(w, op->result->type->shape);
            add_type(w, op->result->type);
        }
        if (chm_c_op_group(op, &group))
            add_group(w, &group);
    }
}

/* ---- writing */

static void write_axes(ChmC *w)
{
    const ChmMesh *mesh = w->mesh;
    if (mesh->naxes > 0) {
        chm_out_puts(w->out, "enum { ");
        for (int32_t i = 0; i < mesh->naxes; i++)
            chm_out_printf(w->out, "%sAXIS_%s%s", i ? ", " : "", mesh->axis_name[i], i ? "" : " = 1");
        chm_out_puts(w->out, " };\n");
    }
    bool any = false;
    for (int32_t i = 0; i < w->dims.len; i++) {
        if (w->dims.at[i].index < 0)
            continue;
        chm_out_printf(w->out, "%sDIM_%s = %d", any ? ", " : "enum { ", w->dims.at[i].name, (int)w->dims.at[i].index);
        any = true;
    }
    chm_out_puts(w->out, any ? " };\n" : "");
}

static void write_mesh(ChmC *w)
{
    const ChmMesh *mesh = w->mesh;
    chm_out_printf(w->out, "static const ChrtMesh mesh = {.naxes = %d", (int)mesh->naxes);
    for (int32_t i = 0; i < mesh->naxes; i++)
        chm_out_printf(w->out, "%s{\"%s\", %d}", i ? ", " : ", .axis = {", mesh->axis_name[i], (int)mesh->axis_size[i]);
    chm_out_puts(w->out, mesh->naxes ? "}};\n" : "};\n");
    for (int32_t i = 0; i < w->groups.len; i++)
        chm_out_printf(w->out, "%s{%s}", i ? ", " : "static const ChrtAxes groups[] = {",
                       chm_c_axes(w, &w->groups.at[i]));
    chm_out_puts(w->out, w->groups.len ? "};\n" : "");
}

static void write_type(ChmC *w, const ChmType *t)
{
    const ChmShape *shape = t->shape;
    const ChmLayout *l = t->layout;
    ChmOut *out = w->out;
    chm_out_printf(out, "/* %s ", chm_dtypes[t->dtype].name);
    chm_layout_print(out, shape, l);
    chm_out_printf(out, " */\nstatic const ChrtType %s = {\n    .dtype = CHRT_", chm_c_type(w, t));
    for (const char *c = chm_dtypes[t->dtype].name; *c; c++)
        chm_out_putc(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    chm_out_printf(out, ", .ndims = %d, .size = {", (int)shape->ndims);
    for (int32_t d = 0; d < shape->ndims; d++)
        chm_out_printf(out, "%s%s", d ? ", " : "", chm_c_int(w, shape->dim_size[d]));
    chm_out_putc(out, '}');
    bool any = false;
    for (int32_t d = 0; d < shape->ndims; d++) {
        if (!l->dim[d].len)
            continue;
        chm_out_printf(out, "%s[%s] = {%s}", any ? ", " : ", .split = {", chm_c_dim(w, shape, d),
                       chm_c_axes(w, &l->dim[d]));
        any = true;
    }
    chm_out_puts(out, any ? "}" : "");
    if (l->partial) {
        ChmAxisSeq partial = chm_seq_of_set(l->partial);
        chm_out_printf(out, ", .partial = {%s}", chm_c_axes(w, &partial));
    }
    any = false;
    for (int32_t i = 0; i < w->mesh->naxes; i++) {
        if (!(l->pinned & CHM_AXIS(i)))
            continue;
        chm_out_printf(out, "%s{AXIS_%s, %d}", any ? ", " : ", .at = {", w->mesh->axis_name[i], (int)l->pin[i]);
        any = true;
    }
    chm_out_puts(out, any ? "}};\n" : "};\n");
}

void chm_c_write_tables(ChmC *w)
{
    write_axes(w);
    write_mesh(w);
    chm_out_putc(w->out, '\n');
    for (int32_t i = 0; i < w->types.len; i++)
        write_type(w, w->types.at[i]);
}
