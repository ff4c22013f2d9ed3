/* SPDX-License-Identifier: Apache-2.0
 *
 * diag/render.c - diagnostics as text: sorted, with the source line and a caret.
 *
 * A line is walked in cells: a cell is what takes one column, that is a tab, a valid UTF-8 sequence, or a byte shown as
 * '?'. Characters of double or no width are taken for one column.
 */
#include "diag/render.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_CELLS 120u
#define WINDOW_BEFORE_CARET 40u

/* ---- cells ---- */

typedef struct Cell {
    uint32_t bytes;
    bool shown; /* else '?' stands for it */
} Cell;

/* Well-formed UTF-8 by lead byte (Unicode 15, table 3-7), less the control characters U+0080 to U+009F. */
static const struct {
    unsigned char lead_min, lead_max, second_min, second_max, bytes;
} utf8_forms[] = {
    {0xC2, 0xC2, 0xA0, 0xBF, 2}, {0xC3, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
    {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
    {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

static bool in_range(unsigned char c, unsigned char min, unsigned char max)
{
    return c >= min && c <= max;
}

/* Length of the multi-byte sequence at s, 0 when it is not well-formed. */
static uint32_t utf8_bytes(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    for (size_t i = 0; i < sizeof utf8_forms / sizeof *utf8_forms; i++) {
        if (!in_range(u[0], utf8_forms[i].lead_min, utf8_forms[i].lead_max))
            continue;
        if (n < utf8_forms[i].bytes || !in_range(u[1], utf8_forms[i].second_min, utf8_forms[i].second_max))
            return 0;
        for (size_t k = 2; k < utf8_forms[i].bytes; k++) {
            if (!in_range(u[k], 0x80, 0xBF))
                return 0;
        }
        return utf8_forms[i].bytes;
    }
    return 0;
}

static Cell cell_at(const char *s, size_t n)
{
    unsigned char c = (unsigned char)s[0];
    if (c < 0x80)
        return (Cell){1, c >= 0x20 && c != 0x7F};
    uint32_t bytes = utf8_bytes(s, n);
    return bytes ? (Cell){bytes, true} : (Cell){1, false};
}

static void put_cell(ChmOut *out, const char *s, Cell cell)
{
    if (cell.shown)
        chm_out_write(out, s, cell.bytes);
    else
        chm_out_putc(out, '?');
}

void chm_render_text(ChmOut *out, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        Cell cell = cell_at(text + i, n - i);
        put_cell(out, text + i, cell);
        i += cell.bytes;
    }
}

void chm_render_place(ChmOut *out, ChmSpan span)
{
    if (!span.source)
        return;
    uint32_t line, col;
    chm_source_place(span.source, span.begin, &line, &col);
    chm_render_text(out, span.source->name);
    chm_out_printf(out, ":%lu:%lu: ", (unsigned long)line, (unsigned long)col);
}

/* ---- the source line and the caret under it ---- */

/* The part of a line that is shown, and the marked bytes in it; offsets from the start of text. */
typedef struct Excerpt {
    const char *text;
    uint32_t len;
    uint32_t mark_begin, mark_end;
    bool cut_left, cut_right;
} Excerpt;

/* The line in which the span begins, without its line end; what the span marks beyond the line is dropped. */
static Excerpt whole_line(ChmSpan span)
{
    const ChmSource *s = span.source;
    uint32_t at = span.begin < s->len ? span.begin : s->len;
    uint32_t begin = at;
    while (begin > 0 && s->text[begin - 1] != '\n')
        begin--;
    const char *newline = memchr(s->text + at, '\n', s->len - at);
    uint32_t end = newline ? (uint32_t)(newline - s->text) : s->len;
    if (end > begin && s->text[end - 1] == '\r')
        end--;
    if (at > end)
        at = end;
    uint32_t mark_end = span.end < at ? at : span.end;
    if (mark_end > end)
        mark_end = end;
    return (Excerpt){s->text + begin, end - begin, at - begin, mark_end - begin, false, false};
}

/* Byte offset after n cells from 'from', or the line's end. */
static uint32_t skip_cells(const Excerpt *e, uint32_t from, uint32_t n)
{
    while (n-- > 0 && from < e->len)
        from += cell_at(e->text + from, e->len - from).bytes;
    return from;
}

/* Number of cells that begin before the byte 'end'. */
static uint32_t count_cells(const Excerpt *e, uint32_t end)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < end; i = skip_cells(e, i, 1))
        n++;
    return n;
}

/* Cuts a long line to a window that holds the caret. */
static Excerpt cut(Excerpt e)
{
    uint32_t cells = count_cells(&e, e.len);
    if (cells <= WINDOW_CELLS)
        return e;
    uint32_t caret = count_cells(&e, e.mark_begin);
    uint32_t first = caret > WINDOW_BEFORE_CARET ? caret - WINDOW_BEFORE_CARET : 0;
    if (first > cells - WINDOW_CELLS)
        first = cells - WINDOW_CELLS;
    uint32_t begin = skip_cells(&e, 0, first);
    uint32_t end = skip_cells(&e, begin, WINDOW_CELLS);
    uint32_t mark_end = e.mark_end < end ? e.mark_end : end;
    return (Excerpt){e.text + begin, end - begin, e.mark_begin - begin, mark_end - begin, first > 0, end < e.len};
}

static void put_line(ChmOut *out, const Excerpt *e)
{
    chm_out_puts(out, e->cut_left ? "..." : "");
    for (uint32_t i = 0; i < e->len;) {
        Cell cell = cell_at(e->text + i, e->len - i);
        if (e->text[i] == '\t')
            chm_out_putc(out, '\t');
        else
            put_cell(out, e->text + i, cell);
        i += cell.bytes;
    }
    chm_out_puts(out, e->cut_right ? "...\n" : "\n");
}

/* Tabs are repeated, so that the caret lines up whatever a tab is worth. */
static void put_caret(ChmOut *out, const Excerpt *e, bool color)
{
    chm_out_puts(out, e->cut_left ? "   " : "");
    uint32_t at = 0;
    for (uint32_t next; at < e->len && (next = skip_cells(e, at, 1)) <= e->mark_begin; at = next)
        chm_out_putc(out, e->text[at] == '\t' ? '\t' : ' ');
    chm_out_puts(out, color ? "\033[1;32m^" : "^");
    /* A tab right under the caret ends the underline: its width there is unknown. */
    if (at < e->len && e->text[at] != '\t') {
        for (at = skip_cells(e, at, 1); at < e->mark_end; at = skip_cells(e, at, 1))
            chm_out_putc(out, e->text[at] == '\t' ? '\t' : '~');
    }
    chm_out_puts(out, color ? "\033[0m\n" : "\n");
}

static void put_excerpt(ChmOut *out, ChmSpan span, bool color)
{
    if (!span.source)
        return;
    Excerpt e = cut(whole_line(span));
    if (e.len == 0) /* an empty line, or the end of the input: nothing to point at */
        return;
    put_line(out, &e);
    put_caret(out, &e, color);
}

/* ---- whole diagnostics ---- */

/* "error: text", the kind in its colour, the text of errors and warnings bold. */
static void put_message(ChmOut *out, const char *kind, const char *kind_color, const char *text, bool bold, bool color)
{
    if (!color) {
        chm_out_printf(out, "%s: ", kind);
        chm_render_text(out, text);
    } else {
        chm_out_printf(out, "\033[1;%sm%s:\033[0m %s", kind_color, kind, bold ? "\033[1m" : "");
        chm_render_text(out, text);
        chm_out_puts(out, bold ? "\033[0m" : "");
    }
    chm_out_putc(out, '\n');
}

static void put_note(ChmOut *out, const ChmNote *note, bool color)
{
    chm_render_place(out, note->span);
    if (note->is_help)
        put_message(out, "help", "32", note->text, false, color);
    else
        put_message(out, "note", "36", note->text, false, color);
    put_excerpt(out, note->span, color);
}

static void put_diag(ChmOut *out, const ChmDiag *diag, bool color)
{
    if (!diag->span.source)
        chm_out_puts(out, "chimerac: ");
    chm_render_place(out, diag->span);
    switch (diag->severity) {
    case CHM_ERROR:
        put_message(out, "error", "31", diag->text, true, color);
        break;
    case CHM_WARNING:
        put_message(out, "warning", "35", diag->text, true, color);
        break;
    }
    put_excerpt(out, diag->span, color);
    for (int32_t i = 0; i < diag->notes.len; i++)
        put_note(out, &diag->notes.at[i], color);
}

typedef struct SortKey {
    const ChmDiag *diag;
    int32_t source_order; /* index of the first diagnostic of the same source; -1 without a place */
} SortKey;

static int by_place(const void *pa, const void *pb)
{
    const SortKey *a = pa, *b = pb;
    if (a->source_order != b->source_order)
        return a->source_order < b->source_order ? -1 : 1;
    if (a->source_order >= 0 && a->diag->span.begin != b->diag->span.begin)
        return a->diag->span.begin < b->diag->span.begin ? -1 : 1;
    return (a->diag->seq > b->diag->seq) - (a->diag->seq < b->diag->seq);
}

static int32_t source_order(const ChmDiags *d, const ChmSource *source)
{
    int32_t i = 0;
    if (!source)
        return -1;
    while (d->list.at[i]->span.source != source)
        i++;
    return i;
}

static void put_count(ChmOut *out, const ChmDiags *d, int32_t shown, int32_t warnings_shown)
{
    int32_t unshown = d->warnings - warnings_shown;
    if (unshown > 0)
        chm_out_printf(out, "%d more warning%s not shown\n", (int)unshown, unshown == 1 ? "" : "s");
    if (d->errors == 0)
        return;
    chm_out_printf(out, "%d error%s generated", (int)shown, shown == 1 ? "" : "s");
    if (d->errors > shown)
        chm_out_printf(out, "; %d more not shown", (int)(d->errors - shown));
    chm_out_putc(out, '\n');
}

void chm_diags_render(const ChmDiags *d, ChmOut *out, bool color)
{
    int32_t n = d->list.len, errors = 0;
    SortKey *keys = CHM_NEW_ARRAY(d->arena, SortKey, n);
    for (int32_t i = 0; i < n; i++) {
        const ChmDiag *diag = d->list.at[i];
        keys[i] = (SortKey){diag, source_order(d, diag->span.source)};
        errors += diag->severity == CHM_ERROR;
    }
    qsort(keys, (size_t)n, sizeof *keys, by_place);
    for (int32_t i = 0; i < n; i++)
        put_diag(out, keys[i].diag, color);
    put_count(out, d, errors, n - errors);
}
