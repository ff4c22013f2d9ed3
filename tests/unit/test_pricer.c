/* SPDX-License-Identifier: Apache-2.0
 *
 * Prices on the mesh of the axes that matter against the count rank by rank, on random meshes, shapes, machines and
 * layouts.
 */
#include "cost/fold.h"
#include "cost/pricer.h"
#include "cost/unfold.h"
#include "random_topology.h"

#define CHAIN 4

typedef struct Chain {
    const ChmLayout *from;
    ChmSteps steps;
} Chain;

/* As world_random; half of the shapes are such that most splits are even. */
static void random_world(World *w, uint64_t seed, int32_t max_ranks)
{
    int64_t sizes[CHM_MAX_DIMS];
    world_init(w, seed);
    world_random(w, max_ranks, 13);
    bool even = pick(w, 2);
    for (int32_t d = 0; d < w->shape->ndims; d++)
        sizes[d] = w->shape->dim_size[d] * (even ? 48 : 1);
    w->shape = chm_shape_make(&w->ctx, w->shape->ndims, w->shape->dim_name, sizes);
}

/* The steps that an engineer would write, or an exchange, to layouts drawn one after the other. */
static Chain random_chain(World *w)
{
    Chain c = {.from = random_layout(w, ~0u, 0)};
    const ChmLayout *at = c.from;
    for (int32_t i = 0; i < CHAIN; i++) {
        const ChmLayout *to = random_layout(w, at->partial, 0);
        if (to != at && pick(w, 3) == 0)
            CHM_PUSH(&w->ctx.arena, &c.steps, chm_arrow_exchange(at, to));
        else
            chm_arrow_baseline(&w->ctx, &w->ctx.arena, w->shape, at, to, &c.steps);
        at = to;
    }
    return c;
}

static bool close(double a, double b)
{
    double gap = a > b ? a - b : b - a;
    return gap <= 1e-12 * (a > b ? a : b);
}

static bool same_price(const ChmPrice *a, const ChmPrice *b)
{
    return close(a->time_s, b->time_s) && a->worst_sent_bytes == b->worst_sent_bytes &&
           a->worst_received_bytes == b->worst_received_bytes && a->worst_bytes == b->worst_bytes &&
           a->total_bytes == b->total_bytes && a->messages == b->messages && a->ops == b->ops;
}

static int32_t sizes_left_out(const World *w, const ChmTopology *topo, const Chain *c)
{
    const ChmLayout *at = c->from;
    int32_t count = 0;
    for (int32_t i = 0; i < c->steps.len; i++) {
        ChmFold f;
        chm_fold_init(&f, topo, w->shape, at, &c->steps.at[i], 1);
        count += (f.twins | f.pinned) != 0;
        at = c->steps.at[i].to;
    }
    return count;
}

/* Every wire and rank of the whole mesh, from the folded one; 'traffic' is of the whole. */
static void check_unfold(const ChmTraffic *whole, const ChmMeasured *got)
{
    int32_t level = 0;
    bool same = close(whole->step_time_s, got->traffic->step_time_s) &&
                close(whole->step_wire_s, got->traffic->step_wire_s) &&
                close(whole->step_message_s, got->traffic->step_message_s);
    for (int32_t i = 0; i < chm_traffic_wires(whole); i++) {
        while (whole->wires && i >= whole->wires->first[level + 1])
            level++;
        int32_t at = got->unfold->wire[i];
        int32_t folded_level = 0;
        while (at != CHM_IDLE && whole->wires && at >= got->traffic->wires->first[folded_level + 1])
            folded_level++;
        double want_s = chm_step_on_wire(whole, level, i);
        same = same && (at == CHM_IDLE ? want_s <= 0 : close(want_s, chm_step_on_wire(got->traffic, folded_level, at)));
    }
    for (int32_t r = 0; r < whole->ranks; r++) {
        int32_t at = got->unfold->rank[r];
        same = same && whole->step_sent[r] == (at == CHM_IDLE ? 0 : got->traffic->step_sent[at]) &&
               whole->step_received[r] == (at == CHM_IDLE ? 0 : got->traffic->step_received[at]);
    }
    CU_ASSERT(same);
}

