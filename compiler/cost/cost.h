/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/cost.h - what a layout change costs: bytes of each rank, and time on a topology. docs/cost.md has the formulas.
 *
 * Traffic of an op follows the table of design section 4. Its time, in seconds, is
 *     the greatest, over all wires, of bytes on the wire / bandwidth of the wire
 *   + latency * rounds, of the highest level that a message crosses
 *   + the worst rank's sum, over its messages, of what a message costs it at its level
 *   + bytes that the worst rank sums / reduce speed of the topology.
 * The time of a sequence is the sum over its ops; that of a chain of them cut into chunks is below.
 */
#ifndef CHM_COST_COST_H
#define CHM_COST_COST_H

#include "ir/arrow.h"
#include "ir/geom.h"
#include "ir/topology.h"

/* ---- the algorithms that are priced: those of the runtime
 *
 * Members of a group stand in the order of the op's axes; 'next' is member (k+1) mod g. Which wires a message loads is
 * said in docs/cost.md and wires.h.
 *   reduce_scatter   ring: member k sends to the next, g-1 rounds. Block b goes from member b+1 round to b, so the wire
 *                    from k to the next carries all of L but block k.
 *   all_gather       ring, g-1 rounds: the wire from k to the next carries all of the result but the next's block.
 *   all_reduce       the two rings over the balanced blocks of the flattened local buffer, member k block k of g.
 *   all_to_all       direct, one message a pair, in rotated order. shift: direct.
 *   broadcast        a chain from the root in cyclic order of coordinates (i, i+1, ..., i-1), cut into pieces so small
 *                    that its hops overlap and the fill is the latency of its hops. reduce: the same way back.
 *   exchanges        direct, one message for each sender and receiver with a part, all posted at once in rotated order.
 *   16-bit floats    are not summed along rings: in reduce_scatter, all_reduce and reduce each member sends each other
 *                    its block, rounds once, and the blocks are gathered (ring; for reduce, straight to the root).
 *   short messages   those of reduce_scatter, all_gather and all_reduce, where they are of at most CHM_SHORT_BYTES, go
 *                    straight from member to member, all at once; in all_reduce over two, all of the buffer once.
 *   slice, drop      nothing.
 * Where the topology is one switch, a wire is a rank's in or out, and the bytes on it are those counted for the rank;
 * rings of uneven blocks and 16-bit reduce count there by the op table, which differs by some blocks.
 *
 * Messages, over all ranks: each rank of a group of g sends g-1 in reduce_scatter, all_gather (rings) and all_to_all,
 * 2(g-1) in all_reduce (1 where two swap); a chain (broadcast, reduce) has g-1; shift one per pair; an exchange one per
 * sender and receiver with a nonempty part. Groups count whether or not their blocks are empty.
 *
 * Rounds, the factor of an op's latency, are the messages that wait for one another: g-1 around a ring and along a
 * chain, 2(g-1) for all_reduce, 1 for shift, all_to_all and exchanges, 0 for slice and drop. 16-bit floats: 1 for
 * reduce_scatter, g for all_reduce. Short messages: 1, 2 for all_reduce (1 where two swap).
 *
 * A rank sums the bytes that it receives in the reducing part of an op. */

#define CHM_SHORT_BYTES (8 * 1024)
/* Parts of an exchange's time on the wire: by which it may lose a tie, and by which its end may be late in chunks. */
#define CHM_LATE_END 256
#define CHM_LATE_CHUNK 16

typedef struct ChmWires ChmWires; /* wires.h */

/* Bytes of every rank and on every wire, added up over ops. All counters saturate at INT64_MAX; a block by itself
 * cannot overflow, since chm_shape_make guarantees that elems * 8 fits. */
