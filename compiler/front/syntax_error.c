/* SPDX-License-Identifier: Apache-2.0
 *
 * front/syntax_error.c - syntax errors in words: what was expected after what, what was found, and for the usual slips
 * what to write instead.
 */
#include "front/plan_parse.h"
#include "front/plan.tab.h"

#include <ctype.h>
#include <string.h>

typedef struct Expected {
    const char *const *names; /* token aliases of plan.y */
    int n;
} Expected;

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool has(Expected e, const char *name)
{
    for (int i = 0; i < e.n; i++) {
        if (is(e.names[i], name))
            return true;
    }
    return false;
}

static const char *const keywords[] = {"plan",   "param",   "mesh", "tensor",   "step", "input",
                                       "output", "partial", "at",   "topology", "use"};

static bool is_keyword(const char *name)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (is(name, keywords[i]))
            return true;
    }
    return false;
}

/* The statement under way, as in "expected ';' after the arrow". */
static const char *statement(const ChmParser *p)
{
    if (p->topology)
        return "the property";
    switch (p->head) {
    case T_USE:
        return "the file";
    case T_PLAN:
        return "the plan's name";
    case T_PARAM:
        return "the param";
    case T_MESH:
        return "the mesh";
    case T_TENSOR:
        return "the tensor";
    case T_OUTPUT:
        return "the output";
    default:
        return p->saw_arrow ? "the arrow" : "the input";
    }
}

/* "'->'", "a name", "end of file", "'foo'": the token at a place, in words. */
static const char *describe(ChmParser *p, const char *found, ChmSpan at)
{
    if (is(found, "end of file"))
        return "the end of the file";
    uint32_t len = at.end - at.begin;
    if (len > 40)
        return chm_arena_printf(p->arena, "'%.40s...'", at.source->text + at.begin);
    return chm_arena_printf(p->arena, "'%.*s'", (int)len, at.source->text + at.begin);
}

static bool is_operator(const char *name)
{
    return strlen(name) == 1 && strchr("+-*/%", name[0]);
}

/* Whether a token goes without saying where others are expected. */
static bool is_noise(const ChmParser *p, Expected e, const char *name)
{
    if (p->topology && has(e, "mesh")) /* a property begins here */
        return is(name, "mesh");
    if (p->topology && has(e, "number") && has(e, ";")) /* so might a grid */
        return is(name, "number") || is(name, "name") || is(name, "(") || is(name, "-");
    if (has(e, "number with a point")) /* a quantity */
        return is(name, "number with a point") || is(name, "name") || is(name, "(") || is(name, "-");
    if (has(e, "number")) /* an expression begins here */
        return is(name, "name") || is(name, "(") || is(name, "-");
    if (has(e, "+")) /* an expression may go on */
        return is_operator(name);
    if (has(e, ";")) /* a layout may go on */
        return is(name, "partial") || is(name, "at");
    if (has(e, "output")) /* a statement begins here */
        return is(name, "name");
    return false;
}

static const char *in_words(ChmParser *p, Expected e, const char *name)
{
    if (is(name, "number") && has(e, "number with a point"))
        return "a number with its unit";
    if (is(name, "file name"))
        return "the name of a file in double quotes";
    if (is(name, "name") && p->topology && has(e, "}"))
        return has(e, "mesh") ? "a property" : "a level";
    if (is(name, "number"))
        return "an integer expression";
    if (is(name, "name"))
        return "a name";
    if (is(name, "output"))
        return "a statement";
    if (is(name, "end of file"))
        return e.n > 1 ? "the end" : "the end of the file";
    return chm_arena_printf(p->arena, "'%s'", name);
}

/* "a, b or c" */
static const char *join(ChmParser *p, Expected e)
{
    const char *text = "";
    int left = 0;
    for (int i = 0; i < e.n; i++)
        left += !is_noise(p, e, e.names[i]);
    for (int i = 0; i < e.n; i++) {
        if (is_noise(p, e, e.names[i]))
            continue;
        const char *gap = --left == 0 ? "" : left == 1 ? " or " : ", ";
        text = chm_arena_printf(p->arena, "%s%s%s", text, in_words(p, e, e.names[i]), gap);
    }
    return text;
}

