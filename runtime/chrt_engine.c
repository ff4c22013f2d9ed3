/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_engine.c - progress: runs the programs of all started tasks. What is ready is posted or done at once, deepest
 * first, so that a message leaves as soon as its data are there; then the engine waits for any of all the messages
 * under way. Nothing is allocated here but by chrt_engine_reserve.
 */
#include "chrt_task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- room ----------------------------------------------------------------------------------------------------------
 */

static int64_t messages_of(const ChrtAction *a)
{
    return a->elems / CHRT_MAX_COUNT + (a->elems % CHRT_MAX_COUNT != 0);
}

int64_t chrt_task_messages(const ChrtTask *task)
{
    int64_t n = 0;
    for (int32_t i = 0; i < task->nactions; i++)
        n += messages_of(&task->action[i]); /* elems is 0 for what is no message */
    return n;
}

/* Messages of other tasks may be under way: the arrays move with what they hold. */
static bool move_array(void **array, int64_t n, size_t bytes)
{
    void *memory = (uint64_t)n > SIZE_MAX / bytes ? NULL : realloc(*array, (size_t)n * bytes);
    if (memory)
        *array = memory;
    return memory != NULL;
}

ChrtStatus chrt_engine_reserve(ChrtCtx *ctx, int64_t messages)
{
    int64_t n = ctx->max_requests + messages;
    void *requests = ctx->requests, *posted = ctx->posted, *statuses = ctx->statuses;
    bool ok = n <= INT32_MAX;
    if (n == 0)
        return CHRT_OK;
    ok = ok && move_array(&requests, n, sizeof *ctx->requests);
    ctx->requests = requests;
    ok = ok && move_array(&posted, n, sizeof *ctx->posted);
    ctx->posted = posted;
    ok = ok && move_array(&statuses, n, sizeof *ctx->statuses);
    ctx->statuses = statuses;
    if (!ok)
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "prepare: no memory for %" PRId64 " messages", n);
    ctx->max_requests = (int32_t)n;
    return CHRT_OK;
}

/* ---- running actions -----------------------------------------------------------------------------------------------
 */

static const unsigned char *source(const ChrtTask *t, const ChrtPlace *place)
{
    const unsigned char *base = place->base == CHRT_IN ? t->in : place->base == CHRT_OUT ? t->out : t->scratch;
    return base + place->offset;
}

static unsigned char *target(const ChrtTask *t, const ChrtPlace *place)
{
    return (place->base == CHRT_OUT ? t->out : t->scratch) + place->offset;
}

static ChrtStatus fail_mpi(ChrtTask *t, int32_t action, int mpi_error)
{
    const ChrtStep *step = &t->steps[t->action[action].step];
    return chrt_fail_mpi(t->ctx, chrt_op_name(step->op), step->name, mpi_error);
}

/* One need less. */
static void release(ChrtTask *t, int32_t action)
{
    if (--t->waiting[action] == 0)
        t->ready[t->nready++] = action;
}

static void complete(ChrtTask *t, const ChrtAction *a)
{
    t->left--;
    for (int32_t i = a->nnext - 1; i >= 0; i--) /* a stack: the first written is run first */
        release(t, t->next[a->next + i]);
}

static ChrtStatus post(ChrtTask *t, int32_t action)
{
    ChrtCtx *ctx = t->ctx;
    const ChrtAction *a = &t->action[action];
    for (int64_t done = 0; done < a->elems;) {
        int count = (int)(a->elems - done < CHRT_MAX_COUNT ? a->elems - done : CHRT_MAX_COUNT);
        MPI_Request *request = &ctx->requests[ctx->nrequests];
        int64_t offset = done * t->elem_bytes;
        MPI_Datatype type = a->at.strided ? t->strided[a->at.strided - 1].type : t->mpi;
        int n = a->at.strided ? 1 : count, rc;
        if (a->verb == CHRT_RECV)
            rc = MPI_Irecv(target(t, &a->at) + offset, n, type, a->peer, a->tag, ctx->comm, request);
        else
            rc = MPI_Isend(source(t, &a->at) + offset, n, type, a->peer, a->tag, ctx->comm, request);
        if (rc != MPI_SUCCESS)
            return fail_mpi(t, action, rc);
        ctx->posted[ctx->nrequests++] = (ChrtPosted){t, action};
        t->under_way[action]++;
        done += count;
    }
    if (a->lane >= 0)
        release(t, a->lane);
    return CHRT_OK;
}

static void walk(const ChrtTask *t, ChrtVerb verb, const ChrtWalk *walk)
{
    ChrtRuns runs = walk->runs;
    int64_t from_bytes = verb == CHRT_ROUND ? t->sum_bytes : t->elem_bytes;
    int64_t to_bytes = verb == CHRT_SET || verb == CHRT_ADD ? t->sum_bytes : t->elem_bytes;
    const unsigned char *from = source(t, &walk->from);
    unsigned char *to = target(t, &walk->to);
    int64_t i, j, elems;
    while (chrt_runs_next(&runs, &i, &j, &elems))
        switch (verb) {
        case CHRT_SET:
            chrt_sum_set(t->dtype, to + j * to_bytes, from + i * from_bytes, elems);
            break;
        case CHRT_ADD:
            chrt_sum_add(t->dtype, to + j * to_bytes, from + i * from_bytes, elems);
            break;
        case CHRT_ROUND:
            chrt_sum_round(t->dtype, from + i * from_bytes, to + j * to_bytes, elems);
            break;
        case CHRT_MOVE:
        case CHRT_RECV:
        case CHRT_SEND:
        case CHRT_JOIN:
            memcpy(to + j * to_bytes, from + i * from_bytes, (size_t)(elems * to_bytes));
            break;
        }
}

