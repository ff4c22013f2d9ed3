/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/ctx.h - the context of one compilation: interned things, diagnostics, remarks. There are no globals.
 */
#ifndef CHM_IR_CTX_H
#define CHM_IR_CTX_H

#include "base/arena.h"
#include "base/map.h"
#include "diag/diag.h"
#include "diag/remark.h"

typedef struct ChmCtx {
    ChmGuard guard;   /* out of memory unwinds to the API entry that armed it */
    ChmArena arena;   /* interned things, sources, diagnostics; lives as long as the context */
    ChmArena scratch; /* for one algorithm at a time, which empties it when done; here so that an unwinding frees it */
    ChmMap strings;   /* names */
    ChmMap records;   /* meshes, layouts, shapes, types: equal content, equal pointer */
    ChmDiags diags;
    ChmRemarks remarks;
    struct ChmModule *modules; /* those not freed yet; chm_ctx_fini frees them, so that an unwinding leaks none */
} ChmCtx;

/* A context is used by one thread at a time; two contexts share nothing. */
void chm_ctx_init(ChmCtx *ctx);
void chm_ctx_fini(ChmCtx *ctx);

#endif
