/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_base.c - arithmetic, arenas, vectors, maps, interning, texts, and running out of memory.
 */
#include "unit.h"

#include "base/map.h"
#include "base/vec.h"

#include <signal.h>
#include <stdalign.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- arithmetic ---- */

static void test_checked_arithmetic(void)
{
    int64_t r = 7;
    CU_ASSERT(chm_mul64(INT64_C(3037000499), INT64_C(3037000499), &r));
    CU_ASSERT_EQUAL(r, INT64_C(9223372030926249001));
    CU_ASSERT(chm_mul64(INT64_MIN, 1, &r));
    CU_ASSERT_EQUAL(r, INT64_MIN);
    CU_ASSERT(chm_add64(INT64_MAX, INT64_MIN, &r));
    CU_ASSERT_EQUAL(r, -1);
    CU_ASSERT(chm_sub64(-1, INT64_MAX, &r));
    CU_ASSERT_EQUAL(r, INT64_MIN);
}

static void test_overflow_leaves_result(void)
{
    int64_t r = 7;
    CU_ASSERT_FALSE(chm_mul64(INT64_C(3037000500), INT64_C(3037000500), &r));
    CU_ASSERT_FALSE(chm_mul64(INT64_MIN, -1, &r));
    CU_ASSERT_FALSE(chm_add64(INT64_MAX, 1, &r));
    CU_ASSERT_FALSE(chm_sub64(INT64_MIN, 1, &r));
    CU_ASSERT_EQUAL(r, 7);
}

static void test_hash(void)
{
    /* Vectors of the FNV authors. */
    CU_ASSERT_EQUAL(chm_hash(CHM_HASH_SEED, "", 0), UINT64_C(0xcbf29ce484222325));
    CU_ASSERT_EQUAL(chm_hash(CHM_HASH_SEED, "a", 1), UINT64_C(0xaf63dc4c8601ec8c));
    CU_ASSERT_EQUAL(chm_hash(CHM_HASH_SEED, "foobar", 6), UINT64_C(0x85944171f73967e8));
    CU_ASSERT_EQUAL(chm_hash(chm_hash(CHM_HASH_SEED, "foo", 3), "bar", 3), UINT64_C(0x85944171f73967e8));
    CU_ASSERT_EQUAL(chm_hash(CHM_HASH_SEED, NULL, 0), CHM_HASH_SEED);
}

/* ---- arena and vector ---- */

static bool all_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i])
            return false;
    }
    return true;
}

static void test_arena_aligned_and_zeroed(void)
{
    UnitMemory m;
    unit_memory_init(&m);
    for (size_t n = 0; n < 700; n++) {
        char *p = chm_arena_alloc(&m.arena, n);
        CU_ASSERT_EQUAL((uintptr_t)p % alignof(max_align_t), 0);
        CU_ASSERT(all_zero(p, n));
        if (n)
            memset(p, 0xA5, n); /* must not be seen by later allocations */
    }
    CU_ASSERT_NOT_EQUAL(chm_arena_alloc(&m.arena, 0), chm_arena_alloc(&m.arena, 0));
    unit_memory_fini(&m);
}

static void test_arena_large_blocks(void)
{
    UnitMemory m;
    unit_memory_init(&m);
    char *small = chm_arena_alloc(&m.arena, 16);
    char *large = chm_arena_alloc(&m.arena, (size_t)10 << 20);
    memset(large, 1, (size_t)10 << 20);
    size_t total = m.arena.total_bytes;
    char *next = chm_arena_alloc(&m.arena, 16);
    CU_ASSERT(next > small && next - small <= 64); /* the chunk in use was not given up */
    CU_ASSERT_EQUAL(m.arena.total_bytes, total);
    CU_ASSERT(all_zero(small, 16) && all_zero(next, 16));
    chm_arena_fini(&m.arena);
    CU_ASSERT_EQUAL(m.arena.total_bytes, 0);
    CU_ASSERT(all_zero(chm_arena_alloc(&m.arena, 16), 16)); /* usable again */
    unit_memory_fini(&m);
}

