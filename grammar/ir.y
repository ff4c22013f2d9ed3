/* SPDX-License-Identifier: Apache-2.0
 *
 * grammar/ir.y - the grammar of the IR's text form, one statement a line. What an op may have after its operand is
 * not said here but by its row in ir/ops.def: the attributes are read as a plain list, and matched in ir/parse.c.
 * Nothing nests, so the parser's stack does not grow with the input.
 */
%code requires {
#include "ir/reader.h"
}

%define api.pure full
%define api.prefix {chm_ir_}
%define api.token.prefix {CHM_IR_}
%define api.location.type {ChmSpan}
%define parse.error custom
%define parse.lac full
%expect 0
%locations
%parse-param { ChmIrReader *r } { void *scanner }
%lex-param { void *scanner }

%code {
#define YYLLOC_DEFAULT(cur, rhs, n)                              \
    ((cur) = (n) ? chm_span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n)) \
                 : (ChmSpan){YYRHSLOC(rhs, 0).source, YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end})

int chm_ir_lex(CHM_IR_STYPE *value, ChmSpan *span, void *scanner);
static void chm_ir_error(const ChmSpan *at, ChmIrReader *r, void *scanner, const char *text);
#define PUSH(list, item) CHM_PUSH(&r->ctx->arena, (list), (item))
}

%initial-action { @$ = (ChmSpan){r->source, 0, 0}; }

%union {
    const char *text; /* interned */
    int64_t number;
    ChmIrName name;
    ChmIrPair pair;
    ChmIrPairs *pairs;
    ChmIrNames *names;
    ChmIrSplit split;
    ChmIrLayout *layout;
    ChmIrAttrs *attrs;
    ChmIrAttr attr;
    ChmIrStep step;
    ChmIrBody *body;
    ChmTopologyText *topology;
    ChmLevelText *level;
    ChmPropertyTexts *properties;
    ChmPropertyText property;
    ChmQuantityText quantity;
}

%token <text> DECIMAL "a number with a point"
%token <text> TOPOLOGY "'topology'" PLAN "'plan'" MESH "'mesh'" TENSOR "'tensor'" WORD "a name" PART "a part of an axis" VALUE "a value"
%token <number> NUMBER "a number"
%token <text> START "'start'"
%token NEWLINE "end of line" ARROW "'->'" BAD "a stray character"
%token YYEOF 0 "end of input"
%token '{' "'{'" '}' "'}'" ';' "';'" '(' "'('" ')' "')'" '[' "'['" ']' "']'" '=' "'='" ':' "':'" ',' "','" '/' "'/'"

%type <name> name axis value start
%type <pair> size_of_axis size_of_dim
%type <pairs> axes dims
%type <names> names
%type <split> split
%type <layout> layout splits type
%type <attrs> attrs
%type <attr> attr
%type <body> body steps
%type <step> step
%type <name> unit
%type <topology> machine
%type <level> level size
%type <properties> properties
%type <property> property setting grid
%type <quantity> quantity amount

%%

lines:
    %empty
  | lines line NEWLINE
  | lines error NEWLINE     { yyerrok; }
  ;

line:
    PLAN name                                  { chm_ir_plan(r, @$, $2); }
  | MESH name '(' ')'                          { chm_ir_mesh(r, @$, $2, NULL); }
  | MESH name '(' axes ')'                     { chm_ir_mesh(r, @$, $2, $4); }
  | TOPOLOGY name '{' machine '}'              { $4->name = $2; $4->span = @$; chm_ir_topology(r, @$, $4); }
  | TENSOR name ':' name '[' dims ']'          { chm_ir_tensor(r, @$, $2, $4, $6); }
  | value '=' start name value attrs body type { chm_ir_op(r, @$, $1, $3, $4, $5, $6, $7, $8); }
  | value '=' start name attrs type            { chm_ir_op(r, @$, $1, $3, $4, (ChmIrName){0}, $5, NULL, $6); }
  | name value                                 { chm_ir_sync(r, @$, $1, $2); }
  | name name '=' value                        { chm_ir_sink(r, @$, $1, $2, $4); }
  ;

start:
    %empty                  { $$ = (ChmIrName){0}; }
  | START                   { $$ = (ChmIrName){$1, @$}; }
  ;

machine:
    %empty                  { $$ = CHM_NEW(&r->ctx->arena, ChmTopologyText); }
  | machine level           { PUSH(&$$->levels, $2); }
  | machine setting         { PUSH(&$$->properties, $2); }
  ;

level:
    name name size '{' properties '}' { $$ = $3; $$->word = $1; $$->name = $2; $$->properties = *$5; }
  ;

size:
    %empty                  { $$ = CHM_NEW(&r->ctx->arena, ChmLevelText); }
  | NUMBER                  { $$ = CHM_NEW(&r->ctx->arena, ChmLevelText); $$->sized = true;
                              $$->ranks = (ChmWrittenInt){@1, $1, NULL}; }
  | '(' names ')'           { $$ = CHM_NEW(&r->ctx->arena, ChmLevelText); $$->by_axes = true; $$->axes = *$2; }
  ;

properties:
    %empty                  { $$ = CHM_NEW(&r->ctx->arena, ChmPropertyTexts); }
  | properties property     { PUSH($$, $2); }
  ;

property:
    name ';'                { $$ = (ChmPropertyText){.name = $1, .form = CHM_FORM_FLAG}; }
  | name grid ';'           { $$ = $2; $$.name = $1; $$.form = CHM_FORM_GRID; }
  | setting
  ;