/* Two chains by one pricer, so that forms come again, and sums over both. */
static void test_like_rank_by_rank(void)
{
    int32_t tried = 0, folded = 0, grids = 0;
    for (uint64_t seed = 1; seed <= 6000; seed++) {
        World w;
        ChmTopology topo;
        random_world(&w, seed, 64);
        topo = random_topology(&w);
        if (chm_topology_check(&w.ctx, &topo, w.mesh) != CHM_OK) {
            world_fini(&w);
            continue;
        }
        tried++;
        for (int32_t i = 0; i < topo.nlevels; i++)
            grids += topo.level[i].kind != CHM_LEVEL_SWITCH;
        ChmPricer *p = chm_pricer_new(&w.ctx.arena, &topo, w.mesh);
        ChmDtype dtype = pick(&w, 2) ? CHM_F32 : CHM_BF16;
        ChmTraffic t;
        ChmBill b, first, twice;
        chm_traffic_init(&t, &w.ctx.arena, &topo, w.mesh);
        chm_bill_init(&b, p);
        chm_bill_init(&first, p);
        chm_bill_init(&twice, p);
        for (int32_t k = 0; k < 2; k++) {
            Chain c = random_chain(&w);
            const ChmLayout *at = c.from;
            folded += sizes_left_out(&w, &topo, &c);
            for (int32_t i = 0; i < c.steps.len; i++) {
                chm_traffic_add(&t, w.shape, dtype, at, &c.steps.at[i]);
                chm_bill_add(&b, w.shape, dtype, at, &c.steps.at[i]);
                ChmMeasured measured = chm_pricer_measure(p, w.shape, dtype, at, &c.steps.at[i]);
                check_unfold(&t, &measured);
                at = c.steps.at[i].to;
            }
            ChmPrice want = chm_traffic_price(&t), got = chm_bill_price(&b);
            CU_ASSERT(same_price(&want, &got));
            chm_bill_join(&twice, &b, 1);
            chm_bill_by_rank(&b);
            CU_ASSERT(memcmp(b.sent, t.sent, sizeof *t.sent * (size_t)t.ranks) == 0);
            CU_ASSERT(memcmp(b.received, t.received, sizeof *t.sent * (size_t)t.ranks) == 0);
            if (k > 0) { /* what is there twice, once taken away */
                chm_bill_join(&twice, &b, 1);
                chm_bill_join(&twice, &b, -1);
                got = chm_bill_price(&twice);
                CU_ASSERT(got.worst_bytes >= want.worst_bytes && got.total_bytes >= want.total_bytes);
                chm_bill_join(&twice, &b, -1);
                chm_bill_join(&twice, &first, -1);
                got = chm_bill_price(&twice);
                CU_ASSERT(got.worst_bytes == 0 && got.total_bytes == 0 && got.messages == 0 && got.ops == 0);
            }
            chm_bill_join(&first, &b, 1);
            if (!same_price(&want, &got) && getenv("CHM_SHOW"))
                printf("seed %d: time %g %g, sent %lld %lld, total %lld %lld, messages %lld %lld\n", (int)seed,
                       want.time_s, got.time_s, (long long)want.worst_sent_bytes, (long long)got.worst_sent_bytes,
                       (long long)want.total_bytes, (long long)got.total_bytes, (long long)want.messages,
                       (long long)got.messages);
        }
        world_fini(&w);
    }
    CU_ASSERT(tried > 2000 && folded > tried && grids > 200);
    if (getenv("CHM_SHOW"))
        printf("%d topologies, %d steps on a smaller mesh, %d grids\n", (int)tried, (int)folded, (int)grids);
}