static void test_arena_text(void)
{
    UnitMemory m;
    unit_memory_init(&m);
    UNIT_SAME_TEXT(chm_arena_strndup(&m.arena, "gather", 3), "gat");
    UNIT_SAME_TEXT(chm_arena_strndup(&m.arena, NULL, 0), "");
    UNIT_SAME_TEXT(chm_arena_printf(&m.arena, "%s = %d", "tp", 4), "tp = 4");
    UNIT_SAME_TEXT(chm_arena_printf(&m.arena, "%s", ""), "");
    CU_ASSERT_EQUAL(strlen(chm_arena_printf(&m.arena, "%100000d", 1)), 100000);
    CU_ASSERT_EQUAL(memcmp(chm_arena_copy(&m.arena, "a\0b", 3), "a\0b", 3), 0);
    unit_memory_fini(&m);
}

static void test_vector(void)
{
    UnitMemory m;
    unit_memory_init(&m);
    CHM_VEC(int) v = {0};
    for (int i = 0; i < 10000; i++)
        CHM_PUSH(&m.arena, &v, i);
    CU_ASSERT_EQUAL(v.len, 10000);
    bool right = true;
    for (int i = 0; i < v.len; i++)
        right = right && v.at[i] == i;
    CU_ASSERT(right);

    CHM_VEC(const char *) names = {0};
    CHM_PUSH(&m.arena, &names, "dp");
    UNIT_SAME_TEXT(names.at[0], "dp");
    unit_memory_fini(&m);
}

/* ---- map and interner ---- */

static void test_map(void)
{
    UnitMemory m;
    unit_memory_init(&m);
    ChmMap map;
    chm_map_init(&map, &m.arena);
    CU_ASSERT_PTR_NULL(chm_map_get(&map, "x", 1));
    static int values[5000];
    for (int i = 0; i < 5000; i++)
        chm_map_put(&map, &i, sizeof i, &values[i]);
    CU_ASSERT_EQUAL(map.len, 5000);
    bool right = true;
    for (int i = 0; i < 5000; i++)
        right = right && chm_map_get(&map, &i, sizeof i) == &values[i];
    CU_ASSERT(right);
    int absent = 5000;
    CU_ASSERT_PTR_NULL(chm_map_get(&map, &absent, sizeof absent));
    unit_memory_fini(&m);
}

static void test_map_keys_are_bytes(void)
{
    UnitMemory m;
    unit_memory_init(&m);
    ChmMap map;
    chm_map_init(&map, &m.arena);
    int a, b, c;
    char key[] = {'k', '\0', '1'};
    chm_map_put(&map, key, 3, &a);
    key[2] = '2'; /* the map has its own copy */
    chm_map_put(&map, key, 3, &b);
    chm_map_put(&map, "", 0, &c);
    CU_ASSERT_PTR_EQUAL(chm_map_get(&map, "k\0001", 3), &a);
    CU_ASSERT_PTR_EQUAL(chm_map_get(&map, "k\0002", 3), &b);
    CU_ASSERT_PTR_EQUAL(chm_map_get(&map, NULL, 0), &c);
    CU_ASSERT_PTR_NULL(chm_map_get(&map, "k", 1));
    chm_map_put(&map, "k\0001", 3, &c);
    CU_ASSERT_PTR_EQUAL(chm_map_get(&map, "k\0001", 3), &c);
    CU_ASSERT_EQUAL(map.len, 3);
    unit_memory_fini(&m);
}

