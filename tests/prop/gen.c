/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/prop/gen.c - random plans. Layouts are kept here in a form of our own, so that a mistake in the compiler's
 * layouts cannot hide itself.
 */
#include "gen.h"

#include <inttypes.h>

enum { MAX_AXES = 4, MAX_DIMS = 3, MAX_VALUES = 16 };
enum { MAX_RANKS_ON_WIRES = 8 }; /* routes take long on any machine but one switch */

static const char *const axis_names[MAX_AXES] = {"dp", "tp", "pp", "ep"};
static const char *const dim_names[MAX_DIMS] = {"seq", "hidden", "expert"};
static const char *const dtypes[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8"};

typedef struct Split {
    int32_t n;
    int32_t axis[MAX_AXES];
} Split;

/* An axis is in a split, or partial, or pinned, or in none of them. */
typedef struct Layout {
    Split split[MAX_DIMS];
    bool partial[MAX_AXES];
    bool pinned[MAX_AXES];
    int32_t pin[MAX_AXES];
} Layout;

typedef struct Gen {
    ChmOut *out;
    uint64_t state;
    int32_t naxes, size[MAX_AXES], ranks;
    int32_t ndims;
    bool even; /* sizes that blocks and chunks divide */
} Gen;

int32_t gen_number(uint64_t *state, int32_t n)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (int32_t)((z ^ z >> 31) % (uint64_t)n);
}

static int32_t below(Gen *g, int32_t n)
{
    return gen_number(&g->state, n);
}

static bool chance(Gen *g, int32_t percent)
{
    return below(g, 100) < percent;
}

/* ---- layouts */

static void release_axis(Layout *l, int32_t axis)
{
    l->partial[axis] = l->pinned[axis] = false;
    for (int32_t d = 0; d < MAX_DIMS; d++) {
        Split *s = &l->split[d];
        int32_t kept = 0;
        for (int32_t i = 0; i < s->n; i++)
            if (s->axis[i] != axis)
                s->axis[kept++] = s->axis[i];
        s->n = kept;
    }
}

static void split_at_random(Gen *g, Layout *l, int32_t axis)
{
    Split *s = &l->split[below(g, g->ndims)];
    int32_t at = below(g, s->n + 1);
    for (int32_t i = s->n++; i > at; i--)
        s->axis[i] = s->axis[i - 1];
    s->axis[at] = axis;
}

static void set_axis(Gen *g, Layout *l, int32_t axis, bool may_be_partial)
{
    int32_t dice = below(g, 100);
    release_axis(l, axis);
    if (may_be_partial && dice < 40)
        l->partial[axis] = true;
    else if (dice < 70)
        split_at_random(g, l, axis);
    else if (dice < 82) {
        l->pinned[axis] = true;
        l->pin[axis] = below(g, g->size[axis]);
    }
}

static Layout input_layout(Gen *g)
{
    Layout l = {0};
    bool owes = chance(g, 70);
    for (int32_t a = 0; a < g->naxes; a++)
        set_axis(g, &l, a, owes);
    return l;
}

/* Where an arrow leads: somewhere else altogether, or a change or two from where it starts. */
static Layout next_layout(Gen *g, const Layout *from)
{
    Layout l = *from;
    bool afresh = chance(g, 35);
    int32_t changes = 1 + below(g, 2);
    if (chance(g, 5))
        return l; /* no change at all */
    for (int32_t i = 0; i < (afresh ? g->naxes : changes); i++) {
        int32_t a = afresh ? i : below(g, g->naxes);
        set_axis(g, &l, a, from->partial[a] && afresh);
    }
    return l;
}

/* A sum that the next stage is to have whole: where chunks pay, if anywhere. False where no two axes serve. */
static bool next_stage(Gen *g, Layout *from, Layout *to)
{
    int32_t sum = below(g, g->naxes), stage = below(g, g->naxes);
    *from = *to = (Layout){0};
    if (sum == stage || g->size[sum] < 2 || g->size[stage] < 2)
        return false;
    from->partial[sum] = true;
    from->pinned[stage] = to->pinned[stage] = true;
    to->pin[stage] = 1;
    return true;
}

static void write_partial(const Gen *g, const Layout *l)
{
    const char *before = " partial(";
    for (int32_t a = 0; a < g->naxes; a++)
        if (l->partial[a]) {
            chm_out_printf(g->out, "%s%s", before, axis_names[a]);
            before = ", ";
        }
    if (before[0] == ',')
        chm_out_putc(g->out, ')');
}

