/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_diag.c - sources, places, the rendering of diagnostics and remarks, suggestions.
 */
#include "unit.h"

#include "diag/diag.h"
#include "diag/remark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- fixture: one source and its diagnostics ---- */

typedef struct Fixture {
    UnitMemory m;
    ChmDiags diags;
    const ChmSource *source;
} Fixture;

static void setup(Fixture *f, const char *text)
{
    unit_memory_init(&f->m);
    chm_diags_init(&f->diags, &f->m.arena);
    f->source = chm_source_from_text(&f->m.arena, "a.plan", text, strlen(text));
}

static void teardown(Fixture *f)
{
    unit_memory_fini(&f->m);
}

static ChmSpan span(const Fixture *f, uint32_t begin, uint32_t end)
{
    return (ChmSpan){f->source, begin, end};
}

/* The span of the first occurrence of a word. */
static ChmSpan span_of(const Fixture *f, const char *word)
{
    const char *at = strstr(f->source->text, word);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    uint32_t begin = (uint32_t)(at - f->source->text);
    return span(f, begin, begin + (uint32_t)strlen(word));
}

/* Renders, compares, tears down. */
static void expect(Fixture *f, const char *expected)
{
    chm_diags_render(&f->diags, &f->m.out, false);
    UNIT_SAME_TEXT(chm_out_text(&f->m.out), expected);
    teardown(f);
}

static const ChmSpan nowhere = {0};

/* ---- places ---- */

static void check_place(const ChmSource *s, uint32_t offset, uint32_t line, uint32_t col)
{
    uint32_t l, c;
    chm_source_place(s, offset, &l, &c);
    CU_ASSERT_EQUAL(l, line);
    CU_ASSERT_EQUAL(c, col);
}

static void test_places(void)
{
    Fixture f;
    setup(&f, "ab\n\ncd");
    check_place(f.source, 0, 1, 1);
    check_place(f.source, 2, 1, 3); /* the newline belongs to its line */
    check_place(f.source, 3, 2, 1);
    check_place(f.source, 4, 3, 1);
    check_place(f.source, 6, 3, 3);
    check_place(f.source, 99, 3, 3);
    teardown(&f);
}

static void test_span_join(void)
{
    Fixture f, g;
    setup(&f, "abcdef");
    setup(&g, "abcdef");
    ChmSpan j = chm_span_join(span(&f, 3, 4), span(&f, 1, 2));
    CU_ASSERT(j.source == f.source && j.begin == 1 && j.end == 4);
    CU_ASSERT_EQUAL(chm_span_join(nowhere, j).end, 4);
    CU_ASSERT_EQUAL(chm_span_join(j, nowhere).begin, 1);
    CU_ASSERT_PTR_EQUAL(chm_span_join(j, span(&g, 0, 6)).source, f.source);
    teardown(&g);
    teardown(&f);
}

static void test_source_ends_in_two_nuls(void)
{
    Fixture f;
    setup(&f, "");
    const ChmSource *s = chm_source_from_text(&f.m.arena, "b", "x\0y!", 3);
    CU_ASSERT_EQUAL(s->len, 3);
    CU_ASSERT_EQUAL(memcmp(s->text, "x\0y\0", 5), 0);
    teardown(&f);
}

/* ---- rendering ---- */

static void test_error_with_notes(void)
{
    Fixture f;
    setup(&f, "mesh m (tp = 4);\nx1 = x0 -> [seq/dp];\n");
    ChmDiag *e = chm_error(&f.diags, span_of(&f, "dp"), "unknown axis '%s'", "dp");
    chm_note(&f.diags, e, span_of(&f, "m (tp"), "the mesh is declared here");
    chm_note(&f.diags, e, nowhere, "axes are named once");
    chm_help(&f.diags, e, "Did you mean '%s'?", "tp");
    expect(&f, "a.plan:2:17: error: unknown axis 'dp'\n"
               "x1 = x0 -> [seq/dp];\n"
               "                ^~\n"
               "a.plan:1:6: note: the mesh is declared here\n"
               "mesh m (tp = 4);\n"
               "     ^~~~~\n"
               "note: axes are named once\n"
               "help: Did you mean 'tp'?\n"
               "1 error generated\n");
}

