/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/options.c - reading the command line by the table options.def.
 */
#include "driver/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct Parser {
    ChmArena *arena;
    ChmOptions *o;
    ChmOut *err;
    uint32_t commands_of_all; /* the commands that know every option seen so far */
    const char *only_of[2];   /* an option that compile (0) or run (1) does not know */
    bool driver_given, define_given, emit_given;
} Parser;

typedef bool Handler(Parser *p, const char *value); /* false: a message is in p->err */
typedef enum Argument { FLAG, VALUE } Argument;
enum { COMPILE = CHM_COMMAND_COMPILE, RUN = CHM_COMMAND_RUN };

typedef struct Option {
    const char *name, *metavar, *what;
    Handler *take;
    uint32_t commands;
    Argument argument;
    char letter;
} Option;

#define CHM_OPTION(CODE, letter, name, argument, metavar, commands, what) static Handler take_##CODE;
#include "driver/options.def"
#undef CHM_OPTION

static const Option options[] = {
#define CHM_OPTION(CODE, letter, name, argument, metavar, commands, what) \
    {name, metavar, what, take_##CODE, commands, argument, letter},
#include "driver/options.def"
#undef CHM_OPTION
};
enum { NOPTIONS = sizeof options / sizeof options[0] };

/* ---- messages */

static bool wrong(Parser *p, const char *fmt, const char *a, const char *b)
{
    chm_out_puts(p->err, "chimerac: error: ");
    for (const char *c = fmt; *c; c++) {
        if (c[0] == '%' && (c[1] == '1' || c[1] == '2'))
            chm_out_puts(p->err, *++c == '1' ? a : b);
        else
            chm_out_putc(p->err, *c);
    }
    chm_out_putc(p->err, '\n');
    return false;
}

static bool wrong_name(Parser *p, const char *kind, const char *name, const char *const *known, int32_t n)
{
    const char *near = chm_did_you_mean(name, known, n);
    chm_out_printf(p->err, "chimerac: error: unknown %s '%s'", kind, name);
    if (near)
        chm_out_printf(p->err, "; did you mean '%s'?", near);
    chm_out_putc(p->err, '\n');
    return false;
}

/* ---- values */

static bool read_int(const char *s, int64_t *out)
{
    char *end;
    errno = 0;
    intmax_t v = strtoimax(s, &end, 10);
    if (end == s || *end || errno || v < INT64_MIN || v > INT64_MAX || *s == ' ')
        return false;
    *out = (int64_t)v;
    return true;
}

static bool one_of(Parser *p, const char *option, const char *value, const char *const *known, int32_t n, int32_t *out)
{
    for (int32_t i = 0; i < n; i++) {
        if (strcmp(value, known[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return wrong_name(p, option, value, known, n);
}

static bool take_output(Parser *p, const char *value)
{
    if (!*value)
        return wrong(p, "'-o' needs a file name", NULL, NULL);
    p->o->output = value;
    return true;
}

static bool take_level(Parser *p, const char *value)
{
    if (value[0] < '0' || value[0] > '3' || value[1])
        return wrong(p, "no optimization level '-O%1'; there are -O0, -O1, -O2 and -O3", value, NULL);
    p->o->level = value[0] - '0';
    return true;
}

static bool take_emit(Parser *p, const char *value)
{
    p->emit_given = true;
    p->o->emit = NULL;
    if (strcmp(value, "ast") == 0)
        return true;
    p->o->emit = chm_emitter_find(value);
    if (p->o->emit)
        return true;
    const char *known[32];
    int32_t n = 0;
    known[n++] = "ast";
    for (const ChmEmitter *e = chm_emitters; e->name && n < 32; e++)
        known[n++] = e->name;
    return wrong_name(p, "kind of output", value, known, n);
}

static bool take_driver(Parser *p, const char *value)
{
    (void)value;
    p->o->driver = p->driver_given = true;
    return true;
}

static bool take_define(Parser *p, const char *value)
{
    const char *equals = strchr(value, '=');
    ChmDefine d;
    if (!equals || equals == value)
        return wrong(p, "'-D %1' is not of the form NAME=VALUE", value, NULL);
    if (!read_int(equals + 1, &d.value))
        return wrong(p, "'-D %1': the value is not an integer of 64 bits", value, NULL);
    d.name = chm_arena_strndup(p->arena, value, (size_t)(equals - value));
    for (int32_t i = 0; i < p->o->defines.len; i++) {
        if (strcmp(p->o->defines.at[i].name, d.name) == 0) { /* the last one counts */
            p->o->defines.at[i].value = d.value;
            return true;
        }
    }
    CHM_PUSH(p->arena, &p->o->defines, d);
    p->define_given = true;
    return true;
}

static bool take_topology(Parser *p, const char *value)
{
    p->o->topology = value;
    return true;
}

static bool take_language(Parser *p, const char *value)
{
    static const char *const known[] = {"plan", "ir"};
    int32_t i;
    if (!one_of(p, "language", value, known, 2, &i))
        return false;
    p->o->language = i == 0 ? CHM_LANGUAGE_PLAN : CHM_LANGUAGE_IR;
    return true;
}

static const ChmPass *find_pass(Parser *p, const char *name)
{
    const ChmPass *pass = chm_pass_find(name);
    if (!pass) {
        const char *known[64];
        int32_t n = 0;
        for (const ChmPass *q = chm_passes; q->name && n < 64; q++)
            known[n++] = q->name;
        wrong_name(p, "pass", name, known, n);
        chm_out_puts(p->err, "chimerac: note: 'chimerac --list-passes' lists them\n");
    }
    return pass;
}

static bool take_passes(Parser *p, const char *value)
{
    p->o->passes_given = true;
    p->o->passes.len = 0;
    while (*value) {
        size_t n = strcspn(value, ",");
        const ChmPass *pass = find_pass(p, chm_arena_strndup(p->arena, value, n));
        if (!pass)
            return false;
        CHM_PUSH(p->arena, &p->o->passes, pass);
        value += n + (value[n] == ',');
    }
    return true;
}

static bool take_list_passes(Parser *p, const char *value)
{
    (void)value;
    p->o->show = CHM_SHOW_PASSES;
    return true;
}

static bool take_print_after(Parser *p, const char *value)
{
    if (strcmp(value, "all") != 0 && !find_pass(p, value))
        return false;
    CHM_PUSH(p->arena, &p->o->print_after, value);
    return true;
}

#define FLAG_HANDLER(CODE, field, to)                     \
    static bool take_##CODE(Parser *p, const char *value) \
    {                                                     \
        (void)value;                                      \
        p->o->field = to;                                 \
        return true;                                      \
    }
FLAG_HANDLER(print_changed, print_changed, true)
FLAG_HANDLER(verify_each, verify_each, true)
FLAG_HANDLER(no_verify_each, verify_each, false)
FLAG_HANDLER(time_passes, time_passes, true)
FLAG_HANDLER(explain, explain, true)
FLAG_HANDLER(stats, stats, true)
FLAG_HANDLER(random_float, random_float, true)
FLAG_HANDLER(quiet, quiet, true)
FLAG_HANDLER(help, show, CHM_SHOW_HELP)
FLAG_HANDLER(version, show, CHM_SHOW_VERSION)

static bool take_seed(Parser *p, const char *value)
{
    int64_t seed;
    if (!read_int(value, &seed) || seed < 0)
        return wrong(p, "'--seed %1': not an integer of at least 0", value, NULL);
    p->o->seed = (uint64_t)seed;
    return true;
}

static bool take_memory(Parser *p, const char *value)
{
    static const char units[] = "KMGT";
    size_t digits = strspn(value, "0123456789");
    int64_t n, unit = 1;
    const char *rest = value + digits;
    const char *u = *rest ? strchr(units, *rest) : NULL;
    if (u) {
        unit = INT64_C(1) << (10 * (u - units + 1));
        rest++;
        rest += strcmp(rest, "iB") == 0 || strcmp(rest, "B") == 0 ? strlen(rest) : 0;
    }
    if (!digits || *rest || !read_int(chm_arena_strndup(p->arena, value, digits), &n) || n < 1 ||
        !chm_mul64(n, unit, &n))
        return wrong(p, "'--memory %1': not a size such as 512M or 2G", value, NULL);
    p->o->memory_bytes = n;
    return true;
}

static bool take_color(Parser *p, const char *value)
{
    static const char *const known[] = {"auto", "always", "never"};
    int32_t i;
    if (!one_of(p, "color mode", value, known, 3, &i))
        return false;
    p->o->color = (ChmColor)i;
    return true;
}

/* ---- words */

static bool take(Parser *p, const Option *option, const char *spelled, const char *value)
{
    p->commands_of_all &= option->commands;
    if (!(option->commands & COMPILE))
        p->only_of[0] = spelled;
    if (!(option->commands & RUN))
        p->only_of[1] = spelled;
    return option->take(p, value);
}

static bool read_long(Parser *p, int argc, char **argv, int *i)
{
    const char *word = argv[*i] + 2;
    size_t n = strcspn(word, "=");
    const char *name = chm_arena_strndup(p->arena, word, n);
    const char *known[NOPTIONS];
    int32_t nknown = 0;
    for (int32_t k = 0; k < NOPTIONS; k++) {
        const Option *option = &options[k];
        if (!option->name)
            continue;
        known[nknown++] = chm_arena_printf(p->arena, "--%s", option->name);
        if (strcmp(name, option->name) != 0)
            continue;
        const char *spelled = known[nknown - 1];
        if (option->argument == FLAG)
            return word[n] ? wrong(p, "'%1' takes no value", spelled, NULL) : take(p, option, spelled, NULL);
        if (word[n])
            return take(p, option, spelled, word + n + 1);
        if (*i + 1 >= argc)
            return wrong(p, "'%1' needs a value: %1=%2", spelled, option->metavar);
        return take(p, option, spelled, argv[++*i]);
    }
    return wrong_name(p, "option", chm_arena_printf(p->arena, "--%s", name), known, nknown);
}

static const Option *find_letter(char c)
{
    for (int32_t k = 0; k < NOPTIONS; k++) {
        if (options[k].letter == c)
            return &options[k];
    }
    return NULL;
}

/* "-q", "-qo FILE", "-O2", "-Dn=1": letters up to the first one with a value, which is the rest or the next word. */
static bool read_short(Parser *p, int argc, char **argv, int *i)
{
    for (const char *c = argv[*i] + 1; *c; c++) {
        const Option *option = find_letter(*c);
        const char *spelled = chm_arena_printf(p->arena, "-%c", *c);
        if (!option) {
            const char *as_long = argv[*i] + 1; /* "-emit=ir" */
            for (int32_t k = 0; k < NOPTIONS; k++) {
                const char *name = options[k].name;
                if (name && strncmp(as_long, name, strlen(name)) == 0)
                    return wrong(p, "unknown option '%1'; did you mean '-%1'?", argv[*i], NULL);
            }
            return wrong(p, "unknown option '%1'", spelled, NULL);
        }
        if (option->argument == FLAG) {
            if (!take(p, option, spelled, NULL))
                return false;
            continue;
        }
        if (c[1])
            return take(p, option, spelled, c + 1);
        if (option->letter == 'O' || *i + 1 >= argc)
            return wrong(p, "'%1' needs a value: %1 %2", spelled, option->metavar);
        return take(p, option, spelled, argv[++*i]);
    }
    return true;
}

static bool read_words(Parser *p, int argc, char **argv)
{
    bool only_names = false, command_seen = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!only_names && strcmp(word, "--") == 0) {
            only_names = true;
        } else if (!only_names && word[0] == '-' && word[1] == '-') {
            if (!read_long(p, argc, argv, &i))
                return false;
        } else if (!only_names && word[0] == '-' && word[1]) {
            if (!read_short(p, argc, argv, &i))
                return false;
        } else if (!only_names && !command_seen && !p->o->input &&
                   (strcmp(word, "run") == 0 || strcmp(word, "compile") == 0)) {
            command_seen = true;
            p->o->command = word[0] == 'r' ? CHM_COMMAND_RUN : CHM_COMMAND_COMPILE;
        } else if (p->o->input) {
            return wrong(p, "one input file at a time: '%1' and '%2'", p->o->input, word);
        } else {
            p->o->input = word;
        }
    }
    return true;
}

static bool check(Parser *p)
{
    ChmOptions *o = p->o;
    if (o->show != CHM_SHOW_NOTHING)
        return true;
    if (o->command == CHM_COMMAND_COMPILE && p->only_of[0])
        return wrong(p, "'%1' is an option of 'chimerac run' only", p->only_of[0], NULL);
    if (o->command == CHM_COMMAND_RUN && p->only_of[1])
        return wrong(p, "'%1' has no meaning for 'chimerac run'", p->only_of[1], NULL);
    if (!o->input)
        return wrong(p, "no input file", NULL, NULL);
    if (o->language == CHM_LANGUAGE_BY_NAME) {
        size_t n = strlen(o->input);
        bool is_ir = n > 3 && strcmp(o->input + n - 3, ".ir") == 0;
        o->language = is_ir ? CHM_LANGUAGE_IR : CHM_LANGUAGE_PLAN;
    }
    if (o->topology && strcmp(o->topology, "-") == 0 && strcmp(o->input, "-") == 0)
        return wrong(p, "the plan and its topology cannot both be read from standard input", NULL, NULL);
    if (o->language == CHM_LANGUAGE_IR && p->define_given && !o->topology)
        return wrong(p, "'-D' sets a 'param' of a plan; IR has none", NULL, NULL);
    if (o->language == CHM_LANGUAGE_IR && o->command == CHM_COMMAND_COMPILE && !o->emit)
        return wrong(p, "'--emit=ast' prints the syntax tree of a plan; IR has none", NULL, NULL);
    if (p->driver_given && (!o->emit || !o->emit->takes_driver))
        return wrong(p, "'--driver' adds a main to '--emit=c' only", NULL, NULL);
    return true;
}

ChmStatus chm_options_parse(ChmArena *arena, int argc, char **argv, ChmOptions *o, ChmOut *err)
{
    *o = (ChmOptions){.command = CHM_COMMAND_COMPILE, .output = "-", .level = 2, .seed = 1};
    o->emit = chm_emitter_find("c");
#ifndef NDEBUG
    o->verify_each = true;
#endif
    Parser p = {.arena = arena, .o = o, .err = err};
    if (read_words(&p, argc, argv) && check(&p))
        return CHM_OK;
    chm_out_puts(err, "chimerac: note: 'chimerac --help' shows how it is used\n");
    return CHM_ERR_USAGE;
}

/* ---- texts made from the tables */

static void help_row(ChmOut *out, const char *left, const char *what)
{
    int used = (int)strlen(left) + 2;
    chm_out_printf(out, "  %s", left);
    if (used > 28) {
        chm_out_putc(out, '\n');
        used = 0;
    }
    chm_out_spaces(out, 30 - used);
    chm_out_printf(out, "%s\n", what);
}

static void help_options(ChmOut *out)
{
    for (int32_t k = 0; k < NOPTIONS; k++) {
        const Option *option = &options[k];
        char left[64], letter[8] = "    ", what[256];
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c", option->letter);
        bool with_value = option->argument == VALUE;
        if (!option->name)
            snprintf(left, sizeof left, "%s%s", letter, option->metavar);
        else
            snprintf(left, sizeof left, "%s%s--%s%s%s", letter, option->letter ? ", " : "", option->name,
                     with_value ? "=" : "", with_value ? option->metavar : "");
        snprintf(what, sizeof what, "%s%s", option->what, option->commands == RUN ? " [run]" : "");
        help_row(out, left, what);
    }
}

void chm_options_help(ChmOut *out)
{
    chm_out_puts(out, "Usage: chimerac [compile] [OPTION]... FILE\n"
                      "       chimerac run [OPTION]... FILE\n"
                      "\n"
                      "Reads a plan, removes its redundant communication and writes C for MPI.\n"
                      "'run' executes the schedule for all ranks in this process, and compares every output with the\n"
                      "plan's plain meaning. FILE '-' is standard input.\n"
                      "\n"
                      "Options:\n");
    help_options(out);
    chm_out_puts(out, "\nKinds of output:\n");
    help_row(out, "ast", "the plan in its own notation, params resolved");
    for (const ChmEmitter *e = chm_emitters; e->name; e++)
        help_row(out, e->name, e->what);
    chm_out_puts(
        out, "\nExit status: 0; 1 when the input is wrong, a file cannot be read or written, or an output of 'run'\n"
             "is wrong; 2 when the command line is wrong; 70 when the compiler itself failed.\n");
}

void chm_options_list_passes(ChmOut *out)
{
    for (const ChmPass *p = chm_passes; p->name; p++)
        chm_out_printf(out, "%-18s %s\n", p->name, p->what);
    for (int32_t level = 0; level <= 3; level++) {
        const ChmPass *list[64];
        int32_t n = 0;
        chm_pipeline_for_level(level, list, 64, &n);
        chm_out_printf(out, "-O%d", (int)level);
        for (int32_t i = 0; i < n; i++)
            chm_out_printf(out, "%s%s", i ? "," : " ", list[i]->name);
        chm_out_putc(out, '\n');
    }
}
