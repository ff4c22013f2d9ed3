/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_collective.c - all_reduce, reduce_scatter, all_gather: MPI's own collectives, on packed data where the layout
 * asks for it; pairwise messages where MPI cannot sum (16-bit floats) or cannot count (more than CHRT_MAX_COUNT).
 */
#include "chrt_internal.h"

#include <string.h>

ChrtStatus chrt_all_reduce(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                           void *out, const uint8_t *over)
{
    ChrtOp op;
    ChrtAxes axes;
    CHRT_TRY(chrt_op_open(&op, ctx, "all_reduce", name, from, in, to, out));
    bool applies = chrt_axes_moving(ctx->mesh, over, axes) && chrt_layout_settle(&op.rule, axes);
    CHRT_TRY(chrt_op_start(&op, applies, axes));
    if (op.size == 1 || op.in_elems == 0)
        return chrt_op_local(&op);

    unsigned char *result = op.out;
    const unsigned char *operand = op.in;
    if (chrt_dtype_is_half(from->dtype)) {
        int64_t *start;
        CHRT_TRY(chrt_even_starts(&op, op.in_elems, &start));
        unsigned char *own = result + start[op.me] * op.elem_bytes;
        CHRT_TRY(chrt_pairwise_sum(&op, operand, start, own));
        return chrt_pairwise_gather(&op, own, start, result, -1);
    }
    for (int64_t done = 0; done < op.in_elems;) {
        int count = chrt_count(op.in_elems - done);
        CHRT_TRY(chrt_op_mpi(&op, MPI_Allreduce(operand + done * op.elem_bytes, result + done * op.elem_bytes, count,
                                                op.mpi, op.sum, op.group->comm)));
        done += count;
    }
    return CHRT_OK;
}

/* ---- one block a member --------------------------------------------------------------------------------------------
 */

/* The members' blocks in a type, which tile this rank's box `whole`. */
typedef struct Parts {
    const ChrtType *type;
    const ChrtBox *whole;
    int64_t *start; /* where the members' blocks begin when they are packed one after the other */
    bool in_place;  /* packed is how they already lie in the whole */
    bool even;
    bool full; /* no part is empty */
} Parts;

static ChrtBox part_box(const ChrtOp *op, const Parts *parts, int32_t member)
{
    return chrt_local_box(op->ctx->mesh, parts->type, op->group->members[member]);
}

static ChrtStatus find_parts(ChrtOp *op, const ChrtType *type, const ChrtBox *whole, Parts *parts)
{
    void *memory;
    CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_STARTS, op->size + 1, (int64_t)sizeof *parts->start, &memory));
    *parts = (Parts){.type = type, .whole = whole, .start = memory, .in_place = true, .even = true, .full = true};
    parts->start[0] = 0;
    for (int32_t m = 0; m < op->size; m++) {
        ChrtBox box = part_box(op, parts, m);
        int64_t n = chrt_box_elems(&box), offset;
        bool run = chrt_box_contiguous(whole, &box, &offset);
        parts->start[m + 1] = parts->start[m] + n;
        parts->in_place = parts->in_place && (n == 0 || (run && offset == parts->start[m]));
        parts->even = parts->even && n == parts->start[1];
        parts->full = parts->full && n > 0;
    }
    return CHRT_OK;
}

/* The parts' sizes and places as MPI wants them: ints. The caller has checked that the whole fits. */
static ChrtStatus find_counts(ChrtOp *op, const Parts *parts, int **counts, int **displacements)
{
    void *memory;
    CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_COUNTS, op->size, 2 * (int64_t)sizeof **counts, &memory));
    *counts = memory;
    *displacements = *counts + op->size;
    for (int32_t m = 0; m < op->size; m++) {
        (*counts)[m] = (int)(parts->start[m + 1] - parts->start[m]);
        (*displacements)[m] = (int)parts->start[m];
    }
    return CHRT_OK;
}

