/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/reader.h - what the scanner and the grammar of the IR's text form share with ir/parse.c. Private to this folder.
 *
 * The grammar's actions only collect a line; the functions below give it its meaning, line by line. Everything is in
 * the context's arena.
 */
#ifndef CHM_IR_READER_H
#define CHM_IR_READER_H

#include "ir/module.h"
#include "ir/topology_text.h"

typedef ChmWord ChmIrName; /* a name as written, a value's with its '%' */
typedef ChmWords ChmIrNames;

typedef struct ChmIrPair { /* "tp = 4" */
    ChmIrName name;
    int64_t number;
    ChmSpan span;
} ChmIrPair;
typedef CHM_VEC(ChmIrPair) ChmIrPairs;

typedef struct ChmIrSplit { /* "seq/dp/tp" */
    ChmIrName dim;
    ChmIrNames axes;
} ChmIrSplit;

typedef struct ChmIrLayout {
    CHM_VEC(ChmIrSplit) splits;
    ChmIrNames partial;
    ChmIrPairs at;
    ChmSpan span;
    bool bad; /* a part was refused */
} ChmIrLayout;

/* One piece of what stands between an op's operand and its type. */
typedef enum ChmIrAttrKind { CHM_IR_A_WORD, CHM_IR_A_NUMBER, CHM_IR_A_AXES } ChmIrAttrKind;
typedef struct ChmIrAttr {
    ChmIrAttrKind kind;
    const char *text; /* WORD; '=' and '->' count as words */
    int64_t number;
    ChmIrNames *axes;
    ChmSpan span;
} ChmIrAttr;
typedef CHM_VEC(ChmIrAttr) ChmIrAttrs;

typedef struct ChmIrStep { /* a line of a body */
    ChmIrName op;
    ChmIrAttrs *attrs;
    ChmIrLayout *layout;
    ChmSpan span;
} ChmIrStep;
typedef CHM_VEC(ChmIrStep) ChmIrBody;

typedef struct ChmIrReader {
    ChmCtx *ctx;
    const ChmSource *source;
    ChmIrName plan;
    ChmModule *module; /* NULL until the mesh is known */
    bool mesh_seen;
    ChmMap values; /* from names with their '%' to entries of parse.c */
    CHM_VEC(const char *) value_names;
    CHM_VEC(const char *) bad_tensors; /* whose lines were refused: uses are not reported again */
    int32_t syntax_errors;     /* after one, no unknown value or tensor is reported: its line may be what was skipped */
    bool number_lost;          /* one did not fit: nothing can be said about types */
    int32_t braces;            /* open, in a topology */
    bool result_seen, op_next; /* by the scanner: the line begins with a value; and '=' has followed it */
    uint32_t bad_end;          /* end of the last stray character reported */
} ChmIrReader;

/* ---- grammar/ir.l: scans and parses all lines of r->source */
void chm_ir_read_lines(ChmIrReader *r);

/* ---- ir/parse.c, called by the scanner */
void chm_ir_scan_number(ChmIrReader *r, ChmSpan at, int64_t *out);
void chm_ir_scan_bad(ChmIrReader *r, ChmSpan at);

/* ---- ir/parse.c, called by the grammar: one a kind of line */
void chm_ir_syntax_error(ChmIrReader *r, ChmSpan at, const char *found, const char *const *wanted, int n);
void chm_ir_plan(ChmIrReader *r, ChmSpan at, ChmIrName name);
void chm_ir_mesh(ChmIrReader *r, ChmSpan at, ChmIrName name, const ChmIrPairs *axes); /* axes NULL: one rank */
void chm_ir_topology(ChmIrReader *r, ChmSpan at, const ChmTopologyText *text);
void chm_ir_by(ChmIrReader *r, ChmIrName word); /* between the sizes of a grid */
void chm_ir_tensor(ChmIrReader *r, ChmSpan at, ChmIrName name, ChmIrName dtype, const ChmIrPairs *dims);
/* start.text is NULL where the word does not stand, operand.text where no value stands; so are body and layout */
void chm_ir_op(ChmIrReader *r, ChmSpan at, ChmIrName result, ChmIrName start, ChmIrName op, ChmIrName operand,
               const ChmIrAttrs *attrs, const ChmIrBody *body, const ChmIrLayout *layout);
void chm_ir_sync(ChmIrReader *r, ChmSpan at, ChmIrName op, ChmIrName operand);
void chm_ir_sink(ChmIrReader *r, ChmSpan at, ChmIrName op, ChmIrName name, ChmIrName operand);
/* modifiers of a layout: 'word' must be 'partial' or 'at' */
void chm_ir_partial(ChmIrReader *r, ChmIrLayout *l, ChmIrName word, const ChmIrNames *axes);
void chm_ir_at(ChmIrReader *r, ChmIrLayout *l, ChmIrName word, const ChmIrPairs *pins);

/* ---- ir/parse_layout.c: names into axes, dims, layouts; false or NULL after a report */
void chm_ir_unknown(ChmIrReader *r, ChmIrName name, const char *kind, const char *const *known, int32_t n);
bool chm_ir_find_axis(ChmIrReader *r, ChmIrName name, int32_t *out);
bool chm_ir_find_dim(ChmIrReader *r, const ChmShape *shape, ChmIrName name, int32_t *out);
bool chm_ir_find_axes(ChmIrReader *r, const ChmIrNames *names, ChmAxisSeq *out);
const ChmLayout *chm_ir_make_layout(ChmIrReader *r, const ChmShape *shape, const ChmIrLayout *l);

#endif
