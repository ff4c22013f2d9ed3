/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/route_chains.h - the second half of the pass 'route'. Private to pass/route*.
 */
#ifndef CHM_PASS_ROUTE_CHAINS_H
#define CHM_PASS_ROUTE_CHAINS_H

#include "pass/rewrite.h"
#include "pass/route.h"

/* Gives every chain the way that makes the plan cheapest. */
void chm_route_chains(ChmRewrite *w, ChmRouter *router);
/* Is the chain that the op stands in, cut into chunks where chains will be, no dearer with these steps in its place? */
bool chm_route_keeps_chain(ChmRewrite *w, const ChmOp *op, const ChmSteps *instead);

#endif
