/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/report.c - what the user is told on standard error: the summary that nobody has to ask for, and the tables of
 * --stats, --explain and --time-passes.
 */
#include "driver/figures.h"
#include "driver/job.h"

#include <inttypes.h>
#include <string.h>

static void figures(ChmJob *job, ChmFigures *baseline, ChmFigures *best, int64_t *bound)
{
    chm_figures_of(baseline, &job->ctx.arena, job->pricer, job->baseline);
    chm_figures_of(best, &job->ctx.arena, job->pricer, job->best);
    *bound = chm_bound_module(&job->ctx.arena, job->baseline);
}

static void put_axes(ChmOut *out, const ChmMesh *mesh, ChmAxes axes)
{
    ChmAxisSeq s = chm_seq_of_set(axes);
    chm_seq_print(out, mesh, &s, "+");
}

static void put_mesh(ChmOut *out, const ChmMesh *mesh)
{
    chm_out_printf(out, "%d rank%s, mesh ", (int)mesh->ranks, mesh->ranks == 1 ? "" : "s");
    chm_mesh_print(out, mesh);
}

static void put_head(ChmJob *job)
{
    ChmOut *out = &job->err;
    chm_out_printf(out, "%s: ", job->baseline->name);
    put_mesh(out, job->baseline->mesh);
    if (job->topology != &chm_default_topology)
        chm_out_printf(out, ", topology %s", job->topology->name);
    if (job->set_aside)
        chm_out_printf(out, " in place of %s", job->set_aside);
    chm_out_putc(out, '\n');
}

/* "all_reduce 1, shift 1; worst rank 160 MiB (tp 96 MiB, pp 64 MiB)" */
static void put_schedule(ChmOut *out, const ChmMesh *mesh, const ChmFigures *f)
{
    bool any = false;
    for (int32_t code = 0; code < CHM_NOPS; code++) {
        if (!f->count[code] || !chm_op_communicates((ChmOpcode)code))
            continue;
        chm_out_printf(out, "%s%s %d", any ? ", " : "", chm_ops[code].name, (int)f->count[code]);
        any = true;
    }
    if (!any) {
        chm_out_puts(out, "no communication");
        return;
    }
    chm_out_puts(out, "; worst rank ");
    chm_out_bytes(out, f->price.worst_bytes);
    for (int32_t i = 0; i < f->axes.len; i++) {
        chm_out_puts(out, i ? ", " : " (");
        put_axes(out, mesh, f->axes.at[i].axes);
        chm_out_putc(out, ' ');
        chm_out_bytes(out, f->axes.at[i].worst_bytes);
    }
    chm_out_putc(out, ')');
}

static double ratio(int64_t a, int64_t b)
{
    return (double)a / (double)b;
}

/* "1.29 times less" */
static void put_gain(ChmOut *out, int64_t before, int64_t after)
{
    if (after == before) {
        chm_out_puts(out, before ? ", the same" : "");
    } else if (after > 0 && ratio(before, after) >= 1.005) {
        chm_out_printf(out, ", %.2f times less", ratio(before, after));
    } else if (after > 0 && after < before) { /* 1.00 times less would say nothing */
        chm_out_puts(out, ", ");
        chm_out_bytes(out, before - after);
        chm_out_puts(out, " less");
    }
}

static void put_bound(ChmOut *out, const ChmFigures *best, int64_t bound)
{
    chm_out_puts(out, "  lower bound  ");
    chm_out_bytes(out, bound);
    if (best->price.worst_bytes == bound)
        chm_out_puts(out, ", which the schedule meets");
    else if (bound > 0 && ratio(best->price.worst_bytes, bound) >= 1.0005) /* else it would read 1.000 */
        chm_out_printf(out, "; the schedule is at %.3f of it", ratio(best->price.worst_bytes, bound));
    else if (bound > 0) {
        chm_out_puts(out, "; the schedule is ");
        chm_out_bytes(out, best->price.worst_bytes - bound);
        chm_out_puts(out, " above it");
    }
    chm_out_putc(out, '\n');
}

/* A redundancy: what went, and what that saves the worst rank. */
static void put_finding(ChmOut *out, const ChmRemark *r)
{
    if (r->kind != CHM_APPLIED || !r->brief || r->saved_bytes <= 0)
        return;
    chm_out_puts(out, "  found: ");
    if (r->span.source) {
        uint32_t line, col;
        chm_source_place(r->span.source, r->span.begin, &line, &col);
        chm_out_printf(out, "line %" PRIu32 ": ", line);
    }
    chm_out_printf(out, "%s: ", r->brief);
    chm_out_bytes(out, r->saved_bytes);
    chm_out_puts(out, " less\n");
}

