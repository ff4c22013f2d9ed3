/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c_calls.c - create, run and destroy of emitted C.
 */
#include "emit/c.h"

#include <inttypes.h>
#include <string.h>

void chm_c_write_parameters(ChmC *w, const char *head)
{
    ChmOut line;
    chm_out_init_arena(&line, w->arena);
    chm_out_printf(&line, "%s(%s *plan", head, w->name);
    size_t column = line.len;
    for (int32_t i = 0; i < w->inputs.len + w->outputs.len; i++) {
        bool in = i < w->inputs.len;
        const ChmOp *op = in ? w->inputs.at[i] : w->outputs.at[i - w->inputs.len];
        const char *text =
            in ? chm_arena_printf(w->arena, "const %s *in_%s", chm_c_dtype(op->tensor->dtype), op->tensor->name)
               : chm_arena_printf(w->arena, "%s *out_%s", chm_c_dtype(op->operand->type->dtype), op->name);
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

static bool is_used(const ChmCSchedule *s, const ChmTensor *t)
{
    for (const ChmOp *op = s->m->first; op; op = op->next) {
        if (op->operand && op->operand->def->code == CHM_OP_INPUT && op->operand->def->tensor->index == t->index)
            return true;
    }
    return false;
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

void chm_c_write_run(ChmC *w, const ChmCSchedule *s, const char *head)
{
    chm_out_putc(w->out, '\n');
    chm_c_write_parameters(w, head);
    chm_out_puts(w->out, "\n{\n    if (!plan) return CHRT_ERR_PLAN;\n");
    write_pointers(w, s);
    write_enter(w);
    for (int32_t i = 0; i < w->inputs.len; i++) {
        if (!is_used(s, w->inputs.at[i]->tensor))
            chm_out_printf(w->out, "    (void)in_%s; /* no output needs it */\n", w->inputs.at[i]->tensor->name);
    }
    chm_out_putc(w->out, '\n');
    for (const ChmOp *op = s->m->first; op; op = op->next)
        chm_c_write_op(w, s, op);
    chm_out_puts(w->out, "    return status;\n}\n");
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