static void test_no_place(void)
{
    Fixture f;
    setup(&f, "");
    chm_error(&f.diags, nowhere, "cannot read '%s'", "b\na\033d");
    expect(&f, "chimerac: error: cannot read 'b?a?d'\n1 error generated\n");
}

static void test_warnings_are_no_errors(void)
{
    Fixture f;
    setup(&f, "x;");
    chm_warning(&f.diags, span(&f, 0, 1), "value 'x' is never used");
    CU_ASSERT(f.diags.errors == 0 && f.diags.warnings == 1);
    expect(&f, "a.plan:1:1: warning: value 'x' is never used\nx;\n^\n");
}

static void test_nothing(void)
{
    Fixture f;
    setup(&f, "");
    expect(&f, "");
}

static void test_sorted_by_place(void)
{
    Fixture f;
    setup(&f, "\n");
    const ChmSource *other = chm_source_from_text(&f.m.arena, "b.plan", "\n", 1);
    chm_error(&f.diags, (ChmSpan){other, 0, 0}, "other source, reported first");
    chm_error(&f.diags, span(&f, 1, 1), "later");
    chm_warning(&f.diags, span(&f, 0, 0), "earlier");
    chm_error(&f.diags, span(&f, 1, 1), "later, again");
    chm_error(&f.diags, nowhere, "no place");
    expect(&f, "chimerac: error: no place\n"
               "b.plan:1:1: error: other source, reported first\n"
               "a.plan:1:1: warning: earlier\n"
               "a.plan:2:1: error: later\n"
               "a.plan:2:1: error: later, again\n"
               "4 errors generated\n");
}

static void test_limit(void)
{
    Fixture f;
    setup(&f, "");
    f.diags.limit = 2;
    for (int i = 0; i < 5; i++) {
        ChmDiag *e = chm_error(&f.diags, nowhere, "e%d", i);
        chm_note(&f.diags, e, nowhere, "n%d", i);
        chm_help(&f.diags, e, "H%d.", i);
    }
    chm_warning(&f.diags, nowhere, "w");
    CU_ASSERT_EQUAL(f.diags.errors, 5);
    expect(&f, "chimerac: error: e0\nnote: n0\nhelp: H0.\n"
               "chimerac: error: e1\nnote: n1\nhelp: H1.\n"
               "chimerac: warning: w\n"
               "2 errors generated; 3 more not shown\n");
}

static void test_limit_of_warnings(void)
{
    Fixture f;
    setup(&f, "");
    f.diags.limit = 2;
    for (int i = 0; i < 4; i++)
        chm_warning(&f.diags, nowhere, "w%d", i);
    chm_error(&f.diags, nowhere, "e");
    CU_ASSERT_EQUAL(f.diags.warnings, 4);
    expect(&f, "chimerac: warning: w0\nchimerac: warning: w1\nchimerac: error: e\n"
               "2 more warnings not shown\n1 error generated\n");
}

static void test_no_limit(void)
{
    Fixture f;
    setup(&f, "");
    CU_ASSERT_EQUAL(f.diags.limit, 20);
    f.diags.limit = 0;
    for (int i = 0; i < 50; i++)
        chm_error(&f.diags, nowhere, "e");
    CU_ASSERT_EQUAL(f.diags.list.len, 50);
    teardown(&f);
}

static void test_tabs_line_up(void)
{
    Fixture f;
    setup(&f, "\ta\tb\tc;");
    chm_error(&f.diags, span(&f, 3, 6), "e");
    expect(&f, "a.plan:1:4: error: e\n"
               "\ta\tb\tc;\n"
               "\t \t^\t~\n"
               "1 error generated\n");
}

