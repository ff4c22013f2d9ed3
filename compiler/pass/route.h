/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/route.h - the cheapest sequence of ops for one layout change: design section 6.
 *
 * A search over layouts. States are layouts, moves are the ops of the table, a move's length is its time on the
 * topology; the lower bound of what remains guides it (A*). Equal times go to the least worst-rank traffic of the whole
 * sequence, then the fewest bytes in all, the fewest ops, the fewest messages, the order of the op table. Worst-rank
 * traffic does not add up along a sequence, so each layout keeps every label that is not dominated.
 */
#ifndef CHM_PASS_ROUTE_H
#define CHM_PASS_ROUTE_H

#include "cost/pricer.h"

/* Exact up to these; past one of them the search is narrower, and says so (ChmRoute.exact). */
#define CHM_ROUTE_MAX_MOVING 6     /* moving axes */
#define CHM_ROUTE_MAX_LAYOUTS 8192 /* layouts that an exchange may stop at */
#define CHM_ROUTE_MAX_LABELS 16    /* labels kept at a layout */
#define CHM_ROUTE_MAX_WORK 400000  /* moves priced, times ranks */
#define CHM_ROUTE_MAX_RANKS 256    /* that move; beyond, the search is on a smaller mesh of the same axes */

#define CHM_ROUTE_MAX_PIECES                                                                \
    16000000 /* of an exchange: beyond, it takes too long to price, and plain ops are taken \
              */

typedef struct ChmRoute {
    ChmSteps steps;
    ChmPrice price;
    bool exact;
} ChmRoute;

typedef struct ChmRouter ChmRouter;

/* A router remembers its results for (from, to, bytes, dtype). It lives in 'arena'.
 * The pricer is one on the topology. */
ChmRouter *chm_router_new(ChmArena *arena, ChmCtx *ctx, const ChmTopology *topology, ChmPricer *pricer);
/* The arrow must be legal. Empty for from == to. Never dearer than the baseline's own sequence. */
const ChmRoute *chm_router_find(ChmRouter *r, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                                const ChmLayout *to);

/* A bound on its time from the ends alone, 0 where there is none to be had cheaply: what is slower than another way
 * need not be searched. */
double chm_router_least_s(ChmRouter *r, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                          const ChmLayout *to);

/* Several ways of one arrow, as they will be done when chains are cut into at most so many chunks (0: by cost, 1: none
 * is cut): cheapest first, each but once. The arrow must be legal; none for from == to. They come of a search that is
 * bounded, so that the cheapest need not be among them; where chunks are 1 that is chm_router_find's. */
#define CHM_ROUTE_WAYS 8
typedef struct ChmWay {
    ChmSteps steps;
    ChmPrice price; /* cut into chunks where that is quicker, */
    double plain_s; /* and not. Both as priced by the search, which may look at a smaller machine: see 'exact' */
} ChmWay;
typedef struct ChmWays {
    int32_t len;
    bool exact; /* the times are those on the true machine */
    ChmWay at[CHM_ROUTE_WAYS];
} ChmWays;
const ChmWays *chm_router_several(ChmRouter *r, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                                  const ChmLayout *to, int32_t chunks);

#endif
