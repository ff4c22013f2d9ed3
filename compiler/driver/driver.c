/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/driver.c - one run of chimerac: options, load, optimize, emit or execute, report.
 */
#include "driver/driver.h"
#include "driver/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef CHIMERA_VERSION
#define CHIMERA_VERSION "0"
#endif

/* ---- standard error */

static bool with_color(const ChmJob *job)
{
    switch (job->options.color) {
    case CHM_COLOR_ALWAYS:
        return true;
    case CHM_COLOR_NEVER:
        return false;
    case CHM_COLOR_AUTO:
        break;
    }
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(no_color && *no_color) && term && term[0] != 'd' /* dumb */;
}

/* All that takes memory of telling the user. */
static void render(ChmJob *job)
{
    ChmDiags *d = &job->ctx.diags;
    if (d->list.len > 0 || d->errors > 0)
        chm_diags_render(d, &job->diagnostics, with_color(job));
    d->list.len = 0;
    d->errors = d->warnings = 0;
}

void chm_job_flush(ChmJob *job)
{
    render(job);
    fputs(chm_out_text(&job->diagnostics), stderr);
    fputs(chm_out_text(&job->err), stderr);
    fflush(stderr);
    chm_out_fini(&job->diagnostics);
    chm_out_fini(&job->err);
}

void chm_job_internal_error(ChmJob *job, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = chm_arena_vprintf(&job->ctx.arena, fmt, args);
    va_end(args);
    chm_out_printf(&job->err, "chimerac: internal error: %s\n", text);
}

/* ---- steps */

static ChmStatus show(ChmJob *job)
{
    switch (job->options.show) {
    case CHM_SHOW_NOTHING:
        return CHM_OK;
    case CHM_SHOW_HELP:
        chm_options_help(&job->text);
        break;
    case CHM_SHOW_VERSION:
        chm_out_puts(&job->text, "chimerac " CHIMERA_VERSION "\n");
        break;
    case CHM_SHOW_PASSES:
        chm_options_list_passes(&job->text);
        break;
    }
    return chm_output_write(&job->ctx.arena, "-", &job->text, &job->err);
}

static void report(ChmJob *job)
{
    const ChmOptions *o = &job->options;
    if (o->explain) {
        chm_report_explain(job);
        chm_report_ways(job);
    }
    if (!o->quiet && o->command == CHM_COMMAND_COMPILE)
        chm_report_summary(job);
    if (o->stats)
        chm_report_stats(job);
    if (o->time_passes)
        chm_report_times(job);
}

/* Sizes of the emitted C are 64-bit numbers. */
static ChmStatus check_arena(ChmJob *job, ChmModule *m)
{
    ChmBuffers buffers;
    chm_buffers_plan(&job->ctx.arena, m, &buffers);
    if (buffers.arena_bytes <= INT64_MAX - 4096)
        return CHM_OK;
    chm_out_puts(&job->err, "chimerac: error: the buffers of a rank do not fit an address space\n");
    return CHM_ERR_INPUT;
}

static ChmStatus emit(ChmJob *job)
{
    const ChmOptions *o = &job->options;
    if (!o->emit) {
        chm_plan_print(&job->text, job->plan);
        return CHM_OK;
    }
    ChmStatus st = CHM_OK;
    if (o->emit->takes_driver)
        st = check_arena(job, job->best);
    if (!st && o->driver)
        st = check_arena(job, job->baseline);
    if (st)
        return st;
    ChmEmitJob e = {.module = job->best,
                    .baseline = job->baseline,
                    .topology = job->topology,
                    .pricer = job->pricer,
                    .driver = o->driver,
                    .arena = &job->ctx.arena};
    o->emit->emit(&e, &job->text);
    return CHM_OK;
}

/* Last of all: nothing after it takes memory, so that a run that fails leaves no output. */
static ChmStatus write_output(ChmJob *job)
{
    ChmOut failure;
    chm_out_init_arena(&failure, &job->ctx.arena);
    render(job);
    ChmStatus st = chm_output_write(&job->ctx.arena, job->options.output, &job->text, &failure);
    if (st) { /* instead of the report on an output that is not there */
        chm_out_fini(&job->err);
        chm_out_puts(&job->err, chm_out_text(&failure));
    }
    return st;
}

static ChmStatus compile(ChmJob *job)
{
    const ChmOptions *o = &job->options;
    ChmStatus st = chm_output_check(o->output, o->input, &job->err);
    if (!st)
        st = chm_job_load(job);
    if (!st)
        st = chm_job_optimize(job);
    if (!st)
        st = emit(job);
    if (st)
        return st;
    report(job);
    return write_output(job);
}

static ChmStatus execute(ChmJob *job)
{
    ChmStatus st = chm_job_load(job);
    if (!st)
        st = chm_job_optimize(job);
    if (!st) {
        report(job);
        st = chm_job_execute(job);
    }
    return st;
}

static ChmStatus steps(ChmJob *job, int argc, char **argv)
{
    ChmStatus st = chm_options_parse(&job->ctx.arena, argc, argv, &job->options, &job->err);
    if (!st) {
        if (job->options.show != CHM_SHOW_NOTHING)
            st = show(job);
        else
            st = job->options.command == CHM_COMMAND_RUN ? execute(job) : compile(job);
    }
    chm_job_flush(job);
    return st;
}

/* Apart from chm_driver, since setjmp leaves changed locals of its function indeterminate. */
static ChmStatus guarded(ChmJob *job, int argc, char **argv)
{
    if (CHM_TRY(&job->ctx.guard)) {
        ChmStatus st = steps(job, argc, argv);
        job->ctx.guard.armed = false;
        if (st != CHM_ERR_MEMORY) /* the executor has a guard of its own */
            return st;
    }
    fputs("chimerac: error: out of memory\n", stderr);
    return CHM_ERR_MEMORY;
}

static int exit_status(ChmStatus st)
{
    switch (st) {
    case CHM_OK:
        return 0;
    case CHM_ERR_INPUT:
    case CHM_ERR_IO:
        return 1;
    case CHM_ERR_USAGE:
        return 2;
    case CHM_ERR_MEMORY:
    case CHM_ERR_INTERNAL:
        break;
    }
    return 70;
}

ChmJob *chm_job_new(int64_t fail_at)
{
    ChmJob *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    chm_ctx_init(&job->ctx);
    job->ctx.guard.fail_at = fail_at;
    chm_out_init(&job->text, &job->ctx.guard);
    chm_out_init(&job->err, &job->ctx.guard);
    chm_out_init(&job->diagnostics, &job->ctx.guard);
    chm_out_init(&job->reproducer, &job->ctx.guard);
    job->pipeline = chm_pipeline_for_level;
    return job;
}

void chm_job_free(ChmJob *job)
{
    chm_out_fini(&job->reproducer);
    chm_out_fini(&job->diagnostics);
    chm_out_fini(&job->err);
    chm_out_fini(&job->text);
    chm_module_free(job->trial);
    if (job->best != job->baseline)
        chm_module_free(job->best);
    chm_module_free(job->baseline);
    chm_ctx_fini(&job->ctx);
    free(job);
}

int chm_driver(int argc, char **argv, int64_t fail_at)
{
    ChmJob *job = chm_job_new(fail_at);
    if (!job) {
        fputs("chimerac: error: out of memory\n", stderr);
        return exit_status(CHM_ERR_MEMORY);
    }
    int status = exit_status(guarded(job, argc, argv));
    chm_job_free(job);
    return status;
}
