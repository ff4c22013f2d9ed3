/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_op.c - what every op does before it moves data: layouts, typing rule, buffers, group.
 */
#include "chrt_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ChrtStatus chrt_op_fail(ChrtOp *op, ChrtStatus status, const char *format, ...)
{
    char text[CHRT_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return chrt_fail(op->ctx, status, "%s %.64s: %.800s", op->kind, op->name, text);
}

ChrtStatus chrt_op_mpi(ChrtOp *op, int mpi_error)
{
    if (mpi_error == MPI_SUCCESS)
        return CHRT_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(mpi_error, text, &length);
    op->ctx->broken = CHRT_ERR_MPI;
    return chrt_op_fail(op, CHRT_ERR_MPI, "%s", text);
}

ChrtStatus chrt_op_scratch(ChrtOp *op, ChrtScratch purpose, int64_t elems, int64_t elem_bytes, void **memory)
{
    *memory = elems > INT64_MAX / elem_bytes ? NULL : chrt_scratch(op->ctx, purpose, elems * elem_bytes);
    if (*memory)
        return CHRT_OK;
    op->ctx->broken = CHRT_ERR_MEMORY;
    return chrt_op_fail(op, CHRT_ERR_MEMORY, "no memory for %" PRId64 " elements of %" PRId64 " bytes", elems,
                        elem_bytes);
}

ChrtStatus chrt_op_open(ChrtOp *op, ChrtCtx *ctx, const char *kind, const char *name, const ChrtType *from,
                        const void *in, const ChrtType *to, void *out)
{
    memset(op, 0, sizeof *op);
    op->ctx = ctx;
    op->kind = kind;
    op->name = name;
    op->from = from;
    op->to = to;
    op->in = in;
    op->out = out;
    op->size = 1;
    if (!chrt_layout_of(ctx->mesh, from, &op->rule) || !chrt_layout_of(ctx->mesh, to, &op->target))
        return chrt_op_fail(op, CHRT_ERR_TYPE, "malformed type");
    op->holds = chrt_present(ctx->mesh, from, ctx->rank);
    op->needs = chrt_present(ctx->mesh, to, ctx->rank);
    op->in_box = chrt_local_box(ctx->mesh, from, ctx->rank);
    op->out_box = chrt_local_box(ctx->mesh, to, ctx->rank);
    op->in_elems = op->holds ? chrt_box_elems(&op->in_box) : 0;
    op->out_elems = op->needs ? chrt_box_elems(&op->out_box) : 0;
    op->elem_bytes = chrt_dtype_bytes(from->dtype);
    op->mpi = chrt_dtype_mpi(from->dtype);
    op->sum = op->elem_bytes == 1 ? ctx->sum_wrap : MPI_SUM;
    return CHRT_OK;
}

ChrtStatus chrt_op_start(ChrtOp *op, bool applies, const uint8_t *over)
{
    ChrtCtx *ctx = op->ctx;
    if (!applies || !chrt_layout_equal(&op->rule, &op->target))
        return chrt_op_fail(op, CHRT_ERR_TYPE, "the op does not lead from the operand's layout to the result's");
    if (ctx->broken)
        return ctx->broken;
    if (over && over[0]) {
        for (int32_t g = 0; g < ctx->ngroups && !op->group; g++)
            if (!memcmp(ctx->groups[g].axes, over, sizeof(ChrtAxes)))
                op->group = &ctx->groups[g];
        if (!op->group)
            return chrt_op_fail(op, CHRT_ERR_GROUP, "its group was not given to chrt_create");
        op->size = op->group->size;
        op->me = op->group->me;
    }
    if ((op->in_elems && !op->in) || (op->out_elems && !op->out))
        return chrt_op_fail(op, CHRT_ERR_NULL,
                            "%s buffer is NULL on rank %" PRId32 ", where its block has %" PRId64 " elements",
                            op->in_elems && !op->in ? "operand" : "result", ctx->rank,
                            op->in_elems && !op->in ? op->in_elems : op->out_elems);
    if (!op->in)
        op->in = &ctx->nothing;
    if (!op->out)
        op->out = &ctx->nothing;
    return CHRT_OK;
}

ChrtStatus chrt_op_local(ChrtOp *op)
{
    if (!op->holds || !op->needs)
        return CHRT_OK;
    ChrtBox box = chrt_box_meet(&op->in_box, &op->out_box);
    chrt_box_copy(op->elem_bytes, &box, 0, chrt_box_elems(&box), &op->in_box, op->in, &op->out_box, op->out);
    return CHRT_OK;
}
