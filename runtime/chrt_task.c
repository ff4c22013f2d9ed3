/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_task.c - preparing a task: every step on every chunk becomes part of one program.
 *
 *   READY(k, i)  the operand of step k, chunk i is there, and the step's chunk before is done, so the wire is free
 *   FREE(k, i)   its buffers may be written to: the step's chunk i - 2 is done, and step k + 1 has used its result
 *   DONE(k, i)   everything of it is complete
 *
 * So chunk i of step k runs beside chunk i + 1 of step k - 1 and chunk i - 1 of step k + 1. Between two steps lie two
 * buffers, for even and odd chunks; at the ends, those of the caller.
 */
#include "chrt_task.h"

#include <stdlib.h>
#include <string.h>

typedef struct Build {
    ChrtTask *task;
    ChrtRule *rule;
    ChrtCutting cutting;
    int32_t *done; /* [step][i % 3] */
    int32_t *ids;
    ChrtSpan *spans[2];
} Build;

static int32_t *done_of(const Build *b, int32_t step, int32_t chunk)
{
    return &b->done[step * 3 + chunk % 3];
}

/* ---- one step on one chunk -----------------------------------------------------------------------------------------
 */

/* Whether members should talk to each other directly: alike on all, since all have the same whole block. */
static bool is_short(const ChrtWork *w, const ChrtBox *whole)
{
    return chrt_box_elems(whole) / w->g * w->task->elem_bytes <= CHRT_DIRECT_BYTES;
}

static void make(ChrtWork *w)
{
    bool half = chrt_dtype_is_half(w->task->dtype);
    ChrtOp op = w->rule->step->op;
    bool takes_part = op == CHRT_BROADCAST ? w->needs : op == CHRT_SHIFT ? w->holds || w->needs : w->holds;
    if (op == CHRT_EXCHANGE || op == CHRT_REDUCE_EXCHANGE) {
        chrt_make_exchange(w);
        return;
    }
    if (w->g == 1 || !takes_part) {
        chrt_make_local(w);
        return;
    }
    switch (op) {
    case CHRT_ALL_REDUCE:
        if (half || is_short(w, &w->in_box))
            chrt_make_direct_all_reduce(w, !is_short(w, &w->in_box));
        else
            chrt_make_all_reduce(w);
        return;
    case CHRT_REDUCE_SCATTER:
        half || is_short(w, &w->in_box) ? chrt_make_direct_reduce_scatter(w) : chrt_make_reduce_scatter(w);
        return;
    case CHRT_ALL_GATHER:
        is_short(w, &w->out_box) ? chrt_make_direct_all_gather(w) : chrt_make_all_gather(w);
        return;
    case CHRT_REDUCE:
        half ? chrt_make_direct_reduce(w) : chrt_make_reduce(w);
        return;
    case CHRT_BROADCAST:
        chrt_make_broadcast(w);
        return;
    case CHRT_ALL_TO_ALL:
        chrt_make_all_to_all(w);
        return;
    case CHRT_SHIFT:
        chrt_make_shift(w);
        return;
    case CHRT_SLICE:
    case CHRT_DROP:
    case CHRT_COPY:
    case CHRT_EXCHANGE:
    case CHRT_REDUCE_EXCHANGE:
        return; /* done above */
    }
}

/* Where the chunk lies after `step` (-1: at the beginning): with the caller, or in the middle buffer of its parity. */
static ChrtView view_after(const Build *b, int32_t step, int32_t chunk, const ChrtLayout *layout, const ChrtBox *box)
{
    const ChrtCtx *ctx = b->task->ctx;
    if (step < 0)
        return chrt_chunk_view(&b->cutting, ctx->mesh, layout, chunk, ctx->rank, CHRT_IN, b->spans[0]);
    if (step == b->task->nsteps - 1)
        return chrt_chunk_view(&b->cutting, ctx->mesh, layout, chunk, ctx->rank, CHRT_OUT, b->spans[1]);
    return chrt_packed((ChrtPlace){CHRT_REGION + 2 * step + chunk % 2, 0, 0}, box);
}

