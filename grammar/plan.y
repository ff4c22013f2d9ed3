/* SPDX-License-Identifier: Apache-2.0
 *
 * plan.y - grammar of the plan language; grammar/language.md is its manual. Actions only hand on to front/plan_parse.c.
 *
 * Recovery. A statement ends at its ';' or at the '}' of the step; a declaration at the next declaration. A ';' that is
 * only missing is put in, and so are the '}'s of a topology that a declaration shows to be missing. What was being declared is kept as bad, so that its uses are not reported as unknown.
 *
 * The parser's stack is on the C stack and never grows: only parentheses can make it deep.
 */
%require "3.7"
%define api.pure full
%define api.prefix {chm_plan_yy}
%define api.token.prefix {T_}
%define api.location.type {ChmSpan}
%define parse.error custom
%define parse.lac full
%define parse.lac.es-capacity-initial {1000}
%locations
%expect 0
%parse-param {ChmParser *p}
%lex-param {ChmParser *p}

%code requires {
#include "front/plan_parse.h"
}

%union {
    ChmName name;
    const ChmExpr *expr;
    ChmNames *names;
    ChmSizeds *sizeds;
    ChmPins *pins;
    ChmDimUse *dim;
    ChmPartialUse *partial;
    ChmLayoutText *layout;
    ChmQuantityText *quantity;
    ChmPropertyText *grid;
    bool whole;
}

%code {
#define YYMAXDEPTH 1000
#define YYINITDEPTH YYMAXDEPTH
#define YYSTACK_ALLOC(bytes) NULL /* never called: the stack has its full size from the start */
#define YYLLOC_DEFAULT(cur, rhs, n)                                                                           \
    ((cur) = (n) ? (ChmSpan){YYRHSLOC(rhs, 1).source, YYRHSLOC(rhs, 1).begin, YYRHSLOC(rhs, n).end}           \
                 : (ChmSpan){YYRHSLOC(rhs, 0).source, YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end})

int chm_plan_yylex(YYSTYPE *value, ChmSpan *at, ChmParser *p);
static void yyerror(const ChmSpan *at, ChmParser *p, const char *message);
}

%initial-action { @$ = (ChmSpan){p->source, 0, 0}; }

%token END 0 "end of file"
%token <name> NAME "name"
%token <expr> NUMBER "number"
%token <name> DECIMAL "number with a point" STRING "file name"
%token PLAN "plan" PARAM "param" MESH "mesh" TENSOR "tensor" STEP "step"
%token INPUT "input" OUTPUT "output" PARTIAL "partial" AT "at"
%token TOPOLOGY "topology" USE "use"
%token ARROW "->" SEMI ";" COMMA "," COLON ":" EQUALS "="
%token LPAREN "(" RPAREN ")" LBRACK "[" RBRACK "]" LBRACE "{" RBRACE "}"
%token PLUS "+" MINUS "-" TIMES "*" SLASH "/" PERCENT "%"

%left "+" "-"
%left "*" "/" "%"
%precedence NEGATION

%type <expr> expr ranks
%type <names> names
%type <sizeds> sizes size_list
%type <pins> pins
%type <dim> dim
%type <partial> partial owed
%type <layout> dims layout
%type <quantity> amount quantity
%type <grid> grid
%type <whole> semi

%%

file: items;

items:
    %empty
  | items item
  | items error
  ;

item:
    plan NAME semi                                { chm_ast_plan(p, @$, $2); (void)$3; }
  | param NAME "=" expr semi                      { chm_ast_param(p, @$, $2, $4, $5); }
  | param NAME error                              { chm_ast_param(p, @$, $2, NULL, false); }
  | mesh NAME "(" sizes ")" semi                  { chm_ast_mesh(p, @$, $2, $4, $6); }
  | mesh NAME error                               { chm_ast_mesh(p, @$, $2, NULL, false); }
  | tensor NAME ":" NAME "[" sizes "]" semi       { chm_ast_tensor(p, @$, $2, $4, $6, $8); }
  | tensor NAME error                             { chm_ast_tensor(p, @$, $2, $2, NULL, false); }
  | step_open stmts last "}"
  | topology_open parts parts_last "}"            { chm_ast_topology_end(p, @$); }
  | use STRING semi                               { chm_ast_use(p, $2, $3); }
  | use error                                     { chm_ast_bad_use(p, @1); }
  ;

