/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/traffic.c - bytes that every rank sends and receives in a layout change: one rule per op, exact for uneven
 * sizes. L is the operand block of a rank, own its result block (its operand block for a gather), g the group size.
 */
#include "cost/overlap.h"
#include "cost/wires.h"

#include <string.h>

/* One layout change being measured. */
typedef struct Change {
    ChmTraffic *t;
    const ChmShape *shape;
    ChmDtype dtype;
    int64_t elem_bytes;
    const ChmMesh *mesh;
    const ChmLayout *from, *to;
    const ChmAttrs *attrs;
} Change;

static int64_t bytes_of(const Change *c, const ChmLayout *l, int32_t rank)
{
    return chm_local_elems(c->shape, l, rank) * c->elem_bytes;
}

static void count(const Change *c, int32_t rank, int64_t sent, int64_t received)
{
    c->t->step_sent[rank] = chm_sat_add(c->t->step_sent[rank], sent);
    c->t->step_received[rank] = chm_sat_add(c->t->step_received[rank], received);
}

/* Every rank that takes part in a group op sends this many messages, of which so many wait for one another. */
static void count_messages(const Change *c, int64_t messages, int64_t rounds)
{
    int64_t senders = 0;
    for (int32_t r = 0; r < c->t->ranks; r++)
        senders += chm_layout_present(c->from, r);
    c->t->step_rounds = rounds;
    c->t->step_most_sends = messages;
    c->t->step_messages = chm_sat_mul(senders, messages);
}

/* The worst rank sums this part of the bytes that it receives. */
static void count_summed(const Change *c, int64_t part)
{
    ChmTraffic *t = c->t;
    if (t->topo->reduce_bytes_per_s <= 0)
        return;
    for (int32_t r = 0; r < t->ranks; r++)
        t->step_summed_bytes = chm_max64(t->step_summed_bytes, t->step_received[r] / part);
}

/* ---- messages: what the wires carry, where the topology has any */

static int32_t neighbour(const Change *c, int32_t rank)
{
    const ChmAxisSeq *over = &c->attrs->over;
    int64_t k = chm_group_index(c->mesh, rank, over) + 1;
    return chm_group_member(c->mesh, rank, over, k == chm_mesh_extent(c->mesh, over) ? 0 : (int32_t)k);
}

/* Bytes of a rank's balanced block of the flattened buffer: of the group of an op over axes. */
static int64_t balanced(const Change *c, const ChmAxisSeq *over, int32_t rank)
{
    int64_t elems = chm_local_elems(c->shape, c->from, rank), g = chm_mesh_extent(c->mesh, over);
    return chm_block_len(elems, g, chm_group_index(c->mesh, rank, over)) * c->elem_bytes;
}

/* The op's own blocks of a rank: those of a layout, or balanced ones (NULL). */
static int64_t block_of(const Change *c, const ChmLayout *blocks, int32_t rank)
{
    return blocks ? bytes_of(c, blocks, rank) : balanced(c, &c->attrs->over, rank);
}

/* The wire from a rank to the next carries all but one block: its own while sums travel, else the next's. */
static void send_round(const Change *c, const ChmLayout *whole, const ChmLayout *blocks, bool sums)
{
    int64_t rounds = chm_mesh_extent(c->mesh, &c->attrs->over) - 1;
    for (int32_t r = 0; r < c->t->ranks; r++) {
        if (!chm_layout_present(c->from, r))
            continue;
        int32_t next = neighbour(c, r);
        chm_wires_send(c->t, r, next, bytes_of(c, whole, r) - block_of(c, blocks, sums ? r : next), rounds);
    }
}

/* Each member sends each other that one's block while sums travel, else its own. */
static void send_pairs(const Change *c, const ChmAxisSeq *over, const ChmLayout *blocks, bool sums)
{
    int64_t g = chm_mesh_extent(c->mesh, over);
    for (int32_t r = 0; r < c->t->ranks; r++) {
        if (!chm_layout_present(c->from, r))
            continue;
        int64_t bytes = blocks ? bytes_of(c, blocks, r) : balanced(c, over, r);
        int32_t me = chm_group_index(c->mesh, r, over);
        for (int32_t k = 0; k < g; k++) {
            int32_t other = chm_group_member(c->mesh, r, over, k);
            if (k != me)
                chm_wires_send(c->t, sums ? other : r, sums ? r : other, bytes, 1);
        }
    }
}

