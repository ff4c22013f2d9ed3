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
    const ChmType *type;     /* and the layout it must end in; NULL: one of another mesh */
    ChmSpan span;
} ChmExpect;

typedef struct ChmExpectInput {
    const ChmTensor *tensor;
    const ChmType *type; /* as the caller hands it over: no pass may ask for it otherwise */
    ChmSpan span;
} ChmExpectInput;

typedef struct ChmExpects {
    ChmExpect *at; /* outputs, in order of the output statements; grown by CHM_PUSH */
    int32_t len, cap;
    CHM_VEC(ChmExpectInput) inputs; /* in order of the input statements */
} ChmExpects;

void chm_expects_of_module(ChmArena *arena, const ChmModule *m, ChmExpects *out);

#endif
