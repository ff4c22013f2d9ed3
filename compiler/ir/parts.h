/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/parts.h - axes that levels of the machine end inside of, as several axes.
 *
 * Of a tensor-parallel group of 8 over two nodes of 4, ranks meet over the wires of a node or over those between nodes.
 * In a mesh where 'tp = 8' stands as 'tp.fabric = 2, tp.node = 4', schedules that treat the two apart are made of the
 * ops that there are. Ranks keep their numbers. A layout over 'tp' is the one over both parts, major first, so nothing
 * is priced otherwise for being written so.
 *
 * A part is an axis whose name has a dot: before it the whole axis, after it the level that the part runs over. Parts
 * of one axis stand side by side in the mesh. In text, the name of the whole is short for all its parts in their order.
 */
#ifndef CHM_IR_PARTS_H
#define CHM_IR_PARTS_H

#include "ir/module.h"

typedef struct ChmParts {
    const ChmMesh *whole, *mesh; /* the same object where no axis is cut */
    int32_t first[CHM_MAX_AXES]; /* by axis of 'whole': the first of its parts in 'mesh' */
    int32_t count[CHM_MAX_AXES];
} ChmParts;

/* Cuts those of 'axes' that a level sized in ranks ends inside of, where it ends at a whole coordinate and there is
 * room for the part. O(axes * levels). */
void chm_parts_find(ChmCtx *ctx, const ChmMesh *whole, const ChmTopology *topology, ChmAxes axes, ChmParts *out);

/* The same on the mesh of the parts. An axis that is cut is nowhere pinned, and no op is along it. */
const ChmLayout *chm_parts_layout(ChmCtx *ctx, const ChmParts *parts, const ChmLayout *l);
ChmStep chm_parts_step(ChmCtx *ctx, const ChmParts *parts, const ChmStep *step);
/* In the context's arena. topology NULL: NULL. */
const ChmTopology *chm_parts_topology(ChmCtx *ctx, const ChmParts *parts, const ChmTopology *topology);

#endif