static void test_underline_stops_at_line_end(void)
{
    Fixture f;
    setup(&f, "step {\r\n}\r\n");
    chm_error(&f.diags, span(&f, 5, 9), "e");
    chm_error(&f.diags, span(&f, 6, 6), "at the line end");
    chm_error(&f.diags, span(&f, 7, 7), "at its newline");
    expect(&f, "a.plan:1:6: error: e\nstep {\n     ^\n"
               "a.plan:1:7: error: at the line end\nstep {\n      ^\n"
               "a.plan:1:8: error: at its newline\nstep {\n      ^\n"
               "3 errors generated\n");
}

static void test_end_of_input(void)
{
    Fixture f;
    setup(&f, "plan p;\n");
    chm_error(&f.diags, span(&f, 8, 8), "unexpected end of input");
    chm_error(&f.diags, span(&f, 900, 1000), "out of range");
    expect(&f, "a.plan:2:1: error: unexpected end of input\n"
               "a.plan:2:1: error: out of range\n"
               "2 errors generated\n");

    setup(&f, "plan p");
    chm_error(&f.diags, span(&f, 6, 6), "expected ';'");
    expect(&f, "a.plan:1:7: error: expected ';'\nplan p\n      ^\n1 error generated\n");
}

static void test_odd_bytes(void)
{
    Fixture f;
    /* Kept: 2, 3 and 4 byte sequences. '?': escape, DEL, a lone continuation byte, a C1 control, an overlong form, a
     * surrogate, a sequence cut short by the end of the line. */
    setup(&f, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82 \033\x7F\x80 \xC2\x85 \xC0\xAF \xED\xA0\x80 x \xE2\x82\n");
    chm_error(&f.diags, span_of(&f, "x"), "e");
    expect(&f, "a.plan:1:25: error: e\n"
               "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82 ??? ?? ?? ??? x ??\n"
               "                  ^\n"
               "1 error generated\n");
}

static void test_span_inside_character(void)
{
    Fixture f;
    setup(&f, "a\xE2\x82\xAC"
              "b");
    chm_error(&f.diags, span(&f, 2, 3), "e");
    expect(&f, "a.plan:1:3: error: e\na\xE2\x82\xAC"
               "b\n ^\n1 error generated\n");
}

static void test_nul_in_line(void)
{
    Fixture f;
    setup(&f, "");
    f.source = chm_source_from_text(&f.m.arena, "a.plan", "a\0b c\n", 6);
    chm_error(&f.diags, span(&f, 4, 5), "e");
    expect(&f, "a.plan:1:5: error: e\na?b c\n    ^\n1 error generated\n");
}

/* A line of n cells "0123456789012...". */
static const char *digits(Fixture *f, int n)
{
    char *text = chm_arena_alloc(&f->m.arena, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        text[i] = (char)('0' + i % 10);
    return text;
}

/* Renders an error at [begin, end) of a line of 'cells' digits; the shown line is digits [first, last) with dots. */
static void check_window(int cells, uint32_t begin, uint32_t end, int first, int last, int caret, int tildes)
{
    Fixture f;
    setup(&f, "");
    const char *line = digits(&f, cells);
    f.source = chm_source_from_text(&f.m.arena, "w", line, (size_t)cells);
    chm_error(&f.diags, span(&f, begin, end), "e");
    ChmOut o;
    chm_out_init(&o, NULL);
    chm_out_printf(&o, "w:1:%d: error: e\n%s%.*s%s\n", (int)begin + 1, first > 0 ? "..." : "", last - first,
                   line + first, last < cells ? "..." : "");
    chm_out_spaces(&o, caret);
    chm_out_putc(&o, '^');
    for (int i = 0; i < tildes; i++)
        chm_out_putc(&o, '~');
    chm_out_puts(&o, "\n1 error generated\n");
    expect(&f, chm_out_text(&o));
    chm_out_fini(&o);
}

static void test_long_lines_are_windowed(void)
{
    check_window(120, 119, 120, 0, 120, 119, 0); /* just fits */
    check_window(121, 0, 2, 0, 120, 0, 1);
    check_window(121, 121, 121, 1, 121, 3 + 120, 0);
    check_window(1000, 500, 503, 460, 580, 3 + 40, 2);
    check_window(1000, 500, 900, 460, 580, 3 + 40, 79); /* the underline stops at the window's end */
    check_window(1000, 30, 40, 0, 120, 30, 9);
    check_window(1000, 990, 1000, 880, 1000, 3 + 110, 9);
}

static void test_color(void)
{
    Fixture f;
    setup(&f, "xy");
    ChmDiag *e = chm_error(&f.diags, span(&f, 0, 2), "e");
    chm_help(&f.diags, e, "H.");
    chm_diags_render(&f.diags, &f.m.out, true);
    UNIT_SAME_TEXT(chm_out_text(&f.m.out), "a.plan:1:1: \033[1;31merror:\033[0m \033[1me\033[0m\n"
                                           "xy\n"
                                           "\033[1;32m^~\033[0m\n"
                                           "\033[1;32mhelp:\033[0m H.\n"
                                           "1 error generated\n");
    teardown(&f);
}

static void test_render_twice(void)
{
    Fixture f;
    setup(&f, "xy");
    chm_error(&f.diags, span(&f, 1, 2), "b");
    chm_error(&f.diags, span(&f, 0, 1), "a");
    chm_diags_render(&f.diags, &f.m.out, false);
    ChmOut again;
    chm_out_init(&again, &f.m.guard);
    chm_diags_render(&f.diags, &again, false);
    UNIT_SAME_TEXT(chm_out_text(&again), chm_out_text(&f.m.out));
    chm_out_fini(&again);
    teardown(&f);
}

/* ---- reading ---- */

static void check_unreadable(const char *path, const char *expected)
{
    Fixture f;
    setup(&f, "");
    const ChmSource *s = NULL;
    CU_ASSERT_EQUAL(chm_source_read(&f.diags, path, &s), CHM_ERR_IO);
    CU_ASSERT_PTR_NULL(s);
    expect(&f, expected);
}

static void check_readable(const char *path, const char *name, const char *text, size_t len)
{
    Fixture f;
    setup(&f, "");
    const ChmSource *s = NULL;
    CU_ASSERT_EQUAL(chm_source_read(&f.diags, path, &s), CHM_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    UNIT_SAME_TEXT(s->name, name);
    CU_ASSERT_EQUAL_FATAL(s->len, len);
    CU_ASSERT_EQUAL(memcmp(s->text, text, len), 0);
    CU_ASSERT(s->text[len] == '\0' && s->text[len + 1] == '\0');
    expect(&f, "");
}

/* A temporary file's name, to be unlinked. */
static void make_file(char path[static 32], const char *text, size_t len)
{
    strcpy(path, "/tmp/chm_test_diag_XXXXXX");
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, len), (ssize_t)len);
    close(fd);
}

static void test_read_file(void)
{
    char path[32];
    make_file(path, "plan\0p;\n", 8);
    check_readable(path, path, "plan\0p;\n", 8);
    unlink(path);
    make_file(path, "", 0);
    check_readable(path, path, "", 0);
    unlink(path);
}

static void test_read_sizes_around_the_buffer(void)
{
    enum { MAX = (128 << 10) + 1 };
    static const size_t sizes[] = {(64 << 10) - 1, 64 << 10, (64 << 10) + 1, 128 << 10, MAX};
    char *text = malloc(MAX), path[32];
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i < MAX; i++)
        text[i] = (char)(i * 7 + i / 251);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make_file(path, text, sizes[i]);
        check_readable(path, path, text, sizes[i]);
        unlink(path);
    }
    free(text);
}

