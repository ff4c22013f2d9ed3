/* SPDX-License-Identifier: Apache-2.0
 *
 * Lower bounds: the figures of the design, a count element by element straight from the definition, and the traffic of
 * ops, baselines and exchanges, none of which may be below.
 */
#include "cost/demand.h"
#include "layouts.h"

#define MAX_RANKS 64

static int64_t bound_of(World *w, const char *from, const char *to, ChmDtype dtype)
{
    return chm_bound_arrow(&w->ctx.arena, w->shape, dtype, lay(w, from), lay(w, to));
}

static void test_figures(void)
{
    static const struct {
        const char *mesh, *shape, *from, *to;
        double bound; /* in whole tensors */
    } figures[] = {
        {"tp=8", "seq=64 h=8", "[seq, h] partial(tp)", "[seq/tp, h]", 0.875},
        {"tp=8", "seq=64 h=8", "[seq, h] partial(tp)", "[seq, h]", 1.75},
        {"pp=2 tp=4", "seq=64 h=8", "[seq, h] partial(tp) at(pp=0)", "[seq, h] at(pp=1)", 1.0},
        {"pp=2 sp=4", "seq=64 h=8", "[seq/sp, h] at(pp=0)", "[seq, h] at(pp=1)", 1.0},
        {"pp=2 ep=4", "e=8 s=64 h=8", "[e, s/ep, h] at(pp=0)", "[e/ep, s, h] at(pp=1)", 0.25},
        {"dp=2 tp=4", "e=8 s=64 h=8", "[e, s/dp, h] partial(tp)", "[e/dp/tp, s, h]", 0.4375},
        {"dp=2 sp=4", "e=8 s=64 h=8", "[e, s/dp/sp, h]", "[e/dp/sp, s, h]", 0.109375},
        {"dp=2 sp=4", "e=8 s=64 h=8", "[e/dp/sp, s, h]", "[e, s/dp, h/sp]", 0.109375},
        {"tp=8", "seq=64 h=8", "[seq, h]", "[seq/tp, h]", 0.0},
        {"tp=8", "seq=64 h=8", "[seq/tp, h]", "[seq, h]", 0.875},
        /* one sender has it all: out 1 from the root; the copies of two replicas share the sending */
        {"tp=8", "seq=64 h=8", "[seq, h] at(tp=3)", "[seq/tp, h]", 0.875},
        {"pp=2 tp=8", "seq=64 h=8", "[seq, h] at(pp=0)", "[seq/tp, h] at(pp=1)", 0.125},
        {"tp=8", "seq=64 h=8", "[seq, h] partial(tp)", "[seq, h] at(tp=2)", 1.0},
        {"tp=4 dp=2", "seq=64 h=8", "[seq, h] partial(tp, dp)", "[seq, h] partial(dp)", 1.5},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        World w;
        world_init(&w, 1);
        world_set(&w, figures[i].mesh, figures[i].shape);
        double bytes = (double)bound_of(&w, figures[i].from, figures[i].to, CHM_F32);
        CU_ASSERT_EQUAL(bytes / (4.0 * (double)w.shape->elems), figures[i].bound);
        world_fini(&w);
    }
}

static void test_uneven(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "tp=8", "x=61"); /* 106.75 words */
    CU_ASSERT_EQUAL(bound_of(&w, "[x] partial(tp)", "[x]", CHM_F32), 427);
    CU_ASSERT_EQUAL(bound_of(&w, "[x] partial(tp)", "[x]", CHM_BF16), 214);
    CU_ASSERT_EQUAL(bound_of(&w, "[x] partial(tp)", "[x]", CHM_U8), 107);
    /* blocks of 7 and 8: a rank keeps its own of 61 */
    CU_ASSERT_EQUAL(bound_of(&w, "[x] partial(tp)", "[x/tp]", CHM_U8), 54);
    CU_ASSERT_EQUAL(bound_of(&w, "[x/tp]", "[x]", CHM_U8), 54);
    world_fini(&w);
}

/* ---- the definition, element by element */

typedef struct Figures {
    int64_t in[MAX_RANKS], out[MAX_RANKS], total; /* out: of a set of replicas, at its lowest rank */
} Figures;

typedef struct Element {
    bool has[MAX_RANKS], needs[MAX_RANKS];
    int64_t problem[MAX_RANKS], class[MAX_RANKS];
} Element;

