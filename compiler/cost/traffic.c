/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/traffic.c - bytes that every rank sends and receives in a layout change: one rule per op, exact for uneven
 * sizes. L is the operand block of a rank, own its result block (its operand block for a gather), g the group size.
 */
#include "cost/tally.h"

#include <string.h>

/* One layout change being measured. */
typedef struct Change {
    ChmTraffic *t;
    const ChmShape *shape;
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

/* Every rank that takes part in a group op sends this many messages, one a round. */
static void count_rounds(const Change *c, int64_t rounds)
{
    int64_t senders = 0;
    for (int32_t r = 0; r < c->t->ranks; r++)
        senders += chm_layout_present(c->from, r);
    c->t->step_rounds = rounds;
    c->t->step_messages = chm_sat_mul(senders, rounds);
}

/* ---- the rules */

static void traffic_input(const Change *c)
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
    count_rounds(c, g - 1);
}

static void traffic_all_gather(const Change *c)
{
    int64_t g = chm_mesh_extent(c->mesh, &c->attrs->over);
    for (int32_t r = 0; r < c->t->ranks; r++) {
        int64_t own = bytes_of(c, c->from, r);
        count(c, r, chm_sat_mul(g - 1, own), bytes_of(c, c->to, r) - own);
    }
    count_rounds(c, g - 1);
}

/* Reduces and then gathers the balanced blocks of the flattened buffer: both ways (L - own) + (g-1) own. */
static void traffic_all_reduce(const Change *c)
{
    int64_t g = chm_mesh_extent(c->mesh, &c->attrs->over);
    for (int32_t r = 0; r < c->t->ranks; r++) {
        int64_t elems = chm_local_elems(c->shape, c->from, r);
        int64_t own = chm_block_len(elems, g, chm_group_index(c->mesh, r, &c->attrs->over)) * c->elem_bytes;
        int64_t each_way = chm_sat_add(elems * c->elem_bytes - own, chm_sat_mul(g - 1, own));
        count(c, r, each_way, each_way);
    }
    count_rounds(c, g == 2 ? 1 : chm_sat_mul(2, g - 1));
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
    count_rounds(c, chm_mesh_extent(c->mesh, &c->attrs->over) - 1);
}

static void traffic_shift(const Change *c)
{
    if (c->attrs->from == c->attrs->to)
        return;
    for (int32_t r = 0; r < c->t->ranks; r++) {
        count(c, r, bytes_of(c, c->from, r), bytes_of(c, c->to, r));
        c->t->step_messages += chm_layout_present(c->from, r);
    }
    c->t->step_rounds = 1;
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
}

static void traffic_broadcast(const Change *c)
{
    count_chain(c, c->to, c->attrs->from, true);
}

static void traffic_reduce(const Change *c)
{
    count_chain(c, c->from, c->attrs->to, false);
}

static void traffic_exchange(const Change *c)
{
    chm_exchange_traffic(c->t, c->shape, c->elem_bytes, c->from, c->to);
}

static void traffic_reduce_exchange(const Change *c)
{
    chm_exchange_traffic(c->t, c->shape, c->elem_bytes, c->from, c->to);
}

static void (*const rules[CHM_NOPS])(const Change *c) = {
#define CHM_OP(CODE, name, class, syntax, what) traffic_##name,
#include "ir/ops.def"
#undef CHM_OP
};

int32_t chm_op_weight(ChmOpcode code)
{
    return chm_is_exchange(code) ? 3 : 2;
}

/* ---- sums */

void chm_traffic_init(ChmTraffic *t, ChmArena *arena, int32_t ranks)
{
    *t = (ChmTraffic){.ranks = ranks};
    t->sent = CHM_NEW_ARRAY(arena, int64_t, ranks);
    t->received = CHM_NEW_ARRAY(arena, int64_t, ranks);
    t->step_sent = CHM_NEW_ARRAY(arena, int64_t, ranks);
    t->step_received = CHM_NEW_ARRAY(arena, int64_t, ranks);
    t->step_sends = CHM_NEW_ARRAY(arena, int32_t, ranks);
    t->step_offsets = CHM_NEW_ARRAY(arena, int32_t, 2 * (int64_t)ranks);
    t->step_equal = CHM_NEW_ARRAY(arena, ChmEqualParts, ranks);
}