static bool sums_in_pairs(const Change *c)
{
    return chm_dtypes[c->dtype].kind == CHM_KIND_FLOAT && c->elem_bytes == 2;
}

/* Whether the members' messages, each an equal part of the whole, are so short that they go straight from member to
 * member instead of around a ring. */
static bool goes_straight(const Change *c, const ChmLayout *whole)
{
    int64_t elems = 0;
    for (int32_t r = 0; r < c->t->ranks; r++)
        if (chm_layout_present(c->from, r))
            elems = chm_max64(elems, chm_local_elems(c->shape, whole, r));
    int64_t bytes = elems / chm_mesh_extent(c->mesh, &c->attrs->over) * c->elem_bytes; /* as the runtime decides */
    c->t->step_ring_bytes = bytes > CHM_SHORT_BYTES ? bytes : 0;
    return bytes <= CHM_SHORT_BYTES;
}

/* A piece is what the sender's box has outside the receiver's range in the second dim taken off: rest * range. */
static void send_all_to_all(const Change *c)
{
    ChmTraffic *t = c->t;
    int64_t *rest = t->step_parts, *range = t->step_parts + t->ranks;
    int64_t g = chm_mesh_extent(c->mesh, &c->attrs->over);
    int32_t e = c->attrs->to_dim;
    for (int32_t r = 0; r < t->ranks; r++) {
        ChmBox have, want;
        chm_layout_box(c->shape, c->from, r, &have);
        chm_layout_box(c->shape, c->to, r, &want);
        range[r] = want.hi[e] - want.lo[e];
        have.lo[e] = 0;
        have.hi[e] = 1;
        rest[r] = chm_box_elems(&have) * c->elem_bytes;
    }
    for (int32_t r = 0; r < t->ranks; r++) {
        if (!chm_layout_present(c->from, r))
            continue;
        for (int32_t k = 0; k < g; k++) {
            int32_t to = chm_group_member(c->mesh, r, &c->attrs->over, k);
            if (to != r)
                chm_wires_send(t, r, to, rest[r] * range[to], 1);
        }
    }
}

/* ---- the rules */

static void traffic_input(const Change *c)
{
    (void)c;
}

static void traffic_wait(const Change *c)
{
    (void)c;
}

static void traffic_output(const Change *c)
{
    (void)c;
}

static void traffic_slice(const Change *c)
{
    (void)c;
}

static void traffic_drop(const Change *c)
{
    (void)c;
}

static void traffic_reduce_scatter(const Change *c)
{
    int64_t g = chm_mesh_extent(c->mesh, &c->attrs->over);
    for (int32_t r = 0; r < c->t->ranks; r++) {
        int64_t own = bytes_of(c, c->to, r);
        count(c, r, bytes_of(c, c->from, r) - own, chm_sat_mul(g - 1, own));
    }
    bool straight = sums_in_pairs(c) || goes_straight(c, c->from);
    count_messages(c, g - 1, straight ? 1 : g - 1);
    c->t->step_at_once = straight;
    count_summed(c, 1);
    if (c->t->wires && straight)
        send_pairs(c, &c->attrs->over, c->to, true);
    else if (c->t->wires)
        send_round(c, c->from, c->to, true);
}

static void traffic_all_gather(const Change *c)
{
    int64_t g = chm_mesh_extent(c->mesh, &c->attrs->over);
    for (int32_t r = 0; r < c->t->ranks; r++) {
        int64_t own = bytes_of(c, c->from, r);
        count(c, r, chm_sat_mul(g - 1, own), bytes_of(c, c->to, r) - own);
    }
    bool straight = goes_straight(c, c->to);
    count_messages(c, g - 1, straight ? 1 : g - 1);
    c->t->step_at_once = straight;
    if (c->t->wires && straight)
        send_pairs(c, &c->attrs->over, c->from, false);
    else if (c->t->wires)
        send_round(c, c->to, c->from, false);
}

/* Two ranks hand each other all they have. */
static void send_swap(const Change *c)
{
    for (int32_t r = 0; r < c->t->ranks; r++)
        if (chm_layout_present(c->from, r))
            chm_wires_send(c->t, r, neighbour(c, r), bytes_of(c, c->from, r), 1);
}

