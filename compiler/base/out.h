/* SPDX-License-Identifier: Apache-2.0
 *
 * base/out.h - text under construction. Every printer and emitter writes into one of these; only the driver
 * hands the finished text to a file, so that no output file is ever left half-written.
 */
#ifndef CHM_BASE_OUT_H
#define CHM_BASE_OUT_H

#include "base/arena.h"

typedef struct ChmOut {
    ChmGuard *guard; /* as for arenas: growth never fails visibly; the entry calls chm_out_fini */
    ChmArena *arena; /* NULL: the text is malloc'ed, and chm_out_fini frees it */
    char *text;      /* always NUL-terminated after the first write */
    size_t len, cap;
} ChmOut;

void chm_out_init(ChmOut *o, ChmGuard *guard);
void chm_out_init_arena(ChmOut *o,
                        ChmArena *arena); /* for short texts: nothing to free, so an unwinding leaks nothing */
void chm_out_fini(ChmOut *o);
void chm_out_puts(ChmOut *o, const char *s);
void chm_out_write(ChmOut *o, const char *s, size_t n);
void chm_out_putc(ChmOut *o, char c);
void chm_out_printf(ChmOut *o, const char *fmt, ...) CHM_PRINTF(2, 3); /* locale-independent: nobody calls setlocale */
void chm_out_spaces(ChmOut *o, int n);
const char *chm_out_text(const ChmOut *o); /* "" when nothing was written */

/* "64 MiB", "1.5 KiB", "17 B", "-2 GiB": exact when printed as an integer of its unit, else rounded to three
 * significant digits or to tenths, whichever is more exact, and never without a point ("123.4 MiB", "1.0 MiB"). */
void chm_out_bytes(ChmOut *o, int64_t bytes);

#endif
