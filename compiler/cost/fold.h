/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/fold.h - inside the cost module: a chain of layout changes on the mesh of the axes that matter to it.
 *
 * An axis does not matter where its coordinates number twins, sets of ranks that do the same at once: one that stays
 * partial, that stays replicated (an exchange cuts pieces over the replicas, so there it matters), or that stays at the
 * major end of a dim's split while the split that far is even. One that stays pinned says only where the value is. On
 * the mesh of the other axes, with the even splits divided out of the shape, each rank sends and receives, message by
 * message over the same levels, what each of its twins does; and where twins share a wire, it carries so many times as
 * much. So everything measured there is exact, for any sizes.
 *
 * Axes that the topology ties together are kept together: one that a level ends inside, and all along one grid.
 */
#ifndef CHM_COST_FOLD_H
#define CHM_COST_FOLD_H

#include "cost/cost.h"

typedef struct ChmFold {
    const ChmMesh *mesh;       /* the true one, */
    const ChmShape *shape;     /* and the true shape */
    ChmAxes kept;              /* the axes of the folded mesh, in the same order */
    ChmAxes pinned;            /* not kept, and pinned throughout, */
    int32_t pin[CHM_MAX_AXES]; /* here */
    ChmAxes twins;             /* the others that have more than one coordinate */
} ChmFold;

/* Of the steps one after the other. The topology must fit the mesh. O((axes + dims) * (steps + levels)). */
void chm_fold_init(ChmFold *f, const ChmTopology *topo, const ChmShape *shape, const ChmLayout *from,
                   const ChmStep *steps, int32_t n);

/* The mesh and the machine that depend on the two sets alone. Not interned: nothing in cost/ compares meshes or layouts
 * by pointer. wire_twins[level]: how many twins load each of its wires. */
void chm_fold_mesh(const ChmFold *f, ChmMesh *folded);
void chm_fold_topology(const ChmFold *f, const ChmTopology *topo, ChmTopology *folded, int64_t *wire_twins);
void chm_fold_shape(const ChmFold *f, const ChmLayout *from, ChmShape *folded); /* the names and sizes */
void chm_fold_layout(const ChmFold *f, const ChmMesh *mesh, const ChmLayout *l, ChmLayout *folded);
/* The attributes, without a body. */
void chm_fold_attrs(const ChmFold *f, ChmOpcode code, const ChmAttrs *attrs, ChmAttrs *folded);

int64_t chm_axes_extent(const ChmMesh *mesh, ChmAxes set); /* product of the sizes */

#endif
