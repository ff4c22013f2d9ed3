/* SPDX-License-Identifier: Apache-2.0
 *
 * Prices on topologies: which wires a message loads, the figures of simulated machines, chains cut into chunks, bounds
 * on time that no sequence is below.
 */
#include "cost/bounds.h"
#include "cost/wires.h"
#include "random_topology.h"

#include <math.h>

#define MiB INT64_C(1048576)

/* As simulated: latencies of all links on the way. */
static const ChmTopology one_switch = {
    .name = "switch", .nlevels = 1, .level = {{.name = "switch", .bandwidth_bytes_per_s = 50e9, .latency_s = 200e-9}}};
static const ChmTopology two_nodes = {
    .name = "two nodes",
    .nlevels = 2,
    .level = {{.name = "node", .group_ranks = 4, .bandwidth_bytes_per_s = 300e9, .latency_s = 200e-9},
              {.name = "fabric", .bandwidth_bytes_per_s = 100e9, .latency_s = 2.2e-6, .shared = true}}};

/* ---- which wires */

static ChmTraffic traffic_on(World *w, const ChmTopology *topo)
{
    ChmTraffic t;
    CU_ASSERT_FATAL(chm_topology_check(&w->ctx, topo, w->mesh) == CHM_OK);
    chm_traffic_init(&t, &w->ctx.arena, topo, w->mesh);
    return t;
}

/* LOADED(t, n wires...): the wires with traffic, in order. */
#define LOADED(t, ...) \
    loaded(&(t), (const int32_t[]){__VA_ARGS__}, (int32_t)(sizeof((const int32_t[]){__VA_ARGS__}) / 4), __LINE__)

static void loaded(ChmTraffic *t, const int32_t *wires, int32_t n, unsigned line)
{
    int32_t found = 0;
    bool same = true;
    for (int32_t i = 0; i < chm_traffic_wires(t); i++) {
        if (t->step_wire_bytes[i] == 0)
            continue;
        same = same && found < n && wires[found] == i;
        found++;
    }
    same = same && found == n;
    CU_assertImplementation(same, line, "the wires with traffic", __FILE__, "", CU_FALSE);
    for (int32_t i = 0; i < chm_traffic_wires(t); i++) {
        if (t->step_wire_bytes[i] != 0 && !same)
            printf("line %u: wire %d: %lld\n", line, (int)i, (long long)t->step_wire_bytes[i]);
        t->step_wire_bytes[i] = 0;
    }
    t->step_level = -1;
}

static void test_switches(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "pp=2 tp=4", "x=8");
    ChmTraffic t = traffic_on(&w, &two_nodes); /* wires 0-15 of ranks, 16-19 of nodes */
    CU_ASSERT_EQUAL(chm_traffic_wires(&t), 20);
    chm_wires_send(&t, 0, 1, 8, 1);
    CU_ASSERT_EQUAL(t.step_level, 0);
    LOADED(t, 0, 3);
    chm_wires_send(&t, 1, 6, 8, 1);
    CU_ASSERT_EQUAL(t.step_level, 1);
    LOADED(t, 2, 13, 16, 19);
    chm_wires_send(&t, 1, 1, 8, 1);
    CU_ASSERT_EQUAL(t.step_level, -1);

    ChmTopology nics = two_nodes;
    nics.level[1].shared = false;
    t = traffic_on(&w, &nics);
    chm_wires_send(&t, 1, 6, 8, 1);
    LOADED(t, 18, 29);

    ChmTopology racks = {.nlevels = 3,
                         .level = {{.group_ranks = 2, .bandwidth_bytes_per_s = 1},
                                   {.group_ranks = 4, .bandwidth_bytes_per_s = 1},
                                   {.bandwidth_bytes_per_s = 1, .shared = true}}};
    t = traffic_on(&w, &racks);
    chm_wires_send(&t, 1, 6, 8, 1); /* out of the node by a NIC of its own */
    LOADED(t, 18, 29, 32, 35);
    racks.level[1].shared = true;
    t = traffic_on(&w, &racks);
    chm_wires_send(&t, 1, 6, 8, 1);
    LOADED(t, 2, 13, 16, 23, 24, 27);
    chm_wires_send(&t, 1, 3, 8, 1);
    LOADED(t, 2, 7, 16, 19);
    world_fini(&w);
}

