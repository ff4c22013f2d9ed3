/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/job.h - one run of chimerac, from its command line to its exit status. Private to this folder.
 */
#ifndef CHM_DRIVER_JOB_H
#define CHM_DRIVER_JOB_H

#include "check/check.h"
#include "cost/pricer.h"
#include "driver/options.h"

/* Everything that must be given back at the end, also after an unwinding. */
typedef struct ChmJob {
    ChmCtx ctx;
    ChmOptions options;
    const ChmSource *source;
    const ChmPlan *plan;         /* NULL when the input is IR */
    const ChmTopology *topology; /* the machine: everything that asks for a price asks for it here */
    ChmPricer *pricer;           /* on it */
    const char *set_aside;       /* name of the input's own topology where --topology took its place; else NULL */
    ChmModule *baseline;         /* the plan as written */
    ChmModule *best;             /* the schedule chosen */
    ChmModule *trial;            /* under work; NULL between steps */
    ChmExpects expects;
    ChmOut text;        /* what goes to the output */
    ChmOut err;         /* what goes to standard error, flushed step by step */
    ChmOut diagnostics; /* rendered, on their way there */
    ChmOut reproducer;  /* a module on which a pass failed */
    int32_t nstats;
    ChmPassStat stats[64];
    /* The passes of an -O level: chm_pipeline_for_level, but for tests. */
    void (*pipeline)(int32_t level, const ChmPass **list, int32_t max, int32_t *n);
} ChmJob;

/* NULL when there is no memory for it. fail_at: see chm_driver. */
CHM_GIVE ChmJob *chm_job_new(int64_t fail_at);
void chm_job_free(CHM_TAKE ChmJob *job);

/* Each reports what is wrong before it returns; the caller stops then. */

/* source, plan, topology, baseline, expects. */
ChmStatus chm_job_load(ChmJob *job) CHM_MUST_USE;
/* best, never dearer than baseline; both checked against expects. CHM_ERR_INPUT when none is as small as --max-buffer
 * wants it. */
ChmStatus chm_job_optimize(ChmJob *job) CHM_MUST_USE;
/* chimerac run: executes best. CHM_ERR_INPUT when an output is wrong. */
ChmStatus chm_job_execute(ChmJob *job) CHM_MUST_USE;

/* Diagnostics not yet shown, then all of job->err, to standard error. */
void chm_job_flush(ChmJob *job);
/* "chimerac: internal error: ..." */
void chm_job_internal_error(ChmJob *job, const char *fmt, ...) CHM_PRINTF(2, 3);

/* Into job->err: what the user sees without asking, and on --explain, --stats, --time-passes. */
void chm_report_summary(ChmJob *job);
void chm_report_explain(ChmJob *job);
void chm_report_ways(ChmJob *job); /* ways.c: of --explain, the tables of ways */
void chm_report_stats(ChmJob *job);
void chm_report_times(ChmJob *job);

/* ---- output.c */

/* CHM_ERR_IO with a message in *err when path cannot become the output of a compilation of 'input': it is that file, or
 * a directory. */
ChmStatus chm_output_check(const char *path, const char *input, ChmOut *err) CHM_MUST_USE;
/* Writes all of it or changes nothing: a regular file gets a neighbour first, which then takes its name. Devices and
 * pipes are written directly; "-" is standard output. */
ChmStatus chm_output_write(ChmArena *arena, const char *path, const ChmOut *text, ChmOut *err) CHM_MUST_USE;

#endif