typedef struct ChmTraffic {
    const ChmTopology *topo;
    const ChmMesh *mesh;
    const ChmWires *wires;              /* NULL where the topology is a plain switch */
    int64_t wire_twins[CHM_MAX_LEVELS]; /* a wire of the level carries so many times its bytes below: 1, but on a mesh
                                         * that stands for a larger one (fold.h) */
    int32_t ranks;
    int64_t *sent, *received; /* by rank */
    int64_t *wire_bytes;      /* by wire; NULL where the topology is a plain switch: there it is the ranks' bytes */
    int64_t total_sent;       /* over all ranks */
    int64_t messages;         /* over all ranks */
    int64_t ops;              /* that send anything, weighed: 2 for an op, 5 for an exchange */
    double time_s;            /* sum of the ops' times */
    /* The op measured or added last, by itself. */
    int64_t *step_sent, *step_received; /* by rank */
    int64_t *step_wire_bytes;           /* by wire, or NULL */
    double *step_rank_s;                /* by rank: what its messages cost it; NULL on a plain switch */
    int32_t *step_sends;                /* exchanges only: messages that the rank sends */
    int32_t *step_offsets;              /* scratch of the exchanges, */
    struct ChmEqualParts *step_equal;   /* and more of it */
    int64_t *step_parts;                /* scratch of all_to_all; NULL on a plain switch */
    int64_t step_worst_bytes, step_total_sent, step_messages, step_rounds;
    int64_t step_most_sends; /* of one rank */
    int64_t step_ring_bytes; /* a message of a ring; 0 where there is none, or the sums of it go straight in any case */
    int64_t step_summed_bytes; /* by the worst rank; 0 where sums are free */
    int32_t step_level;        /* the highest that a message crosses, or -1 */
    bool step_at_once;         /* all messages of a round leave together */
    double step_away_s;        /* the latency of the message that goes furthest, over all its hops */
    /* The four terms of its time, and their sum. */
    double step_wire_s, step_latency_s, step_message_s, step_reduce_s;
    /* What a late end counts for, at most in chunks, and as a tie-break; set_late_end in traffic.c. */
    double step_turns_s, step_tie_s;
    double step_time_s;
    /* Pipelines only: what their bodies are measured with, made when the first is met. */
    ChmArena *arena;
    struct ChmTraffic *inner;
    struct ChmPipeline *load;
} ChmTraffic;

/* One switch and nothing else: ranks' bytes say it all, and pricing an op needs no wires. */
bool chm_topology_is_plain(const ChmTopology *topo);

int32_t chm_op_weight(ChmOpcode code); /* in ChmTraffic.ops, when it sends anything */

/* The topology must fit the mesh. O(ranks * levels). */
void chm_traffic_init(ChmTraffic *t, ChmArena *arena, const ChmTopology *topo, const ChmMesh *mesh);
void chm_traffic_clear(ChmTraffic *t);                         /* back to zero; keeps the storage */
void chm_traffic_copy(ChmTraffic *t, const ChmTraffic *other); /* equal topology and mesh; t keeps its storage */
/* Fills t's step_ fields with one layout change from -> step->to and leaves the sums alone. Allocates nothing. O(ranks)
 * for group ops, O(wires) besides where there are any; all_to_all and sums of 16-bit floats O(ranks * group) there;
 * exchanges O(ranks * source blocks that meet the receiver's * holders of each). */
void chm_traffic_measure(ChmTraffic *t, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                         const ChmStep *step);
/* About how many pieces an exchange has, over all receivers, or, but for a plain switch, how many messages: what
 * measuring it takes. O(dims) */
int64_t chm_exchange_visits(const ChmTopology *topo, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to);
/* Measures the layout change and adds it to the sums. Allocates nothing, but for the first pipeline. A pipeline sends
 * what its body sends over all chunks, and takes the time of chm_pipeline_time. */
void chm_traffic_add(ChmTraffic *t, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from, const ChmStep *step);
/* Inits t and adds every layout op of the module, dead ones too. Where ops are started, its time is that of overlap.h.
 */
void chm_traffic_of_module(ChmTraffic *t, ChmArena *arena, const ChmTopology *topo, const ChmModule *m);

/* For people: the busiest wire of each level that carries anything, its bytes over all ops added and the time that it
 * takes them: "node 48 MiB 0.17 ms, fabric 64 MiB 0.67 ms". "nothing" where no wire carries anything. */
void chm_traffic_explain(ChmOut *out, const ChmTraffic *t);
void chm_traffic_explain_step(ChmOut *out, const ChmTraffic *t); /* of the op measured or added last */

typedef struct ChmPrice {
    double time_s;
    int64_t worst_bytes; /* the worst rank's greater of sent and received */
    int64_t worst_sent_bytes, worst_received_bytes;
    int64_t total_bytes, messages, ops;
} ChmPrice;
ChmPrice chm_traffic_price(const ChmTraffic *t);
/* < 0 when a is cheaper: time (equal within a relative 1e-9), then worst_bytes, total_bytes, ops, messages. Ops before
 * messages: every op is a call and a synchronisation, while a library that takes one all_gather over two axes is free
 * to send it in the fewer messages of two. By their weights one plain op, or two, go before an exchange, which sends
 * everyone's pieces over every wire: where the price is a tie, what crosses between stages should cross once. */
int chm_price_compare(const ChmPrice *a, const ChmPrice *b);

