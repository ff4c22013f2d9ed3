/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/module.h - ops, values, modules. SSA; ops stand in one list, in program order. Everything lives in the module's
 * arena; ops are unlinked, never freed singly.
 *
 * An op runs to its end where it stands, unless it is *started*: then it is under way until the 'wait' of its result,
 * and what stands between the two goes on beside it. Meanwhile its operand must stay as it is and its result may not be
 * looked at. All ranks start and wait in program order.
 */
#ifndef CHM_IR_MODULE_H
#define CHM_IR_MODULE_H

#include "ir/topology.h"
#include "ir/type.h"

typedef enum ChmOpcode {
#define CHM_OP(CODE, name, class, syntax, what) CHM_OP_##CODE,
#include "ir/ops.def"
#undef CHM_OP
    CHM_NOPS
} ChmOpcode;

typedef enum ChmOpClass { CHM_CLASS_SOURCE, CHM_CLASS_LAYOUT, CHM_CLASS_SYNC, CHM_CLASS_SINK } ChmOpClass;

typedef struct ChmOpInfo {
    const char *name;
    ChmOpClass class;
    const char *syntax;
    const char *what;
} ChmOpInfo;
extern const ChmOpInfo chm_ops[CHM_NOPS];
ChmOpcode chm_op_find(const char *name); /* CHM_NOPS when there is no such op */

/* Attributes of a layout change. Which of them an op has is said by its syntax; the others are 0. */
typedef struct ChmAttrs {
    ChmAxisSeq over;     /* A */
    int32_t dim, to_dim; /* D, E: indices into the shape */
    int32_t axis;        /* X */
    int32_t from, to;    /* I, J: coordinates on X */
    int32_t chunks;      /* N: that the tensor is cut into along 'dim' */
    int32_t body_len;    /* with N: the ops done on each chunk, the first on the operand; in the context's arena */
    const struct ChmStep *body;
} ChmAttrs;
bool chm_op_has(ChmOpcode code, char attr); /* attr is one of the capital letters of ops.def */

/* One layout change by itself: an op with its attributes and the layout it ends in. Equal iff code and result are,
 * given the layout it starts from. */
typedef struct ChmStep {
    ChmOpcode code;
    ChmAttrs attrs;
    const ChmLayout *to;
} ChmStep;

typedef struct ChmTensor {
    const char *name;
    ChmDtype dtype;
    const ChmShape *shape;
    int32_t index; /* position in the plan, the 'tensor' of the test data */
    ChmSpan span;
} ChmTensor;

typedef struct ChmOp ChmOp;

typedef struct ChmValue {
    ChmOp *def;
    const ChmType *type;
    const char *name; /* the plan's name, or NULL: printed by number */
    int32_t uses;     /* waits too; kept by the functions below */
    int32_t id;       /* dense index of all values, from 0, in program order; set by chm_module_number */
    int32_t number;   /* of an unnamed value, from 1; likewise */
} ChmValue;

struct ChmOp {
    ChmOpcode code;
    bool started;            /* LAYOUT: ends at the wait of its result, not where it stands */
    ChmSpan span;            /* the plan text it comes from */
    ChmValue *operand;       /* NULL for SOURCE; of a wait the result of the op that it ends */
    ChmValue *result;        /* LAYOUT and SOURCE; else NULL */
    ChmAttrs attrs;          /* LAYOUT */
    const ChmTensor *tensor; /* input */
    const char *name;        /* output: name of the result, the plan's value name */
    /* The steps that the op stands for, where 'compose' made one exchange of a chain: route compares with them. In the
     * context's arena. */
    const ChmStep *made_of;
    int32_t made_of_len; /* 0: itself */
    ChmOp *prev, *next;
};

typedef struct ChmModule {
    ChmCtx *ctx;
    ChmArena arena; /* ops and values */
    const char *name;
    const ChmMesh *mesh;
    const ChmTopology *topology; /* the machine, in the context's arena; NULL: chm_default_topology */
    CHM_VEC(const ChmTensor *) tensors;
    ChmOp *first, *last;
    struct ChmModule *newer, *older; /* the context's list of modules */
} ChmModule;

/* A module dies with its context at the latest. */
CHM_GIVE ChmModule *chm_module_new(ChmCtx *ctx, const char *name,
                                   const ChmMesh *mesh); /* chm_module_free gives it back */
void chm_module_free(CHM_TAKE ChmModule *m);
CHM_GIVE ChmModule *chm_module_clone(const ChmModule *m); /* same context, fresh ops and values */
const ChmTensor *chm_module_add_tensor(ChmModule *m, const char *name, ChmDtype dtype, const ChmShape *shape,
                                       ChmSpan span);

/* Builders insert before 'at' (NULL: at the end). They do not check; the verifier does. */
ChmValue *chm_build_input(ChmModule *m, ChmOp *at, ChmSpan span, const ChmTensor *t, const ChmType *type,
                          const char *name);
ChmValue *chm_build_step(ChmModule *m, ChmOp *at, ChmSpan span, ChmValue *operand, const ChmStep *step,
                         const char *name);
