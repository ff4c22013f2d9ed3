/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/optimize.c - load a plan, optimize it, and trust nothing on the way: types and results are checked before the
 * first pass and after the last.
 */
#include "driver/job.h"
#include "ir/buffers.h"

#include <inttypes.h>
#include <string.h>

/* ---- loading */

static ChmStatus check(ChmJob *job, ChmModule *m, const char *whose)
{
    ChmWhy why = {0};
    if (chm_module_verify(m) != CHM_OK) {
        chm_job_flush(job);
        chm_job_internal_error(job, "%s does not type-check", whose);
        return CHM_ERR_INTERNAL;
    }
    if (chm_check_equal(m, &job->expects, &why) != CHM_OK) {
        chm_job_internal_error(job, "%s is not what the plan says: %s", whose, why.text ? why.text : "no reason given");
        return CHM_ERR_INTERNAL;
    }
    return CHM_OK;
}

static ChmStatus load_plan(ChmJob *job, const ChmSource *machine)
{
    const ChmOptions *o = &job->options;
    job->plan = chm_plan_parse_on(&job->ctx, job->source, machine, o->defines.at, o->defines.len);
    if (!job->plan)
        return CHM_ERR_INPUT;
    job->set_aside = chm_plan_topology_set_aside(job->plan);
    job->baseline = chm_plan_lower(&job->ctx, job->plan);
    chm_plan_expects(&job->ctx.arena, job->plan, job->baseline, &job->expects);
    return check(job, job->baseline, "the plan as lowered");
}

static ChmStatus load_ir(ChmJob *job, const ChmSource *machine)
{
    const ChmOptions *o = &job->options;
    job->baseline = chm_module_parse(&job->ctx, job->source);
    if (!job->baseline)
        return CHM_ERR_INPUT;
    if (machine) {
        const ChmTopology *own = job->baseline->topology;
        job->set_aside = own ? own->name : NULL;
        job->baseline->topology =
            chm_topology_parse(&job->ctx, machine, o->defines.at, o->defines.len, job->baseline->mesh);
        if (!job->baseline->topology)
            return CHM_ERR_INPUT;
    }
    chm_expects_of_module(&job->ctx.arena, job->baseline, &job->expects);
    return check(job, job->baseline, "the module as read");
}

ChmStatus chm_job_load(ChmJob *job)
{
    const ChmOptions *o = &job->options;
    const ChmSource *machine = NULL; /* of --topology */
    ChmStatus st = chm_source_read(&job->ctx.diags, o->input, &job->source);
    if (!st && o->topology)
        st = chm_source_read(&job->ctx.diags, o->topology, &machine);
    if (!st)
        st = o->language == CHM_LANGUAGE_IR ? load_ir(job, machine) : load_plan(job, machine);
    if (st)
        return st;
    job->topology = job->baseline->topology ? job->baseline->topology : &chm_default_topology;
    job->pricer = chm_pricer_new(&job->ctx.arena, job->topology, job->baseline->mesh);
    if (job->set_aside)
        chm_remark(&job->ctx.remarks, CHM_MISSED, "driver", job->topology->span, 0,
                   "the schedule is for topology '%s', in place of the input's own '%s'", job->topology->name,
                   job->set_aside);
    return CHM_OK;
}

/* ---- optimizing */

static bool wants_dump(const ChmOptions *o, const ChmPass *pass, int32_t changes)
{
    if (o->print_changed && changes > 0)
        return true;
    for (int32_t i = 0; i < o->print_after.len; i++) {
        const char *name = o->print_after.at[i];
        if (strcmp(name, "all") == 0 || strcmp(name, pass->name) == 0)
            return true;
    }
    return false;
}

static void after_pass(void *user, const ChmPass *pass, ChmModule *m, int32_t changes)
{
    ChmJob *job = user;
    if (!wants_dump(&job->options, pass, changes))
        return;
    chm_out_printf(&job->err, "# ---- after %s: %d change%s ----\n", pass->name, (int)changes, changes == 1 ? "" : "s");
    chm_module_print(m, &job->err);
    chm_job_flush(job);
}

/* The module before the failing pass, as a file in the current folder: the output's folder may be read-only. */
static void write_reproducer(ChmJob *job, const char *pass)
{
    if (!job->reproducer.len)
        return;
    const char *path = chm_arena_printf(&job->ctx.arena, "%s-%s.ir", job->baseline->name, pass);
    if (chm_output_write(&job->ctx.arena, path, &job->reproducer, &job->err) == CHM_OK)
        chm_out_printf(&job->err, "chimerac: note: the IR before that pass is in '%s'; please report it\n", path);
}

static void drop_trial(ChmJob *job)
{
    chm_module_free(job->trial);
    job->trial = NULL;
}

static ChmStatus run_passes(ChmJob *job, const ChmPass *const *list, int32_t n, const ChmPassOptions *options)
{
    const ChmPass *culprit = NULL;
    ChmWhy why = {0};
    job->trial = chm_module_clone(job->baseline);
    job->nstats = n;
    ChmStatus st = chm_passes_run(job->trial, list, n, options, job->stats, &culprit, &why, &job->reproducer);
    if (!st)
        return CHM_OK;
    const char *name = culprit ? culprit->name : "(none)";
    chm_job_flush(job);
    chm_job_internal_error(job, "pass '%s': %s", name,
                           why.text ? why.text : "it left a module that does not type-check");
    write_reproducer(job, name);
    return CHM_ERR_INTERNAL;
}

