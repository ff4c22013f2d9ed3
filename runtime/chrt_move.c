/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_move.c - all_to_all and shift, and the ops that move nothing between ranks.
 */
#include "chrt_internal.h"

ChrtStatus chrt_all_to_all(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                           void *out, const uint8_t *over, int32_t from_dim, int32_t to_dim)
{
    ChrtOp op;
    ChrtAxes axes;
    CHRT_TRY(chrt_op_open(&op, ctx, "all_to_all", name, from, in, to, out));
    bool applies = from_dim != to_dim && chrt_axes_moving(ctx->mesh, over, axes) &&
                   chrt_layout_remove(&op.rule, axes, from_dim) && chrt_layout_append(&op.rule, axes, to_dim);
    CHRT_TRY(chrt_op_start(&op, applies, axes));
    if (op.size == 1 || !op.holds)
        return chrt_op_local(&op);

    ChrtPieces sends, receives;
    CHRT_TRY(chrt_pieces_open(&op, op.size, &sends, &receives));
    for (int32_t s = 1; s < op.size; s++) {
        int32_t source = (op.me - s + op.size) % op.size, target = (op.me + s) % op.size;
        ChrtBox box = chrt_local_box(ctx->mesh, from, op.group->members[source]);
        box = chrt_box_meet(&box, &op.out_box);
        chrt_pieces_add(&receives, source, 0, &box, 0, chrt_box_elems(&box), &op.out_box);
        box = chrt_local_box(ctx->mesh, to, op.group->members[target]);
        box = chrt_box_meet(&box, &op.in_box);
        chrt_pieces_add(&sends, target, 0, &box, 0, chrt_box_elems(&box), &op.in_box);
    }
    unsigned char *packed;
    CHRT_TRY(chrt_pieces_travel(&op, op.group->comm, &sends, &receives, &packed));
    chrt_pieces_unpack(&op, &receives, packed);
    return chrt_op_local(&op);
}

ChrtStatus chrt_shift(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                      void *out, int32_t axis, int32_t source, int32_t target)
{
    ChrtOp op;
    ChrtAxes axes;
    CHRT_TRY(chrt_op_open(&op, ctx, "shift", name, from, in, to, out));
    bool applies = chrt_layout_unpin(&op.rule, ctx->mesh, axis, source) &&
                   chrt_layout_pin(&op.rule, ctx->mesh, axis, target) &&
                   chrt_axes_moving(ctx->mesh, CHRT_AXES((uint8_t)axis), axes);
    CHRT_TRY(chrt_op_start(&op, applies, source == target ? NULL : axes));
    if (op.size == 1)
        return chrt_op_local(&op);
    if (op.needs)
        CHRT_TRY(chrt_post_recv(&op, op.group->comm, source, op.out, op.out_elems));
    if (op.holds)
        CHRT_TRY(chrt_post_send(&op, op.group->comm, target, op.in, op.in_elems));
    return chrt_wait(&op);
}

ChrtStatus chrt_slice(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                      void *out, const uint8_t *over, int32_t dim)
{
    ChrtOp op;
    ChrtAxes axes;
    CHRT_TRY(chrt_op_open(&op, ctx, "slice", name, from, in, to, out));
    bool applies = chrt_axes_moving(ctx->mesh, over, axes) && chrt_layout_append(&op.rule, axes, dim);
    CHRT_TRY(chrt_op_start(&op, applies, NULL));
    return chrt_op_local(&op);
}

ChrtStatus chrt_drop(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                     void *out, int32_t axis, int32_t at)
{
    ChrtOp op;
    CHRT_TRY(chrt_op_open(&op, ctx, "drop", name, from, in, to, out));
    bool applies = chrt_layout_pin(&op.rule, ctx->mesh, axis, at);
    CHRT_TRY(chrt_op_start(&op, applies, NULL));
    return chrt_op_local(&op);
}

ChrtStatus chrt_copy(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                     void *out)
{
    ChrtOp op;
    CHRT_TRY(chrt_op_open(&op, ctx, "copy", name, from, in, to, out));
    CHRT_TRY(chrt_op_start(&op, true, NULL));
    return chrt_op_local(&op);
}
