/* SPDX-License-Identifier: Apache-2.0
 *
 * Traffic of every op on examples worked out by hand, the figures of the six pairs as written, and exchanges against a
 * count element by element.
 */
#include "cost/cost.h"
#include "layouts.h"

/* Measures one op of the table that needs no target. */
static ChmTraffic measure(World *w, ChmOpcode code, ChmAttrs attrs, const char *from, ChmDtype dtype)
{
    ChmTraffic t;
    const ChmLayout *l = lay(w, from);
    ChmWhy why = {NULL};
    ChmStep step = {code, attrs, chm_infer_layout(&w->ctx, code, &attrs, w->shape, l, NULL, &why)};
    if (!step.to) {
        printf("\n%s: %s\n", from, why.text);
        exit(EXIT_FAILURE);
    }
    chm_traffic_init(&t, &w->ctx.arena, &chm_default_topology, w->mesh);
    chm_traffic_add(&t, w->shape, dtype, l, &step);
    return t;
}

static ChmTraffic measure_exchange(World *w, const char *from, const char *to, ChmDtype dtype)
{
    ChmTraffic t;
    ChmStep step = chm_arrow_exchange(lay(w, from), lay(w, to));
    chm_traffic_init(&t, &w->ctx.arena, &chm_default_topology, w->mesh);
    chm_traffic_add(&t, w->shape, dtype, lay(w, from), &step);
    return t;
}

static ChmAxisSeq over(int32_t n, int32_t a, int32_t b)
{
    ChmAxisSeq s = {0};
    chm_seq_push(&s, a);
    if (n == 2)
        chm_seq_push(&s, b);
    return s;
}

/* SAME_BYTES(t, {sent, received}, ...): of every rank, in order. */
#define SAME_BYTES(t, ...)                              \
    same_bytes(&(t), (const int64_t[][2]){__VA_ARGS__}, \
               sizeof((const int64_t[][2]){__VA_ARGS__}) / sizeof(int64_t[2]), __LINE__)

static void same_bytes(const ChmTraffic *t, const int64_t (*want)[2], size_t n, unsigned line)
{
    bool same = (size_t)t->ranks == n;
    for (size_t r = 0; r < n && same; r++)
        same = t->sent[r] == want[r][0] && t->received[r] == want[r][1];
    CU_assertImplementation(same, line, "bytes of every rank", __FILE__, "", CU_FALSE);
    for (int32_t r = 0; r < t->ranks && !same; r++)
        printf("rank %d: sent %lld, received %lld\n", (int)r, (long long)t->sent[r], (long long)t->received[r]);
}

static void test_free_ops(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "a=2 b=2", "x=5");
    ChmTraffic t = measure(&w, CHM_OP_SLICE, (ChmAttrs){.over = over(1, 1, 0)}, "[x]", CHM_F32);
    SAME_BYTES(t, {0, 0}, {0, 0}, {0, 0}, {0, 0});
    CU_ASSERT_EQUAL(t.messages, 0);
    t = measure(&w, CHM_OP_DROP, (ChmAttrs){.axis = 0, .to = 1}, "[x]", CHM_F32);
    SAME_BYTES(t, {0, 0}, {0, 0}, {0, 0}, {0, 0});
    CU_ASSERT_EQUAL(t.step_rounds, 0);
    CU_ASSERT_EQUAL(t.time_s, 0);
    world_fini(&w);
}

