/* SPDX-License-Identifier: Apache-2.0
 *
 * The command as a function: exit statuses, and that running out of memory anywhere is status 70 and leaks nothing
 * (the latter under AddressSanitizer).
 */
#include "driver/driver.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char plan_path[] = "/tmp/test-driver-XXXXXX";

static bool write_plan(void)
{
    static const char text[] = "plan p; mesh m (pp = 2, tp = 2); tensor x : f32[n = 8];\n"
                               "step { a = input x [n] partial(tp) at(pp=0); b = a -> [n] at(pp=0);\n"
                               "c = b -> [n] at(pp=1); output c; }\n";
    int fd = mkstemp(plan_path);
    if (fd < 0)
        return false;
    bool ok = write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1;
    return close(fd) == 0 && ok;
}

static int call(const char *first, const char *second, int64_t fail_at)
{
    char program[] = "chimerac", o[] = "-o", null[] = "/dev/null", one[64], two[64];
    snprintf(one, sizeof one, "%s", first);
    snprintf(two, sizeof two, "%s", second);
    char *argv[] = {program, o, null, one, two, plan_path, NULL};
    return chm_driver(6, argv, fail_at);
}

/* Lets each allocation fail in turn, until none is left to fail. */
static void starve(const char *first, const char *second)
{
    int status = 70;
    int64_t n = 0;
    while (status == 70 && n < 100000)
        status = call(first, second, ++n);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT(n > 1);
}

static void test_out_of_memory(void)
{
    FILE *quiet = freopen("/dev/null", "w", stderr);
    CU_ASSERT_PTR_NOT_NULL_FATAL(quiet);
    starve("-q", "--emit=ir");
    starve("--driver", "--emit=c");
    starve("--stats", "--emit=json");
    starve("--explain", "--emit=dot");
    starve("-q", "--emit=h");
    starve("-q", "--emit=ast");
}

static void test_exit_statuses(void)
{
    CU_ASSERT_EQUAL(call("-q", "--emit=ir", 0), 0);
    CU_ASSERT_EQUAL(call("-q", "-Dq=1", 0), 1);
    CU_ASSERT_EQUAL(call("-q", "--no-such", 0), 2);
    CU_ASSERT_EQUAL(call("-q", "--emit=ir", 3), 70);
}

static const UnitTest tests[] = {
    {"exit statuses", test_exit_statuses},
    {"every allocation may fail", test_out_of_memory},
    UNIT_END,
};

int main(void)
{
    if (!write_plan())
        return 1;
    int status = unit_main("driver", tests);
    unlink(plan_path);
    return status;
}