static bool on_one_line(const ChmSource *s, uint32_t begin, uint32_t end)
{
    return memchr(s->text + begin, '\n', end - begin) == NULL;
}

/* The expected word that a name may be a slip of, or NULL. */
static const char *near_keyword(ChmParser *p, Expected e, ChmSpan at)
{
    const char *words[sizeof keywords / sizeof *keywords];
    int32_t n = 0;
    for (int i = 0; i < e.n; i++) {
        if (is_keyword(e.names[i]))
            words[n++] = e.names[i];
    }
    const char *name = chm_arena_strndup(p->arena, at.source->text + at.begin, at.end - at.begin);
    return chm_did_you_mean(name, words, n);
}

/* A ';' would have done: it is put in, after the token before. */
static void report_missing_semicolon(ChmParser *p, Expected e, const char *found, ChmSpan at)
{
    if (is(found, "end of file") || !on_one_line(p->source, p->prev_end, at.begin)) {
        chm_error(p->diags, (ChmSpan){p->source, p->prev_end, p->prev_end}, "expected ';' after %s", statement(p));
    } else {
        ChmDiag *d = chm_error(p->diags, at, "expected ';' after %s, found %s", statement(p), describe(p, found, at));
        const char *near = is(found, "name") ? near_keyword(p, e, at) : NULL;
        if (near)
            chm_help(p->diags, d, "Did you mean '%s'?", near);
        else if (p->head == T_OUTPUT && (is(found, "at") || is(found, "[")))
            chm_help(p->diags, d,
                     "An output has the layout of its value; only a sum still owed is repeated: "
                     "`output x partial(tp);`.");
    }
    p->head = p->last_token;
    p->saw_arrow = false;
}

static void report_reserved(ChmParser *p, const char *found, ChmSpan at)
{
    ChmDiag *d = chm_error(p->diags, at, "'%s' is a word of the language and cannot be a name", found);
    chm_help(p->diags, d, "Choose another name, such as '%s_' or '%s0'.", found, found);
}

static const char *topology_hint(Expected e, const char *found)
{
    if (has(e, "=") && !has(e, ";"))
        return "A topology is made of levels: `level node 8 { bandwidth = 300 GB/s; }`.";
    if (has(e, "=") || has(e, "mesh") || (has(e, "number") && !has(e, "{")))
        return "A property is written `latency = 2 us;`, `shared;` or `torus 4 x 4;`.";
    if (has(e, ")") && has(e, ","))
        return "In parentheses stand axes; a size in ranks stands without: `level node 8 { ... }`.";
    if (has(e, "{") || (has(e, "}") && is(found, "number")))
        return "A level is written `level node 8 { ... }`, `level node (tp) { ... }`, or without a size if it is the "
               "last.";
    return NULL;
}

/* The name or word that ends at a place, behind white space; empty when there is none. */
static const char *word_before(ChmParser *p, uint32_t *end)
{
    const char *s = p->source->text;
    while (*end > 0 && strchr(" \t\r\n", s[*end - 1]))
        --*end;
    uint32_t begin = *end;
    while (begin > 0 && (isalnum((unsigned char)s[begin - 1]) || s[begin - 1] == '_'))
        begin--;
    const char *word = chm_arena_strndup(p->arena, s + begin, *end - begin);
    *end = begin;
    return word;
}

/* "at(tp)", "partial()", "at()": an error at the ')' or ','. */
static const char *modifier_hint(ChmParser *p, Expected e)
{
    uint32_t end = p->prev_end;
    const char *axis = word_before(p, &end);
    if (*axis)
        return has(e, "=") ? chm_arena_printf(p->arena, "An axis is pinned at a coordinate: write `at(%s=0)`.", axis)
                           : NULL;
    if (end == 0 || p->source->text[end - 1] != '(')
        return NULL;
    end--;
    const char *word = word_before(p, &end);
    if (!is(word, "partial") && !is(word, "at"))
        return NULL;
    return chm_arena_printf(p->arena, "Leave '%s()' out: an axis that is not named is not %s.", word,
                            is(word, "at") ? "pinned" : "partial");
}