static void send_all_reduce(const Change *c, bool sums_straight, bool straight)
{
    if (sums_straight)
        send_pairs(c, &c->attrs->over, NULL, true);
    else
        send_round(c, c->from, NULL, true);
    if (straight)
        send_pairs(c, &c->attrs->over, NULL, false);
    else
        send_round(c, c->from, NULL, false);
}

/* Reduces and then gathers the balanced blocks of the flattened buffer: both ways (L - own) + (g-1) own. */
static void traffic_all_reduce(const Change *c)
{
    int64_t g = chm_mesh_extent(c->mesh, &c->attrs->over);
    for (int32_t r = 0; r < c->t->ranks; r++) {
        int64_t own = balanced(c, &c->attrs->over, r);
        int64_t each_way = chm_sat_add(bytes_of(c, c->from, r) - own, chm_sat_mul(g - 1, own));
        count(c, r, each_way, each_way);
    }
    bool straight = goes_straight(c, c->from), sums_straight = straight || sums_in_pairs(c);
    bool swap = g == 2 && straight;
    int64_t rounds = (sums_straight ? 1 : g - 1) + (straight ? 1 : g - 1);
    count_messages(c, swap ? 1 : chm_sat_mul(2, g - 1), swap ? 1 : rounds);
    c->t->step_at_once = straight;
    count_summed(c, swap ? 1 : 2);
    if (c->t->wires && swap)
        send_swap(c);
    else if (c->t->wires)
        send_all_reduce(c, sums_straight, straight);
}

/* The result blocks of a group cut each operand block, so all but the part that a rank keeps moves. */
static void traffic_all_to_all(const Change *c)
{
    for (int32_t r = 0; r < c->t->ranks; r++) {
        ChmBox have, want;
        if (!chm_layout_present(c->from, r))
            continue;
        chm_layout_box(c->shape, c->from, r, &have);
        chm_layout_box(c->shape, c->to, r, &want);
        int64_t kept = chm_box_shared(&have, &want);
        count(c, r, (chm_box_elems(&have) - kept) * c->elem_bytes, (chm_box_elems(&want) - kept) * c->elem_bytes);
    }
    count_messages(c, chm_mesh_extent(c->mesh, &c->attrs->over) - 1, 1);
    if (c->t->wires)
        send_all_to_all(c);
}

static void traffic_shift(const Change *c)
{
    int32_t hop = (c->attrs->to - c->attrs->from) * c->mesh->stride[c->attrs->axis];
    if (hop == 0)
        return;
    for (int32_t r = 0; r < c->t->ranks; r++) {
        count(c, r, bytes_of(c, c->from, r), bytes_of(c, c->to, r));
        if (!chm_layout_present(c->from, r))
            continue;
        c->t->step_messages++;
        if (c->t->wires)
            chm_wires_send(c->t, r, r + hop, bytes_of(c, c->from, r), 1);
    }
    c->t->step_rounds = c->t->step_most_sends = 1;
    c->t->step_at_once = true;
}

/* A chain of the ranks along an axis, 'all' being the layout at the end where all of them have the value: away from
 * the root, or towards it. */
static void count_chain(const Change *c, const ChmLayout *all, int32_t root, bool away)
{
    int32_t axis = c->attrs->axis, n = c->mesh->axis_size[axis];
    for (int32_t r = 0; r < c->t->ranks; r++) {
        if (!chm_layout_present(all, r))
            continue;
        int32_t hops = (chm_mesh_coord(c->mesh, r, axis) - root + n) % n; /* from the root */
        bool outward = hops != n - 1;                                     /* has a neighbour on that side */
        bool inward = hops != 0;
        int64_t bytes = bytes_of(c, all, r);
        count(c, r, (away ? outward : inward) ? bytes : 0, (away ? inward : outward) ? bytes : 0);
        c->t->step_messages += outward;
    }
    c->t->step_rounds = n - 1;
    c->t->step_most_sends = 1;
}

