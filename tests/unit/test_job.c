/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_job.c - what the driver does about passes that make a schedule dearer, or wrong: it falls back to a
 * lower level and says so, or writes no code but a file that shows the failure.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include "driver/job.h"
#include "unit/unit.h"

#include <unistd.h>

static const char *const text = "plan p;\n"
                                "mesh m (tp = 4);\n"
                                "tensor x : f32[s = 64];\n"
                                "step {\n"
                                "    x0 = input x [s] partial(tp);\n"
                                "    x1 = x0 -> [s];\n"
                                "    x2 = x1 -> [s/tp];\n"
                                "    output x2;\n"
                                "}\n";

/* ---- passes of the wrong kind */

/* Before the output, from its layout to the whole and back: dearer, and right. */
static int32_t run_detour(ChmModule *m, const ChmPassEnv *env)
{
    ChmValue *v = m->last->operand;
    const ChmLayout *there = v->type->layout, *whole = v->def->operand->type->layout;
    ChmStep out, back;
    CU_ASSERT_FATAL(chm_arrow_single(m->ctx, v->type->shape, there, whole, &out));
    CU_ASSERT_FATAL(chm_arrow_single(m->ctx, v->type->shape, whole, there, &back));
    v = chm_build_step(m, m->last, m->last->span, v, &out, NULL);
    v = chm_build_step(m, m->last, m->last->span, v, &back, NULL);
    chm_op_set_operand(m->last, v);
    chm_remark(env->remarks, CHM_APPLIED, "detour", m->last->span, 0, "the long way round");
    return 1;
}

/* The output is the sum before it is sliced: in another layout than the plan says. */
static int32_t run_wrong(ChmModule *m, const ChmPassEnv *env)
{
    (void)env;
    chm_op_set_operand(m->last, m->last->operand->def->operand);
    return 1;
}

static const ChmPass detour = {"detour", "dearer", run_detour, 0, 0, 0};
static const ChmPass wrong = {"wrong", "not the same program", run_wrong, 0, 0, 0};

static void detour_from_2(int32_t level, const ChmPass **list, int32_t max, int32_t *n)
{
    chm_pipeline_for_level(level < 2 ? level : 0, list, max, n);
    if (level >= 2)
        list[(*n)++] = &detour;
}

static void detour_from_1(int32_t level, const ChmPass **list, int32_t max, int32_t *n)
{
    chm_pipeline_for_level(0, list, max, n);
    if (level >= 1)
        list[(*n)++] = &detour;
}

static void wrong_in_the_middle(int32_t level, const ChmPass **list, int32_t max, int32_t *n)
{
    (void)level;
    (void)max;
    const ChmPass *const passes[] = {chm_pass_find("cse"), &wrong, chm_pass_find("dce")};
    memcpy(list, passes, sizeof passes);
    *n = 3;
}

/* ---- jobs */