static ChmTopology grid(ChmLevelKind kind, int32_t rows, int32_t columns)
{
    ChmTopology t = {.nlevels = 1, .level = {{.kind = kind, .grid_dims = 2, .grid = {rows, columns}}}};
    t.level[0].bandwidth_bytes_per_s = 1;
    if (kind == CHM_LEVEL_RING) {
        t.level[0].grid_dims = 1;
        t.level[0].grid[0] = rows * columns;
    }
    return t;
}

static void test_grids(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "a=2 b=3", "x=8");
    ChmTopology mesh = grid(CHM_LEVEL_MESH, 2, 3), torus = grid(CHM_LEVEL_TORUS, 2, 3);
    ChmTraffic t = traffic_on(&w, &mesh); /* rank r: rows 4r up, 4r+1 down, columns 4r+2, 4r+3 */
    chm_wires_send(&t, 0, 5, 8, 1);
    LOADED(t, 2, 6, 8);
    chm_wires_send(&t, 5, 0, 8, 1);
    LOADED(t, 13, 19, 23);
    t = traffic_on(&w, &torus);
    chm_wires_send(&t, 0, 2, 8, 1); /* round the end */
    LOADED(t, 3);
    chm_wires_send(&t, 4, 0, 8, 1); /* two rows: up either way */
    LOADED(t, 12, 19);

    world_set(&w, "a=4", "x=8");
    ChmTopology ring = grid(CHM_LEVEL_RING, 4, 1);
    t = traffic_on(&w, &ring);
    chm_wires_send(&t, 0, 2, 8, 1); /* as far either way: up */
    LOADED(t, 0, 2);
    chm_wires_send(&t, 2, 0, 8, 1);
    LOADED(t, 4, 6);
    chm_wires_send(&t, 0, 3, 8, 1);
    LOADED(t, 1);

    world_set(&w, "a=4 b=2", "x=8"); /* a ring of nodes, and nodes of a ring */
    ChmTopology nodes = {.nlevels = 2, .level = {{.group_ranks = 2, .bandwidth_bytes_per_s = 1}}};
    nodes.level[1] = ring.level[0];
    t = traffic_on(&w, &nodes);
    chm_wires_send(&t, 1, 6, 8, 1);
    LOADED(t, 2, 13, 17);
    nodes = (ChmTopology){.nlevels = 2};
    nodes.level[0] = ring.level[0];
    nodes.level[0].group_ranks = 4;
    nodes.level[1] = (ChmLevel){.bandwidth_bytes_per_s = 1, .shared = true};
    t = traffic_on(&w, &nodes);
    chm_wires_send(&t, 1, 6, 8, 1); /* the way out is at every point */
    LOADED(t, 16, 19);
    world_set(&w, "a=2 b=4", "x=8"); /* nodes by an axis that is not the last */
    ChmTopology columns = {.nlevels = 2, .level = {{.axes = 1, .bandwidth_bytes_per_s = 1}}};
    columns.level[1] = ring.level[0];
    t = traffic_on(&w, &columns);
    chm_wires_send(&t, 1, 5, 8, 1);
    LOADED(t, 2, 11);
    chm_wires_send(&t, 1, 6, 8, 1);
    LOADED(t, 2, 13, 18);
    world_fini(&w);
}

/* ---- prices */

static ChmStep single(World *w, const ChmLayout *from, const ChmLayout *to)
{
    ChmStep step;
    CU_ASSERT_FATAL(chm_arrow_single(&w->ctx, w->shape, from, to, &step));
    return step;
}

static ChmTraffic price_of(World *w, const ChmTopology *topo, const char *from, const char *to, ChmDtype dtype)
{
    ChmTraffic t = traffic_on(w, topo);
    ChmStep step = single(w, lay(w, from), lay(w, to));
    chm_traffic_add(&t, w->shape, dtype, lay(w, from), &step);
    return t;
}

#define LONG 16384 /* elements of a message that is not short */

