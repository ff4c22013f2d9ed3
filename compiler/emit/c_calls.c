/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c_calls.c - create, run, rerun and destroy of emitted C.
 */
#include "emit/c.h"

#include <inttypes.h>
#include <string.h>

/* A declaration each of what the user hands over: "const float *in_x". */
static const char *input_declaration(ChmC *w, int32_t i)
{
    const ChmTensor *t = w->inputs.at[i]->tensor;
    return chm_arena_printf(w->arena, "const %s *in_%s", chm_c_dtype(t->dtype), t->name);
}

static const char *output_declaration(ChmC *w, int32_t i)
{
    const ChmOp *op = w->outputs.at[i];
    return chm_arena_printf(w->arena, "%s *out_%s", chm_c_dtype(op->operand->type->dtype), op->name);
}

void chm_c_write_parameters(ChmC *w, const char *head)
{
    ChmOut line;
    chm_out_init_arena(&line, w->arena);
    chm_out_printf(&line, "%s(%s *plan", head, w->name);
    size_t column = line.len;
    for (int32_t i = 0; i < w->inputs.len + w->outputs.len; i++) {
        const char *text = i < w->inputs.len ? input_declaration(w, i) : output_declaration(w, i - w->inputs.len);
        chm_out_putc(&line, ',');
        if (column + strlen(text) + 4 > CHM_C_COLUMNS) {
            chm_out_puts(&line, "\n   ");
            column = 3;
        }
        chm_out_printf(&line, " %s", text);
        column += strlen(text) + 2;
    }
    chm_out_printf(w->out, "%s)", chm_out_text(&line));
}

static void write_buffer_fields(ChmC *w)
{
    for (int32_t i = 0; i < w->inputs.len; i++)
        chm_out_printf(w->out, "    %s;\n", input_declaration(w, i));
    for (int32_t i = 0; i < w->outputs.len; i++)
        chm_out_printf(w->out, "    %s;\n", output_declaration(w, i));
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
                   "    ChrtCtx *rt = NULL;\n    unsigned char *memory = NULL;\n    *plan = NULL;\n",
                   name, name);
    chm_out_puts(out, "    int status = chrt_create(comm, &mesh, ");
    if (w->groups.len)
        chm_out_printf(out, "groups, %d", (int)w->groups.len);
    else
        chm_out_puts(out, "NULL, 0");
    chm_out_printf(out, ", UINT64_C(0x%016" PRIx64 "), \"%s\", &rt, message);\n", hash, w->job->baseline->name);
    chm_out_puts(out, "    if (status)\n        return status;\n");
    chm_out_printf(out, "    status = chrt_arena(rt, (int64_t)sizeof **plan + %s, &memory);\n",
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
    ChmOut list;
    chm_out_init_arena(&list, w->arena);
    for (int32_t i = 0; i < w->inputs.len + w->outputs.len; i++) {
        bool in = i < w->inputs.len;
        const ChmOp *op = in ? w->inputs.at[i] : w->outputs.at[i - w->inputs.len];
        const char *name = in ? op->tensor->name : op->name;
        const ChmType *t = in ? op->result->type : op->operand->type;
        chm_out_printf(&list, "%s{\"%s\", &%s, %s%s}", i ? ",\n        " : "", name, chm_c_type(w, t),
                       in ? "in_" : "out_", name);
    }
    chm_out_printf(w->out, "    int status = chrt_enter(plan->rt, %d, %d, (const ChrtBuffer[]){\n        %s});\n",
                   (int)w->inputs.len, (int)w->outputs.len, chm_out_text(&list));
}

/* The ops are in rerun, on what run has kept: two lists of arguments would have to be kept alike. */
void chm_c_write_run(ChmC *w, const ChmCSchedule *s, const char *linkage, const char *rerun, const char *run)
{
    chm_out_printf(w->out, "\n%sint %s(%s *plan)\n{\n    if (!plan) return CHRT_ERR_PLAN;\n", linkage, rerun, w->name);
    write_pointers(w, s);
    chm_out_puts(w->out, "    int status = chrt_reenter(plan->rt);\n\n");
    for (const ChmOp *op = s->m->first; op; op = op->next)
        chm_c_write_op(w, s, op);
    chm_out_puts(w->out, "    return status;\n}\n\n");

    chm_c_write_parameters(w, chm_arena_printf(w->arena, "%sint %s", linkage, run));
    chm_out_puts(w->out, "\n{\n    if (!plan) return CHRT_ERR_PLAN;\n");
    write_enter(w);
    chm_out_puts(w->out, "    if (status) return status;\n");
    for (int32_t i = 0; i < w->inputs.len; i++)
        chm_out_printf(w->out, "    plan->in_%s = in_%s;\n", w->inputs.at[i]->tensor->name,
                       w->inputs.at[i]->tensor->name);
    for (int32_t i = 0; i < w->outputs.len; i++)
        chm_out_printf(w->out, "    plan->out_%s = out_%s;\n", w->outputs.at[i]->name, w->outputs.at[i]->name);
    chm_out_printf(w->out, "    return %s(plan);\n}\n", rerun);
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
