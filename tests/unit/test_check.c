/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_check.c - test data, translation validation, and whole runs: right schedules pass with every dtype,
 * wrong ones are caught.
 */
#include "check/check.h"
#include "check/data.h"

#include "schedule.h"
#include "unit.h"

#define OVER(axes) .over = schedule_axes(axes)

/* ---- test data */

static void test_hash(void)
{
    CU_ASSERT_EQUAL(chm_data_hash(0, 0, 0, 0), 0);
    CU_ASSERT_EQUAL(chm_data_hash(1, 0, 0, 0), UINT64_C(0xe220a8397b1dcdaf));
    CU_ASSERT_EQUAL(chm_data_hash(1, 2, 3, 4), UINT64_C(0xe9bb40b99a306ae4));
}

static void init_data(Schedule *s, ChmData *d, const ChmDataSpec *spec, ChmDtype dtype, const char *layout)
{
    const ChmValue *v = schedule_input(s, "in", dtype, (const int64_t[]){1000, 0}, layout);
    chm_data_init(d, spec, v->def->tensor, v->type->layout);
}

static void test_sums_are_exact(void)
{
    static const int32_t mesh[] = {7, 64, 2, 0};
    static const struct {
        ChmDtype dtype;
        const char *layout;
        int64_t contributions, limit, stride;
    } cases[] = {
        {CHM_F32, "", 1, 1 << 20, 1}, {CHM_F64, "|a", 7, (1 << 20) / 7, 1}, {CHM_F16, "|b", 64, 32, 1},
        {CHM_BF16, "|ab", 448, 1, 2}, {CHM_BF16, "|abc", 896, 1, 4},        {CHM_F16, "|abc", 896, 2, 1},
        {CHM_BF16, "c", 1, 256, 1},
    };
    const ChmDataSpec spec = {.seed = 5};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Schedule s;
        ChmData d;
        int64_t all[896], worst = 0;
        schedule_init(&s, mesh);
        init_data(&s, &d, &spec, cases[i].dtype, cases[i].layout);
        CU_ASSERT_EQUAL(d.contributions, cases[i].contributions);
        CU_ASSERT_EQUAL(d.limit, cases[i].limit);
        CU_ASSERT_EQUAL(d.stride, cases[i].stride);
        CU_ASSERT_EQUAL(chm_data_agreeing(&d, 0, 0, all), d.contributions);
        for (int64_t e = 0; e < 100; e++) {
            double sum = 0, bound = (double)(d.limit * ((d.contributions + d.stride - 1) / d.stride)), got;
            char one[8];
            for (int64_t c = 0; c < d.contributions; c++) {
                chm_data_fill(&d, c, e, 1, one);
                sum += chm_data_load(cases[i].dtype, one);
            }
            chm_data_sum(&d, all, d.contributions, e, 1, one);
            got = chm_data_load(cases[i].dtype, one);
            CU_ASSERT_EQUAL(sum, got);
            CU_ASSERT(bound <= (cases[i].dtype == CHM_BF16 ? 256 : cases[i].dtype == CHM_F16 ? 2048 : 1 << 20));
            worst += got != 0;
        }
        CU_ASSERT(worst > 50); /* the data say something */
        schedule_fini(&s);
    }
}

static void test_agreeing(void)
{
    const ChmDataSpec spec = {.seed = 1};
    Schedule s;
    ChmData d;
    int64_t some[12];
    schedule_init(&s, (const int32_t[]){2, 5, 3, 2, 0});
    init_data(&s, &d, &spec, CHM_F32, "|acd");
    CU_ASSERT_EQUAL(d.contributions, 12);
    int32_t rank = ((1 * 5 + 4) * 3 + 2) * 2 + 1;
    CU_ASSERT_EQUAL(chm_data_agreeing(&d, CHM_AXIS(0) | CHM_AXIS(3), rank, some), 3);
    for (int64_t c = 0; c < 3; c++)
        CU_ASSERT_EQUAL(some[c], (1 * 3 + c) * 2 + 1);
    CU_ASSERT_EQUAL(chm_data_agreeing(&d, d.layout->partial, rank, some), 1);
    CU_ASSERT_EQUAL(some[0], 11);
    schedule_fini(&s);
}

/* ---- runs */

static ChmStatus run(Schedule *s, ChmDataSpec spec, ChmRunReport *report)
{
    ChmExpects e = {0};
    chm_expects_of_module(&s->arena, s->m, &e);
    return chm_run(s->m, &e, &spec, 0, report);
}