static void test_reduce_scatter(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "tp=4", "x=8 y=3"); /* even: L 24, own 6 */
    ChmTraffic t = measure(&w, CHM_OP_REDUCE_SCATTER, (ChmAttrs){.over = over(1, 0, 0)}, "[x, y] partial(tp)", CHM_F32);
    SAME_BYTES(t, {72, 72}, {72, 72}, {72, 72}, {72, 72});
    CU_ASSERT_EQUAL(t.messages, 12);
    CU_ASSERT_EQUAL(t.step_rounds, 1); /* short messages go straight; */
    world_set(&w, "tp=4", "x=65536");
    t = measure(&w, CHM_OP_REDUCE_SCATTER, (ChmAttrs){.over = over(1, 0, 0)}, "[x] partial(tp)", CHM_F32);
    CU_ASSERT_EQUAL(t.step_rounds, 3); /* long ones round the ring */
    world_set(&w, "tp=4", "x=5");      /* blocks 1 1 1 2 */
    t = measure(&w, CHM_OP_REDUCE_SCATTER, (ChmAttrs){.over = over(1, 0, 0)}, "[x] partial(tp)", CHM_U8);
    SAME_BYTES(t, {4, 3}, {4, 3}, {4, 3}, {3, 6});
    world_set(&w, "pp=2 tp=2", "x=3"); /* pinned: only pp=1 takes part */
    t = measure(&w, CHM_OP_REDUCE_SCATTER, (ChmAttrs){.over = over(1, 1, 0)}, "[x] partial(tp) at(pp=1)", CHM_U8);
    SAME_BYTES(t, {0, 0}, {0, 0}, {2, 1}, {1, 2});
    CU_ASSERT_EQUAL(t.messages, 2);
    world_fini(&w);
}

static void test_all_gather(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "dp=2 tp=2", "x=5"); /* blocks of x/dp/tp: 1 1 1 2 */
    ChmTraffic t = measure(&w, CHM_OP_ALL_GATHER, (ChmAttrs){.over = over(1, 1, 0)}, "[x/dp/tp]", CHM_F64);
    SAME_BYTES(t, {8, 8}, {8, 8}, {8, 16}, {16, 8});
    CU_ASSERT_EQUAL(t.messages, 4);
    t = measure(&w, CHM_OP_ALL_GATHER, (ChmAttrs){.over = over(2, 0, 1)}, "[x/dp/tp]", CHM_U8);
    SAME_BYTES(t, {3, 4}, {3, 4}, {3, 4}, {6, 3});
    CU_ASSERT_EQUAL(t.messages, 12);
    t = measure(&w, CHM_OP_ALL_GATHER, (ChmAttrs){.over = over(1, 1, 0)}, "[x/tp] partial(dp)", CHM_U8);
    SAME_BYTES(t, {2, 3}, {3, 2}, {2, 3}, {3, 2});
    world_fini(&w);
}

static void test_all_reduce(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "tp=4", "x=2 y=3"); /* L 6, blocks of the flattened buffer 1 2 1 2: L + (g-2) own */
    ChmTraffic t = measure(&w, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = over(1, 0, 0)}, "[x, y] partial(tp)", CHM_BF16);
    SAME_BYTES(t, {16, 16}, {20, 20}, {16, 16}, {20, 20});
    CU_ASSERT_EQUAL(t.messages, 24);
    CU_ASSERT_EQUAL(t.step_rounds, 2); /* short: straight there, and straight back */
    world_set(&w, "tp=4", "x=65536");
    t = measure(&w, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = over(1, 0, 0)}, "[x] partial(tp)", CHM_BF16);
    CU_ASSERT_EQUAL(t.step_rounds, 4); /* 16-bit: one for the sums, three around the ring */
    t = measure(&w, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = over(1, 0, 0)}, "[x] partial(tp)", CHM_F32);
    CU_ASSERT_EQUAL(t.step_rounds, 6);
    world_set(&w, "tp=2", "x=3"); /* two ranks swap once */
    t = measure(&w, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = over(1, 0, 0)}, "[x] partial(tp)", CHM_U8);
    SAME_BYTES(t, {3, 3}, {3, 3});
    CU_ASSERT(t.messages == 2 && t.step_rounds == 1);
    world_set(&w, "tp=2", "x=32768"); /* if they are not long: half is summed by each, and comes back */
    t = measure(&w, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = over(1, 0, 0)}, "[x] partial(tp)", CHM_U8);
    SAME_BYTES(t, {32768, 32768}, {32768, 32768});
    CU_ASSERT(t.messages == 4 && t.step_rounds == 2);
    world_set(&w, "tp=8", "x=61");
    t = measure(&w, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = over(1, 0, 0)}, "[x] partial(tp)", CHM_U8);
    CU_ASSERT_EQUAL(chm_traffic_price(&t).worst_bytes, 61 + 6 * 8);
    world_set(&w, "a=2 b=2", "x=7"); /* members in the order of b, a */
    t = measure(&w, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = over(2, 1, 0)}, "[x] partial(a, b)", CHM_U8);
    SAME_BYTES(t, {9, 9}, {11, 11}, {11, 11}, {11, 11});
    world_fini(&w);
}