/* Adds one element of one problem. */
static void add_problem(const World *w, const Element *e, int64_t problem, Figures *f)
{
    int32_t ranks = w->mesh->ranks, lowest[MAX_RANKS], k = 0;
    int64_t needers = 0, outside = 0;
    bool a_needer_has = false;
    for (int32_t r = 0; r < ranks; r++) { /* classes, by their lowest ranks */
        bool seen = !e->has[r] || e->problem[r] != problem;
        for (int32_t c = 0; c < k && !seen; c++)
            seen = e->class[lowest[c]] == e->class[r];
        if (!seen)
            lowest[k++] = r;
    }
    for (int32_t r = 0; r < ranks; r++) {
        if (!e->needs[r] || e->problem[r] != problem)
            continue;
        needers++;
        outside += !e->has[r];
        a_needer_has = a_needer_has || e->has[r];
        f->in[r] += k > 1 || !e->has[r];
    }
    for (int32_t c = 0; c < k; c++) {
        bool another = false;
        for (int32_t r = 0; r < ranks; r++)
            another = another ||
                      (e->needs[r] && e->problem[r] == problem && !(e->has[r] && e->class[r] == e->class[lowest[c]]));
        f->out[lowest[c]] += another;
    }
    if (k == 1)
        f->total += outside;
    else if (needers > 0)
        f->total += k - 1 + needers - 1 + !a_needer_has;
}

static void count_figures(const World *w, const ChmLayout *from, const ChmLayout *const *to, int32_t n, Figures *f)
{
    ChmAxes stay = to[0]->partial;
    ChmAxisSeq staying = chm_seq_of_set(stay);
    *f = (Figures){.total = 0};
    for (int64_t at = 0; at < w->shape->elems; at++) {
        int64_t index[CHM_MAX_DIMS];
        Element e;
        unflatten(w->shape, at, index);
        for (int32_t r = 0; r < w->mesh->ranks; r++) {
            e.has[r] = holds(w->shape, from, r, index);
            e.needs[r] = false;
            for (int32_t i = 0; i < n; i++)
                e.needs[r] = e.needs[r] || holds(w->shape, to[i], r, index);
            e.problem[r] = chm_contribution_index(from, stay, r);
            e.class[r] = chm_contribution_index(from, from->partial, r);
        }
        for (int64_t p = 0; p < chm_mesh_extent(w->mesh, &staying); p++)
            add_problem(w, &e, p, f);
    }
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t number_of_replicas(const World *w, const ChmLayout *l)
{
    int64_t n = 1;
    for (int32_t a = 0; a < w->mesh->naxes; a++)
        if (!((l->split | l->partial | l->pinned) & CHM_AXIS(a)))
            n *= w->mesh->axis_size[a];
    return n;
}

static int64_t greatest(const World *w, const ChmLayout *from, const ChmLayout *const *to, int32_t n, const Figures *f,
                        int64_t bytes)
{
    int64_t best = 0, present = 0, replicas = number_of_replicas(w, from);
    for (int32_t r = 0; r < w->mesh->ranks; r++) {
        int64_t in = f->in[r] * bytes, out = divide_up(f->out[r] * bytes, replicas);
        bool here = chm_layout_present(from, r);
        best = best > in ? best : in;
        best = best > out ? best : out;
        for (int32_t i = 0; i < n; i++)
            here = here || chm_layout_present(to[i], r);
        present += here;
    }
    int64_t average = divide_up(f->total * bytes, present > 0 ? present : 1);
    return best > average ? best : average;
}

/* The figures themselves, since the greatest of them hides the others. */
static void same_figures(World *w, const ChmLayout *from, const ChmLayout *const *to, int32_t n, const Figures *f)
{
    int64_t in[MAX_RANKS], out[MAX_RANKS];
    ChmDemand x = {.shape = w->shape, .from = from, .targets = n, .in = in, .out = out};
    for (int32_t i = 0; i < n; i++)
        x.to[i] = to[i];
    for (int32_t closed = n == 1; closed >= 0; closed--) { /* one target both ways */
        if (closed)
            chm_demand_of_one(&x);
        else
            chm_demand_of_several(&w->ctx.arena, &x);
        size_t bytes = sizeof *in * (size_t)w->mesh->ranks;
        CU_ASSERT(memcmp(in, f->in, bytes) == 0);
        CU_ASSERT(memcmp(out, f->out, bytes) == 0);
        CU_ASSERT_EQUAL(x.total, f->total);
    }
}

static void test_one_target_by_elements(void)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        World w;
        Figures f;
        world_init(&w, seed);
        world_random(&w, 32, 6);
        const ChmLayout *from = random_layout(&w, ~0u, 0), *to = random_layout(&w, from->partial, 0);
        count_figures(&w, from, &to, 1, &f);
        same_figures(&w, from, &to, 1, &f);
        int64_t bound = chm_bound_arrow(&w.ctx.arena, w.shape, CHM_F16, from, to);
        CU_ASSERT_EQUAL(bound, greatest(&w, from, &to, 1, &f, 2));
        CU_ASSERT_EQUAL(chm_bound_on(&w.ctx.arena, &chm_default_topology, w.shape, CHM_F16, from, to).total_bytes,
                        2 * f.total);
        CU_ASSERT_EQUAL(bound, chm_bound_arrows(&w.ctx.arena, w.shape, CHM_F16, from, &to, 1));
        world_fini(&w);
    }
}

