/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c.c - a schedule as C11 for MPI and the runtime. SPMD: every rank runs the same calls, so the text does not grow
 * with the mesh.
 */
#include "emit/c.h"
#include "emit/emitters.h"

#ifndef CHIMERA_VERSION
#define CHIMERA_VERSION "0"
#endif

/* ---- collecting */

static void schedule_of(ChmC *w, ChmModule *m, ChmCSchedule *s)
{
    ChmOut text;
    s->m = m;
    chm_out_init_arena(&text, w->arena);
    chm_module_print(m, &text);
    s->hash = chm_hash(CHM_HASH_SEED, chm_out_text(&text), text.len);
    chm_buffers_plan(w->arena, m, &s->buffers);
    if (w->job->driver) /* which prints it */
        s->price = chm_pricer_module(w->job->pricer, m);
}

/* The signature is the plan's: a schedule that needs less of its inputs is called alike. */
static void collect_signature(ChmC *w)
{
    const ChmModule *m = w->job->baseline;
    for (int32_t t = 0; t < m->tensors.len; t++) {
        for (const ChmOp *op = m->first; op; op = op->next) {
            if (op->code == CHM_OP_INPUT && op->tensor->index == t)
                CHM_PUSH(w->arena, &w->inputs, op);
        }
    }
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (op->code == CHM_OP_OUTPUT)
            CHM_PUSH(w->arena, &w->outputs, op);
    }
}

static void collect(ChmC *w, const ChmEmitJob *job, ChmOut *out)
{
    *w = (ChmC){.job = job, .arena = job->arena, .out = out, .mesh = job->baseline->mesh};
    chm_c_name_axes(w);
    w->name = chm_c_plan_name(w->arena, job->baseline->name);
    collect_signature(w);
    schedule_of(w, job->baseline, &w->baseline);
    schedule_of(w, job->module, &w->optimized);
    for (int32_t i = 0; i < w->inputs.len; i++) /* checked on entry, used or not */
        CHM_PUSH(w->arena, &w->types, w->inputs.at[i]->result->type);
    w->types.len = 0;
    chm_c_collect_tables(w, &w->baseline);
    if (!job->driver) { /* of the baseline only the signature is written */
        w->types.len = 0;
        w->groups.len = 0;
    }
}

/* ---- the head */

static void write_parameter(ChmC *w, const char *name, const ChmOp *op, const ChmType *t)
{
    const char *prefix = op->code == CHM_OP_INPUT ? "in_" : "out_";
    chm_out_printf(w->out, " *   %s%s: %s[", prefix, name, chm_dtypes[t->dtype].name);
    for (int32_t d = 0; d < t->shape->ndims; d++)
        chm_out_printf(w->out, "%s%s = %lld", d ? ", " : "", t->shape->dim_name[d], (long long)t->shape->dim_size[d]);
    chm_out_puts(w->out, "] as ");
    chm_layout_print(w->out, t->shape, t->layout);
    if (t->dtype == CHM_F16 || t->dtype == CHM_BF16)
        chm_out_puts(w->out, ", bit patterns");
    chm_out_putc(w->out, '\n');
}

static void write_contract(ChmC *w)
{
    const ChmMesh *mesh = w->mesh;
    static const char order[] = "last axis fastest.";
    ChmOut line;
    chm_out_init_arena(&line, w->arena);
    chm_out_printf(&line, "/* The plan '%s' on %d rank%s, mesh ", w->job->baseline->name, (int)mesh->ranks,
                   mesh->ranks == 1 ? "" : "s");
    chm_mesh_print(&line, mesh);
    chm_out_printf(w->out, "%s,%s%s\n", chm_out_text(&line), line.len + sizeof order > CHM_C_COLUMNS ? "\n * " : " ",
                   order);
    chm_out_puts(
        w->out,
        " * A rank hands over its block of each tensor, row-major; NULL where it has none. Buffers do not overlap.\n");
    for (int32_t i = 0; i < w->inputs.len; i++)
        write_parameter(w, w->inputs.at[i]->tensor->name, w->inputs.at[i], w->inputs.at[i]->result->type);
    for (int32_t i = 0; i < w->outputs.len; i++)
        write_parameter(w, w->outputs.at[i]->name, w->outputs.at[i], w->outputs.at[i]->operand->type);
    chm_out_puts(w->out, " * All ranks call each function alike. run begins with a small all_reduce, so that a missing "
                         "buffer is an error\n"
                         " * everywhere; rerun runs on the buffers of the last run, without. 0 is success, else a "
                         "negative ChrtStatus of\n"
                         " * chrt.h; create leaves the reason in message (NULL, or 1024 bytes), later it is what "
                         "message() returns. */\n");
}

static void write_declarations(ChmC *w)
{
    const char *guard = chm_c_guard(w->arena, w->name), *name = w->name;
    chm_out_printf(w->out, "#ifndef %s\n#define %s\n\n#include <mpi.h>\n#include <stdint.h>\n\n", guard, guard);
    write_contract(w);
    chm_out_puts(w->out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    chm_out_printf(w->out, "typedef struct %s %s;\n", name, name);
    chm_out_printf(w->out, "int %s_create(MPI_Comm comm, %s **plan, char *message);\n", name, name);
    chm_c_write_parameters(w, chm_arena_printf(w->arena, "int %s_run", name));
    chm_out_puts(w->out, ";\n");
    chm_out_printf(w->out, "int %s_rerun(%s *plan);\n", name, name);
    chm_out_printf(w->out, "const char *%s_message(const %s *plan);\n", name, name);
    chm_out_printf(w->out, "void %s_destroy(%s *plan);\n", name, name);
    chm_out_puts(w->out, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

static void write_note(ChmC *w)
{
    chm_out_printf(w->out,
                   "/* Emitted by chimerac " CHIMERA_VERSION " from the plan '%s'; change the plan instead. */\n",
                   w->job->baseline->name);
}

/* ---- emitters */

void chm_emit_h(const ChmEmitJob *job, ChmOut *out)
{
    ChmC w;
    collect(&w, job, out);
    write_note(&w);
    write_declarations(&w);
}

void chm_emit_c(const ChmEmitJob *job, ChmOut *out)
{
    ChmC w;
    collect(&w, job, out);
    chm_c_collect_tables(&w, &w.optimized);
    write_note(&w);
    write_declarations(&w);
    chm_out_puts(out, "\n#include \"chrt.h\"\n");
    if (job->driver)
        chm_out_puts(out, "#include \"chrt_driver.h\"\n");
    chm_out_putc(out, '\n');
    chm_c_write_tables(&w);
    chm_out_putc(out, '\n');
    chm_c_write_steps(&w, &w.optimized);
    if (job->driver)
        chm_c_write_steps(&w, &w.baseline);
    chm_c_write_create(&w);
    chm_c_write_rerun(&w, &w.optimized, chm_arena_printf(w.arena, "int %s_rerun", w.name));
    chm_c_write_run(&w);
    chm_c_write_destroy(&w);
    if (job->driver)
        chm_c_write_main(&w);
}