static void test_all_to_all(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "tp=2", "x=3 y=3"); /* blocks 1 2; rank 0 has 1x3 and wants 3x1, rank 1 has 2x3 and wants 3x2 */
    ChmAttrs attrs = {.over = over(1, 0, 0), .dim = 0, .to_dim = 1};
    ChmTraffic t = measure(&w, CHM_OP_ALL_TO_ALL, attrs, "[x/tp, y]", CHM_U8);
    SAME_BYTES(t, {2, 2}, {2, 2});
    CU_ASSERT_EQUAL(t.messages, 2);
    CU_ASSERT_EQUAL(t.step_rounds, 1);
    world_set(&w, "tp=2", "x=3 y=2"); /* 1x2 -> 3x1, 2x2 -> 3x1 */
    t = measure(&w, CHM_OP_ALL_TO_ALL, attrs, "[x/tp, y]", CHM_U8);
    SAME_BYTES(t, {1, 2}, {2, 1});
    world_set(&w, "dp=2 tp=2", "x=8 y=8 z=1"); /* L 16, keeps 4 */
    attrs = (ChmAttrs){.over = over(2, 0, 1), .dim = 1, .to_dim = 0};
    t = measure(&w, CHM_OP_ALL_TO_ALL, attrs, "[x, y/dp/tp, z]", CHM_U8);
    SAME_BYTES(t, {12, 12}, {12, 12}, {12, 12}, {12, 12});
    CU_ASSERT_EQUAL(t.messages, 12);
    world_fini(&w);
}

static void test_pins(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "pp=3 tp=2", "x=3");
    ChmTraffic t = measure(&w, CHM_OP_SHIFT, (ChmAttrs){.axis = 0, .from = 2, .to = 0}, "[x/tp] at(pp=2)", CHM_U8);
    SAME_BYTES(t, {0, 1}, {0, 2}, {0, 0}, {0, 0}, {1, 0}, {2, 0});
    CU_ASSERT_EQUAL(t.messages, 2);
    CU_ASSERT_EQUAL(t.step_rounds, 1);
    /* 2 -> 0 -> 1 */
    t = measure(&w, CHM_OP_BROADCAST, (ChmAttrs){.axis = 0, .from = 2}, "[x/tp] at(pp=2)", CHM_U8);
    SAME_BYTES(t, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 0}, {2, 0});
    CU_ASSERT_EQUAL(t.messages, 4);
    CU_ASSERT_EQUAL(t.step_rounds, 2);
    /* 0 -> 2 -> 1: back to the root the same way */
    t = measure(&w, CHM_OP_REDUCE, (ChmAttrs){.axis = 0, .to = 1}, "[x] partial(pp) at(tp=1)", CHM_U8);
    SAME_BYTES(t, {0, 0}, {3, 0}, {0, 0}, {0, 3}, {0, 0}, {3, 3});
    CU_ASSERT_EQUAL(t.messages, 2);
    world_fini(&w);
}