/* The wires of a chain: from each rank but the last, counted from the root, to the next, or back. */
static void send_chain(const Change *c, const ChmLayout *all, int32_t root, bool away)
{
    int32_t axis = c->attrs->axis, n = c->mesh->axis_size[axis], stride = c->mesh->stride[axis];
    for (int32_t r = 0; r < c->t->ranks; r++) {
        int32_t coord = chm_mesh_coord(c->mesh, r, axis), next = r + (coord + 1 < n ? stride : -coord * stride);
        if (!chm_layout_present(all, r) || (coord + 1) % n == root)
            continue;
        chm_wires_send(c->t, away ? r : next, away ? next : r, bytes_of(c, all, r), 1);
    }
}

/* 16-bit floats: everyone sums its balanced block and hands it to the root. */
static void send_reduce_in_pairs(const Change *c)
{
    int32_t axis = c->attrs->axis, stride = c->mesh->stride[axis];
    ChmAxisSeq over = chm_seq_of_set(CHM_AXIS(axis));
    send_pairs(c, &over, NULL, true);
    for (int32_t r = 0; r < c->t->ranks; r++) {
        int32_t away = c->attrs->to - chm_mesh_coord(c->mesh, r, axis);
        if (away != 0 && chm_layout_present(c->from, r))
            chm_wires_send(c->t, r, r + away * stride, balanced(c, &over, r), 1);
    }
}

static void traffic_broadcast(const Change *c)
{
    count_chain(c, c->to, c->attrs->from, true);
    if (c->t->wires)
        send_chain(c, c->to, c->attrs->from, true);
}

static void traffic_reduce(const Change *c)
{
    count_chain(c, c->from, c->attrs->to, false);
    count_summed(c, 1);
    if (c->t->wires && sums_in_pairs(c))
        send_reduce_in_pairs(c);
    else if (c->t->wires)
        send_chain(c, c->from, c->attrs->to, false);
}

static void traffic_exchange(const Change *c)
{
    chm_exchange_traffic(c->t, c->shape, c->elem_bytes, c->from, c->to);
}

static void traffic_reduce_exchange(const Change *c)
{
    chm_exchange_traffic(c->t, c->shape, c->elem_bytes, c->from, c->to);
    count_summed(c, 1);
}

static void traffic_pipeline(const Change *c)
{
    chm_measure_pipeline(c->t, c->shape, c->dtype, c->from, c->attrs);
}

static void (*const rules[CHM_NOPS])(const Change *c) = {
#define CHM_OP(CODE, name, class, syntax, what) traffic_##name,
#include "ir/ops.def"
#undef CHM_OP
};

int32_t chm_op_weight(ChmOpcode code)
{
    return chm_is_exchange(code) ? 5 : 2;
}

/* ---- sums */

#define BYTES(t, n) (sizeof *(t) * (size_t)(n))

void chm_traffic_init(ChmTraffic *t, ChmArena *arena, const ChmTopology *topo, const ChmMesh *mesh)
{
    int32_t ranks = mesh->ranks;
    *t = (ChmTraffic){.topo = topo, .mesh = mesh, .ranks = ranks, .step_level = -1};
    t->sent = CHM_NEW_ARRAY(arena, int64_t, ranks);
    t->received = CHM_NEW_ARRAY(arena, int64_t, ranks);
    t->step_sent = CHM_NEW_ARRAY(arena, int64_t, ranks);
    t->step_received = CHM_NEW_ARRAY(arena, int64_t, ranks);
    t->step_sends = CHM_NEW_ARRAY(arena, int32_t, ranks);
    t->step_offsets = CHM_NEW_ARRAY(arena, int32_t, 2 * (int64_t)ranks);
    t->step_equal = CHM_NEW_ARRAY(arena, ChmEqualParts, ranks);
    t->arena = arena;
    for (int32_t i = 0; i < CHM_MAX_LEVELS; i++)
        t->wire_twins[i] = 1;
    t->wires = chm_wires_make(arena, topo, mesh);
    if (!t->wires)
        return;
    t->wire_bytes = CHM_NEW_ARRAY(arena, int64_t, chm_traffic_wires(t));
    t->step_wire_bytes = CHM_NEW_ARRAY(arena, int64_t, chm_traffic_wires(t));
    t->step_rank_s = CHM_NEW_ARRAY(arena, double, ranks);
    t->step_parts = CHM_NEW_ARRAY(arena, int64_t, 2 * (int64_t)ranks);
}

