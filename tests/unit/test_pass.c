/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_pass.c - the pass manager, remarks, and what every pass promises, on random schedules.
 */
#include "layouts.h"

#include "check/check.h"
#include "pass/pass.h"

static const char *const fused = "plan p\n"
                                 "mesh m (pp = 2, tp = 4)\n"
                                 "tensor x : f32[s = 64, h = 16]\n"
                                 "%x = input x : [s, h] partial(tp) at(pp=0)\n"
                                 "%1 = all_reduce %x over (tp) : [s, h] at(pp=0)\n"
                                 "%2 = shift %1 pp 0 -> 1 : [s, h] at(pp=1)\n"
                                 "%3 = slice %2 over (tp) dim s : [s/tp, h] at(pp=1)\n"
                                 "output y = %3\n";

static ChmModule *parse(ChmCtx *ctx, const char *text)
{
    ChmModule *m = chm_module_parse(ctx, chm_source_from_text(&ctx->arena, "t.ir", text, strlen(text)));
    CU_ASSERT_FATAL(m != NULL);
    return m;
}

static const char *print(ChmModule *m)
{
    ChmOut o;
    chm_out_init_arena(&o, &m->ctx->arena);
    chm_module_print(m, &o);
    return chm_out_text(&o);
}

static int32_t run(ChmModule *m, const char *name)
{
    ChmPassEnv env = {.topology = &chm_default_topology, .remarks = &m->ctx->remarks};
    return chm_pass_find(name)->run(m, &env);
}

/* ---- the table */

static void test_table(void)
{
    for (const ChmPass *p = chm_passes; p->name; p++) {
        CU_ASSERT(chm_pass_find(p->name) == p);
        CU_ASSERT(p->run != NULL && strlen(p->what) > 0);
    }
    CU_ASSERT(chm_pass_find("cancle") == NULL);
    const ChmPass *list[64];
    int32_t n, before = 0;
    for (int32_t level = 0; level <= 3; level++) {
        chm_pipeline_for_level(level, list, 64, &n);
        CU_ASSERT(level == 0 ? n == 0 : n >= before);
        for (int32_t i = 0; i < n; i++)
            CU_ASSERT(list[i] != NULL);
        before = n;
    }
    chm_pipeline_for_level(2, list, 3, &n);
    CU_ASSERT(n == 3);
}

/* ---- remarks */

static const ChmRemark *only_remark(ChmCtx *ctx)
{
    CU_ASSERT_EQUAL_FATAL(ctx->remarks.list.len, 1);
    return &ctx->remarks.list.at[0];
}

static void test_applied_remark(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmModule *m = parse(&ctx, fused);
    CU_ASSERT(run(m, "split-all-reduce") == 1);
    const ChmRemark *r = only_remark(&ctx);
    CU_ASSERT(r->kind == CHM_APPLIED && r->span.begin > 0);
    UNIT_SAME_TEXT(r->pass, "split-all-reduce");
    UNIT_SAME_TEXT(r->text,
                   "all_reduce over (tp); shift pp 0 -> 1; slice over (tp) dim s become reduce_scatter over (tp) "
                   "dim s; shift pp 0 -> 1: of the sum, only slices are kept");
    UNIT_SAME_TEXT(r->brief, "[s, h] partial(tp) at(pp=0) to [s/tp, h] at(pp=1) by reduce_scatter, shift instead of "
                             "all_reduce, shift, slice");
    /* a rank of stage 0 sent 2 * 3/4 and 1 of 4096 bytes, and now sends 3/4 and 1/4 */
    CU_ASSERT_EQUAL(r->saved_bytes, 4096 * 5 / 2 - 4096);
    chm_ctx_fini(&ctx);
}

static void test_missed_remark(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmModule *m = parse(&ctx, "plan p\nmesh m (tp = 4)\ntensor x : f32[s = 64, h = 16]\n"
                               "%x = input x : [s/tp, h]\n"
                               "%whole = all_gather %x over (tp) dim s : [s, h]\n"
                               "%2 = slice %whole over (tp) dim h : [s, h/tp]\n"
                               "output y = %2\noutput z = %whole\n");
    CU_ASSERT(run(m, "cancel") == 0);
    CU_ASSERT(run(m, "cancel") == 0); /* the same is not said twice */
    const ChmRemark *r = only_remark(&ctx);
    CU_ASSERT(r->kind == CHM_MISSED && r->brief == NULL);
    UNIT_SAME_TEXT(r->text, "all_gather over (tp) dim s; slice over (tp) dim h is not made all_to_all over (tp) from s "
                            "to h: 'whole' has another use, output 'z'");
    CU_ASSERT_EQUAL(r->saved_bytes, 3072 - 768);
    chm_ctx_fini(&ctx);
}

/* ---- the manager */

typedef struct Seen {
    char text[400];
} Seen;

static void see(void *user, const ChmPass *pass, ChmModule *m, int32_t changes)
{
    Seen *s = user;
    CU_ASSERT(m->first != NULL);
    snprintf(s->text + strlen(s->text), sizeof s->text - strlen(s->text), "%s:%d ", pass->name, (int)changes);
}

