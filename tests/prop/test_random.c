/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/prop/test_random.c - random plans through the whole compiler.
 *
 *   test_random [--count N] [--seed S]            plans S, S+1, ... S+N-1, each for at most 64 ranks
 *   test_random --write-plans DIR K [--seed S]    K of them, for at most 8 ranks, as files for tests over MPI: each as
 * it is, and as IR with ops started at random
 *   --ranks N                                     another number of ranks at most
 *
 * Each plan is lowered, and compiled at every -O level, with every pass by itself, with chains cut into numbers of
 * chunks that are not the best, with ops started and waited for at random, and within bounds on buffers. What comes out
 * must type-check, mean what the plan means by validation and by execution for all ranks, print to a text that parses
 * back to the same, come out the same when the pass runs a second time, and cost no more on the plan's topology than
 * the plan as written, but no less than the lower bounds on bytes and time.
 */
#include "check/check.h"
#include "cost/cost.h"
#include "front/front.h"
#include "pass/pass.h"

#include "ir/buffers.h"

#include "gen.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PASSES = 64, MAX_TEXTS = 32 };

typedef struct Trial {
    ChmCtx ctx;
    ChmOut plan_text, ir, again;
    ChmExpects expects;
    ChmModule *baseline;
    const ChmTopology *topology;
    int32_t chunks; /* asked for; 0: by cost */
    int64_t max_buffer_bytes;
    ChmPrice baseline_price;
    int64_t bound_bytes;
    double bound_s, together_bound_s; /* of ops one after the other; of any */
    ChmDataSpec data;
    const char *seen[MAX_TEXTS]; /* modules that have been executed */
    int32_t nseen;
    const char *stage;   /* what is under test */
    const char *failure; /* NULL as long as all is well */
} Trial;

#define FAIL(t, ...) ((t)->failure = chm_arena_printf(&(t)->ctx.arena, __VA_ARGS__), false)

static const char *first_diag(const Trial *t)
{
    return t->ctx.diags.list.len ? t->ctx.diags.list.at[0]->text : "no diagnostic";
}

/* ---- what must hold of every module */

static bool prints_and_parses(Trial *t, ChmModule *m)
{
    chm_out_fini(&t->ir);
    chm_out_fini(&t->again);
    chm_module_print(m, &t->ir);
    const char *text = chm_out_text(&t->ir);
    ChmModule *parsed = chm_module_parse(&t->ctx, chm_source_from_text(&t->ctx.arena, "ir", text, strlen(text)));
    if (!parsed)
        return FAIL(t, "its text does not parse: %s\n%s", first_diag(t), text);
    chm_module_print(parsed, &t->again);
    chm_module_free(parsed);
    return strcmp(text, chm_out_text(&t->again)) == 0 ||
           FAIL(t, "its text changes when read back:\n%s----\n%s", text, chm_out_text(&t->again));
}

static bool has_started(const ChmModule *m)
{
    const ChmOp *op = m->first;
    while (op && !op->started)
        op = op->next;
    return op != NULL;
}

/* Not twice for the same text. */
static bool executes(Trial *t, ChmModule *m)
{
    const char *text = chm_out_text(&t->ir);
    for (int32_t i = 0; i < t->nseen; i++)
        if (strcmp(t->seen[i], text) == 0)
            return true;
    if (t->nseen < MAX_TEXTS)
        t->seen[t->nseen++] = chm_arena_strndup(&t->ctx.arena, text, strlen(text));
    ChmRunReport report;
    ChmDataSpec other = t->data;
    other.seed++; /* of the other parity: started ops do their work at their other end */
    if (chm_run(m, &t->expects, &t->data, 0, &report) != CHM_OK)
        return FAIL(t, "it does not run: %s", first_diag(t));
    if (report.mismatches == 0 && has_started(m) && chm_run(m, &t->expects, &other, 0, &report) != CHM_OK)
        return FAIL(t, "it does not run: %s", first_diag(t));
    if (report.mismatches == 0)
        return true;
    const ChmMismatch *f = &report.first;
    return FAIL(t, "%" PRId64 " elements are wrong, the first in output '%s' on rank %d: %g instead of %g\n%s",
                report.mismatches, f->output, (int)f->rank, f->got, f->expected, text);
}

