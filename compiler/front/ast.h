/* SPDX-License-Identifier: Apache-2.0
 *
 * front/ast.h - the syntax tree of a plan. The parser fills in what is written, sema adds what it means (fields below
 * "sema"). Everything lives in the context's arena; names are interned there.
 *
 * A node is 'bad' when an error about it has been reported: it is then not checked further, nor is anything that
 * depends on it, so that one slip gives one message.
 */
#ifndef CHM_FRONT_AST_H
#define CHM_FRONT_AST_H

#include "front/front.h"
#include "ir/topology_text.h"

#define CHM_EXPR_MAX_DEPTH 1000 /* of the tree of an expression: evaluation is recursive */

typedef ChmWord ChmName;
typedef ChmWords ChmNames;

/* ---- integer expressions */
typedef enum ChmExprKind {
    CHM_EXPR_BAD,
    CHM_EXPR_INT,
    CHM_EXPR_PARAM,
    CHM_EXPR_NEG,
    CHM_EXPR_ADD,
    CHM_EXPR_SUB,
    CHM_EXPR_MUL,
    CHM_EXPR_DIV, /* towards zero, as in C */
    CHM_EXPR_MOD, /* the sign of the left side, as in C */
} ChmExprKind;

typedef struct ChmExpr ChmExpr;
struct ChmExpr {
    ChmExprKind kind;
    int32_t depth;
    ChmSpan span;
    int64_t value;               /* INT */
    const char *param;           /* PARAM */
    const ChmExpr *left, *right; /* NEG has left alone */
};

/* ---- declarations */
typedef struct ChmSized { /* an axis of a mesh or a dim of a tensor: name = expr */
    ChmName name;
    const ChmExpr *expr;
    int64_t size; /* sema */
} ChmSized;
typedef CHM_VEC(ChmSized) ChmSizeds;

typedef struct ChmParam {
    ChmName name;
    ChmSpan span;
    const ChmExpr *expr;
    bool bad;
    /* sema */
    int64_t value;
    bool used;
} ChmParam;

typedef struct ChmMeshDecl {
    ChmName name;
    ChmSpan span;
    ChmSizeds axes;
    bool bad;
    /* sema */
    const ChmMesh *mesh;
} ChmMeshDecl;

typedef struct ChmUse { /* use "file.topo"; */
    ChmName path;       /* without quotes; text NULL: not written */
    bool bad;
} ChmUse;

typedef struct ChmStmt ChmStmt;

typedef struct ChmTensorDecl {
    ChmName name;
    ChmSpan span;
    ChmName dtype_name;
    ChmSizeds dims;
    bool bad;
    /* sema */
    ChmDtype dtype;
    const ChmShape *shape;
    const ChmStmt *input; /* where it is input; NULL when nowhere */
} ChmTensorDecl;

/* ---- layouts as written: size-1 axes included, in the order of the text */
typedef struct ChmDimUse { /* seq/dp/tp */
    ChmName dim;
    ChmNames axes;
} ChmDimUse;

typedef struct ChmPinUse { /* dp=3 */
    ChmName axis;
    const ChmExpr *expr;
    int64_t coord; /* sema */
} ChmPinUse;

typedef struct ChmPartialUse { /* partial(tp, dp); source of the span NULL: not written */
    ChmSpan span;
    ChmNames axes;
} ChmPartialUse;

typedef struct ChmLayoutText {
    ChmSpan span, dims_span; /* all of it; [..] alone */
    CHM_VEC(ChmDimUse) dims;
    ChmPartialUse partial;
    ChmSpan at_span; /* source NULL: not written */
    CHM_VEC(ChmPinUse) pins;
} ChmLayoutText;
typedef CHM_VEC(ChmPinUse) ChmPins;

/* ---- statements of the step */
typedef enum ChmStmtKind { CHM_STMT_INPUT, CHM_STMT_ARROW, CHM_STMT_OUTPUT } ChmStmtKind;

struct ChmStmt {
    ChmStmtKind kind;
    ChmSpan span;
    ChmName name;          /* the value that is defined; of an output, the value that is output */
    ChmName source;        /* input: the tensor; arrow: the operand */
    ChmLayoutText *text;   /* input, arrow */
    ChmPartialUse partial; /* output */
    bool bad;
    /* sema */
    int32_t index;           /* place among the statements */
    ChmTensorDecl *tensor;   /* input */
    const ChmStmt *operand;  /* arrow and output: the statement that defines the value; always an earlier one */
    const ChmTensorDecl *of; /* the tensor whose value this is; NULL when unknown */
    const ChmLayout *layout; /* of the value; NULL when bad */
    bool used;
};

struct ChmPlan {
    const ChmSource *source;
    ChmName name;
    ChmSpan span, step_span; /* of 'plan NAME;' and of the word 'step'; source NULL when absent */
    CHM_VEC(ChmParam *) params;
    ChmMeshDecl *mesh;
    ChmTopologyText *topology_text; /* NULL: none, or one that could not be read */
    ChmUse use;                     /* of a topology file */
    ChmSpan topology_span;          /* of the name of the topology or of the file; source NULL: neither is written */
    CHM_VEC(ChmTensorDecl *) tensors;
    CHM_VEC(ChmStmt *) stmts;
    bool damaged; /* by syntax errors: what is missing may only have been unreadable */
    /* sema */
    const ChmTopology *topology; /* the one to plan for; NULL: the default */
    const char *set_aside;       /* name of the plan's own topology where another takes its place */
};

/* "partial(tp, dp)" and "[seq/tp, hidden]" as written */
void chm_names_print(ChmOut *out, const ChmNames *names, const char *separator);
void chm_layout_text_print(ChmOut *out, const ChmLayoutText *text);

#endif
