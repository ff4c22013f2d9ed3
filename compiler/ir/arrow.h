/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/arrow.h - a layout change as a sequence of ops, without any choice by cost.
 */
#ifndef CHM_IR_ARROW_H
#define CHM_IR_ARROW_H

#include "ir/module.h"

typedef CHM_VEC(ChmStep) ChmSteps;

/* NULL when the arrow is one that some sequence of ops can do; else the reason: it would make an axis partial. */
const char *chm_arrow_illegal(ChmCtx *ctx, const ChmLayout *from, const ChmLayout *to);

/* The one op other than the exchanges that does from -> to; false when there is none (also when from == to). It is
 * unique. */
bool chm_arrow_single(ChmCtx *ctx, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to, ChmStep *step);

/* exchange or reduce_exchange straight to the target. The arrow must be legal and not empty. */
ChmStep chm_arrow_exchange(const ChmLayout *from, const ChmLayout *to);

/* The baseline of design section 2: what a careful engineer writes for this arrow by itself. Appends to *steps (in
 * 'arena'); nothing for from == to. The arrow must be legal. */
void chm_arrow_baseline(ChmCtx *ctx, ChmArena *arena, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to,
                        ChmSteps *steps);

#endif
