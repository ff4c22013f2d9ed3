/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/cost.h - what a layout change costs: bytes of each rank, and time on a topology.
 *
 * Traffic of an op follows the table of design section 4. The time of an op is latency * steps + (its worst rank's
 * greater of bytes sent and received) / bandwidth; of a sequence, the sum over its ops.
 */
#ifndef CHM_COST_COST_H
#define CHM_COST_COST_H

#include "ir/arrow.h"
#include "ir/geom.h"

/* The machine. A plan without a topology is judged by bytes: one switch. */
typedef struct ChmTopology {
    const char *name;
    double bandwidth_bytes_per_s; /* of a rank, each way */
    double latency_s;             /* of a message */
} ChmTopology;
extern const ChmTopology chm_default_topology; /* one switch, 25 GB/s, latency 0 */

/* Bytes of every rank, added up over ops. */
typedef struct ChmTraffic {
    int32_t ranks;
    int64_t *sent, *received; /* by rank */
    int64_t total_sent;       /* over all ranks */
    int64_t messages;         /* over all ranks */
    double time_s;            /* sum of the ops' times */
} ChmTraffic;

void chm_traffic_init(ChmTraffic *t, ChmArena *arena, int32_t ranks);
/* Adds one layout change from -> step->to. O(ranks * group) at most for group ops; exchanges O(ranks * blocks that
 * meet). */
void chm_traffic_add(ChmTraffic *t, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                     const ChmLayout *from, const ChmStep *step);
void chm_traffic_of_module(ChmTraffic *t, ChmArena *arena, const ChmTopology *topo, const ChmModule *m);

typedef struct ChmPrice {
    double time_s;
    int64_t worst_bytes; /* the worst rank's greater of sent and received */
    int64_t worst_sent_bytes, worst_received_bytes;
    int64_t total_bytes, messages;
} ChmPrice;
ChmPrice chm_traffic_price(const ChmTraffic *t);
/* < 0 when a is cheaper: time (equal within a relative 1e-9), then worst_bytes, total_bytes, messages. */
int chm_price_compare(const ChmPrice *a, const ChmPrice *b);

/* Message rounds of an op, the factor of its latency: ring forms g-1, all_reduce 2(g-1), chains g-1, exchanges 1 per
 * partner. */
int64_t chm_step_rounds(const ChmLayout *from, const ChmStep *step);

/* ---- bounds (bounds.c): design section 8; words uncoded, only ranks that hold or need the value communicate. Closed
 * form over blocks, never a loop over elements or pairs of ranks. In bytes of the worst rank's greater of sent and
 * received. */
int64_t chm_bound_arrow(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                        const ChmLayout *to);
/* One source, several targets (the union of needs). */
int64_t chm_bound_arrows(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                         const ChmLayout *const *to, int32_t n);
/* For a plan: per input tensor the needs of its outputs; a rank's figures add over tensors; then the greatest. */
int64_t chm_bound_module(ChmArena *scratch, const ChmModule *m);

#endif