/* The wire from member k of a ring to the next, where the ring lies on one of wires. */
static void test_rings(void)
{
    World w;
    world_init(&w, 1);
    ChmTopology ring = grid(CHM_LEVEL_RING, 4, 1);
    world_set(&w, "a=4", "x=5 y=16384"); /* blocks of 1 1 1 2, LONG */
    ChmTraffic t = price_of(&w, &ring, "[x, y] partial(a)", "[x/a, y]", CHM_U8);
    for (int32_t k = 0; k < 4; k++)
        CU_ASSERT(t.wire_bytes[2 * k] == LONG * (k == 3 ? 3 : 4) && t.wire_bytes[2 * k + 1] == 0);
    t = price_of(&w, &ring, "[x/a, y]", "[x, y]", CHM_U8);
    for (int32_t k = 0; k < 4; k++)
        CU_ASSERT(t.wire_bytes[2 * k] == LONG * (k == 2 ? 3 : 4) && t.wire_bytes[2 * k + 1] == 0);
    t = price_of(&w, &ring, "[x, y] partial(a)", "[x, y]", CHM_U8); /* flattened: blocks of 1.25 */
    for (int32_t k = 0; k < 4; k++)
        CU_ASSERT(t.wire_bytes[2 * k] == LONG * 2 * 15 / 4 && t.wire_bytes[2 * k + 1] == 0);
    CU_ASSERT_EQUAL(t.time_s, 7.5 * LONG);
    world_fini(&w);
}

/* Straight from member to member, on a ring of wires the way that is shorter. */
static void test_pairs(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "a=4", "x=5"); /* blocks 1 1 1 2 */
    ChmTopology ring = grid(CHM_LEVEL_RING, 4, 1);
    ChmTraffic t = price_of(&w, &ring, "[x] partial(a)", "[x/a]", CHM_U8);
    CU_ASSERT_EQUAL(t.wire_bytes[0], 1 + 1 + 1); /* 0->1, 0->2, 3->1: the block of whom it goes to */
    CU_ASSERT_EQUAL(t.wire_bytes[1], 2);         /* 0->3 */
    t = price_of(&w, &ring, "[x/a]", "[x]", CHM_U8);
    CU_ASSERT_EQUAL(t.wire_bytes[0], 1 + 1 + 2); /* the block of whom it comes from */
    CU_ASSERT_EQUAL(t.wire_bytes[1], 1);
    CU_ASSERT_EQUAL(t.messages, 12);
    t = price_of(&w, &ring, "[x] partial(a)", "[x]", CHM_U8);
    CU_ASSERT(t.wire_bytes[0] == 7 && t.wire_bytes[1] == 3);
    CU_ASSERT_EQUAL(t.messages, 24);
    /* 16 bits: each block to its owner, however long; then rounded */
    world_set(&w, "a=4", "x=5 y=16384");
    t = price_of(&w, &ring, "[x, y] partial(a)", "[x/a, y]", CHM_BF16);
    CU_ASSERT_EQUAL(t.wire_bytes[0], LONG * 2 * (1 + 1 + 1));
    CU_ASSERT_EQUAL(t.wire_bytes[1], LONG * 2 * 2);
    CU_ASSERT_EQUAL(t.messages, 12);
    /* and gathered around the ring where they are long */
    t = price_of(&w, &ring, "[x, y] partial(a)", "[x, y]", CHM_BF16);
    CU_ASSERT(t.wire_bytes[0] == LONG * 2 * 15 / 2 && t.wire_bytes[1] == LONG * 2 * 5 / 4);
    world_set(&w, "a=4", "x=5");
    t = price_of(&w, &ring, "[x] partial(a)", "[x]", CHM_BF16);
    CU_ASSERT(t.wire_bytes[0] == 2 * 7 && t.wire_bytes[1] == 2 * 3);
    world_fini(&w);
}

static void test_chains(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "a=4", "x=5"); /* blocks 1 1 1 2 */
    ChmTopology ring = grid(CHM_LEVEL_RING, 4, 1);
    ChmTraffic t = price_of(&w, &ring, "[x] partial(a)", "[x] at(a=1)", CHM_U8); /* 0->3->2->1 */
    CU_ASSERT(t.wire_bytes[0] == 0 && t.wire_bytes[1] == 5 && t.wire_bytes[3] == 0 && t.wire_bytes[5] == 5);
    t = price_of(&w, &ring, "[x] at(a=1)", "[x]", CHM_U8);
    CU_ASSERT(t.wire_bytes[0] == 0 && t.wire_bytes[2] == 5 && t.wire_bytes[4] == 5 && t.wire_bytes[6] == 5);
    t = price_of(&w, &ring, "[x] partial(a)", "[x] at(a=1)", CHM_F16); /* pairs, and blocks home: 0->1, 3->1 */
    CU_ASSERT_EQUAL(t.wire_bytes[0], 2 * (1 + 1 + 1) + 2 * (1 + 2));
    world_fini(&w);
}