/* What to write instead, for the usual slips; NULL when nothing comes to mind. */
static const char *hint(ChmParser *p, Expected e, const char *found)
{
    if (p->topology)
        return topology_hint(e, found);
    if (has(e, "file name"))
        return "A topology file is used by `use \"machine.topo\";`.";
    if (has(e, "name") && !has(e, "number") && is(found, "number")) {
        if (p->head == T_MESH)
            return "Axes have names: `mesh m (dp = 2, tp = 4);`.";
        if (p->head == T_TENSOR)
            return "Dims have names: `tensor x : f32[seq = 8192, hidden = 2048];`.";
        if (p->head == T_NAME && !has(e, "output"))
            return "Dims and axes are named, never numbered.";
        return "A name begins with a letter.";
    }
    if (has(e, "name") && is(found, "%"))
        return "Names stand without '%' in a plan; '%' belongs to IR text.";
    if (has(e, "->"))
        return "A layout change is written `new = old -> [seq/tp, hidden];`, an input `x0 = input x [seq, hidden];`.";
    bool in_step = p->head == T_NAME || p->head == T_OUTPUT;
    if (in_step && e.n == 1 && (is(found, ")") || is(found, ",")) && (has(e, "=") || has(e, "name")))
        return modifier_hint(p, e);
    if (has(e, "=") && is(found, "name") && p->head == T_NAME)
        return "A statement is `name = input ...;`, `name = value -> ...;` or `output value;`.";
    if (has(e, "[") && p->saw_arrow)
        return "An arrow points at a layout: all dims in brackets, as in `-> [seq/tp, hidden]`.";
    if (has(e, "=") && (is(found, ",") || is(found, ")") || is(found, "]")) && p->head == T_MESH)
        return "An axis has a size: `mesh m (dp = 2, tp = 4);`.";
    if (has(e, "=") && (is(found, ",") || is(found, "]")) && p->head == T_TENSOR)
        return "A dim has a size: `tensor x : f32[seq = 8192, hidden = 2048];`.";
    if (e.n <= 2 && has(e, "("))
        return is(found, "=") || is(found, "number") ? NULL : "The list stands in parentheses, as in `partial(tp)`.";
    return NULL;
}

/* 'name =' where a statement begins can only be meant as a name. */
static bool is_defined_here(const ChmParser *p, ChmSpan at)
{
    const char *s = p->source->text + at.end;
    while (*s == ' ' || *s == '\t')
        s++;
    return *s == '=';
}

void chm_plan_syntax_error(ChmParser *p, const char *found, ChmSpan at, const char *const *expected, int n)
{
    Expected e = {expected, n};
    bool gave_up = chm_parser_gives_up(p);
    p->syntax_errors = true;
    p->topology_damaged = true;
    p->complete = has(e, ";") && !(p->topology && has(e, "="));
    if (gave_up)
        return;
    if (p->level && is(found, "{")) {
        ChmDiag *d = chm_error(p->diags, at, "expected '}' before the next level");
        chm_note(p->diags, d, p->level->name.span, "this level is not closed");
        return;
    }
    if (p->complete) {
        report_missing_semicolon(p, e, found, at);
        return;
    }
    bool at_statement = has(e, "output");
    if (is_keyword(found) && has(e, "name") && (!at_statement || is_defined_here(p, at))) {
        report_reserved(p, found, at);
        return;
    }
    if (is(found, "}") && has(e, "topology")) {
        chm_error(p->diags, at, "'}' closes nothing");
        return;
    }
    ChmDiag *d = chm_error(p->diags, at, "expected %s, found %s", join(p, e), describe(p, found, at));
    const char *help = hint(p, e, found);
    const char *near = is(found, "name") ? near_keyword(p, e, at) : NULL;
    if (near)
        chm_help(p->diags, d, "Did you mean '%s'?", near);
    else if (help)
        chm_help(p->diags, d, "%s", help);
    if (p->topology && is(found, "end of file"))
        chm_note(p->diags, d, p->topology_begin, "the topology begins here");
    else if (at_statement && is(found, "end of file"))
        chm_note(p->diags, d, p->plan->step_span, "the step begins here");
}

void chm_plan_too_deep(ChmParser *p)
{
    ChmDiag *d = chm_error(p->diags, p->last, "the expression is nested too deeply");
    chm_help(p->diags, d, "Name its parts with params: `param part = ...;`.");
}

void chm_plan_parser_full(ChmParser *p)
{
    p->syntax_errors = true;
    chm_plan_too_deep(p);
}