static void clear_step(ChmTraffic *t)
{
    memset(t->step_sent, 0, sizeof *t->step_sent * (size_t)t->ranks);
    memset(t->step_received, 0, sizeof *t->step_received * (size_t)t->ranks);
    memset(t->step_sends, 0, sizeof *t->step_sends * (size_t)t->ranks);
    memset(t->step_equal, 0, sizeof *t->step_equal * (size_t)t->ranks);
    t->step_worst_bytes = t->step_total_sent = t->step_messages = t->step_rounds = 0;
    t->step_time_s = 0;
}

void chm_traffic_clear(ChmTraffic *t)
{
    clear_step(t);
    memset(t->sent, 0, sizeof *t->sent * (size_t)t->ranks);
    memset(t->received, 0, sizeof *t->received * (size_t)t->ranks);
    t->total_sent = t->messages = t->ops = 0;
    t->time_s = 0;
}

void chm_traffic_copy(ChmTraffic *t, const ChmTraffic *other)
{
    ChmTraffic storage = *t;
    *t = *other;
    t->sent = memcpy(storage.sent, other->sent, sizeof *t->sent * (size_t)t->ranks);
    t->received = memcpy(storage.received, other->received, sizeof *t->received * (size_t)t->ranks);
    t->step_sent = memcpy(storage.step_sent, other->step_sent, sizeof *t->step_sent * (size_t)t->ranks);
    t->step_received = memcpy(storage.step_received, other->step_received, sizeof *t->step_received * (size_t)t->ranks);
    t->step_offsets = storage.step_offsets;
    t->step_equal = storage.step_equal;
    t->step_sends = memcpy(storage.step_sends, other->step_sends, sizeof *t->step_sends * (size_t)t->ranks);
}

void chm_traffic_measure(ChmTraffic *t, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                         const ChmLayout *from, const ChmStep *step)
{
    Change c = {t, shape, chm_dtypes[dtype].bytes, from->mesh, from, step->to, &step->attrs};
    clear_step(t);
    rules[step->code](&c);
    for (int32_t r = 0; r < t->ranks; r++) {
        t->step_worst_bytes = chm_max64(t->step_worst_bytes, chm_max64(t->step_sent[r], t->step_received[r]));
        t->step_total_sent = chm_sat_add(t->step_total_sent, t->step_sent[r]);
    }
    t->step_time_s = topo->level[0].latency_s * (double)t->step_rounds +
                     (double)t->step_worst_bytes / topo->level[0].bandwidth_bytes_per_s;
}

void chm_traffic_add(ChmTraffic *t, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                     const ChmLayout *from, const ChmStep *step)
{
    chm_traffic_measure(t, topo, shape, dtype, from, step);
    for (int32_t r = 0; r < t->ranks; r++) {
        t->sent[r] = chm_sat_add(t->sent[r], t->step_sent[r]);
        t->received[r] = chm_sat_add(t->received[r], t->step_received[r]);
    }
    t->total_sent = chm_sat_add(t->total_sent, t->step_total_sent);
    t->messages = chm_sat_add(t->messages, t->step_messages);
    t->ops += t->step_total_sent > 0 ? chm_op_weight(step->code) : 0;
    t->time_s += t->step_time_s;
}

void chm_traffic_of_module(ChmTraffic *t, ChmArena *arena, const ChmTopology *topo, const ChmModule *m)
{
    chm_traffic_init(t, arena, m->mesh->ranks);
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (!chm_is_layout_op(op))
            continue;
        const ChmType *from = op->operand->type;
        ChmStep step = {op->code, op->attrs, op->result->type->layout};
        chm_traffic_add(t, topo, from->shape, from->dtype, from->layout, &step);
    }
}
