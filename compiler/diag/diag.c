/* SPDX-License-Identifier: Apache-2.0
 *
 * diag/diag.c - collecting diagnostics.
 */
#include "diag/diag.h"

#include <stdarg.h>

#define DEFAULT_LIMIT 20

void chm_diags_init(ChmDiags *d, ChmArena *arena)
{
    *d = (ChmDiags){.arena = arena, .limit = DEFAULT_LIMIT};
}

static bool past_limit(const ChmDiags *d, ChmSeverity severity)
{
    return d->limit > 0 && (severity == CHM_ERROR ? d->errors : d->warnings) > d->limit;
}

CHM_PRINTF(4, 0)
static ChmDiag *report(ChmDiags *d, ChmSeverity severity, ChmSpan at, const char *fmt, va_list args)
{
    ChmDiag *diag = CHM_NEW(d->arena, ChmDiag);
    diag->severity = severity;
    diag->span = at;
    if (severity == CHM_ERROR)
        d->errors++;
    else
        d->warnings++;
    if (past_limit(d, severity))
        return diag; /* no text: discarded, and so are its notes */
    diag->text = chm_arena_vprintf(d->arena, fmt, args);
    diag->seq = d->list.len;
    CHM_PUSH(d->arena, &d->list, diag);
    return diag;
}

CHM_PRINTF(4, 0)
static void attach(ChmDiags *d, ChmDiag *diag, ChmNote note, const char *fmt, va_list args)
{
    if (!diag->text)
        return;
    note.text = chm_arena_vprintf(d->arena, fmt, args);
    CHM_PUSH(d->arena, &diag->notes, note);
}

ChmDiag *chm_error(ChmDiags *d, ChmSpan at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    ChmDiag *diag = report(d, CHM_ERROR, at, fmt, args);
    va_end(args);
    return diag;
}

ChmDiag *chm_warning(ChmDiags *d, ChmSpan at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    ChmDiag *diag = report(d, CHM_WARNING, at, fmt, args);
    va_end(args);
    return diag;
}

void chm_note(ChmDiags *d, ChmDiag *diag, ChmSpan at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    attach(d, diag, (ChmNote){.span = at}, fmt, args);
    va_end(args);
}

void chm_help(ChmDiags *d, ChmDiag *diag, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    attach(d, diag, (ChmNote){.is_help = true}, fmt, args);
    va_end(args);
}
