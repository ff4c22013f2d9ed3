/* SPDX-License-Identifier: Apache-2.0
 *
 * diag/remark.h - what a pass did, and what it did not do and why. Kept in order of report; printed by --explain.
 */
#ifndef CHM_DIAG_REMARK_H
#define CHM_DIAG_REMARK_H

#include "diag/diag.h"

typedef enum ChmRemarkKind { CHM_APPLIED, CHM_MISSED } ChmRemarkKind;

typedef struct ChmRemark {
    ChmRemarkKind kind;
    const char *pass;
    ChmSpan span;
    const char *text;    /* one line: what, where, why it is legal or what is in the way */
    int64_t saved_bytes; /* worst-rank bytes of the ops concerned, before minus after; 0 where it says nothing */
    const char *brief;   /* the same in a few words, for the summary; NULL: it has no place there */
} ChmRemark;

typedef struct ChmRemarks {
    ChmArena *arena;
    CHM_VEC(ChmRemark) list;
} ChmRemarks;

void chm_remarks_init(ChmRemarks *r, ChmArena *arena);
/* The remark has no brief yet, and stays where it is until the next one. */
ChmRemark *chm_remark(ChmRemarks *r, ChmRemarkKind kind, const char *pass, ChmSpan span, int64_t saved_bytes,
                      const char *fmt, ...) CHM_PRINTF(6, 7);
void chm_remarks_render(const ChmRemarks *r, ChmOut *out);

#endif
