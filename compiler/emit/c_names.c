/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c_names.c - identifiers and literals of emitted C.
 */
#include "emit/c.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Names that a plan, a typedef and the beginning of five functions in the emitted file, cannot have there: words of C
 * and of headers, what else stands in the file, and what would take the place of a function of the C library. */
static const char *const taken[] = {
    "auto",   "break",    "case",     "char",     "const",        "continue",      "default", "do",        "double",
    "else",   "enum",     "extern",   "float",    "for",          "goto",          "if",      "inline",    "int",
    "long",   "register", "restrict", "return",   "short",        "signed",        "sizeof",  "static",    "struct",
    "switch", "typedef",  "union",    "unsigned", "void",         "volatile",      "while",   "alignas",   "alignof",
    "bool",   "true",     "false",    "nullptr",  "thread_local", "static_assert", "typeof",  "constexpr", "asm",
    "main",   "step",     "copy",     "message",  "mesh",         "groups",        "inputs",  "outputs",   "driver",
    "comm",   "plan",     "status",   "linux",    "unix",         "errno",         "stdin",   "stdout",    "stderr",
    "printf", "snprintf", "remove",   "rename",   "puts",         "offsetof",      "assert",  "timer",     "timerfd",
    "base",   "enter",    "epoll",    "memfd",    "sem",          "mtx",           "cnd",     "thrd",      "tss",
};
/* Words of C++, for whose callers the header is too; those that end in _t are taken with the rest of these. */
static const char *const taken_in_cpp[] = {
    "and",       "and_eq",    "bitand",    "bitor",    "catch",    "class",    "compl",
    "concept",   "consteval", "constinit", "co_await", "co_yield", "decltype", "co_return",
    "delete",    "explicit",  "export",    "friend",   "mutable",  "new",      "const_cast",
    "namespace", "noexcept",  "not",       "not_eq",   "operator", "or",       "dynamic_cast",
    "or_eq",     "private",   "protected", "public",   "requires", "template", "reinterpret_cast",
    "this",      "throw",     "try",       "typeid",   "typename", "using",    "static_cast",
    "virtual",   "xor",       "xor_eq",
};
static const char *const taken_prefixes[] = {
    "type_", "step_", "copy_", "cut_", "base_", "do_",  "AXIS_", "DIM_",    "chrt",   "Chrt",
    "CHRT",  "MPI",   "PMPI",  "OMPI", "ompi",  "mpi",  "pmpi",  "pthread", "posix_", "opal_",
    "orte_", "pmix_", "mca_",  "ucp_", "ucs_",  "uct_", "ucm_",  "hwloc",   "_",
};

/* Macros are written so as a rule: BUFSIZ, SIZE_MAX, SEEK_SET, and whatever the MPI library's header has. */
static bool looks_like_macro(const char *name)
{
    while (*name && !islower((unsigned char)*name))
        name++;
    return !*name;
}

static bool is_one_of(const char *name, const char *const *words, size_t n)
{
    while (n > 0 && strcmp(name, words[n - 1]) != 0)
        n--;
    return n > 0;
}

static bool is_taken(const char *name)
{
    if (is_one_of(name, taken, sizeof taken / sizeof taken[0]) ||
        is_one_of(name, taken_in_cpp, sizeof taken_in_cpp / sizeof taken_in_cpp[0]))
        return true;
    for (size_t i = 0; i < sizeof taken_prefixes / sizeof taken_prefixes[0]; i++) {
        if (strncmp(name, taken_prefixes[i], strlen(taken_prefixes[i])) == 0)
            return true;
    }
    size_t n = strlen(name);
    return looks_like_macro(name) || (n > 2 && strcmp(name + n - 2, "_t") == 0);
}

const char *chm_c_plan_name(ChmArena *arena, const char *plan)
{
    return is_taken(plan) ? chm_arena_printf(arena, "plan_%s", plan) : plan;
}

