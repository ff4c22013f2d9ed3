/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/topology.c - the levels of a topology over the ranks of a mesh.
 *
 * The groups of a level sized in ranks are blocks of consecutive ranks. Those of a level by axes are the ranks that
 * differ only in its axes and in those of the levels below, its span. Both are counted in mixed radix, and since groups
 * nest, no function looks at more than one rank.
 */
#include "ir/topology.h"

const char *const chm_level_kinds[] = {"switch", "ring", "mesh", "torus"};

const ChmTopology chm_default_topology = {
    .name = "one switch",
    .nlevels = 1,
    .level = {{.name = "switch", .kind = CHM_LEVEL_SWITCH, .bandwidth_bytes_per_s = 25e9}},
};

static bool is_last(const ChmTopology *t, int32_t level)
{
    return level == t->nlevels - 1;
}

/* The axes of the levels up to this one. */
static ChmAxes span_of(const ChmTopology *t, int32_t level)
{
    ChmAxes set = 0;
    for (int32_t i = 0; i <= level; i++)
        set |= t->level[i].axes;
    return set;
}

/* Row-major over the axes in the set. */
static int32_t place_over(const ChmMesh *mesh, ChmAxes set, int32_t rank)
{
    int32_t k = 0;
    for (int32_t i = 0; i < mesh->naxes; i++) {
        if (set & CHM_AXIS(i))
            k = k * mesh->axis_size[i] + chm_mesh_coord(mesh, rank, i);
    }
    return k;
}

static int32_t extent(const ChmMesh *mesh, ChmAxes set)
{
    int32_t n = 1;
    for (int32_t i = 0; i < mesh->naxes; i++)
        n *= (set & CHM_AXIS(i)) ? mesh->axis_size[i] : 1;
    return n;
}

int32_t chm_topology_group(const ChmTopology *t, const ChmMesh *mesh, int32_t level, int32_t rank)
{
    if (is_last(t, level))
        return 0;
    if (t->level[level].group_ranks)
        return rank / t->level[level].group_ranks;
    return place_over(mesh, ~span_of(t, level), rank);
}

int32_t chm_topology_level_between(const ChmTopology *t, const ChmMesh *mesh, int32_t a, int32_t b)
{
    if (a == b)
        return -1;
    int32_t level = 0;
    while (!is_last(t, level) && chm_topology_group(t, mesh, level, a) != chm_topology_group(t, mesh, level, b))
        level++;
    return level;
}

int32_t chm_topology_group_ranks(const ChmTopology *t, const ChmMesh *mesh, int32_t level)
{
    if (is_last(t, level))
        return mesh->ranks;
    return t->level[level].group_ranks ? t->level[level].group_ranks : extent(mesh, span_of(t, level));
}

int32_t chm_topology_units(const ChmTopology *t, const ChmMesh *mesh, int32_t level)
{
    int32_t ranks = chm_topology_group_ranks(t, mesh, level);
    return level ? ranks / chm_topology_group_ranks(t, mesh, level - 1) : ranks;
}

int32_t chm_topology_unit(const ChmTopology *t, const ChmMesh *mesh, int32_t level, int32_t rank)
{
    const ChmLevel *it = &t->level[level];
    if (is_last(t, level) || it->group_ranks) { /* a block of ranks holds a run of the groups below */
        int32_t below = level ? chm_topology_group(t, mesh, level - 1, rank) : rank;
        return below % chm_topology_units(t, mesh, level);
    }
    if (level && t->level[level - 1].group_ranks) /* the groups below are runs of the ranks of this one */
        return place_over(mesh, span_of(t, level), rank) / t->level[level - 1].group_ranks;
    return place_over(mesh, span_of(t, level) & ~span_of(t, level - 1), rank);
}

/* ---- checks */

typedef struct Check {
    ChmCtx *ctx;
    const ChmTopology *t;
    const ChmMesh *mesh;
} Check;

#define ERROR(c, at, ...) chm_error(&(c)->ctx->diags, (at), __VA_ARGS__)
#define HELP(c, diag, ...) chm_help(&(c)->ctx->diags, (diag), __VA_ARGS__)

/* The greatest divisor of n up to k, for 1 <= k. O(sqrt n). */
static int32_t divisor_near(int32_t n, int64_t k)
{
    int32_t best = 1;
    for (int32_t d = 1; d <= n / d; d++) {
        if (n % d)
            continue;
        if (d <= k && d > best)
            best = d;
        if (n / d <= k && n / d > best)
            best = n / d;
    }
    return best;
}

static bool check_ranks(Check *c, int32_t i)
{
    const ChmLevel *level = &c->t->level[i];
    int32_t ranks = c->mesh->ranks;
    if (level->group_ranks < 1 || ranks % level->group_ranks) {
        ChmDiag *d = ERROR(c, level->span, "level '%s' holds %d ranks, which do not divide the %d of mesh '%s'",
                           level->name, level->group_ranks, ranks, c->mesh->name);
        if (level->group_ranks > ranks)
            HELP(c, d, "A level holds at most the %d ranks that there are; the last level has no size.", ranks);
        else if (level->group_ranks > 1)
            HELP(c, d, "The size of a level divides the ranks of the mesh: %d would do.",
                 divisor_near(ranks, level->group_ranks));
        return false;
    }
    if (i && c->t->level[i - 1].group_ranks && level->group_ranks % c->t->level[i - 1].group_ranks) {
        ChmDiag *d = ERROR(c, level->span, "level '%s' holds %d ranks, not a multiple of the %d of level '%s'",
                           level->name, level->group_ranks, c->t->level[i - 1].group_ranks, c->t->level[i - 1].name);
        chm_note(&c->ctx->diags, d, c->t->level[i - 1].span, "the level below is here");
        HELP(c, d, "Levels stand inner first, and each holds whole groups of the one below.");
        return false;
    }
    return true;
}