static void test_intern(void)
{
    UnitMemory m;
    unit_memory_init(&m);
    ChmMap strings, records;
    chm_map_init(&strings, &m.arena);
    chm_map_init(&records, &m.arena);
    const char *seq = chm_intern_str(&strings, "seq");
    UNIT_SAME_TEXT(seq, "seq");
    CU_ASSERT_PTR_EQUAL(chm_intern(&strings, "sequence", 3), seq);
    CU_ASSERT_PTR_NOT_EQUAL(chm_intern_str(&strings, "sequence"), seq);
    CU_ASSERT_PTR_EQUAL(chm_intern(&strings, NULL, 0), chm_intern_str(&strings, ""));

    const int64_t shape[] = {4, 8}, same[] = {4, 8}, other[] = {8, 4};
    const void *p = chm_intern_bytes(&records, shape, sizeof shape);
    CU_ASSERT_PTR_EQUAL(chm_intern_bytes(&records, same, sizeof same), p);
    CU_ASSERT_PTR_NOT_EQUAL(chm_intern_bytes(&records, other, sizeof other), p);
    CU_ASSERT_PTR_NOT_EQUAL(p, shape);
    unit_memory_fini(&m);
}

/* ---- text ---- */

static void test_out(void)
{
    ChmOut o;
    chm_out_init(&o, NULL);
    UNIT_SAME_TEXT(chm_out_text(&o), "");
    chm_out_puts(&o, "a");
    chm_out_spaces(&o, 2);
    chm_out_spaces(&o, -1);
    chm_out_putc(&o, 'b');
    chm_out_printf(&o, "%s%d%g", "", 12, 0.5);
    chm_out_write(&o, "xyz", 2);
    chm_out_write(&o, NULL, 0);
    UNIT_SAME_TEXT(chm_out_text(&o), "a  b120.5xy");
    CU_ASSERT_EQUAL(o.len, 11);
    chm_out_fini(&o);
    UNIT_SAME_TEXT(chm_out_text(&o), "");
}

static void test_out_grows(void)
{
    ChmOut o;
    chm_out_init(&o, NULL);
    for (int n = 0; n < 1000; n++) { /* every way in which a write can meet the end of the buffer */
        chm_out_spaces(&o, n % 3);
        chm_out_printf(&o, "%*d", n, n);
    }
    CU_ASSERT_EQUAL(strlen(chm_out_text(&o)), o.len);
    CU_ASSERT_EQUAL(o.len, 999 + 1 + 999 * 1000 / 2);
    chm_out_fini(&o);
}

static void check_bytes(int64_t bytes, const char *expected)
{
    ChmOut o;
    chm_out_init(&o, NULL);
    chm_out_bytes(&o, bytes);
    UNIT_SAME_TEXT(chm_out_text(&o), expected);
    chm_out_fini(&o);
}

static void test_out_bytes(void)
{
    check_bytes(0, "0 B");
    check_bytes(17, "17 B");
    check_bytes(1023, "1023 B");
    check_bytes(1024, "1 KiB");
    check_bytes(1025, "1.0 KiB"); /* the point says that it is rounded */
    check_bytes(1536, "1.5 KiB");
    check_bytes(1280, "1.25 KiB");
    check_bytes(INT64_C(64) << 20, "64 MiB");
    check_bytes((INT64_C(64) << 20) + 1, "64.0 MiB");
    check_bytes(INT64_C(126353408), "120.5 MiB");
    check_bytes(10235, "10.0 KiB"); /* 9.995 */
    check_bytes(1000 << 10, "1000 KiB");
    check_bytes((1 << 20) - 1, "1.0 MiB");
    check_bytes((1 << 20) - 512, "1023.5 KiB");
    check_bytes(-(INT64_C(2) << 30), "-2 GiB");
    check_bytes(INT64_MAX, "8.0 EiB");
    check_bytes(INT64_MIN, "-8 EiB");
}

/* ---- out of memory ---- */

