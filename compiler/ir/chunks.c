/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/chunks.c - how a pipeline cuts a tensor, and what its body may be.
 */
#include "ir/geom.h"
#include "ir/module.h"

#include <string.h>

static bool refuse(ChmCtx *ctx, ChmWhy *why, const char *text)
{
    if (why)
        why->text = chm_arena_strndup(&ctx->arena, text, strlen(text));
    return false;
}

int64_t chm_chunk_blocks(const ChmLayout *from, const ChmLayout *to, int32_t dim)
{
    const ChmAxisSeq *a = &from->dim[dim], *b = &to->dim[dim];
    if (chm_seq_common_prefix(a, b) < (a->len < b->len ? a->len : b->len))
        return 0;
    return chm_layout_block_count(a->len > b->len ? from : to, dim);
}

const ChmShape *chm_chunk_shape(ChmCtx *ctx, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to,
                                int32_t dim, int32_t chunks, ChmWhy *why)
{
    int64_t blocks = chm_chunk_blocks(from, to, dim), pieces, size = shape->dim_size[dim];
    if (blocks == 0) {
        refuse(ctx, why,
               chm_arena_printf(&ctx->arena, "dim '%s' is split in two ways at its ends, neither a prefix of the other",
                                shape->dim_name[dim]));
        return NULL;
    }
    if (chunks < 1 || !chm_mul64(blocks, chunks, &pieces) || size % pieces != 0) {
        refuse(ctx, why,
               chm_arena_printf(&ctx->arena, "%d chunks of %lld blocks do not divide dim '%s' of size %lld",
                                (int)chunks, (long long)blocks, shape->dim_name[dim], (long long)size));
        return NULL;
    }
    int64_t sizes[CHM_MAX_DIMS];
    for (int32_t d = 0; d < shape->ndims; d++)
        sizes[d] = shape->dim_size[d];
    sizes[dim] /= chunks;
    return chm_shape_make(ctx, shape->ndims, shape->dim_name, sizes);
}

bool chm_check_body(ChmCtx *ctx, const ChmAttrs *attrs, const ChmShape *shape, const ChmLayout *from,
                    const ChmLayout *to, ChmWhy *why)
{
    if (attrs->body_len < 1)
        return refuse(ctx, why, "its body is empty");
    const ChmShape *chunk = chm_chunk_shape(ctx, shape, from, to, attrs->dim, attrs->chunks, why);
    const ChmLayout *at = from;
    for (int32_t i = 0; chunk && i < attrs->body_len; i++) {
        const ChmStep *step = &attrs->body[i];
        ChmWhy inner = {NULL};
        if (step->attrs.body_len > 0)
            return refuse(ctx, why, "a pipeline stands in its body");
        if (chm_ops[step->code].class != CHM_CLASS_LAYOUT)
            return refuse(ctx, why, "an op of its body is no layout change");
        if (chm_infer_layout(ctx, step->code, &step->attrs, chunk, at, step->to, &inner) != step->to)
            return refuse(ctx, why,
                          chm_arena_printf(&ctx->arena, "op %d of its body, '%s', does not lead from '%s' to '%s'%s%s",
                                           (int)i + 1, chm_ops[step->code].name, chm_layout_str(ctx, shape, at),
                                           chm_layout_str(ctx, shape, step->to), inner.text ? ": " : "",
                                           inner.text ? inner.text : ""));
        at = step->to;
    }
    if (chunk && at != to)
        return refuse(ctx, why,
                      chm_arena_printf(&ctx->arena, "its body ends in '%s', not in '%s'",
                                       chm_layout_str(ctx, shape, at), chm_layout_str(ctx, shape, to)));
    return chunk != NULL;
}
