/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ctx.h"

#include "ir/module.h"

void chm_ctx_init(ChmCtx *ctx)
{
    *ctx = (ChmCtx){0};
    chm_arena_init(&ctx->arena, &ctx->guard);
    chm_arena_init(&ctx->scratch, &ctx->guard);
    chm_map_init(&ctx->strings, &ctx->arena);
    chm_map_init(&ctx->records, &ctx->arena);
    chm_diags_init(&ctx->diags, &ctx->arena);
    chm_remarks_init(&ctx->remarks, &ctx->arena);
}

void chm_ctx_fini(ChmCtx *ctx)
{
    while (ctx->modules)
        chm_module_free(ctx->modules);
    chm_arena_fini(&ctx->scratch);
    chm_arena_fini(&ctx->arena);
}
