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

/* --emit=ast: the plan in its own notation, params resolved, one statement a line; parses back to the same tree. */
void chm_plan_print(ChmOut *out, const ChmPlan *plan);

/* The baseline: every arrow by itself, as design section 2 defines it, dead arrows too. */
CHM_GIVE ChmModule *chm_plan_lower(ChmCtx *ctx, const ChmPlan *plan);

/* What each output must be, from the syntax tree alone. Tensors are those of 'm' (found by name). */
void chm_plan_expects(ChmArena *arena, const ChmPlan *plan, const ChmModule *m, ChmExpects *out);

#endif