static void test_order_and_stats(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmModule *m = parse(&ctx, fused);
    Seen seen = {""};
    ChmPassOptions options = {.verify_each = true, .after = see, .user = &seen};
    const ChmPass *list[] = {chm_pass_find("split-all-reduce"), chm_pass_find("compose"), chm_pass_find("compose")};
    ChmPassStat stats[3];
    ChmOut reproducer;
    chm_out_init(&reproducer, &ctx.guard);
    CU_ASSERT(chm_passes_run(m, list, 3, &options, stats, NULL, NULL, &reproducer) == CHM_OK);
    /* what is required and lacking is established first, once */
    UNIT_SAME_TEXT(seen.text, "canonicalize:0 split-all-reduce:1 dce:0 compose:1 compose:0 ");
    for (int i = 0; i < 3; i++)
        CU_ASSERT(stats[i].pass == list[i] && stats[i].changes == (i < 2) && stats[i].seconds >= 0);
    UNIT_SAME_TEXT(chm_out_text(&reproducer), "");
    chm_out_fini(&reproducer);
    chm_ctx_fini(&ctx);
}

static void test_wrong_from_the_start(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmModule *m = parse(&ctx, fused);
    m->first->result->uses = 7;
    const ChmPass *list[] = {chm_pass_find("cse")}, *culprit = list[0];
    ChmPassOptions options = {.verify_each = false};
    ChmWhy why = {NULL};
    CU_ASSERT(chm_passes_run(m, list, 1, &options, NULL, &culprit, &why, NULL) == CHM_ERR_INTERNAL);
    CU_ASSERT(culprit == NULL);
    UNIT_SAME_TEXT(why.text, "value '%x' counts 7 uses, but has 1");
    CU_ASSERT(ctx.diags.errors == 0);
    chm_ctx_fini(&ctx);
}

static int runs_of_moody; /* a pass that breaks the module at its first run only */

static int32_t be_moody(ChmModule *m, const ChmPassEnv *env)
{
    (void)env;
    if (runs_of_moody++ == 0)
        m->first->result->uses++;
    return 1;
}

static void test_culprit_of_a_moody_pass(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmModule *m = parse(&ctx, fused);
    const ChmPass moody = {"moody", "", be_moody, 0, 0, 0}, *list[] = {chm_pass_find("cse"), &moody}, *culprit = NULL;
    ChmPassOptions options = {.verify_each = false};
    ChmWhy why = {NULL};
    runs_of_moody = 0;
    CU_ASSERT(chm_passes_run(m, list, 2, &options, NULL, &culprit, &why, NULL) == CHM_ERR_INTERNAL);
    CU_ASSERT(culprit == &moody);
    CU_ASSERT(strstr(why.text, "not so when the passes were run again") != NULL);
    chm_ctx_fini(&ctx);
}

static ChmStatus refuse(ChmModule *m, const ChmExpects *expected, ChmWhy *why)
{
    (void)m;
    (void)expected;
    (void)why;
    return CHM_ERR_INTERNAL;
}

static void test_validation_without_reason(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmPassOptions options = {.validate = refuse};
    ChmWhy why = {NULL};
    CU_ASSERT(chm_passes_run(parse(&ctx, fused), NULL, 0, &options, NULL, NULL, &why, NULL) == CHM_ERR_INTERNAL);
    CU_ASSERT(why.text != NULL);
    chm_ctx_fini(&ctx);
}

/* ---- memory */

typedef struct Entry {
    ChmCtx ctx;
    ChmStatus status;
} Entry;

static ChmStatus optimize_within(Entry *e, int64_t fail_at)
{
    chm_ctx_init(&e->ctx);
    e->status = CHM_ERR_MEMORY;
    if (CHM_TRY(&e->ctx.guard)) {
        ChmModule *m = chm_module_parse(&e->ctx, chm_source_from_text(&e->ctx.arena, "t", fused, strlen(fused)));
        const ChmPass *list[64];
        int32_t n;
        ChmPassOptions options = {.verify_each = false};
        chm_pipeline_for_level(1, list, 64, &n);
        e->ctx.guard.fail_at = fail_at;
        e->status = chm_passes_run(m, list, n, &options, NULL, NULL, NULL, NULL);
        e->ctx.guard.armed = false;
    }
    chm_ctx_fini(&e->ctx); /* with the module and the manager's copy of it */
    return e->status;
}

static void test_out_of_memory(void)
{
    static Entry e;
    int64_t n = 1;
    while (optimize_within(&e, n) == CHM_ERR_MEMORY && n < 100000)
        n++;
    CU_ASSERT(e.status == CHM_OK && n > 50);
}

/* ---- random schedules: chains of arrows as written, with extra outputs, branches and dead ends */

