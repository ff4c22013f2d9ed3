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
/* Is the plan, with the op's chain cut into chunks where chains will be, no dearer with these steps from the source in
 * the op's place? O(ops * ranks) */
bool chm_route_suits_plan(ChmRewrite *w, const ChmOp *op, const ChmValue *source, const ChmSteps *instead);

#endif
