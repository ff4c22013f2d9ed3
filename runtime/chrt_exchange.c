/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_exchange.c - exchange and reduce_exchange: any layout to any other, straight from holders to needers.
 *
 * Ranks that hold the same block and the same contribution (they differ only in axes that the operand replicates)
 * share the work: the piece that a receiver lacks is cut by the block rule over them, in rank order. Sender and
 * receiver find the same cuts by arithmetic alone; O(ranks) for each.
 */
#include "chrt_task.h"

#include <string.h>

typedef struct Exchange {
    ChrtAxes copies;  /* replicated in the operand: holders of one block and contribution differ in these */
    ChrtAxes fixed;   /* the other axes */
    ChrtAxes stay;    /* partial before and after: a receiver gets only contributions that agree with it here */
    ChrtAxes settled; /* partial before, not after: number the contributions */
    int32_t holders;  /* of each block and contribution */
} Exchange;

static void append(uint8_t *axes, int32_t axis)
{
    axes[strlen((const char *)axes)] = (uint8_t)axis;
}

/* All lists in mesh order, so that an index in one of them follows the ranks. */
static Exchange classify(const ChrtWork *w)
{
    const ChrtLayout *from = &w->rule->from, *to = &w->rule->to;
    Exchange x = {.holders = 1};
    for (int32_t a = 1; a <= w->mesh->naxes; a++) {
        bool replicated = from->state[a] == CHRT_REPLICATED;
        append(replicated ? x.copies : x.fixed, a);
        if (replicated)
            x.holders *= w->mesh->axis[a - 1].size;
        if (from->state[a] == CHRT_PARTIAL)
            append(to->state[a] == CHRT_PARTIAL ? x.stay : x.settled, a);
    }
    return x;
}

/* What `source` sends to `target`, one of which is this rank: elements [*first, *last) of *box; false when nothing. */
static bool find_piece(const ChrtWork *w, const Exchange *x, int32_t source, int32_t target, ChrtBox *box,
                       int64_t *first, int64_t *last)
{
    const ChrtMesh *mesh = w->mesh;
    const ChrtLayout *from = &w->rule->from, *to = &w->rule->to;
    if (!chrt_layout_present(mesh, from, source) || !chrt_layout_present(mesh, to, target))
        return false;
    if (chrt_index_in(mesh, source, x->stay) != chrt_index_in(mesh, target, x->stay))
        return false;
    if (chrt_index_in(mesh, source, x->fixed) == chrt_index_in(mesh, target, x->fixed))
        return false; /* the target holds the same itself */
    ChrtBox theirs = source == w->rank ? w->in_box : chrt_chunk_box(w->cutting, mesh, from, w->chunk, source);
    ChrtBox needed = target == w->rank ? w->out_box : chrt_chunk_box(w->cutting, mesh, to, w->chunk, target);
    *box = chrt_box_meet(&theirs, &needed);
    int64_t elems = chrt_box_elems(box);
    int32_t holder = chrt_index_in(mesh, source, x->copies);
    *first = chrt_block_start(elems, x->holders, holder);
    *last = chrt_block_start(elems, x->holders, holder + 1);
    return *first < *last;
}

static void make_sends(ChrtWork *w, const Exchange *x)
{
    int32_t ranks = w->task->ctx->ranks;
    for (int32_t s = 1; s < ranks && w->holds; s++) {
        int32_t target = (w->rank + s) % ranks;
        ChrtBox box;
        int64_t first, last;
        if (find_piece(w, x, w->rank, target, &box, &first, &last))
            chrt_piece_send(w, target, &box, first, last);
    }
}

static void make_receives(ChrtWork *w, const Exchange *x)
{
    int32_t ranks = w->task->ctx->ranks;
    for (int32_t s = 1; s < ranks && w->needs; s++) {
        int32_t source = (w->rank - s + ranks) % ranks;
        ChrtBox box;
        int64_t first, last;
        if (find_piece(w, x, source, w->rank, &box, &first, &last))
            chrt_piece_recv(w, source, &box, first, last);
    }
}

/* Contributions are added in order, each as it has come; the first one sets the sum. 16-bit floats: in f32. */
static void make_sums(ChrtWork *w, const Exchange *x)
{
    ChrtTask *t = w->task;
    int32_t ranks = t->ctx->ranks, summed = -1;
    int32_t contributions = chrt_group_members(w->mesh, w->rank, x->settled, NULL);
    bool half = chrt_dtype_is_half(t->dtype);
    ChrtView sum = half ? chrt_packed(chrt_take(w, w->out_elems, t->sum_bytes), &w->out_box) : w->out;
    for (int32_t r = 0; r < ranks; r++)
        w->ids[r] = chrt_index_in(w->mesh, r, x->settled);
    for (int32_t c = 0; c < contributions; c++) {
        ChrtVerb verb = c == 0 ? CHRT_SET : CHRT_ADD;
        for (int32_t s = 0; s < ranks; s++) {
            int32_t source = (w->rank - s + ranks) % ranks, id;
            ChrtBox box;
            int64_t first, last;
            if (w->ids[source] != c)
                continue;
            if (source == w->rank && w->holds) {
                box = chrt_box_meet(&w->in_box, &w->out_box);
                id = chrt_local(w, verb, &box, &w->in, &sum, summed);
            } else if (source != w->rank && find_piece(w, x, source, w->rank, &box, &first, &last)) {
                ChrtPlace at = chrt_take(w, last - first, t->elem_bytes);
                int32_t got = chrt_recv(w, source, at, last - first, -1);
                id = chrt_piece_local(w, verb, &box, first, last, &sum, at, true, got);
                chrt_after(t, id, summed);
            } else {
                continue;
            }
            summed = id >= 0 ? id : summed;
        }
    }
    if (half)
        chrt_local(w, CHRT_ROUND, &w->out_box, &sum, &w->out, summed);
}

void chrt_make_exchange(ChrtWork *w)
{
    Exchange x = classify(w);
    if (!x.settled[0]) {
        make_receives(w, &x);
        make_sends(w, &x);
        chrt_make_local(w);
        return;
    }
    if (w->needs && w->out_elems > 0)
        make_sums(w, &x);
    make_sends(w, &x);
}