ChmOp *chm_build_output(ChmModule *m, ChmOp *at, ChmSpan span, ChmValue *operand, const char *name);
ChmOp *chm_build_wait(ChmModule *m, ChmOp *at, ChmSpan span, ChmValue *started);

void chm_op_put(ChmModule *m, ChmOp *op, ChmOp *at); /* to before 'at' (NULL: to the end), which is another op */
void chm_op_unlink(ChmModule *m, ChmOp *op);         /* its result must have no uses; its operand loses one */
void chm_op_set_operand(ChmOp *op, ChmValue *v);
void chm_value_replace(ChmModule *m, ChmValue *old,
                       ChmValue *by); /* all uses of old; by inherits the plan's name if it has none. O(ops) */
/* The only op that uses v, or NULL when there are none or several. O(ops). */
ChmOp *chm_value_single_user(const ChmModule *m, const ChmValue *v);

int32_t chm_module_number(ChmModule *m); /* sets id and number of every value; the count of values. O(ops) */
static inline bool chm_is_layout_op(const ChmOp *op)
{
    return chm_ops[op->code].class == CHM_CLASS_LAYOUT;
}

/* Layout changes in which nobody sends anything. They are done at once, and cannot be started. */
static inline bool chm_is_local(ChmOpcode code)
{
    return code == CHM_OP_SLICE || code == CHM_OP_DROP;
}

static inline bool chm_is_exchange(ChmOpcode code)
{
    return code == CHM_OP_EXCHANGE || code == CHM_OP_REDUCE_EXCHANGE;
}

/* ---- typing (infer.c) */
/* Why a rule does not apply: a phrase such as "axis 'tp' is not partial", in the context's arena. */
typedef struct ChmWhy {
    const char *text;
} ChmWhy;
/* The layout after a layout change, or NULL with a reason. 'target' is used by the exchanges alone, whose result is
 * asked for. */
const ChmLayout *chm_infer_layout(ChmCtx *ctx, ChmOpcode code, const ChmAttrs *attrs, const ChmShape *shape,
                                  const ChmLayout *from, const ChmLayout *target, ChmWhy *why);

/* ---- pipelines (chunks.c)
 * A pipeline cuts the tensor along a dim into chunks and takes each through the chain of its body. Chunks follow the
 * splits that the dim has at the two ends. With K blocks at the finer end, one of the two splits being a prefix of the
 * other, chunk i of M is block b*M+i of K*M for every b: it is a contiguous part of each block, and every rank takes
 * part in every chunk. Each chunk is a tensor of its own, whose layouts are those of the body. So that the block rule
 * says the same of a chunk as of the whole, K*M must divide the dim. */
/* K: blocks of the dim at the finer end; 0 when neither split is a prefix of the other. */
int64_t chm_chunk_blocks(const ChmLayout *from, const ChmLayout *to, int32_t dim);
/* The shape of a chunk, or NULL with a reason. */
const ChmShape *chm_chunk_shape(ChmCtx *ctx, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to,
                                int32_t dim, int32_t chunks, ChmWhy *why);
/* Is the body a chain from one layout to the other, which may be cut so? */
bool chm_check_body(ChmCtx *ctx, const ChmAttrs *attrs, const ChmShape *shape, const ChmLayout *from,
                    const ChmLayout *to, ChmWhy *why);

/* ---- text (print.c, parse.c with grammar/ir.y) */
void chm_module_print(ChmModule *m, ChmOut *out); /* numbers the module first; the text parses back */
void chm_op_print(const ChmModule *m, const ChmOp *op,
                  ChmOut *out);                       /* one op, no newline; the module must be numbered */
void chm_value_print(const ChmValue *v, ChmOut *out); /* "%x0" or "%3" */
/* " over (tp) dim seq": by the op's syntax. */
void chm_attrs_print(const ChmMesh *mesh, const ChmShape *shape, ChmOpcode code, const ChmAttrs *attrs, ChmOut *out);
/* A layout change without its values: "all_gather over (tp) dim seq", "exchange to [seq/tp, hidden]". */
void chm_step_print(const ChmShape *shape, const ChmStep *step, ChmOut *out);
/* The parsed and verified module, or NULL with diagnostics. */
CHM_GIVE ChmModule *chm_module_parse(ChmCtx *ctx, const ChmSource *source);

/* ---- verifier (verify.c): structure (SSA, order, uses, links), types (every op against its rule), outputs (at least
 * one, distinct names), order (what is started is waited for, once, and before it is used). Reports into ctx->diags, at
 * the ops' spans; CHM_ERR_INPUT when anything is wrong. O(ops). */
ChmStatus chm_module_verify(ChmModule *m) CHM_MUST_USE;
/* The same of a module fresh from its text, whose values are called by the numbers they have there. Lines may be
 * missing where it is not whole, and so may be the output. The module is numbered afterwards. */
ChmStatus chm_module_verify_read(ChmModule *m, bool whole) CHM_MUST_USE;

#endif
