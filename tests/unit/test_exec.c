/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_exec.c - what each op moves, by hand: buffers hold the number of their rank, so that it shows whose
 * bytes arrived.
 */
#include "check/exec.h"
#include "check/half.h"

#include "schedule.h"
#include "unit.h"

#define ROOM 64

/* Runs one op from -> to on x elements of i32 where rank r holds 100 r + local index. The result by rank, "-" where
 * nothing is held and "?" where nothing was written. */
static const char *moved(Schedule *s, const int64_t *sizes, const char *from, ChmOpcode code, ChmAttrs attrs,
                         const char *to)
{
    static int32_t in[ROOM][ROOM], out[ROOM][ROOM];
    static char text[4096];
    char *inputs[ROOM], *outputs[ROOM];
    ChmValue *v = schedule_input(s, "in", CHM_I32, sizes, from);
    ChmValue *w = schedule_op(s, v, code, attrs, to);
    schedule_output(s, w, "out");
    ChmExec x = {.m = s->m, .scratch = &s->arena, .ranks = s->mesh->ranks, .input = inputs, .output = outputs};
    for (int32_t r = 0; r < x.ranks; r++) {
        inputs[r] = (char *)in[r];
        outputs[r] = (char *)out[r];
        for (int32_t i = 0; i < ROOM; i++)
            in[r][i] = 100 * r + i;
    }
    chm_buffers_plan(&s->arena, s->m, &x.buffers);
    chm_exec_op(&x, w->def);
    size_t at = 0;
    for (int32_t r = 0; r < x.ranks; r++) {
        int64_t n = chm_local_elems(w->type->shape, w->type->layout, r);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d:", r ? " | " : "", (int)r);
        for (int64_t i = 0; i < n; i++)
            if (out[r][i] == (int32_t)0xA5A5A5A5)
                at += (size_t)snprintf(text + at, sizeof text - at, " ?");
            else
                at += (size_t)snprintf(text + at, sizeof text - at, " %d", (int)out[r][i]);
        if (n == 0)
            at += (size_t)snprintf(text + at, sizeof text - at, " -");
    }
    return text;
}

