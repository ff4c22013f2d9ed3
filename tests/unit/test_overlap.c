/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_overlap.c - the time of ops that are under way together: what the formulas of docs/cost.md say, and
 * what SimGrid measured of the emitted C.
 */
#include "cost/overlap.h"
#include "ir/ctx.h"

#include "unit.h"

#include <math.h>

#define SWITCH "topology t { level all { bandwidth = 50 GB/s; latency = 100 ns; } }\n"
#define TORUS "topology t { level grid { torus 2 x 4; bandwidth = 50 GB/s; latency = 100 ns; } }\n"
#define NODES                                                                                                    \
    "topology t { level node 4 { bandwidth = 300 GB/s; latency = 100 ns; } level fabric { bandwidth = 50 GB/s; " \
    "latency = 1 us; shared; } }\n"
#define HEAD                               \
    "tensor x : f32[s = 8192, h = 2048]\n" \
    "tensor y : f32[s = 8192, h = 2048]\n"

/* Predicted milliseconds of a module on a mesh of dp = 2, tp = 4. */
static double time_ms(const char *topology, const char *ops)
{
    ChmCtx ctx;
    ChmTraffic t;
    chm_ctx_init(&ctx);
    const char *text = chm_arena_printf(&ctx.arena, "plan p\nmesh m (dp = 2, tp = 4)\n%s" HEAD "%s", topology, ops);
    ChmModule *m = chm_module_parse(&ctx, chm_source_from_text(&ctx.arena, "ir", text, strlen(text)));
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    chm_traffic_of_module(&t, &ctx.arena, m->topology, m);
    double time_s = chm_traffic_price(&t).time_s;
    chm_module_free(m);
    chm_ctx_fini(&ctx);
    return time_s * 1e3;
}

#define NEAR(actual, expected, part) CU_ASSERT(fabs((actual) / (expected)-1) < (part))

#define SCATTER "%1 = start reduce_scatter %x over (tp) dim s : [s/tp, h]\n"
#define GATHER "%2 = start all_gather %y over (tp) dim h : [s, h]\n"
#define ACROSS "%2 = start all_gather %y over (dp) dim s : [s, h]\n"
#define ENDS "output a = %1\noutput b = %2\n"

/* 48 MiB each at 50 GB/s, and three latencies of 100 ns, that are waited for together. */
static void test_one_wire(void)
{
    const double w = 48.0 * 1048576 / 50e9 * 1e3, l = 3 * 100e-6;
    const char *inputs = "%x = input x : [s, h] partial(tp)\n%y = input y : [s, h/tp]\n";
    char ops[1024];
    snprintf(ops, sizeof ops, "%s%s%s%s%s", inputs, SCATTER, GATHER, "wait %1\nwait %2\n", ENDS);
    NEAR(time_ms(SWITCH, ops), 2 * w + l, 1e-9);
    snprintf(ops, sizeof ops, "%s%s%s%s%s%s", inputs, SCATTER, "wait %1\n", GATHER, "wait %2\n", ENDS);
    NEAR(time_ms(SWITCH, ops), 2 * (w + l), 1e-9);
}

/* The longer of the two where no wire is shared. */
static void test_other_wires(void)
{
    const char *inputs = "%x = input x : [s, h] partial(tp)\n%y = input y : [s/dp, h]\n";
    const double w = 48.0 * 1048576 / 50e9 * 1e3, l = 3 * 100e-6;
    char ops[1024];
    snprintf(ops, sizeof ops, "%s%s%s%s%s", inputs, SCATTER, ACROSS, "wait %2\nwait %1\n", ENDS);
    NEAR(time_ms(TORUS, ops), w + l, 1e-9);
}

/* Stages do not wait for one another: what the later one is asked for is begun at once, started or not. */
static void test_other_ranks(void)
{
    const double w = 48.0 * 1048576 / 50e9 * 1e3, l = 3 * 100e-6;
    NEAR(time_ms(SWITCH, "%x = input x : [s, h] partial(tp) at(dp=0)\n%y = input y : [s, h/tp] at(dp=1)\n"
                         "%1 = start reduce_scatter %x over (tp) dim s : [s/tp, h] at(dp=0)\nwait %1\n"
                         "%2 = all_gather %y over (tp) dim h : [s, h] at(dp=1)\n" ENDS),
         w + l, 1e-9);
}

/* 64 MiB on 8 ranks, simulated by SimGrid SMPI. */
static void test_simulated(void)
{
    const char *mixed = "%x = input x : [s, h] partial(tp)\n%y = input y : [s/dp/tp, h]\n"
                        "%1 = start all_reduce %x over (tp) : [s, h]\n%2 = start exchange %y : [s, h/dp/tp]\n"
                        "wait %1\nwait %2\n" ENDS;
    const char *chain = "%x = input x : [s, h] partial(tp) at(dp=0)\n%y = input y : [s, h] partial(tp) at(dp=0)\n"
                        "%1 = start reduce_scatter %x over (tp) dim s : [s/tp, h] at(dp=0)\nwait %1\n"
                        "%2 = start shift %1 dp 0 -> 1 : [s/tp, h] at(dp=1)\n"
                        "%3 = start reduce_scatter %y over (tp) dim s : [s/tp, h] at(dp=0)\nwait %2\n"
                        "%4 = start all_gather %2 over (tp) dim s : [s, h] at(dp=1)\nwait %3\n"
                        "%5 = start shift %3 dp 0 -> 1 : [s/tp, h] at(dp=1)\nwait %5\n"
                        "%6 = start all_gather %5 over (tp) dim s : [s, h] at(dp=1)\nwait %4\nwait %6\n"
                        "output a = %4\noutput b = %6\n";
    NEAR(time_ms(SWITCH, mixed), 2.16, 0.03);
    NEAR(time_ms(NODES, mixed), 0.363, 0.03);
    NEAR(time_ms(SWITCH, chain), 4.03, 0.03);
    NEAR(time_ms(TORUS, chain), 3.36, 0.03);
    NEAR(time_ms(NODES, chain), 3.02, 0.03);
}

static const UnitTest tests[] = {
    {"one wire", test_one_wire},
    {"other wires", test_other_wires},
    {"other ranks", test_other_ranks},
    {"as simulated", test_simulated},
    UNIT_END,
};

int main(void)
{
    return unit_main("overlap", tests);
}
