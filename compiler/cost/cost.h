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
#include "ir/topology.h"

/* Bytes of every rank, added up over ops. All counters saturate at INT64_MAX; a block by itself cannot overflow, since
 * chm_shape_make guarantees that elems * 8 fits.
 *
 * Messages, over all ranks: each rank of a group of g sends g-1 in reduce_scatter, all_gather (rings) and all_to_all,
 * 2(g-1) in all_reduce (1 where g = 2: the two swap their buffers); a chain (broadcast, reduce) has g-1; shift one per
 * pair; an exchange one per sender and receiver with a nonempty part. Groups count whether or not their blocks are
 * empty.
 *
 * Rounds, the factor of an op's latency: g-1, 2(g-1) for all_reduce (1 where g = 2), 1 for shift, 0 for slice and drop;
 * for an exchange the most partners that one rank sends to or receives from.
 *
 * Members of an all_reduce have the balanced blocks of the flattened local buffer, member k block k of g. A chain goes
 * from the root in cyclic order of coordinates (i, i+1, ..., i-1), a reduce the same way back to the root. */
typedef struct ChmTraffic {
    int32_t ranks;
    int64_t *sent, *received; /* by rank */
    int64_t total_sent;       /* over all ranks */
    int64_t messages;         /* over all ranks */
    int64_t ops;              /* that send anything, weighed: 2 for an op, 3 for an exchange */
    double time_s;            /* sum of the ops' times */
    /* The op measured or added last, by itself. */
    int64_t *step_sent, *step_received; /* by rank */
    int32_t *step_sends;                /* exchanges only: messages that the rank sends */
    int32_t *step_offsets;              /* scratch of the exchanges, */
    struct ChmEqualParts *step_equal;   /* and more of it */
    int64_t step_worst_bytes, step_total_sent, step_messages, step_rounds;
    double step_time_s;
} ChmTraffic;

int32_t chm_op_weight(ChmOpcode code); /* in ChmTraffic.ops, when it sends anything */

void chm_traffic_init(ChmTraffic *t, ChmArena *arena, int32_t ranks);
void chm_traffic_clear(ChmTraffic *t);                         /* back to zero; keeps the storage */
void chm_traffic_copy(ChmTraffic *t, const ChmTraffic *other); /* equal ranks; t keeps its storage */
/* Fills t's step_ fields with one layout change from -> step->to and leaves the sums alone. Allocates nothing. O(ranks)
 * for group ops; exchanges O(ranks * source blocks that meet the receiver's * holders of each). */
void chm_traffic_measure(ChmTraffic *t, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                         const ChmLayout *from, const ChmStep *step);
/* About how many pieces an exchange has, over all receivers: what measuring it takes. O(dims) */
int64_t chm_exchange_visits(const ChmShape *shape, const ChmLayout *from, const ChmLayout *to);
/* Measures the layout change and adds it to the sums. Allocates nothing. */
void chm_traffic_add(ChmTraffic *t, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                     const ChmLayout *from, const ChmStep *step);
/* Inits t and adds every layout op of the module, dead ones too. */
void chm_traffic_of_module(ChmTraffic *t, ChmArena *arena, const ChmTopology *topo, const ChmModule *m);

typedef struct ChmPrice {
    double time_s;
    int64_t worst_bytes; /* the worst rank's greater of sent and received */
    int64_t worst_sent_bytes, worst_received_bytes;
    int64_t total_bytes, messages, ops;
} ChmPrice;
ChmPrice chm_traffic_price(const ChmTraffic *t);
/* < 0 when a is cheaper: time (equal within a relative 1e-9), then worst_bytes, total_bytes, ops, messages. Ops before
 * messages: every op is a call and a synchronisation, while a library that takes one all_gather over two axes is free
 * to send it in the fewer messages of two. By their weights a plain op goes before an exchange, and that before two
 * ops. */
int chm_price_compare(const ChmPrice *a, const ChmPrice *b);

/* ---- bounds (bounds.c): design section 8; words uncoded, only ranks at which the value is present first or last
 * communicate (a schedule that borrows other ranks as helpers is not judged). In bytes, rounded up, of the worst rank's
 * greater of sent and received. Never a loop over elements or pairs of ranks: O(ranks) for one target; for several
 * O(ranks * blocks of the targets that meet a source block), and past some millions of those the greatest of the
 * targets' own bounds instead. chm_bound_arrow and _both allocate nothing up to 256 ranks. */
int64_t chm_bound_arrow(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                        const ChmLayout *to);
/* The same figure and, with it, the least that all ranks together send. */
typedef struct ChmBound {
    int64_t worst_bytes, total_bytes;
} ChmBound;
ChmBound chm_bound_both(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                        const ChmLayout *to);
/* One source, several targets (the union of needs); each arrow must be legal, n may be 0. Targets that leave different
 * axes partial are owed different sums: each kind is judged by itself, and each rank's greatest figure counts. */
int64_t chm_bound_arrows(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                         const ChmLayout *const *to, int32_t n);
/* For a plan: per input tensor the needs of its outputs; a rank's figures add over tensors; then the greatest. */
int64_t chm_bound_module(ChmArena *scratch, const ChmModule *m);

#endif
