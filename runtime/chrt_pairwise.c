/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_pairwise.c - what goes straight from one rank to another: pieces of blocks, all_to_all, shift. Peers come in
 * rotated order, so that no rank is everybody's first target; receives come first.
 */
#include "chrt_task.h"

/* ---- members -------------------------------------------------------------------------------------------------------
 */

int32_t chrt_member_rank(const ChrtWork *w, int32_t m)
{
    return w->rule->group ? w->rule->group->members[m] : w->rank;
}

ChrtBox chrt_member_in(const ChrtWork *w, int32_t m)
{
    return chrt_chunk_box(w->cutting, w->mesh, &w->rule->from, w->chunk, chrt_member_rank(w, m));
}

ChrtBox chrt_member_out(const ChrtWork *w, int32_t m)
{
    return chrt_chunk_box(w->cutting, w->mesh, &w->rule->to, w->chunk, chrt_member_rank(w, m));
}

/* ---- whole blocks as one run ---------------------------------------------------------------------------------------
 */

ChrtPlace chrt_flat_in(ChrtWork *w, int32_t *after)
{
    ChrtPlace at = w->in.at;
    *after = -1;
    if (w->in_elems == 0 || chrt_view_run(&w->in, w->task->elem_bytes, &w->in_box, &at))
        return at;
    at = chrt_take(w, w->in_elems, w->task->elem_bytes);
    ChrtView packed = chrt_packed(at, &w->in_box);
    *after = chrt_local(w, CHRT_MOVE, &w->in_box, &w->in, &packed, -1);
    return at;
}

ChrtPlace chrt_flat_out(ChrtWork *w, bool *direct)
{
    ChrtPlace at = w->out.at;
    *direct = w->out_elems == 0 || chrt_view_run(&w->out, w->task->elem_bytes, &w->out_box, &at);
    return *direct ? at : chrt_take(w, w->out_elems, w->task->elem_bytes);
}

int32_t chrt_flat_done(ChrtWork *w, ChrtPlace flat, bool direct, int32_t after)
{
    if (direct)
        return after;
    ChrtView packed = chrt_packed(flat, &w->out_box);
    return chrt_local(w, CHRT_MOVE, &w->out_box, &packed, &w->out, after);
}

/* ---- pieces --------------------------------------------------------------------------------------------------------
 */

int32_t chrt_piece_local(ChrtWork *w, ChrtVerb verb, const ChrtBox *box, int64_t first, int64_t last,
                         const ChrtView *view, ChrtPlace packed, bool to_view, int32_t after)
{
    if (first >= last)
        return -1;
    int32_t id = chrt_local_open(w, verb, after);
    for (int64_t at = first, n; at < last; at += n) {
        ChrtBox part;
        n = chrt_box_part(box, at, last, &part);
        ChrtView run = chrt_packed(chrt_place_at(packed, (at - first) * w->task->elem_bytes), &part);
        chrt_local_walk(w, &part, to_view ? &run : view, to_view ? view : &run);
    }
    return id;
}

/* Whether the piece is one run of the buffer. */
static bool piece_run(const ChrtWork *w, const ChrtView *view, const ChrtBox *box, int64_t first, int64_t last,
                      ChrtPlace *at)
{
    ChrtBox part;
    int32_t b = w->task->elem_bytes;
    if (chrt_box_part(box, first, last, &part) == last - first)
        return chrt_view_run(view, b, &part, at);
    if (!chrt_view_run(view, b, box, at))
        return false;
    *at = chrt_place_at(*at, first * b);
    return true;
}

int32_t chrt_piece_send(ChrtWork *w, int32_t peer, const ChrtBox *box, int64_t first, int64_t last)
{
    if (first >= last)
        return -1;
    ChrtPlace at;
    int32_t packed = -1;
    if (!piece_run(w, &w->in, box, first, last, &at) && !chrt_strided(w, &w->in, box, first, last, &at)) {
        at = chrt_take(w, last - first, w->task->elem_bytes);
        packed = chrt_piece_local(w, CHRT_MOVE, box, first, last, &w->in, at, false, -1);
    }
    return chrt_send(w, peer, at, last - first, packed);
}

int32_t chrt_piece_recv(ChrtWork *w, int32_t peer, const ChrtBox *box, int64_t first, int64_t last)
{
    if (first >= last)
        return -1;
    ChrtPlace at;
    if (piece_run(w, &w->out, box, first, last, &at) || chrt_strided(w, &w->out, box, first, last, &at))
        return chrt_recv(w, peer, at, last - first, -1);
    at = chrt_take(w, last - first, w->task->elem_bytes);
    int32_t got = chrt_recv(w, peer, at, last - first, -1);
    return chrt_piece_local(w, CHRT_MOVE, box, first, last, &w->out, at, true, got);
}

void chrt_make_local(ChrtWork *w)
{
    if (!w->holds || !w->needs)
        return;
    ChrtBox box = chrt_box_meet(&w->in_box, &w->out_box);
    chrt_local(w, CHRT_MOVE, &box, &w->in, &w->out, -1);
}

void chrt_make_all_to_all(ChrtWork *w)
{
    for (int32_t s = 1; s < w->g; s++) {
        int32_t m = (w->me - s + w->g) % w->g;
        ChrtBox box = chrt_member_in(w, m);
        box = chrt_box_meet(&box, &w->out_box);
        chrt_piece_recv(w, chrt_member_rank(w, m), &box, 0, chrt_box_elems(&box));
    }
    for (int32_t s = 1; s < w->g; s++) {
        int32_t m = (w->me + s) % w->g;
        ChrtBox box = chrt_member_out(w, m);
        box = chrt_box_meet(&box, &w->in_box);
        chrt_piece_send(w, chrt_member_rank(w, m), &box, 0, chrt_box_elems(&box));
    }
    chrt_make_local(w);
}

void chrt_make_shift(ChrtWork *w)
{
    const ChrtStep *step = w->rule->step;
    if (w->needs)
        chrt_piece_recv(w, chrt_member_rank(w, step->source), &w->out_box, 0, w->out_elems);
    if (w->holds)
        chrt_piece_send(w, chrt_member_rank(w, step->target), &w->in_box, 0, w->in_elems);
}
