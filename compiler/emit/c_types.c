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
        for (int32_t i = 0; i < op->attrs.body_len; i++) {
            const ChmOp step = chm_c_body_op(w, op, i);
            add_type(w, chm_c_body_type(w, op, i + 1));
            if (chm_c_op_group(&step, &group))
                add_group(w, &group);
        }
    }
}

/* ---- writing */

typedef CHM_VEC(const char *) Items;

/* "HEADa, b, cTAIL", broken before CHM_C_COLUMNS. */
static void write_list(ChmC *w, const char *head, const Items *items, const char *tail)
{
    chm_out_puts(w->out, head);
    size_t column = strlen(head);
    for (int32_t i = 0; i < items->len; i++) {
        size_t n = strlen(items->at[i]) + 1;
        if (i > 0 && column + n + strlen(tail) > CHM_C_COLUMNS) {
            chm_out_puts(w->out, "\n    ");
            column = 4;
        } else if (i > 0) {
            chm_out_putc(w->out, ' ');
            column++;
        }
        chm_out_printf(w->out, "%s%s", items->at[i], i + 1 < items->len ? "," : "");
        column += n;
    }
    chm_out_puts(w->out, tail);
}

static void write_enums(ChmC *w)
{
    Items axes = {0}, dims = {0};
    for (int32_t i = 0; i < w->mesh->naxes; i++)
        CHM_PUSH(w->arena, &axes, chm_arena_printf(w->arena, "%s%s", w->axis[i], i ? "" : " = 1"));
    for (int32_t i = 0; i < w->dims.len; i++) {
        const ChmCDim *dim = &w->dims.at[i];
        if (dim->index >= 0)
            CHM_PUSH(w->arena, &dims, chm_arena_printf(w->arena, "DIM_%s = %d", dim->name, (int)dim->index));
    }
    if (axes.len)
        write_list(w, "enum { ", &axes, " };\n");
    if (dims.len)
        write_list(w, "enum { ", &dims, " };\n");
}

static void write_mesh(ChmC *w)
{
    const ChmMesh *mesh = w->mesh;
    const char *head = chm_arena_printf(w->arena, "static const ChrtMesh mesh = {.naxes = %d", (int)mesh->naxes);
    Items axes = {0}, groups = {0};
    for (int32_t i = 0; i < mesh->naxes; i++)
        CHM_PUSH(w->arena, &axes,
                 chm_arena_printf(w->arena, "{\"%s\", %d}", mesh->axis_name[i], (int)mesh->axis_size[i]));
    if (axes.len)
        write_list(w, chm_arena_printf(w->arena, "%s, .axis = {", head), &axes, "}};\n");
    else
        chm_out_printf(w->out, "%s};\n", head);
    for (int32_t i = 0; i < w->groups.len; i++)
        CHM_PUSH(w->arena, &groups, chm_arena_printf(w->arena, "{%s}", chm_c_axes(w, &w->groups.at[i])));
    if (groups.len)
        write_list(w, "static const ChrtAxes groups[] = {", &groups, "};\n");
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
            chm_out_printf(&text, "%s{%s, %d}", text.len ? ", " : ".at = {", w->axis[i], (int)l->pin[i]);
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
    Items fields = {0};
    CHM_PUSH(w->arena, &fields, chm_arena_printf(w->arena, ".dtype = %s", dtype_code(t->dtype)));
    CHM_PUSH(w->arena, &fields, chm_arena_printf(w->arena, ".ndims = %d", (int)t->shape->ndims));
    CHM_PUSH(w->arena, &fields, sizes(w, t->shape));
    if (l->split)
        CHM_PUSH(w->arena, &fields, splits(w, t));
    if (l->partial) {
        ChmAxisSeq partial = chm_seq_of_set(l->partial);
        CHM_PUSH(w->arena, &fields, chm_arena_printf(w->arena, ".partial = {%s}", chm_c_axes(w, &partial)));
    }
    if (l->pinned)
        CHM_PUSH(w->arena, &fields, pins(w, l));
    chm_out_printf(w->out, "/* %s ", chm_dtypes[t->dtype].name);
    chm_layout_print(w->out, t->shape, l);
    const char *head = chm_arena_printf(w->arena, "static const ChrtType %s = {", chm_c_type(w, t));
    size_t columns = strlen(head) + 2;
    for (int32_t i = 0; i < fields.len; i++)
        columns += strlen(fields.at[i]) + 2;
    chm_out_puts(w->out, " */\n");
    if (columns > CHM_C_COLUMNS)
        chm_out_printf(w->out, "%s\n", head);
    write_list(w, columns > CHM_C_COLUMNS ? "    " : head, &fields, "};\n");
}

void chm_c_write_tables(ChmC *w)
{
    write_enums(w);
    write_mesh(w);
    chm_out_putc(w->out, '\n');
    for (int32_t i = 0; i < w->types.len; i++)
        write_type(w, w->types.at[i]);
}