static void test_several_targets_by_elements(void)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        World w;
        Figures f;
        const ChmLayout *to[4];
        world_init(&w, seed);
        world_random(&w, 24, 6);
        const ChmLayout *from = random_layout(&w, ~0u, 0);
        int32_t n = 2 + pick(&w, 3);
        to[0] = random_layout(&w, from->partial, 0);
        for (int32_t i = 1; i < n; i++)
            to[i] = random_layout(&w, 0, to[0]->partial);
        count_figures(&w, from, to, n, &f);
        same_figures(&w, from, to, n, &f);
        CU_ASSERT_EQUAL(chm_bound_arrows(&w.ctx.arena, w.shape, CHM_F32, from, to, n),
                        greatest(&w, from, to, n, &f, 4));
        world_fini(&w);
    }
}

/* Targets that are owed different sums: each kind by itself, and the greatest of each figure. */
static void test_two_kinds_by_elements(void)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        World w;
        Figures f[2];
        const ChmLayout *to[2];
        world_init(&w, seed);
        world_random(&w, 24, 6);
        const ChmLayout *from = random_layout(&w, ~0u, 0);
        for (int32_t i = 0; i < 2; i++)
            to[i] = random_layout(&w, from->partial, 0);
        if (to[0]->partial != to[1]->partial) {
            for (int32_t i = 0; i < 2; i++)
                count_figures(&w, from, &to[i], 1, &f[i]);
            f[0].total = f[0].total > f[1].total ? f[0].total : f[1].total;
            for (int32_t r = 0; r < w.mesh->ranks; r++) {
                f[0].in[r] = f[0].in[r] > f[1].in[r] ? f[0].in[r] : f[1].in[r];
                f[0].out[r] = f[0].out[r] > f[1].out[r] ? f[0].out[r] : f[1].out[r];
            }
            CU_ASSERT_EQUAL(chm_bound_arrows(&w.ctx.arena, w.shape, CHM_U8, from, to, 2),
                            greatest(&w, from, to, 2, &f[0], 1));
        }
        world_fini(&w);
    }
}

static void test_targets_in_turns(void)
{
    World w;
    const ChmLayout *to[40];
    world_init(&w, 7);
    world_set(&w, "a=2 b=2 c=2", "x=8 y=8");
    const ChmLayout *from = lay(&w, "[x/a, y/b] partial(c)");
    int64_t most = 0;
    for (int32_t i = 0; i < 40; i++) { /* more than at once, some twice */
        to[i] = random_layout(&w, 0, 0);
        int64_t alone = chm_bound_arrow(&w.ctx.arena, w.shape, CHM_U8, from, to[i]);
        most = most > alone ? most : alone;
    }
    int64_t all = chm_bound_arrows(&w.ctx.arena, w.shape, CHM_U8, from, to, 40);
    CU_ASSERT(all >= most && all <= 2 * 64);
    CU_ASSERT_EQUAL(chm_bound_arrows(&w.ctx.arena, w.shape, CHM_U8, from, to, 0), 0);
    world_fini(&w);
}

/* ---- no schedule is below */

static int64_t traffic_of(World *w, const ChmLayout *from, const ChmStep *steps, int32_t n)
{
    ChmTraffic t;
    chm_traffic_init(&t, &w->ctx.arena, &chm_default_topology, w->mesh);
    for (int32_t i = 0; i < n; i++) {
        chm_traffic_add(&t, w->shape, CHM_F16, from, &steps[i]);
        from = steps[i].to;
    }
    return chm_traffic_price(&t).worst_bytes;
}