/* ---- chains cut into chunks (pipelined.c)
 *
 * Chunk i+1 is in one op of the chain while chunk i is in the next. The first chunk passes all the ops; the others
 * follow at the pace of the slowest of
 *   a wire    what it carries of one chunk, and the latency of the ops that load it
 *   a rank    what it sums of one chunk, and its messages
 * With w(o), l(o), m(o), r(o) the four terms of an op's time and w(o,x) the time of wire x, M chunks take
 *
 *   sum of (w+r)/M + l + m
 *     + (M-1) * max(max over x of (sum of w(o,x)/M) + max of l(o) where o loads x,  sum of r/M + m)
 *
 * which for M = 1 is the time of the plain sequence. Ops that share a wire wait for their latencies together. Of an op
 * whose short messages go one way only floor((M-1)/2) of M-1 chunks wait for it; but where that is the first op, the
 * first chunk takes w/M longer. */

#define CHM_EAGER_BYTES (64 * 1024) /* messages below are sent without an answer: SMPI, and Open MPI over TCP */

typedef struct ChmPace { /* of one wire: time over the ops that load it, and the greatest latency of them */
    double wire_s, latency_s;
    double one_way_s; /* of those whose messages go one way */
} ChmPace;

typedef struct ChmPipeline {
    int32_t wires;
    double wire_s, latency_s, message_s, reduce_s; /* sums over the ops */
    double late_s, tie_s;                          /* more latency, in chunks and as a whole */
    int64_t ring_bytes;                            /* the shortest message of a ring as a whole; INT64_MAX: none */
    int64_t one_way_bytes;                         /* the longest message that goes one way, as a whole */
    double first_one_way_s;                        /* on wires, of the first op, if its messages do */
    int32_t ops;
    ChmPace *each; /* by wire */
} ChmPipeline;
void chm_pipeline_init(ChmPipeline *p, ChmArena *arena, const ChmTraffic *t); /* sized by t's wires */
void chm_pipeline_clear(ChmPipeline *p);
void chm_pipeline_add(ChmPipeline *p, const ChmTraffic *t,
                      int32_t times); /* the op measured or added last, done so many times */
double chm_pipeline_time(const ChmPipeline *p, int32_t chunks);
/* The power of two up to the limit (>= 1) that takes the least time; the least of equals. */
int32_t chm_pipeline_chunks(const ChmPipeline *p, int32_t limit);
/* All at once, for a chain of steps from a layout. */
double chm_pipelined_time(ChmArena *scratch, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                          const ChmLayout *from, const ChmSteps *steps, int32_t chunks);

/* ---- bounds (bounds.c): design section 8; words uncoded, only ranks at which the value is present first or last
 * communicate (a schedule that borrows other ranks as helpers is not judged). In bytes, rounded up, of the worst rank's
 * greater of sent and received. Never a loop over elements or pairs of ranks: O(ranks) for one target; for several
 * O(ranks * blocks of the targets that meet a source block), and past some millions of those the greatest of the
 * targets' own bounds instead. For one arrow nothing is allocated up to 256 ranks. */
int64_t chm_bound_arrow(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                        const ChmLayout *to);
/* The same figure and, with it, the least that all ranks together send, and the least time that any sequence of ops is
 * priced: the figure over all the bandwidth that one rank has, and for each level but the first the like figure of its
 * units, each counted as one rank, over the bandwidth that a unit has. Where a unit is no set of ranks that differ in
 * axes or in a part of one, its level is passed over. O(ranks * levels), times a unit's blocks where the axes inside
 * units are not the minor end of a split. */
typedef struct ChmBound {
    int64_t worst_bytes, total_bytes;
    double time_s;
} ChmBound;
ChmBound chm_bound_on(ChmArena *scratch, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                      const ChmLayout *from, const ChmLayout *to);
double chm_bound_time(ChmArena *scratch, const ChmTopology *topo, const ChmShape *shape, ChmDtype dtype,
                      const ChmLayout *from, const ChmLayout *to);
/* By what must reach the units of one level (ranks, at level 0): the greatest of them is the above. */
double chm_bound_level_time(ChmArena *scratch, const ChmTopology *topo, int32_t level, const ChmShape *shape,
                            ChmDtype dtype, const ChmLayout *from, const ChmLayout *to);
/* Bytes per second that can reach one rank, over all its wires together. */
double chm_rank_bandwidth(const ChmTopology *topo, const ChmMesh *mesh);
/* One source, several targets (the union of needs); each arrow must be legal, n may be 0. Targets that leave different
 * axes partial are owed different sums: each kind is judged by itself, and each rank's greatest figure counts. */
int64_t chm_bound_arrows(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                         const ChmLayout *const *to, int32_t n);
/* For a plan: per input tensor the needs of its outputs; a rank's figures add over tensors; then the greatest. */
int64_t chm_bound_module(ChmArena *scratch, const ChmModule *m);
/* The like bound on its time; figures of a unit add over tensors too. */
double chm_bound_module_time(ChmArena *scratch, const ChmTopology *topo, const ChmModule *m);

#endif