const char *chm_c_guard(ChmArena *arena, const char *name)
{
    char *guard = chm_arena_printf(arena, "%s_H", name);
    for (char *c = guard; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return guard;
}

const char *chm_c_dtype(ChmDtype dtype)
{
    switch (dtype) {
    case CHM_F64:
        return "double";
    case CHM_F32:
        return "float";
    case CHM_F16:
    case CHM_BF16:
        return "uint16_t";
    case CHM_I64:
        return "int64_t";
    case CHM_I32:
        return "int32_t";
    case CHM_I8:
        return "int8_t";
    case CHM_U8:
        return "uint8_t";
    case CHM_NDTYPES:
        break;
    }
    return "void";
}

static const char *output_name(const ChmModule *m, int32_t index)
{
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (op->code == CHM_OP_OUTPUT && index-- == 0)
            return op->name;
    }
    return "";
}

const char *chm_c_value(ChmC *w, const ChmCSchedule *s, const ChmValue *v)
{
    const ChmPlace *place = &s->buffers.place[v->id];
    switch (place->home) {
    case CHM_HOME_INPUT:
        return chm_arena_printf(w->arena, "plan->in_%s", v->def->tensor->name);
    case CHM_HOME_OUTPUT:
        return chm_arena_printf(w->arena, "plan->out_%s", output_name(s->m, place->index));
    case CHM_HOME_ARENA:
        break;
    }
    return v->name ? chm_arena_printf(w->arena, "v_%s", v->name) : chm_arena_printf(w->arena, "v_%" PRId32, v->number);
}

const char *chm_c_dim(ChmC *w, const ChmShape *shape, int32_t d)
{
    const char *name = shape->dim_name[d];
    for (int32_t i = 0; i < w->dims.len; i++) {
        if (w->dims.at[i].name == name && w->dims.at[i].index == d)
            return chm_arena_printf(w->arena, "DIM_%s", name);
    }
    return chm_arena_printf(w->arena, "%d /* %s */", (int)d, name);
}

const char *chm_c_type(ChmC *w, const ChmType *t)
{
    int32_t i = 0;
    while (i < w->types.len && w->types.at[i] != t)
        i++;
    return chm_arena_printf(w->arena, "type_%d", (int)i);
}

static bool is_axis_taken(const ChmC *w, const char *name)
{
    for (int32_t i = 0; i < w->mesh->naxes; i++) {
        if (w->axis[i] && strcmp(w->axis[i], name) == 0)
            return true;
    }
    return false;
}

/* A part of an axis is called by both its names, and steps aside for an axis that is called so. */
void chm_c_name_axes(ChmC *w)
{
    for (int32_t i = 0; i < w->mesh->naxes; i++) {
        const char *name = w->mesh->axis_name[i];
        w->axis[i] = strchr(name, '.') ? NULL : chm_arena_printf(w->arena, "AXIS_%s", name);
    }
    for (int32_t i = 0; i < w->mesh->naxes; i++) {
        if (w->axis[i])
            continue;
        const char *part = w->mesh->axis_name[i], *dot = strchr(part, '.');
        const char *name = chm_arena_printf(w->arena, "AXIS_%.*s_%s", (int)(dot - part), part, dot + 1);
        while (is_axis_taken(w, name))
            name = chm_arena_printf(w->arena, "%s_", name);
        w->axis[i] = name;
    }
}

const char *chm_c_axes(ChmC *w, const ChmAxisSeq *s)
{
    ChmOut text;
    chm_out_init_arena(&text, w->arena);
    for (int32_t i = 0; i < s->len; i++)
        chm_out_printf(&text, "%s%s", i ? ", " : "", w->axis[s->at[i]]);
    return chm_out_text(&text);
}

const char *chm_c_int(ChmC *w, int64_t n)
{
    return chm_arena_printf(w->arena, n > INT32_MAX ? "INT64_C(%" PRId64 ")" : "%" PRId64, n);
}
