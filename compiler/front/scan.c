/* SPDX-License-Identifier: Apache-2.0
 *
 * front/scan.c - what grammar/plan.l hands on: names, numbers, text that is no token, memory.
 */
#include "front/plan_parse.h"

#include <string.h>

bool chm_parser_gives_up(const ChmParser *p)
{
    return p->diags->errors - p->errors_before >= CHM_PLAN_MAX_ERRORS;
}

/* Bytes of the well-formed multi-byte UTF-8 sequence at s, or 0. Overlong forms are for the renderer to mask. */
static int utf8_bytes(const unsigned char *s, int len)
{
    int n = s[0] >= 0xF0 && s[0] < 0xF5 ? 4 : s[0] >= 0xE0 && s[0] < 0xF0 ? 3 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : 0;
    if (n == 0 || n > len)
        return 0;
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    }
    return n;
}

/* A character, or a run of bytes outside printable ASCII, that begins no token. */
void chm_scan_stray(ChmParser *p, const char *text, int len)
{
    const unsigned char *s = (const unsigned char *)text;
    int utf8 = utf8_bytes(s, len);
    ChmSpan at = p->last;
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        at.end = at.begin + 3;
        ChmDiag *d = chm_error(p->diags, at, "the text has a byte order mark");
        chm_help(p->diags, d, "Save the plan as UTF-8 without a byte order mark.");
    } else if (utf8 > 0) {
        at.end = at.begin + (uint32_t)utf8;
        ChmDiag *d = chm_error(p->diags, at, "unexpected character '%.*s'", utf8, text);
        chm_help(p->diags, d, "Outside comments a plan is written in ASCII.");
    } else if (s[0] >= 0x80 || s[0] < 0x20 || s[0] == 0x7F) {
        chm_error(p->diags, at, "unexpected byte 0x%02X", (unsigned)s[0]);
    } else {
        at.end = at.begin + 1;
        chm_error(p->diags, at, "unexpected character '%c'", s[0]);
    }
}

/* Text that means something else than it should say. */
void chm_scan_mended(ChmParser *p, const char *found, const char *help)
{
    ChmSpan at = p->last;
    at.end = at.begin + (uint32_t)strlen(found);
    ChmDiag *d = chm_error(p->diags, at, "unexpected '%s'", found);
    chm_help(p->diags, d, "%s", help);
}

ChmName chm_scan_name(ChmParser *p, const char *text, int len)
{
    if (len > CHM_PLAN_MAX_NAME) {
        ChmSpan at = p->last;
        chm_error(p->diags, at, "a name of %d characters is too long: %d are the most", len, CHM_PLAN_MAX_NAME);
        len = CHM_PLAN_MAX_NAME;
    }
    return (ChmName){chm_intern(&p->ctx->strings, text, (size_t)len), p->last};
}

/* "tp.node", as IR text may have it. */
ChmName chm_scan_part(ChmParser *p, const char *text, int len)
{
    ChmName whole = chm_scan_name(p, text, (int)strcspn(text, "."));
    const char *found = chm_arena_strndup(p->arena, text, (size_t)len);
    chm_scan_mended(p, found,
                    chm_arena_printf(p->arena,
                                     "Write '%s': where levels of the machine end inside an axis, the "
                                     "compiler cuts it.",
                                     whole.text));
    return whole;
}

ChmName chm_scan_decimal(ChmParser *p, const char *text, int len)
{
    return (ChmName){chm_arena_strndup(p->arena, text, (size_t)len), p->last};
}

ChmName chm_scan_file(ChmParser *p, const char *text, int len)
{
    return (ChmName){chm_arena_strndup(p->arena, text, (size_t)len), p->last};
}

static ChmExpr *new_int(ChmParser *p, ChmExprKind kind, int64_t value)
{
    ChmExpr *e = CHM_NEW(p->arena, ChmExpr);
    *e = (ChmExpr){.kind = kind, .depth = 1, .span = p->last, .value = value};
    return e;
}

const ChmExpr *chm_scan_int(ChmParser *p, const char *text, int len)
{
    int64_t value = 0;
    for (int i = 0; i < len; i++) {
        if (!chm_mul64(value, 10, &value) || !chm_add64(value, text[i] - '0', &value)) {
            ChmDiag *d = chm_error(p->diags, p->last, "the number is too large");
            chm_help(p->diags, d, "Numbers are 64-bit integers: %lld is the greatest.", (long long)INT64_MAX);
            return new_int(p, CHM_EXPR_BAD, 0);
        }
    }
    return new_int(p, CHM_EXPR_INT, value);
}

const ChmExpr *chm_scan_bad_number(ChmParser *p, const char *text, int len)
{
    ChmDiag *d =
        chm_error(p->diags, p->last, "'%.*s%s' is not a number", len > 40 ? 40 : len, text, len > 40 ? "..." : "");
    if (memchr(text, '.', (size_t)len))
        chm_help(p->diags, d, "Sizes and coordinates are integers.");
    else
        chm_help(p->diags, d, "Numbers are decimal digits; names begin with a letter.");
    return new_int(p, CHM_EXPR_BAD, 0);
}

/* ---- memory of the scanner: in the arena, with the size before each block so that it can be copied when it grows */

typedef struct BlockHead {
    _Alignas(max_align_t) size_t bytes;
} BlockHead;

void *chm_scan_alloc(ChmParser *p, size_t bytes)
{
    BlockHead *head = chm_arena_alloc(p->arena, sizeof *head + bytes);
    head->bytes = bytes;
    return head + 1;
}

void *chm_scan_realloc(ChmParser *p, void *old, size_t bytes)
{
    void *block = chm_scan_alloc(p, bytes);
    if (old) {
        size_t old_bytes = ((BlockHead *)old - 1)->bytes;
        memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
    }
    return block;
}