/* On a grid the furthest message needs a latency for each hop; what the wires carry meanwhile is not waited for twice.
 */
static void test_hops(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "a=4", "x=4");
    ChmTopology line = grid(CHM_LEVEL_MESH, 1, 4);
    line.level[0].latency_s = 100;
    ChmTraffic t = price_of(&w, &line, "[x] at(a=0)", "[x] at(a=3)", CHM_U8); /* three hops, 4 s on each wire */
    CU_ASSERT(t.step_away_s == 300 && t.step_wire_s == 4 && t.step_latency_s == 300 - 4);
    t = price_of(&w, &line, "[x] at(a=0)", "[x] at(a=1)", CHM_U8);
    CU_ASSERT(t.step_away_s == 100 && t.step_latency_s == 100);
    t = price_of(&w, &line, "[x/a]", "[x]", CHM_U8); /* short: pairs, of which 0 and 3 are the furthest */
    CU_ASSERT(t.step_wire_s == 4 && t.step_latency_s == 300 - 4);
    t = price_of(&w, &line, "[x] partial(a)", "[x]", CHM_U8); /* two rounds of that */
    CU_ASSERT(t.step_wire_s == 8 && t.step_latency_s == 2 * (300 - 4));
    line.level[0].latency_s = 1; /* all wires are busy for longer than the furthest is on its way */
    t = price_of(&w, &line, "[x/a]", "[x]", CHM_U8);
    CU_ASSERT(t.step_wire_s == 4 && t.step_latency_s == 1);
    world_set(&w, "a=4", "x=65536");
    t = price_of(&w, &line, "[x/a]", "[x]", CHM_U8); /* around the ring */
    CU_ASSERT(t.step_latency_s == 3);
    world_fini(&w);
}

/* On one switch, wires or none, the price is that of the worst rank. */
static void test_wires_agree_with_ranks(void)
{
    static const char *const ways[][2] = {
        {"[x, y] partial(a, b)", "[x, y]"},
        {"[x, y] partial(a, b)", "[x/b, y] partial(a)"},
        {"[x/b/a, y]", "[x, y]"},
        {"[x/a/b, y]", "[x, y/a/b]"},
        {"[x, y/a] at(b=3)", "[x, y/a] at(b=1)"},
        {"[x, y] at(b=3)", "[x, y]"},
        {"[x, y] partial(a)", "[x, y] at(a=1)"},
        {"[x/b, y] partial(a)", "[x/b, y]"},
    };
    ChmTopology plain = {.nlevels = 1, .level = {{.bandwidth_bytes_per_s = 1e6, .latency_s = 1e-6, .message_s = 1e-5}}};
    plain.reduce_bytes_per_s = 1e7;
    ChmTopology nested = plain;
    nested.nlevels = 2;
    nested.level[0].group_ranks = 8;
    nested.level[1] = (ChmLevel){.bandwidth_bytes_per_s = 1, .latency_s = 1, .message_s = 1};
    World w;
    world_init(&w, 1);
    world_set(&w, "a=2 b=4", "x=64 y=32");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        ChmTraffic p = price_of(&w, &plain, ways[i][0], ways[i][1], CHM_F32);
        ChmTraffic n = price_of(&w, &nested, ways[i][0], ways[i][1], CHM_F32);
        CU_ASSERT(!p.wires && n.wires);
        CU_ASSERT_DOUBLE_EQUAL(p.time_s, n.time_s, 1e-12);
        CU_ASSERT(p.step_level == 0 && n.step_level == 0);
        ChmStep exchange = chm_arrow_exchange(lay(&w, ways[i][0]), lay(&w, ways[i][1]));
        chm_traffic_measure(&p, w.shape, CHM_I8, lay(&w, ways[i][0]), &exchange);
        chm_traffic_measure(&n, w.shape, CHM_I8, lay(&w, ways[i][0]), &exchange);
        CU_ASSERT_DOUBLE_EQUAL(p.step_time_s, n.step_time_s, 1e-12);
        CU_ASSERT(p.step_time_s > 0 && p.step_message_s >= 1e-5);
    }
    world_fini(&w);
}