static bool is_right(Trial *t, ChmModule *m)
{
    ChmWhy why = {0};
    if (chm_module_verify(m) != CHM_OK)
        return FAIL(t, "it does not type-check: %s", first_diag(t));
    if (chm_check_equal(m, &t->expects, &why) != CHM_OK)
        return FAIL(t, "it is not what the plan says: %s", why.text);
    return prints_and_parses(t, m) && executes(t, m);
}

/* ---- cost */

static ChmPrice price_of(Trial *t, const ChmModule *m)
{
    ChmTraffic traffic;
    chm_traffic_of_module(&traffic, &t->ctx.arena, t->topology, m);
    return chm_traffic_price(&traffic);
}

/* Each op takes its time: what the tensors need adds up, and of a tensor what its most distant output needs. */
static double bound_of(Trial *t, const ChmModule *m)
{
    double sum_s = 0;
    for (const ChmOp *in = m->first; in; in = in->next) {
        double most_s = 0;
        if (in->code != CHM_OP_INPUT)
            continue;
        for (const ChmOp *out = in->next; out; out = out->next) {
            const ChmValue *v = out->operand;
            if (out->code != CHM_OP_OUTPUT)
                continue;
            while (v->def->operand)
                v = v->def->operand;
            const ChmType *from = in->result->type, *to = out->operand->type;
            double s = v->def != in ? 0
                                    : chm_bound_time(&t->ctx.arena, t->topology, from->shape, from->dtype, from->layout,
                                                     to->layout);
            most_s = s > most_s ? s : most_s;
        }
        sum_s += most_s;
    }
    return sum_s;
}

static bool pays(Trial *t, const ChmModule *m)
{
    ChmPrice p = price_of(t, m), *b = &t->baseline_price;
    if (p.worst_bytes < t->bound_bytes)
        return FAIL(t, "its worst rank moves %" PRId64 " bytes, below the bound of %" PRId64 "\n%s", p.worst_bytes,
                    t->bound_bytes, chm_out_text(&t->ir));
    double bound_s = has_started(m) ? t->together_bound_s : t->bound_s;
    if (p.time_s < bound_s * (1 - 1e-9))
        return FAIL(t, "its time of %g s is below the bound of %g s\n%s", p.time_s, bound_s, chm_out_text(&t->ir));
    /* Passes promise the time, which adds up over ops. What the worst rank moves does not: of two ways of equal time
     * for one arrow, the lighter one may load a rank that other arrows load as well. There the driver goes back to a
     * lower level, which tests/unit/test_job.c and the fuzz targets see to. */
    if (p.time_s > b->time_s * (1 + 1e-9))
        return FAIL(t,
                    "it is dearer than the plan as written: %g s and %" PRId64 " bytes, against %g s and %" PRId64
                    " bytes\n%s",
                    p.time_s, p.worst_bytes, b->time_s, b->worst_bytes, chm_out_text(&t->ir));
    return true;
}

/* ---- compiling */

static bool run_passes(Trial *t, ChmModule *m, const ChmPass *const *list, int32_t n, ChmPassStat *stats)
{
    ChmPassOptions options = {.topology = t->topology,
                              .chunks = t->chunks,
                              .max_buffer_bytes = t->max_buffer_bytes,
                              .verify_each = true,
                              .validate = chm_check_equal,
                              .expected = &t->expects};
    const ChmPass *culprit = NULL;
    ChmWhy why = {0};
    if (chm_passes_run(m, list, n, &options, stats, &culprit, &why, NULL) == CHM_OK)
        return true;
    return FAIL(t, "pass '%s': %s", culprit ? culprit->name : "?", why.text ? why.text : "no reason given");
}

static bool try_level(Trial *t, int32_t level)
{
    const ChmPass *list[MAX_PASSES] = {NULL}, *below[MAX_PASSES] = {NULL};
    int32_t n, nbelow = -1;
    t->stage = chm_arena_printf(&t->ctx.arena, "-O%d", (int)level);
    chm_pipeline_for_level(level, list, MAX_PASSES, &n);
    if (level > 0)
        chm_pipeline_for_level(level - 1, below, MAX_PASSES, &nbelow);
    if (n == nbelow && memcmp(list, below, (size_t)n * sizeof *list) == 0)
        return true;
    ChmModule *m = chm_module_clone(t->baseline);
    bool ok = run_passes(t, m, list, n, NULL) && is_right(t, m) && pays(t, m);
    chm_module_free(m);
    return ok;
}

