/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/unit.h - the frame of a unit test program on CUnit.
 *
 *   static const UnitTest tests[] = {{"empty map", test_empty_map}, ..., UNIT_END};
 *   int main(void) { return unit_main("base", tests); }
 *
 * Checks are CUnit's CU_ASSERT..., and UNIT_SAME_TEXT, which shows both texts when they differ.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include "base/arena.h"
#include "base/out.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct UnitTest {
    const char *name;
    void (*run)(void);
} UnitTest;

#define UNIT_END \
    {            \
        0        \
    }

/* Runs the tests in order; the result is main's. Only failures and the totals are printed. */
static inline int unit_main(const char *suite_name, const UnitTest *tests)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return EXIT_FAILURE;
    CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
    for (const UnitTest *t = tests; suite && t->run; t++) {
        if (!CU_add_test(suite, t->name, t->run))
            suite = NULL;
    }
    bool ok = suite != NULL;
    if (ok) {
        CU_basic_set_mode(CU_BRM_NORMAL);
        ok = CU_basic_run_tests() == CUE_SUCCESS && CU_get_number_of_failure_records() == 0 &&
             CU_get_number_of_tests_run() > 0;
    }
    CU_cleanup_registry();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define UNIT_SAME_TEXT(actual, expected) unit_same_text((actual), (expected), __FILE__, __LINE__)

static inline void unit_same_text(const char *actual, const char *expected, const char *file, unsigned line)
{
    bool same = strcmp(actual, expected) == 0;
    CU_assertImplementation(same, line, "texts are equal", file, "", CU_FALSE);
    if (!same)
        printf("\n%s:%u: expected:\n%s\n---- but got:\n%s\n----\n", file, line, expected, actual);
}

/* Memory as an API entry holds it: one guard, an arena, a text. */
typedef struct UnitMemory {
    ChmGuard guard;
    ChmArena arena;
    ChmOut out;
} UnitMemory;

static inline void unit_memory_init(UnitMemory *m)
{
    m->guard = (ChmGuard){0};
    chm_arena_init(&m->arena, &m->guard);
    chm_out_init(&m->out, &m->guard);
}

static inline void unit_memory_fini(UnitMemory *m)
{
    chm_out_fini(&m->out);
    chm_arena_fini(&m->arena);
}

/* Runs the scenario with its nth allocation failing; true when it ended all the same, having made fewer. */
static inline bool unit_survives(UnitMemory *m, void (*scenario)(UnitMemory *m), int64_t nth)
{
    unit_memory_init(m);
    m->guard.fail_at = nth;
    if (!CHM_TRY(&m->guard))
        return false;
    scenario(m);
    m->guard.armed = false;
    return true;
}

/* Fails the 1st, 2nd, ... allocation of the scenario until none is left to fail; returns how many it makes.
 * Leaks are for the sanitizer to find. */
static inline int64_t unit_starve(void (*scenario)(UnitMemory *m))
{
    UnitMemory m;
    for (int64_t nth = 1;; nth++) {
        bool survived = unit_survives(&m, scenario, nth);
        CU_ASSERT_FALSE(m.guard.armed);
        unit_memory_fini(&m);
        if (survived)
            return nth - 1;
    }
}

#endif
