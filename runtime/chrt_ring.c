/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_ring.c - reduce_scatter, all_gather and all_reduce around a ring: member k sends to k + 1 and receives from
 * k - 1, in g - 1 rounds (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
 * 2009). Blocks may differ in size and be empty. A block that is one run of the caller's buffer is sent and received in
 * place; others go through two slots by turns.
 *
 * In a pipeline a message leaves when the one before it on the same way has arrived. Where a wire is slow for a while,
 * by the other steps, the next blocks from behind would else share it with the one that the ranks ahead are waiting
 * for, all arrive late, and the ring never catches up: on a mesh, beside a shift, 2.2 ms in place of 1.4 (SimGrid). A
 * ring by itself need not wait, which would cost it a tenth over shared memory.
 */
#include "chrt_task.h"

static int32_t around(const ChrtWork *w, int32_t m)
{
    return (m % w->g + w->g) % w->g;
}

/* The send of a round, behind that of the round before (-1: none yet). */
static int32_t send_on(ChrtWork *w, int32_t next, ChrtPlace at, int64_t elems, int32_t have, int32_t *last)
{
    int32_t send = chrt_send(w, next, at, elems, have);
    if (w->task->nsteps > 1)
        chrt_after(w->task, send, *last);
    *last = send;
    return send;
}

static int64_t largest(const ChrtWork *w, ChrtBox block(const ChrtWork *, int32_t))
{
    int64_t most = 0;
    for (int32_t m = 0; m < w->g; m++) {
        ChrtBox box = block(w, m);
        int64_t elems = chrt_box_elems(&box);
        most = elems > most ? elems : most;
    }
    return most;
}

/* Round r: block me - 1 - r, summed so far, goes on; block me - 2 - r arrives and is added to. The last is our own. */
void chrt_make_reduce_scatter(ChrtWork *w)
{
    ChrtTask *t = w->task;
    int32_t b = t->elem_bytes, next = chrt_member_rank(w, around(w, w->me + 1));
    int32_t previous = chrt_member_rank(w, around(w, w->me - 1));
    int64_t most = largest(w, chrt_member_out);
    ChrtPlace slot[2] = {chrt_take(w, most, b), chrt_take(w, w->g > 2 ? most : 0, b)}, at = slot[0];
    int32_t busy[2] = {-1, -1}; /* the send out of the slot */
    int32_t summed = -1, last_send = -1;
    for (int32_t r = 0; r < w->g - 1; r++) {
        ChrtBox box = chrt_member_out(w, around(w, w->me - 1 - r));
        int64_t elems = chrt_box_elems(&box);
        if (r == 0 && elems && !chrt_view_run(&w->in, b, &box, &at)) {
            at = w->g > 2 ? slot[1] : chrt_take(w, most, b);
            ChrtView packed = chrt_packed(at, &box);
            summed = chrt_local(w, CHRT_MOVE, &box, &w->in, &packed, -1);
        }
        if (elems)
            busy[(r + 1) % 2] = send_on(w, next, at, elems, summed, &last_send);

        box = chrt_member_out(w, around(w, w->me - 2 - r));
        elems = chrt_box_elems(&box);
        bool last = r == w->g - 2;
        at = slot[r % 2];
        bool direct = last && elems && chrt_view_run(&w->out, b, &box, &at);
        ChrtView packed = chrt_packed(at, &box);
        int32_t got = chrt_recv(w, previous, at, elems, direct ? -1 : busy[r % 2]);
        summed = chrt_local(w, CHRT_ADD, &box, &w->in, &packed, got);
        if (last && !direct)
            chrt_local(w, CHRT_MOVE, &box, &packed, &w->out, summed);
    }
}

