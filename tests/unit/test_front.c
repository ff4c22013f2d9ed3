/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_front.c - the front end where goldens do not reach: whole trees and modules, hostile text, printing
 * that parses back, running out of memory at every allocation.
 */
#include "check/check.h"
#include "front/front.h"

#include "unit.h"

static const char good_plan[] = "plan p;\n"
                                "param n = 4;\n"
                                "mesh m (pp = 2, one = 1, tp = n);\n"
                                "tensor x : bf16[seq = n * 3, hidden = 5];\n"
                                "tensor y : f32[seq = 7];\n"
                                "step {\n"
                                "  a = input x [seq, hidden] partial(tp) at(pp=0);\n"
                                "  b = a -> [seq/tp, hidden] at(pp=1);\n"
                                "  c = b -> [seq/one/tp, hidden] at(pp=1);\n"
                                "  d = input y [seq/tp];\n"
                                "  output c;\n"
                                "  output a partial(tp);\n"
                                "  output d;\n"
                                "}\n";

static const ChmPlan *parse_text(ChmCtx *ctx, const char *text, size_t len)
{
    const ChmSource *source = chm_source_from_text(&ctx->arena, "test.plan", text, len);
    return chm_plan_parse(ctx, source, NULL, 0);
}

static const ChmPlan *parse(ChmCtx *ctx, const char *text)
{
    return parse_text(ctx, text, strlen(text));
}

/* Parses a text in a context of its own; the number of errors. */
static int errors_of(const char *text, size_t len)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    bool parsed = parse_text(&ctx, text, len) != NULL;
    int errors = ctx.diags.errors;
    CU_ASSERT(parsed == (errors == 0));
    chm_ctx_fini(&ctx);
    return errors;
}