/* The words that end the skipping after an error. */
plan: "plan" { yyerrok; };
param: "param" { yyerrok; };
mesh: "mesh" { yyerrok; };
tensor: "tensor" { yyerrok; };
topology: "topology" { yyerrok; };
use: "use" { yyerrok; };

semi:
    ";"                                           { $$ = true; }
  | error                                         { $$ = p->complete; }
  ;

sizes:
    %empty                                        { $$ = NULL; }
  | size_list
  ;

size_list:
    NAME "=" expr                                 { $$ = chm_ast_sizeds(p, NULL, $1, $3); }
  | size_list "," NAME "=" expr                   { $$ = chm_ast_sizeds(p, $1, $3, $5); }
  ;

step_open:
    "step" "{"                                    { chm_ast_step(p, @1); yyerrok; }
  | "step" error "{"                              { chm_ast_step(p, @1); yyerrok; }
  ;

stmts:
    %empty
  | stmts stmt
  ;

stmt:
    NAME "=" "input" NAME layout semi             { chm_ast_input(p, @$, $1, $4, $5, $6); }
  | NAME "=" NAME "->" layout semi                { chm_ast_arrow(p, @$, $1, $3, $5, $6); }
  | "output" NAME owed semi                       { chm_ast_output(p, @$, $2, $3, $4); }
  | NAME "=" error ";"                            { chm_ast_bad_value(p, @$, $1); yyerrok; }
  | "output" error ";"                            { yyerrok; }
  | error ";"                                     { yyerrok; }
  ;

last: /* a statement that the '}' cut short */
    %empty
  | error
  | NAME "=" error                                { chm_ast_bad_value(p, @$, $1); }
  | "output" error
  ;

owed:
    %empty                                        { $$ = NULL; }
  | partial
  ;

topology_open:
    topology NAME "{"                             { chm_ast_topology(p, @1, $2); }
  | topology error "{"                            { chm_ast_topology(p, @1, (ChmName){0}); yyerrok; }
  ;

parts: /* of a topology */
    %empty
  | parts part
  ;

part:
    level_open properties properties_last "}"     { chm_ast_level_end(p); }
  | NAME "=" quantity semi                        { chm_ast_property(p, $1, $3, NULL); (void)$4; }
  | NAME NAME error part_end                      { yyerrok; }
  | NAME error part_end                           { yyerrok; }
  | error ";"                                     { yyerrok; }
  ;

part_end: /* of a level that has no '{' */
    ";"
  | "}"
  ;

parts_last:
    %empty
  | error
  ;

level_open:
    NAME NAME "{"                                 { chm_ast_level(p, $1, $2, NULL, NULL); }
  | NAME NAME ranks "{"                           { chm_ast_level(p, $1, $2, $3, NULL); }
  | NAME NAME "(" names ")" "{"                   { chm_ast_level(p, $1, $2, NULL, $4); }
  | NAME NAME error "{"                           { chm_ast_level(p, $1, $2, NULL, NULL); yyerrok; }
  | NAME error "{"                                { chm_ast_level(p, $1, $1, NULL, NULL); yyerrok; }
  ;

ranks: /* an expression that does not begin with a parenthesis: in parentheses stand axes */
    NUMBER
  | NAME                                          { $$ = chm_ast_param_ref(p, $1); }
  | "-" expr %prec NEGATION                       { $$ = chm_ast_expr(p, CHM_EXPR_NEG, @$, $2, NULL); }
  | ranks "+" expr                                { $$ = chm_ast_expr(p, CHM_EXPR_ADD, @$, $1, $3); }
  | ranks "-" expr                                { $$ = chm_ast_expr(p, CHM_EXPR_SUB, @$, $1, $3); }
  | ranks "*" expr                                { $$ = chm_ast_expr(p, CHM_EXPR_MUL, @$, $1, $3); }
  | ranks "/" expr                                { $$ = chm_ast_expr(p, CHM_EXPR_DIV, @$, $1, $3); }
  | ranks "%" expr                                { $$ = chm_ast_expr(p, CHM_EXPR_MOD, @$, $1, $3); }
  ;

properties:
    %empty
  | properties property
  ;

property:
    NAME semi                                     { chm_ast_property(p, $1, NULL, NULL); (void)$2; }
  | NAME "=" quantity semi                        { chm_ast_property(p, $1, $3, NULL); (void)$4; }
  | NAME grid semi                                { chm_ast_property(p, $1, NULL, $2); (void)$3; }
  | "mesh" grid semi                              { chm_ast_property(p, (ChmName){"mesh", @1}, NULL, $2); (void)$3; }
  | error ";"                                     { yyerrok; }
  ;