/* 2 x 3 x 2 ranks; every op, uneven blocks, empty blocks, pins, forks, partial outputs. */
static void build_everything(Schedule *s, ChmDtype dtype)
{
    ChmValue *v = schedule_input(s, "in", dtype, (const int64_t[]){7, 5, 3, 0}, ",,|ab|c0");
    ChmValue *w = schedule_op(s, v, CHM_OP_REDUCE_SCATTER, (ChmAttrs){OVER("b")}, "b,,|a|c0");
    schedule_output(s, w, "owed");
    v = schedule_op(s, w, CHM_OP_SHIFT, (ChmAttrs){.axis = 2, .to = 1}, "b,,|a|c1");
    v = schedule_op(s, v, CHM_OP_REDUCE, (ChmAttrs){.axis = 0, .to = 1}, "b,,||a1c1");
    v = schedule_op(s, v, CHM_OP_BROADCAST, (ChmAttrs){.axis = 2, .from = 1}, "b,,||a1");
    v = schedule_op(s, v, CHM_OP_SLICE, (ChmAttrs){OVER("c"), .dim = 0}, "bc,,||a1");
    v = schedule_op(s, v, CHM_OP_ALL_TO_ALL, (ChmAttrs){OVER("bc"), .to_dim = 2}, ",,bc||a1");
    v = schedule_op(s, v, CHM_OP_EXCHANGE, (ChmAttrs){0}, "c,ab,");
    v = schedule_op(s, v, CHM_OP_ALL_GATHER, (ChmAttrs){OVER("ab"), .dim = 1}, "c,,");
    schedule_output(s, v, "gathered");
    v = schedule_op(s, v, CHM_OP_DROP, (ChmAttrs){.axis = 1, .to = 2}, "c,,||b2");
    schedule_output(s, v, "dropped");
    schedule_output(s, v, "again");
    ChmValue *r = schedule_op(s, w, CHM_OP_REDUCE_EXCHANGE, (ChmAttrs){0}, ",a,b||c1");
    schedule_output(s, r, "at_once");
    r = schedule_op(s, w, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("a")}, "b,,||c0");
    schedule_output(s, r, "all");
    ChmValue *second = schedule_input(s, "second", dtype, (const int64_t[]){2, 0}, "bac");
    schedule_output(s, second, "as_is"); /* most blocks are empty */
    schedule_output(s, schedule_op(s, second, CHM_OP_ALL_GATHER, (ChmAttrs){OVER("ac")}, "b"), "second");
}

static const int32_t mesh12[] = {2, 3, 2, 0};

static void test_every_op_and_dtype(void)
{
    for (int dtype = 0; dtype < CHM_NDTYPES; dtype++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            Schedule s;
            ChmRunReport report;
            schedule_init(&s, mesh12);
            build_everything(&s, (ChmDtype)dtype);
            ChmDataSpec spec = {.seed = seed, .random_float = seed >= 3};
            CU_ASSERT_EQUAL(run(&s, spec, &report), CHM_OK);
            CU_ASSERT_EQUAL(report.mismatches, 0);
            CU_ASSERT_EQUAL(report.outputs_checked, 6 + 12 + 4 + 4 + 6 + 6 + 12 + 12);
            CU_ASSERT(report.peak_bytes > 0 && report.elements_checked > 0);
            schedule_fini(&s);
        }
}

static void test_many_ranks(void)
{
    Schedule s;
    ChmRunReport report;
    schedule_init(&s, (const int32_t[]){4, 4, 4, 4, 0});
    ChmValue *v = schedule_input(&s, "in", CHM_BF16, (const int64_t[]){13, 11, 0}, "a,|bcd");
    v = schedule_op(&s, v, CHM_OP_REDUCE_EXCHANGE, (ChmAttrs){0}, "c,da|b");
    v = schedule_op(&s, v, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("b")}, "c,da");
    schedule_output(&s, v, "out");
    CU_ASSERT_EQUAL(run(&s, (ChmDataSpec){.seed = 9}, &report), CHM_OK);
    CU_ASSERT_EQUAL(report.mismatches, 0);
    CU_ASSERT_EQUAL(report.outputs_checked, 256);
    schedule_fini(&s);
}