static void test_exchange(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "pp=2 tp=2", "x=5");
    /* Both copies at pp=0 send a part to each receiver: 2 and 3 of 5. */
    ChmTraffic t = measure_exchange(&w, "[x] at(pp=0)", "[x] at(pp=1)", CHM_U8);
    SAME_BYTES(t, {4, 0}, {6, 0}, {0, 5}, {0, 5});
    CU_ASSERT_EQUAL(t.messages, 4);
    CU_ASSERT_EQUAL(t.step_rounds, 1);
    /* Who has it receives nothing. */
    t = measure_exchange(&w, "[x] at(pp=0)", "[x]", CHM_U8);
    SAME_BYTES(t, {4, 0}, {6, 0}, {0, 5}, {0, 5});
    /* Parts of one element: the holder with the empty part sends no message. */
    world_set(&w, "pp=2 tp=2", "x=1");
    t = measure_exchange(&w, "[x] at(pp=0)", "[x] at(pp=1)", CHM_U8);
    SAME_BYTES(t, {0, 0}, {2, 0}, {0, 1}, {0, 1});
    CU_ASSERT_EQUAL(t.messages, 2);
    CU_ASSERT_EQUAL(t.step_rounds, 1);
    /* What stays partial stays where it is: tp=0 sends to tp=0. */
    world_set(&w, "pp=2 tp=2", "x=5");
    t = measure_exchange(&w, "[x] partial(tp) at(pp=0)", "[x] partial(tp) at(pp=1)", CHM_U8);
    SAME_BYTES(t, {5, 0}, {5, 0}, {0, 5}, {0, 5});
    /* The order of a split: blocks 1 1 1 2 as dp,tp; the middle ranks trade places. */
    t = measure_exchange(&w, "[x/pp/tp]", "[x/tp/pp]", CHM_U8);
    SAME_BYTES(t, {0, 0}, {1, 1}, {1, 1}, {0, 0});
    world_fini(&w);
}

static void test_reduce_exchange(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "tp=4", "x=5"); /* as reduce_scatter: blocks 1 1 1 2 */
    ChmTraffic t = measure_exchange(&w, "[x] partial(tp)", "[x/tp]", CHM_U8);
    SAME_BYTES(t, {4, 3}, {4, 3}, {4, 3}, {3, 6});
    CU_ASSERT_EQUAL(t.messages, 12);
    CU_ASSERT_EQUAL(t.step_rounds, 1);
    /* Two contributions with two copies each, for one rank that holds one of them. */
    world_set(&w, "dp=2 tp=2", "x=4");
    t = measure_exchange(&w, "[x] partial(tp)", "[x] at(dp=1, tp=1)", CHM_U8);
    SAME_BYTES(t, {2, 0}, {0, 0}, {2, 0}, {0, 4});
    CU_ASSERT_EQUAL(t.messages, 2);
    world_fini(&w);
}

/* ---- against a count element by element */

typedef struct Count {
    int64_t *sent, *received;
    bool *pair; /* [sender * ranks + receiver] */
} Count;

/* Ranks that hold the element with the contribution of rank 'like' on the partial axes 'owed', in rank order. */
static int32_t list_holders(World *w, const ChmLayout *from, const int64_t *index, int64_t contribution, int32_t *list)
{
    int32_t n = 0;
    for (int32_t r = 0; r < w->mesh->ranks; r++)
        if (holds(w->shape, from, r, index) && chm_contribution_index(from, from->partial, r) == contribution)
            list[n++] = r;
    return n;
}

/* The elements that one rank lacks of one contribution: those with the same first holder are one piece. */
static void count_contribution(World *w, const ChmLayout *from, const ChmLayout *to, int32_t receiver, int64_t what,
                               Count *c)
{
    int64_t elems = w->shape->elems, index[CHM_MAX_DIMS];
    int32_t list[64] = {0};
    int64_t size[64] = {0}, seen[64] = {0}; /* of a piece, by its first holder */
    for (int32_t count_only = 1; count_only >= 0; count_only--)
        for (int64_t e = 0; e < elems; e++) {
            unflatten(w->shape, e, index);
            if (!holds(w->shape, to, receiver, index))
                continue;
            int32_t n = list_holders(w, from, index, what, list);
            CU_ASSERT_FATAL(n > 0);
            bool has = false;
            for (int32_t i = 0; i < n; i++)
                has = has || list[i] == receiver;
            if (has)
                continue;
            if (count_only) {
                size[list[0]]++;
                continue;
            }
            int64_t k = 0, at = seen[list[0]]++;
            while (at >= chm_block_begin(size[list[0]], n, k + 1))
                k++;
            c->sent[list[k]]++;
            c->received[receiver]++;
            c->pair[list[k] * w->mesh->ranks + receiver] = true;
        }
}

