/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_buffers.c - where values live.
 */
#include "ir/buffers.h"

#include "schedule.h"
#include "unit.h"

static const int32_t mesh8[] = {8, 2, 0};
static const int64_t size64[] = {64, 0};

static ChmValue *gather(Schedule *s, ChmValue *v)
{
    return schedule_op(s, v, CHM_OP_ALL_GATHER, (ChmAttrs){.over = schedule_axes("a")}, "");
}

static ChmValue *slice(Schedule *s, ChmValue *v)
{
    return schedule_op(s, v, CHM_OP_SLICE, (ChmAttrs){.over = schedule_axes("a")}, "a");
}

static void test_homes(void)
{
    Schedule s;
    ChmBuffers b;
    schedule_init(&s, mesh8);
    ChmValue *in = schedule_input(&s, "in", CHM_F32, size64, "a");
    ChmValue *whole = gather(&s, in), *part = slice(&s, whole);
    schedule_output(&s, in, "in");
    schedule_output(&s, whole, "whole");
    schedule_output(&s, whole, "again");
    schedule_output(&s, gather(&s, part), "last");
    chm_buffers_plan(&s.arena, s.m, &b);
    CU_ASSERT_EQUAL(b.nvalues, 4);
    CU_ASSERT_EQUAL(b.place[in->id].home, CHM_HOME_INPUT); /* the caller's, even though it is an output */
    CU_ASSERT_EQUAL(b.place[in->id].index, 0);
    CU_ASSERT_EQUAL(b.place[whole->id].home, CHM_HOME_OUTPUT);
    CU_ASSERT_EQUAL(b.place[whole->id].index, 1); /* the first of its two */
    CU_ASSERT_EQUAL(b.place[part->id].home, CHM_HOME_ARENA);
    CU_ASSERT_EQUAL(b.arena_bytes, 64); /* 32 bytes, aligned */
    schedule_fini(&s);
}

/* The largest values get the best places: 256, 256 and small ones beside them, not below. */
static void test_sizes_first(void)
{
    Schedule s;
    ChmBuffers b;
    schedule_init(&s, mesh8);
    ChmValue *v = schedule_input(&s, "in", CHM_F32, size64, "a");
    for (int i = 0; i < 4; i++)
        v = slice(&s, gather(&s, v)); /* 256 64 256 64 ... */
    schedule_output(&s, gather(&s, v), "out");
    chm_buffers_plan(&s.arena, s.m, &b);
    CU_ASSERT_EQUAL(b.arena_bytes, 256 + 64);
    schedule_fini(&s);
}

static void test_no_values_in_arena(void)
{
    Schedule s;
    ChmBuffers b;
    schedule_init(&s, mesh8);
    schedule_output(&s, schedule_input(&s, "in", CHM_U8, size64, ""), "out");
    chm_buffers_plan(&s.arena, s.m, &b);
    CU_ASSERT_EQUAL(b.arena_bytes, 0);
    schedule_fini(&s);
}

static void test_too_large(void)
{
    Schedule s;
    ChmBuffers b;
    const int64_t huge[] = {INT64_MAX / 8, 0};
    schedule_init(&s, mesh8);
    ChmValue *v = schedule_input(&s, "in", CHM_F64, huge, "");
    ChmValue *live[3];
    for (int i = 0; i < 3; i++)
        live[i] = schedule_op(&s, v, CHM_OP_DROP, (ChmAttrs){.axis = 1}, "||b0");
    for (int i = 0; i < 3; i++)
        (void)schedule_op(&s, live[i], CHM_OP_BROADCAST, (ChmAttrs){.axis = 1}, "");
    chm_buffers_plan(&s.arena, s.m, &b);
    CU_ASSERT_EQUAL(b.arena_bytes, INT64_MAX);
    schedule_fini(&s);
}

/* ---- random modules: live values never share bytes */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Position of the last op that may read or write v; what is started does so until it is waited for. */
static int32_t last_use(const ChmModule *m, const ChmValue *v)
{
    int32_t position = 0, last = 0;
    for (const ChmOp *op = m->first; op; op = op->next, position++)
        if (op->operand == v || op->result == v || (op->code == CHM_OP_WAIT && op->operand->def->operand == v))
            last = position;
    return last;
}

/* A value that is under way, and what it is made from, while others come and go. */
static void test_started(void)
{
    Schedule s;
    ChmBuffers b;
    schedule_init(&s, mesh8);
    ChmValue *in = schedule_input(&s, "in", CHM_F32, size64, "a"), *whole = gather(&s, in), *part = slice(&s, whole);
    ChmValue *late = gather(&s, part), *small = slice(&s, whole), *other = gather(&s, small);
    late->def->started = true;
    ChmOp *wait = chm_build_wait(s.m, NULL, (ChmSpan){0}, late);
    schedule_output(&s, other, "other");
    schedule_output(&s, slice(&s, late), "late");
    chm_buffers_plan(&s.arena, s.m, &b);
    /* whole (256), part and small (64 each) and late (256) are alive together; other is in its output's buffer */
    CU_ASSERT_EQUAL(b.arena_bytes, 256 + 64 + 64 + 256);
    int64_t at = b.place[part->id].offset_bytes;
    CU_ASSERT_NOT_EQUAL(at, b.place[small->id].offset_bytes); /* it is read until the wait */
    late->def->started = false;
    chm_op_unlink(s.m, wait);
    chm_buffers_plan(&s.arena, s.m, &b);
    CU_ASSERT_EQUAL(b.place[part->id].offset_bytes, b.place[small->id].offset_bytes); /* and no longer */
    CU_ASSERT_EQUAL(b.arena_bytes, 256 + 64 + 256);
    CU_ASSERT_PTR_NOT_NULL(b.top);
    schedule_fini(&s);
}

