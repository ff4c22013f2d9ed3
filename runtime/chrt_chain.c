/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_chain.c - broadcast and reduce along one axis, down a chain of ranks in segments, so that every rank sends and
 * receives the value once whatever the number of ranks, and all hops are busy at a time. The chain starts at the root
 * and runs up the coordinates, wrapping round. A rank has two segments on the wire at most: more would share it and
 * arrive together, late.
 */
#include "chrt_task.h"

enum { MAX_SEGMENTS = 256, ON_WIRE = 2, AHEAD = 4 }; /* AHEAD: receives posted before the first has come */

typedef struct Segments {
    int64_t elems, each;
    int32_t n;
} Segments;

static Segments cut(const ChrtWork *w, int64_t elems)
{
    int64_t each = CHRT_SEGMENT_BYTES / w->task->elem_bytes, least = (elems + MAX_SEGMENTS - 1) / MAX_SEGMENTS;
    each = each < least ? least : each;
    each = each < 1 ? 1 : each;
    return (Segments){elems, each, (int32_t)((elems + each - 1) / each)};
}

static ChrtBox segment(const Segments *s, int32_t i)
{
    int64_t first = i * s->each;
    return chrt_line(first, s->elems - first < s->each ? s->elems - first : s->each);
}

void chrt_make_broadcast(ChrtWork *w)
{
    ChrtTask *t = w->task;
    int32_t b = t->elem_bytes, g = w->g, root = w->rule->step->source, place = (w->me - root + g) % g;
    int32_t next = chrt_member_rank(w, (w->me + 1) % g), previous = chrt_member_rank(w, (w->me - 1 + g) % g);
    int32_t have, sent[ON_WIRE] = {-1, -1}, got[AHEAD] = {-1, -1, -1, -1}, end = chrt_join(t, w->step);
    bool direct = true;
    ChrtPlace at = place == 0 ? chrt_flat_in(w, &have) : chrt_flat_out(w, &direct);
    Segments segments = cut(w, w->out_elems);
    chrt_make_local(w);
    for (int32_t i = 0; i < segments.n; i++) {
        ChrtBox line = segment(&segments, i);
        ChrtPlace here = chrt_place_at(at, line.lo[0] * b);
        if (place > 0) {
            have = got[i % AHEAD] = chrt_recv(w, previous, here, line.n[0], got[i % AHEAD]);
            chrt_after(t, end, have);
        }
        if (place < g - 1) {
            int32_t send = chrt_send(w, next, here, line.n[0], have);
            chrt_after(t, send, sent[i % ON_WIRE]);
            sent[i % ON_WIRE] = send;
        }
    }
    if (place > 0)
        chrt_flat_done(w, at, direct, end);
}

/* From the far end to the root; what arrives is added to in a few slots by turns, at the root in the result. */
void chrt_make_reduce(ChrtWork *w)
{
    ChrtTask *t = w->task;
    int32_t b = t->elem_bytes, g = w->g, root = w->rule->step->target, place = (w->me - root + g) % g;
    int32_t next = chrt_member_rank(w, (w->me - 1 + g) % g), previous = chrt_member_rank(w, (w->me + 1) % g);
    int32_t packed, used[AHEAD] = {-1, -1, -1, -1}, sent[ON_WIRE] = {-1, -1}, end = chrt_join(t, w->step);
    bool direct = true;
    Segments segments = cut(w, w->in_elems);
    ChrtBox whole = chrt_line(0, w->in_elems);
    ChrtPlace in = chrt_flat_in(w, &packed), out = in;
    ChrtView from = chrt_packed(in, &whole);
    if (place == 0)
        out = chrt_flat_out(w, &direct);
    else if (place < g - 1)
        out = chrt_take(w, segments.each, AHEAD * b);
    for (int32_t i = 0; i < segments.n; i++) {
        ChrtBox line = segment(&segments, i);
        ChrtPlace here = chrt_place_at(out, place > 0 && place < g - 1 ? i % AHEAD * segments.each * b : line.lo[0] * b);
        ChrtView sum = chrt_packed(here, &line);
        int32_t have = packed;
        if (place < g - 1) {
            int32_t got = chrt_recv(w, previous, here, line.n[0], used[i % AHEAD]);
            have = chrt_local(w, CHRT_ADD, &line, &from, &sum, got);
            chrt_after(t, have, packed);
            used[i % AHEAD] = have;
        }
        if (place > 0) {
            int32_t send = chrt_send(w, next, here, line.n[0], have);
            chrt_after(t, send, sent[i % ON_WIRE]);
            sent[i % ON_WIRE] = send;
            used[i % AHEAD] = send;
        }
        chrt_after(t, end, have);
    }
    if (place == 0)
        chrt_flat_done(w, out, direct, end);
}