static void test_lowering(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    const ChmPlan *plan = parse(&ctx, good_plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    CU_ASSERT_EQUAL(ctx.diags.warnings, 0);
    ChmModule *m = chm_plan_lower(&ctx, plan);
    CU_ASSERT_EQUAL(m->tensors.len, 2);
    CU_ASSERT_STRING_EQUAL(m->mesh->name, "m");

    int32_t outputs = 0;
    const ChmOp *last_arrow = NULL;
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (chm_is_layout_op(op))
            last_arrow = op;
        if (op->code == CHM_OP_OUTPUT && outputs++ == 0) { /* c is b: the arrow between them changes nothing */
            CU_ASSERT_STRING_EQUAL(op->name, "c");
            CU_ASSERT_STRING_EQUAL(op->operand->name, "b");
            CU_ASSERT_PTR_EQUAL(op->operand->def, last_arrow);
        }
    }
    CU_ASSERT_EQUAL(outputs, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(last_arrow);
    CU_ASSERT_EQUAL(memcmp(last_arrow->span.source->text + last_arrow->span.begin, "b = a ->", 8), 0);
    chm_module_free(m);
    chm_ctx_fini(&ctx);
}

/* What is expected of the outputs, from the tree alone, is what the baseline has. */
static void test_expects(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    const ChmPlan *plan = parse(&ctx, good_plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    ChmModule *m = chm_plan_lower(&ctx, plan);
    ChmExpects tree = {0}, module = {0};
    chm_plan_expects(&ctx.arena, plan, m, &tree);
    chm_expects_of_module(&ctx.arena, m, &module);
    CU_ASSERT_EQUAL_FATAL(tree.len, 3);
    CU_ASSERT_EQUAL_FATAL(module.len, 3);
    for (int32_t i = 0; i < tree.len; i++) {
        CU_ASSERT_PTR_EQUAL(tree.at[i].output, module.at[i].output);
        CU_ASSERT_PTR_EQUAL(tree.at[i].tensor, module.at[i].tensor);
        CU_ASSERT_PTR_EQUAL(tree.at[i].type, module.at[i].type);
    }
    UNIT_SAME_TEXT(chm_layout_str(&ctx, tree.at[1].type->shape, tree.at[1].type->layout),
                   "[seq, hidden] partial(tp) at(pp=0)");
    chm_module_free(m);
    chm_ctx_fini(&ctx);
}

/* Is a module with the mesh, whose output is its input, what the plan expects? */
static bool expected_on(ChmCtx *ctx, const ChmPlan *plan, const char *mesh, const char *layout)
{
    const char *text = chm_arena_printf(
        &ctx->arena, "plan p\nmesh %s\ntensor t : f32[n = 64]\n%%a = input t : %s\noutput a = %%a\n", mesh, layout);
    ChmModule *m = chm_module_parse(ctx, chm_source_from_text(&ctx->arena, "ir", text, strlen(text)));
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    ChmExpects expects = {0};
    ChmWhy why = {NULL};
    chm_plan_expects(&ctx->arena, plan, m, &expects);
    bool same = chm_check_equal(m, &expects, &why) == CHM_OK;
    CU_ASSERT_EQUAL(same, why.text == NULL);
    chm_module_free(m);
    return same;
}

/* Axes of the plan may stand in parts, if these are the whole axis in the same place. */
static void test_expects_parts(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    const ChmPlan *plan = parse(&ctx, "plan p; mesh m (dp = 2, tp = 8); tensor t : f32[n = 64];\n"
                                      "step { a = input t [n/tp]; output a; }\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    CU_ASSERT(expected_on(&ctx, plan, "m (dp = 2, tp = 8)", "[n/tp]"));
    CU_ASSERT(expected_on(&ctx, plan, "m (dp = 2, tp.x = 2, tp.y = 4)", "[n/tp]"));
    CU_ASSERT(expected_on(&ctx, plan, "m (dp = 2, tp.x = 2, tp.y = 2, tp.z = 2)", "[n/tp.x/tp.y/tp.z]"));
    CU_ASSERT_FALSE(expected_on(&ctx, plan, "m (dp = 2, tp.x = 2, tp.y = 4)", "[n/tp.y/tp.x]"));
    CU_ASSERT_FALSE(expected_on(&ctx, plan, "m (dp = 2, tp.x = 2, tp.y = 4)", "[n/tp.x]"));
    CU_ASSERT_FALSE(expected_on(&ctx, plan, "m (dp = 2, tp.x = 2, tp.y = 2)", "[n/tp]"));
    CU_ASSERT_FALSE(expected_on(&ctx, plan, "m (dp = 2, tp.x = 3, tp.y = 3)", "[n/tp]"));
    CU_ASSERT_FALSE(expected_on(&ctx, plan, "m (tp.x = 2, tp.y = 4, dp = 2)", "[n/tp]"));
    CU_ASSERT_FALSE(expected_on(&ctx, plan, "m (dp = 2, sp = 8)", "[n/sp]"));
    CU_ASSERT_FALSE(expected_on(&ctx, plan, "m (dp = 2, tpx = 8)", "[n/tpx]"));
    chm_ctx_fini(&ctx);
}

static void test_defines(void)
{
    static const ChmDefine defines[] = {{"n", 2}, {"n", 3}}; /* the last one counts */
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    const ChmSource *source = chm_source_from_text(&ctx.arena, "test.plan", good_plan, strlen(good_plan));
    const ChmPlan *plan = chm_plan_parse(&ctx, source, defines, 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    ChmModule *m = chm_plan_lower(&ctx, plan);
    CU_ASSERT_EQUAL(m->mesh->ranks, 6);
    CU_ASSERT_EQUAL(m->tensors.at[0]->shape->dim_size[0], 9);
    chm_module_free(m);
    chm_ctx_fini(&ctx);
}

/* parse . print . parse . print: both texts are the same, and so are the modules' expectations. */
static void test_print(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmOut first, second;
    chm_out_init(&first, &ctx.guard);
    chm_out_init(&second, &ctx.guard);
    const ChmPlan *plan = parse(&ctx, good_plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    chm_plan_print(&first, plan);
    plan = parse(&ctx, chm_out_text(&first));
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    chm_plan_print(&second, plan);
    UNIT_SAME_TEXT(chm_out_text(&first), chm_out_text(&second));
    chm_out_fini(&first);
    chm_out_fini(&second);
    chm_ctx_fini(&ctx);
}

/* ---- hostile text: an error, in reasonable time, and no crash */

/* head, then 'part' as often as fits in n bytes, then tail */
static int errors_of_repeated(const char *head, const char *part, size_t n, const char *tail)
{
    size_t head_len = strlen(head), part_len = strlen(part), tail_len = strlen(tail), len = head_len;
    char *text = malloc(head_len + n + tail_len + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memcpy(text, head, head_len);
    for (; len + part_len <= head_len + n; len += part_len)
        memcpy(text + len, part, part_len);
    memcpy(text + len, tail, tail_len);
    int errors = errors_of(text, len + tail_len);
    free(text);
    return errors;
}

static const char declarations[] = "plan p;\nmesh m (tp = 2);\ntensor x : f32[n = 4];\n";

static void test_hostile(void)
{
    const size_t some = 32 << 10, much = 10 << 20;
    CU_ASSERT(errors_of("", 0) > 0);
    CU_ASSERT(errors_of("\0\0\0", 3) > 0);
    CU_ASSERT(errors_of_repeated("", "\xFF", some, "") > 0);
    CU_ASSERT(errors_of_repeated("plan ", "p", much, ";") > 0);
    CU_ASSERT(errors_of_repeated("plan ", "9", some, ";") > 0);
    CU_ASSERT(errors_of_repeated("plan p; # ", "c", much, "") > 0);
    CU_ASSERT(errors_of_repeated("plan p; /* ", "c", some, "") > 0);
    CU_ASSERT(errors_of_repeated("param s = ", "(", some, "") > 0);
    CU_ASSERT(errors_of_repeated("param s = ", "-", some, "1;") > 0);
    CU_ASSERT(errors_of_repeated("param s = 1", "+1", some, ";") > 0);
    CU_ASSERT(errors_of_repeated("param s = 1", "*(1", some, ";") > 0);
    CU_ASSERT(errors_of_repeated("", ";", some, "") > 0);
    CU_ASSERT(errors_of_repeated("", "}{", some, "") > 0);
    CU_ASSERT(errors_of_repeated("", "param a=a;", some, "") > 0);
    CU_ASSERT(errors_of_repeated("", "$ a ", some, "") > 0);
    CU_ASSERT(errors_of_repeated("mesh m (", "a=1,", some, "b=1);") > 0);
    CU_ASSERT(errors_of_repeated("plan p; mesh m (tp=2); tensor x : f32[", "a=1,", some, "b=1];") > 0);
    char text[200];
    snprintf(text, sizeof text, "%sstep {\n", declarations);
    CU_ASSERT(errors_of_repeated(text, "a=a->[n];", some, "}") > 0);
    CU_ASSERT(errors_of_repeated(text, "=;", some, "}") > 0);
    CU_ASSERT(errors_of_repeated(text, "output;", some, "}") > 0);
    snprintf(text, sizeof text, "%sstep {\n a = input x [n", declarations);
    CU_ASSERT(errors_of_repeated(text, "/tp", some, "];}") > 0);
    CU_ASSERT(errors_of_repeated(text, ",n", some, "];}") > 0);
    CU_ASSERT(errors_of_repeated(text, "] partial(tp", some, ");}") > 0);
    snprintf(text, sizeof text, "%sstep {\n a = input x [n] partial(tp", declarations);
    CU_ASSERT(errors_of_repeated(text, ",tp", some, ");}") > 0);
    snprintf(text, sizeof text, "%sstep {\n a = input x [n] at(tp=0", declarations);
    CU_ASSERT(errors_of_repeated(text, ",tp=9", some, ");}") > 0);
}

/* Every prefix of a good plan, and every plan with one byte changed: an answer, whatever it is. */
static void test_mutations(void)
{
    static const char bytes[] = {0, ';', '}', '(', '/', '9', 'p'};
    char text[sizeof good_plan];
    for (size_t n = 0; n < sizeof good_plan; n++)
        (void)errors_of(good_plan, n);
    for (size_t i = 0; i < sizeof good_plan - 1; i++) {
        for (size_t k = 0; k < sizeof bytes; k++) {
            memcpy(text, good_plan, sizeof text);
            text[i] = bytes[k];
            (void)errors_of(text, sizeof text - 1);
        }
    }
}

/* One run with the n-th allocation failing; false when it ran to its end. */
static bool fails_at(int64_t n, const char *text)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ctx.guard.fail_at = n;
    bool failed = true;
    if (CHM_TRY(&ctx.guard)) {
        const ChmPlan *plan = parse(&ctx, text);
        if (plan) {
            ChmModule *m = chm_plan_lower(&ctx, plan);
            ChmExpects expects = {0};
            chm_plan_expects(&ctx.arena, plan, m, &expects);
        }
        ctx.guard.armed = false;
        ctx.guard.fail_at = 0;
        failed = false;
    }
    chm_ctx_fini(&ctx); /* and with it the module */
    return failed;
}

static void test_out_of_memory(void)
{
    static const char bad_plan[] = "plan p\nmesh m (tp = 2);\ntensor x : f33[n = m];\nstep { a = input y [n/tq]; }\n";
    int64_t n = 1;
    while (n < 10000 && fails_at(n, good_plan))
        n++;
    CU_ASSERT(n > 10 && n < 10000);
    n = 1;
    while (n < 10000 && fails_at(n, bad_plan))
        n++;
    CU_ASSERT(n > 10 && n < 10000);
}

static const UnitTest tests[] = {
    {"lowering", test_lowering},
    {"expects", test_expects},
    {"expects axes in parts", test_expects_parts},
    {"defines", test_defines},
    {"print and parse back", test_print},
    {"hostile", test_hostile},
    {"mutations", test_mutations},
    {"out of memory", test_out_of_memory},
    UNIT_END,
};

int main(void)
{
    return unit_main("front", tests);
}