static ChrtStatus drain(ChrtTask *t)
{
    while (t->nready > 0) {
        int32_t action = t->ready[--t->nready];
        const ChrtAction *a = &t->action[action];
        if (a->verb == CHRT_RECV || a->verb == CHRT_SEND) {
            CHRT_TRY(post(t, action));
            continue;
        }
        for (int32_t i = 0; i < a->n; i++)
            walk(t, a->verb, &t->walk[a->first + i]);
        complete(t, a);
    }
    return CHRT_OK;
}

/* ---- progress ------------------------------------------------------------------------------------------------------
 */

/* Waits until some message of any task is complete, and goes on with what that sets free. One at a time: MPI_Waitsome
 * tests the others in turn, for which SimGrid charges simulated time, and what one message sets free should not wait
 * for the bookkeeping of the next. */
static ChrtStatus progress(ChrtCtx *ctx)
{
    int request = MPI_UNDEFINED;
    MPI_Status status;
    int rc = MPI_Waitany(ctx->nrequests, ctx->requests, &request, &status);
    if (request == MPI_UNDEFINED || request < 0 || request >= ctx->nrequests)
        return chrt_fail_mpi(ctx, "progress", "", rc == MPI_SUCCESS ? MPI_ERR_INTERN : rc);
    ChrtPosted posted = ctx->posted[request];
    if (rc != MPI_SUCCESS)
        return fail_mpi(posted.task, posted.action, rc);
    ctx->nrequests--; /* the last takes its place */
    ctx->requests[request] = ctx->requests[ctx->nrequests];
    ctx->posted[request] = ctx->posted[ctx->nrequests];
    if (--posted.task->under_way[posted.action] > 0)
        return CHRT_OK;
    complete(posted.task, &posted.task->action[posted.action]);
    return drain(posted.task);
}

/* Waits for all that is under way, which is of one task that ends with it: one call where progress() makes one for each
 * message, half a microsecond. */
static ChrtStatus finish(ChrtTask *t)
{
    ChrtCtx *ctx = t->ctx;
    int rc = MPI_Waitall(ctx->nrequests, ctx->requests, ctx->statuses), class = MPI_SUCCESS;
    if (rc == MPI_SUCCESS) {
        ctx->nrequests = 0;
        t->left = 0;
        return CHRT_OK;
    }
    MPI_Error_class(rc, &class);
    for (int32_t i = 0; i < ctx->nrequests && class == MPI_ERR_IN_STATUS; i++) {
        int error = ctx->statuses[i].MPI_ERROR;
        if (error != MPI_SUCCESS && error != MPI_ERR_PENDING)
            return fail_mpi(t, ctx->posted[i].action, error);
    }
    return chrt_fail_mpi(ctx, "progress", "", rc);
}

static ChrtStatus check_buffers(const ChrtTask *t, const void *in, const void *out)
{
    bool operand = t->in_elems > 0 && !in;
    if (!operand && !(t->out_elems > 0 && !out))
        return CHRT_OK;
    const ChrtStep *step = &t->steps[operand ? 0 : t->nsteps - 1];
    return chrt_fail(t->ctx, CHRT_ERR_NULL,
                     "%s %.64s: %s buffer is NULL on rank %" PRId32 ", where its block has %" PRId64 " elements",
                     chrt_op_name(step->op), step->name, operand ? "operand" : "result", t->ctx->rank,
                     operand ? t->in_elems : t->out_elems);
}

ChrtStatus chrt_start(ChrtTask *t, const void *in, void *out)
{
    ChrtCtx *ctx = t->ctx;
    if (ctx->broken)
        return chrt_repeat(ctx);
    if (t->started)
        return chrt_fail(ctx, CHRT_ERR_STATE, "%s %.64s: started again before it was waited for",
                         chrt_op_name(t->steps[0].op), t->steps[0].name);
    CHRT_TRY(check_buffers(t, in, out));
    t->started = true;
    ctx->outstanding++;
    t->in = in;
    t->out = out;
    t->left = t->nactions;
    t->nready = 0;
    for (int32_t i = 0; i < t->nactions; i++) {
        t->waiting[i] = t->action[i].needs;
        t->under_way[i] = 0;
    }
    for (int32_t i = 0; i < t->nactions; i++) {
        if (t->action[i].needs > 0)
            continue;
        t->ready[t->nready++] = i;
        CHRT_TRY(drain(t));
    }
    return CHRT_OK;
}

ChrtStatus chrt_wait(ChrtTask *t)
{
    ChrtCtx *ctx = t->ctx;
    if (ctx->broken)
        return chrt_repeat(ctx);
    if (!t->started)
        return CHRT_OK;
    if (t->ends_at_once && ctx->outstanding == 1)
        CHRT_TRY(finish(t));
    while (t->left > 0)
        CHRT_TRY(progress(ctx));
    t->started = false;
    ctx->outstanding--;
    return CHRT_OK;
}

ChrtStatus chrt_run(ChrtTask *t, const void *in, void *out)
{
    if (t->library && t->ctx->outstanding == 0 && !t->ctx->broken) {
        CHRT_TRY(check_buffers(t, in, out));
        return chrt_library_run(t, in, out);
    }
    CHRT_TRY(chrt_start(t, in, out));
    return chrt_wait(t);
}