static bool try_pass(Trial *t, const ChmPass *pass)
{
    ChmPassStat stat = {0};
    t->stage = chm_arena_printf(&t->ctx.arena, "--passes=%s", pass->name);
    ChmModule *m = chm_module_clone(t->baseline);
    bool ok = run_passes(t, m, &pass, 1, &stat) && is_right(t, m);
    if (ok && stat.changes != 0) {
        ok = run_passes(t, m, &pass, 1, &stat);
        if (ok && stat.changes != 0)
            ok = FAIL(t, "it changes something again when run a second time, %d times\n%s", (int)stat.changes,
                      chm_out_text(&t->ir));
    }
    chm_module_free(m);
    return ok;
}

/* The plan as written, and its best schedule, in chunks that nobody would choose. */
static bool try_chunks(Trial *t)
{
    const ChmPass *list[MAX_PASSES] = {NULL};
    int32_t n;
    t->chunks = 2 + (int32_t)(t->data.seed % 4);
    bool ok = try_pass(t, chm_pass_find("pipeline"));
    t->stage = chm_arena_printf(&t->ctx.arena, "-O3 --chunks=%d", (int)t->chunks);
    chm_pipeline_for_level(3, list, MAX_PASSES, &n);
    ChmModule *m = chm_module_clone(t->baseline);
    ok = ok && run_passes(t, m, list, n, NULL) && is_right(t, m);
    chm_module_free(m);
    t->chunks = 0;
    return ok;
}

/* Ops of m are started at random, and waited for at random before their first use. */
static void start_at_random(ChmModule *m, uint64_t seed)
{
    uint64_t state = seed;
    for (ChmOp *op = m->first; op; op = op->next) {
        if (!chm_is_layout_op(op) || chm_is_local(op->code) || gen_number(&state, 3) == 0)
            continue;
        ChmOp *at = op->next;
        while (at && at->operand != op->result && gen_number(&state, 5) != 0)
            at = at->next;
        op->started = true;
        chm_build_wait(m, at, op->span, op->result);
    }
}

/* Any order is right and no quicker than the bound; and the passes that take a schedule leave a right one, that is no
 * dearer. */
static bool try_started(Trial *t)
{
    static const char *const passes[] = {"dce", "schedule", "canonicalize"};
    t->stage = "ops started at random";
    ChmModule *m = chm_module_clone(t->baseline);
    start_at_random(m, t->data.seed);
    double before_s = price_of(t, m).time_s;
    bool ok = is_right(t, m);
    if (ok && has_started(m) && before_s < t->together_bound_s * (1 - 1e-9))
        ok = FAIL(t, "its time of %g s is below the bound of %g s\n%s", before_s, t->together_bound_s,
                  chm_out_text(&t->ir));
    for (size_t k = 0; ok && k < sizeof passes / sizeof passes[0]; k++) {
        const ChmPass *pass = chm_pass_find(passes[k]);
        ok = run_passes(t, m, &pass, 1, NULL) && is_right(t, m);
        double after_s = price_of(t, m).time_s;
        if (ok && k < 2 && after_s > before_s * (1 + 1e-9))
            ok = FAIL(t, "'%s' makes it slower: %g s instead of %g s\n%s", passes[k], after_s, before_s,
                      chm_out_text(&t->ir));
        before_s = after_s;
    }
    if (ok && has_started(m))
        ok = FAIL(t, "canonicalize leaves an op started\n%s", chm_out_text(&t->ir));
    chm_module_free(m);
    return ok;
}

static int64_t arena_of(Trial *t, ChmModule *m)
{
    ChmBuffers buffers;
    chm_buffers_plan(&t->ctx.arena, m, &buffers);
    return buffers.arena_bytes;
}

/* What fits a bound still fits it when 'schedule' has been there: with just what the plan as written takes, and with
 * any number between that and what starting early would take. */