static void build_random(World *w, ChmModule *m)
{
    static const char *const outputs[] = {"o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9", "o10", "o11"};
    int32_t noutputs = 0, chains = 1 + pick(w, 2);
    ChmSpan none = {0};
    for (int32_t c = 0; c < chains; c++) {
        static const char *const names[] = {"x", "y"};
        const ChmDtype dtype = pick(w, 2) ? CHM_F32 : CHM_BF16;
        const ChmTensor *t = chm_module_add_tensor(m, names[c], dtype, w->shape, none);
        const ChmLayout *l = random_layout(w, ~(ChmAxes)0, 0);
        ChmValue *values[8] = {chm_build_input(m, NULL, none, t, chm_type_make(&w->ctx, dtype, w->shape, l), names[c])};
        int32_t n = 1, arrows = 1 + pick(w, 6);
        for (int32_t i = 0; i < arrows; i++) {
            ChmValue *v = values[pick(w, 3) ? n - 1 : pick(w, n)]; /* mostly on from the last, sometimes a branch */
            ChmSteps steps = {0};
            chm_arrow_baseline(&w->ctx, &m->arena, w->shape, v->type->layout,
                               random_layout(w, v->type->layout->partial, 0), &steps);
            for (int32_t s = 0; s < steps.len; s++)
                v = chm_build_step(m, NULL, none, v, &steps.at[s], NULL);
            values[n++] = v;
            if (pick(w, 3) == 0 && noutputs < 10)
                chm_build_output(m, NULL, none, v, outputs[noutputs++]);
        }
        chm_build_output(m, NULL, none, values[n - 1], outputs[noutputs++]);
    }
}

static double time_of(ChmModule *m)
{
    ChmTraffic t;
    chm_traffic_of_module(&t, &m->arena, &chm_default_topology, m);
    return t.time_s;
}

/* A pass by itself: it keeps the meaning, is idempotent, and but for 'compose' makes nothing dearer. */
static void check_pass(ChmModule *original, const ChmExpects *expected, const ChmPass *pass)
{
    ChmModule *m = chm_module_clone(original);
    ChmPassOptions options = {.verify_each = true, .validate = chm_check_equal, .expected = expected};
    const ChmPass *culprit = NULL;
    ChmWhy why = {NULL};
    double before_s = time_of(m);
    ChmStatus status = chm_passes_run(m, &pass, 1, &options, NULL, &culprit, &why, NULL);
    CU_ASSERT(status == CHM_OK);
    if (status != CHM_OK)
        printf("\n%s: %s\n%s", culprit ? culprit->name : "?", why.text, print(original));
    const char *once = print(m);
    ChmPassEnv env = {.topology = &chm_default_topology, .remarks = &m->ctx->remarks};
    CU_ASSERT(pass->run(m, &env) == 0);
    UNIT_SAME_TEXT(print(m), once);
    CU_ASSERT(strcmp(pass->name, "compose") == 0 || time_of(m) <= before_s * (1 + 1e-9));
    chm_module_free(m);
}

static void check_level(ChmModule *original, const ChmExpects *expected, int32_t level)
{
    const ChmPass *list[64];
    int32_t n;
    ChmModule *m = chm_module_clone(original);
    ChmPassOptions options = {.verify_each = true, .validate = chm_check_equal, .expected = expected};
    ChmWhy why = {NULL};
    double before_s = time_of(m);
    chm_pipeline_for_level(level, list, 64, &n);
    CU_ASSERT(chm_passes_run(m, list, n, &options, NULL, NULL, &why, NULL) == CHM_OK);
    CU_ASSERT(time_of(m) <= before_s * (1 + 1e-9));
    chm_module_free(m);
}

static void test_random(void)
{
    enum { SEEDS = 400, ROUTED = 20 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        World w;
        world_init(&w, seed);
        world_random(&w, seed <= ROUTED ? 8 : 16, 13);
        ChmModule *m = chm_module_new(&w.ctx, "p", w.mesh);
        build_random(&w, m);
        ChmExpects expected = {0};
        chm_expects_of_module(&w.ctx.arena, m, &expected);
        ChmModule *again = parse(&w.ctx, print(m)); /* also a text that is read back */
        UNIT_SAME_TEXT(print(again), print(m));
        bool with_route = seed <= ROUTED; /* a search, and tested by itself */
        for (const ChmPass *p = chm_passes; p->name; p++)
            if (with_route || strcmp(p->name, "route") != 0)
                check_pass(m, &expected, p);
        for (int32_t level = 0; level <= 1 + with_route; level++)
            check_level(m, &expected, level);
        world_fini(&w);
    }
}

int main(void)
{
    static const UnitTest tests[] = {{"table and pipelines", test_table},
                                     {"a remark of what was done", test_applied_remark},
                                     {"a remark of what was not", test_missed_remark},
                                     {"order, requirements, stats", test_order_and_stats},
                                     {"a module wrong from the start", test_wrong_from_the_start},
                                     {"a pass that does not do the same twice", test_culprit_of_a_moody_pass},
                                     {"validation that says nothing", test_validation_without_reason},
                                     {"every allocation may fail", test_out_of_memory},
                                     {"random schedules", test_random},
                                     UNIT_END};
    return unit_main("pass", tests);
}