static void test_terms(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "a=4", "x=8");
    ChmTopology topo = {.nlevels = 1, .level = {{.bandwidth_bytes_per_s = 2, .latency_s = 10, .message_s = 100}}};
    topo.reduce_bytes_per_s = 4;
    ChmTraffic t = price_of(&w, &topo, "[x] partial(a)", "[x]", CHM_I32); /* six messages, sums 24 of 48 bytes */
    CU_ASSERT(t.step_wire_s == 24 && t.step_latency_s == 20 && t.step_message_s == 600 && t.step_reduce_s == 6);
    CU_ASSERT_EQUAL(t.time_s, 650);
    topo.nlevels = 2; /* pairs: every other hop of the ring crosses the slower level */
    topo.level[0].group_ranks = 2;
    topo.level[1] = (ChmLevel){.bandwidth_bytes_per_s = 1, .latency_s = 20, .message_s = 200};
    world_set(&w, "a=4", "x=16384");
    t = price_of(&w, &topo, "[x] partial(a)", "[x]", CHM_I32);
    CU_ASSERT(t.step_wire_s == 6 * LONG && t.step_latency_s == 120 && t.step_message_s == 1200);
    CU_ASSERT_EQUAL(t.step_reduce_s, 0.75 * LONG);
    world_set(&w, "a=4", "x=8"); /* short: of three messages each way two cross it */
    t = price_of(&w, &topo, "[x] partial(a)", "[x]", CHM_I32);
    CU_ASSERT(t.step_wire_s == 32 && t.step_latency_s == 40 && t.step_message_s == 1000 && t.step_reduce_s == 6);
    ChmTraffic copy = traffic_on(&w, &topo);
    chm_traffic_copy(&copy, &t);
    chm_traffic_clear(&t);
    CU_ASSERT(t.step_level == -1 && t.wire_bytes[8 + 2] == 0 && copy.wire_bytes[8 + 2] == 32);
    t = price_of(&w, &topo, "[x]", "[x/a]", CHM_I32);
    CU_ASSERT_EQUAL(t.time_s, 0);
    world_fini(&w);
}

/* ---- simulated machines: 64 MiB, 8 ranks */

typedef enum Way { AS_WRITTEN, EXCHANGE, CHUNKS_16 } Way;

static const struct Simulated {
    const ChmTopology *topo;
    const char *layouts[5];
    Way way;
    double ms;
} simulated[] = {
#define TP_PP "[seq, h] partial(tp) at(pp=0)"
#define PP_SP "[seq/tp, h] at(pp=0)"
#define STAGE_1 "[seq, h] at(pp=1)"
    {&one_switch, {TP_PP, "[seq, h] at(pp=0)", STAGE_1}, AS_WRITTEN, 3.36},
    {&one_switch, {TP_PP, "[seq/tp, h] at(pp=0)", "[seq/tp, h] at(pp=1)", STAGE_1}, AS_WRITTEN, 2.35},
    {&one_switch, {TP_PP, "[seq/tp, h] at(pp=0)", "[seq/tp, h] at(pp=1)", STAGE_1}, CHUNKS_16, 1.44},
    {&one_switch, {PP_SP, "[seq, h] at(pp=0)", STAGE_1}, AS_WRITTEN, 2.35},
    {&one_switch, {PP_SP, STAGE_1}, EXCHANGE, 1.34},
    {&two_nodes, {PP_SP, "[seq, h] at(pp=0)", STAGE_1}, AS_WRITTEN, 2.86},
    {&two_nodes, {PP_SP, STAGE_1}, EXCHANGE, 2.69},
    {&two_nodes, {PP_SP, "[seq/tp, h] at(pp=1)", STAGE_1}, AS_WRITTEN, 0.84},
    {&two_nodes, {TP_PP, "[seq, h] at(pp=0)", STAGE_1}, AS_WRITTEN, 3.02},
    {&two_nodes, {TP_PP, "[seq/tp, h] at(pp=0)", "[seq/tp, h] at(pp=1)", STAGE_1}, AS_WRITTEN, 1.01},
    {&two_nodes, {TP_PP, "[seq/tp, h] at(pp=0)", "[seq/tp, h] at(pp=1)", STAGE_1}, CHUNKS_16, 0.74},
};

