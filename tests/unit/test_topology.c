/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_topology.c - groups, units and levels between ranks against their definition, rank by rank; checks of
 * topologies that no text made; amounts that print and read back the same.
 */
#include "front/front.h"
#include "ir/module.h"
#include "ir/topology_text.h"

#include "unit.h"

static const ChmMesh *make_mesh(ChmCtx *ctx, int32_t a, int32_t b, int32_t c)
{
    const char *names[] = {"a", "b", "c"};
    int32_t sizes[] = {a, b, c};
    return chm_mesh_make(ctx, "m", 3, names, sizes);
}

static ChmLevel level(const char *name, int32_t group_ranks, ChmAxes axes)
{
    return (ChmLevel){.name = name, .group_ranks = group_ranks, .axes = axes, .bandwidth_bytes_per_s = 1e9};
}

/* ---- against the definition */

static bool by_definition(const ChmTopology *t, const ChmMesh *m, int32_t i, int32_t p, int32_t q)
{
    if (i == t->nlevels - 1)
        return true;
    if (t->level[i].group_ranks)
        return p / t->level[i].group_ranks == q / t->level[i].group_ranks;
    ChmAxes span = 0;
    for (int32_t j = 0; j <= i; j++)
        span |= t->level[j].axes;
    for (int32_t axis = 0; axis < m->naxes; axis++) {
        if (!(span & CHM_AXIS(axis)) && chm_mesh_coord(m, p, axis) != chm_mesh_coord(m, q, axis))
            return false;
    }
    return true;
}

/* Units of a group are counted in order of their first ranks. */
static int32_t unit_by_definition(const ChmTopology *t, const ChmMesh *m, int32_t i, int32_t rank)
{
    int32_t unit = 0;
    for (int32_t p = 0; p < m->ranks; p++) {
        if (!by_definition(t, m, i, p, rank))
            continue;
        if (i == 0 ? p == rank : by_definition(t, m, i - 1, p, rank))
            return unit;
        bool first = true;
        for (int32_t q = 0; i > 0 && q < p; q++)
            first = first && !by_definition(t, m, i - 1, p, q);
        unit += first;
    }
    return -1;
}

static void compare_level(const ChmTopology *t, const ChmMesh *m, int32_t i)
{
    int32_t groups = m->ranks / chm_topology_group_ranks(t, m, i), units = chm_topology_units(t, m, i);
    for (int32_t p = 0; p < m->ranks; p++) {
        int32_t group = chm_topology_group(t, m, i, p), members = 0;
        CU_ASSERT(group >= 0 && group < groups);
        for (int32_t q = 0; q < m->ranks; q++) {
            members += by_definition(t, m, i, p, q);
            CU_ASSERT_EQUAL(group == chm_topology_group(t, m, i, q), by_definition(t, m, i, p, q));
        }
        CU_ASSERT_EQUAL(members, chm_topology_group_ranks(t, m, i));
        CU_ASSERT(chm_topology_unit(t, m, i, p) < units);
        CU_ASSERT_EQUAL(chm_topology_unit(t, m, i, p), unit_by_definition(t, m, i, p));
    }
}

static void compare_between(const ChmTopology *t, const ChmMesh *m)
{
    for (int32_t p = 0; p < m->ranks; p++) {
        for (int32_t q = 0; q < m->ranks; q++) {
            int32_t i = 0;
            while (!by_definition(t, m, i, p, q))
                i++;
            CU_ASSERT_EQUAL(chm_topology_level_between(t, m, p, q), p == q ? -1 : i);
        }
    }
}

/* Checks that fail must be ones where groups do not nest or do not divide. */
static void compare(ChmCtx *ctx, const ChmTopology *t, const ChmMesh *m)
{
    bool nests = true;
    for (int32_t i = 0; i < t->nlevels - 1; i++) {
        nests = nests && (t->level[i].group_ranks == 0 || m->ranks % t->level[i].group_ranks == 0);
        for (int32_t p = 0; i > 0 && p < m->ranks; p++) {
            for (int32_t q = 0; q < p; q++)
                nests = nests && (!by_definition(t, m, i - 1, p, q) || by_definition(t, m, i, p, q));
        }
    }
    bool fits = chm_topology_check(ctx, t, m) == CHM_OK;
    CU_ASSERT_EQUAL(fits, nests);
    for (int32_t i = 0; fits && i < t->nlevels; i++)
        compare_level(t, m, i);
    if (fits)
        compare_between(t, m);
}

