/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fuzz/compile.c - one text through the whole compiler, with everything that must hold on the way.
 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger inputs say nothing new, and one must not take long. */
enum { MAX_BYTES = 1 << 14, MAX_RANKS = 64, MAX_OPS = 60 };

static void must(bool holds, ChmJob *job, const char *what)
{
    if (holds)
        return;
    chm_job_flush(job);
    fprintf(stderr, "fuzz: does not hold: %s\n", what);
    abort();
}

/* ---- text and back */

static const ChmSource *source_of(ChmJob *job, const char *text, size_t len)
{
    return chm_source_from_text(&job->ctx.arena, "input", text, len);
}

/* Printed, parsed and printed again, the plan is the same text. */
static void plan_round_trip(ChmJob *job)
{
    ChmOut once, again;
    chm_out_init_arena(&once, &job->ctx.arena);
    chm_out_init_arena(&again, &job->ctx.arena);
    chm_plan_print(&once, job->plan);
    const ChmPlan *back = chm_plan_parse(&job->ctx, source_of(job, chm_out_text(&once), once.len), NULL, 0);
    must(back != NULL, job, "the printed plan parses");
    chm_plan_print(&again, back);
    must(strcmp(chm_out_text(&once), chm_out_text(&again)) == 0, job, "the plan prints the same again");
    must(job->ctx.diags.errors == 0, job, "the printed plan has no errors");
}

static void module_round_trip(ChmJob *job, ChmModule *m)
{
    ChmOut once, again;
    chm_out_init_arena(&once, &job->ctx.arena);
    chm_out_init_arena(&again, &job->ctx.arena);
    chm_module_print(m, &once);
    ChmModule *back = chm_module_parse(&job->ctx, source_of(job, chm_out_text(&once), once.len));
    must(back != NULL, job, "the printed IR parses");
    chm_module_print(back, &again);
    must(strcmp(chm_out_text(&once), chm_out_text(&again)) == 0, job, "the IR prints the same again");
    chm_module_free(back);
}

/* ---- steps */

static void render(ChmJob *job)
{
    chm_diags_render(&job->ctx.diags, &job->diagnostics, false);
    must(job->diagnostics.len > 0, job, "a refusal says why");
}

/* plan (if it is one) and baseline; false when the text is refused, or accepted and too large for here. */
static bool load(ChmJob *job, ChmLanguage language)
{
    if (language == CHM_LANGUAGE_PLAN) {
        job->plan = chm_plan_parse(&job->ctx, job->source, NULL, 0);
        if (job->plan)
            job->baseline = chm_plan_lower(&job->ctx, job->plan);
    } else {
        job->baseline = chm_module_parse(&job->ctx, job->source);
    }
    if (job->baseline)
        job->topology = job->baseline->topology ? job->baseline->topology : &chm_default_topology;
    if (!job->baseline) {
        must(job->ctx.diags.errors > 0, job, "what is refused has errors");
        render(job);
        return false;
    }
    must(job->ctx.diags.errors == 0, job, "what is accepted has no errors");
    int32_t nops = 0;
    for (const ChmOp *op = job->baseline->first; op; op = op->next)
        nops++;
    job->pricer = chm_pricer_new(&job->ctx.arena, job->topology, job->baseline->mesh);
    return job->baseline->mesh->ranks <= MAX_RANKS && nops <= MAX_OPS;
}

static void expect(ChmJob *job)
{
    if (job->plan)
        chm_plan_expects(&job->ctx.arena, job->plan, job->baseline, &job->expects);
    else
        chm_expects_of_module(&job->ctx.arena, job->baseline, &job->expects);
    ChmWhy why = {0};
    must(chm_module_verify(job->baseline) == CHM_OK, job, "the baseline type-checks");
    must(chm_check_equal(job->baseline, &job->expects, &why) == CHM_OK, job, why.text ? why.text : "baseline is equal");
}

static ChmPrice price_of(ChmJob *job, const ChmModule *m)
{
    ChmTraffic t;
    chm_traffic_of_module(&t, &job->ctx.arena, job->topology, m);
    return chm_traffic_price(&t);
}

static void optimize(ChmJob *job)
{
    must(chm_job_optimize(job) == CHM_OK, job, "the passes keep the meaning");
    ChmPrice before = price_of(job, job->baseline), after = price_of(job, job->best);
    must(chm_price_compare(&after, &before) <= 0, job, "never dearer than as written");
    must(after.worst_bytes >= chm_bound_module(&job->ctx.arena, job->baseline), job, "never below the bound");
}

static void emit(ChmJob *job)
{
    ChmEmitJob e = {.module = job->best,
                    .baseline = job->baseline,
                    .topology = job->topology,
                    .pricer = job->pricer,
                    .arena = &job->ctx.arena};
    for (const ChmEmitter *row = chm_emitters; row->name; row++) {
        e.driver = row->takes_driver;
        chm_out_fini(&job->text);
        row->emit(&e, &job->text);
        must(job->text.len > 0, job, "an emitter writes something");
    }
    chm_report_summary(job);
    chm_report_stats(job);
    chm_report_explain(job);
}

static void all(ChmJob *job, ChmLanguage language, const char *text, size_t len)
{
    job->source = source_of(job, text, len);
    if (!load(job, language))
        return;
    expect(job);
    if (job->plan)
        plan_round_trip(job);
    module_round_trip(job, job->baseline);
    optimize(job);
    module_round_trip(job, job->best);
    emit(job);
}

/* ---- the entry, as chm_driver is one */

void fuzz_compile(ChmLanguage language, const char *text, size_t len)
{
    if (len > MAX_BYTES)
        return;
    ChmJob *job = chm_job_new(0);
    if (!job)
        return;
    job->options.level = 3;
    job->options.verify_each = true;
    if (CHM_TRY(&job->ctx.guard))
        all(job, language, text, len);
    else
        must(false, job, "memory suffices");
    chm_job_free(job);
}