static void steps_along(World *w, const struct Simulated *s, ChmSteps *steps)
{
    if (s->way == EXCHANGE) {
        CHM_PUSH(&w->ctx.arena, steps, chm_arrow_exchange(lay(w, s->layouts[0]), lay(w, s->layouts[1])));
        return;
    }
    for (int32_t i = 0; s->layouts[i + 1]; i++)
        chm_arrow_baseline(&w->ctx, &w->ctx.arena, w->shape, lay(w, s->layouts[i]), lay(w, s->layouts[i + 1]), steps);
}

static void test_simulated(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "pp=2 tp=4", "seq=8192 h=2048");
    for (size_t i = 0; i < sizeof simulated / sizeof *simulated; i++) {
        const struct Simulated *s = &simulated[i];
        ChmSteps steps = {0};
        steps_along(&w, s, &steps);
        double ms = 1e3 * chm_pipelined_time(&w.ctx.arena, s->topo, w.shape, CHM_F32, lay(&w, s->layouts[0]), &steps,
                                             s->way == CHUNKS_16 ? 16 : 1);
        CU_ASSERT(fabs(ms / s->ms - 1) < 0.03);
        if (getenv("CHM_SHOW"))
            printf("%-10s %-32s simulated %.2f predicted %.4f\n", s->topo->name, s->layouts[0], s->ms, ms);
        double bound_s =
            chm_bound_time(&w.ctx.arena, s->topo, w.shape, CHM_F32, lay(&w, s->layouts[0]), lay(&w, STAGE_1));
        CU_ASSERT_DOUBLE_EQUAL(bound_s, (double)(64 * MiB) / (s->topo == &one_switch ? 50e9 : 100e9), 1e-12);
    }
    world_fini(&w);
}

/* ---- chunks */

static void test_pipeline(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "pp=2 tp=4", "seq=8192 h=2048");
    ChmTraffic t = traffic_on(&w, &two_nodes);
    ChmPipeline p;
    chm_pipeline_init(&p, &w.ctx.arena, &t);
    CU_ASSERT(chm_pipeline_time(&p, 4) == 0 && chm_pipeline_chunks(&p, 16) == 1);
    const ChmLayout *way[] = {lay(&w, TP_PP), lay(&w, "[seq/tp, h] at(pp=0)"), lay(&w, "[seq/tp, h] at(pp=1)"),
                              lay(&w, STAGE_1)};
    for (int32_t i = 0; i < 3; i++) {
        ChmStep step = single(&w, way[i], way[i + 1]);
        chm_traffic_add(&t, w.shape, CHM_F32, way[i], &step);
        chm_pipeline_add(&p, &t, 1);
    }
    CU_ASSERT_DOUBLE_EQUAL(chm_pipeline_time(&p, 1), t.time_s, 1e-12);
    int32_t best = chm_pipeline_chunks(&p, 1024);
    CU_ASSERT(best == 8 || best == 16);
    for (int32_t m = 1; m <= 1024; m *= 2)
        CU_ASSERT(chm_pipeline_time(&p, m) >= chm_pipeline_time(&p, best) * (1 - 1e-9));
    CU_ASSERT_EQUAL(chm_pipeline_chunks(&p, 5), 4);
    CU_ASSERT_EQUAL(chm_pipeline_chunks(&p, 1), 1);

    ChmOut out;
    chm_out_init_arena(&out, &w.ctx.arena);
    chm_traffic_explain(&out, &t);
    chm_out_puts(&out, "; ");
    chm_traffic_explain_step(&out, &t);
    UNIT_SAME_TEXT(chm_out_text(&out), "node 64 MiB 0.22 ms, fabric 64 MiB 0.67 ms; node 48 MiB 0.17 ms");
    ChmOut plain;
    chm_out_init_arena(&plain, &w.ctx.arena);
    t = traffic_on(&w, &one_switch);
    chm_traffic_explain(&plain, &t);
    ChmStep shift = single(&w, way[1], way[2]);
    chm_traffic_add(&t, w.shape, CHM_F32, way[1], &shift);
    chm_out_puts(&plain, "; ");
    chm_traffic_explain(&plain, &t);
    UNIT_SAME_TEXT(chm_out_text(&plain), "nothing; switch 16 MiB 0.34 ms");
    world_fini(&w);
}