void chm_report_summary(ChmJob *job)
{
    ChmFigures baseline, best;
    int64_t bound;
    ChmOut *out = &job->err;
    const ChmMesh *mesh = job->baseline->mesh;
    figures(job, &baseline, &best, &bound);
    put_head(job);
    chm_out_puts(out, "  as written   ");
    put_schedule(out, mesh, &baseline);
    chm_out_puts(out, "\n  optimized    ");
    put_schedule(out, mesh, &best);
    put_gain(out, baseline.price.worst_bytes, best.price.worst_bytes);
    chm_out_putc(out, '\n');
    put_bound(out, &best, bound);
    if (job->topology != &chm_default_topology)
        chm_out_printf(out, "  predicted    %.4g ms as written, %.4g ms optimized\n", baseline.price.time_s * 1e3,
                       best.price.time_s * 1e3);
    for (int32_t i = 0; i < job->ctx.remarks.list.len && !job->options.explain; i++)
        put_finding(out, &job->ctx.remarks.list.at[i]);
}

void chm_report_explain(ChmJob *job)
{
    if (job->ctx.remarks.list.len)
        chm_remarks_render(&job->ctx.remarks, &job->err);
    else
        chm_out_puts(&job->err, "chimerac: no pass had anything to say\n");
}

/* ---- --stats */

static void row(ChmOut *out, const char *name, int64_t baseline, int64_t best)
{
    chm_out_printf(out, "  %-26s %18" PRId64 " %18" PRId64 "\n", name, baseline, best);
}

static void axis_rows(ChmJob *job, const ChmFigures *baseline, const ChmFigures *best)
{
    const ChmFigures *both[] = {baseline, best};
    for (int32_t k = 0; k < 2; k++) {
        for (int32_t i = 0; i < both[k]->axes.len; i++) {
            ChmAxes axes = both[k]->axes.at[i].axes;
            bool shown = false;
            for (int32_t j = 0; k == 1 && j < baseline->axes.len; j++)
                shown = shown || baseline->axes.at[j].axes == axes;
            if (shown)
                continue;
            ChmOut name;
            chm_out_init_arena(&name, &job->ctx.arena);
            chm_out_puts(&name, "worst rank over ");
            put_axes(&name, job->baseline->mesh, axes);
            row(&job->err, chm_out_text(&name), chm_figures_axis(baseline, axes), chm_figures_axis(best, axes));
        }
    }
}

void chm_report_stats(ChmJob *job)
{
    ChmFigures baseline, best;
    int64_t bound;
    ChmOut *out = &job->err;
    figures(job, &baseline, &best, &bound);
    const ChmPrice *a = &baseline.price, *b = &best.price;
    put_head(job);
    chm_out_printf(out, "  %-26s %18s %18s %18s\n", "bytes", "as written", "optimized", "bound");
    chm_out_printf(out, "  %-26s %18" PRId64 " %18" PRId64 " %18" PRId64 "\n", "worst rank", a->worst_bytes,
                   b->worst_bytes, bound);
    row(out, "worst rank, sent", a->worst_sent_bytes, b->worst_sent_bytes);
    row(out, "worst rank, received", a->worst_received_bytes, b->worst_received_bytes);
    axis_rows(job, &baseline, &best);
    row(out, "all ranks, sent", a->total_bytes, b->total_bytes);
    row(out, "arena of a rank", baseline.arena_bytes, best.arena_bytes);
    chm_out_printf(out, "  %-26s %18.6f %18.6f\n", "time by the model, ms", 1e3 * a->time_s, 1e3 * b->time_s);
    row(out, "messages", a->messages, b->messages);
    for (int32_t code = 0; code < CHM_NOPS; code++) {
        bool counted = chm_ops[code].class == CHM_CLASS_LAYOUT && (baseline.count[code] || best.count[code]);
        if (counted)
            row(out, chm_ops[code].name, baseline.count[code], best.count[code]);
    }
    if (baseline.started || best.started)
        row(out, "of these started early", baseline.started, best.started);
    if (b->worst_bytes == bound)
        chm_out_puts(out, "  the schedule meets its bound\n");
}

/* ---- --time-passes */

void chm_report_times(ChmJob *job)
{
    double total = 0;
    for (int32_t i = 0; i < job->nstats; i++) {
        const ChmPassStat *s = &job->stats[i];
        total += s->seconds;
        chm_out_printf(&job->err, "  %10.6f s  %-18s %d change%s\n", s->seconds, s->pass->name, (int)s->changes,
                       s->changes == 1 ? "" : "s");
    }
    chm_out_printf(&job->err, "  %10.6f s  all passes\n", total);
}
