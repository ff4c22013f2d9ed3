/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/explain.c - where the bytes go, level by level, in words.
 */
#include "cost/wires.h"

static int64_t greatest(const int64_t *bytes, int32_t n)
{
    int64_t most = 0;
    for (int32_t i = 0; i < n; i++)
        most = chm_max64(most, bytes[i]);
    return most;
}

/* Two places, or three digits where there are fewer before the point. */
static void put_time(ChmOut *out, double time_s)
{
    if (time_s >= 0.1)
        chm_out_printf(out, "%.2f s", time_s);
    else if (time_s >= 1e-4)
        chm_out_printf(out, "%.2f ms", 1e3 * time_s);
    else
        chm_out_printf(out, "%.2f us", 1e6 * time_s);
}

static void put_level(ChmOut *out, const ChmLevel *level, int64_t bytes, bool first)
{
    if (!first)
        chm_out_puts(out, ", ");
    chm_out_printf(out, "%s ", level->name);
    chm_out_bytes(out, bytes);
    chm_out_putc(out, ' ');
    put_time(out, (double)bytes / level->bandwidth_bytes_per_s);
}

static void explain(ChmOut *out, const ChmTraffic *t, const int64_t *wires, const int64_t *sent,
                    const int64_t *received)
{
    bool first = true;
    for (int32_t level = 0; level < t->topo->nlevels; level++) {
        int64_t bytes =
            wires ? greatest(wires + t->wires->first[level], t->wires->first[level + 1] - t->wires->first[level])
                  : chm_max64(greatest(sent, t->ranks), greatest(received, t->ranks));
        bytes = chm_sat_mul(bytes, t->wire_twins[level]);
        if (bytes == 0)
            continue;
        put_level(out, &t->topo->level[level], bytes, first);
        first = false;
    }
    if (first)
        chm_out_puts(out, "nothing");
}

void chm_traffic_explain(ChmOut *out, const ChmTraffic *t)
{
    explain(out, t, t->wire_bytes, t->sent, t->received);
}

void chm_traffic_explain_step(ChmOut *out, const ChmTraffic *t)
{
    explain(out, t, t->step_wire_bytes, t->step_sent, t->step_received);
}
