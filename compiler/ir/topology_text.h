/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/topology_text.h - a topology block as written, and what it means. Plans, topology files and IR text have the same
 * notation; their two grammars fill this in, and chm_topology_build checks it.
 */
#ifndef CHM_IR_TOPOLOGY_TEXT_H
#define CHM_IR_TOPOLOGY_TEXT_H

#include "ir/topology.h"

typedef struct ChmWord {
    const char *text; /* interned; NULL: not there */
    ChmSpan span;
} ChmWord;
typedef CHM_VEC(ChmWord) ChmWords;

typedef struct ChmWrittenInt {
    ChmSpan span;
    int64_t value;
    const struct ChmExpr *expr; /* what the front end computes the value from; NULL: it stands in 'value' */
} ChmWrittenInt;

typedef struct ChmQuantityText { /* "2.5 GB/s" */
    ChmSpan span;
    const char *digits; /* an amount with a decimal point; NULL: 'whole' is the amount */
    ChmWrittenInt whole;
    bool negative;
    ChmWord unit;
} ChmQuantityText;

typedef enum ChmPropertyForm { CHM_FORM_FLAG, CHM_FORM_QUANTITY, CHM_FORM_GRID } ChmPropertyForm;

typedef struct ChmPropertyText { /* "shared;" "latency = 2 us;" "torus 4 x 4;" */
    ChmWord name;
    ChmPropertyForm form;
    ChmQuantityText quantity;
    CHM_VEC(ChmWrittenInt) grid;
} ChmPropertyText;
typedef CHM_VEC(ChmPropertyText) ChmPropertyTexts;

typedef struct ChmLevelText { /* "level node 8 { ... }" "level node (dp, tp) { ... }" "level fabric { ... }" */
    ChmWord word, name;
    bool sized, by_axes;
    ChmWrittenInt ranks;
    ChmWords axes;
    ChmPropertyTexts properties;
} ChmLevelText;

typedef struct ChmTopologyText {
    ChmWord name;
    ChmSpan span;
    CHM_VEC(ChmLevelText *) levels;
    ChmPropertyTexts properties;
} ChmTopologyText;

/* The topology on a mesh, in the context's arena, or NULL with errors. Of a 'foreign' text, which was written without
 * regard to the mesh, axes that the mesh lacks count as of size 1, and levels that thereby add nothing go away. */
const ChmTopology *chm_topology_build(ChmCtx *ctx, const ChmTopologyText *text, const ChmMesh *mesh, bool foreign);

/* ---- topology_quantity.c */
typedef enum ChmQuantityKind { CHM_BANDWIDTH, CHM_TIME } ChmQuantityKind;

/* In bytes per second or seconds, rounded once; false with an error. 'without' says what to write for none. */
bool chm_quantity_read(ChmCtx *ctx, const char *name, const ChmQuantityText *q, ChmQuantityKind kind,
                       const char *without, double *out);
/* "300 GB/s", "2.5 us": the shortest digits that read back as the same number. */
void chm_quantity_print(ChmOut *out, double value, ChmQuantityKind kind);

#endif