static void write_layout(const Gen *g, const Layout *l)
{
    for (int32_t d = 0; d < g->ndims && d < MAX_DIMS; d++) {
        chm_out_printf(g->out, "%s%s", d ? ", " : "[", dim_names[d]);
        for (int32_t i = 0; i < l->split[d].n; i++)
            chm_out_printf(g->out, "/%s", axis_names[l->split[d].axis[i]]);
    }
    chm_out_putc(g->out, ']');
    write_partial(g, l);
    const char *before = " at(";
    for (int32_t a = 0; a < g->naxes; a++)
        if (l->pinned[a]) {
            chm_out_printf(g->out, "%s%s=%d", before, axis_names[a], (int)l->pin[a]);
            before = ", ";
        }
    if (before[0] == ',')
        chm_out_putc(g->out, ')');
}

/* ---- the plan */

static void choose_mesh(Gen *g, int32_t max_ranks)
{
    int32_t ranks = 1;
    if (max_ranks > 16 && chance(g, 75)) /* large meshes take long, and find little that small ones do not */
        max_ranks = 16;
    g->naxes = 1 + below(g, MAX_AXES);
    for (int32_t a = 0; a < g->naxes; a++) {
        g->size[a] = chance(g, 10) ? 1 : 2 + below(g, 3);
        while (ranks * g->size[a] > max_ranks)
            g->size[a]--;
        ranks *= g->size[a];
        chm_out_printf(g->out, "%s%s = %d", a ? ", " : "mesh cluster (", axis_names[a], (int)g->size[a]);
    }
    g->ranks = ranks;
    chm_out_puts(g->out, ");\n");
}

/* Of an even one, the first dim takes two chunks of a block for each rank, and the others small splits. */
static int32_t dim_size(Gen *g, int32_t dim)
{
    if (!g->even)
        return 1 + below(g, 13);
    if (dim > 0)
        return 2 * (1 + below(g, 6));
    return g->ranks * (g->ranks > 16 ? 1 : 2 << below(g, 2));
}

static void write_tensor(Gen *g, char name)
{
    int32_t dtype = below(g, (int32_t)(sizeof dtypes / sizeof *dtypes));
    chm_out_printf(g->out, "tensor %c : %s[", name, dtypes[dtype]);
    for (int32_t d = 0; d < g->ndims && d < MAX_DIMS; d++)
        chm_out_printf(g->out, "%s%s = %d", d ? ", " : "", dim_names[d], (int)dim_size(g, d));
    chm_out_puts(g->out, "];\n");
}

/* ---- the machine */

/* Numbers whose product is n. */
static void write_grid(Gen *g, int32_t n)
{
    const char *between = "";
    for (int32_t dims = 1 + below(g, 3); dims > 0; dims--) {
        int32_t part = dims > 1 ? 1 + below(g, n) : n;
        while (n % part != 0)
            part = 1 + below(g, n);
        chm_out_printf(g->out, "%s%d", between, (int)part);
        between = " x ";
        n /= part;
    }
}

/* 'units' are joined, of which each holds 'inside' ranks. */
static void write_wires(Gen *g, int32_t units, int32_t inside, const char *unit)
{
    static const char *const latency[] = {"", " latency = 20 ns;", " latency = 1 us;", " latency = 12.5 us;"};
    static const char *const kinds[] = {"", " ring;", " mesh ", " torus "};
    static const int32_t amounts[] = {300, 100, 50, 25, 10, 1};
    int32_t kind = g->ranks > MAX_RANKS_ON_WIRES || chance(g, 60) ? 0 : 1 + below(g, 3);
    chm_out_printf(g->out, " {%s", kinds[kind]);
    if (kind >= 2) {
        write_grid(g, units);
        chm_out_putc(g->out, ';');
    } else if (kind == 0 && inside > 1 && chance(g, 40)) {
        chm_out_puts(g->out, " shared;");
    }
    chm_out_printf(g->out, " bandwidth = %d %s;%s%s }\n", (int)amounts[below(g, 6)], unit, latency[below(g, 4)],
                   chance(g, 25) ? " message = 200 ns;" : "");
}