static void test_no_schedule_is_below(void)
{
    int32_t singles = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        World w;
        world_init(&w, seed);
        world_random(&w, MAX_RANKS, 13);
        const ChmLayout *from = random_layout(&w, ~0u, 0), *to = random_layout(&w, from->partial, 0);
        int64_t bound = chm_bound_arrow(&w.ctx.arena, w.shape, CHM_F16, from, to);
        ChmSteps steps = {0};
        ChmStep exchange = chm_arrow_exchange(from, to);
        chm_arrow_baseline(&w.ctx, &w.ctx.arena, w.shape, from, to, &steps);
        singles += steps.len == 1;
        CU_ASSERT(traffic_of(&w, from, steps.at, steps.len) >= bound);
        CU_ASSERT(from != to || bound == 0);
        CU_ASSERT(from == to || traffic_of(&w, from, &exchange, 1) >= bound);
        world_fini(&w);
    }
    CU_ASSERT(singles > 100);
}

/* By way of one or two other layouts, which borrow no rank: the partial axes may settle anywhere on the way. */
static void test_no_detour_is_below(void)
{
    int32_t tried = 0;
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        World w;
        world_init(&w, seed);
        world_random(&w, 16, 6);
        const ChmLayout *way[4], *to = random_layout(&w, 0, 0);
        way[0] = random_layout(&w, ~0u, 0);
        int32_t n = 2 + pick(&w, 2);
        for (int32_t i = 1; i < n; i++)
            way[i] = random_layout(&w, way[i - 1]->partial, 0);
        way[n] = to;
        bool borrows = false;
        for (int32_t r = 0; r < w.mesh->ranks; r++)
            for (int32_t i = 1; i < n; i++)
                borrows = borrows || (chm_layout_present(way[i], r) && !chm_layout_present(way[0], r) &&
                                      !chm_layout_present(to, r));
        ChmStep steps[3];
        for (int32_t i = 0; i < n; i++)
            steps[i] = chm_arrow_exchange(way[i], way[i + 1]);
        if (!borrows) {
            tried++;
            CU_ASSERT(traffic_of(&w, way[0], steps, n) >= chm_bound_arrow(&w.ctx.arena, w.shape, CHM_F16, way[0], to));
        }
        world_fini(&w);
    }
    CU_ASSERT(tried > 1000);
}

/* Each op of the table by itself, in every place where it applies. */
static void test_no_op_is_below(void)
{
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        World w;
        world_init(&w, seed);
        world_random(&w, 32, 9);
        const ChmLayout *from = random_layout(&w, ~0u, 0);
        for (int32_t code = 0; code < CHM_NOPS; code++) {
            if (chm_ops[code].class != CHM_CLASS_LAYOUT || code == CHM_OP_EXCHANGE || code == CHM_OP_REDUCE_EXCHANGE)
                continue;
            ChmAttrs attrs = {.dim = pick(&w, from->ndims)};
            if (from->dim[attrs.dim].len > 0 && pick(&w, 2))
                attrs.over =
                    chm_seq_slice(&from->dim[attrs.dim], pick(&w, from->dim[attrs.dim].len), from->dim[attrs.dim].len);
            else
                chm_seq_push(&attrs.over, pick(&w, w.mesh->naxes));
            attrs.to_dim = pick(&w, from->ndims);
            attrs.axis = pick(&w, w.mesh->naxes);
            attrs.from = from->pin[attrs.axis];
            attrs.to = pick(&w, w.mesh->axis_size[attrs.axis]);
            ChmStep step = {(ChmOpcode)code, attrs, NULL};
            if (!chm_op_has(step.code, 'A'))
                step.attrs.over = (ChmAxisSeq){0};
            step.to = chm_infer_layout(&w.ctx, step.code, &step.attrs, w.shape, from, NULL, NULL);
            if (!step.to)
                continue;
            int64_t bound = chm_bound_arrow(&w.ctx.arena, w.shape, CHM_F16, from, step.to);
            CU_ASSERT(traffic_of(&w, from, &step, 1) >= bound);
        }
        world_fini(&w);
    }
}

/* ---- modules */

static void add_input(ChmModule *m, World *w, const char *name, const char *layout, ChmValue **value)
{
    const ChmTensor *x = chm_module_add_tensor(m, name, CHM_F32, w->shape, (ChmSpan){0});
    const ChmType *type = chm_type_make(&w->ctx, CHM_F32, w->shape, lay(w, layout));
    *value = chm_build_input(m, NULL, (ChmSpan){0}, x, type, name);
}