/* A chain's load on its own smaller mesh, and the op that it becomes in chunks. */
static void test_chains(void)
{
    int32_t tried = 0, pipelines = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        World w;
        ChmTopology topo;
        random_world(&w, seed, 48);
        topo = random_topology(&w);
        Chain c = random_chain(&w);
        if (c.steps.len < 2 || chm_topology_check(&w.ctx, &topo, w.mesh) != CHM_OK) {
            world_fini(&w);
            continue;
        }
        tried++;
        int32_t chunks = 1 + pick(&w, 4), communicate, dim = pick(&w, w.shape->ndims);
        ChmPricer *p = chm_pricer_new(&w.ctx.arena, &topo, w.mesh);
        double want_s = chm_pipelined_time(&w.ctx.arena, &topo, w.shape, CHM_F32, c.from, &c.steps, chunks);
        const ChmPipeline *load = chm_pricer_load(p, w.shape, CHM_F32, c.from, c.steps.at, c.steps.len, &communicate);
        CU_ASSERT(close(chm_pipeline_time(load, chunks), want_s));

        const ChmLayout *to = c.steps.at[c.steps.len - 1].to;
        int64_t blocks = chm_chunk_blocks(c.from, to, dim);
        if (blocks > 0 && w.shape->dim_size[dim] % (blocks * chunks) == 0) {
            ChmTraffic t;
            ChmAttrs attrs = {.dim = dim, .chunks = chunks, .body = c.steps.at, .body_len = c.steps.len};
            ChmStep pipeline = {CHM_OP_PIPELINE, attrs, to};
            ChmSteps one = {.at = &pipeline, .len = 1, .cap = 1};
            pipelines++;
            chm_traffic_init(&t, &w.ctx.arena, &topo, w.mesh);
            chm_traffic_add(&t, w.shape, CHM_F32, c.from, &pipeline);
            ChmPrice want = chm_traffic_price(&t);
            for (int32_t k = 0; k < 2; k++) { /* measured, and remembered */
                ChmPrice got = chm_pricer_steps(p, w.shape, CHM_F32, c.from, &one);
                CU_ASSERT(same_price(&want, &got));
            }
        }
        world_fini(&w);
    }
    CU_ASSERT(tried > 1000 && pipelines > 200);
    if (getenv("CHM_SHOW"))
        printf("%d chains, %d pipelines\n", (int)tried, (int)pipelines);
}

/* Only what a change moves is measured: of 2^20 ranks four. */
static void test_small(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "pp=16 dp=1024 ep=16 tp=4", "x=65536 y=64");
    const ChmTopology nodes = {.name = "nodes",
                               .nlevels = 2,
                               .level = {{.name = "node", .group_ranks = 64, .bandwidth_bytes_per_s = 100},
                                         {.name = "fabric", .bandwidth_bytes_per_s = 50, .shared = true}}};
    ChmStep step;
    const ChmLayout *from = lay(&w, "[x/dp/ep/tp, y] at(pp=3)"), *to = lay(&w, "[x/dp/ep, y] at(pp=3)");
    CU_ASSERT_FATAL(chm_topology_check(&w.ctx, &nodes, w.mesh) == CHM_OK);
    CU_ASSERT_FATAL(chm_arrow_single(&w.ctx, w.shape, from, to, &step));
    ChmFold f;
    ChmMesh small;
    ChmTopology machine;
    int64_t twins[CHM_MAX_LEVELS];
    chm_fold_init(&f, &nodes, w.shape, from, &step, 1);
    CU_ASSERT_EQUAL(f.kept, CHM_AXIS(3));
    CU_ASSERT_EQUAL(f.pinned, CHM_AXIS(0));
    CU_ASSERT_EQUAL(f.twins, CHM_AXIS(1) | CHM_AXIS(2));
    chm_fold_mesh(&f, &small);
    CU_ASSERT_EQUAL(small.ranks, 4);
    chm_fold_topology(&f, &nodes, &machine, twins);
    CU_ASSERT_EQUAL(machine.level[0].group_ranks, 4);
    CU_ASSERT_EQUAL(twins[0], 1);
    CU_ASSERT_EQUAL(twins[1], 16); /* of a node's ranks, one along tp */

    ChmBill b;
    chm_bill_init(&b, chm_pricer_new(&w.ctx.arena, &nodes, w.mesh));
    chm_bill_add(&b, w.shape, CHM_U8, from, &step);
    CU_ASSERT_EQUAL(b.places, 16); /* ranks of one stage are alike */
    ChmPrice price = chm_bill_price(&b);
    CU_ASSERT_EQUAL(price.worst_bytes, 3 * 64);
    CU_ASSERT_EQUAL(price.total_bytes, (int64_t)3 * 64 * 65536);
    CU_ASSERT_DOUBLE_EQUAL(price.time_s, 1.92, 1e-12);
    chm_bill_clear(&b);
    CU_ASSERT_EQUAL(chm_bill_price(&b).worst_bytes, 0);
    world_fini(&w);
}

int main(void)
{
    static const UnitTest tests[] = {
        {"like rank by rank", test_like_rank_by_rank},
        {"chains", test_chains},
        {"small", test_small},
        UNIT_END,
    };
    return unit_main("pricer", tests);
}
