/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_transfer.c - point to point: messages of any length, and the two pairwise patterns made of them.
 *
 * All messages carry one tag: every rank issues the ops of a communicator in one order, and MPI keeps the order of
 * messages between two ranks, so the pieces of a long message and of consecutive ops match in turn. Receives are
 * posted before sends, peers in rotated order so that no rank is everybody's first target.
 */
#include "chrt_internal.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

int chrt_count(int64_t elems)
{
    return (int)(elems < CHRT_MAX_COUNT ? elems : CHRT_MAX_COUNT);
}

/* Room for one more request; the arrays move together. */
static ChrtStatus grow(ChrtOp *op)
{
    ChrtCtx *ctx = op->ctx;
    if (ctx->nrequests < ctx->max_requests)
        return CHRT_OK;
    int32_t max = ctx->max_requests ? ctx->max_requests * 2 : 64;
    MPI_Request *requests = realloc(ctx->requests, (size_t)max * sizeof *requests);
    if (requests)
        ctx->requests = requests;
    MPI_Status *statuses = realloc(ctx->statuses, (size_t)max * sizeof *statuses);
    if (statuses)
        ctx->statuses = statuses;
    if (!requests || !statuses) {
        ctx->broken = CHRT_ERR_MEMORY;
        return chrt_op_fail(op, CHRT_ERR_MEMORY, "no memory for %d requests", (int)max);
    }
    ctx->max_requests = max;
    return CHRT_OK;
}

ChrtStatus chrt_post_recv(ChrtOp *op, MPI_Comm comm, int32_t source, void *at, int64_t elems)
{
    unsigned char *to = at;
    for (int64_t done = 0; done < elems;) {
        int count = chrt_count(elems - done);
        CHRT_TRY(grow(op));
        CHRT_TRY(chrt_op_mpi(op, MPI_Irecv(to + done * op->elem_bytes, count, op->mpi, source, TAG, comm,
                                           &op->ctx->requests[op->ctx->nrequests])));
        op->ctx->nrequests++;
        done += count;
    }
    return CHRT_OK;
}

ChrtStatus chrt_post_send(ChrtOp *op, MPI_Comm comm, int32_t target, const void *at, int64_t elems)
{
    const unsigned char *from = at;
    for (int64_t done = 0; done < elems;) {
        int count = chrt_count(elems - done);
        CHRT_TRY(grow(op));
        CHRT_TRY(chrt_op_mpi(op, MPI_Isend(from + done * op->elem_bytes, count, op->mpi, target, TAG, comm,
                                           &op->ctx->requests[op->ctx->nrequests])));
        op->ctx->nrequests++;
        done += count;
    }
    return CHRT_OK;
}

ChrtStatus chrt_wait_one(ChrtOp *op, int32_t request)
{
    return chrt_op_mpi(op, MPI_Wait(&op->ctx->requests[request], &op->ctx->statuses[request]));
}

ChrtStatus chrt_wait(ChrtOp *op)
{
    ChrtCtx *ctx = op->ctx;
    int32_t n = ctx->nrequests;
    if (n == 0)
        return CHRT_OK;
    int rc = MPI_Waitall(n, ctx->requests, ctx->statuses);
    if (rc == MPI_SUCCESS)
        ctx->nrequests = 0;
    for (int32_t i = 0; rc == MPI_ERR_IN_STATUS && i < n; i++) {
        int error = ctx->statuses[i].MPI_ERROR;
        if (error != MPI_SUCCESS && error != MPI_ERR_PENDING)
            rc = error;
    }
    return chrt_op_mpi(op, rc);
}

/* ---- patterns over a group ----------------------------------------------------------------------------------------
 */

ChrtStatus chrt_even_starts(ChrtOp *op, int64_t elems, int64_t **start)
{
    void *memory;
    CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_STARTS, op->size + 1, (int64_t)sizeof **start, &memory));
    *start = memory;
    for (int32_t m = 0; m <= op->size; m++)
        (*start)[m] = chrt_block_start(elems, op->size, m);
    return CHRT_OK;
}

ChrtStatus chrt_pairwise_sum(ChrtOp *op, const void *parts, const int64_t *start, void *own)
{
    const unsigned char *from = parts;
    int32_t g = op->size, me = op->me, b = op->elem_bytes;
    int64_t n = start[me + 1] - start[me];
    void *received, *sum = own;
    CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_RECV, n, (int64_t)b * g, &received));
    if (chrt_dtype_is_half(op->from->dtype))
        CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_SUM, n, chrt_sum_bytes(op->from->dtype), &sum));

    unsigned char *slots = received; /* one a member; its own stays unused */
    for (int32_t s = 1; s < g; s++) {
        int32_t peer = (me - s + g) % g;
        CHRT_TRY(chrt_post_recv(op, op->group->comm, peer, slots + peer * n * b, n));
    }
    for (int32_t s = 1; s < g; s++) {
        int32_t peer = (me + s) % g;
        CHRT_TRY(chrt_post_send(op, op->group->comm, peer, from + start[peer] * b, start[peer + 1] - start[peer]));
    }
    CHRT_TRY(chrt_wait(op));

    for (int32_t m = 0; m < g; m++) {
        const unsigned char *part = m == me ? from + start[me] * b : slots + m * n * b;
        if (m == 0)
            chrt_sum_set(op->from->dtype, sum, part, n);
        else
            chrt_sum_add(op->from->dtype, sum, part, n);
    }
    chrt_sum_round(op->from->dtype, sum, own, n);
    return CHRT_OK;
}

ChrtStatus chrt_pairwise_gather(ChrtOp *op, const void *own, const int64_t *start, void *parts, int32_t root)
{
    unsigned char *to = parts;
    int32_t g = op->size, me = op->me, b = op->elem_bytes;
    int64_t n = start[me + 1] - start[me];
    if (root < 0 || root == me) {
        for (int32_t s = 1; s < g; s++) {
            int32_t peer = (me - s + g) % g;
            CHRT_TRY(chrt_post_recv(op, op->group->comm, peer, to + start[peer] * b, start[peer + 1] - start[peer]));
        }
        if (own != to + start[me] * b)
            memcpy(to + start[me] * b, own, (size_t)(n * b));
    }
    for (int32_t s = 1; s < g; s++) {
        int32_t peer = (me + s) % g;
        if (root < 0 || root == peer)
            CHRT_TRY(chrt_post_send(op, op->group->comm, peer, own, n));
    }
    return chrt_wait(op);
}