static void count_exchange(World *w, const ChmLayout *from, const ChmLayout *to, Count *c)
{
    int32_t ranks = w->mesh->ranks;
    ChmAxisSeq owed = chm_seq_of_set(from->partial);
    c->sent = CHM_NEW_ARRAY(&w->ctx.arena, int64_t, ranks);
    c->received = CHM_NEW_ARRAY(&w->ctx.arena, int64_t, ranks);
    c->pair = CHM_NEW_ARRAY(&w->ctx.arena, bool, ranks *ranks);
    for (int32_t r = 0; r < ranks; r++)
        for (int64_t what = 0; what < chm_mesh_extent(w->mesh, &owed); what++) {
            int32_t like = chm_group_member(w->mesh, r, &owed, (int32_t)what);
            if (chm_contribution_index(from, to->partial, like) == chm_contribution_index(from, to->partial, r))
                count_contribution(w, from, to, r, what, c);
        }
}

static void test_exchange_by_elements(void)
{
    for (uint64_t seed = 1; seed <= 600; seed++) {
        World w;
        world_init(&w, seed);
        world_random(&w, 24, 7);
        const ChmLayout *from = random_layout(&w, ~0u, 0), *to = random_layout(&w, from->partial, 0);
        ChmStep step = chm_arrow_exchange(from, to);
        ChmTraffic t;
        Count c;
        chm_traffic_init(&t, &w.ctx.arena, &chm_default_topology, w.mesh);
        chm_traffic_add(&t, w.shape, CHM_F16, from, &step);
        count_exchange(&w, from, to, &c);
        int64_t messages = 0;
        for (int32_t r = 0; r < w.mesh->ranks; r++) {
            int64_t out = 0;
            CU_ASSERT_EQUAL(t.sent[r], 2 * c.sent[r]);
            CU_ASSERT_EQUAL(t.received[r], 2 * c.received[r]);
            for (int32_t s = 0; s < w.mesh->ranks; s++)
                out += c.pair[r * w.mesh->ranks + s];
            messages += out;
        }
        CU_ASSERT_EQUAL(t.messages, messages);
        CU_ASSERT_EQUAL(t.step_rounds, messages > 0);
        world_fini(&w);
    }
}

/* What is sent is received, whatever the op; a baseline is made of all of them. */
static void test_nothing_is_lost(void)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        World w;
        world_init(&w, seed);
        world_random(&w, 64, 13);
        const ChmLayout *from = random_layout(&w, ~0u, 0), *to = random_layout(&w, from->partial, 0);
        ChmSteps steps = {0};
        ChmTraffic t;
        chm_traffic_init(&t, &w.ctx.arena, &chm_default_topology, w.mesh);
        chm_arrow_baseline(&w.ctx, &w.ctx.arena, w.shape, from, to, &steps);
        for (int32_t i = 0; i < steps.len; i++) {
            chm_traffic_add(&t, w.shape, CHM_I8, from, &steps.at[i]);
            from = steps.at[i].to;
            int64_t balance = 0;
            for (int32_t r = 0; r < t.ranks; r++) {
                CU_ASSERT(t.step_sent[r] >= 0 && t.step_received[r] >= 0);
                balance += t.step_sent[r] - t.step_received[r];
            }
            CU_ASSERT_EQUAL(balance, 0);
        }
        world_fini(&w);
    }
}

/* ---- the pairs */

