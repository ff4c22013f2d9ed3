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

/* A plan's input, and the layouts in which it is output. */
typedef struct ChmNeed {
    const ChmShape *shape;
    ChmDtype dtype;
    const ChmLayout *from;
    CHM_VEC(const ChmLayout *) to; /* one at least */
} ChmNeed;
typedef CHM_VEC(ChmNeed) ChmNeeds;
void chm_module_needs(ChmArena *scratch, const ChmModule *m, ChmNeeds *needs); /* inputs that are output, in order */
/* Of the worst unit, its figures added over the needs. Of several outputs of one tensor the greatest counts where there
 * are axes inside; of an axis inside that stays partial the sums count once. */
int64_t chm_bound_needs(ChmArena *scratch, const ChmMesh *mesh, const ChmNeeds *needs, ChmAxes inside);

#endif
