/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_chain.c - broadcast and reduce along one axis, down a chain of ranks in segments, so that every rank sends and
 * receives the value once whatever the number of ranks, and all hops are busy at a time. The chain starts at the root
 * and runs up the coordinates, wrapping round. A rank has two segments on the wire at most: more would share it and
 * arrive together, late. Short values go down a binomial tree
 * instead.
 */
#include "chrt_task.h"

enum {
    MAX_SEGMENTS = 256,
    ON_WIRE = 2,
    AHEAD = 4, /* receives posted before the first has come */
};

typedef struct Segments {
    int64_t elems, each;
    int32_t n;
} Segments;

/* In bytes on the wire, with a latency worth CHRT_LATENCY_BYTES: a chain takes (segments + g - 2) times a segment, best
 * of a size near the root of bytes * latency / (g - 2); a tree takes the whole log2 g times. n = 0: a tree. */
static Segments cut(const ChrtWork *w, int64_t elems)
{
    const int64_t latency = CHRT_LATENCY_BYTES, b = w->task->elem_bytes, bytes = elems * b;
    int64_t size = latency / 2 > b ? latency / 2 : b, hops = w->g > 2 ? w->g - 2 : 1, depth = 0;
    while (size < CHRT_SEGMENT_BYTES && size * size < bytes / hops * latency)
        size *= 2;
    if (size > CHRT_SEGMENT_BYTES)
        size = CHRT_SEGMENT_BYTES;
    while (1 << depth < w->g)
        depth++;
    int64_t each = size / b, least = (elems + MAX_SEGMENTS - 1) / MAX_SEGMENTS;
    each = each < least ? least : each;
    each = each < 1 ? 1 : each;
    int64_t n = (elems + each - 1) / each;
    bool tree = depth * (bytes + latency) <= (n + w->g - 2) * (each * b + latency);
    return (Segments){elems, each, tree ? 0 : (int32_t)n};
}

static ChrtBox segment(const Segments *s, int32_t i)
{
    int64_t first = i * s->each;
    return chrt_line(first, s->elems - first < s->each ? s->elems - first : s->each);
}

/* Place p hears from p without its lowest bit, and tells p + every lower power of two, the farthest first. */
static void broadcast_tree(ChrtWork *w, int32_t root)
{
    int32_t g = w->g, place = (w->me - root + g) % g, bit = 1, have = -1;
    bool direct = true;
    while (bit < g && !(place & bit))
        bit *= 2;
    ChrtPlace at = place == 0 ? chrt_flat_in(w, &have) : chrt_flat_out(w, &direct);
    chrt_make_local(w);
    if (place > 0)
        have = chrt_recv(w, chrt_member_rank(w, (place - bit + root) % g), at, w->out_elems, -1);
    for (bit /= 2; bit > 0; bit /= 2)
        if (place + bit < g)
            chrt_send(w, chrt_member_rank(w, (place + bit + root) % g), at, w->out_elems, have);
    if (place > 0)
        chrt_flat_done(w, at, direct, have);
}

void chrt_make_broadcast(ChrtWork *w)
{
    ChrtTask *t = w->task;
    int32_t b = t->elem_bytes, g = w->g, root = w->rule->step->source, place = (w->me - root + g) % g;
    int32_t next = chrt_member_rank(w, (w->me + 1) % g), previous = chrt_member_rank(w, (w->me - 1 + g) % g);
    int32_t have = -1, sent[ON_WIRE] = {-1, -1}, got[AHEAD] = {-1, -1, -1, -1};
    bool direct = true;
    Segments segments = cut(w, w->out_elems);
    if (segments.n == 0) {
        broadcast_tree(w, root);
        return;
    }
    ChrtPlace at = place == 0 ? chrt_flat_in(w, &have) : chrt_flat_out(w, &direct);
    int32_t end = chrt_join(t, w->step);
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

/* The tree turned round: nearest first, each into a slot of its own; sums are made where the result will be. */
static void reduce_tree(ChrtWork *w, int32_t root)
{
    int32_t b = w->task->elem_bytes, g = w->g, place = (w->me - root + g) % g, bit = 1, have;
    bool direct = true;
    ChrtBox whole = chrt_line(0, w->in_elems);
    ChrtPlace in = chrt_flat_in(w, &have), at = in;
    ChrtView from = chrt_packed(in, &whole);
    if (place == 0)
        at = chrt_flat_out(w, &direct);
    else if (place % 2 == 0 && place + 1 < g)
        at = chrt_take(w, w->in_elems, b);
    ChrtView sum = chrt_packed(at, &whole);
    for (; place + bit < g && !(place & bit); bit *= 2) {
        ChrtPlace slot = bit == 1 ? at : chrt_take(w, w->in_elems, b);
        ChrtView part = chrt_packed(slot, &whole);
        int32_t got = chrt_recv(w, chrt_member_rank(w, (place + bit + root) % g), slot, w->in_elems, -1);
        int32_t summed = chrt_local(w, CHRT_ADD, &whole, bit == 1 ? &from : &part, &sum, got);
        chrt_after(w->task, summed, have);
        have = summed;
    }
    if (place > 0)
        chrt_send(w, chrt_member_rank(w, (place - (place & -place) + root) % g), at, w->in_elems, have);
    else
        chrt_flat_done(w, at, direct, have);
}

/* From the far end to the root; what arrives is added to in a few slots by turns, at the root in the result. */
void chrt_make_reduce(ChrtWork *w)
{
    ChrtTask *t = w->task;
    int32_t b = t->elem_bytes, g = w->g, root = w->rule->step->target, place = (w->me - root + g) % g;
    int32_t next = chrt_member_rank(w, (w->me - 1 + g) % g), previous = chrt_member_rank(w, (w->me + 1) % g);
    int32_t packed, used[AHEAD] = {-1, -1, -1, -1}, sent[ON_WIRE] = {-1, -1};
    bool direct = true;
    Segments segments = cut(w, w->in_elems);
    if (segments.n == 0) {
        reduce_tree(w, root);
        return;
    }
    int32_t end = chrt_join(t, w->step);
    ChrtBox whole = chrt_line(0, w->in_elems);
    ChrtPlace in = chrt_flat_in(w, &packed), out = in;
    ChrtView from = chrt_packed(in, &whole);
    if (place == 0)
        out = chrt_flat_out(w, &direct);
    else if (place < g - 1)
        out = chrt_take(w, segments.each, AHEAD * b);
    for (int32_t i = 0; i < segments.n; i++) {
        ChrtBox line = segment(&segments, i);
        ChrtPlace here =
            chrt_place_at(out, place > 0 && place < g - 1 ? i % AHEAD * segments.each * b : line.lo[0] * b);
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