static void test_definition(void)
{
    static const int32_t shapes[][3] = {{2, 3, 4}, {4, 1, 3}, {3, 2, 2}, {1, 1, 1}, {2, 6, 1}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        ChmCtx ctx;
        chm_ctx_init(&ctx);
        const ChmMesh *m = make_mesh(&ctx, shapes[s][0], shapes[s][1], shapes[s][2]);
        /* a level is a number of ranks, or -(a set of axes) */
        for (int32_t first = -7; first <= m->ranks; first++) {
            for (int32_t second = -7; second <= m->ranks; second++) {
                ChmTopology t = {.name = "t", .nlevels = 3};
                if (first == 0 || second == 0 || (first < 0 && second < 0 && (-first & -second)))
                    continue;
                t.level[0] = first > 0 ? level("x", first, 0) : level("x", 0, (ChmAxes)-first);
                t.level[1] = second > 0 ? level("y", second, 0) : level("y", 0, (ChmAxes)-second);
                t.level[2] = level("z", 0, 0);
                if (first > 0 && second > 0 && second % first && m->ranks % second == 0 && m->ranks % first == 0)
                    CU_ASSERT_NOT_EQUAL(chm_topology_check(&ctx, &t, m), CHM_OK);
                compare(&ctx, &t, m);
            }
        }
        chm_ctx_fini(&ctx);
    }
}

/* Ranks around axes around ranks. */
static void test_alternating(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    const ChmMesh *m = make_mesh(&ctx, 2, 3, 4);
    ChmTopology t = {.name = "t", .nlevels = 4};
    t.level[0] = level("pair", 2, 0);
    t.level[1] = level("node", 0, CHM_AXIS(2));
    t.level[2] = level("board", 12, 0);
    t.level[3] = level("fabric", 0, 0);
    compare(&ctx, &t, m);
    t.level[0] = level("node", 0, CHM_AXIS(2));
    t.level[1] = level("board", 12, 0);
    t.level[2] = level("pod", 0, CHM_AXIS(0) | CHM_AXIS(1));
    compare(&ctx, &t, m);
    CU_ASSERT_EQUAL(ctx.diags.errors, 0);
    chm_ctx_fini(&ctx);
}

/* ---- checks */

static void test_checks(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    const ChmMesh *m = make_mesh(&ctx, 2, 3, 4);
    ChmTopology none = {.name = "none"};
    CU_ASSERT_EQUAL(chm_topology_check(&ctx, &none, m), CHM_ERR_INPUT);
    ChmTopology sized = {.name = "sized", .nlevels = 1, .level = {level("x", 24, 0)}};
    CU_ASSERT_EQUAL(chm_topology_check(&ctx, &sized, m), CHM_ERR_INPUT);
    ChmTopology twice = {
        .name = "twice", .nlevels = 3, .level = {level("x", 0, 4), level("y", 0, 6), level("z", 0, 0)}};
    CU_ASSERT_EQUAL(chm_topology_check(&ctx, &twice, m), CHM_ERR_INPUT);
    ChmTopology grid = {.name = "grid", .nlevels = 2, .level = {level("x", 0, 4), level("y", 0, 0)}};
    grid.level[1].kind = CHM_LEVEL_TORUS;
    grid.level[1].grid_dims = 2;
    grid.level[1].grid[0] = 2;
    grid.level[1].grid[1] = 3;
    CU_ASSERT_EQUAL(ctx.diags.errors, 3);
    CU_ASSERT_EQUAL(chm_topology_check(&ctx, &grid, m), CHM_OK);
    CU_ASSERT_EQUAL(chm_topology_check(&ctx, &chm_default_topology, m), CHM_OK);
    grid.level[1].grid[1] = INT32_MAX;
    CU_ASSERT_EQUAL(chm_topology_check(&ctx, &grid, m), CHM_ERR_INPUT);
    chm_ctx_fini(&ctx);
}

/* ---- files */

static const ChmTopology *parse(ChmCtx *ctx, const char *text, const ChmDefine *defines, int32_t n)
{
    const ChmSource *source = chm_source_from_text(&ctx->arena, "t.topo", text, strlen(text));
    return chm_topology_parse(ctx, source, defines, n, make_mesh(ctx, 2, 3, 4));
}

