/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/topology_quantity.c - amounts with units. Units are powers of ten or two, so that an amount is rounded once, by
 * strtod, and what is printed reads back as the same number.
 */
#include "ir/topology_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct Unit {
    const char *name;
    ChmQuantityKind kind;
    int ten, two; /* exponents */
    bool printed; /* largest first, per kind */
} Unit;

static const Unit units[] = {
    {"TB/s", CHM_BANDWIDTH, 12, 0, true},
    {"GB/s", CHM_BANDWIDTH, 9, 0, true},
    {"MB/s", CHM_BANDWIDTH, 6, 0, true},
    {"kB/s", CHM_BANDWIDTH, 3, 0, true},
    {"B/s", CHM_BANDWIDTH, 0, 0, true},
    {"TiB/s", CHM_BANDWIDTH, 0, 40, false},
    {"GiB/s", CHM_BANDWIDTH, 0, 30, false},
    {"MiB/s", CHM_BANDWIDTH, 0, 20, false},
    {"KiB/s", CHM_BANDWIDTH, 0, 10, false},
    {"Tb/s", CHM_BANDWIDTH, 12, -3, false},
    {"Gb/s", CHM_BANDWIDTH, 9, -3, false},
    {"Mb/s", CHM_BANDWIDTH, 6, -3, false},
    {"kb/s", CHM_BANDWIDTH, 3, -3, false},
    {"b/s", CHM_BANDWIDTH, 0, -3, false},
    {"s", CHM_TIME, 0, 0, true},
    {"ms", CHM_TIME, -3, 0, true},
    {"us", CHM_TIME, -6, 0, true},
    {"ns", CHM_TIME, -9, 0, true},
};
#define NUNITS ((int)(sizeof units / sizeof *units))

/* What no machine is outside of; also keeps every figure that is made of these finite. */
typedef struct Limits {
    double least, most;
    const char *least_text, *most_text, *example;
} Limits;
static const Limits limits[] = {
    [CHM_BANDWIDTH] = {1, 1e18, "1 B/s", "1000000 TB/s",
                       "Write bytes, `300 GB/s` or `300 GiB/s`, or bits, `400 Gb/s`."},
    [CHM_TIME] = {1e-15, 1e3, "0.000001 ns", "1000 s", "Write s, ms, us or ns, as in `2 us`."},
};

#define ERROR(at, ...) chm_error(&ctx->diags, (at), __VA_ARGS__)
#define HELP(diag, ...) chm_help(&ctx->diags, (diag), __VA_ARGS__)

/* ---- reading */

static void suggest_unit(ChmCtx *ctx, ChmDiag *d, const char *text, ChmQuantityKind kind)
{
    const char *known[NUNITS], *same[2] = {NULL, NULL};
    int32_t n = 0, nsame = 0;
    for (int i = 0; i < NUNITS; i++) {
        if (units[i].kind != kind)
            continue;
        known[n++] = units[i].name;
        if (strcasecmp(units[i].name, text) == 0 && nsame < 2)
            same[nsame++] = units[i].name;
    }
    const char *near = nsame ? same[0] : chm_did_you_mean(text, known, n);
    if (nsame == 2)
        HELP(d, "Write '%s' for bytes, '%s' for bits.", same[0], same[1]);
    else if (near)
        HELP(d, "Did you mean '%s'?", near);
    else
        HELP(d, "%s", limits[kind].example);
}

static const Unit *find_unit(ChmCtx *ctx, const char *name, const ChmQuantityText *q, ChmQuantityKind kind)
{
    const char *what = kind == CHM_BANDWIDTH ? "bandwidth" : "time";
    if (!q->unit.text) {
        ChmDiag *d = ERROR(q->span, "'%s' has no unit", name);
        HELP(d, "%s", limits[kind].example);
        return NULL;
    }
    for (int i = 0; i < NUNITS; i++) {
        if (units[i].kind == kind && strcmp(units[i].name, q->unit.text) == 0)
            return &units[i];
    }
    ChmDiag *d = ERROR(q->unit.span, "'%s' is not a unit of %s", q->unit.text, what);
    suggest_unit(ctx, d, q->unit.text, kind);
    return NULL;
}

bool chm_quantity_read(ChmCtx *ctx, const char *name, const ChmQuantityText *q, ChmQuantityKind kind,
                       const char *without, double *out)
{
    const Unit *unit = find_unit(ctx, name, q, kind);
    if (!unit)
        return false;
    const char *digits = q->digits ? q->digits : chm_arena_printf(&ctx->arena, "%lld", (long long)q->whole.value);
    double value = ldexp(strtod(chm_arena_printf(&ctx->arena, "%se%d", digits, unit->ten), NULL), unit->two);
    bool is_zero = strspn(digits, "0.") == strlen(digits);
    bool negative = !is_zero && (q->negative != (digits[0] == '-'));
    if (is_zero || negative) {
        ChmDiag *d = ERROR(q->span, "'%s' is %s", name, is_zero ? "zero" : "negative");
        HELP(d, "%s", without);
        return false;
    }
    if (value < 0)
        value = -value; /* the minus of a negative param */
    if (value < limits[kind].least || value > limits[kind].most) {
        bool less = value < limits[kind].least;
        ERROR(q->span, "'%s' is %s than %s", name, less ? "less" : "more",
              less ? limits[kind].least_text : limits[kind].most_text);
        return false;
    }
    *out = value;
    return true;
}

/* ---- printing */

/* digits · 10^exponent, without exponent: "2.5", "0.03", "300" */
static void put_decimal(ChmOut *out, const char *digits, int exponent)
{
    int len = (int)strlen(digits), whole = len + exponent; /* digits before the point */
    if (whole <= 0)
        chm_out_puts(out, "0.");
    for (int i = whole; i < 0; i++)
        chm_out_putc(out, '0');
    for (int i = 0; i < len; i++) {
        if (i == whole && i > 0)
            chm_out_putc(out, '.');
        chm_out_putc(out, digits[i]);
    }
    for (int i = len; i < whole; i++)
        chm_out_putc(out, '0');
}

/* The fewest digits that mean this number and no other: value = digits · 10^*exponent, without zeros at the end. */
static void shortest_digits(double value, char *digits, int *exponent)
{
    char text[40];
    int precision = 0;
    do
        snprintf(text, sizeof text, "%.*e", precision, value);
    while (strtod(text, NULL) != value && ++precision < 17);
    char *e = strchr(text, 'e');
    int n = 0;
    for (const char *s = text; s < e; s++) {
        if (*s != '.')
            digits[n++] = *s;
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    *exponent = (int)strtol(e + 1, NULL, 10) - (n - 1);
}

void chm_quantity_print(ChmOut *out, double value, ChmQuantityKind kind)
{
    char digits[40] = "";
    int exponent;
    const Unit *unit = NULL;
    shortest_digits(value, digits, &exponent);
    int leading = exponent + (int)strlen(digits) - 1; /* value >= 10^leading */
    for (int i = 0; i < NUNITS; i++) {
        if (!units[i].printed || units[i].kind != kind)
            continue;
        unit = &units[i];
        if (leading >= unit->ten)
            break;
    }
    put_decimal(out, digits, exponent - unit->ten);
    chm_out_printf(out, " %s", unit->name);
}