static void test_read_failures(void)
{
    check_unreadable("/nonexistent/a.plan", "chimerac: error: cannot read '/nonexistent/a.plan': No such file or "
                                            "directory\n1 error generated\n");
    check_unreadable("/", "chimerac: error: cannot read '/': is a directory\n1 error generated\n");
}

static void test_read_too_large(void)
{
    char path[32], expected[128];
    make_file(path, "", 0);
    CU_ASSERT_EQUAL(truncate(path, (off_t)CHM_SOURCE_MAX_BYTES + 1), 0);
    snprintf(expected, sizeof expected, "chimerac: error: cannot read '%s': larger than 64 MiB\n1 error generated\n",
             path);
    check_unreadable(path, expected);
    unlink(path);
}

/* A device says nothing of its size: the limit must hold while reading, too. */
static void test_read_endless(void)
{
    check_unreadable("/dev/zero", "chimerac: error: cannot read '/dev/zero': larger than 64 MiB\n1 error generated\n");
}

/* Starts a child that writes to the descriptor in two parts, so that the reader sees a short read. */
static pid_t write_in_parts(const char *path, int fd)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (path)
        fd = open(path, O_WRONLY);
    bool ok = write(fd, "plan ", 5) == 5;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    ok = ok && write(fd, "p;", 2) == 2;
    _exit(ok ? 0 : 1);
}

