/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/price.c - the one figure of a schedule, and which of two schedules is cheaper.
 */
#include "cost/tally.h"

ChmPrice chm_traffic_price(const ChmTraffic *t)
{
    ChmPrice p = {.time_s = t->time_s, .total_bytes = t->total_sent, .messages = t->messages, .ops = t->ops};
    for (int32_t r = 0; r < t->ranks; r++) {
        p.worst_sent_bytes = chm_max64(p.worst_sent_bytes, t->sent[r]);
        p.worst_received_bytes = chm_max64(p.worst_received_bytes, t->received[r]);
    }
    p.worst_bytes = chm_max64(p.worst_sent_bytes, p.worst_received_bytes);
    return p;
}

static int compare64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int chm_price_compare(const ChmPrice *a, const ChmPrice *b)
{
    double greater_s = a->time_s > b->time_s ? a->time_s : b->time_s;
    double ahead_s = b->time_s - a->time_s;
    if (ahead_s > 1e-9 * greater_s)
        return -1;
    if (-ahead_s > 1e-9 * greater_s)
        return 1;
    int c = compare64(a->worst_bytes, b->worst_bytes);
    if (c == 0)
        c = compare64(a->total_bytes, b->total_bytes);
    if (c == 0)
        c = compare64(a->ops, b->ops);
    return c != 0 ? c : compare64(a->messages, b->messages);
}
