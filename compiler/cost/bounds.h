/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/bounds.h - inside the cost module: the bound of one arrow over units of ranks.
 */
#ifndef CHM_COST_BOUNDS_H
#define CHM_COST_BOUNDS_H

#include "cost/tally.h"

/* Of the worst unit, and of all together; a unit is the ranks that differ in the axes 'inside' (0: a rank). */
typedef struct ChmUnitBound {
    int64_t worst_bytes, total_bytes;
} ChmUnitBound;
ChmUnitBound chm_bound_units(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                             const ChmLayout *to, ChmAxes inside);

#endif