/* DONE waits for what nothing else of the step waits for. */
static void close_work(Build *b, ChrtWork *w, int32_t first)
{
    ChrtTask *t = b->task;
    int32_t done = chrt_join(t, w->step), *region = done_of(b, w->step, w->chunk);
    for (int32_t i = first; i < done; i++)
        if (!t->action[i].followed)
            chrt_after(t, done, i);
    *region = done;
    int64_t *bytes = &t->region[2 * w->step + w->chunk % 2];
    *bytes = w->used > *bytes ? w->used : *bytes;
}

static void make_work(Build *b, int32_t step, int32_t chunk)
{
    ChrtTask *t = b->task;
    const ChrtCtx *ctx = t->ctx;
    const ChrtRule *rule = &b->rule[step];
    ChrtWork w = {.task = t, .rule = rule, .cutting = &b->cutting, .mesh = ctx->mesh, .step = step, .chunk = chunk};
    w.rank = ctx->rank;
    w.g = rule->group ? rule->group->size : 1;
    w.me = rule->group ? rule->group->me : 0;
    w.holds = chrt_layout_present(ctx->mesh, &rule->from, ctx->rank);
    w.needs = chrt_layout_present(ctx->mesh, &rule->to, ctx->rank);
    w.in_box = chrt_chunk_box(&b->cutting, ctx->mesh, &rule->from, chunk, ctx->rank);
    w.out_box = chrt_chunk_box(&b->cutting, ctx->mesh, &rule->to, chunk, ctx->rank);
    w.in_elems = w.holds ? chrt_box_elems(&w.in_box) : 0;
    w.out_elems = w.needs ? chrt_box_elems(&w.out_box) : 0;
    w.in = view_after(b, step - 1, chunk, &rule->from, &w.in_box);
    w.out = view_after(b, step, chunk, &rule->to, &w.out_box);
    w.ids = b->ids;
    if (step < t->nsteps - 1) /* the result of the step comes first in its region */
        chrt_take(&w, w.out_elems, t->elem_bytes);

    int32_t first = t->nactions;
    w.free = chrt_join(t, step);
    if (chunk >= 2)
        chrt_after(t, w.free, *done_of(b, step, chunk - 2));
    if (chunk >= 2 && step + 1 < t->nsteps)
        chrt_after(t, w.free, *done_of(b, step + 1, chunk - 2));
    w.ready = chrt_join(t, step);
    if (chunk >= 1)
        chrt_after(t, w.ready, *done_of(b, step, chunk - 1));
    if (step >= 1)
        chrt_after(t, w.ready, *done_of(b, step - 1, chunk));
    make(&w);
    close_work(b, &w, first);
}

/* ---- the task ------------------------------------------------------------------------------------------------------
 */

void chrt_task_free(ChrtTask *task)
{
    if (!task)
        return;
    free(task->steps);
    free(task->action);
    free(task->walk);
    free(task->edge);
    bool over = chrt_mpi_is_over();
    for (int32_t i = 0; i < task->nstrided && !over; i++)
        MPI_Type_free(&task->strided[i].type);
    free(task->strided);
    free(task->next);
    free(task->region);
    free(task->scratch_memory);
    free(task->waiting);
    free(task->under_way);
    free(task->ready);
    chrt_library_free(task->library);
    free(task);
}

int64_t chrt_task_bytes(const ChrtTask *task)
{
    return task->scratch_bytes;
}

static ChrtStatus check_steps(ChrtCtx *ctx, const ChrtStep *steps, int32_t nsteps, ChrtRule *rule)
{
    for (int32_t k = 0; k < nsteps; k++) {
        CHRT_TRY(chrt_rule_check(ctx, &steps[k], &rule[k]));
        if (k > 0 && !chrt_layout_equal(&rule[k - 1].to, &rule[k].from))
            return chrt_fail(ctx, CHRT_ERR_TYPE, "%s %.64s: does not begin in the layout where the step before ends",
                             chrt_op_name(steps[k].op), steps[k].name);
    }
    return CHRT_OK;
}

