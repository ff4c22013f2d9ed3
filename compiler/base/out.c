/* SPDX-License-Identifier: Apache-2.0
 *
 * base/out.c - a growing text.
 */
#include "base/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_CAP ((size_t)256)

void chm_out_init(ChmOut *o, ChmGuard *guard)
{
    *o = (ChmOut){.guard = guard};
}

void chm_out_init_arena(ChmOut *o, ChmArena *arena)
{
    *o = (ChmOut){.guard = arena->guard, .arena = arena};
}

void chm_out_fini(ChmOut *o)
{
    if (!o->arena)
        free(o->text);
    *o = (ChmOut){.guard = o->guard, .arena = o->arena};
}

/* The text in a larger buffer; NULL when there is no memory for it. */
static char *grown(ChmOut *o, size_t cap)
{
    if (!o->arena)
        return chm_guard_allows(o->guard) ? realloc(o->text, cap) : NULL;
    char *text = chm_arena_alloc(o->arena, cap);
    if (o->len)
        memcpy(text, o->text, o->len);
    return text;
}

/* After this, n more bytes and a NUL fit. */
static void reserve(ChmOut *o, size_t n)
{
    if (n < o->cap - o->len)
        return;
    if (n > SIZE_MAX / 4 || o->len > SIZE_MAX / 4)
        chm_guard_unwind(o->guard);
    size_t cap = o->cap ? 2 * o->cap : MIN_CAP;
    if (cap < o->len + n + 1)
        cap = o->len + n + 1;
    char *text = grown(o, cap);
    if (!text)
        chm_guard_unwind(o->guard); /* the old text stays for chm_out_fini */
    o->text = text;
    o->cap = cap;
}

void chm_out_write(ChmOut *o, const char *s, size_t n)
{
    reserve(o, n);
    if (n)
        memcpy(o->text + o->len, s, n);
    o->len += n;
    o->text[o->len] = '\0';
}

void chm_out_puts(ChmOut *o, const char *s)
{
    chm_out_write(o, s, strlen(s));
}

void chm_out_putc(ChmOut *o, char c)
{
    chm_out_write(o, &c, 1);
}

void chm_out_printf(ChmOut *o, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n <= 0) /* negative: more than INT_MAX bytes; nothing is written */
        return;
    reserve(o, (size_t)n);
    va_start(args, fmt);
    vsnprintf(o->text + o->len, (size_t)n + 1, fmt, args);
    va_end(args);
    o->len += (size_t)n;
}

void chm_out_spaces(ChmOut *o, int n)
{
    for (; n > 0; n--)
        chm_out_putc(o, ' ');
}

const char *chm_out_text(const ChmOut *o)
{
    return o->text ? o->text : "";
}

void chm_out_bytes(ChmOut *o, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint64_t n = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;
    int unit = 0;
    while (n >> (10 * unit) >= 1024)
        unit++;
    if (bytes < 0)
        chm_out_putc(o, '-');

    uint64_t unit_bytes = UINT64_C(1) << (10 * unit);
    if (n % unit_bytes == 0) {
        chm_out_printf(o, "%llu %s", (unsigned long long)(n / unit_bytes), units[unit]);
        return;
    }
    double v = (double)n / (double)unit_bytes;
    if (v >= 1023.95) { /* would read 1024.0 */
        v /= 1024;
        unit++;
    }
    /* Two decimals below ten, but 1.5 rather than 1.50. */
    chm_out_printf(o, "%.*f", v < 9.995 ? 2 : 1, v);
    if (v < 9.995 && o->text[o->len - 1] == '0')
        o->text[--o->len] = '\0';
    chm_out_printf(o, " %s", units[unit]);
}