static bool try_max_buffer(Trial *t)
{
    const ChmPass *pass = chm_pass_find("schedule");
    int64_t plain_bytes = arena_of(t, t->baseline);
    ChmModule *m = chm_module_clone(t->baseline);
    t->stage = "schedule with a bound on buffers";
    bool ok = run_passes(t, m, &pass, 1, NULL);
    int64_t freely_bytes = arena_of(t, m);
    chm_module_free(m);
    for (int64_t k = 0; ok && freely_bytes > plain_bytes && k <= 4; k++) {
        t->max_buffer_bytes = plain_bytes + (freely_bytes - plain_bytes) * k / 4;
        if (t->max_buffer_bytes == 0)
            continue; /* no bound */
        m = chm_module_clone(t->baseline);
        ok = run_passes(t, m, &pass, 1, NULL) && is_right(t, m);
        if (ok && arena_of(t, m) > t->max_buffer_bytes)
            ok = FAIL(t, "its arena has %" PRId64 " bytes, more than %" PRId64 "\n%s", arena_of(t, m),
                      t->max_buffer_bytes, chm_out_text(&t->ir));
        chm_module_free(m);
    }
    t->max_buffer_bytes = 0;
    return ok;
}

static bool try_everything(Trial *t)
{
    for (int32_t level = 0; level <= 3; level++)
        if (!try_level(t, level))
            return false;
    for (const ChmPass *pass = chm_passes; pass->name; pass++)
        if (!try_pass(t, pass))
            return false;
    return try_chunks(t) && try_started(t) && try_max_buffer(t);
}

/* The plan printed in its own notation is the same plan. */
static bool plan_prints_and_parses(Trial *t, const ChmPlan *plan)
{
    chm_plan_print(&t->ir, plan);
    const char *text = chm_out_text(&t->ir);
    const ChmPlan *again =
        chm_plan_parse(&t->ctx, chm_source_from_text(&t->ctx.arena, "plan", text, strlen(text)), NULL, 0);
    if (!again)
        return FAIL(t, "its text does not parse: %s\n%s", first_diag(t), text);
    chm_plan_print(&t->again, again);
    return strcmp(text, chm_out_text(&t->again)) == 0 || FAIL(t, "its text changes when read back:\n%s", text);
}

/* The module on the plan's own mesh. Its text is that in parts but for the mesh, for there the name of a whole axis
 * stands for its parts. */
static ChmModule *on_plan_mesh(Trial *t, ChmModule *m, const ChmMesh *mesh)
{
    ChmOut text;
    chm_out_init_arena(&text, &t->ctx.arena);
    chm_out_fini(&t->again);
    chm_module_print(m, &t->again);
    const char *mesh_line = strchr(chm_out_text(&t->again), '\n') + 1;
    chm_out_puts(&text, "plan p\nmesh ");
    chm_mesh_print(&text, mesh);
    chm_out_puts(&text, strchr(mesh_line, '\n'));
    return chm_module_parse(&t->ctx, chm_source_from_text(&t->ctx.arena, "ir", chm_out_text(&text), text.len));
}

/* Axes in parts say the same as whole ones: the ops move as much, as long, and the bounds are where they were. */
static bool parts_change_nothing(Trial *t, const ChmMesh *mesh)
{
    if (mesh == t->baseline->mesh)
        return true;
    ChmModule *whole = on_plan_mesh(t, t->baseline, mesh);
    if (!whole)
        return FAIL(t, "on the plan's mesh it does not parse: %s\n%s", first_diag(t), chm_out_text(&t->again));
    double bound_s = chm_bound_module_time(&t->ctx.arena, whole->topology, whole);
    ChmTraffic traffic;
    chm_traffic_of_module(&traffic, &t->ctx.arena, whole->topology, whole);
    ChmPrice p = chm_traffic_price(&traffic);
    bool ok = p.worst_bytes == t->baseline_price.worst_bytes && p.total_bytes == t->baseline_price.total_bytes &&
              fabs(p.time_s - t->baseline_price.time_s) <= 1e-9 * p.time_s &&
              chm_bound_module(&t->ctx.arena, whole) == t->bound_bytes &&
              fabs(bound_s - t->together_bound_s) <= 1e-9 * bound_s;
    if (!ok)
        ok = FAIL(t, "in parts it costs %g s, bound %g s; on the plan's mesh %g s, bound %g s\n%s",
                  t->baseline_price.time_s, t->together_bound_s, p.time_s, bound_s, chm_out_text(&t->again));
    chm_module_free(whole);
    return ok;
}