#define CHECK_MOVE(axes, dims, from, code, attributes, to, expected)                                            \
    do {                                                                                                        \
        Schedule s_;                                                                                            \
        schedule_init(&s_, (const int32_t[]){axes, 0});                                                         \
        UNIT_SAME_TEXT(moved(&s_, (const int64_t[]){dims, 0}, from, CHM_OP_##code, (ChmAttrs){attributes}, to), \
                       expected);                                                                               \
        schedule_fini(&s_);                                                                                     \
    } while (0)
#define LIST(...) __VA_ARGS__
#define OVER(axes) .over = schedule_axes(axes)

static void test_slice(void)
{
    CHECK_MOVE(3, 5, "", SLICE, LIST(OVER("a")), "a", "0: 0 | 1: 101 102 | 2: 203 204");
    CHECK_MOVE(LIST(2, 2), 4, "", SLICE, LIST(OVER("ba")), "ba", "0: 0 | 1: 102 | 2: 201 | 3: 303");
    CHECK_MOVE(LIST(2, 2), LIST(2, 2), "a,", SLICE, LIST(OVER("b"), .dim = 1), "a,b",
               "0: 0 | 1: 101 | 2: 200 | 3: 301");
    CHECK_MOVE(4, 2, "", SLICE, LIST(OVER("a")), "a", "0: - | 1: 100 | 2: - | 3: 301"); /* empty blocks */
    CHECK_MOVE(LIST(2, 2), 2, "||a1", SLICE, LIST(OVER("b")), "b||a1", "0: - | 1: - | 2: 200 | 3: 301");
}

static void test_pins(void)
{
    CHECK_MOVE(2, 2, "", DROP, LIST(.to = 1), "||a1", "0: - | 1: 100 101");
    CHECK_MOVE(3, 2, "||a0", SHIFT, LIST(.to = 2), "||a2", "0: - | 1: - | 2: 0 1");
    CHECK_MOVE(LIST(2, 2), 2, "b||a1", SHIFT, LIST(.from = 1), "b||a0", "0: 200 | 1: 300 | 2: - | 3: -");
    CHECK_MOVE(3, 1, "||a1", BROADCAST, LIST(.from = 1), "", "0: 100 | 1: 100 | 2: 100");
    CHECK_MOVE(3, 1, "|a", REDUCE, LIST(.to = 1), "||a1", "0: - | 1: 300 | 2: -");
    CHECK_MOVE(LIST(2, 2), 1, "|b", REDUCE, LIST(.axis = 1, .to = 0), "||b0", "0: 100 | 1: - | 2: 500 | 3: -");
}

static void test_reductions(void)
{
    CHECK_MOVE(3, 2, "|a", ALL_REDUCE, LIST(OVER("a")), "", "0: 300 303 | 1: 300 303 | 2: 300 303");
    CHECK_MOVE(LIST(2, 2), 1, "|ab", ALL_REDUCE, LIST(OVER("a")), "|b", "0: 200 | 1: 400 | 2: 200 | 3: 400");
    CHECK_MOVE(LIST(2, 2), 1, "|ab", ALL_REDUCE, LIST(OVER("ab")), "", "0: 600 | 1: 600 | 2: 600 | 3: 600");
    CHECK_MOVE(3, 5, "|a", REDUCE_SCATTER, LIST(OVER("a")), "a", "0: 300 | 1: 303 306 | 2: 309 312");
    CHECK_MOVE(LIST(2, 2), 4, "a|b", REDUCE_SCATTER, LIST(OVER("b")), "ab", "0: 100 | 1: 102 | 2: 500 | 3: 502");
    CHECK_MOVE(LIST(2, 2), 4, "|ab", REDUCE_SCATTER, LIST(OVER("ba")), "ba", "0: 600 | 1: 608 | 2: 604 | 3: 612");
}

static void test_gathers(void)
{
    CHECK_MOVE(3, 5, "a", ALL_GATHER, LIST(OVER("a")), "",
               "0: 0 100 101 200 201 | 1: 0 100 101 200 201 | 2: 0 100 101 200 201");
    CHECK_MOVE(LIST(2, 2), 4, "ba", ALL_GATHER, LIST(OVER("a")), "b", "0: 0 200 | 1: 100 300 | 2: 0 200 | 3: 100 300");
    /* members hold columns: rows interleave */
    CHECK_MOVE(2, LIST(2, 3), ",a", ALL_GATHER, LIST(OVER("a"), .dim = 1), ",",
               "0: 0 100 101 1 102 103 | 1: 0 100 101 1 102 103");
    CHECK_MOVE(2, LIST(3, 3), "a,", ALL_TO_ALL, LIST(OVER("a"), .to_dim = 1), ",a",
               "0: 0 100 103 | 1: 1 2 101 102 104 105");
    CHECK_MOVE(LIST(2, 2), LIST(4, 4), "ab,", ALL_TO_ALL, LIST(OVER("b"), .to_dim = 1), "a,b",
               "0: 0 1 100 101 | 1: 2 3 102 103 | 2: 200 201 300 301 | 3: 202 203 302 303");
}

static void test_exchange(void)
{
    /* two holders, two that lack it: each holder sends its half of the piece to both */
    CHECK_MOVE(LIST(2, 2), 4, "||a0", EXCHANGE, LIST(0), "||a1", "0: - | 1: - | 2: 0 1 102 103 | 3: 0 1 102 103");
    /* ... but nobody receives what it holds */
    CHECK_MOVE(LIST(2, 2), 4, "||a0", EXCHANGE, LIST(0), "",
               "0: 0 1 2 3 | 1: 100 101 102 103 | 2: 0 1 102 103 | "
               "3: 0 1 102 103");
    /* five elements over two holders: the first sends 2, the second 3 */
    CHECK_MOVE(LIST(2, 2), 5, "||a0", EXCHANGE, LIST(0), "||a1",
               "0: - | 1: - | 2: 0 1 102 103 104 | "
               "3: 0 1 102 103 104");
    /* each half is a piece of its own, held by the two ranks with that b */
    CHECK_MOVE(LIST(2, 2), 4, "b", EXCHANGE, LIST(0), "",
               "0: 0 1 100 301 | 1: 0 201 100 101 | 2: 200 201 100 301 | "
               "3: 0 201 300 301");
    /* contributions stay apart: rank 2 takes from rank 0, rank 3 from rank 1 */
    CHECK_MOVE(LIST(2, 2), 2, "|b|a0", EXCHANGE, LIST(0), "|b|a1", "0: - | 1: - | 2: 0 1 | 3: 100 101");
}

static void test_reduce_exchange(void)
{
    CHECK_MOVE(LIST(2, 2), 2, "|b|a0", REDUCE_EXCHANGE, LIST(0), "||a1", "0: - | 1: - | 2: 100 102 | 3: 100 102");
    /* contributions of b, each held twice: rank 0 adds its own 0 and half each of 100 and 300 */
    CHECK_MOVE(LIST(2, 2), 2, "|b", REDUCE_EXCHANGE, LIST(0), "", "0: 100 302 | 1: 100 302 | 2: 300 502 | 3: 300 502");
    /* a stays partial */
    CHECK_MOVE(LIST(2, 2), 2, "|ab", REDUCE_EXCHANGE, LIST(0), "b|a", "0: 100 | 1: 102 | 2: 500 | 3: 502");
}

/* What is not in the op's definition does not arrive, whatever the type says. */
static void test_wrong_ops(void)
{
    CHECK_MOVE(LIST(2, 2), 4, "ab", ALL_GATHER, LIST(OVER("b")), "",
               "0: ? ? ? ? | 1: ? ? ? ? | 2: ? ? ? ? | 3: ? ? ? ?");
    CHECK_MOVE(LIST(2, 2), 4, "a", ALL_GATHER, LIST(OVER("b")), "",
               "0: 0 1 100 101 | 1: 0 1 100 101 | "
               "2: 200 201 300 301 | 3: 200 201 300 301");
    CHECK_MOVE(LIST(2, 2), 4, "ab", ALL_GATHER, LIST(OVER("ba")), "",
               "0: 0 200 100 300 | 1: 0 200 100 300 | 2: 0 200 100 300 | 3: 0 200 100 300");
    CHECK_MOVE(LIST(2, 2), 4, "", SLICE, LIST(OVER("ba")), "ab", "0: 0 | 1: 102 | 2: 201 | 3: 303");
    CHECK_MOVE(3, 1, "||a0", SHIFT, LIST(.from = 1, .to = 2), "||a2", "0: - | 1: - | 2: ?");
    CHECK_MOVE(3, 1, "||a0", SHIFT, LIST(.from = 0, .to = 1), "||a2", "0: - | 1: - | 2: ?");
    CHECK_MOVE(3, 1, "|a", REDUCE, LIST(.to = 0), "||a1", "0: - | 1: ? | 2: -");
    CHECK_MOVE(LIST(2, 2), 1, "|ab", ALL_REDUCE, LIST(OVER("a")), "", "0: 200 | 1: 400 | 2: 200 | 3: 400");
    CHECK_MOVE(LIST(2, 2), 1, "|b", EXCHANGE, LIST(0), "", "0: 0 | 1: 100 | 2: 200 | 3: 300");
}

static void test_sums_round_once(void)
{
    static const float parts[3] = {256, 1, 1}; /* in bf16 256 + 1 = 256; rounded once, 258 */
    Schedule s;
    uint16_t in[3], out[3];
    float sums[1];
    char *inputs[3], *outputs[3];
    schedule_init(&s, (const int32_t[]){3, 0});
    ChmValue *v = schedule_input(&s, "in", CHM_BF16, (const int64_t[]){1, 0}, "|a");
    ChmValue *w = schedule_op(&s, v, CHM_OP_ALL_REDUCE, (ChmAttrs){OVER("a")}, "");
    schedule_output(&s, w, "out");
    ChmExec x = {.m = s.m, .scratch = &s.arena, .ranks = 3, .input = inputs, .output = outputs, .sums = sums};
    for (int r = 0; r < 3; r++) {
        inputs[r] = (char *)&in[r];
        outputs[r] = (char *)&out[r];
        in[r] = chm_bf16_of_f32(parts[r]);
    }
    chm_buffers_plan(&s.arena, s.m, &x.buffers);
    chm_exec_op(&x, w->def);
    for (int r = 0; r < 3; r++)
        CU_ASSERT_EQUAL(chm_f32_of_bf16(out[r]), 258);
    schedule_fini(&s);
}

/* ---- 16-bit floats */

static void test_f16(void)
{
    static const struct {
        float f;
        uint16_t h;
    } known[] = {{0, 0},          {1, 0x3c00},           {-2, 0xc000},         {65504, 0x7bff}, {65519, 0x7bff},
                 {65520, 0x7c00}, {1e30f, 0x7c00},       {0x1p-14f, 0x0400},   {0x1p-24f, 1},   {0x1p-25f, 0},
                 {0x3p-25f, 2},   {0x1.8p-25f, 1},       {2049, 0x6800},       {2051, 0x6802},  {-0x1p-24f, 0x8001},
                 {0.1f, 0x2e66},  {0x1.ff8p-15f, 0x3ff}, {0x1.ffcp-15f, 0x400}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CU_ASSERT_EQUAL(chm_f16_of_f32(known[i].f), known[i].h);
    for (uint32_t h = 0; h < 0x10000; h++) {
        bool nan = (h & 0x7fffu) > 0x7c00u;
        float f = chm_f32_of_f16((uint16_t)h);
        CU_ASSERT_FATAL((f != f) == nan);
        CU_ASSERT_FATAL(chm_f16_of_f32(f) == (nan ? h | 0x200u : h));
    }
    for (uint32_t h = 0; h < 0x7bff; h++) { /* between neighbours, ties to even */
        float lo = chm_f32_of_f16((uint16_t)h), hi = chm_f32_of_f16((uint16_t)(h + 1)), middle = (lo + hi) / 2;
        uint32_t bits = chm_f32_bits(middle);
        CU_ASSERT_FATAL(chm_f16_of_f32(middle) == h + (h & 1u));
        CU_ASSERT_FATAL(chm_f16_of_f32(chm_f32_of_bits(bits - 1)) == h);
        CU_ASSERT_FATAL(chm_f16_of_f32(chm_f32_of_bits(bits + 1)) == h + 1);
    }
}

static void test_bf16(void)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        bool nan = (h & 0x7fffu) > 0x7f80u;
        float f = chm_f32_of_bf16((uint16_t)h);
        CU_ASSERT_FATAL((f != f) == nan);
        CU_ASSERT_FATAL(chm_bf16_of_f32(f) == (nan ? h | 0x40u : h));
    }
    for (uint32_t h = 0; h < 0x7f80; h++) {
        uint32_t middle = h << 16 | 0x8000u;
        CU_ASSERT_FATAL(chm_bf16_of_f32(chm_f32_of_bits(middle)) == h + (h & 1u));
        CU_ASSERT_FATAL(chm_bf16_of_f32(chm_f32_of_bits(middle - 1)) == h);
        CU_ASSERT_FATAL(chm_bf16_of_f32(chm_f32_of_bits(middle + 1)) == h + 1);
    }
    CU_ASSERT_EQUAL(chm_bf16_of_f32(chm_f32_of_bits(0x7f800001u)), 0x7fc0); /* a NaN with low bits only */
}

static const UnitTest tests[] = {
    {"slice", test_slice},
    {"pins", test_pins},
    {"reductions", test_reductions},
    {"gathers", test_gathers},
    {"exchange", test_exchange},
    {"reduce_exchange", test_reduce_exchange},
    {"wrong ops", test_wrong_ops},
    {"sums round once", test_sums_round_once},
    {"f16", test_f16},
    {"bf16", test_bf16},
    UNIT_END,
};

int main(void)
{
    return unit_main("exec", tests);
}
