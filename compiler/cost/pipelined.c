/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/pipelined.c - the time of a chain of layout changes cut into chunks.
 */
#include "cost/wires.h"

/* Seconds of the last op on a wire. On a plain switch: rank r's out is wire 2r, its in 2r+1. */
static double step_on_wire(const ChmTraffic *t, int32_t level, int32_t wire)
{
    int64_t bytes = t->wires   ? t->step_wire_bytes[wire]
                    : wire % 2 ? t->step_received[wire / 2]
                               : t->step_sent[wire / 2];
    return (double)bytes / t->topo->level[level].bandwidth_bytes_per_s;
}

void chm_pipeline_init(ChmPipeline *p, ChmArena *arena, const ChmTraffic *t)
{
    *p = (ChmPipeline){.wires = chm_traffic_wires(t)};
    p->each_wire_s = CHM_NEW_ARRAY(arena, double, p->wires);
    p->each_latency_s = CHM_NEW_ARRAY(arena, double, p->wires);
}

void chm_pipeline_add(ChmPipeline *p, const ChmTraffic *t)
{
    p->wire_s += t->step_wire_s;
    p->latency_s += t->step_latency_s;
    p->message_s += t->step_message_s;
    p->reduce_s += t->step_reduce_s;
    int32_t level = 0;
    for (int32_t i = 0; i < p->wires; i++) {
        while (t->wires && i >= t->wires->first[level + 1])
            level++;
        double busy_s = step_on_wire(t, level, i);
        p->each_wire_s[i] += busy_s;
        p->each_latency_s[i] += busy_s > 0 ? t->step_latency_s : 0;
    }
}

double chm_pipeline_time(const ChmPipeline *p, int32_t chunks)
{
    double m = chunks, pace_s = p->reduce_s / m + p->message_s;
    for (int32_t i = 0; i < p->wires; i++) {
        double wire_s = p->each_wire_s[i] / m + p->each_latency_s[i];
        pace_s = wire_s > pace_s ? wire_s : pace_s;
    }
    return (p->wire_s + p->reduce_s) / m + p->latency_s + p->message_s + (m - 1) * pace_s;
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
        chm_pipeline_add(&p, &t);
        from = steps->at[i].to;
    }
    return chm_pipeline_time(&p, chunks);
}