/* Wrong in the ways in which a pass would be wrong, with types forged to hide it. */
static void wrong_gather_order(Schedule *s, ChmValue *v)
{
    v = schedule_op(s, v, CHM_OP_REDUCE_SCATTER, (ChmAttrs){OVER("ab")}, "ab,");
    schedule_output(s, schedule_op(s, v, CHM_OP_ALL_GATHER, (ChmAttrs){OVER("ba")}, ","), "out");
}
static void wrong_slice_order(Schedule *s, ChmValue *v)
{
    v = schedule_op(s, v, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("ab")}, ",");
    schedule_output(s, schedule_op(s, v, CHM_OP_SLICE, (ChmAttrs){OVER("ba")}, "ab,"), "out");
}
static void wrong_dim(Schedule *s, ChmValue *v)
{
    schedule_output(s, schedule_op(s, v, CHM_OP_REDUCE_SCATTER, (ChmAttrs){OVER("ab"), .dim = 1}, "ab,"), "out");
}
static void wrong_axis(Schedule *s, ChmValue *v)
{
    v = schedule_op(s, v, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("a")}, "|b");
    schedule_output(s, schedule_op(s, v, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("a")}, ","), "out");
}
static void dropped_partial(Schedule *s, ChmValue *v)
{
    schedule_output(s, schedule_op(s, v, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("a")}, ","), "out");
}
static void dropped_partial_in_exchange(Schedule *s, ChmValue *v)
{
    schedule_output(s, schedule_op(s, v, CHM_OP_EXCHANGE, (ChmAttrs){0}, "a,b"), "out");
}
static void wrong_pin(Schedule *s, ChmValue *v)
{
    v = schedule_op(s, v, CHM_OP_REDUCE, (ChmAttrs){.axis = 0, .to = 1}, ",|b|a1");
    v = schedule_op(s, v, CHM_OP_REDUCE, (ChmAttrs){.axis = 1, .to = 1}, ",||a1b1");
    schedule_output(s, schedule_op(s, v, CHM_OP_SHIFT, (ChmAttrs){.axis = 1, .from = 0, .to = 2}, ",||a1b2"), "out");
}
static void never_written(Schedule *s, ChmValue *v)
{
    v = schedule_op(s, v, CHM_OP_REDUCE_SCATTER, (ChmAttrs){OVER("ab")}, "ab,");
    schedule_output(s, schedule_op(s, v, CHM_OP_ALL_GATHER, (ChmAttrs){OVER("b")}, ","), "out");
}
static void shift_of_nothing(Schedule *s, ChmValue *v)
{
    v = schedule_op(s, v, CHM_OP_REDUCE, (ChmAttrs){.axis = 0, .to = 1}, ",|b|a1");
    schedule_output(s, schedule_op(s, v, CHM_OP_SHIFT, (ChmAttrs){.from = 0, .to = 0}, ",|b|a0"), "out");
}
static void summed_twice(Schedule *s, ChmValue *v)
{
    v = schedule_op(s, v, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("ab")}, ",");
    schedule_output(s, schedule_op(s, v, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("b")}, ","), "out");
}

static void test_wrong_schedules_are_caught(void)
{
    static void (*const builders[])(Schedule *, ChmValue *) = {
        wrong_gather_order,          wrong_slice_order, wrong_dim,     wrong_axis,       dropped_partial,
        dropped_partial_in_exchange, wrong_pin,         never_written, shift_of_nothing, summed_twice,
    };
    for (size_t i = 0; i < sizeof builders / sizeof *builders; i++)
        for (int dtype = 0; dtype < CHM_NDTYPES; dtype++) {
            Schedule s;
            ChmRunReport report;
            schedule_init(&s, mesh12);
            builders[i](&s, schedule_input(&s, "in", (ChmDtype)dtype, (const int64_t[]){12, 12, 0}, ",|ab"));
            CU_ASSERT_EQUAL(run(&s, (ChmDataSpec){.seed = 2}, &report), CHM_OK);
            CU_ASSERT(report.mismatches > 0);
            CU_ASSERT(report.first.output && strcmp(report.first.output, "out") == 0);
            CU_ASSERT(report.first.expected != report.first.got);
            schedule_fini(&s);
        }
}

static void test_first_mismatch(void)
{
    Schedule s;
    ChmRunReport report;
    schedule_init(&s, (const int32_t[]){3, 0});
    ChmValue *v = schedule_input(&s, "in", CHM_I32, (const int64_t[]){3, 4, 0}, ",a");
    /* gathered as if rank 2 alone had something: 0 and 1 hold other columns than the type says */
    v = schedule_op(&s, v, CHM_OP_BROADCAST, (ChmAttrs){.from = 2}, ",");
    schedule_output(&s, v, "out");
    CU_ASSERT_EQUAL(run(&s, (ChmDataSpec){.seed = 2}, &report), CHM_OK);
    CU_ASSERT_EQUAL(report.mismatches, 36);
    CU_ASSERT_EQUAL(report.first.rank, 0);
    CU_ASSERT_EQUAL(report.first.index[0], 0);
    CU_ASSERT_EQUAL(report.first.index[1], 0);
    CU_ASSERT_EQUAL(report.first.got, (double)(int32_t)0xA5A5A5A5);
    schedule_fini(&s);
}

