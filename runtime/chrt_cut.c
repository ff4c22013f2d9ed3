/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_cut.c - chunks: which part of a rank's block belongs to a chunk, and where it lies.
 *
 * A chunk is a tensor of its own. Along the cut dim it consists of K runs of the whole tensor, run b inside block b of
 * the finer end split F, put one after the other: these are the chunk's coordinates. In a layout that splits the dim by
 * L = (a common prefix with F, then R) a rank's block of the chunk is the runs inside its block by the prefix, cut by
 * the block rule over R. So at the ends it is the chunk met with the rank's block of the whole, whatever the sizes;
 * and the blocks of L followed by A make exactly the block of L, so every op applies to a chunk as to a tensor.
 */
#include "chrt_task.h"

#include <stdlib.h>
#include <string.h>

static int32_t length(const uint8_t *axes)
{
    int32_t n = 0;
    while (axes[n])
        n++;
    return n;
}

static int32_t common(const uint8_t *a, const uint8_t *b)
{
    int32_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

static int64_t blocks_of(const ChrtMesh *mesh, const uint8_t *axes)
{
    int64_t blocks = 1;
    for (; *axes; axes++)
        blocks *= mesh->axis[*axes - 1].size;
    return blocks;
}

ChrtStatus chrt_cutting_make(ChrtCtx *ctx, const ChrtCut *cut, const ChrtLayout *from, const ChrtLayout *to,
                             ChrtCutting *cutting)
{
    *cutting = (ChrtCutting){.dim = -1, .chunks = 1, .blocks = 1};
    if (!cut || cut->chunks == 1)
        return CHRT_OK;
    if (cut->chunks < 1 || cut->dim < 0 || cut->dim >= from->ndims)
        return chrt_fail(ctx, CHRT_ERR_CUT, "prepare: no %d chunks of dim %d", (int)cut->chunks, (int)cut->dim);
    const uint8_t *a = from->split[cut->dim], *b = to->split[cut->dim];
    const uint8_t *fine = length(a) > length(b) ? a : b;
    if (common(a, b) != length(fine == a ? b : a))
        return chrt_fail(ctx, CHRT_ERR_CUT,
                         "prepare: the splits of dim %d at the ends differ, and neither is a prefix of the other",
                         (int)cut->dim);
    cutting->dim = cut->dim;
    cutting->chunks = cut->chunks;
    cutting->size = from->size[cut->dim];
    memcpy(cutting->fine, fine, sizeof cutting->fine);
    int64_t k = cutting->blocks = blocks_of(ctx->mesh, fine);
    cutting->start = calloc((size_t)cut->chunks, (size_t)(k + 1) * sizeof *cutting->start);
    if (!cutting->start || k * cut->chunks > INT32_MAX)
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "prepare: no memory for %d chunks", (int)cut->chunks);
    for (int32_t i = 0; i < cut->chunks; i++)
        for (int64_t f = 0; f < k; f++) {
            int64_t *start = cutting->start + i * (k + 1), at = f * cut->chunks + i;
            start[f + 1] = start[f] + chrt_block_start(cutting->size, k * cut->chunks, at + 1) -
                           chrt_block_start(cutting->size, k * cut->chunks, at);
        }
    return CHRT_OK;
}

void chrt_cutting_free(ChrtCutting *cutting)
{
    free(cutting->start);
    cutting->start = NULL;
}

/* The fine blocks [*first, *last) inside the rank's block by the first n axes of F. */
static void fine_blocks(const ChrtCutting *cutting, const ChrtMesh *mesh, int32_t n, int32_t rank, int64_t *first,
                        int64_t *last)
{
    ChrtAxes prefix = {0};
    memcpy(prefix, cutting->fine, (size_t)n);
    int64_t each = cutting->blocks / blocks_of(mesh, prefix);
    *first = chrt_index_in(mesh, rank, prefix) * each;
    *last = *first + each;
}

ChrtBox chrt_chunk_box(const ChrtCutting *cutting, const ChrtMesh *mesh, const ChrtLayout *layout, int32_t chunk,
                       int32_t rank)
{
    ChrtBox box = {.ndims = layout->ndims};
    for (int32_t d = 0; d < layout->ndims; d++) {
        const uint8_t *rest = layout->split[d];
        int64_t lo = 0, elems = layout->size[d];
        if (d == cutting->dim) {
            const int64_t *start = cutting->start + chunk * (cutting->blocks + 1);
            int64_t first, last;
            int32_t n = common(rest, cutting->fine);
            fine_blocks(cutting, mesh, n, rank, &first, &last);
            lo = start[first];
            elems = start[last] - lo;
            rest += n;
        }
        int64_t blocks = blocks_of(mesh, rest), b = chrt_index_in(mesh, rank, rest);
        box.lo[d] = lo + chrt_block_start(elems, blocks, b);
        box.n[d] = lo + chrt_block_start(elems, blocks, b + 1) - box.lo[d];
    }
    return box;
}

ChrtView chrt_chunk_view(const ChrtCutting *cutting, const ChrtMesh *mesh, const ChrtLayout *layout, int32_t chunk,
                         int32_t rank, int32_t base, ChrtSpan *spans)
{
    static const ChrtCutting whole = {.dim = -1, .chunks = 1, .blocks = 1};
    ChrtView view = {.at = {base, 0, 0}, .box = chrt_chunk_box(&whole, mesh, layout, 0, rank), .dim = cutting->dim};
    if (cutting->dim < 0)
        return view;
    const int64_t *start = cutting->start + chunk * (cutting->blocks + 1);
    int64_t first, last;
    fine_blocks(cutting, mesh, length(layout->split[cutting->dim]), rank, &first, &last);
    view.spans = spans;
    for (int64_t b = first; b < last; b++) {
        int64_t whole_start =
            chrt_block_start(cutting->size, cutting->blocks * cutting->chunks, b * cutting->chunks + chunk);
        ChrtSpan span = {start[b], start[b + 1], whole_start - start[b]};
        if (span.lo < span.hi)
            spans[view.nspans++] = span;
    }
    return view;
}

bool chrt_layout_present(const ChrtMesh *mesh, const ChrtLayout *layout, int32_t rank)
{
    for (int32_t a = 1; a <= mesh->naxes; a++)
        if (layout->state[a] == CHRT_PINNED && chrt_coordinate(mesh, rank, a) != layout->pin[a])
            return false;
    return true;
}