/* ---- bounds */

static void test_unit_bounds(void)
{
    static const struct {
        const char *mesh, *shape, *from, *to;
        int32_t node; /* ranks of it */
        int64_t bytes;
    } figures[] = {
        {"n=2 t=4", "x=64", "[x] partial(n, t)", "[x]", 4, 64}, /* all_reduce of two */
        {"n=4 t=2", "x=64", "[x] partial(n, t)", "[x/n/t]", 2, 48},
        {"n=4 t=2", "x=64", "[x/n/t]", "[x]", 2, 48},
        {"n=2 t=4", "x=64", "[x] partial(n, t)", "[x] partial(t)", 4, 4 * 64}, /* four sums */
        {"n=2 t=4", "x=64", "[x/t] partial(n)", "[x] partial(n)", 4, 0},
        {"n=2 t=4", "x=64", "[x/t/n]", "[x/t]", 4, 32}, /* strided */
        {"n=2 t=4", "x=64", "[x/t/n]", "[x/n/t]", 4, 16},
        {"n=2 t=4", "x=64 y=4", "[x/t/n, y]", "[x, y/n/t]", 4, 64},
        {"a=8", "x=64", "[x/a]", "[x]", 4, 32}, /* an axis cut in two */
        {"a=8", "x=64", "[x] at(a=5)", "[x] at(a=6)", 4, 0},
        {"a=8", "x=64", "[x] at(a=5)", "[x] at(a=2)", 4, 64},
        {"p=2 a=8", "x=64", "[x/a] at(p=1)", "[x] partial()", 4, 64},
        {"a=3 b=2", "x=64", "[x/a]", "[x]", 3, 0}, /* no set of axes: nothing is known */
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        World w;
        world_init(&w, 1);
        world_set(&w, figures[i].mesh, figures[i].shape);
        ChmTopology topo = {.nlevels = 2, .level = {{.group_ranks = figures[i].node, .bandwidth_bytes_per_s = 1e12}}};
        topo.level[1] = (ChmLevel){.bandwidth_bytes_per_s = 1, .shared = true};
        double s =
            chm_bound_time(&w.ctx.arena, &topo, w.shape, CHM_U8, lay(&w, figures[i].from), lay(&w, figures[i].to));
        CU_ASSERT_DOUBLE_EQUAL(s, (double)figures[i].bytes, 1e-3);
        if (fabs(s - (double)figures[i].bytes) > 1e-3)
            printf("%s -> %s: %g\n", figures[i].from, figures[i].to, s);
        world_fini(&w);
    }
}

static double time_of(World *w, const ChmTopology *topo, ChmDtype dtype, const ChmLayout *from, const ChmStep *steps,
                      int32_t n)
{
    ChmTraffic t;
    chm_traffic_init(&t, &w->ctx.arena, topo, w->mesh);
    for (int32_t i = 0; i < n; i++) {
        chm_traffic_add(&t, w->shape, dtype, from, &steps[i]);
        from = steps[i].to;
    }
    return chm_traffic_price(&t).time_s;
}

static bool at_ends_only(World *w, const ChmLayout *from, const ChmLayout *to, const ChmLayout *way)
{
    for (int32_t r = 0; r < w->mesh->ranks; r++)
        if (chm_layout_present(way, r) && !chm_layout_present(from, r) && !chm_layout_present(to, r))
            return false;
    return true;
}