/* Axes that the mesh lacks count as of size 1, and levels of nothing but such axes go away. */
static void test_foreign_axes(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    const ChmTopology *t = parse(&ctx,
                                 "topology t { level node (ep, c, cp) { ring; bandwidth = 3 GB/s; }\n"
                                 "level pod (sp) { bandwidth = 2 GB/s; shared; }\n"
                                 "level fabric { ring; bandwidth = 1 GB/s; shared; } }",
                                 NULL, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(t->nlevels, 2);
    CU_ASSERT_EQUAL(t->level[0].axes, CHM_AXIS(2));
    CU_ASSERT_EQUAL(t->level[0].grid[0], 4);
    CU_ASSERT_EQUAL(t->level[1].grid[0], 6);
    CU_ASSERT_FALSE(t->level[1].shared);
    CU_ASSERT_PTR_NULL(parse(&ctx,
                             "topology t { level node (ep) { torus 2 x 2; bandwidth = 3 GB/s; }\n"
                             "level fabric { bandwidth = 1 GB/s; } }",
                             NULL, 0));
    chm_ctx_fini(&ctx);
}

static void test_defines(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    static const char text[] = "param n = 5; topology t { level node n { bandwidth = 3 GB/s; }\n"
                               "level fabric { bandwidth = n GB/s; } }";
    ChmDefine good = {"n", 6}, bad = {"k", 6};
    const ChmTopology *t = parse(&ctx, text, &good, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(t->level[0].group_ranks, 6);
    CU_ASSERT_EQUAL(t->level[1].bandwidth_bytes_per_s, 6e9);
    CU_ASSERT_PTR_NULL(parse(&ctx, text, NULL, 0));
    CU_ASSERT_PTR_NULL(parse(&ctx, text, &bad, 1));
    CU_ASSERT_PTR_NULL(parse(&ctx, "", NULL, 0));
    CU_ASSERT_PTR_NULL(parse(&ctx, "plan p;", NULL, 0));
    chm_ctx_fini(&ctx);
}

/* ---- amounts */

static double read_back(ChmCtx *ctx, const char *text, ChmQuantityKind kind)
{
    const char *space = strchr(text, ' ');
    ChmQuantityText q = {.digits = chm_arena_strndup(&ctx->arena, text, (size_t)(space - text)),
                         .unit = {.text = space + 1}};
    double value = 0;
    CU_ASSERT(chm_quantity_read(ctx, "x", &q, kind, "", &value));
    return value;
}

static void test_amounts(void)
{
    static const struct {
        double value;
        ChmQuantityKind kind;
        const char *text;
    } cases[] = {
        {300e9, CHM_BANDWIDTH, "300 GB/s"}, {1e18, CHM_BANDWIDTH, "1000000 TB/s"}, {1, CHM_BANDWIDTH, "1 B/s"},
        {1.5, CHM_BANDWIDTH, "1.5 B/s"},    {12.5e9, CHM_BANDWIDTH, "12.5 GB/s"},  {2e-6, CHM_TIME, "2 us"},
        {1e-9, CHM_TIME, "1 ns"},           {2.5e-11, CHM_TIME, "0.025 ns"},       {1e-15, CHM_TIME, "0.000001 ns"},
        {1000, CHM_TIME, "1000 s"},         {100e-9, CHM_TIME, "100 ns"},          {0.25, CHM_TIME, "250 ms"},
    };
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ChmOut out;
        chm_out_init_arena(&out, &ctx.arena);
        chm_quantity_print(&out, cases[i].value, cases[i].kind);
        UNIT_SAME_TEXT(chm_out_text(&out), cases[i].text);
        CU_ASSERT(read_back(&ctx, cases[i].text, cases[i].kind) == cases[i].value);
    }
    uint64_t state = 1;
    for (int i = 0; i < 2000; i++) {
        ChmQuantityKind kind = i % 2 ? CHM_TIME : CHM_BANDWIDTH;
        state = state * 6364136223846793005u + 1442695040888963407u;
        double value = (kind == CHM_TIME ? 1e-12 : 1e3) * (1 + (double)(state >> 11)) / 4096;
        if (value > (kind == CHM_TIME ? 1e3 : 1e18))
            continue;
        ChmOut out;
        chm_out_init_arena(&out, &ctx.arena);
        chm_quantity_print(&out, value, kind);
        CU_ASSERT(read_back(&ctx, chm_out_text(&out), kind) == value);
    }
    CU_ASSERT(read_back(&ctx, "12.5 GiB/s", CHM_BANDWIDTH) == 12.5 * 1024 * 1024 * 1024);
    CU_ASSERT(read_back(&ctx, "400 Gb/s", CHM_BANDWIDTH) == 50e9);
    CU_ASSERT_EQUAL(ctx.diags.errors, 0);
    chm_ctx_fini(&ctx);
}

/* ---- out of memory */

static bool parse_guarded(ChmCtx *ctx)
{
    static const char text[] = "plan p; mesh m (dp = 3, tp = 4); tensor x : f32[s = 8];\n"
                               "topology t { level node (tp) { torus 2x2; bandwidth = 1.5GB/s; } \n"
                               "level fabric { bandwidth = 1 GB/s; } reduce = 2 GB/s; }\n"
                               "step { a = input x [s]; output a; }";
    if (CHM_TRY(&ctx->guard)) {
        const ChmSource *source = chm_source_from_text(&ctx->arena, "t.plan", text, sizeof text - 1);
        const ChmPlan *plan = chm_plan_parse(ctx, source, NULL, 0);
        CU_ASSERT(plan && chm_plan_topology(plan) && !chm_plan_topology_set_aside(plan));
        ctx->guard.armed = false;
        return true;
    }
    return false;
}

static void test_out_of_memory(void)
{
    bool done = false;
    for (int64_t n = 1; !done && n < 10000; n++) {
        ChmCtx ctx;
        chm_ctx_init(&ctx);
        ctx.guard.fail_at = n;
        done = parse_guarded(&ctx);
        chm_ctx_fini(&ctx);
    }
    CU_ASSERT(done);
}

int main(void)
{
    static const UnitTest tests[] = {{"groups and units are as defined", test_definition},
                                     {"levels by ranks and by axes in turn", test_alternating},
                                     {"checks of topologies that no text made", test_checks},
                                     {"axes that the mesh lacks", test_foreign_axes},
                                     {"params of topology files", test_defines},
                                     {"amounts print and read back", test_amounts},
                                     {"out of memory", test_out_of_memory},
                                     UNIT_END};
    return unit_main("topology", tests);
}
