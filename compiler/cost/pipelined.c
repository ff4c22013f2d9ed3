/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/pipelined.c - the time of a chain of layout changes cut into chunks.
 */
#include "cost/wires.h"

#include <string.h>

double chm_step_on_wire(const ChmTraffic *t, int32_t level, int32_t wire)
{
    int64_t bytes = t->wires   ? t->step_wire_bytes[wire]
                    : wire % 2 ? t->step_received[wire / 2]
                               : t->step_sent[wire / 2];
    return (double)chm_sat_mul(bytes, t->wire_twins[level]) / t->topo->level[level].bandwidth_bytes_per_s;
}

void chm_pipeline_init(ChmPipeline *p, ChmArena *arena, const ChmTraffic *t)
{
    *p = (ChmPipeline){.wires = chm_traffic_wires(t), .ring_bytes = INT64_MAX};
    p->each = CHM_NEW_ARRAY(arena, ChmPace, p->wires);
}

void chm_pipeline_clear(ChmPipeline *p)
{
    *p = (ChmPipeline){.wires = p->wires, .each = p->each, .ring_bytes = INT64_MAX};
    for (int32_t i = 0; i < p->wires; i++)
        p->each[i] = (ChmPace){0};
}

/* No rank both sends and receives. */
static bool goes_one_way(const ChmTraffic *t)
{
    int32_t r = 0;
    while (r < t->ranks && !(t->step_sent[r] > 0 && t->step_received[r] > 0))
        r++;
    return r == t->ranks;
}

static void keep_greater(double *most, double x)
{
    *most = x > *most ? x : *most;
}

void chm_pipeline_add(ChmPipeline *p, const ChmTraffic *t, int32_t times)
{
    p->wire_s += times * t->step_wire_s;
    double most_s = times * t->step_wire_s / CHM_LATE_CHUNK;
    double late_s = t->step_turns_s < most_s ? t->step_turns_s : most_s;
    p->latency_s += t->step_latency_s;
    p->late_s += late_s;
    p->tie_s += t->step_tie_s;
    if (t->step_ring_bytes > 0)
        p->ring_bytes = chm_min64(p->ring_bytes, t->step_ring_bytes);
    p->message_s += t->step_message_s;
    p->reduce_s += times * t->step_reduce_s;
    bool one_way = goes_one_way(t);
    if (p->ops++ == 0 && one_way)
        p->first_one_way_s = times * t->step_wire_s;
    if (one_way && t->step_most_sends > 0)
        p->one_way_bytes = chm_max64(p->one_way_bytes, chm_sat_mul(times, t->step_worst_bytes / t->step_most_sends));
    int32_t level = 0;
    for (int32_t i = 0; i < p->wires; i++) {
        while (t->wires && i >= t->wires->first[level + 1])
            level++;
        double busy_s = chm_step_on_wire(t, level, i);
        ChmPace *pace = &p->each[i];
        pace->wire_s += times * busy_s;
        if (busy_s > 0)
            keep_greater(one_way ? &pace->one_way_s : &pace->latency_s, t->step_latency_s + late_s);
    }
}

/* Short messages that go one way are sent without an answer, so that a chunk waits not for the one before it but, since
 * there are two buffers, for the one before that: of m - 1 chunks half, rounded down, wait for a latency. Of the first
 * op of a chain two chunks so leave at once, and the first shares the wire with the second. */
static double one_way_part(bool eager, int32_t chunks)
{
    int32_t waiting = (chunks - 1) / 2;
    return eager ? (double)waiting / (chunks - 1) : 1;
}