static void clear_step(ChmTraffic *t)
{
    memset(t->step_sent, 0, BYTES(t->step_sent, t->ranks));
    memset(t->step_received, 0, BYTES(t->step_received, t->ranks));
    memset(t->step_sends, 0, BYTES(t->step_sends, t->ranks));
    memset(t->step_equal, 0, BYTES(t->step_equal, t->ranks));
    if (t->wires) {
        memset(t->step_wire_bytes, 0, BYTES(t->step_wire_bytes, chm_traffic_wires(t)));
        for (int32_t r = 0; r < t->ranks; r++)
            t->step_rank_s[r] = 0;
    }
    t->step_worst_bytes = t->step_total_sent = t->step_messages = t->step_rounds = 0;
    t->step_most_sends = t->step_summed_bytes = t->step_ring_bytes = 0;
    t->step_level = -1;
    t->step_at_once = false;
    t->step_wire_s = t->step_latency_s = t->step_away_s = t->step_turns_s = t->step_tie_s = t->step_message_s =
        t->step_reduce_s = t->step_time_s = 0;
}

void chm_traffic_clear(ChmTraffic *t)
{
    clear_step(t);
    memset(t->sent, 0, BYTES(t->sent, t->ranks));
    memset(t->received, 0, BYTES(t->received, t->ranks));
    if (t->wires)
        memset(t->wire_bytes, 0, BYTES(t->wire_bytes, chm_traffic_wires(t)));
    t->total_sent = t->messages = t->ops = 0;
    t->time_s = 0;
}

void chm_traffic_copy(ChmTraffic *t, const ChmTraffic *other)
{
    ChmTraffic storage = *t;
    int32_t ranks = t->ranks, wires = chm_traffic_wires(t);
    *t = *other;
    t->sent = memcpy(storage.sent, other->sent, BYTES(t->sent, ranks));
    t->received = memcpy(storage.received, other->received, BYTES(t->received, ranks));
    t->step_sent = memcpy(storage.step_sent, other->step_sent, BYTES(t->step_sent, ranks));
    t->step_received = memcpy(storage.step_received, other->step_received, BYTES(t->step_received, ranks));
    t->step_offsets = storage.step_offsets;
    t->step_equal = storage.step_equal;
    t->step_parts = storage.step_parts;
    t->step_sends = memcpy(storage.step_sends, other->step_sends, BYTES(t->step_sends, ranks));
    t->wires = storage.wires;
    t->arena = storage.arena;
    t->inner = storage.inner;
    t->load = storage.load;
    if (!t->wires)
        return;
    t->wire_bytes = memcpy(storage.wire_bytes, other->wire_bytes, BYTES(t->wire_bytes, wires));
    t->step_wire_bytes = memcpy(storage.step_wire_bytes, other->step_wire_bytes, BYTES(t->wire_bytes, wires));
    t->step_rank_s = memcpy(storage.step_rank_s, other->step_rank_s, BYTES(t->step_rank_s, ranks));
}

/* ---- time */

static void time_on_switch(ChmTraffic *t)
{
    const ChmLevel *l = &t->topo->level[0];
    t->step_level = t->step_rounds > 0 ? 0 : -1;
    t->step_wire_s = (double)t->step_worst_bytes / l->bandwidth_bytes_per_s;
    t->step_message_s = l->message_s * (double)t->step_most_sends;
}

static void time_on_wires(ChmTraffic *t)
{
    const ChmWires *w = t->wires;
    for (int32_t level = 0; level < t->topo->nlevels; level++) {
        int64_t busiest = 0;
        for (int32_t i = w->first[level]; i < w->first[level + 1]; i++)
            busiest = chm_max64(busiest, t->step_wire_bytes[i]);
        busiest = chm_sat_mul(busiest, t->wire_twins[level]);
        double busy_s = (double)busiest / t->topo->level[level].bandwidth_bytes_per_s;
        t->step_wire_s = busy_s > t->step_wire_s ? busy_s : t->step_wire_s;
    }
    for (int32_t r = 0; r < t->ranks; r++)
        t->step_message_s = t->step_rank_s[r] > t->step_message_s ? t->step_rank_s[r] : t->step_message_s;
}

