/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_chain.c - broadcast and reduce along one axis. Long values go down a chain of ranks in segments, so that every
 * rank sends and receives the value once whatever the number of ranks; short ones, where latency counts, down MPI's
 * tree. The chain starts at the root and runs up the coordinates, wrapping round.
 */
#include "chrt_internal.h"

#include <string.h>

/* Elements of one segment: at least 1, never more than one message may have. */
static int64_t segment_elems(const ChrtOp *op)
{
    int64_t elems = CHRT_SEGMENT_BYTES / op->elem_bytes;
    return elems < 1 ? 1 : chrt_count(elems);
}

/* Posts a receive for every segment; they are requests 0, 1, ... in order. */
static ChrtStatus post_segments(ChrtOp *op, int32_t source, unsigned char *at, int64_t elems)
{
    int64_t segment = segment_elems(op);
    for (int64_t done = 0; done < elems; done += segment) {
        int64_t n = elems - done < segment ? elems - done : segment;
        CHRT_TRY(chrt_post_recv(op, op->group->comm, source, at + done * op->elem_bytes, n));
    }
    return CHRT_OK;
}

static ChrtStatus broadcast_chain(ChrtOp *op, int32_t root)
{
    int32_t g = op->size, place = (op->me - root + g) % g;
    int64_t segment = segment_elems(op), elems = op->out_elems;
    unsigned char *out = op->out;
    if (place > 0)
        CHRT_TRY(post_segments(op, (op->me - 1 + g) % g, out, elems));
    int32_t request = 0;
    for (int64_t done = 0; done < elems && place < g - 1; done += segment) {
        int64_t n = elems - done < segment ? elems - done : segment;
        if (place > 0)
            CHRT_TRY(chrt_wait_one(op, request++));
        CHRT_TRY(chrt_post_send(op, op->group->comm, (op->me + 1) % g, out + done * op->elem_bytes, n));
    }
    return chrt_wait(op);
}

ChrtStatus chrt_broadcast(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                          void *out, int32_t axis, int32_t source)
{
    ChrtOp op;
    ChrtAxes axes;
    CHRT_TRY(chrt_op_open(&op, ctx, "broadcast", name, from, in, to, out));
    bool applies = chrt_layout_unpin(&op.rule, ctx->mesh, axis, source) &&
                   chrt_axes_moving(ctx->mesh, CHRT_AXES((uint8_t)axis), axes);
    CHRT_TRY(chrt_op_start(&op, applies, axes));
    if (op.holds)
        CHRT_TRY(chrt_op_local(&op));
    if (op.size == 1 || op.out_elems == 0)
        return CHRT_OK;
    if (op.out_elems > segment_elems(&op))
        return broadcast_chain(&op, source);
    return chrt_op_mpi(&op, MPI_Bcast(op.out, chrt_count(op.out_elems), op.mpi, source, op.group->comm));
}

/* From the far end to the root; what arrives is summed in scratch, at the root in the result. */
static ChrtStatus reduce_chain(ChrtOp *op, int32_t root)
{
    int32_t g = op->size, place = (op->me - root + g) % g, b = op->elem_bytes;
    int64_t segment = segment_elems(op), elems = op->in_elems;
    const unsigned char *in = op->in;
    unsigned char *out = op->out, *partial = NULL;
    if (place < g - 1) {
        void *memory;
        CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_RECV, elems, b, &memory));
        partial = memory;
        CHRT_TRY(post_segments(op, (op->me + 1) % g, partial, elems));
    }
    if (place == 0)
        memcpy(out, in, (size_t)(elems * b));
    int32_t request = 0;
    for (int64_t done = 0; done < elems; done += segment) {
        int64_t n = elems - done < segment ? elems - done : segment;
        const unsigned char *next = in + done * b;
        if (place < g - 1) {
            CHRT_TRY(chrt_wait_one(op, request++));
            if (place == 0) {
                chrt_sum_add(op->from->dtype, out + done * b, partial + done * b, n);
            } else {
                chrt_sum_add(op->from->dtype, partial + done * b, in + done * b, n);
                next = partial + done * b;
            }
        }
        if (place > 0)
            CHRT_TRY(chrt_post_send(op, op->group->comm, (op->me - 1 + g) % g, next, n));
    }
    return chrt_wait(op);
}

/* 16-bit floats: every member sums its block, rounds once, and hands it to the root. */
static ChrtStatus reduce_halves(ChrtOp *op, int32_t root)
{
    int64_t *start;
    CHRT_TRY(chrt_even_starts(op, op->in_elems, &start));
    void *own = (unsigned char *)op->out + start[op->me] * op->elem_bytes;
    if (op->me != root)
        CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_BLOCK, start[op->me + 1] - start[op->me], op->elem_bytes, &own));
    CHRT_TRY(chrt_pairwise_sum(op, op->in, start, own));
    return chrt_pairwise_gather(op, own, start, op->out, root);
}

ChrtStatus chrt_reduce(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                       void *out, int32_t axis, int32_t target)
{
    ChrtOp op;
    ChrtAxes axes = {0};
    CHRT_TRY(chrt_op_open(&op, ctx, "reduce", name, from, in, to, out));
    bool applies = axis > 0 && axis <= ctx->mesh->naxes &&
                   chrt_axes_moving(ctx->mesh, CHRT_AXES((uint8_t)axis), axes) && chrt_layout_settle(&op.rule, axes) &&
                   chrt_layout_pin(&op.rule, ctx->mesh, axis, target);
    CHRT_TRY(chrt_op_start(&op, applies, axes));
    if (op.size == 1 || op.in_elems == 0)
        return chrt_op_local(&op);
    if (chrt_dtype_is_half(from->dtype))
        return reduce_halves(&op, target);
    if (op.in_elems > segment_elems(&op))
        return reduce_chain(&op, target);
    return chrt_op_mpi(&op, MPI_Reduce(op.in, op.out, chrt_count(op.in_elems), op.mpi, op.sum, target, op.group->comm));
}
