/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/rewrite.h - what the passes share: prices of sequences of layout changes, changes to the module, and remarks.
 * Private to this folder.
 */
#ifndef CHM_PASS_REWRITE_H
#define CHM_PASS_REWRITE_H

#include "pass/pass.h"

/* One run of one pass. */
typedef struct ChmRewrite {
    ChmModule *m;
    const ChmPassEnv *env;
    const char *pass; /* its name, in remarks */
    int32_t changes;
    ChmPricer *pricer; /* of chm_rewrite_pricer; NULL until the first use */
    ChmBill bill;      /* of chm_moves_price */
} ChmRewrite;

void chm_rewrite_init(ChmRewrite *w, ChmModule *m, const ChmPassEnv *env, const char *pass);

ChmPricer *chm_rewrite_pricer(ChmRewrite *w); /* on the environment's topology */

/* ---- prices: of the given layout changes, in the order given, on the environment's topology. Each starts from a
 * layout of its own, so that they need not be a chain. */
typedef struct ChmMove {
    const ChmLayout *from;
    ChmStep step;
} ChmMove;
typedef CHM_VEC(ChmMove) ChmMoves;
ChmMove chm_op_move(const ChmOp *op);
/* The type tells the dtype and the shape. O(n * ranks * group) */
ChmPrice chm_moves_price(ChmRewrite *w, const ChmType *type, const ChmMove *moves, int32_t n);

/* ---- changes. Each op keeps its place, its result and its result's name. */
/* The op now does 'step' from 'operand'; the step must end in the type that the result has. */
void chm_op_become(ChmOp *op, ChmValue *operand, const ChmStep *step);
/* Unlinks the op, then what only it used, as far as these are layout changes. */
void chm_unlink_unused(ChmModule *m, ChmOp *op);

/* Is it the last layout change of a chain? A pipeline is no part of any. */
bool chm_ends_chain(const ChmModule *m, const ChmOp *op);
/* The chain of layout changes that ends with 'tail', as far as nothing else uses its middles: its first op, and its ops
 * in order. O(length) */
ChmOp *chm_find_chain(ChmRewrite *w, ChmOp *tail, ChmMoves *moves);
/* The steps of the moves, in the context's arena: clones of the module share them. */
const ChmStep *chm_keep_steps(ChmRewrite *w, const ChmMoves *moves);

/* Values that another value stands for, when a pass goes through the module once, in order. */
typedef struct ChmRenames {
    ChmModule *m;
    ChmMap to; /* from a value's address to the value that stands for it */
    CHM_VEC(ChmOp *) gone;
} ChmRenames;
void chm_renames_init(ChmRenames *r, ChmModule *m);
void chm_renames_visit(ChmRenames *r, ChmOp *op); /* gives op its operand's stand-in; to be called for every op */
void chm_renames_add(ChmRenames *r, ChmOp *op, ChmValue *by); /* 'by' for op's result from here on */
void chm_renames_finish(ChmRenames *r);                       /* unlinks the ops that have become unused */

/* The only op that uses a value, by value id; NULL where there are none or several. Numbers the module. O(ops) */
ChmOp **chm_only_users(ChmModule *m);
/* A use of v by another op than 'but', or NULL. O(ops) */
ChmOp *chm_other_use(const ChmModule *m, const ChmValue *v, const ChmOp *but);

/* ---- remarks */
const char *chm_move_text(ChmRewrite *w, const ChmType *type, const ChmMove *move); /* "all_gather over (tp) dim seq" */
const char *chm_op_text(ChmRewrite *w, const ChmOp *op);                            /* the same, or "output 'y'" */
const char *chm_moves_text(ChmRewrite *w, const ChmType *type, const ChmMove *moves, int32_t n); /* "A; B" */
/* "A to B by X, Y instead of Z": of the ops no more than names, and without "A to B by" when that is long. */
const char *chm_change_brief(ChmRewrite *w, const ChmType *from, const ChmType *to, const ChmMoves *new,
                             const ChmMoves *old);
const char *chm_bytes_text(ChmRewrite *w, int64_t bytes);
const char *chm_type_text(ChmRewrite *w, const ChmType *type);
const char *chm_value_text(ChmRewrite *w, const ChmValue *v); /* "'x1'", or "the result of ..." without a name */

/* One remark; the same one is not made twice in a compilation, so a pass may run again. brief: see ChmRemark. */
void chm_rewrite_applied(ChmRewrite *w, const ChmOp *op, int64_t saved_bytes, const char *brief, const char *fmt, ...)
    CHM_PRINTF(5, 6);
void chm_rewrite_missed(ChmRewrite *w, const ChmOp *op, int64_t saved_bytes, const char *fmt, ...) CHM_PRINTF(4, 5);

#endif