setting:
    name '=' quantity ';'   { $$ = (ChmPropertyText){.name = $1, .form = CHM_FORM_QUANTITY, .quantity = $3}; }
  ;

grid:
    NUMBER                  { $$ = (ChmPropertyText){{0}}; PUSH(&$$.grid, ((ChmWrittenInt){@1, $1, NULL})); }
  | grid name NUMBER        { chm_ir_by(r, $2); PUSH(&$$.grid, ((ChmWrittenInt){@3, $3, NULL})); }
  ;

quantity: amount unit       { $$ = $1; $$.unit = $2; $$.span = @$; } ;

amount:
    NUMBER                  { $$ = (ChmQuantityText){.whole = {@1, $1, NULL}}; }
  | DECIMAL                 { $$ = (ChmQuantityText){.digits = $1}; }
  ;

unit:
    %empty                  { $$ = (ChmIrName){0}; }
  | name
  | name '/' name           { $$ = (ChmIrName){chm_arena_printf(&r->ctx->arena, "%s/%s", $1.text, $3.text), @$}; }
  ;

axes:
    size_of_axis            { $$ = CHM_NEW(&r->ctx->arena, ChmIrPairs); PUSH($$, $1); }
  | axes ',' size_of_axis   { PUSH($$, $3); }
  ;

size_of_axis: axis '=' NUMBER { $$ = (ChmIrPair){$1, $3, @$}; } ;

dims:
    size_of_dim             { $$ = CHM_NEW(&r->ctx->arena, ChmIrPairs); PUSH($$, $1); }
  | dims ',' size_of_dim    { PUSH($$, $3); }
  ;

size_of_dim: name '=' NUMBER { $$ = (ChmIrPair){$1, $3, @$}; } ;

body:
    %empty                  { $$ = NULL; }
  | '{' NEWLINE steps '}'   { $$ = $3; }
  ;

steps:
    step                    { $$ = CHM_NEW(&r->ctx->arena, ChmIrBody); PUSH($$, $1); }
  | steps step              { PUSH($$, $2); }
  ;

step: name attrs ':' layout NEWLINE { $$ = (ChmIrStep){$1, $2, $4, @$}; } ;

attrs:
    %empty                  { $$ = CHM_NEW(&r->ctx->arena, ChmIrAttrs); }
  | attrs attr              { PUSH($$, $2); }
  ;

attr:
    axis                    { $$ = (ChmIrAttr){CHM_IR_A_WORD, $1.text, 0, NULL, @$}; }
  | NUMBER                  { $$ = (ChmIrAttr){CHM_IR_A_NUMBER, NULL, $1, NULL, @$}; }
  | '='                     { $$ = (ChmIrAttr){CHM_IR_A_WORD, "=", 0, NULL, @$}; }
  | ARROW                   { $$ = (ChmIrAttr){CHM_IR_A_WORD, "->", 0, NULL, @$}; }
  | '(' names ')'           { $$ = (ChmIrAttr){CHM_IR_A_AXES, NULL, 0, $2, @$}; }
  ;

names:
    axis                    { $$ = CHM_NEW(&r->ctx->arena, ChmIrNames); PUSH($$, $1); }
  | names ',' axis          { PUSH($$, $3); }
  ;

type:
    %empty                  { $$ = NULL; }
  | ':' layout              { $$ = $2; }
  ;

layout:
    '[' splits ']'          { $$ = $2; $$->span = @$; }
  | layout name '(' names ')' { chm_ir_partial(r, $$, $2, $4); }
  | layout name '(' axes ')' { chm_ir_at(r, $$, $2, $4); }
  ;

splits:
    split                   { $$ = CHM_NEW(&r->ctx->arena, ChmIrLayout); PUSH(&$$->splits, $1); }
  | splits ',' split        { PUSH(&$$->splits, $3); }
  ;

split:
    name                    { $$ = (ChmIrSplit){.dim = $1}; }
  | split '/' axis          { PUSH(&$$.axes, $3); }
  ;

name: WORD                  { $$ = (ChmIrName){$1, @$}; } ;

axis:
    name
  | PART                    { $$ = (ChmIrName){$1, @$}; }
  ;

value: VALUE                { $$ = (ChmIrName){$1, @$}; } ;

%%

/* A few tokens more or less expected are named; more would not help. */
#define SHOWN_TOKENS 4

static int yyreport_syntax_error(const yypcontext_t *context, ChmIrReader *r, void *scanner)
{
    (void)scanner;
    yysymbol_kind_t wanted[SHOWN_TOKENS];
    int n = yypcontext_expected_tokens(context, wanted, SHOWN_TOKENS);
    yysymbol_kind_t found = yypcontext_token(context);
    if (found == YYSYMBOL_BAD) { /* reported by the scanner */
        r->syntax_errors++;
        return 0;
    }
    const char *names[SHOWN_TOKENS];
    for (int i = 0; i < n; i++)
        names[i] = yysymbol_name(wanted[i]);
    chm_ir_syntax_error(r, *yypcontext_location(context), yysymbol_name(found), names, n < 0 ? 0 : n);
    return 0;
}

/* Only "memory exhausted" comes here. */
static void chm_ir_error(const ChmSpan *at, ChmIrReader *r, void *scanner, const char *text)
{
    (void)scanner;
    chm_error(&r->ctx->diags, *at, "%s", text);
}