/* Adds the arrows of a chain of layouts, as written. */
static void add_as_written(World *w, ChmTraffic *t, const char *const *layouts)
{
    for (int32_t i = 0; layouts[i + 1]; i++) {
        const ChmLayout *at = lay(w, layouts[i]);
        ChmSteps steps = {0};
        chm_arrow_baseline(&w->ctx, &w->ctx.arena, w->shape, at, lay(w, layouts[i + 1]), &steps);
        for (int32_t s = 0; s < steps.len; s++) {
            chm_traffic_add(t, w->shape, CHM_F32, at, &steps.at[s]);
            at = steps.at[s].to;
        }
    }
}

static const struct Pair {
    const char *mesh, *shape;
    const char *way[6], *back[6];
    double worst; /* in whole tensors */
} pairs[] = {
    {"tp=8", "seq=64 h=32", {"[seq, h] partial(tp)", "[seq, h]", "[seq/tp, h]"}, {NULL}, 1.75},
    {"pp=2 tp=4",
     "seq=64 h=32",
     {"[seq, h] partial(tp) at(pp=0)", "[seq, h] at(pp=0)", "[seq, h] at(pp=1)"},
     {NULL},
     2.5},
    {"dp=2 tp=4",
     "expert=8 slot=64 h=32",
     {"[expert, slot/dp, h] partial(tp)", "[expert, slot/dp, h]", "[expert, slot/dp/tp, h]", "[expert/dp/tp, slot, h]"},
     {NULL},
     0.859375},
    {"pp=2 sp=4", "seq=64 h=32", {"[seq/sp, h] at(pp=0)", "[seq, h] at(pp=0)", "[seq, h] at(pp=1)"}, {NULL}, 1.75},
    {"pp=2 ep=4",
     "expert=8 slot=64 h=32",
     {"[expert, slot/ep, h] at(pp=0)", "[expert, slot/ep, h] at(pp=1)", "[expert/ep, slot, h] at(pp=1)"},
     {NULL},
     0.4375},
    {"dp=2 sp=4",
     "expert=8 slot=64 h=32",
     {"[expert, slot/dp/sp, h]", "[expert, slot/dp, h]", "[expert, slot/dp/sp, h]", "[expert/dp/sp, slot, h]"},
     {"[expert/dp/sp, slot, h]", "[expert, slot/dp/sp, h]", "[expert, slot/dp, h/sp]"},
     0.6875},
};

static void test_pairs_as_written(void)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        World w;
        world_init(&w, 1);
        world_set(&w, pairs[i].mesh, pairs[i].shape);
        ChmTraffic t;
        chm_traffic_init(&t, &w.ctx.arena, &chm_default_topology, w.mesh);
        add_as_written(&w, &t, pairs[i].way);
        if (pairs[i].back[0])
            add_as_written(&w, &t, pairs[i].back);
        CU_ASSERT_EQUAL((double)chm_traffic_price(&t).worst_bytes / (4.0 * (double)w.shape->elems), pairs[i].worst);
        world_fini(&w);
    }
}

/* ---- sums, prices, modules */

static void test_sums(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "tp=2", "x=5");
    const ChmTopology slow = {
        .name = "slow", .nlevels = 1, .level = {{.bandwidth_bytes_per_s = 10.0, .latency_s = 3.0}}};
    const ChmLayout *owed = lay(&w, "[x] partial(tp)"), *cut = lay(&w, "[x/tp]"), *whole = lay(&w, "[x]");
    ChmStep scatter, gather;
    CU_ASSERT_FATAL(chm_arrow_single(&w.ctx, w.shape, owed, cut, &scatter));
    CU_ASSERT_FATAL(chm_arrow_single(&w.ctx, w.shape, cut, whole, &gather));
    ChmTraffic t, copy;
    chm_traffic_init(&t, &w.ctx.arena, &slow, w.mesh);
    chm_traffic_init(&copy, &w.ctx.arena, &slow, w.mesh);
    chm_traffic_add(&t, w.shape, CHM_U8, owed, &scatter);
    chm_traffic_measure(&t, w.shape, CHM_U8, cut, &gather); /* leaves the sums alone */
    SAME_BYTES(t, {3, 2}, {2, 3});
    CU_ASSERT_EQUAL(t.step_worst_bytes, 3);
    CU_ASSERT_EQUAL(t.step_sent[0], 2);
    chm_traffic_copy(&copy, &t);
    chm_traffic_add(&t, w.shape, CHM_U8, cut, &gather);
    SAME_BYTES(t, {5, 5}, {5, 5});
    SAME_BYTES(copy, {3, 2}, {2, 3});
    CU_ASSERT_EQUAL(t.total_sent, 10);
    CU_ASSERT(t.messages == 4 && t.ops == 4 && copy.ops == 2);
    CU_ASSERT_DOUBLE_EQUAL(t.time_s, 2 * (3.0 + 0.3), 1e-12);
    ChmPrice p = chm_traffic_price(&copy);
    CU_ASSERT(p.worst_bytes == 3 && p.worst_sent_bytes == 3 && p.worst_received_bytes == 3 && p.total_bytes == 5);
    chm_traffic_clear(&t);
    SAME_BYTES(t, {0, 0}, {0, 0});
    CU_ASSERT(t.messages == 0 && t.ops == 0 && t.total_sent == 0 && t.time_s == 0);
    world_fini(&w);
}

