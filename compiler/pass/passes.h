/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/passes.h - the functions of the passes, for the table alone, which everyone else uses. Private to this folder.
 */
#ifndef CHM_PASS_PASSES_H
#define CHM_PASS_PASSES_H

#include "pass/pass.h"

#define CHM_PASS(function, name, what, requires, establishes, breaks) \
    int32_t chm_pass_##function(ChmModule *m, const ChmPassEnv *env);
#include "pass/passes.def"
#undef CHM_PASS

#endif
