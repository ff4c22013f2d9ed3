/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c_calls.c - create, run, rerun and destroy of emitted C.
 */
#include "emit/c.h"

#include <inttypes.h>
#include <string.h>

/* ---- what the user hands over, the inputs first: "in_x" */

static const char *buffer_name(const ChmC *w, int32_t i)
{
    return i < w->inputs.len ? w->inputs.at[i]->tensor->name : w->outputs.at[i - w->inputs.len]->name;
}

static const char *buffer(ChmC *w, int32_t i)
{
    return chm_arena_printf(w->arena, "%s_%s", i < w->inputs.len ? "in" : "out", buffer_name(w, i));
}

static const ChmType *buffer_type(const ChmC *w, int32_t i)
{
    return i < w->inputs.len ? w->inputs.at[i]->result->type : w->outputs.at[i - w->inputs.len]->operand->type;
}

static const char *declaration(ChmC *w, int32_t i)
{
    const char *dtype = chm_c_dtype(buffer_type(w, i)->dtype);
    return chm_arena_printf(w->arena, "%s%s *%s", i < w->inputs.len ? "const " : "", dtype, buffer(w, i));
}

/* "HEAD, ITEM, ITEM)", broken where it is too long. */
static void write_list(ChmC *w, const char *head, const char *item(ChmC *, int32_t))
{
    size_t column = strlen(head);
    chm_out_puts(w->out, head);
    for (int32_t i = 0; i < w->inputs.len + w->outputs.len; i++) {
        const char *text = item(w, i);
        chm_out_putc(w->out, ',');
        if (column + strlen(text) + 4 > CHM_C_COLUMNS) {
            chm_out_puts(w->out, "\n   ");
            column = 3;
        }
        chm_out_printf(w->out, " %s", text);
        column += strlen(text) + 2;
    }
    chm_out_putc(w->out, ')');
}

void chm_c_write_parameters(ChmC *w, const char *head)
{
    write_list(w, chm_arena_printf(w->arena, "%s(%s *plan", head, w->name), declaration);
}

static void write_buffer_fields(ChmC *w)
{
    for (int32_t i = 0; i < w->inputs.len + w->outputs.len; i++)
        chm_out_printf(w->out, "    %s;\n", declaration(w, i));
}

/* With --driver two schedules share the memory, and the agreement is on both. */
void chm_c_write_create(ChmC *w)
{
    ChmOut *out = w->out;
    const char *name = w->name;
    bool driver = w->job->driver;
    uint64_t hash = w->optimized.hash;
    int64_t arena_bytes = w->optimized.buffers.arena_bytes, other_bytes = w->baseline.buffers.arena_bytes;
    if (driver) {
        hash = chm_hash(hash, &w->baseline.hash, sizeof w->baseline.hash);
        arena_bytes = other_bytes > arena_bytes ? other_bytes : arena_bytes;
    }
    chm_out_printf(out,
                   "\n/* What a rank keeps between calls; in memory of the runtime. */\n"
                   "struct %s {\n    ChrtCtx *rt;\n",
                   name);
    chm_c_write_tasks(w, &w->optimized);
    if (driver)
        chm_c_write_tasks(w, &w->baseline);
    write_buffer_fields(w);
    chm_out_puts(out, "    _Alignas(64) unsigned char arena[];\n};\n");
    chm_out_printf(out,
                   "\nint %s_create(MPI_Comm comm, %s **plan, char *message)\n{\n"
                   "    ChrtCtx *rt = NULL;\n    unsigned char *memory = NULL;\n",
                   name, name);
    chm_out_puts(out, "    int status = chrt_create(comm, &mesh, ");
    if (w->groups.len)
        chm_out_printf(out, "groups, %d", (int)w->groups.len);
    else
        chm_out_puts(out, "NULL, 0");
    chm_out_printf(out, ", UINT64_C(0x%016" PRIx64 "), \"%s\", &rt, message);\n", hash, w->job->baseline->name);
    chm_out_printf(out, "    if (!status) status = chrt_arena(rt, (int64_t)sizeof **plan + %s, &memory);\n",
                   chm_c_int(w, arena_bytes));
    chm_out_puts(out, "    *plan = (void *)memory;\n");
    chm_c_write_prepare(w, &w->optimized);
    if (driver)
        chm_c_write_prepare(w, &w->baseline);
    chm_out_puts(out,
                 "    if (status) {\n        *plan = NULL;\n        return chrt_abandon(rt, status, message);\n    }\n"
                 "    (*plan)->rt = rt;\n    return 0;\n}\n");
}