static void test_saturates(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "tp=4", "x=1152921504606846975"); /* (2^60 - 1) * 8 just fits */
    ChmTraffic t = measure(&w, CHM_OP_ALL_REDUCE, (ChmAttrs){.over = over(1, 0, 0)}, "[x] partial(tp)", CHM_F64);
    CU_ASSERT_EQUAL(t.sent[0], INT64_MAX);
    CU_ASSERT_EQUAL(t.total_sent, INT64_MAX);
    t = measure_exchange(&w, "[x] partial(tp)", "[x/tp]", CHM_F64);
    CU_ASSERT(t.received[3] > INT64_MAX / 4 * 3 - 64 && t.received[3] < INT64_MAX);
    world_fini(&w);
}

static void test_weights(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "tp=2", "x=5");
    ChmTraffic t = measure_exchange(&w, "[x] partial(tp)", "[x/tp]", CHM_U8);
    CU_ASSERT_EQUAL(t.ops, chm_op_weight(CHM_OP_REDUCE_EXCHANGE));
    t = measure_exchange(&w, "[x]", "[x/tp]", CHM_U8); /* sends nothing */
    CU_ASSERT_EQUAL(t.ops, 0);
    CU_ASSERT(2 * chm_op_weight(CHM_OP_SHIFT) < chm_op_weight(CHM_OP_EXCHANGE));
    CU_ASSERT(chm_op_weight(CHM_OP_REDUCE_EXCHANGE) < 3 * chm_op_weight(CHM_OP_ALL_GATHER));
    world_fini(&w);
}

/* All messages of an exchange wait for one latency; the others add theirs as far as that is a tie-break. */
static void test_exchange_latency(void)
{
    const ChmTopology slow = {.name = "t", .nlevels = 1, .level = {{.bandwidth_bytes_per_s = 1, .latency_s = 10}}};
    static const struct {
        const char *shape, *from, *to;
        double latency_s;
    } of[] = {
        {"x=64", "[x/tp]", "[x]", 10 + 48.0 / CHM_LATE_END}, /* three messages, 48 s on the wire */
        {"x=64000", "[x/tp]", "[x]", 10 + 2 * 10},           /* 48000 s: each further message a latency, and no more */
        {"x=8 y=8", "[x/tp, y]", "[x, y/tp]", 10 + 12.0 / CHM_LATE_END},
        {"x=6400", "[x] at(tp=0)", "[x] at(tp=1)", 10}, /* one message */
        {"x=6400", "[x]", "[x/tp]", 0},                 /* none */
    };
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        World w;
        ChmTraffic t;
        world_init(&w, 1);
        world_set(&w, "tp=4", of[i].shape);
        const ChmLayout *from = lay(&w, of[i].from);
        ChmStep step = chm_arrow_exchange(from, lay(&w, of[i].to));
        chm_traffic_init(&t, &w.ctx.arena, &slow, w.mesh);
        chm_traffic_measure(&t, w.shape, CHM_U8, from, &step);
        CU_ASSERT_DOUBLE_EQUAL(t.step_latency_s + t.step_tie_s, of[i].latency_s, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(t.step_time_s, of[i].latency_s + t.step_wire_s, 1e-12);
        world_fini(&w);
    }
}