static bool are_apart(const ChmBuffers *b, const ChmValue *v, const ChmValue *w)
{
    int64_t at = b->place[v->id].offset_bytes, other = b->place[w->id].offset_bytes;
    return at + chm_max_local_bytes(v->type) <= other || other + chm_max_local_bytes(w->type) <= at;
}

/* A started op's operand and its result, neither used otherwise, against a value made before the wait and one made
 * behind it. */
static void test_started_holds_operand_and_result(void)
{
    Schedule s;
    ChmBuffers b;
    schedule_init(&s, mesh8);
    ChmValue *in = schedule_input(&s, "in", CHM_F32, size64, "a"), *operand = gather(&s, in);
    ChmValue *result = schedule_op(&s, operand, CHM_OP_EXCHANGE, (ChmAttrs){0}, "|b|");
    ChmValue *between = gather(&s, in);
    result->def->started = true;
    ChmOp *wait = chm_build_wait(s.m, NULL, (ChmSpan){0}, result);
    ChmValue *behind = gather(&s, in);
    schedule_output(&s, slice(&s, between), "one");
    schedule_output(&s, slice(&s, behind), "two");
    chm_buffers_plan(&s.arena, s.m, &b);
    CU_ASSERT(are_apart(&b, operand, between));
    CU_ASSERT(are_apart(&b, result, between));
    CU_ASSERT(are_apart(&b, operand, result));
    CU_ASSERT_FALSE(are_apart(&b, operand, behind) && are_apart(&b, result, behind)); /* the wait sets them free */
    result->def->started = false;
    chm_op_unlink(s.m, wait);
    chm_buffers_plan(&s.arena, s.m, &b);
    CU_ASSERT_FALSE(are_apart(&b, operand, between) && are_apart(&b, result, between)); /* so it is the start alone */
    schedule_fini(&s);
}

static void check_disjoint(const Schedule *s, const ChmBuffers *b)
{
    int32_t i = 0;
    for (const ChmOp *p = s->m->first; p; p = p->next, i++) {
        if (!p->result || b->place[p->result->id].home != CHM_HOME_ARENA)
            continue;
        int64_t at = b->place[p->result->id].offset_bytes, bytes = chm_max_local_bytes(p->result->type);
        CU_ASSERT_FATAL(at >= 0 && at % CHM_ARENA_ALIGN == 0 && at + bytes <= b->arena_bytes);
        int32_t j = i + 1, end = last_use(s->m, p->result);
        for (const ChmOp *q = p->next; q && j <= end; q = q->next, j++) {
            if (!q->result || b->place[q->result->id].home != CHM_HOME_ARENA)
                continue;
            int64_t other = b->place[q->result->id].offset_bytes;
            CU_ASSERT_FATAL(other >= at + bytes || at >= other + chm_max_local_bytes(q->result->type));
        }
    }
}

/* Waits stand at random before the first use, or at the end. */
static void start_some(ChmModule *m, uint64_t *state)
{
    for (ChmOp *op = m->first; op; op = op->next) {
        if (!chm_is_layout_op(op) || next_random(state) % 2)
            continue;
        ChmOp *at = op->next;
        while (at && at->operand != op->result && next_random(state) % 4)
            at = at->next;
        op->started = true;
        chm_build_wait(m, at, op->span, op->result);
    }
}

static void test_live_values_are_apart(void)
{
    static const char *const layouts[] = {"", "a", "b", "ab", "ba", "|b|", "||b1", "a||b0"};
    for (uint64_t seed = 0; seed < 300; seed++) {
        Schedule s;
        ChmBuffers b;
        uint64_t state = seed;
        ChmValue *values[64];
        const int64_t size[] = {(int64_t)(next_random(&state) % 1000) + 1, 0};
        schedule_init(&s, mesh8);
        values[0] = schedule_input(&s, "in", (ChmDtype)(next_random(&state) % CHM_NDTYPES), size, "");
        int32_t n = 1, nops = (int32_t)(next_random(&state) % 60) + 1;
        for (; n <= nops; n++) {
            uint64_t r = next_random(&state);
            int32_t back = r % 4 == 0 ? (int32_t)(r / 4 % (uint64_t)n) : 0; /* mostly chains, at times a fork */
            values[n] = schedule_op(&s, values[n - 1 - back], CHM_OP_EXCHANGE, (ChmAttrs){0}, layouts[r / 256 % 8]);
            if (r / 4096 % 8 == 0)
                schedule_output(&s, values[n], "some");
        }
        schedule_output(&s, values[n - 1], "last");
        if (seed % 2)
            start_some(s.m, &state);
        chm_buffers_plan(&s.arena, s.m, &b);
        check_disjoint(&s, &b);
        schedule_fini(&s);
    }
}

static const UnitTest tests[] = {
    {"homes", test_homes},
    {"sizes first", test_sizes_first},
    {"no values in the arena", test_no_values_in_arena},
    {"too large", test_too_large},
    {"started", test_started},
    {"started holds operand and result", test_started_holds_operand_and_result},
    {"live values are apart", test_live_values_are_apart},
    UNIT_END,
};

int main(void)
{
    return unit_main("buffers", tests);
}