static ChmValue *add_arrow(ChmModule *m, World *w, ChmValue *v, const char *layout)
{
    ChmStep step = chm_arrow_exchange(v->type->layout, lay(w, layout));
    return chm_build_step(m, NULL, (ChmSpan){0}, v, &step, NULL);
}

static void test_module_adds_tensors(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "dp=2 sp=4", "e=8 s=64 h=8");
    ChmModule *m = chm_module_new(&w.ctx, "sp_ep", w.mesh);
    ChmValue *x, *y, *unused;
    add_input(m, &w, "x", "[e, s/dp/sp, h]", &x);
    add_input(m, &w, "y", "[e/dp/sp, s, h]", &y);
    add_input(m, &w, "z", "[e/dp/sp, s, h]", &unused); /* demands nothing */
    ChmValue *on_the_way = add_arrow(m, &w, x, "[e, s/dp, h]");
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, on_the_way, "[e/dp/sp, s, h]"), "x1");
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, y, "[e, s/dp, h/sp]"), "y1");
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 4096 * 7 / 32);

    /* On two nodes of four that share a wire, a quarter of each tensor must come in. */
    ChmTopology nodes = {.nlevels = 2,
                         .level = {{.group_ranks = 4, .bandwidth_bytes_per_s = 1e12},
                                   {.group_ranks = 8, .bandwidth_bytes_per_s = 1e9, .shared = true}}};
    CU_ASSERT_DOUBLE_EQUAL(chm_bound_module_time(&w.ctx.arena, &nodes, m), 4 * 4096 / 2.0 / 1e9, 1e-15);
    /* Nodes of two need a quarter of each and hold a quarter of that. */
    nodes.level[0].group_ranks = 2;
    CU_ASSERT_DOUBLE_EQUAL(chm_bound_module_time(&w.ctx.arena, &nodes, m), 4 * 4096 * 3 / 16.0 * 2 / 1e9, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(chm_bound_module_time(&w.ctx.arena, &chm_default_topology, m), 4 * 4096 * 7 / 32.0 / 25e9,
                           1e-15);
    chm_module_free(m);
    world_fini(&w);
}

static void test_module_joins_outputs(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "tp=4", "x=8 y=8");
    ChmModule *m = chm_module_new(&w.ctx, "m", w.mesh);
    ChmValue *x;
    add_input(m, &w, "x", "[x/tp, y]", &x);
    /* A column less the own block: 12 words. Both outputs: the first row of blocks does not count twice. */
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, x, "[x, y/tp]"), "a");
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 12);
    chm_build_output(m, NULL, (ChmSpan){0}, x, "b");
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 12);
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, x, "[x, y] at(tp=1)"), "c");
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 48);
    chm_module_free(m);
    world_fini(&w);
}

/* Where tensors have other replicas, their joint outs add only inside a set that holds both. */
static void test_module_other_replicas(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "p=2 a=2 b=2", "x=8");
    ChmModule *m = chm_module_new(&w.ctx, "m", w.mesh);
    ChmValue *x, *y;
    /* Ranks 0 and 1 send x to all others at b = 0..1 of a = 1; ranks 0 and 2 send y. */
    add_input(m, &w, "x", "[x] at(p=0, a=0)", &x);
    add_input(m, &w, "y", "[x] at(p=0, b=0)", &y);
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, x, "[x/a/b] at(p=1)"), "x1");
    /* joint out 8 words over two ranks */
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 4);
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, y, "[x/a/b] at(p=1)"), "y1");
    /* 16 words over the four ranks of p=0, where each set alone gives 8 over 2: rank 0 is in both, and need not send */
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 4);
    ChmValue *z;
    add_input(m, &w, "z", "[x] at(p=0)", &z);
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, z, "[x/a/b] at(p=1)"), "z1");
    /* 24 words over four ranks: more than what comes in, 2 words of each tensor */
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 6);
    chm_module_free(m);
    world_fini(&w);
}

/* Two pairs of ranks and the same four paired the other way: only all four together show that each sends twice. */
static void test_module_crossed_replicas(void)
{
    static const char *const at[] = {"[x] at(p=0, a=0)", "[x] at(p=0, a=1)", "[x] at(p=0, b=0)", "[x] at(p=0, b=1)"};
    /* Each pair keeps two words of its tensor and sends 14: 14 over two ranks; 42, then 56 over four. */
    static const int64_t bytes[] = {4 * 7, 4 * 7, 4 * 42 / 4, 4 * 56 / 4};
    World w;
    world_init(&w, 1);
    world_set(&w, "p=4 a=2 b=2", "x=16");
    ChmModule *m = chm_module_new(&w.ctx, "m", w.mesh);
    for (int32_t i = 0; i < 4; i++) {
        ChmValue *x;
        add_input(m, &w, at[i], at[i], &x);
        chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, x, "[x/p/a/b]"), at[i]);
        CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), bytes[i]);
    }
    chm_module_free(m);
    world_fini(&w);
}