static void test_price_order(void)
{
    const ChmPrice base = {.time_s = 1.0, .worst_bytes = 10, .total_bytes = 10, .ops = 10, .messages = 10};
    ChmPrice p = base;
    CU_ASSERT(chm_price_compare(&p, &base) == 0);
    p.time_s = 1.0 - 1e-8;
    p.worst_bytes = 99;
    CU_ASSERT(chm_price_compare(&p, &base) < 0 && chm_price_compare(&base, &p) > 0);
    p.time_s = 1.0 - 1e-10; /* equal: the bytes decide */
    CU_ASSERT(chm_price_compare(&p, &base) > 0);
    p = base;
    p.total_bytes = 9;
    p.messages = 99;
    CU_ASSERT(chm_price_compare(&p, &base) < 0);
    p.total_bytes = 10;
    CU_ASSERT(chm_price_compare(&p, &base) > 0);
    p.ops = 9;
    CU_ASSERT(chm_price_compare(&p, &base) < 0);
    const ChmPrice nothing = {.time_s = 0};
    CU_ASSERT(chm_price_compare(&nothing, &nothing) == 0 && chm_price_compare(&nothing, &base) < 0);
}

static void test_module(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "pp=2 tp=4", "seq=64 h=2");
    ChmModule *m = chm_module_new(&w.ctx, "m", w.mesh);
    const ChmSpan none = {0};
    const ChmTensor *x = chm_module_add_tensor(m, "x", CHM_F32, w.shape, none);
    const ChmLayout *from = lay(&w, "[seq, h] partial(tp) at(pp=0)");
    ChmValue *v = chm_build_input(m, NULL, none, x, chm_type_make(&w.ctx, CHM_F32, w.shape, from), "x0");
    ChmSteps steps = {0};
    chm_arrow_baseline(&w.ctx, &m->arena, w.shape, from, lay(&w, "[seq, h] at(pp=1)"), &steps);
    for (int32_t i = 0; i < steps.len; i++)
        v = chm_build_step(m, NULL, none, v, &steps.at[i], NULL);
    chm_build_output(m, NULL, none, v, "x1");
    ChmTraffic t;
    chm_traffic_of_module(&t, &w.ctx.arena, &chm_default_topology, m);
    ChmPrice p = chm_traffic_price(&t);
    CU_ASSERT_EQUAL(p.worst_bytes, 512 * 5 / 2); /* all_reduce 1.5, shift 1 */
    CU_ASSERT_EQUAL(p.worst_received_bytes, 512 * 3 / 2);
    CU_ASSERT_DOUBLE_EQUAL(p.time_s, 512 * 2.5 / 25e9, 1e-15);
    chm_module_free(m);
    world_fini(&w);
}

int main(void)
{
    static const UnitTest tests[] = {{"slice and drop are free", test_free_ops},
                                     {"reduce_scatter", test_reduce_scatter},
                                     {"all_gather", test_all_gather},
                                     {"all_reduce", test_all_reduce},
                                     {"all_to_all", test_all_to_all},
                                     {"shift, broadcast, reduce", test_pins},
                                     {"exchange", test_exchange},
                                     {"exchange latency", test_exchange_latency},
                                     {"reduce_exchange", test_reduce_exchange},
                                     {"exchanges element by element", test_exchange_by_elements},
                                     {"all that is sent is received", test_nothing_is_lost},
                                     {"the six pairs as written", test_pairs_as_written},
                                     {"sums", test_sums},
                                     {"counters saturate", test_saturates},
                                     {"weights of ops", test_weights},
                                     {"order of prices", test_price_order},
                                     {"a module", test_module},
                                     UNIT_END};
    return unit_main("cost", tests);
}
