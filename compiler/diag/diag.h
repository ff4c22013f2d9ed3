/* SPDX-License-Identifier: Apache-2.0
 *
 * diag/diag.h - sources, places in them, and what the compiler has to say about them.
 *
 * Diagnostics are collected, sorted by place, limited, and rendered by the driver. Message style: lower case, no full
 * stop, single quotes round user text, the value shown, the kind of thing named, what was expected. Notes point at
 * another place; help says in a full sentence what to write instead.
 */
#ifndef CHM_DIAG_DIAG_H
#define CHM_DIAG_DIAG_H

#include "base/arena.h"
#include "base/out.h"
#include "base/vec.h"

/* One input text. Lives in the arena of the diagnostics that own it. */
typedef struct ChmSource {
    const char *name; /* as given by the user; "<stdin>" for '-' */
    const char *text; /* copy with two NULs after it (flex scans it in place); may contain NULs before len */
    uint32_t len;     /* inputs over CHM_SOURCE_MAX_BYTES are refused when read */
} ChmSource;

#define CHM_SOURCE_MAX_BYTES (64u << 20)

/* A byte range of one source; begin == end is a point. {0} (source NULL) means "no place". */
typedef struct ChmSpan {
    const ChmSource *source;
    uint32_t begin, end;
} ChmSpan;

ChmSpan chm_span_join(ChmSpan a, ChmSpan b);

/* 1-based line and 1-based byte column of an offset. O(offset). */
void chm_source_place(const ChmSource *s, uint32_t offset, uint32_t *line, uint32_t *col);

typedef enum ChmSeverity { CHM_ERROR, CHM_WARNING } ChmSeverity;

typedef struct ChmNote {
    ChmSpan span;     /* may be "no place" */
    const char *text; /* notes: a phrase; helps: a sentence */
    bool is_help;
} ChmNote;

typedef struct ChmDiag {
    ChmSeverity severity;
    ChmSpan span;
    const char *text;
    CHM_VEC(ChmNote) notes;
    int32_t seq; /* order of report, the tie-break of sorting */
} ChmDiag;

typedef struct ChmDiags {
    ChmArena *arena;
    CHM_VEC(ChmDiag *) list;
    int32_t errors, warnings;
    int32_t limit; /* errors after this many are counted, not kept; likewise warnings; 20 by default, 0: no limit */
} ChmDiags;

void chm_diags_init(ChmDiags *d, ChmArena *arena);

/* Reports return the diagnostic so that notes can be added; past the limit a discarded one is returned, never NULL. */
ChmDiag *chm_error(ChmDiags *d, ChmSpan at, const char *fmt, ...) CHM_PRINTF(3, 4);
ChmDiag *chm_warning(ChmDiags *d, ChmSpan at, const char *fmt, ...) CHM_PRINTF(3, 4);
void chm_note(ChmDiags *d, ChmDiag *diag, ChmSpan at, const char *fmt, ...) CHM_PRINTF(4, 5);
void chm_help(ChmDiags *d, ChmDiag *diag, const char *fmt, ...) CHM_PRINTF(3, 4);

/* The candidate that differs from 'name' in '_' and case alone; else the nearest by edit distance (the first of
 * several); NULL when none is near: distance <= 1 + length/3, 1 for up to 4 letters, and less than the longer length.
 * Names of more than 64 bytes are never near. */
const char *chm_did_you_mean(const char *name, const char *const *candidates, int32_t n);

/* All diagnostics, sorted by place: "file:line:col: error: text", source line, caret and underline, notes, help; at the
 * end "N errors generated" when there were errors, and how many of either are not shown. Long lines are windowed round
 * the caret; control bytes shown as '?'.
 */
void chm_diags_render(const ChmDiags *d, ChmOut *out, bool color);

/* Reads a whole file ("-": standard input). On failure reports at a place (no such file, is a directory, too large,
 * ...) and returns CHM_ERR_IO. */
ChmStatus chm_source_read_at(ChmDiags *d, ChmSpan at, const char *path, const ChmSource **out) CHM_MUST_USE;
/* The same; what goes wrong is reported without a place. */
ChmStatus chm_source_read(ChmDiags *d, const char *path, const ChmSource **out) CHM_MUST_USE;
/* Reports the first run of NULs and returns CHM_ERR_INPUT if there is one. To be called before scanning: flex takes
 * quadratic time over NULs. O(len). */
ChmStatus chm_source_check(ChmDiags *d, const ChmSource *s) CHM_MUST_USE;
/* len <= CHM_SOURCE_MAX_BYTES */
const ChmSource *chm_source_from_text(ChmArena *arena, const char *name, const char *text, size_t len);

#endif
