/* SPDX-License-Identifier: Apache-2.0
 *
 * front/plan_parse.h - what the scanner, the parser and their glue share. Private to front and grammar/plan.{l,y}.
 */
#ifndef CHM_FRONT_PLAN_PARSE_H
#define CHM_FRONT_PLAN_PARSE_H

#include "front/ast.h"

#define CHM_PLAN_MAX_NAME 128  /* bytes of a name */
#define CHM_PLAN_MAX_ERRORS 64 /* after so many errors in one plan the rest is not read */

typedef struct ChmParser {
    ChmCtx *ctx;
    ChmArena *arena;
    ChmDiags *diags;
    const ChmSource *source;
    ChmPlan *plan;
    void *scanner;
    /* scanner */
    uint32_t offset;   /* where the next token is looked for */
    ChmSpan last;      /* the token read last: the parser's lookahead */
    uint32_t prev_end; /* end of the token before that */
    int last_token;
    int head;                /* first token of the statement under way */
    bool at_head, saw_arrow; /* the next token is a head; the statement has an arrow */
    int braces;              /* open since the word 'topology', as the scanner sees them */
    int closing, pending;    /* '}'s still to be put in before the token that is waiting; that token, or 0 */
    /* topology under way */
    ChmTopologyText *topology; /* NULL: none */
    ChmLevelText *level;       /* NULL: none */
    ChmSpan topology_begin;    /* the word 'topology' */
    bool topology_damaged;     /* by a syntax error: it is not looked at any further */
    /* errors */
    int32_t errors_before; /* in diags, when we began */
    bool syntax_errors;
    bool complete; /* at the last syntax error a ';' would have done: what stood before it is whole */
} ChmParser;

/* More errors than anybody reads: stop. */
bool chm_parser_gives_up(const ChmParser *p);

/* ---- scanner (plan.l): errors are reported, then skipped or mended, so that the parser never sees them */
void chm_scan_stray(ChmParser *p, const char *text, int len);
void chm_scan_mended(ChmParser *p, const char *found, const char *help);
ChmName chm_scan_name(ChmParser *p, const char *text, int len);
ChmName chm_scan_part(ChmParser *p, const char *text, int len); /* the name before the dot */
const ChmExpr *chm_scan_int(ChmParser *p, const char *text, int len);
const ChmExpr *chm_scan_bad_number(ChmParser *p, const char *text, int len);
ChmName chm_scan_decimal(ChmParser *p, const char *text, int len); /* its text; a fraction is no expression */
ChmName chm_scan_file(ChmParser *p, const char *text, int len);
void *chm_scan_alloc(ChmParser *p, size_t bytes);
void *chm_scan_realloc(ChmParser *p, void *old, size_t bytes);

/* ---- parser errors (syntax_error.c). 'found' and 'expected' are the aliases of plan.y: "name", "->", ... */
void chm_plan_syntax_error(ChmParser *p, const char *found, ChmSpan at, const char *const *expected, int n);
void chm_plan_too_deep(ChmParser *p); /* an expression */
void chm_plan_parser_full(ChmParser *p);

/* ---- actions (parse.c) */
ChmExpr *chm_ast_param_ref(ChmParser *p, ChmName name);
ChmExpr *chm_ast_expr(ChmParser *p, ChmExprKind kind, ChmSpan span, const ChmExpr *left, const ChmExpr *right);

ChmNames *chm_ast_names(ChmParser *p, ChmNames *names, ChmName name); /* names NULL: a new list; so below */
ChmSizeds *chm_ast_sizeds(ChmParser *p, ChmSizeds *list, ChmName name, const ChmExpr *expr);
ChmPins *chm_ast_pins(ChmParser *p, ChmPins *list, ChmName axis, const ChmExpr *expr);
ChmDimUse *chm_ast_dim(ChmParser *p, ChmDimUse *dim, ChmName name);
ChmLayoutText *chm_ast_dims(ChmParser *p, ChmLayoutText *layout, const ChmDimUse *dim);
ChmLayoutText *chm_ast_layout(ChmLayoutText *layout, ChmSpan span);
/* kind.text is NULL for a plain 'partial(..)' */
ChmPartialUse *chm_ast_partial(ChmParser *p, ChmSpan span, ChmName kind, const ChmNames *axes);
ChmLayoutText *chm_ast_layout_partial(ChmParser *p, ChmLayoutText *layout, ChmSpan span, const ChmPartialUse *partial);
ChmLayoutText *chm_ast_layout_at(ChmParser *p, ChmLayoutText *layout, ChmSpan span, ChmSpan at, const ChmPins *pins);

void chm_ast_plan(ChmParser *p, ChmSpan span, ChmName name);
void chm_ast_param(ChmParser *p, ChmSpan span, ChmName name, const ChmExpr *expr, bool whole);
void chm_ast_mesh(ChmParser *p, ChmSpan span, ChmName name, const ChmSizeds *axes, bool whole);
void chm_ast_tensor(ChmParser *p, ChmSpan span, ChmName name, ChmName dtype, const ChmSizeds *dims, bool whole);

/* ---- topologies (topology_parse.c) */
void chm_ast_use(ChmParser *p, ChmName path, bool whole);
void chm_ast_bad_use(ChmParser *p, ChmSpan word);
void chm_ast_topology(ChmParser *p, ChmSpan word, ChmName name); /* name.text NULL: unreadable */
void chm_ast_topology_end(ChmParser *p, ChmSpan span);
/* A level of so many ranks, or over these axes, or with neither. */
void chm_ast_level(ChmParser *p, ChmName word, ChmName name, const ChmExpr *ranks, const ChmNames *axes);
void chm_ast_level_end(ChmParser *p);
/* A property of the level under way, else of the topology: with a quantity, a grid, or neither. */
void chm_ast_property(ChmParser *p, ChmName name, const ChmQuantityText *quantity, const ChmPropertyText *grid);
ChmQuantityText *chm_ast_amount(ChmParser *p, const ChmExpr *whole, ChmName decimal); /* the one or the other */
ChmQuantityText *chm_ast_quantity(ChmParser *p, ChmQuantityText *amount, ChmSpan span, ChmName unit, ChmName per);
ChmPropertyText *chm_ast_grid(ChmParser *p, ChmPropertyText *grid, ChmName by, const ChmExpr *size);

void chm_ast_step(ChmParser *p, ChmSpan span);
void chm_ast_input(ChmParser *p, ChmSpan span, ChmName name, ChmName tensor, ChmLayoutText *layout, bool whole);
void chm_ast_arrow(ChmParser *p, ChmSpan span, ChmName name, ChmName operand, ChmLayoutText *layout, bool whole);
void chm_ast_output(ChmParser *p, ChmSpan span, ChmName name, const ChmPartialUse *partial, bool whole);
void chm_ast_bad_value(ChmParser *p, ChmSpan span, ChmName name);

#endif
