/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/route_space.h - what the route search moves in: which axes take part, which layouts there are, which moves.
 * Private to pass/route*.
 */
#ifndef CHM_PASS_ROUTE_SPACE_H
#define CHM_PASS_ROUTE_SPACE_H

#include "ir/arrow.h"
#include "ir/geom.h"
#include "ir/topology.h"

/* Axes outside 'moving' keep their state: they split the common prefix of a dim, stay partial, or stay pinned at one
 * coordinate. Axes replicated at both ends move: they may carry a share for a while. */
typedef struct RouteSpace {
    ChmCtx *ctx;
    const ChmShape *shape;
    const ChmLayout *from, *to;
    ChmAxes moving;
    int32_t fixed[CHM_MAX_DIMS]; /* length of the common prefix of each dim's split */
    bool whole_axes;             /* only ops that take all parts of an axis (ir/parts.h), or none */
} RouteSpace;

/* False when more axes take part than CHM_ROUTE_MAX_MOVING, so that some replicated ones were left out. */
bool route_space_init(RouteSpace *s, ChmCtx *ctx, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to);

/* The same arrow on a mesh of the moving axes alone, where that changes no figure: every dim's size divides by the
 * splits it may get, and the moving axes have few enough ranks. Otherwise *exact is false: the dims are the largest
 * blocks, large axes are halved until they fit. */
void route_space_reduce(const RouteSpace *s, RouteSpace *reduced, bool *exact);
/* The machine of the reduced space: on it an op of the moving axes takes the time that all its twins, which the other
 * axes number, take together on the true one. Where twins share a wire, the wire is as much slower. False where that
 * cannot be said: a level ends inside an axis, or other axes lie along a grid. */
bool route_space_fold(const RouteSpace *full, const ChmTopology *topology, ChmTopology *folded);
/* Steps of the reduced space, said in terms of the full one. */
void route_space_lift(const RouteSpace *full, ChmArena *arena, const ChmSteps *steps, ChmSteps *out);

/* All moves from a layout but the exchanges. */
typedef void RouteVisit(void *user, const ChmStep *step);
void route_moves(const RouteSpace *s, const ChmLayout *at, RouteVisit *visit, void *user);

/* All layouts of the space that some exchange may stop at: no axis partial that the target does not leave so, unless
 * the source has it. At most 'max'; false when there are more. */
typedef CHM_VEC(const ChmLayout *) RouteLayouts;
bool route_layouts(const RouteSpace *s, ChmArena *arena, int32_t max, RouteLayouts *out);

#endif
