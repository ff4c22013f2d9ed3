/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/option_values.c - what each option of options.def does with its value.
 */
#include "driver/option_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* ---- messages */

bool chm_options_wrong(ChmCommandLine *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    chm_out_printf(p->err, "chimerac: error: %s\n", chm_arena_vprintf(p->arena, fmt, args));
    va_end(args);
    return false;
}

bool chm_options_unknown(ChmCommandLine *p, const char *kind, const char *name, const char *meant)
{
    if (meant)
        return chm_options_wrong(p, "unknown %s '%s'; did you mean '%s'?", kind, name, meant);
    return chm_options_wrong(p, "unknown %s '%s'", kind, name);
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

/* The place of value in the list, which NULL ends; the list's length when it is not there. */
static int place_of(const char *value, const char *const *known)
{
    int n = 0;
    while (known[n] && strcmp(value, known[n]) != 0)
        n++;
    return n;
}

/* *out = the place of value in a short list. */
static bool one_of(ChmCommandLine *p, const char *kind, const char *value, const char *const *known, int *out)
{
    *out = place_of(value, known);
    if (known[*out])
        return true;
    const char *meant = chm_did_you_mean(value, known, *out);
    if (meant)
        return chm_options_unknown(p, kind, value, meant);
    ChmOut all;
    chm_out_init_arena(&all, p->arena);
    for (int i = 0; known[i]; i++)
        chm_out_printf(&all, "%s'%s'", i == 0 ? "" : known[i + 1] ? ", " : " and ", known[i]);
    return chm_options_wrong(p, "unknown %s '%s'; there are %s", kind, value, chm_out_text(&all));
}

static bool take_output(ChmCommandLine *p, const char *value)
{
    p->o->output = value;
    return *value || chm_options_wrong(p, "'-o' needs a file name");
}

static bool take_topology(ChmCommandLine *p, const char *value)
{
    p->o->topology = value;
    return *value || chm_options_wrong(p, "'--topology' needs a file name");
}

static bool take_level(ChmCommandLine *p, const char *value)
{
    p->o->level = value[0] - '0';
    return (value[0] >= '0' && value[0] <= '3' && !value[1]) ||
           chm_options_wrong(p, "no optimization level '-O%s'; there are -O0, -O1, -O2 and -O3", value);
}

static bool take_seed(ChmCommandLine *p, const char *value)
{
    int64_t seed = -1;
    bool ok = read_int(value, &seed) && seed >= 0;
    p->o->seed = (uint64_t)seed;
    return ok || chm_options_wrong(p, "'--seed %s': not an integer of at least 0", value);
}

static bool take_chunks(ChmCommandLine *p, const char *value)
{
    int64_t chunks = 0;
    bool ok = read_int(value, &chunks) && chunks >= 1 && chunks <= INT32_MAX;
    p->o->chunks = ok ? (int32_t)chunks : 0;
    return ok || chm_options_wrong(p, "'--chunks %s': not an integer from 1 to 2147483647", value);
}

static bool take_emit(ChmCommandLine *p, const char *value)
{
    const char *known[32] = {"ast"};
    int i = 0;
    for (const ChmEmitter *e = chm_emitters; e->name && i < 30; e++)
        known[++i] = e->name;
    if (!one_of(p, "kind of output", value, known, &i))
        return false;
    p->o->emit = i ? &chm_emitters[i - 1] : NULL;
    return true;
}

static bool take_define(ChmCommandLine *p, const char *value)
{
    const char *equals = strchr(value, '=');
    ChmDefine d;
    if (!equals || equals == value)
        return chm_options_wrong(p, "'-D %s' is not of the form NAME=VALUE", value);
    if (!read_int(equals + 1, &d.value))
        return chm_options_wrong(p, "'-D %s': the value is not a decimal integer of 64 bits", value);
    d.name = chm_arena_strndup(p->arena, value, (size_t)(equals - value));
    for (int32_t i = 0; i < p->o->defines.len; i++) {
        if (strcmp(p->o->defines.at[i].name, d.name) == 0) { /* the last one counts */
            p->o->defines.at[i].value = d.value;
            return true;
        }
    }
    CHM_PUSH(p->arena, &p->o->defines, d);
    return true;
}

static bool take_language(ChmCommandLine *p, const char *value)
{
    static const char *const known[] = {"plan", "ir", NULL};
    int i = 0;
    bool ok = one_of(p, "language", value, known, &i);
    p->o->language = i ? CHM_LANGUAGE_IR : CHM_LANGUAGE_PLAN;
    return ok;
}

static bool take_color(ChmCommandLine *p, const char *value)
{
    static const char *const known[] = {"auto", "always", "never", NULL};
    int i = 0;
    bool ok = one_of(p, "color mode", value, known, &i);
    p->o->color = (ChmColor)i;
    return ok;
}

static const ChmPass *find_pass(ChmCommandLine *p, const char *name)
{
    const char *known[64] = {NULL};
    int i = 0;
    for (const ChmPass *q = chm_passes; q->name && i < 63; q++)
        known[i++] = q->name;
    int place = place_of(name, known);
    if (known[place])
        return &chm_passes[place];
    chm_options_unknown(p, "pass", name, chm_did_you_mean(name, known, i));
    chm_out_puts(p->err, "chimerac: note: 'chimerac --list-passes' lists them\n");
    return NULL;
}

static bool take_passes(ChmCommandLine *p, const char *value)
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

static bool take_print_after(ChmCommandLine *p, const char *value)
{
    if (strcmp(value, "all") != 0 && !find_pass(p, value))
        return false;
    CHM_PUSH(p->arena, &p->o->print_after, value);
    return true;
}

/* Bytes, or with a unit: "512M", "64MiB"; else what is wrong with it is told. */
static bool read_size(ChmCommandLine *p, const char *option, const char *value, const char *such_as, int64_t *out)
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
    if (!digits || *rest || strspn(value, "0") == digits)
        return chm_options_wrong(p, "'%s %s': not a size such as %s", option, value, such_as);
    return (read_int(chm_arena_strndup(p->arena, value, digits), &n) && chm_mul64(n, unit, out)) ||
           chm_options_wrong(p, "'%s %s': larger than %" PRId64 " bytes", option, value, INT64_MAX);
}