static void test_read_fifo(void)
{
    char path[32];
    make_file(path, "", 0);
    unlink(path);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    pid_t pid = write_in_parts(path, -1);
    CU_ASSERT_FATAL(pid > 0);
    check_readable(path, path, "plan p;", 7);
    waitpid(pid, NULL, 0);
    unlink(path);
}

static void test_read_stdin(void)
{
    int ends[2], saved = dup(STDIN_FILENO);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = write_in_parts(NULL, ends[1]);
    CU_ASSERT_FATAL(pid > 0);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    check_readable("-", "<stdin>", "plan p;", 7);
    waitpid(pid, NULL, 0);

    close(STDIN_FILENO);
    check_unreadable("-", "chimerac: error: cannot read '<stdin>': Bad file descriptor\n1 error generated\n");
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
}

/* ---- suggestions ---- */

static const char *suggest(const char *name)
{
    static const char *const names[] = {"all_gather", "all_reduce", "slice", "shift", "tp", "dp", "x"};
    const char *found = chm_did_you_mean(name, names, (int32_t)(sizeof names / sizeof *names));
    return found ? found : "(none)";
}

static void test_did_you_mean(void)
{
    UNIT_SAME_TEXT(suggest("all_gahter"), "all_gather"); /* a swap is one edit */
    UNIT_SAME_TEXT(suggest("allreduce"), "all_reduce");
    UNIT_SAME_TEXT(suggest("AllReduce"), "all_reduce"); /* only '_' and case differ */
    UNIT_SAME_TEXT(suggest("ALL_REDUCE"), "all_reduce");
    UNIT_SAME_TEXT(suggest("s_l_i_c_e"), "slice");
    UNIT_SAME_TEXT(suggest("X"), "x");
    UNIT_SAME_TEXT(suggest("reduce"), "(none)"); /* 4 edits, 3 allowed */
    UNIT_SAME_TEXT(suggest("slcie"), "slice");
    UNIT_SAME_TEXT(suggest("shit"), "shift");
    UNIT_SAME_TEXT(suggest("hift"), "shift");
    UNIT_SAME_TEXT(suggest("hit"), "(none)"); /* of a word of up to 4 letters two edits leave too little */
    UNIT_SAME_TEXT(suggest("pp"), "tp");      /* a tie: the first */
    UNIT_SAME_TEXT(suggest("pd"), "dp");
    UNIT_SAME_TEXT(suggest("y"), "(none)"); /* nothing would be left of it */
    UNIT_SAME_TEXT(suggest("x1"), "x");
    UNIT_SAME_TEXT(suggest(""), "(none)");
    CU_ASSERT_PTR_NULL(chm_did_you_mean("x", NULL, 0));
}