double chm_pipeline_time(const ChmPipeline *p, int32_t chunks)
{
    bool eager = chunks > 1 && p->one_way_bytes / chunks < CHM_EAGER_BYTES;
    double m = chunks, pace_s = p->reduce_s / m + p->message_s, part = one_way_part(eager, chunks);
    for (int32_t i = 0; i < p->wires; i++) {
        const ChmPace *each = &p->each[i];
        double latency_s = part * each->one_way_s;
        keep_greater(&latency_s, each->latency_s);
        keep_greater(&pace_s, each->wire_s / m + latency_s);
    }
    double late_s = chunks > 1 ? p->late_s : p->tie_s;
    late_s += eager ? p->first_one_way_s / m : 0;
    return (p->wire_s + p->reduce_s) / m + p->latency_s + late_s + p->message_s + (m - 1) * pace_s;
}

int32_t chm_pipeline_chunks(const ChmPipeline *p, int32_t limit)
{
    int32_t best = 1;
    double best_s = chm_pipeline_time(p, 1);
    for (int32_t m = 2; m <= limit && m > 0; m = m > INT32_MAX / 2 ? -1 : 2 * m) {
        double time_s = chm_pipeline_time(p, m);
        if (time_s < best_s * (1 - 1e-9)) {
            best_s = time_s;
            best = m;
        }
    }
    return best;
}

double chm_pipelined_time(ChmArena *scratch, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                          const ChmLayout *from, const ChmSteps *steps, int32_t chunks)
{
    ChmTraffic t;
    ChmPipeline p;
    chm_traffic_init(&t, scratch, topo, from->mesh);
    chm_pipeline_init(&p, scratch, &t);
    for (int32_t i = 0; i < steps->len; i++) {
        chm_traffic_measure(&t, shape, dtype, from, &steps->at[i]);
        chm_pipeline_add(&p, &t, 1);
        from = steps->at[i].to;
    }
    return chm_pipeline_time(&p, chunks);
}

/* ---- a pipeline op */

static void add_times(int64_t *sum, const int64_t *part, int32_t n, int32_t times)
{
    for (int32_t i = 0; i < n; i++)
        sum[i] = chm_sat_add(sum[i], chm_sat_mul(part[i], times));
}

static void add_inner(ChmTraffic *t, const ChmTraffic *in, int32_t times)
{
    add_times(t->step_sent, in->step_sent, t->ranks, times);
    add_times(t->step_received, in->step_received, t->ranks, times);
    if (t->wires)
        add_times(t->step_wire_bytes, in->step_wire_bytes, chm_traffic_wires(t), times);
    t->step_messages = chm_sat_add(t->step_messages, chm_sat_mul(in->step_messages, times));
    t->step_rounds = chm_sat_add(t->step_rounds, in->step_rounds);
    t->step_summed_bytes = chm_sat_add(t->step_summed_bytes, chm_sat_mul(in->step_summed_bytes, times));
    t->step_most_sends = chm_sat_add(t->step_most_sends, chm_sat_mul(in->step_most_sends, times));
    t->step_level = in->step_level > t->step_level ? in->step_level : t->step_level;
}

void chm_measure_pipeline(ChmTraffic *t, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                          const ChmAttrs *attrs)
{
    if (!t->inner) {
        t->inner = CHM_NEW(t->arena, ChmTraffic);
        t->load = CHM_NEW(t->arena, ChmPipeline);
        chm_traffic_init(t->inner, t->arena, t->topo, t->mesh);
        chm_pipeline_init(t->load, t->arena, t->inner);
        memcpy(t->inner->wire_twins, t->wire_twins, sizeof t->wire_twins);
    }
    ChmShape chunk = *shape; /* for its sizes only: not interned */
    chunk.dim_size[attrs->dim] /= attrs->chunks;
    chunk.elems /= attrs->chunks;
    chm_pipeline_clear(t->load);
    for (int32_t i = 0; i < attrs->body_len; i++) {
        chm_traffic_measure(t->inner, &chunk, dtype, from, &attrs->body[i]);
        chm_pipeline_add(t->load, t->inner, attrs->chunks);
        add_inner(t, t->inner, attrs->chunks);
        from = attrs->body[i].to;
    }
}