static bool take_memory(ChmCommandLine *p, const char *value)
{
    return read_size(p, "--memory", value, "512M or 2G", &p->o->memory_bytes);
}

static bool take_max_buffer(ChmCommandLine *p, const char *value)
{
    return read_size(p, "--max-buffer", value, "64MiB or 1G", &p->o->max_buffer_bytes);
}

#define FLAG_HANDLER(CODE, field, to)                             \
    static bool take_##CODE(ChmCommandLine *p, const char *value) \
    {                                                             \
        (void)value;                                              \
        p->o->field = to;                                         \
        return true;                                              \
    }
FLAG_HANDLER(driver, driver, true)
FLAG_HANDLER(print_changed, print_changed, true)
FLAG_HANDLER(verify_each, verify_each, true)
FLAG_HANDLER(no_verify_each, verify_each, false)
FLAG_HANDLER(time_passes, time_passes, true)
FLAG_HANDLER(explain, explain, true)
FLAG_HANDLER(stats, stats, true)
FLAG_HANDLER(random_float, random_float, true)
FLAG_HANDLER(quiet, quiet, true)
FLAG_HANDLER(list_passes, show, CHM_SHOW_PASSES)
FLAG_HANDLER(help, show, CHM_SHOW_HELP)
FLAG_HANDLER(version, show, CHM_SHOW_VERSION)

/* ---- the table */

enum { COMPILE = CHM_COMMAND_COMPILE, RUN = CHM_COMMAND_RUN };
#define FLAG CHM_FLAG
#define VALUE CHM_VALUE
#define ATTACHED CHM_ATTACHED
const ChmOption chm_option_table[CHM_NOPTIONS] = {
#define CHM_OPTION(CODE, letter, name, argument, metavar, commands, what) \
    {take_##CODE, name, metavar, what, argument, commands, letter},
#include "driver/options.def"
#undef CHM_OPTION
};
