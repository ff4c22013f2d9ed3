/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/emit.c - the table of emitters, and the one that has nothing to do but print.
 */
#include "emit/emitters.h"

#include <string.h>

const ChmEmitter chm_emitters[] = {
#define CHM_EMITTER(name, takes_driver, what) {#name, what, chm_emit_##name, takes_driver},
#include "emit/emitters.def"
#undef CHM_EMITTER
    {NULL, NULL, NULL, false},
};

const ChmEmitter *chm_emitter_find(const char *name)
{
    for (const ChmEmitter *e = chm_emitters; e->name; e++) {
        if (strcmp(e->name, name) == 0)
            return e;
    }
    return NULL;
}

void chm_emit_ir(const ChmEmitJob *job, ChmOut *out)
{
    chm_module_print(job->module, out);
}
