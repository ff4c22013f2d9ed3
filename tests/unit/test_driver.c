/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_driver.c - the command chimerac as a function, with memory running out at every place in turn: it
 * says so, ends with status 70 and leaves no file. That nothing leaks is for the sanitizer to find.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include "driver/driver.h"
#include "unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

enum { MAX_ARGS = 16, MAX_SAID = 4096, OUT_OF_MEMORY = 70 };

static char source_dir[1024], folder[1024];

/* ---- files */

static const char *path_in(char (*path)[1200], const char *dir, const char *name)
{
    snprintf(*path, sizeof *path, "%s/%s", dir, name);
    return *path;
}

static void write_file(const char *name, const char *text)
{
    char path[1200];
    FILE *f = fopen(path_in(&path, folder, name), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

/* How many files the folder has whose names do not begin with "in". */
static int strangers(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strncmp(e->d_name, "in", 2) != 0;
    closedir(dir);
    return n;
}

/* ---- one run */

typedef struct Case {
    const char *arguments[MAX_ARGS]; /* "SOURCE/..." and "FOLDER/..." stand for files there */
    int status;                      /* with memory enough */
    int files;                       /* it leaves */
} Case;

typedef struct Run {
    int status;
    char said[MAX_SAID]; /* the last of it on standard error */
} Run;

static char *argument(const char *text)
{
    static const char source[] = "SOURCE/", here[] = "FOLDER/";
    char path[1200];
    if (strncmp(text, source, sizeof source - 1) == 0)
        text = path_in(&path, source_dir, text + sizeof source - 1);
    else if (strncmp(text, here, sizeof here - 1) == 0)
        text = path_in(&path, folder, text + sizeof here - 1);
    char *copy = malloc(strlen(text) + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    strcpy(copy, text);
    return copy;
}

/* Standard output and standard error go to 'into' in between. */
static int captured(int argc, char **argv, int64_t fail_at, FILE *into)
{
    fflush(NULL);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(fileno(into), STDERR_FILENO);
    int status = chm_driver(argc, argv, fail_at);
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    close(null);
    return status;
}

static void run_case(const Case *c, int64_t fail_at, Run *r)
{
    char *argv[MAX_ARGS + 2];
    int argc = 0;
    argv[argc++] = argument("chimerac");
    for (int i = 0; i < MAX_ARGS && c->arguments[i]; i++)
        argv[argc++] = argument(c->arguments[i]);
    argv[argc] = NULL;
    FILE *said = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    r->status = captured(argc, argv, fail_at, said);
    fseek(said, 0, SEEK_END);
    long len = ftell(said);
    fseek(said, len < MAX_SAID ? 0 : len - MAX_SAID + 1, SEEK_SET);
    r->said[fread(r->said, 1, sizeof r->said - 1, said)] = '\0';
    fclose(said);
    while (argc > 0)
        free(argv[--argc]);
}

/* ---- the sweep */

static bool starved(const Case *c, int64_t nth)
{
    Run r;
    run_case(c, nth, &r);
    if (r.status != OUT_OF_MEMORY || !strstr(r.said, "out of memory"))
        return false;
    CU_ASSERT_EQUAL(strangers(), 0);
    return true;
}

/* Every one of the first 'closely' allocations fails in turn, then ever fewer of them until none is left. */
static void sweep(const Case *c, int64_t closely)
{
    Run r;
    int64_t nth = 1, runs = 0;
    char path[1200];
    for (; starved(c, nth); nth += nth < closely ? 1 : 1 + nth / 40)
        runs++;
    unlink(path_in(&path, folder, "out"));
    CU_ASSERT(runs > 50);
    run_case(c, nth, &r);
    CU_ASSERT_EQUAL(r.status, c->status);
    CU_ASSERT_PTR_NULL(strstr(r.said, "internal error"));
    CU_ASSERT_EQUAL(strangers(), c->files);
    unlink(path_in(&path, folder, "out"));
    /* The last of all, where files and texts are already there. */
    for (int64_t last = nth - 1; last > 0 && last > nth - 40; last--) {
        run_case(c, last, &r);
        if (r.status != c->status) {
            CU_ASSERT_EQUAL(r.status, OUT_OF_MEMORY);
            CU_ASSERT_EQUAL(strangers(), 0);
        }
        unlink(path_in(&path, folder, "out"));
    }
}

static void sweep_plan(const char *emit, const char *more)
{
    Case c = {{"-O2", emit, "-o", "FOLDER/out", "SOURCE/examples/pairs/tp_pp.plan", more}, 0, 1};
    sweep(&c, 300);
}

static void test_plan_to_c(void)
{
    sweep_plan("--emit=c", "--driver");
}

static void test_plan_to_json(void)
{
    sweep_plan("--emit=json", "--stats");
}

static void test_plan_to_dot(void)
{
    sweep_plan("--emit=dot", "--explain");
}

static void test_plan_to_ir(void)
{
    sweep_plan("--emit=ir", "--print-after=all");
}

static void test_plan_to_ast(void)
{
    sweep_plan("--emit=ast", "-q");
}

static void test_ir(void)
{
    static const Case c = {{"--emit=ir", "-o", "FOLDER/out", "FOLDER/in.ir"}, 0, 1};
    write_file("in.ir", "plan p\n"
                        "mesh m (dp = 2, tp = 4)\n"
                        "tensor x : f32[s = 16, h = 8]\n"
                        "%x = input x : [s, h] partial(tp)\n"
                        "%1 = all_reduce %x over (tp) : [s, h]\n"
                        "%2 = slice %1 over (tp) dim s : [s/tp, h]\n"
                        "%3 = all_to_all %2 over (tp) from s to h : [s, h/tp]\n"
                        "output y = %3\n");
    sweep(&c, 300);
}

static void test_wrong_plan(void)
{
    static const Case c = {{"-o", "FOLDER/out", "FOLDER/in.plan"}, 1, 0};
    write_file("in.plan", "plan p;\n"
                          "mesh m (tp = 4, tp = 2);\n"
                          "tensor x : f23[s = 0];\n"
                          "step {\n"
                          "    x0 = input y [s/pt];\n"
                          "    x1 = x0 -> [s/tp/tp] partial(;\n"
                          "    }}\n");
    sweep(&c, 300);
}

static void test_wrong_ir(void)
{
    static const Case c = {{"-o", "FOLDER/out", "FOLDER/in_wrong.ir"}, 1, 0};
    write_file("in_wrong.ir", "plan p\n"
                              "mesh m (tp = 4)\n"
                              "tensor x : f32[s = 16]\n"
                              "%x = input x : [s]\n"
                              "%1 = all_reduce %x over (tp) : [s]\n"
                              "%2 = all_gather %7 over (pt) dim t : [s]\n"
                              "output y = %2\n");
    sweep(&c, 300);
}

static void test_run(void)
{
    static const Case c = {{"run", "FOLDER/in_run.plan"}, 0, 0};
    write_file("in_run.plan", "plan p;\n"
                              "mesh m (pp = 2, tp = 2);\n"
                              "tensor x : f32[s = 7, h = 3];\n"
                              "step {\n"
                              "    x0 = input x [s, h] partial(tp) at(pp=0);\n"
                              "    x1 = x0 -> [s, h] at(pp=1);\n"
                              "    output x1;\n"
                              "}\n");
    sweep(&c, 300);
}

static void test_command_lines(void)
{
    static const Case c[] = {
        {{"--emit=jsno", "x.plan"}, 2, 0},
        {{"--help"}, 0, 0},
        {{"--list-passes"}, 0, 0},
        {{"-zq", "x.plan"}, 2, 0}, /* ends in the middle of a word, which the next run must not go on with */
        {{"-h"}, 0, 0},
        {{"--passes=cse,no-such-pass", "x.plan"}, 2, 0},
        {{"FOLDER/nowhere.plan"}, 1, 0},
    };
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        Run r;
        int64_t nth = 1;
        while (starved(&c[i], nth))
            nth++;
        run_case(&c[i], nth, &r);
        CU_ASSERT_EQUAL(r.status, c[i].status);
    }
}

int main(void)
{
    static const UnitTest tests[] = {{"memory runs out: plan to C", test_plan_to_c},
                                     {"memory runs out: plan to JSON", test_plan_to_json},
                                     {"memory runs out: plan to DOT", test_plan_to_dot},
                                     {"memory runs out: plan to IR", test_plan_to_ir},
                                     {"memory runs out: plan to syntax tree", test_plan_to_ast},
                                     {"memory runs out: IR to IR", test_ir},
                                     {"memory runs out: wrong plan", test_wrong_plan},
                                     {"memory runs out: wrong IR", test_wrong_ir},
                                     {"memory runs out: run", test_run},
                                     {"memory runs out: command lines", test_command_lines},
                                     UNIT_END};
    const char *root = getenv("CHIMERA_SOURCE_DIR");
    snprintf(source_dir, sizeof source_dir, "%s", root ? root : ".");
    snprintf(folder, sizeof folder, "test_driver.XXXXXX");
    if (!mkdtemp(folder)) {
        perror(folder);
        return EXIT_FAILURE;
    }
    int status = unit_main("driver", tests);
    static const char *const made[] = {"in.ir", "in.plan", "in_wrong.ir", "in_run.plan", "out"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        char path[1200];
        unlink(path_in(&path, folder, made[i]));
    }
    rmdir(folder);
    return status;
}