static void test_memory_limit(void)
{
    Schedule s;
    ChmRunReport report;
    ChmExpects e = {0};
    const ChmDataSpec spec = {.seed = 1};
    schedule_init(&s, mesh12);
    ChmValue *v = schedule_input(&s, "in", CHM_F32, (const int64_t[]){1000, 0}, "|a");
    schedule_output(&s, schedule_op(&s, v, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("a")}, ""), "out");
    chm_expects_of_module(&s.arena, s.m, &e);
    CU_ASSERT_EQUAL(chm_run(s.m, &e, &spec, 10000, &report), CHM_ERR_INPUT);
    CU_ASSERT_EQUAL(s.ctx.diags.errors, 1);
    UNIT_SAME_TEXT(s.ctx.diags.list.at[0]->text,
                   "the buffers of all 12 ranks take 100800 bytes, more than the limit of 10000");
    CU_ASSERT_EQUAL(chm_run(s.m, &e, &spec, 100800, &report), CHM_OK);
    CU_ASSERT_EQUAL(report.mismatches, 0);
    CU_ASSERT_EQUAL(report.peak_bytes, 24 * 4032);
    schedule_fini(&s);
}

/* Allocation after allocation fails: an error each time, and no leak (for the sanitizer to see). */
static void test_out_of_memory(void)
{
    Schedule s;
    ChmRunReport report;
    ChmStatus status = CHM_ERR_MEMORY;
    schedule_init(&s, mesh12);
    build_everything(&s, CHM_F16);
    ChmExpects e = {0};
    const ChmDataSpec spec = {.seed = 1};
    chm_expects_of_module(&s.arena, s.m, &e);
    int nth = 1;
    for (; status == CHM_ERR_MEMORY && nth < 1000; nth++) {
        s.ctx.guard.fail_at = nth;
        status = chm_run(s.m, &e, &spec, 0, &report);
    }
    s.ctx.guard.fail_at = 0;
    CU_ASSERT_EQUAL(status, CHM_OK);
    CU_ASSERT(nth > 8);
    schedule_fini(&s);
}

static void test_unexpected_ends(void)
{
    Schedule s;
    ChmRunReport report;
    ChmExpects e = {0};
    const ChmDataSpec spec = {.seed = 1};
    schedule_init(&s, mesh12);
    ChmValue *v = schedule_input(&s, "in", CHM_F32, (const int64_t[]){4, 0}, "");
    schedule_output(&s, v, "out");
    CU_ASSERT_EQUAL(chm_run(s.m, &e, &spec, 0, &report), CHM_ERR_INTERNAL); /* expects nothing */
    chm_expects_of_module(&s.arena, s.m, &e);
    CU_ASSERT_EQUAL(chm_run(s.m, &e, &spec, 0, &report), CHM_OK);
    schedule_output(&s, v, "more");
    CU_ASSERT_EQUAL(chm_run(s.m, &e, &spec, 0, &report), CHM_ERR_INTERNAL);
    chm_op_unlink(s.m, s.m->last);
    chm_op_unlink(s.m, s.m->last);
    CU_ASSERT_EQUAL(chm_run(s.m, &e, &spec, 0, &report), CHM_ERR_INTERNAL);
    CU_ASSERT_EQUAL(s.ctx.diags.errors, 3);
    schedule_fini(&s);
}

/* ---- translation validation */

static void build_plan(Schedule *s)
{
    ChmValue *p = schedule_input(s, "p", CHM_F32, (const int64_t[]){8, 8, 0}, ",|ab");
    ChmValue *q = schedule_input(s, "q", CHM_F32, (const int64_t[]){8, 8, 0}, ",|ab");
    schedule_output(s, schedule_op(s, p, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("ab")}, ","), "x");
    schedule_output(s, schedule_op(s, q, CHM_OP_REDUCE_SCATTER, (ChmAttrs){OVER("ab")}, "ab,"), "y");
}