static ChmJob *load(void)
{
    char name[] = "chimerac", quiet[] = "-q", path[] = "in.plan", *argv[] = {name, quiet, path, NULL};
    ChmJob *job = chm_job_new(0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(job);
    CU_ASSERT_EQUAL_FATAL(chm_options_parse(&job->ctx.arena, 3, argv, &job->options, &job->err), CHM_OK);
    job->options.input = chm_arena_strndup(&job->ctx.arena, path, sizeof path); /* argv ends here */
    CU_ASSERT_EQUAL_FATAL(chm_job_load(job), CHM_OK);
    return job;
}

static int64_t worst(ChmJob *job, const ChmModule *m)
{
    ChmTraffic t;
    chm_traffic_of_module(&t, &job->ctx.arena, &chm_default_topology, m);
    return chm_traffic_price(&t).worst_bytes;
}

static int32_t remarks_of(const ChmJob *job, const char *pass)
{
    int32_t n = 0;
    for (int32_t i = 0; i < job->ctx.remarks.list.len; i++)
        n += strcmp(job->ctx.remarks.list.at[i].pass, pass) == 0;
    return n;
}

static const char *last_remark(const ChmJob *job)
{
    CU_ASSERT_FATAL(job->ctx.remarks.list.len > 0);
    return job->ctx.remarks.list.at[job->ctx.remarks.list.len - 1].text;
}

/* ---- never dearer than as written */

static void test_falls_back_to_local_rules(void)
{
    ChmJob *job = load();
    job->pipeline = detour_from_2;
    CU_ASSERT_EQUAL_FATAL(chm_job_optimize(job), CHM_OK);
    CU_ASSERT_PTR_NULL(job->trial);
    CU_ASSERT_EQUAL(worst(job, job->baseline), 2 * 3 * 64); /* all_reduce of 256 bytes by 4 */
    CU_ASSERT_EQUAL(worst(job, job->best), 3 * 64);
    CU_ASSERT_EQUAL(remarks_of(job, "driver"), 1);
    CU_ASSERT_EQUAL(remarks_of(job, "detour"), 0); /* about a schedule that nobody sees */
    CU_ASSERT(remarks_of(job, "split-all-reduce") > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(job->ctx.remarks.list.at[0].text, "576 B on its worst rank"));
    CU_ASSERT_PTR_NOT_NULL(strstr(job->ctx.remarks.list.at[0].text, "the local rules alone are tried"));
    chm_job_free(job);
}

static void test_falls_back_to_the_plan(void)
{
    ChmJob *job = load();
    job->pipeline = detour_from_1;
    CU_ASSERT_EQUAL_FATAL(chm_job_optimize(job), CHM_OK);
    CU_ASSERT_EQUAL(worst(job, job->best), worst(job, job->baseline));
    CU_ASSERT_EQUAL(remarks_of(job, "driver"), 2);
    CU_ASSERT_EQUAL(remarks_of(job, "detour"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(last_remark(job), "that one is kept"));
    chm_job_free(job);
}

static void test_user_has_the_say(void)
{
    ChmJob *job = load();
    job->options.passes_given = true;
    CHM_PUSH(&job->ctx.arena, &job->options.passes, (const ChmPass *)&detour);
    CU_ASSERT_EQUAL_FATAL(chm_job_optimize(job), CHM_OK);
    CU_ASSERT_EQUAL(worst(job, job->best), 3 * 3 * 64);
    CU_ASSERT_EQUAL(remarks_of(job, "driver"), 0);
    chm_job_free(job);
}

/* ---- a pass that breaks the program */

static void blamed(bool verify_each)
{
    ChmJob *job = load();
    job->pipeline = wrong_in_the_middle;
    job->options.verify_each = verify_each;
    CU_ASSERT_EQUAL(chm_job_optimize(job), CHM_ERR_INTERNAL);
    CU_ASSERT_PTR_NULL(job->best);
    const char *said = chm_out_text(&job->err);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "chimerac: internal error: pass 'wrong': "));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "the IR before that pass is in 'p-wrong.ir'"));
    char made[1024];
    FILE *f = fopen("p-wrong.ir", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    made[fread(made, 1, sizeof made - 1, f)] = '\0';
    fclose(f);
    unlink("p-wrong.ir");
    UNIT_SAME_TEXT(made, "# RUN: chimerac -q --emit=ir --passes=wrong %s\n"
                         "# WHAT: the pass 'wrong' must not break this module\n"
                         "plan p\n"
                         "mesh m (tp = 4)\n"
                         "tensor x : f32[s = 64]\n"
                         "%x0 = input x : [s] partial(tp)\n"
                         "%x1 = all_reduce %x0 over (tp) : [s]\n"
                         "%x2 = slice %x1 over (tp) dim s : [s/tp]\n"
                         "output x2 = %x2\n");
    chm_job_free(job);
}

static void test_broken_pass(void)
{
    blamed(true);
    blamed(false);
}

int main(void)
{
    static const UnitTest tests[] = {{"dearer at -O2: local rules", test_falls_back_to_local_rules},
                                     {"dearer at every level: as written", test_falls_back_to_the_plan},
                                     {"dearer with --passes: kept", test_user_has_the_say},
                                     {"a broken pass is named, and shown in a file", test_broken_pass},
                                     UNIT_END};
    char folder[] = "test_job.XXXXXX";
    FILE *f = mkdtemp(folder) && chdir(folder) == 0 ? fopen("in.plan", "w") : NULL;
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
        perror(folder);
        return EXIT_FAILURE;
    }
    int status = unit_main("job", tests);
    unlink("in.plan");
    if (chdir("..") == 0)
        rmdir(folder);
    return status;
}
