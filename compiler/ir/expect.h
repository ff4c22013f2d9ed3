/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/expect.h - what the plan's outputs must be, taken from the syntax tree and not from any IR: the yardstick of
 * translation validation. For a module read as IR text, the module as read is its own yardstick.
 */
#ifndef CHM_IR_EXPECT_H
#define CHM_IR_EXPECT_H

#include "ir/module.h"

typedef struct ChmExpect {
    const char *output;      /* name */
    const ChmTensor *tensor; /* the logical tensor that it is */
    const ChmType *type;     /* and the layout it must end in */
    ChmSpan span;
} ChmExpect;

typedef CHM_VEC(ChmExpect) ChmExpects; /* in order of the output statements */

void chm_expects_of_module(ChmArena *arena, const ChmModule *m, ChmExpects *out);

#endif
