/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/run.c - 'chimerac run': the schedule, executed for all ranks in this process.
 */
#include "driver/job.h"

#include <inttypes.h>

enum { NSEEDS = 3 };

static void tell_mismatch(ChmJob *job, uint64_t seed, const ChmRunReport *r)
{
    const ChmMismatch *first = &r->first;
    int32_t ndims = 0;
    for (int32_t i = 0; i < job->expects.len; i++) {
        if (job->expects.at[i].output == first->output)
            ndims = job->expects.at[i].type->shape->ndims;
    }
    chm_out_printf(&job->err, "chimerac: error: output '%s' of rank %d at [", first->output, (int)first->rank);
    for (int32_t d = 0; d < ndims; d++)
        chm_out_printf(&job->err, "%s%" PRId64, d ? ", " : "", first->index[d]);
    chm_out_printf(&job->err, "] is %.17g, not %.17g (seed %" PRIu64 "; %" PRId64 " wrong elements)\n", first->got,
                   first->expected, seed, r->mismatches);
}

ChmStatus chm_job_execute(ChmJob *job)
{
    const ChmOptions *o = &job->options;
    ChmRunReport all = {0};
    for (uint64_t seed = o->seed; seed < o->seed + NSEEDS; seed++) {
        ChmDataSpec data = {.seed = seed, .random_float = o->random_float};
        ChmRunReport r = {0};
        ChmStatus st = chm_run(job->best, &job->expects, &data, o->memory_bytes, &r);
        if (st)
            return st;
        if (r.mismatches && !all.mismatches)
            tell_mismatch(job, seed, &r);
        all.mismatches += r.mismatches;
        all.outputs_checked += r.outputs_checked;
        all.elements_checked += r.elements_checked;
    }
    chm_out_printf(&job->text, "%s: %s ranks=%d seeds=%d buffers=%" PRId64 " elements=%" PRId64, job->best->name,
                   all.mismatches ? "FAILED" : "ok", (int)job->best->mesh->ranks, NSEEDS, all.outputs_checked,
                   all.elements_checked);
    if (all.mismatches)
        chm_out_printf(&job->text, " wrong=%" PRId64, all.mismatches);
    chm_out_putc(&job->text, '\n');
    ChmStatus st = chm_output_write(&job->ctx.arena, "-", &job->text, &job->err);
    return st ? st : all.mismatches ? CHM_ERR_INPUT : CHM_OK;
}
