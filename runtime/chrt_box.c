/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_box.c - row-major blocks, and strided walks through two of them.
 */
#include "chrt_internal.h"

int64_t chrt_box_elems(const ChrtBox *box)
{
    int64_t elems = 1;
    for (int32_t d = 0; d < box->ndims; d++)
        elems *= box->n[d];
    return elems;
}

ChrtBox chrt_box_meet(const ChrtBox *a, const ChrtBox *b)
{
    ChrtBox meet = {.ndims = a->ndims};
    for (int32_t d = 0; d < a->ndims; d++) {
        int64_t a_end = a->lo[d] + a->n[d], b_end = b->lo[d] + b->n[d];
        int64_t end = a_end < b_end ? a_end : b_end;
        meet.lo[d] = a->lo[d] > b->lo[d] ? a->lo[d] : b->lo[d];
        meet.n[d] = end > meet.lo[d] ? end - meet.lo[d] : 0;
    }
    return meet;
}

bool chrt_box_contiguous(const ChrtBox *box, const ChrtBox *region, int64_t *offset)
{
    int64_t stride = 1;
    bool whole = true, contiguous = true; /* whole: all dims inside are covered */
    *offset = 0;
    for (int32_t d = box->ndims - 1; d >= 0; d--) {
        if (!whole && region->n[d] > 1)
            contiguous = false;
        if (region->n[d] != box->n[d])
            whole = false;
        *offset += (region->lo[d] - box->lo[d]) * stride;
        stride *= box->n[d];
    }
    return contiguous;
}

int64_t chrt_box_part(const ChrtBox *box, int64_t first, int64_t last, ChrtBox *part)
{
    int64_t left = last - first, inside = 1, at = first, taken = 1;
    *part = *box;
    for (int32_t d = box->ndims - 1; d >= 0; d--) {
        int64_t index = at % box->n[d], most = box->n[d] - index;
        /* The part covers dim d as long as it begins where the dims inside do and has room for a row of them. */
        bool grows = first % inside == 0 && inside <= left && taken == inside;
        int64_t n = grows ? (left / inside < most ? left / inside : most) : 1;
        part->lo[d] = box->lo[d] + index;
        part->n[d] = n;
        taken *= n;
        inside *= box->n[d];
        at /= box->n[d];
    }
    return taken;
}

ChrtRuns chrt_runs(const ChrtBox *region, int64_t first, int64_t last, const ChrtBox *a, const ChrtBox *b)
{
    const ChrtBox *boxes[2] = {a ? a : region, b ? b : region};
    ChrtRuns runs = {.run = 1, .left = last - first, .packed = {!a, !b}};
    if (runs.left <= 0)
        return runs;

    /* Merge dims into the run from the inside as long as those within are whole in both buffers. */
    int64_t stride[2] = {1, 1};
    bool whole = true;
    int32_t d = region->ndims - 1;
    for (; d >= 0 && (whole || region->n[d] == 1); d--) {
        runs.run *= region->n[d];
        for (int32_t s = 0; s < 2; s++) {
            if (region->n[d] != boxes[s]->n[d])
                whole = false;
            runs.offset[s] += (region->lo[d] - boxes[s]->lo[d]) * stride[s];
            stride[s] *= boxes[s]->n[d];
        }
    }

    /* What is left is walked; start where `first` falls. */
    int64_t index = first / runs.run;
    runs.skip = first % runs.run;
    runs.outer = d + 1;
    for (; d >= 0; d--) {
        runs.n[d] = region->n[d];
        runs.at[d] = index % region->n[d];
        index /= region->n[d];
        for (int32_t s = 0; s < 2; s++) {
            runs.step[s][d] = stride[s];
            runs.offset[s] += (region->lo[d] - boxes[s]->lo[d] + runs.at[d]) * stride[s];
            stride[s] *= boxes[s]->n[d];
        }
    }
    for (int32_t s = 0; s < 2; s++)
        if (runs.packed[s])
            runs.offset[s] = -runs.skip;
    return runs;
}

bool chrt_runs_next(ChrtRuns *runs, int64_t *a_offset, int64_t *b_offset, int64_t *elems)
{
    if (runs->left <= 0)
        return false;
    *elems = runs->run - runs->skip < runs->left ? runs->run - runs->skip : runs->left;
    *a_offset = runs->offset[0] + runs->skip;
    *b_offset = runs->offset[1] + runs->skip;
    runs->left -= *elems;
    runs->skip = 0;

    int64_t move[2] = {0, 0};
    for (int32_t d = runs->outer - 1; d >= 0; d--) {
        bool wraps = ++runs->at[d] == runs->n[d];
        for (int32_t s = 0; s < 2; s++)
            move[s] += wraps ? -(runs->n[d] - 1) * runs->step[s][d] : runs->step[s][d];
        if (!wraps)
            break;
        runs->at[d] = 0;
    }
    for (int32_t s = 0; s < 2; s++)
        runs->offset[s] += runs->packed[s] ? runs->run : move[s];
    return true;
}
