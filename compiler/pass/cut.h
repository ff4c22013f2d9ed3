/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/cut.h - how a chain of layout changes is cut into chunks, and what it costs then. The pass 'pipeline' cuts, and
 * 'route' asks what it will do.
 */
#ifndef CHM_PASS_CUT_H
#define CHM_PASS_CUT_H

#include "cost/pricer.h"

/* Storage for any number of chains on one mesh; lives with the pricer. */
typedef struct ChmCutter {
    int32_t chunks; /* asked for; 0: by cost, 1: nothing is cut */
    ChmPricer *pricer;
    ChmBill bill; /* after chm_cut_chain: of the chain as it will be done */
    const ChmPipeline *load;
} ChmCutter;
void chm_cutter_init(ChmCutter *c, ChmPricer *pricer, int32_t chunks);

typedef struct ChmCut {
    int32_t communicate; /* ops of the chain that do; one alone has nothing to overlap with */
    int32_t dim, chunks; /* the dim and the number of chunks of the least time, or as asked for */
    bool taken;          /* whether the chain is cut so: it is asked for, or quicker */
    double plain_s;      /* of the chain uncut */
    ChmPrice price;      /* of the chain as it will be done */
} ChmCut;
/* Of n steps one after the other, none of them a pipeline. */
ChmCut chm_cut_chain(ChmCutter *c, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from, const ChmStep *steps,
                     int32_t n);
/* The chain as one op. The steps must live as long as it does. */
ChmStep chm_cut_step(const ChmCut *cut, const ChmStep *steps, int32_t n);
/* Is there a dim that two chunks divide? */
bool chm_can_be_cut(const ChmShape *shape, const ChmLayout *from, const ChmLayout *to);

#endif