properties_last:
    %empty
  | error
  ;

quantity:
    amount                                        { $$ = chm_ast_quantity(p, $1, @$, (ChmName){0}, (ChmName){0}); }
  | amount NAME                                   { $$ = chm_ast_quantity(p, $1, @$, $2, (ChmName){0}); }
  | amount NAME "/" NAME                          { $$ = chm_ast_quantity(p, $1, @$, $2, $4); }
  ;

amount:
    NUMBER                                        { $$ = chm_ast_amount(p, $1, (ChmName){0}); }
  | DECIMAL                                       { $$ = chm_ast_amount(p, NULL, $1); }
  | NAME                                          { $$ = chm_ast_amount(p, chm_ast_param_ref(p, $1), (ChmName){0}); }
  | "(" expr ")"                                  { $$ = chm_ast_amount(p, $2, (ChmName){0}); }
  | "-" amount                                    { $$ = $2; $$->negative = !$$->negative; }
  ;

grid:
    expr                                          { $$ = chm_ast_grid(p, NULL, (ChmName){0}, $1); }
  | grid NAME expr                                { $$ = chm_ast_grid(p, $1, $2, $3); }
  ;

layout:
    "[" dims "]"                                  { $$ = chm_ast_layout($2, @$); }
  | layout partial                                { $$ = chm_ast_layout_partial(p, $1, @$, $2); }
  | layout "at" "(" pins ")"                      { $$ = chm_ast_layout_at(p, $1, @$, chm_span_join(@2, @5), $4); }
  ;

dims:
    dim                                           { $$ = chm_ast_dims(p, NULL, $1); }
  | dims "," dim                                  { $$ = chm_ast_dims(p, $1, $3); }
  ;

dim:
    NAME                                          { $$ = chm_ast_dim(p, NULL, $1); }
  | dim "/" NAME                                  { $$ = chm_ast_dim(p, $1, $3); }
  ;

partial:
    "partial" "(" names ")"                       { $$ = chm_ast_partial(p, @$, (ChmName){0}, $3); }
  | "partial" NAME "(" names ")"                  { $$ = chm_ast_partial(p, @$, $2, $4); }
  ;

names:
    NAME                                          { $$ = chm_ast_names(p, NULL, $1); }
  | names "," NAME                                { $$ = chm_ast_names(p, $1, $3); }
  ;

pins:
    NAME "=" expr                                 { $$ = chm_ast_pins(p, NULL, $1, $3); }
  | pins "," NAME "=" expr                        { $$ = chm_ast_pins(p, $1, $3, $5); }
  ;

expr:
    NUMBER
  | NAME                                          { $$ = chm_ast_param_ref(p, $1); }
  | "(" expr ")"                                  { $$ = $2; }
  | "-" expr %prec NEGATION                       { $$ = chm_ast_expr(p, CHM_EXPR_NEG, @$, $2, NULL); }
  | expr "+" expr                                 { $$ = chm_ast_expr(p, CHM_EXPR_ADD, @$, $1, $3); }
  | expr "-" expr                                 { $$ = chm_ast_expr(p, CHM_EXPR_SUB, @$, $1, $3); }
  | expr "*" expr                                 { $$ = chm_ast_expr(p, CHM_EXPR_MUL, @$, $1, $3); }
  | expr "/" expr                                 { $$ = chm_ast_expr(p, CHM_EXPR_DIV, @$, $1, $3); }
  | expr "%" expr                                 { $$ = chm_ast_expr(p, CHM_EXPR_MOD, @$, $1, $3); }
  ;

%%

static int yyreport_syntax_error(const yypcontext_t *context, ChmParser *p)
{
    yysymbol_kind_t kinds[YYNTOKENS];
    const char *expected[YYNTOKENS];
    int n = yypcontext_expected_tokens(context, kinds, YYNTOKENS);
    if (n < 0)
        return n;
    for (int i = 0; i < n; i++)
        expected[i] = yysymbol_name(kinds[i]);
    yysymbol_kind_t found = yypcontext_token(context);
    const char *name = found == YYSYMBOL_YYEMPTY ? "end of file" : yysymbol_name(found);
    chm_plan_syntax_error(p, name, *yypcontext_location(context), expected, n);
    return 0;
}

/* With custom syntax errors this is called for a full stack alone. */
static void yyerror(const ChmSpan *at, ChmParser *p, const char *message)
{
    (void)at;
    (void)message;
    chm_plan_parser_full(p);
}
