/* SPDX-License-Identifier: Apache-2.0
 *
 * diag/remark.c - collecting and printing remarks.
 */
#include "diag/remark.h"
#include "diag/render.h"

#include <stdarg.h>

void chm_remarks_init(ChmRemarks *r, ChmArena *arena)
{
    *r = (ChmRemarks){.arena = arena};
}

ChmRemark *chm_remark(ChmRemarks *r, ChmRemarkKind kind, const char *pass, ChmSpan span, int64_t saved_bytes,
                      const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = chm_arena_vprintf(r->arena, fmt, args);
    va_end(args);
    ChmRemark remark = {kind, pass, span, text, saved_bytes, NULL};
    CHM_PUSH(r->arena, &r->list, remark);
    return &r->list.at[r->list.len - 1];
}

static const char *kind_name(ChmRemarkKind kind)
{
    switch (kind) {
    case CHM_APPLIED:
        return "applied";
    case CHM_MISSED:
        return "missed";
    }
    return "?";
}

/* "file:line:col: applied: pass: text (worst rank: 56 MiB less)"; what a missed one would have saved is said as such */
static void put_remark(ChmOut *out, const ChmRemark *r)
{
    chm_render_place(out, r->span);
    chm_out_printf(out, "%s: %s: ", kind_name(r->kind), r->pass);
    chm_render_text(out, r->text);
    if (r->saved_bytes != 0) {
        bool less = r->saved_bytes > 0;
        chm_out_puts(out, r->kind == CHM_APPLIED ? " (worst rank: " : " (worst rank, had it been done: ");
        chm_out_bytes(out, less ? r->saved_bytes : -r->saved_bytes);
        chm_out_puts(out, less ? " less)" : " more)");
    }
    chm_out_putc(out, '\n');
}

void chm_remarks_render(const ChmRemarks *r, ChmOut *out)
{
    for (int32_t i = 0; i < r->list.len; i++)
        put_remark(out, &r->list.at[i]);
}
