/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_direct.c - collectives straight from member to member: of values so short that latency counts, and all sums of
 * 16-bit floats: every member gets all contributions to its block, sums them in f32, in member order, and rounds once.
 * Long sums for all are then gathered around the ring, which crosses a slow wire between nodes but once. Peers come in
 * rotated order; receives come first.
 */
#include "chrt_task.h"

typedef ChrtBox Block(const ChrtWork *, int32_t); /* of a member */

/* Member m's block of the flattened value. */
static ChrtBox line_of(const ChrtWork *w, int32_t m)
{
    int64_t first = chrt_block_start(w->in_elems, w->g, m);
    return chrt_line(first, chrt_block_start(w->in_elems, w->g, m + 1) - first);
}

/* Every member's block of `in` goes to it; ours is summed, in member order, and rounded into `own`. Returns the last
 * action. */
static int32_t sum_blocks(ChrtWork *w, Block block, const ChrtView *in, int32_t after, const ChrtView *own)
{
    ChrtTask *t = w->task;
    int32_t b = t->elem_bytes;
    ChrtBox mine = block(w, w->me);
    int64_t elems = chrt_box_elems(&mine);
    ChrtPlace slots = chrt_take(w, elems, b * w->g);
    ChrtView sum = chrt_packed(chrt_take(w, elems, t->sum_bytes), &mine);
    for (int32_t s = 1; s < w->g; s++) {
        int32_t m = (w->me - s + w->g) % w->g;
        w->ids[m] = chrt_recv(w, chrt_member_rank(w, m), chrt_place_at(slots, m * elems * b), elems, -1);
    }
    for (int32_t s = 1; s < w->g; s++) {
        int32_t m = (w->me + s) % w->g, packed = after;
        ChrtBox box = block(w, m);
        ChrtPlace at = in->at;
        if (chrt_box_elems(&box) && !chrt_view_run(in, b, &box, &at)) {
            at = chrt_take(w, chrt_box_elems(&box), b);
            ChrtView view = chrt_packed(at, &box);
            packed = chrt_local(w, CHRT_MOVE, &box, in, &view, after);
        }
        chrt_send(w, chrt_member_rank(w, m), at, chrt_box_elems(&box), packed);
    }
    int32_t summed = after;
    for (int32_t m = 0; m < w->g; m++) {
        ChrtView slot = chrt_packed(chrt_place_at(slots, m * elems * b), &mine);
        summed = chrt_local(w, m == 0 ? CHRT_SET : CHRT_ADD, &mine, m == w->me ? in : &slot, &sum, summed);
        if (m != w->me)
            chrt_after(t, summed, w->ids[m]);
    }
    return chrt_local(w, CHRT_ROUND, &mine, &sum, own, summed);
}

void chrt_make_direct_reduce_scatter(ChrtWork *w)
{
    sum_blocks(w, chrt_member_out, &w->in, -1, &w->out);
}

void chrt_make_direct_all_gather(ChrtWork *w)
{
    ChrtBox mine = chrt_member_in(w, w->me);
    for (int32_t s = 1; s < w->g; s++) {
        int32_t m = (w->me - s + w->g) % w->g;
        ChrtBox box = chrt_member_in(w, m);
        chrt_piece_recv(w, chrt_member_rank(w, m), &box, 0, chrt_box_elems(&box));
    }
    int32_t packed;
    ChrtPlace at = chrt_flat_in(w, &packed);
    for (int32_t s = 1; s < w->g; s++)
        chrt_send(w, chrt_member_rank(w, (w->me + s) % w->g), at, w->in_elems, packed);
    chrt_local(w, CHRT_MOVE, &mine, &w->in, &w->out, -1);
}

/* Everyone's sum, made where it lies in `out`, to the root (< 0: to all). Returns when all is done. */
static int32_t collect(ChrtWork *w, int32_t root, ChrtPlace out, const ChrtView *own, int32_t summed)
{
    ChrtTask *t = w->task;
    int32_t end = chrt_join(t, w->step);
    chrt_after(t, end, summed);
    for (int32_t s = 1; s < w->g && (root < 0 || root == w->me); s++) {
        int32_t m = (w->me - s + w->g) % w->g;
        ChrtBox box = line_of(w, m);
        ChrtPlace at = chrt_place_at(out, box.lo[0] * t->elem_bytes);
        chrt_after(t, end, chrt_recv(w, chrt_member_rank(w, m), at, box.n[0], -1));
    }
    for (int32_t s = 1; s < w->g; s++) {
        int32_t m = (w->me + s) % w->g;
        if (root < 0 || root == m)
            chrt_after(t, end, chrt_send(w, chrt_member_rank(w, m), own->at, own->box.n[0], summed));
    }
    return end;
}

/* root < 0: everybody gets the result. */
static void sum_and_collect(ChrtWork *w, int32_t root, bool around)
{
    int32_t b = w->task->elem_bytes, packed;
    bool direct = true, gets = root < 0 || root == w->me;
    ChrtBox whole = chrt_line(0, w->in_elems), mine = line_of(w, w->me);
    ChrtView in = chrt_packed(chrt_flat_in(w, &packed), &whole);
    ChrtPlace out = gets ? chrt_flat_out(w, &direct) : chrt_take(w, chrt_box_elems(&mine), b);
    ChrtView own = chrt_packed(gets ? chrt_place_at(out, mine.lo[0] * b) : out, &mine);
    int32_t summed = sum_blocks(w, line_of, &in, packed, &own);
    int32_t end =
        around ? chrt_ring_gather(w, out, w->in_elems, summed, NULL, -1) : collect(w, root, out, &own, summed);
    chrt_flat_done(w, out, direct, end);
}

/* Two ranks with short values hand each other all of them, and both sum: one round in place of two. */
static void swap(ChrtWork *w)
{
    ChrtTask *t = w->task;
    int32_t packed, peer = chrt_member_rank(w, 1 - w->me);
    bool direct;
    ChrtBox whole = chrt_line(0, w->in_elems);
    ChrtView in = chrt_packed(chrt_flat_in(w, &packed), &whole);
    ChrtPlace out = chrt_flat_out(w, &direct);
    ChrtView theirs = chrt_packed(chrt_take(w, w->in_elems, t->elem_bytes), &whole);
    ChrtView sum = chrt_packed(chrt_take(w, w->in_elems, t->sum_bytes), &whole), to = chrt_packed(out, &whole);
    int32_t got = chrt_recv(w, peer, theirs.at, w->in_elems, -1), summed = packed;
    chrt_send(w, peer, in.at, w->in_elems, packed);
    for (int32_t m = 0; m < 2; m++) {
        summed = chrt_local(w, m == 0 ? CHRT_SET : CHRT_ADD, &whole, m == w->me ? &in : &theirs, &sum, summed);
        if (m != w->me)
            chrt_after(t, summed, got);
    }
    chrt_flat_done(w, out, direct, chrt_local(w, CHRT_ROUND, &whole, &sum, &to, summed));
}

void chrt_make_direct_all_reduce(ChrtWork *w, bool around)
{
    if (w->g == 2 && !around)
        swap(w);
    else
        sum_and_collect(w, -1, around);
}

void chrt_make_direct_reduce(ChrtWork *w)
{
    sum_and_collect(w, w->rule->step->target, false);
}
