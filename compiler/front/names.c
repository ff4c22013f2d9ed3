/* SPDX-License-Identifier: Apache-2.0
 *
 * front/names.c - name spaces, and which names the emitted C can carry.
 */
#include "front/sema.h"

#include <string.h>

void *chm_scope_find(const ChmScope *scope, const char *name)
{
    return chm_map_get(&scope->map, name, strlen(name));
}

bool chm_scope_add(ChmSema *s, ChmScope *scope, ChmName name, void *decl, ChmSpan first)
{
    if (chm_scope_find(scope, name.text)) {
        ChmDiag *d = chm_error(s->diags, name.span, "%s '%s' is declared twice", scope->kind, name.text);
        chm_note(s->diags, d, first, "it is first declared here");
        return false;
    }
    chm_map_put(&scope->map, name.text, strlen(name.text), decl);
    CHM_PUSH(s->arena, &scope->names, name.text);
    return true;
}

ChmDiag *chm_scope_unknown(ChmSema *s, ChmScope *scope, ChmName name, bool *suggested)
{
    size_t len = strlen(name.text);
    *suggested = false;
    if (chm_map_get(&scope->reported, name.text, len))
        return NULL;
    const char *near = chm_did_you_mean(name.text, scope->names.at, scope->names.len);
    if (!near && s->options.damaged)
        return NULL;
    chm_map_put(&scope->reported, name.text, len, scope);
    ChmDiag *d = chm_error(s->diags, name.span, "unknown %s '%s'", scope->kind, name.text);
    if (near)
        chm_help(s->diags, d, "Did you mean '%s'?", near);
    *suggested = near != NULL;
    return d;
}

/* ---- names in C */

static const char *const c_keywords[] = {
    "auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
    "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
    "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
    "switch", "typedef",  "union",    "unsigned", "void",  "volatile", "while",
};

/* Macros of the C library's headers: they would be replaced wherever they stand. */
static const char *const c_macros[] = {
    "NULL", "EOF", "errno", "stdin", "stdout", "stderr", "assert", "bool", "true", "false", "offsetof",
};

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, list[i]) == 0)
            return true;
    }
    return false;
}

const char *chm_name_trouble(const char *name)
{
    if (is_one_of(name, c_keywords, sizeof c_keywords / sizeof *c_keywords))
        return "is a keyword of C";
    if (is_one_of(name, c_macros, sizeof c_macros / sizeof *c_macros))
        return "is a macro of the C library";
    if (name[0] == '_')
        return "begins with '_', which C reserves";
    if (strncmp(name, "chrt_", 5) == 0)
        return "begins with 'chrt_', as names of the runtime do";
    if (strncmp(name, "MPI_", 4) == 0)
        return "begins with 'MPI_', as names of MPI do";
    if (strcmp(name, "main") == 0)
        return "is the C program's first function";
    return NULL;
}

void chm_check_name(ChmSema *s, const char *kind, ChmName name)
{
    const char *trouble = chm_name_trouble(name.text);
    if (!trouble)
        return;
    ChmDiag *d = chm_error(s->diags, name.span, "%s '%s' cannot have this name: it %s", kind, name.text, trouble);
    chm_help(s->diags, d, "The emitted C uses the names of plans, tensors and values; choose another.");
}