/* Messages that go straight to their receivers share its wire and end together, where those of a ring end one by one,
 * so that what follows can begin on the first. As a price that is a latency for each further message, where it matters
 * at all: between chunks (chm_pipeline_add). Elsewhere it only decides between ways that take as long. */
static void set_late_end(ChmTraffic *t, ChmOpcode code)
{
    if (!(chm_is_exchange(code) || code == CHM_OP_ALL_TO_ALL) || t->step_most_sends < 2)
        return;
    t->step_turns_s = t->topo->level[t->step_level].latency_s * (double)(t->step_most_sends - 1);
    double most_s = t->step_wire_s / CHM_LATE_END;
    t->step_tie_s = t->step_turns_s < most_s ? t->step_turns_s : most_s;
}

/* Messages of a ring or chain wait for one another, each for a latency of the highest level that one crosses. Of those
 * that leave at once the nearest begin to use the wires after one latency, and on a grid the furthest need one for each
 * hop: by then the wires may still be busy with others. */
static void set_latency(ChmTraffic *t)
{
    double each_s = t->topo->level[t->step_level].latency_s, rounds = (double)t->step_rounds;
    if (t->step_at_once && rounds > 0 && each_s < t->step_away_s - t->step_wire_s / rounds)
        each_s = t->step_away_s - t->step_wire_s / rounds;
    t->step_latency_s = each_s * rounds;
}

void chm_traffic_measure(ChmTraffic *t, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                         const ChmStep *step)
{
    Change c = {t, shape, dtype, chm_dtypes[dtype].bytes, from->mesh, from, step->to, &step->attrs};
    clear_step(t);
    rules[step->code](&c);
    for (int32_t r = 0; r < t->ranks; r++) {
        t->step_worst_bytes = chm_max64(t->step_worst_bytes, chm_max64(t->step_sent[r], t->step_received[r]));
        t->step_total_sent = chm_sat_add(t->step_total_sent, t->step_sent[r]);
    }
    if (chm_is_exchange(step->code) || step->code == CHM_OP_ALL_TO_ALL) {
        t->step_rounds = t->step_most_sends > 0; /* all at once, of any length */
        t->step_at_once = true;
    }
    if (t->wires)
        time_on_wires(t);
    else
        time_on_switch(t);
    if (t->step_level >= 0) {
        set_latency(t);
        set_late_end(t, step->code);
    }
    if (t->step_summed_bytes > 0)
        t->step_reduce_s = (double)t->step_summed_bytes / t->topo->reduce_bytes_per_s;
    t->step_time_s = t->step_latency_s + t->step_tie_s + t->step_wire_s + t->step_message_s + t->step_reduce_s;
    if (step->code == CHM_OP_PIPELINE)
        t->step_time_s = chm_pipeline_time(t->load, step->attrs.chunks);
}

void chm_traffic_add(ChmTraffic *t, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from, const ChmStep *step)
{
    chm_traffic_measure(t, shape, dtype, from, step);
    for (int32_t r = 0; r < t->ranks; r++) {
        t->sent[r] = chm_sat_add(t->sent[r], t->step_sent[r]);
        t->received[r] = chm_sat_add(t->received[r], t->step_received[r]);
    }
    if (t->wires)
        for (int32_t i = 0; i < chm_traffic_wires(t); i++)
            t->wire_bytes[i] = chm_sat_add(t->wire_bytes[i], t->step_wire_bytes[i]);
    t->total_sent = chm_sat_add(t->total_sent, t->step_total_sent);
    t->messages = chm_sat_add(t->messages, t->step_messages);
    t->ops += t->step_total_sent > 0 ? chm_op_weight(step->code) : 0;
    t->time_s += t->step_time_s;
}

void chm_traffic_of_module(ChmTraffic *t, ChmArena *arena, const ChmTopology *topo, const ChmModule *m)
{
    bool started = false;
    chm_traffic_init(t, arena, topo, m->mesh);
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (!chm_is_layout_op(op))
            continue;
        started = started || op->started;
        const ChmType *from = op->operand->type;
        ChmStep step = {op->code, op->attrs, op->result->type->layout};
        chm_traffic_add(t, from->shape, from->dtype, from->layout, &step);
    }
    if (started)
        t->time_s = chm_overlapped_time(chm_pricer_new(arena, topo, m->mesh), m);
}
