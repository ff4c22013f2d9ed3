/* SPDX-License-Identifier: Apache-2.0
 *
 * front/sema.h - checking the syntax tree. Private to front.
 *
 * Order: params, mesh, tensors, statements, each in the order of the text. Every name space is filled before anything
 * is looked up in it, so that a use before the declaration is told from an unknown name.
 */
#ifndef CHM_FRONT_SEMA_H
#define CHM_FRONT_SEMA_H

#include "front/ast.h"
#include "ir/arrow.h"

typedef struct ChmSemaOptions {
    const ChmDefine *defines;
    int32_t ndefines;
    bool damaged; /* syntax errors: what is missing may only have been unreadable, so nothing is called missing */
    int32_t errors_before;
    const ChmSource *topology; /* a topology file whose topology takes the place of the plan's; NULL: none */
} ChmSemaOptions;

/* Reports into ctx->diags; the tree is good when no error came to those before. */
void chm_plan_check(ChmCtx *ctx, ChmPlan *plan, const ChmSemaOptions *options);

/* ---- one name space */
typedef struct ChmScope {
    const char *kind; /* "param" */
    ChmMap map;       /* from names to declarations */
    CHM_VEC(const char *) names;
    ChmMap reported; /* names whose absence has been reported */
} ChmScope;

typedef struct ChmSema {
    ChmCtx *ctx;
    ChmArena *arena;
    ChmDiags *diags;
    ChmPlan *plan;
    ChmSemaOptions options;
    ChmScope params, tensors, values;
    ChmPlan *used, *given; /* trees of topology files: of 'use', and of options.topology; or NULL */
} ChmSema;

/* The tree of a text, not checked (plan_parse.c). */
ChmPlan *chm_plan_read(ChmCtx *ctx, const ChmSource *source, int32_t errors_before);

void chm_sema_init(ChmSema *s, ChmCtx *ctx, ChmPlan *plan, const ChmSemaOptions *options);
void chm_check_params(ChmSema *s);
void chm_check_defines(ChmSema *s, const char *whose);
void chm_read_topology_files(ChmSema *s);
void chm_check_topology(ChmSema *s);
bool chm_sema_gives_up(const ChmSema *s); /* more errors than anybody reads */

void *chm_scope_find(const ChmScope *scope, const char *name);
/* False when the name is taken, with an error; 'first' is then the place of the first declaration. */
bool chm_scope_add(ChmSema *s, ChmScope *scope, ChmName name, void *decl, ChmSpan first);
/* Reports an unknown name once. NULL when it need not be reported (again); else the diagnostic, to which a suggestion
 * has been added where one is near; '*suggested' says so. */
ChmDiag *chm_scope_unknown(ChmSema *s, ChmScope *scope, ChmName name, bool *suggested);

/* The value of an expression; false when it has none, which is then reported. */
bool chm_eval(ChmSema *s, const ChmExpr *e, int64_t *value);

/* The layout that a text means for a tensor of this shape; NULL with errors. */
const ChmLayout *chm_check_layout(ChmSema *s, const ChmTensorDecl *t, ChmLayoutText *text);
/* The set of axes of 'partial(..)', size-1 axes left out; false with errors. */
bool chm_check_axis_list(ChmSema *s, const ChmNames *axes, ChmAxes *set);
/* Index of an axis of the mesh, or -1 with an error. 't' may be NULL. */
int32_t chm_check_axis(ChmSema *s, ChmName name, const ChmTensorDecl *t);
/* "dp, tp": the names of a set, in mesh order. */
const char *chm_axes_str(ChmSema *s, ChmAxes set);
/* "seq, hidden" */
const char *chm_sized_names(ChmArena *arena, const ChmSizeds *list);

void chm_check_step(ChmSema *s);

/* What the emitted C cannot use as a name, in words, or NULL: "a keyword of C". */
const char *chm_name_trouble(const char *name);
void chm_check_name(ChmSema *s, const char *kind, ChmName name);

#endif
