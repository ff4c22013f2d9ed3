/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/overlap.h - the time of ops that are under way together. docs/cost.md, "Ops under way together".
 *
 * An op by itself takes l + b: b seconds that it keeps something busy, its busiest wire, and the rank that posts and
 * sums the most; and l of latencies. Beside others it is at speed s <= 1 and takes l + b/s: at each moment the speeds
 * are the fairest (max-min) at which no wire, nor the ranks, have more than a second to do in a second, where an op at
 * full speed asks of a wire for its share of b. So what loads different wires overlaps in full, what loads one wire
 * takes turns, and latencies are waited for together.
 *
 * Ranks that send and receive nothing in an op are not held up by it: an op begins when all that take part have come to
 * it in their program, so that ops of different ranks overlap as they stand.
 */
#ifndef CHM_COST_OVERLAP_H
#define CHM_COST_OVERLAP_H

#include "cost/loads.h"

/* A schedule: what each rank does in turn. */
typedef struct ChmMoment {
    int32_t op;       /* index into of_op */
    bool start, wait; /* both: it runs to its end */
} ChmMoment;
/* That of a module: as many as it has ops. O(ops) */
ChmMoment *chm_moments_of_module(ChmArena *arena, const ChmModule *m);
/* O(moments * classes of ranks + ops * ops under way^2 * classes of wires). */
double chm_loads_time(ChmArena *scratch, const ChmLoads *l, const ChmMoment *moments, int32_t n);

/* The same for a module as it stands. */
double chm_overlapped_time(ChmPricer *p, const ChmModule *m);

/* Ops under way as time goes on. */
typedef struct ChmFlight {
    int32_t id;
    const ChmLoad *load;
    double left, speed; /* parts of the whole op still to do; of s above */
} ChmFlight;
typedef struct ChmTimeline {
    double now_s;
    int32_t under_way, classes;
    ChmFlight *flight;
    double *used, *wanted, *asked; /* by class: in use, still wanted while speeds are found, at full speed of all */
    bool stale;                    /* speeds are those of before */
} ChmTimeline;
void chm_timeline_init(ChmTimeline *t, ChmArena *arena, const ChmLoads *loads);
void chm_timeline_start(ChmTimeline *t, int32_t id, const ChmLoad *load); /* each id once at a time */
bool chm_timeline_has(const ChmTimeline *t, int32_t id);                  /* it is under way */
/* Lets time go on until the op is done; at once when it is not under way. O(ops under way^2 * classes) for each op that
 * is done meanwhile. */
void chm_timeline_wait(ChmTimeline *t, int32_t id);
/* The op that will be done first; the one started first of several; -1 when none is under way. */
int32_t chm_timeline_next(ChmTimeline *t);
/* The most that is asked of a class of wires by the ops under way and this one at full speed: above 1 they hinder one
 * another. O(classes) */
double chm_timeline_crowding(const ChmTimeline *t, const ChmLoad *load);

#endif