static ChmOp *op_at(Schedule *s, int n)
{
    ChmOp *op = s->m->first;
    while (n-- > 0)
        op = op->next;
    return op;
}

enum { OP_P, OP_Q, OP_SUM, OP_X, OP_SCATTER, OP_Y };

static void change_nothing(Schedule *s)
{
    (void)s;
}
static void change_tensor(Schedule *s)
{
    ChmOp *x = op_at(s, OP_X);
    ChmStep step = {CHM_OP_EXCHANGE, {.dim = 0}, op_at(s, OP_SUM)->result->type->layout};
    chm_op_set_operand(x, chm_build_step(s->m, x, (ChmSpan){0}, op_at(s, OP_Q)->result, &step, NULL));
}
static void change_swapped(Schedule *s)
{
    chm_op_set_operand(op_at(s, OP_SUM), op_at(s, OP_Q)->result);
}
static void change_layout(Schedule *s)
{
    op_at(s, OP_SCATTER)->result->type =
        chm_type_with_layout(&s->ctx, op_at(s, OP_SCATTER)->result->type, schedule_layout(s, "ba,"));
}
static void change_missing(Schedule *s)
{
    chm_op_unlink(s->m, op_at(s, OP_Y));
}
static void change_new(Schedule *s)
{
    schedule_output(s, op_at(s, OP_SUM)->result, "z");
}
static void change_name(Schedule *s)
{
    op_at(s, OP_Y)->name = "z";
}
static void change_order(Schedule *s)
{
    op_at(s, OP_X)->name = "y";
    op_at(s, OP_Y)->name = "x";
}
static void change_input(Schedule *s)
{
    op_at(s, OP_P)->result->type =
        chm_type_with_layout(&s->ctx, op_at(s, OP_P)->result->type, schedule_layout(s, ",|a"));
}
static void change_input_again(Schedule *s)
{
    ChmOp *p = op_at(s, OP_P);
    chm_build_input(s->m, op_at(s, OP_SUM), (ChmSpan){0}, p->tensor, p->result->type, NULL);
}
static void change_input_new(Schedule *s)
{
    schedule_input(s, "r", CHM_F32, (const int64_t[]){8, 8, 0}, ",|ab");
}

static void test_validation(void)
{
    static const struct {
        void (*change)(Schedule *s);
        const char *why;
    } cases[] = {
        {change_nothing, NULL},
        {change_tensor, "output 'x', value '%2', is tensor 'q', but it must be tensor 'p'"},
        {change_swapped, "output 'x', value '%1', is tensor 'q', but it must be tensor 'p'"},
        {change_layout, "output 'y', value '%2', ends in 'f32 [x/b/a, y]', but it must end in 'f32 [x/a/b, y]'"},
        {change_missing, "output 'y' is missing"},
        {change_new, "output 'z' is one more than the plan has"},
        {change_name, "output 2 is 'z', but the plan has 'y' there"},
        {change_order, "output 1 is 'y', but the plan has 'x' there"},
        {change_input, "value '%p' takes tensor 'p' as 'f32 [x, y] partial(a)', but the caller hands it over as "
                       "'f32 [x, y] partial(a, b)'"},
        {change_input_again, "tensor 'p' is input a second time, as value '%1'"},
        {change_input_new, "value '%r' inputs tensor 'r', which the plan does not"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Schedule s;
        ChmExpects e = {0};
        ChmWhy why = {0};
        schedule_init(&s, (const int32_t[]){2, 4, 0});
        build_plan(&s);
        chm_expects_of_module(&s.arena, s.m, &e);
        cases[i].change(&s);
        CU_ASSERT_EQUAL(chm_check_equal(s.m, &e, &why), cases[i].why ? CHM_ERR_INTERNAL : CHM_OK);
        UNIT_SAME_TEXT(why.text ? why.text : "", cases[i].why ? cases[i].why : "");
        schedule_fini(&s);
    }
}

static const UnitTest tests[] = {
    {"hash", test_hash},
    {"sums are exact", test_sums_are_exact},
    {"agreeing contributions", test_agreeing},
    {"every op and dtype", test_every_op_and_dtype},
    {"many ranks", test_many_ranks},
    {"wrong schedules are caught", test_wrong_schedules_are_caught},
    {"first mismatch", test_first_mismatch},
    {"memory limit", test_memory_limit},
    {"out of memory", test_out_of_memory},
    {"unexpected ends", test_unexpected_ends},
    {"validation", test_validation},
    UNIT_END,
};

int main(void)
{
    return unit_main("check", tests);
}