/* job->trial = baseline after the passes, checked. When a check at the end fails, a second run that checks after every
 * pass finds the one to blame. */
static ChmStatus try_passes(ChmJob *job, const ChmPass *const *list, int32_t n)
{
    ChmPassOptions options = {.topology = job->topology,
                              .pricer = job->pricer,
                              .chunks = job->options.chunks,
                              .max_buffer_bytes = job->options.max_buffer_bytes,
                              .verify_each = job->options.verify_each,
                              .after = after_pass,
                              .user = job,
                              .validate = chm_check_equal,
                              .expected = &job->expects};
    ChmStatus st = run_passes(job, list, n, &options);
    if (st)
        return st;
    st = check(job, job->trial, "the optimized schedule");
    if (st && !options.verify_each) {
        drop_trial(job);
        options.verify_each = true;
        options.after = NULL;
        ChmStatus again = run_passes(job, list, n, &options);
        st = again ? again : st;
    }
    return st;
}

static void keep(ChmJob *job, ChmModule *m)
{
    job->best = m;
    job->trial = NULL;
}

static void remark_dearer(ChmJob *job, const ChmPrice *price, const ChmPrice *limit, const char *kept)
{
    ChmOut text;
    chm_out_init_arena(&text, &job->ctx.arena);
    chm_out_puts(&text, "the schedule that the passes made would move ");
    chm_out_bytes(&text, price->worst_bytes);
    chm_out_printf(&text, " on its worst rank in %.3g ms, against ", 1e3 * price->time_s);
    chm_out_bytes(&text, limit->worst_bytes);
    chm_out_printf(&text, " in %.3g ms as written; %s", 1e3 * limit->time_s, kept);
    chm_remark(&job->ctx.remarks, CHM_MISSED, "driver", (ChmSpan){0}, 0, "%s", chm_out_text(&text));
}

/* ---- --max-buffer */

/* Of the schedules tried, the one that needs the least of a rank's memory. */
typedef struct Least {
    int64_t arena_bytes;
    ChmSpan span; /* of the op that makes the value on top */
    int32_t level;
} Least;

/* Whether the trial's arena is as small as asked for. */
static bool fits(ChmJob *job, int32_t level, Least *least)
{
    ChmBuffers buffers;
    if (job->options.max_buffer_bytes == 0)
        return true;
    chm_buffers_plan(&job->ctx.arena, job->trial, &buffers);
    if (buffers.arena_bytes < least->arena_bytes)
        *least = (Least){buffers.arena_bytes, buffers.top ? buffers.top->def->span : (ChmSpan){0}, level};
    return buffers.arena_bytes <= job->options.max_buffer_bytes;
}

static void remark_too_large(ChmJob *job, const char *kept)
{
    ChmBuffers buffers;
    chm_buffers_plan(&job->ctx.arena, job->trial, &buffers);
    chm_remark(&job->ctx.remarks, CHM_MISSED, "driver", (ChmSpan){0}, 0,
               "the schedule that the passes made would keep %" PRId64
               " bytes on a rank, more than '--max-buffer' allows; %s",
               buffers.arena_bytes, kept);
}

static ChmStatus refuse(ChmJob *job, const Least *least)
{
    const ChmOptions *o = &job->options;
    ChmDiag *d = chm_error(&job->ctx.diags, least->span,
                           "a rank keeps %" PRId64 " bytes between ops when this is made, more than the %" PRId64
                           " that '--max-buffer' allows",
                           least->arena_bytes, o->max_buffer_bytes);
    if (o->passes_given)
        chm_help(&job->ctx.diags, d, "The least that would fit with these passes is '--max-buffer=%" PRId64 "'.",
                 least->arena_bytes);
    else
        chm_help(&job->ctx.diags, d, "The least that would fit is '--max-buffer=%" PRId64 "', with -O%d.",
                 least->arena_bytes, (int)least->level);
    return CHM_ERR_INPUT;
}

/* Never dearer than as written: -O2 falls back to -O1, and that to the plan itself. With --passes the user has the say.
 */
ChmStatus chm_job_optimize(ChmJob *job)
{
    const ChmOptions *o = &job->options;
    const ChmPass *list[64];
    ChmPrice limit = chm_pricer_module(job->pricer, job->baseline);
    Least least = {.arena_bytes = INT64_MAX};
    for (int32_t level = o->level;; level = level > 1 ? 1 : 0) {
        int32_t n = 0, remarks_before = job->ctx.remarks.list.len;
        if (o->passes_given) {
            for (; n < o->passes.len && n < 64; n++)
                list[n] = o->passes.at[n];
        } else {
            job->pipeline(level, list, 64, &n);
        }
        ChmStatus st = try_passes(job, list, n);
        if (st)
            return st;
        ChmPrice price = chm_pricer_module(job->pricer, job->trial);
        bool last = level == 0 || o->passes_given, small = fits(job, level, &least);
        if (small && (last || chm_price_compare(&price, &limit) <= 0)) {
            keep(job, job->trial);
            return CHM_OK;
        }
        if (last)
            return refuse(job, &least);
        job->ctx.remarks.list.len = remarks_before; /* about a schedule that nobody sees */
        const char *kept = level > 1 ? "the local rules alone are tried" : "that one is kept";
        if (small)
            remark_dearer(job, &price, &limit, kept);
        else
            remark_too_large(job, level > 1 ? kept : "the plan as written is tried");
        drop_trial(job);
    }
}