/* Blocks of 'block' consecutive ranks inside groups over 'span', or the other way round. */
static bool nests(const ChmMesh *mesh, int32_t block, ChmAxes span, bool block_inside)
{
    for (int32_t i = 0; i < mesh->naxes; i++) {
        bool in_span = span & CHM_AXIS(i);
        if (mesh->trivial & CHM_AXIS(i) || in_span == block_inside)
            continue;
        if (block_inside ? mesh->stride[i] % block : block % ((int64_t)mesh->stride[i] * mesh->axis_size[i]))
            return false;
    }
    return true;
}

/* Levels of one kind nest by their sizes or sets; this is about a level by axes next to one sized in ranks. */
static bool check_nesting(Check *c, int32_t i)
{
    const ChmLevel *level = &c->t->level[i];
    const ChmLevel *below = i ? level - 1 : NULL;
    if (!below || (level->group_ranks != 0) == (below->group_ranks != 0))
        return true;
    bool block_inside = below->group_ranks != 0;
    int32_t block = block_inside ? below->group_ranks : level->group_ranks;
    if (nests(c->mesh, block, span_of(c->t, i), block_inside))
        return true;
    ChmDiag *d = ERROR(c, level->span, "level '%s' cuts through groups of level '%s'", level->name, below->name);
    chm_note(&c->ctx->diags, d, below->span, "the level below is here");
    HELP(c, d, "Of two levels, one sized in ranks and one by axes, the outer holds whole groups of the inner.");
    return false;
}

static bool check_axes(Check *c, int32_t i)
{
    const ChmTopology *t = c->t;
    for (int32_t j = 0; j < i; j++) {
        ChmAxes both = t->level[i].axes & t->level[j].axes;
        for (int32_t a = 0; a < c->mesh->naxes; a++) {
            if (!(both & CHM_AXIS(a)))
                continue;
            ChmDiag *d = ERROR(c, t->level[i].span, "axis '%s' is in two levels, '%s' and '%s'", c->mesh->axis_name[a],
                               t->level[j].name, t->level[i].name);
            HELP(c, d, "A level by axes spans those of the levels below as well: name only what it adds.");
            return false;
        }
    }
    return true;
}

static bool check_size(Check *c, int32_t i)
{
    const ChmLevel *level = &c->t->level[i];
    bool sized = level->group_ranks != 0 || level->axes != 0;
    if (is_last(c->t, i) && sized) {
        ChmDiag *d = ERROR(c, level->span, "the last level, '%s', has a size", level->name);
        HELP(c, d, "The last level joins all ranks: write `level %s { ... }`, or add a level for the rest.",
             level->name);
        return false;
    }
    if (!is_last(c->t, i) && !sized) {
        ChmDiag *d = ERROR(c, level->span, "level '%s' has no size, and is not the last", level->name);
        HELP(c, d, "Say how many ranks it holds, `level %s 8 { ... }`, or which axes, `level %s (tp) { ... }`.",
             level->name, level->name);
        return false;
    }
    if (level->group_ranks && !check_ranks(c, i))
        return false;
    return check_axes(c, i) && (is_last(c->t, i) || check_nesting(c, i));
}

static const char *grid_str(Check *c, const ChmLevel *level)
{
    const char *text = "";
    for (int32_t k = 0; k < level->grid_dims; k++)
        text = chm_arena_printf(&c->ctx->arena, "%s%s%d", text, k ? " x " : "", level->grid[k]);
    return text;
}

static bool check_grid(Check *c, int32_t i)
{
    const ChmLevel *level = &c->t->level[i];
    int64_t points = 1;
    int32_t units = chm_topology_units(c->t, c->mesh, i);
    if (level->kind == CHM_LEVEL_SWITCH)
        return true;
    for (int32_t k = 0; k < level->grid_dims && points <= INT32_MAX; k++)
        points *= level->grid[k];
    if (points == units)
        return true;
    const char *kind = chm_level_kinds[level->kind];
    ChmDiag *d =
        ERROR(c, level->span, "the %s %s has %s%lld points, but level '%s' joins %d %s", kind, grid_str(c, level),
              points > INT32_MAX ? "more than " : "", (long long)(points > INT32_MAX ? INT32_MAX : points), level->name,
              units, i ? "groups of the level below" : "ranks");
    if (level->grid_dims == 1)
        HELP(c, d, "Write `%s %d;`.", kind, units);
    else
        HELP(c, d, "Its sizes multiply to %d, as in `%s %d x %d;`.", units, kind, units / divisor_near(units, 2),
             divisor_near(units, 2));
    return false;
}

ChmStatus chm_topology_check(ChmCtx *ctx, const ChmTopology *t, const ChmMesh *mesh)
{
    Check c = {ctx, t, mesh};
    bool good = true;
    if (t->nlevels < 1) {
        ChmDiag *d = ERROR(&c, t->span, "topology '%s' has no levels", t->name);
        HELP(&c, d, "One is enough: `level switch { bandwidth = 50 GB/s; }`.");
        return CHM_ERR_INPUT;
    }
    for (int32_t i = 0; i < t->nlevels; i++)
        good &= check_size(&c, i);
    bool sized = good;
    for (int32_t i = 0; sized && i < t->nlevels; i++)
        good &= check_grid(&c, i);
    return good ? CHM_OK : CHM_ERR_INPUT;
}
