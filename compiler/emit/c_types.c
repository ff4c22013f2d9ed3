/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c_types.c - the tables of emitted C: axes, dims, mesh, groups, types.
 */
#include "emit/c.h"

#include <string.h>

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

/* A list of initialisers: on the line that is begun if they fit, else on lines of their own. */
typedef struct Fields {
    CHM_VEC(const char *) text;
} Fields;

static void put_field(ChmC *w, Fields *f, const char *text)
{
    CHM_PUSH(w->arena, &f->text, text);
}

static void write_fields(ChmC *w, const Fields *f, size_t column)
{
    size_t whole = column + 2;
    for (int32_t i = 0; i < f->text.len; i++)
        whole += strlen(f->text.at[i]) + 2;
    bool fits = whole - 2 <= CHM_C_COLUMNS;
    for (int32_t i = 0; i < f->text.len; i++) {
        size_t n = strlen(f->text.at[i]) + 2;
        bool breaks = !fits && (i == 0 || column + n + 2 > CHM_C_COLUMNS);
        chm_out_puts(w->out, i ? "," : "");
        chm_out_printf(w->out, "%s%s", breaks ? "\n    " : i ? " " : "", f->text.at[i]);
        column = breaks ? n + 2 : column + n;
    }
}

static void write_mesh(ChmC *w)
{
    const ChmMesh *mesh = w->mesh;
    chm_out_printf(w->out, "static const ChrtMesh mesh = {.naxes = %d", (int)mesh->naxes);
    for (int32_t i = 0; i < mesh->naxes; i++)
        chm_out_printf(w->out, "%s{\"%s\", %d}", i ? ", " : ", .axis = {", mesh->axis_name[i], (int)mesh->axis_size[i]);
    chm_out_puts(w->out, mesh->naxes ? "}};\n" : "};\n");
    static const char head[] = "static const ChrtAxes groups[] = {";
    Fields fields = {{0}};
    for (int32_t i = 0; i < w->groups.len; i++)
        put_field(w, &fields, chm_arena_printf(w->arena, "{%s}", chm_c_axes(w, &w->groups.at[i])));
    if (w->groups.len == 0)
        return;
    chm_out_puts(w->out, head);
    write_fields(w, &fields, strlen(head));
    chm_out_puts(w->out, "};\n");
}

static const char *sizes(ChmC *w, const ChmShape *shape)
{
    ChmOut text;
    chm_out_init_arena(&text, w->arena);
    for (int32_t d = 0; d < shape->ndims; d++)
        chm_out_printf(&text, "%s%s", d ? ", " : ".size = {", chm_c_int(w, shape->dim_size[d]));
    chm_out_putc(&text, '}');
    return chm_out_text(&text);
}

static const char *splits(ChmC *w, const ChmType *t)
{
    ChmOut text;
    chm_out_init_arena(&text, w->arena);
    for (int32_t d = 0; d < t->shape->ndims; d++) {
        const ChmAxisSeq *split = &t->layout->dim[d];
        if (split->len)
            chm_out_printf(&text, "%s[%s] = {%s}", text.len ? ", " : ".split = {", chm_c_dim(w, t->shape, d),
                           chm_c_axes(w, split));
    }
    chm_out_putc(&text, '}');
    return chm_out_text(&text);
}

static const char *pins(ChmC *w, const ChmLayout *l)
{
    ChmOut text;
    chm_out_init_arena(&text, w->arena);
    for (int32_t i = 0; i < w->mesh->naxes; i++) {
        if (l->pinned & CHM_AXIS(i))
            chm_out_printf(&text, "%s{AXIS_%s, %d}", text.len ? ", " : ".at = {", w->mesh->axis_name[i],
                           (int)l->pin[i]);
    }
    chm_out_putc(&text, '}');
    return chm_out_text(&text);
}

static const char *dtype_code(ChmDtype dtype)
{
    static const char *const codes[] = {
#define X(CODE, name, bytes, kind) "CHRT_" #CODE,
        CHM_DTYPES(X)
#undef X
    };
    return codes[dtype];
}

static void write_type(ChmC *w, const ChmType *t)
{
    const ChmLayout *l = t->layout;
    Fields fields = {{0}};
    chm_out_printf(w->out, "/* %s ", chm_dtypes[t->dtype].name);
    chm_layout_print(w->out, t->shape, l);
    const char *head = chm_arena_printf(w->arena, "static const ChrtType %s = {", chm_c_type(w, t));
    chm_out_printf(w->out, " */\n%s", head);
    put_field(w, &fields, chm_arena_printf(w->arena, ".dtype = %s", dtype_code(t->dtype)));
    put_field(w, &fields, chm_arena_printf(w->arena, ".ndims = %d", (int)t->shape->ndims));
    put_field(w, &fields, sizes(w, t->shape));
    if (l->split)
        put_field(w, &fields, splits(w, t));
    if (l->partial) {
        ChmAxisSeq partial = chm_seq_of_set(l->partial);
        put_field(w, &fields, chm_arena_printf(w->arena, ".partial = {%s}", chm_c_axes(w, &partial)));
    }
    if (l->pinned)
        put_field(w, &fields, pins(w, l));
    write_fields(w, &fields, strlen(head));
    chm_out_puts(w->out, "};\n");
}

void chm_c_write_tables(ChmC *w)
{
    write_axes(w);
    write_mesh(w);
    chm_out_putc(w->out, '\n');
    for (int32_t i = 0; i < w->types.len; i++)
        write_type(w, w->types.at[i]);
}