ChrtStatus chrt_reduce_scatter(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                               void *out, const uint8_t *over, int32_t dim)
{
    ChrtOp op;
    ChrtAxes axes;
    CHRT_TRY(chrt_op_open(&op, ctx, "reduce_scatter", name, from, in, to, out));
    bool applies = chrt_axes_moving(ctx->mesh, over, axes) && chrt_layout_settle(&op.rule, axes) &&
                   chrt_layout_append(&op.rule, axes, dim);
    CHRT_TRY(chrt_op_start(&op, applies, axes));
    if (op.size == 1 || op.in_elems == 0)
        return chrt_op_local(&op);

    Parts parts;
    CHRT_TRY(find_parts(&op, to, &op.in_box, &parts));
    const void *packed = op.in;
    if (!parts.in_place) {
        void *memory;
        CHRT_TRY(chrt_op_scratch(&op, CHRT_SCRATCH_SEND, op.in_elems, op.elem_bytes, &memory));
        for (int32_t m = 0; m < op.size; m++) {
            ChrtBox box = part_box(&op, &parts, m);
            chrt_box_copy(op.elem_bytes, &box, 0, chrt_box_elems(&box), &op.in_box, op.in, NULL,
                          (unsigned char *)memory + parts.start[m] * op.elem_bytes);
        }
        packed = memory;
    }
    /* Empty parts: SimGrid's model of Open MPI's recursive halving sums them wrongly; so few elements lose nothing. */
    if (chrt_dtype_is_half(from->dtype) || op.in_elems > CHRT_MAX_COUNT || !parts.full)
        return chrt_pairwise_sum(&op, packed, parts.start, op.out);
    if (parts.even)
        return chrt_op_mpi(
            &op, MPI_Reduce_scatter_block(packed, op.out, chrt_count(op.out_elems), op.mpi, op.sum, op.group->comm));
    int *counts, *displacements;
    CHRT_TRY(find_counts(&op, &parts, &counts, &displacements));
    return chrt_op_mpi(&op, MPI_Reduce_scatter(packed, op.out, counts, op.mpi, op.sum, op.group->comm));
}

ChrtStatus chrt_all_gather(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                           void *out, const uint8_t *over, int32_t dim)
{
    ChrtOp op;
    ChrtAxes axes;
    CHRT_TRY(chrt_op_open(&op, ctx, "all_gather", name, from, in, to, out));
    bool applies = chrt_axes_moving(ctx->mesh, over, axes) && chrt_layout_remove(&op.rule, axes, dim);
    CHRT_TRY(chrt_op_start(&op, applies, axes));
    if (op.size == 1 || op.out_elems == 0)
        return chrt_op_local(&op);

    Parts parts;
    CHRT_TRY(find_parts(&op, from, &op.out_box, &parts));
    void *packed = op.out;
    if (!parts.in_place)
        CHRT_TRY(chrt_op_scratch(&op, CHRT_SCRATCH_RECV, op.out_elems, op.elem_bytes, &packed));
    if (op.out_elems > CHRT_MAX_COUNT) {
        CHRT_TRY(chrt_pairwise_gather(&op, op.in, parts.start, packed, -1));
    } else if (parts.even) {
        int count = chrt_count(op.in_elems);
        CHRT_TRY(chrt_op_mpi(&op, MPI_Allgather(op.in, count, op.mpi, packed, count, op.mpi, op.group->comm)));
    } else {
        int *counts, *displacements;
        CHRT_TRY(find_counts(&op, &parts, &counts, &displacements));
        CHRT_TRY(chrt_op_mpi(
            &op, MPI_Allgatherv(op.in, counts[op.me], op.mpi, packed, counts, displacements, op.mpi, op.group->comm)));
    }
    for (int32_t m = 0; m < op.size && !parts.in_place; m++) {
        ChrtBox box = part_box(&op, &parts, m);
        chrt_box_copy(op.elem_bytes, &box, 0, chrt_box_elems(&box), NULL,
                      (const unsigned char *)packed + parts.start[m] * op.elem_bytes, &op.out_box, op.out);
    }
    return CHRT_OK;
}