static ChrtStatus build(Build *b, const ChrtCut *cut)
{
    ChrtTask *t = b->task;
    ChrtCtx *ctx = t->ctx;
    int32_t n = t->nsteps;
    CHRT_TRY(check_steps(ctx, t->steps, n, b->rule));
    CHRT_TRY(chrt_cutting_make(ctx, cut, &b->rule[0].from, &b->rule[n - 1].to, &b->cutting));
    b->done = malloc((size_t)n * 3 * sizeof *b->done);
    b->ids = malloc((size_t)ctx->ranks * sizeof *b->ids);
    for (int e = 0; e < 2; e++)
        b->spans[e] = malloc((size_t)b->cutting.blocks * sizeof *b->spans[e]);
    t->region = calloc((size_t)n, 2 * sizeof *t->region);
    if (!b->done || !b->ids || !b->spans[0] || !b->spans[1] || !t->region)
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "prepare %.64s: out of memory", t->steps[0].name);
    if (n > (ctx->max_tag - ctx->next_tag) / 2)
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "prepare %.64s: no message tags left", t->steps[0].name);

    const ChrtStep *first = &t->steps[0], *last = &t->steps[n - 1];
    t->dtype = first->from->dtype;
    t->elem_bytes = chrt_dtype_bytes(t->dtype);
    t->sum_bytes = chrt_sum_bytes(t->dtype);
    t->mpi = chrt_dtype_mpi(t->dtype);
    t->in_elems = chrt_local_elems(ctx->mesh, first->from, ctx->rank);
    t->out_elems = chrt_local_elems(ctx->mesh, last->to, ctx->rank);
    t->tag = ctx->next_tag;
    for (int32_t i = 0; i < b->cutting.chunks; i++)
        for (int32_t k = 0; k < n; k++)
            make_work(b, k, i);
    CHRT_TRY(chrt_program_close(t));
    CHRT_TRY(chrt_engine_reserve(ctx, chrt_task_messages(t)));
    if (ctx->library && n == 1 && b->cutting.chunks == 1)
        return chrt_library_make(t, &b->rule[0], &t->library);
    return CHRT_OK;
}

static bool remember(ChrtCtx *ctx, ChrtTask *task)
{
    ChrtTask **tasks = realloc(ctx->tasks, ((size_t)ctx->ntasks + 1) * sizeof(ChrtTask *));
    if (!tasks)
        return false;
    ctx->tasks = tasks;
    tasks[ctx->ntasks++] = task;
    return true;
}

ChrtStatus chrt_prepare(ChrtCtx *ctx, const ChrtStep *steps, int32_t nsteps, const ChrtCut *cut, ChrtTask **task)
{
    *task = NULL;
    if (nsteps < 1) /* alike on every rank */
        return chrt_fail(ctx, CHRT_ERR_TYPE, "prepare: a task needs a step");
    Build b = {.task = calloc(1, sizeof *b.task), .rule = malloc((size_t)nsteps * sizeof *b.rule)};
    ChrtTask *t = b.task;
    ChrtStatus status = CHRT_OK;
    if (t)
        t->steps = malloc((size_t)nsteps * sizeof *t->steps);
    if (!t || !t->steps || !b.rule) {
        status = chrt_fail(ctx, CHRT_ERR_MEMORY, "prepare %.64s: out of memory", steps[0].name);
    } else {
        t->ctx = ctx;
        t->nsteps = nsteps;
        memcpy(t->steps, steps, (size_t)nsteps * sizeof *steps);
        status = build(&b, cut);
        if (status == CHRT_OK && !remember(ctx, t))
            status = chrt_fail(ctx, CHRT_ERR_MEMORY, "prepare %.64s: out of memory", steps[0].name);
        ctx->next_tag += 2 * nsteps;
    }
    chrt_cutting_free(&b.cutting);
    free(b.rule);
    free(b.done);
    free(b.ids);
    free(b.spans[0]);
    free(b.spans[1]);
    bool mine = status == CHRT_OK;
    status = chrt_agree(ctx, "prepare", status);
    if (status == CHRT_OK) {
        *task = t;
        return CHRT_OK;
    }
    if (mine)
        ctx->ntasks--;
    chrt_task_free(t);
    return status;
}