/* Round r: block me - r goes on, block me - 1 - r arrives. */
void chrt_make_all_gather(ChrtWork *w)
{
    ChrtTask *t = w->task;
    int32_t b = t->elem_bytes, next = chrt_member_rank(w, around(w, w->me + 1));
    int32_t previous = chrt_member_rank(w, around(w, w->me - 1));
    ChrtBox box = chrt_member_in(w, w->me);
    ChrtPlace slot[2], at = {0};
    int64_t most = largest(w, chrt_member_in);
    int32_t sent[2] = {-1, -1}, unpacked[2] = {-1, -1}, have = -1, taken = 0, last_send = -1;
    chrt_local(w, CHRT_MOVE, &box, &w->in, &w->out, -1);
    for (int32_t r = 0; r < w->g - 1; r++) {
        int64_t elems = chrt_box_elems(&box);
        if (r == 0 && elems && !chrt_view_run(&w->in, b, &box, &at)) {
            at = chrt_take(w, elems, b);
            ChrtView packed = chrt_packed(at, &box);
            have = chrt_local(w, CHRT_MOVE, &box, &w->in, &packed, -1);
        }
        if (elems)
            sent[(r + 1) % 2] = send_on(w, next, at, elems, have, &last_send);

        box = chrt_member_in(w, around(w, w->me - 1 - r));
        elems = chrt_box_elems(&box);
        bool direct = elems == 0 || chrt_view_run(&w->out, b, &box, &at);
        if (!direct) {
            while (taken <= r % 2)
                slot[taken++] = chrt_take(w, most, b);
            at = slot[r % 2];
        }
        have = chrt_recv(w, previous, at, elems, direct ? -1 : sent[r % 2]);
        if (!direct) {
            ChrtView packed = chrt_packed(at, &box);
            chrt_after(t, have, unpacked[r % 2]);
            unpacked[r % 2] = chrt_local(w, CHRT_MOVE, &box, &packed, &w->out, have);
        }
    }
}

/* Round r: block me - r goes on, block me - 1 - r arrives. */
int32_t chrt_ring_gather(ChrtWork *w, ChrtPlace out, int64_t n, int32_t have, const int32_t *busy, int32_t last_send)
{
    ChrtTask *t = w->task;
    int32_t b = t->elem_bytes, next = chrt_member_rank(w, around(w, w->me + 1));
    int32_t previous = chrt_member_rank(w, around(w, w->me - 1)), end = chrt_join(t, w->step);
    chrt_after(t, end, have);
    for (int32_t r = 0; r < w->g - 1; r++) {
        int32_t block = around(w, w->me - r);
        int64_t start = chrt_block_start(n, w->g, block), elems = chrt_block_start(n, w->g, block + 1) - start;
        chrt_after(t, end, send_on(w, next, chrt_place_at(out, start * b), elems, have, &last_send));
        block = around(w, w->me - 1 - r);
        start = chrt_block_start(n, w->g, block);
        elems = chrt_block_start(n, w->g, block + 1) - start;
        have = chrt_recv(w, previous, chrt_place_at(out, start * b), elems, busy ? busy[r] : -1);
        chrt_after(t, end, have);
    }
    return end;
}

/* Both over balanced blocks of the flattened value; the sums are made where the results will be: into the place that a
 * block arrives at in round r of the gather, its partial sum went out of in round r of the sums. */
void chrt_make_all_reduce(ChrtWork *w)
{
    ChrtTask *t = w->task;
    int32_t b = t->elem_bytes, next = chrt_member_rank(w, around(w, w->me + 1));
    int32_t previous = chrt_member_rank(w, around(w, w->me - 1)), packed, have, last_send = -1;
    int64_t n = w->out_elems;
    bool direct;
    ChrtPlace in = chrt_flat_in(w, &packed), out = chrt_flat_out(w, &direct);
    ChrtBox whole = chrt_line(0, n);
    ChrtView from = chrt_packed(in, &whole), to = chrt_packed(out, &whole);
    have = packed;
    for (int32_t r = 0; r < w->g - 1; r++) {
        int32_t block = around(w, w->me - 1 - r);
        int64_t start = chrt_block_start(n, w->g, block), elems = chrt_block_start(n, w->g, block + 1) - start;
        w->ids[r] = send_on(w, next, chrt_place_at(r == 0 ? in : out, start * b), elems, have, &last_send);
        block = around(w, w->me - 2 - r);
        start = chrt_block_start(n, w->g, block);
        elems = chrt_block_start(n, w->g, block + 1) - start;
        ChrtBox line = chrt_line(start, elems);
        int32_t got = chrt_recv(w, previous, chrt_place_at(out, start * b), elems, -1);
        have = chrt_local(w, CHRT_ADD, &line, &from, &to, got);
        chrt_after(t, have, packed);
    }
    chrt_flat_done(w, out, direct, chrt_ring_gather(w, out, n, have, w->ids, last_send));
}
