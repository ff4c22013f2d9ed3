/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/expect.h"

void chm_expects_of_module(ChmArena *arena, const ChmModule *m, ChmExpects *out)
{
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (op->code == CHM_OP_INPUT)
            CHM_PUSH(arena, &out->inputs, ((ChmExpectInput){op->tensor, op->result->type, op->span}));
        if (op->code != CHM_OP_OUTPUT)
            continue;
        const ChmOp *root = op->operand->def;
        while (root->operand)
            root = root->operand->def;
        CHM_PUSH(arena, out, ((ChmExpect){op->name, root->tensor, op->operand->type, op->span}));
    }
}