static bool try_plan(Trial *t)
{
    const char *text = chm_out_text(&t->plan_text);
    t->stage = "the plan";
    const ChmPlan *plan =
        chm_plan_parse(&t->ctx, chm_source_from_text(&t->ctx.arena, "plan", text, strlen(text)), NULL, 0);
    if (!plan)
        return FAIL(t, "it is rejected: %s", first_diag(t));
    if (!plan_prints_and_parses(t, plan))
        return false;
    t->stage = "the baseline";
    t->baseline = chm_plan_lower(&t->ctx, plan);
    chm_plan_expects(&t->ctx.arena, plan, t->baseline, &t->expects);
    if (!is_right(t, t->baseline))
        return false;
    t->topology = t->baseline->topology ? t->baseline->topology : &chm_default_topology;
    t->bound_s = bound_of(t, t->baseline);
    t->together_bound_s = chm_bound_module_time(&t->ctx.arena, t->topology, t->baseline);
    t->baseline_price = price_of(t, t->baseline);
    t->bound_bytes = chm_bound_module(&t->ctx.arena, t->baseline);
    return pays(t, t->baseline) && parts_change_nothing(t, chm_plan_mesh(plan)) && try_everything(t);
}

/* ---- the program */

static bool try_seed(uint64_t seed, int32_t max_ranks)
{
    Trial t = {.data = {.seed = seed, .random_float = seed % 4 == 3}};
    chm_ctx_init(&t.ctx);
    chm_out_init(&t.plan_text, &t.ctx.guard);
    chm_out_init(&t.ir, &t.ctx.guard);
    chm_out_init(&t.again, &t.ctx.guard);
    gen_plan(&t.plan_text, seed, max_ranks);
    bool ok = try_plan(&t);
    if (!ok)
        printf("seed %" PRIu64 ": %s: %s\n\n%s\nto repeat: test_random --ranks %d --count 1 --seed %" PRIu64 "\n\n",
               seed, t.stage, t.failure, chm_out_text(&t.plan_text), (int)max_ranks, seed);
    chm_module_free(t.baseline);
    chm_out_fini(&t.plan_text);
    chm_out_fini(&t.ir);
    chm_out_fini(&t.again);
    chm_ctx_fini(&t.ctx);
    return ok;
}

static bool write_text(const char *folder, uint64_t seed, const char *ending, ChmOut *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/random_%" PRIu64 ".%s", folder, seed, ending);
    FILE *f = fopen(path, "w");
    bool ok = f && fputs(chm_out_text(text), f) >= 0;
    ok = f && fclose(f) == 0 && ok;
    if (!ok)
        perror(path);
    return ok;
}

/* The plan, and its IR with ops started at random. */
static bool write_plan(const char *folder, uint64_t seed, int32_t max_ranks)
{
    ChmCtx ctx;
    ChmOut text, ir;
    chm_ctx_init(&ctx);
    chm_out_init(&text, &ctx.guard);
    chm_out_init(&ir, &ctx.guard);
    gen_plan(&text, seed, max_ranks);
    const ChmPlan *plan =
        chm_plan_parse(&ctx, chm_source_from_text(&ctx.arena, "plan", chm_out_text(&text), text.len), NULL, 0);
    bool ok = plan != NULL && write_text(folder, seed, "plan", &text);
    if (ok) {
        ChmModule *m = chm_plan_lower(&ctx, plan);
        start_at_random(m, seed);
        chm_module_print(m, &ir);
        chm_module_free(m);
        ok = write_text(folder, seed, "ir", &ir);
    }
    chm_out_fini(&ir);
    chm_out_fini(&text);
    chm_ctx_fini(&ctx);
    return ok;
}

static uint64_t number_of(const char *text)
{
    return text ? strtoull(text, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    uint64_t count = 2000, seed = 0, ranks = 0, failures = 0;
    const char *folder = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--count") == 0)
            count = number_of(argv[++i]);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = number_of(argv[++i]);
        else if (strcmp(argv[i], "--ranks") == 0)
            ranks = number_of(argv[++i]);
        else if (strcmp(argv[i], "--write-plans") == 0 && i + 2 < argc) {
            folder = argv[++i];
            count = number_of(argv[++i]);
        } else {
            fprintf(stderr, "usage: %s [--count N] [--seed S] [--ranks N] [--write-plans DIR K]\n", argv[0]);
            return 2;
        }
    }
    int32_t max_ranks = ranks ? (int32_t)ranks : folder ? 8 : 64;
    for (uint64_t s = seed; s < seed + count && failures < 5; s++)
        failures += !(folder ? write_plan(folder, s, max_ranks) : try_seed(s, max_ranks));
    if (!folder)
        printf("%" PRIu64 " plans from seed %" PRIu64 ": %s\n", count, seed, failures ? "FAILED" : "ok");
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
