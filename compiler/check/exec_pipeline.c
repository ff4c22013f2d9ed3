/* SPDX-License-Identifier: Apache-2.0
 *
 * check/exec_pipeline.c - a pipeline in execution: chunk after chunk, each a tensor of its own that is cut out of the
 * operand, taken through the body, and put into its place in the result. When the runtime overlaps chunks it changes
 * when things happen, not what.
 */
#include "check/exec.h"

#include <string.h>

/* The parts of a rank's block that belong to chunk i: along the dim, runs of 'run' indices, 'chunks' runs apart. */
typedef struct Cut {
    int32_t dim, chunks;
    int64_t run;
} Cut;

static Cut cut_of(const ChmOp *op)
{
    const ChmType *from = op->operand->type;
    const ChmAttrs *a = &op->attrs;
    int64_t blocks = chm_chunk_blocks(from->layout, op->result->type->layout, a->dim);
    return (Cut){a->dim, a->chunks, from->shape->dim_size[a->dim] / (blocks * a->chunks)};
}

/* Copies chunk i between its place in the rank's block of the whole and a buffer of its own. */
static void copy_chunk(const Cut *c, int64_t elem_bytes, int32_t i, const ChmPiece *whole, char *chunk, bool out)
{
    int64_t rows = 1, row_bytes = elem_bytes;
    for (int32_t d = 0; d < c->dim; d++)
        rows *= whole->box.hi[d] - whole->box.lo[d];
    for (int32_t d = c->dim + 1; d < whole->box.ndims; d++)
        row_bytes *= whole->box.hi[d] - whole->box.lo[d];
    int64_t extent = whole->box.hi[c->dim] - whole->box.lo[c->dim], period = c->run * c->chunks;
    size_t run_bytes = (size_t)(c->run * row_bytes);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t at = i * c->run; at < extent; at += period, chunk += run_bytes) {
            char *part = (char *)whole->at + (row * extent + at) * row_bytes;
            memcpy(out ? part : chunk, out ? chunk : part, run_bytes);
        }
}

/* The body's values and ops, as if they stood in a module of the chunk's shape. */
typedef struct Body {
    int32_t len;
    ChmValue *value; /* len + 1 */
    ChmOp *op;       /* len */
    ChmPlace *place; /* of each value, in chunk_arena */
    int64_t bytes;
} Body;

static void body_init(Body *b, ChmArena *arena, ChmCtx *ctx, const ChmOp *pipeline)
{
    const ChmType *from = pipeline->operand->type, *to = pipeline->result->type;
    const ChmAttrs *a = &pipeline->attrs;
    const ChmShape *shape = chm_chunk_shape(ctx, from->shape, from->layout, to->layout, a->dim, a->chunks, NULL);
    *b = (Body){.len = a->body_len};
    b->value = CHM_NEW_ARRAY(arena, ChmValue, b->len + 1);
    b->op = CHM_NEW_ARRAY(arena, ChmOp, b->len);
    b->place = CHM_NEW_ARRAY(arena, ChmPlace, b->len + 1);
    for (int32_t i = 0; i <= b->len; i++) {
        const ChmLayout *layout = i ? a->body[i - 1].to : from->layout;
        b->value[i] = (ChmValue){.type = chm_type_make(ctx, from->dtype, shape, layout), .id = i};
        b->place[i] = (ChmPlace){CHM_HOME_ARENA, 0, b->bytes};
        b->bytes += (chm_max_local_bytes(b->value[i].type) + CHM_ARENA_ALIGN - 1) / CHM_ARENA_ALIGN * CHM_ARENA_ALIGN;
        if (i > 0)
            b->op[i - 1] = (ChmOp){.code = a->body[i - 1].code,
                                   .attrs = a->body[i - 1].attrs,
                                   .operand = &b->value[i - 1],
                                   .result = &b->value[i]};
    }
}

int64_t chm_exec_chunk_bytes(ChmCtx *ctx, const ChmOp *op)
{
    if (op->code != CHM_OP_PIPELINE)
        return 0;
    Body body;
    body_init(&body, &ctx->arena, ctx, op);
    return body.bytes;
}

static void move_chunk(ChmExec *x, const ChmExec *inner, const ChmOp *op, int32_t i, const ChmValue *whole,
                       const ChmValue *chunk, bool out)
{
    Cut cut = cut_of(op);
    for (int32_t r = 0; r < x->ranks; r++) {
        ChmPiece mine, part;
        if (chm_exec_piece(x, whole, r, &mine) && chm_exec_piece(inner, chunk, r, &part))
            copy_chunk(&cut, chm_dtypes[whole->type->dtype].bytes, i, &mine, part.at, out);
    }
}

void chm_exec_pipeline(ChmExec *x, const ChmOp *op)
{
    Body body;
    body_init(&body, x->scratch, x->m->ctx, op);
    ChmExec inner = *x;
    inner.arena = x->chunk_arena;
    inner.buffers.place = body.place;
    for (int32_t i = 0; i < op->attrs.chunks; i++) {
        move_chunk(x, &inner, op, i, op->operand, &body.value[0], false);
        for (int32_t k = 0; k < body.len; k++)
            chm_exec_op(&inner, &body.op[k]);
        move_chunk(x, &inner, op, i, op->result, &body.value[body.len], true);
    }
}