static void test_did_you_mean_long_names(void)
{
    char at_limit[65], over[66];
    memset(at_limit, 'a', 64);
    at_limit[64] = '\0';
    memset(over, 'a', 65);
    over[65] = '\0';
    const char *candidates[] = {over, at_limit};
    CU_ASSERT_PTR_EQUAL(chm_did_you_mean(at_limit, candidates, 2), at_limit);
    CU_ASSERT_PTR_NULL(chm_did_you_mean(over, candidates, 2));
}

/* ---- remarks ---- */

static void test_remarks(void)
{
    Fixture f;
    setup(&f, "x;");
    ChmRemarks r;
    chm_remarks_init(&r, &f.m.arena);
    chm_remark(&r, CHM_APPLIED, "cancel", span(&f, 0, 1), INT64_C(56) << 20, "gather of '%s' is only sliced again",
               "x");
    chm_remark(&r, CHM_MISSED, "compose", nowhere, 0, "another use");
    chm_remark(&r, CHM_APPLIED, "route", nowhere, -1536, "faster");
    chm_remarks_render(&r, &f.m.out);
    UNIT_SAME_TEXT(chm_out_text(&f.m.out),
                   "a.plan:1:1: applied: cancel: gather of 'x' is only sliced again (worst rank: 56 MiB less)\n"
                   "missed: compose: another use\n"
                   "applied: route: faster (worst rank: 1.5 KiB more)\n");
    teardown(&f);
}

/* ---- out of memory ---- */

static char starved_path[32];

static void scenario_read_report_render(UnitMemory *m)
{
    ChmDiags d;
    const ChmSource *s;
    chm_diags_init(&d, &m->arena);
    if (chm_source_read(&d, "/nonexistent", &s) != CHM_ERR_IO || chm_source_read(&d, starved_path, &s) != CHM_OK) {
        CU_FAIL("unexpected status");
        return;
    }
    for (uint32_t i = 0; i < 25; i++) {
        ChmDiag *e = chm_error(&d, (ChmSpan){s, i, i + 1}, "e%d", (int)i);
        chm_note(&d, e, (ChmSpan){s, 0, 1}, "n");
        chm_help(&d, e, "H.");
    }
    chm_diags_render(&d, &m->out, false);
}

static void test_every_allocation_may_fail(void)
{
    char text[100000]; /* read in two pieces */
    memset(text, 'x', sizeof text);
    make_file(starved_path, text, sizeof text);
    CU_ASSERT(unit_starve(scenario_read_report_render) > 100);
    unlink(starved_path);
}

static const UnitTest tests[] = {
    {"places", test_places},
    {"span join", test_span_join},
    {"source ends in two NULs", test_source_ends_in_two_nuls},
    {"error with notes", test_error_with_notes},
    {"no place", test_no_place},
    {"warnings are no errors", test_warnings_are_no_errors},
    {"nothing", test_nothing},
    {"sorted by place", test_sorted_by_place},
    {"limit", test_limit},
    {"limit of warnings", test_limit_of_warnings},
    {"no limit", test_no_limit},
    {"tabs line up", test_tabs_line_up},
    {"underline stops at the line end", test_underline_stops_at_line_end},
    {"end of input", test_end_of_input},
    {"odd bytes", test_odd_bytes},
    {"span inside a character", test_span_inside_character},
    {"NUL in a line", test_nul_in_line},
    {"long lines are windowed", test_long_lines_are_windowed},
    {"color", test_color},
    {"render twice", test_render_twice},
    {"read: file", test_read_file},
    {"read: sizes around the buffer", test_read_sizes_around_the_buffer},
    {"read: failures", test_read_failures},
    {"read: too large", test_read_too_large},
    {"read: endless", test_read_endless},
    {"read: FIFO", test_read_fifo},
    {"read: standard input", test_read_stdin},
    {"did you mean", test_did_you_mean},
    {"did you mean: long names", test_did_you_mean_long_names},
    {"remarks", test_remarks},
    {"every allocation may fail", test_every_allocation_may_fail},
    UNIT_END,
};

int main(void)
{
    return unit_main("diag", tests);
}
