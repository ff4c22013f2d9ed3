/* SPDX-License-Identifier: Apache-2.0
 *
 * front/front.h - from plan text to the baseline module: parse (grammar/plan.y), check (sema*.c), lower (lower.c).
 */
#ifndef CHM_FRONT_FRONT_H
#define CHM_FRONT_FRONT_H

#include "ir/expect.h"

typedef struct ChmDefine { /* -D name=value */
    const char *name;
    int64_t value;
} ChmDefine;

typedef struct ChmPlan ChmPlan; /* the checked syntax tree (front/ast.h); lives in the context's arena */

/* NULL when anything is wrong; ctx->diags says what (several errors per run). Warnings (dead arrows, unused axes...)
 * may stand in diags otherwise. */
const ChmPlan *chm_plan_parse(ChmCtx *ctx, const ChmSource *source, const ChmDefine *defines, int32_t ndefines);

/* The same on another machine: the topology of 'topology', a topology file, takes the place of the plan's own, which
 * then need not fit the mesh. -D sets params of both texts. topology NULL: as above. */
const ChmPlan *chm_plan_parse_on(ChmCtx *ctx, const ChmSource *source, const ChmSource *topology,
                                 const ChmDefine *defines, int32_t ndefines);

/* As the plan says it: in the module, axes that levels of the machine end inside of stand in parts (ir/parts.h). */
const ChmMesh *chm_plan_mesh(const ChmPlan *plan);
/* The machine that the plan is for; NULL: none is said, chm_default_topology is meant. */
const ChmTopology *chm_plan_topology(const ChmPlan *plan);
/* The name of the plan's own topology where that of a file took its place; else NULL. */
const char *chm_plan_topology_set_aside(const ChmPlan *plan);

/* A topology file (params and one topology) on a mesh. Axes that the mesh lacks count as of size 1. NULL with errors.
 */
const ChmTopology *chm_topology_parse(ChmCtx *ctx, const ChmSource *source, const ChmDefine *defines, int32_t ndefines,
                                      const ChmMesh *mesh);

/* --emit=ast: the plan in its own notation, params resolved, one statement a line; parses back to the same tree. */
void chm_plan_print(ChmOut *out, const ChmPlan *plan);

/* The baseline: every arrow by itself, as design section 2 defines it, dead arrows too. */
CHM_GIVE ChmModule *chm_plan_lower(ChmCtx *ctx, const ChmPlan *plan);

/* What each output must be, from the syntax tree alone. Tensors are those of 'm' (found by name). */
void chm_plan_expects(ChmArena *arena, const ChmPlan *plan, const ChmModule *m, ChmExpects *out);

#endif