static void write_pointers(ChmC *w, const ChmCSchedule *s)
{
    for (const ChmOp *op = s->m->first; op; op = op->next) {
        const ChmValue *v = op->result;
        if (v && s->buffers.place[v->id].home == CHM_HOME_ARENA)
            chm_out_printf(w->out, "    void *const %s = plan->arena + %s;\n", chm_c_value(w, s, v),
                           chm_c_int(w, s->buffers.place[v->id].offset_bytes));
    }
}

static void write_enter(ChmC *w)
{
    chm_out_printf(w->out, "    return chrt_enter(plan->rt, %d, %d, (const ChrtBuffer[]){", (int)w->inputs.len,
                   (int)w->outputs.len);
    for (int32_t i = 0; i < w->inputs.len + w->outputs.len; i++) {
        chm_out_printf(w->out, "%s\n        {\"%s\", &%s, %s}", i ? "," : "", buffer_name(w, i),
                       chm_c_type(w, buffer_type(w, i)), buffer(w, i));
    }
    chm_out_puts(w->out, "});\n");
}

void chm_c_write_rerun(ChmC *w, const ChmCSchedule *s, const char *head)
{
    chm_out_printf(w->out, "\n%s(%s *plan)\n{\n    if (!plan) return CHRT_ERR_PLAN;\n", head, w->name);
    write_pointers(w, s);
    chm_out_puts(w->out, "    int status = chrt_reenter(plan->rt);\n\n");
    for (const ChmOp *op = s->m->first; op; op = op->next)
        chm_c_write_op(w, s, op);
    chm_out_puts(w->out, "    return status;\n}\n");
}

void chm_c_write_run(ChmC *w)
{
    chm_out_putc(w->out, '\n');
    chm_c_write_parameters(w, "static int enter");
    chm_out_puts(w->out, "\n{\n    if (!plan) return CHRT_ERR_PLAN;\n");
    for (int32_t i = 0; i < w->inputs.len + w->outputs.len; i++)
        chm_out_printf(w->out, "    plan->%s = %s;\n", buffer(w, i), buffer(w, i));
    write_enter(w);
    chm_out_puts(w->out, "}\n\n");
    chm_c_write_parameters(w, chm_arena_printf(w->arena, "int %s_run", w->name));
    chm_out_puts(w->out, "\n{\n");
    write_list(w, "    int status = enter(plan", buffer);
    chm_out_printf(w->out, ";\n    return status ? status : %s_rerun(plan);\n}\n", w->name);
}

void chm_c_write_function(ChmC *w, const char *head, const char *body)
{
    bool fits = strlen(head) + strlen(body) + 5 <= CHM_C_COLUMNS;
    chm_out_printf(w->out, fits ? "%s { %s }\n" : "%s\n{\n    %s\n}\n", head, body);
}

void chm_c_write_destroy(ChmC *w)
{
    const char *name = w->name;
    chm_out_putc(w->out, '\n');
    chm_c_write_function(w, chm_arena_printf(w->arena, "const char *%s_message(const %s *plan)", name, name),
                         "return chrt_error_message(plan ? plan->rt : NULL);");
    chm_c_write_function(w, chm_arena_printf(w->arena, "void %s_destroy(%s *plan)", name, name),
                         "chrt_destroy(plan ? plan->rt : NULL);");
}