/* A level of some axes that no level has yet; how many units it joins. 0: there would be none left for the last. */
static int32_t write_axes(Gen *g, bool *taken, const char *name)
{
    int32_t units = 1, left = 0, first = below(g, g->naxes), second = chance(g, 30) ? below(g, g->naxes) : first;
    for (int32_t a = 0; a < g->naxes; a++)
        left += !taken[a] && a != first && a != second && g->size[a] > 1;
    if (taken[first] || taken[second] || left == 0)
        return 0;
    chm_out_printf(g->out, "  level %s (%s", name, axis_names[first]);
    if (second != first)
        chm_out_printf(g->out, ", %s", axis_names[second]);
    chm_out_putc(g->out, ')');
    for (int32_t a = 0; a < g->naxes; a++) {
        if (a == first || a == second) {
            units *= g->size[a];
            taken[a] = true;
        }
    }
    return units;
}

/* A level of consecutive ranks, as many times those of the level below; how many units it joins, or 0. */
static int32_t write_ranks(Gen *g, int32_t inside, const char *name)
{
    int32_t units = 2 + below(g, 3);
    if (g->ranks % (units * inside) != 0 || units * inside == g->ranks)
        return 0;
    chm_out_printf(g->out, "  level %s %d", name, (int)(units * inside));
    return units;
}

/* 1-3 levels, by axes or by ranks. Slow wires let the bytes of small tensors count, fast ones the latencies. */
static void write_topology(Gen *g)
{
    static const char *const names[] = {"board", "node"};
    const char *unit = chance(g, 50) ? "GB/s" : "MB/s";
    bool by_axes = chance(g, 50), taken[MAX_AXES] = {false};
    int32_t inside = 1;
    chm_out_puts(g->out, "topology machine {\n");
    for (int32_t i = g->ranks > MAX_RANKS_ON_WIRES ? 2 : below(g, 3); i < 2; i++) {
        int32_t units = by_axes ? write_axes(g, taken, names[i]) : write_ranks(g, inside, names[i]);
        if (units == 0)
            continue;
        write_wires(g, units, inside, unit);
        inside *= units;
    }
    chm_out_puts(g->out, "  level fabric");
    write_wires(g, g->ranks / inside, inside, unit);
    chm_out_printf(g->out, "%s}\n", chance(g, 30) ? "  reduce = 10 GB/s;\n" : "");
}

/* ---- the statements */

static void write_output(const Gen *g, char name, int32_t value, const Layout *l)
{
    chm_out_printf(g->out, "  output %c%d", name, (int)value);
    write_partial(g, l);
    chm_out_puts(g->out, ";\n");
}

/* The statements of one tensor: values name0, name1, ... */
static void write_chain(Gen *g, char name)
{
    Layout layouts[MAX_VALUES] = {0};
    int32_t arrows = 1 + below(g, 6);
    bool stages = g->even && chance(g, 60) && next_stage(g, &layouts[0], &layouts[1]);
    if (!stages)
        layouts[0] = input_layout(g);
    chm_out_printf(g->out, "  %c0 = input %c ", name, name);
    write_layout(g, &layouts[0]);
    chm_out_puts(g->out, ";\n");
    for (int32_t v = 1; v <= arrows; v++) {
        int32_t from = chance(g, 75) ? v - 1 : below(g, v);
        if (v > 1 || !stages)
            layouts[v] = next_layout(g, &layouts[from]);
        chm_out_printf(g->out, "  %c%d = %c%d -> ", name, (int)v, name, (int)from);
        write_layout(g, &layouts[v]);
        chm_out_puts(g->out, ";\n");
        if (v < arrows && chance(g, 25))
            write_output(g, name, v, &layouts[v]);
    }
    if (chance(g, 8))
        write_output(g, name, 0, &layouts[0]);
    write_output(g, name, arrows, &layouts[arrows]);
}

void gen_plan(ChmOut *out, uint64_t seed, int32_t max_ranks)
{
    Gen g = {.out = out, .state = seed * UINT64_C(0xD6E8FEB86659FD93)};
    int32_t ndims[2];
    chm_out_printf(out, "plan random_%" PRIu64 ";\n\n", seed);
    choose_mesh(&g, max_ranks);
    if (chance(&g, 33))
        write_topology(&g);
    g.even = chance(&g, 33);
    int32_t ntensors = chance(&g, 25) ? 2 : 1;
    for (int32_t t = 0; t < ntensors; t++) {
        g.ndims = ndims[t] = 1 + below(&g, MAX_DIMS);
        write_tensor(&g, (char)('x' + t));
    }
    chm_out_puts(out, "\nstep {\n");
    for (int32_t t = 0; t < ntensors; t++) {
        g.ndims = ndims[t];
        write_chain(&g, (char)('x' + t));
    }
    chm_out_puts(out, "}\n");
}
