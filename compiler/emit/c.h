/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c.h - what the parts of the C writer share. Private to this folder.
 *
 *   c.c         collects what the file needs, and its order
 *   c_names.c   identifiers
 *   c_types.c   tables: axes, dims, mesh, groups, types
 *   c_calls.c   create, run, destroy
 *   c_ops.c     a step, a task and a call for each op
 *   c_main.c    --driver
 *
 * Names in emitted C never meet: what comes from the plan has a prefix (in_ out_ v_ AXIS_ DIM_), or is the plan's own
 * name, which steps aside for ours (chm_c_plan_name).
 */
#ifndef CHM_EMIT_C_H
#define CHM_EMIT_C_H

#include "emit/emit.h"

#define CHM_C_COLUMNS 120 /* longer calls are broken */

typedef struct ChmCDim {
    const char *name;
    int32_t index; /* -1: tensors differ in where it stands, so it is written as a number */
} ChmCDim;

typedef struct ChmCSchedule {
    ChmModule *m;
    ChmBuffers buffers;
    uint64_t hash; /* of the schedule's text: two ranks with different ones must not start */
    ChmPrice price;
} ChmCSchedule;

typedef struct ChmC {
    const ChmEmitJob *job;
    ChmArena *arena;
    ChmOut *out;
    const char *name; /* of the plan, as an identifier */
    const ChmMesh *mesh;
    const char *axis[CHM_MAX_AXES]; /* "AXIS_tp" */
    ChmCSchedule optimized, baseline;
    CHM_VEC(const ChmOp *) inputs;  /* of the baseline, by tensor: the signature */
    CHM_VEC(const ChmOp *) outputs; /* of the baseline, in order */
    CHM_VEC(ChmCDim) dims;
    CHM_VEC(const ChmType *) types; /* distinct, in order of first use */
    CHM_VEC(ChmAxisSeq) groups;     /* likewise */
} ChmC;

/* ---- c_names.c */
const char *chm_c_plan_name(ChmArena *arena, const char *plan);
const char *chm_c_guard(ChmArena *arena, const char *name);                 /* "TP_PP_H" */
const char *chm_c_dtype(ChmDtype dtype);                                    /* the C type of an element: "float" */
const char *chm_c_value(ChmC *w, const ChmCSchedule *s, const ChmValue *v); /* the pointer to it, in NAME_rerun */
const char *chm_c_dim(ChmC *w, const ChmShape *shape, int32_t d);           /* "DIM_seq", or "1 [comment]" */
const char *chm_c_type(ChmC *w, const ChmType *t);                          /* "type_3" */
void chm_c_name_axes(ChmC *w);
const char *chm_c_axes(ChmC *w, const ChmAxisSeq *s); /* "AXIS_dp, AXIS_tp" */
const char *chm_c_int(ChmC *w, int64_t n);            /* a literal of sufficient width */

/* ---- c_types.c */
void chm_c_collect_tables(ChmC *w, const ChmCSchedule *s); /* dims, types and groups of a schedule */
void chm_c_write_tables(ChmC *w);

/* ---- c_calls.c */
void chm_c_write_parameters(ChmC *w, const char *head); /* "HEAD(NAME *plan, const float *in_x, float *out_y)" */
void chm_c_write_create(ChmC *w);
void chm_c_write_rerun(ChmC *w, const ChmCSchedule *s, const char *head); /* the ops, on the buffers in the plan */
void chm_c_write_run(ChmC *w); /* enter, which checks and keeps the buffers, and run: that and rerun */
void chm_c_write_destroy(ChmC *w);
void chm_c_write_function(ChmC *w, const char *head, const char *body); /* on one line where it fits */

/* ---- c_ops.c */
bool chm_c_op_group(const ChmOp *op, ChmAxisSeq *group); /* the communicator that an op needs; false: none */
/* Value i of a pipeline's body (0 is the operand), and op i as if it stood by itself, without operand and result. */
const ChmType *chm_c_body_type(ChmC *w, const ChmOp *pipeline, int32_t i);
ChmOp chm_c_body_op(ChmC *w, const ChmOp *pipeline, int32_t i);
void chm_c_write_steps(ChmC *w, const ChmCSchedule *s);   /* "static const ChrtStep step_1 = {...};" */
void chm_c_write_tasks(ChmC *w, const ChmCSchedule *s);   /* "ChrtTask *s_1, *s_2;", fields of the plan */
void chm_c_write_prepare(ChmC *w, const ChmCSchedule *s); /* "if (!status) status = chrt_prepare(...);" */
void chm_c_write_op(ChmC *w, const ChmCSchedule *s, const ChmOp *op);

/* ---- c_main.c */
void chm_c_write_main(ChmC *w);

#endif