static void scenario_everything(UnitMemory *m)
{
    ChmMap names, map;
    chm_map_init(&names, &m->arena);
    chm_map_init(&map, &m->arena);
    CHM_VEC(const char *) list = {0};
    for (int i = 0; i < 60; i++) {
        const char *name = chm_intern_str(&names, chm_arena_printf(&m->arena, "value%d", i));
        CHM_PUSH(&m->arena, &list, name);
        chm_map_put(&map, &i, sizeof i, &list);
        chm_out_printf(&m->out, "%s%*d\n", name, 40, i);
    }
    chm_arena_alloc(&m->arena, (size_t)1 << 20);
    CU_ASSERT_EQUAL(list.len, 60);
    CU_ASSERT_EQUAL(map.len, 60);
}

static void test_every_allocation_may_fail(void)
{
    CU_ASSERT(unit_starve(scenario_everything) > 180);
}

static void scenario_absurd_arena(UnitMemory *m)
{
    chm_arena_alloc(&m->arena, SIZE_MAX - 8);
}

static void scenario_absurd_text(UnitMemory *m)
{
    chm_arena_strndup(&m->arena, "", SIZE_MAX);
}

static void scenario_absurd_out(UnitMemory *m)
{
    chm_out_puts(&m->out, "kept");
    chm_out_write(&m->out, "", SIZE_MAX / 2);
}

static void scenario_full_vector(UnitMemory *m)
{
    int32_t cap = INT32_MAX;
    chm_vec_grow(&m->arena, NULL, &cap, 0, 1);
}

/* Sizes that no machine has unwind like any other failure, without the test aid. */
static void test_absurd_sizes_unwind(void)
{
    void (*const scenarios[])(UnitMemory *) = {scenario_absurd_arena, scenario_absurd_text, scenario_absurd_out,
                                               scenario_full_vector};
    UnitMemory m;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        CU_ASSERT_FALSE(unit_survives(&m, scenarios[i], 0));
        unit_memory_fini(&m);
    }
}

/* Outside CHM_TRY there is nowhere to go: a message and abort, in a child. */
static void test_unarmed_failure_aborts(void)
{
    int ends[2], status = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        ChmGuard guard = {.fail_at = 1};
        ChmArena arena;
        chm_arena_init(&arena, &guard);
        dup2(ends[1], STDERR_FILENO);
        chm_arena_alloc(&arena, 1);
        _exit(0);
    }
    close(ends[1]);
    char message[64] = "";
    CU_ASSERT(read(ends[0], message, sizeof message - 1) > 0);
    close(ends[0]);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    UNIT_SAME_TEXT(message, "chimerac: out of memory\n");
}

static void test_fail_at_counts(void)
{
    ChmGuard guard = {.fail_at = 3};
    CU_ASSERT(chm_guard_allows(&guard));
    CU_ASSERT(chm_guard_allows(&guard));
    CU_ASSERT_FALSE(chm_guard_allows(&guard));
    CU_ASSERT(chm_guard_allows(&guard)); /* only one fails */
    CU_ASSERT(chm_guard_allows(NULL));
}

static const UnitTest tests[] = {
    {"checked arithmetic", test_checked_arithmetic},
    {"overflow leaves the result alone", test_overflow_leaves_result},
    {"hash", test_hash},
    {"arena: aligned and zeroed", test_arena_aligned_and_zeroed},
    {"arena: large blocks", test_arena_large_blocks},
    {"arena: text", test_arena_text},
    {"vector", test_vector},
    {"map", test_map},
    {"map: keys are bytes", test_map_keys_are_bytes},
    {"interner", test_intern},
    {"out", test_out},
    {"out: growth", test_out_grows},
    {"out: bytes", test_out_bytes},
    {"every allocation may fail", test_every_allocation_may_fail},
    {"absurd sizes unwind", test_absurd_sizes_unwind},
    {"unarmed failure aborts", test_unarmed_failure_aborts},
    {"fail_at counts", test_fail_at_counts},
    UNIT_END,
};

int main(void)
{
    return unit_main("base", tests);
}