/* An average says nothing of any rank, but of all participants together: to it adds what they do for other tensors. */
static void test_module_sets_of_ranks(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "p=2 a=4", "x=16");
    ChmModule *m = chm_module_new(&w.ctx, "m", w.mesh);
    ChmValue *x, *y, *z;
    add_input(m, &w, "x", "[x] partial(a) at(p=0)", &x);
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, x, "[x] at(p=0)"), "x1");
    /* 6 transfers a word, 96 over the four ranks of p=0 */
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 24);
    add_input(m, &w, "y", "[x/a] at(p=0)", &y);
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, y, "[x/a] at(p=1)"), "y1");
    /* Each of the four sends its 4 words of y besides: 112 together, where all eight share 112 and each has 16 and 4.
     */
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 28);
    add_input(m, &w, "z", "[x/a] at(p=1)", &z);
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, z, "[x/a] at(p=0)"), "z1");
    /* and receives as many of z, on another wire */
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 28);
    chm_module_free(m);
    world_fini(&w);
}

/* Of replicas that are partly outside the set nothing is known: whoever is outside may send for all. */
static void test_module_sets_cut_replicas(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "p=3 a=4", "x=16");
    ChmModule *m = chm_module_new(&w.ctx, "m", w.mesh);
    ChmValue *x, *y;
    add_input(m, &w, "x", "[x] partial(a) at(p=0)", &x);
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, x, "[x] at(p=0)"), "x1");
    /* Each word of y is on three ranks, and the three ranks behind it need it: those of p=1, p=2 may send them all. */
    add_input(m, &w, "y", "[x/a]", &y);
    chm_build_output(m, NULL, (ChmSpan){0}, add_arrow(m, &w, y, "[x] at(p=2)"), "y1");
    CU_ASSERT_EQUAL(chm_bound_module(&w.ctx.arena, m), 4 * 24);
    chm_module_free(m);
    world_fini(&w);
}

/* ---- size */

static void test_large_meshes(void)
{
    World w;
    world_init(&w, 1);
    world_set(&w, "dp=64 tp=64", "e=4096 s=4096 h=1024");
    int64_t bytes = 4 * w.shape->elems;
    CU_ASSERT_EQUAL(bound_of(&w, "[e, s/dp, h] partial(tp)", "[e/dp/tp, s, h]", CHM_F32),
                    bytes / 64 - bytes / (64 * 4096));
    const ChmLayout *to[] = {lay(&w, "[e/dp/tp, s, h]"), lay(&w, "[e, s/dp/tp, h]")};
    int64_t both = chm_bound_arrows(&w.ctx.arena, w.shape, CHM_F32, lay(&w, "[e, s/dp, h] partial(tp)"), to, 2);
    CU_ASSERT(both >= bytes / 64 - bytes / (64 * 4096));
    world_set(&w, "tp=4", "x=1152921504606846975"); /* figures that do not fit saturate */
    CU_ASSERT(bound_of(&w, "[x] partial(tp)", "[x]", CHM_F64) >= INT64_MAX / 4);
    world_fini(&w);
}

int main(void)
{
    static const UnitTest tests[] = {{"figures of the design", test_figures},
                                     {"uneven sizes round up", test_uneven},
                                     {"one target element by element", test_one_target_by_elements},
                                     {"several targets element by element", test_several_targets_by_elements},
                                     {"two kinds of sums element by element", test_two_kinds_by_elements},
                                     {"more targets than at once", test_targets_in_turns},
                                     {"no schedule is below", test_no_schedule_is_below},
                                     {"no detour is below", test_no_detour_is_below},
                                     {"no op is below", test_no_op_is_below},
                                     {"a module adds its tensors", test_module_adds_tensors},
                                     {"a module joins outputs of a tensor", test_module_joins_outputs},
                                     {"tensors with other replicas", test_module_other_replicas},
                                     {"tensors with crossed replicas", test_module_crossed_replicas},
                                     {"sets of ranks", test_module_sets_of_ranks},
                                     {"sets of ranks that cut replicas", test_module_sets_cut_replicas},
                                     {"large meshes", test_large_meshes},
                                     UNIT_END};
    return unit_main("bounds", tests);
}
