/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/route_search.h - the search itself, in one space and on one machine. Private to pass/route*.
 */
#ifndef CHM_PASS_ROUTE_SEARCH_H
#define CHM_PASS_ROUTE_SEARCH_H

#include "pass/route.h"
#include "pass/route_space.h"

/* Of the wide search, which need not be exact. */
#define CHM_ROUTE_SLACK 2.0       /* times the quickest way: slower ones are left out */
#define CHM_ROUTE_WIDE_WORK 10000 /* moves priced, times ranks */
#define CHM_ROUTE_WIDE_LABELS 4   /* labels kept at a layout */
#define CHM_ROUTE_ARRIVALS 48     /* ways to the target that are looked at */

/* What searches in one space, on one machine, for one dtype tell the next: bounds. Lives in the arena of the searches.
 */
typedef struct RouteMemory {
    ChmMap states; /* by layout */
    ChmMap levels; /* bounds of a layout change by the wires of a level, by the two layouts and the level */
    int32_t searches;
} RouteMemory;

RouteMemory *route_memory_new(ChmArena *arena);

typedef struct RouteAsk {
    ChmArena *arena; /* of the search and of what it finds */
    RouteMemory *memory;
    ChmPricer *pricer; /* on the machine, for the space's mesh */
    const ChmTopology *topology;
    const RouteSpace *space;
    ChmDtype dtype;
    bool exchanges; /* may be used */
} RouteAsk;

/* The best way; *steps is one known beforehand, and then the best. weight: of the bound of what remains in the order of
 * expansion, 1 for A*, more to reach some way soon. False: a better one may exist. */
bool route_search(const RouteAsk *ask, double weight, ChmSteps *steps);
/* The ways that the wide search meets, one for each last step from each layout at least, in the order found: quick ones
 * first, and 'best' the very first. */
typedef CHM_VEC(ChmSteps) RouteWays;
void route_search_wide(const RouteAsk *ask, const ChmSteps *best, RouteWays *ways);

#endif