static void test_no_sequence_is_below(void)
{
    int32_t tried = 0, grids = 0, tight = 0;
    for (uint64_t seed = 1; seed <= 12000; seed++) {
        World w;
        world_init(&w, seed);
        world_random(&w, 48, 13);
        ChmTopology topo = random_topology(&w);
        if (chm_topology_check(&w.ctx, &topo, w.mesh) != CHM_OK) {
            world_fini(&w);
            continue;
        }
        tried++;
        for (int32_t i = 0; i < topo.nlevels; i++)
            grids += topo.level[i].kind != CHM_LEVEL_SWITCH;
        ChmDtype dtype = pick(&w, 2) ? CHM_F32 : CHM_BF16;
        const ChmLayout *from = random_layout(&w, ~0u, 0), *to = random_layout(&w, from->partial, 0);
        double bound_s = chm_bound_time(&w.ctx.arena, &topo, w.shape, dtype, from, to) * (1 - 1e-9);
        ChmSteps steps = {0};
        chm_arrow_baseline(&w.ctx, &w.ctx.arena, w.shape, from, to, &steps);
        double baseline_s = time_of(&w, &topo, dtype, from, steps.at, steps.len);
        CU_ASSERT(baseline_s >= bound_s);
        tight += bound_s > 0 && baseline_s < 1.01 * bound_s;
        CU_ASSERT(from != to || bound_s == 0);
        for (int32_t i = 0; i < 8; i++) { /* straight, or by way of another layout that borrows no rank */
            const ChmLayout *way = i == 0 ? to : random_layout(&w, from->partial, from->partial & to->partial);
            if (from == to || way == from || !at_ends_only(&w, from, to, way))
                continue;
            ChmStep two[2] = {chm_arrow_exchange(from, way)};
            if (way != to)
                two[1] = chm_arrow_exchange(way, to);
            CU_ASSERT(time_of(&w, &topo, dtype, from, two, way == to ? 1 : 2) >= bound_s);
        }
        world_fini(&w);
    }
    CU_ASSERT(tried > 4000 && grids > 500 && tight > 200);
    if (getenv("CHM_SHOW"))
        printf("%d topologies, %d grids, %d baselines at the bound\n", (int)tried, (int)grids, (int)tight);
}

/* What a unit lacks, element by element. */
static int64_t worst_lack(World *w, const ChmLayout *from, const ChmLayout *to, ChmAxes inside)
{
    ChmAxisSeq seq = chm_seq_of_set(inside);
    int64_t worst = 0, index[CHM_MAX_DIMS];
    for (int32_t unit = 0; unit < w->mesh->ranks; unit++) {
        int64_t lack = 0;
        for (int64_t e = 0; e < w->shape->elems; e++) {
            bool held = false, needed = false;
            unflatten(w->shape, e, index);
            for (int32_t k = 0; k < chm_mesh_extent(w->mesh, &seq); k++) {
                int32_t r = chm_group_member(w->mesh, unit, &seq, k);
                held = held || holds(w->shape, from, r, index);
                needed = needed || holds(w->shape, to, r, index);
            }
            lack += needed && !held;
        }
        worst = lack > worst ? lack : worst;
    }
    return worst;
}

static void test_units_by_elements(void)
{
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        World w;
        world_init(&w, seed);
        world_random(&w, 24, 7);
        ChmAxes inside = (ChmAxes)pick(&w, 1 << w.mesh->naxes);
        const ChmLayout *from = random_layout(&w, 0, 0), *to = random_layout(&w, 0, 0);
        ChmUnitBound b = chm_bound_units(&w.ctx.arena, w.shape, CHM_U8, from, to, inside);
        int64_t lack = worst_lack(&w, from, to, inside);
        CU_ASSERT(b.worst_bytes >= lack);
        CU_ASSERT((b.worst_bytes == 0) == (lack == 0));
        world_fini(&w);
    }
}

int main(void)
{
    static const UnitTest tests[] = {
        {"switches", test_switches},
        {"grids", test_grids},
        {"rings", test_rings},
        {"short messages and 16-bit sums, straight", test_pairs},
        {"chains", test_chains},
        {"hops", test_hops},
        {"wires agree with ranks", test_wires_agree_with_ranks},
        {"terms", test_terms},
        {"simulated", test_simulated},
        {"pipeline", test_pipeline},
        {"unit bounds", test_unit_bounds},
        {"units by elements", test_units_by_elements},
        {"no sequence is below", test_no_sequence_is_below},
        UNIT_END,
    };
    return unit_main("wires", tests);
}
