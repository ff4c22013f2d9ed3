/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fuzz/mutate.c - a fuzz target as a plain program, for compilers without libFuzzer and for every test run.
 *
 *   fuzz_X [-n RUNS] [-s SEED] FILE|FOLDER...
 *
 * Runs the target on each seed (the files given, and those with the target's suffix below the folders), then RUNS times
 * on a seed with a few mutations: the same ones for the same SEED. The text under test stands in the file
 * fuzz_X.input, which stays behind when the target dies: give it as FILE to see that again.
 */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SEEDS = 4096, MAX_BYTES = 1 << 14, MAX_PATH = 4096 };

typedef struct Text {
    size_t len;
    char at[MAX_BYTES];
} Text;

static char *paths[MAX_SEEDS];
static Text *seeds[MAX_SEEDS];
static size_t nseeds;
static uint64_t state;
static char input_path[MAX_PATH];

/* ---- chance (splitmix64) */

static uint64_t chance(void)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t below(size_t n)
{
    return n ? (size_t)(chance() % n) : 0;
}

/* ---- seeds */

static bool has_suffix(const char *path)
{
    size_t n = strlen(path), m = strlen(fuzz_suffix);
    return n > m && strcmp(path + n - m, fuzz_suffix) == 0;
}

static void find_seeds(const char *path, bool given)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    if (!S_ISDIR(st.st_mode)) {
        if ((given || has_suffix(path)) && nseeds < MAX_SEEDS && (paths[nseeds] = malloc(strlen(path) + 1)) != NULL)
            strcpy(paths[nseeds++], path);
        return;
    }
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        char below_it[MAX_PATH];
        if (e->d_name[0] != '.' && snprintf(below_it, sizeof below_it, "%s/%s", path, e->d_name) < (int)sizeof below_it)
            find_seeds(below_it, false);
    }
    if (dir)
        closedir(dir);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_seed(size_t i)
{
    FILE *f = fopen(paths[i], "rb");
    seeds[i] = calloc(1, sizeof *seeds[i]);
    if (!f || !seeds[i]) {
        perror(paths[i]);
        exit(EXIT_FAILURE);
    }
    seeds[i]->len = fread(seeds[i]->at, 1, MAX_BYTES, f);
    fclose(f);
}

/* Without comments, of which tests have more than text, a mutation meets what matters. */
static void copy_without_comments(Text *t, const Text *seed)
{
    t->len = 0;
    bool in_comment = false;
    for (size_t i = 0; i < seed->len; i++) {
        in_comment = seed->at[i] == '#' || (in_comment && seed->at[i] != '\n');
        if (!in_comment)
            t->at[t->len++] = seed->at[i];
    }
}

/* ---- mutations; each leaves len <= MAX_BYTES */

/* [begin, end) of t becomes the n bytes of 'with', which is not within t. */
static void put(Text *t, size_t begin, size_t end, const char *with, size_t n)
{
    if (t->len - (end - begin) + n > MAX_BYTES)
        return;
    memmove(t->at + begin + n, t->at + end, t->len - end);
    memcpy(t->at + begin, with, n);
    t->len = t->len - (end - begin) + n;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A token, or a run of blanks, near a random place. */
static void token_of(const Text *t, size_t *begin, size_t *end)
{
    *begin = *end = below(t->len);
    if (*begin == t->len)
        return;
    ++*end;
    if (!in_word(t->at[*begin]))
        return;
    while (*begin > 0 && in_word(t->at[*begin - 1]))
        --*begin;
    while (*end < t->len && in_word(t->at[*end]))
        ++*end;
}

static void line_of(const Text *t, size_t *begin, size_t *end)
{
    *begin = *end = below(t->len);
    while (*begin > 0 && t->at[*begin - 1] != '\n')
        --*begin;
    while (*end < t->len && t->at[(*end)++] != '\n')
        ;
}

/* What 'of' finds in t becomes what it finds in 'other'; or goes before it, or just goes. */
static void trade(Text *t, const Text *other, void (*of)(const Text *, size_t *, size_t *))
{
    size_t begin, end, from, to;
    of(t, &begin, &end);
    of(other, &from, &to);
    size_t kind = below(8);
    if (kind == 0)
        from = to;
    if (kind <= 2 && kind > 0)
        end = begin;
    put(t, begin, end, other->at + from, to - from);
}

static void mutate(Text *t, const Text *other, Text *spare)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "4",
                                          "7",
                                          "8",
                                          "13",
                                          "64",
                                          "65536",
                                          "2147483647",
                                          "2147483648",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "-1"};
    size_t begin, end;
    *spare = *t;
    switch (below(10)) {
    case 0:
        if (t->len)
            t->at[below(t->len)] ^= (char)(1 << below(8));
        break;
    case 1:
        begin = below(t->len);
        end = begin + below(t->len - begin < 32 ? t->len - begin + 1 : 32);
        put(t, begin, end, "", 0);
        break;
    case 2:
        begin = below(t->len);
        put(t, begin, t->len, other->at + below(other->len), 0);
        break;
    case 3:
        begin = below(other->len);
        put(t, below(t->len), t->len, other->at + begin, other->len - begin);
        break;
    case 4:
        trade(t, other, line_of);
        break;
    case 5:
        trade(t, spare, line_of);
        break;
    case 6:
        token_of(t, &begin, &end);
        const char *number = numbers[below(sizeof numbers / sizeof numbers[0])];
        if (begin < end && t->at[begin] >= '0' && t->at[begin] <= '9')
            put(t, begin, end, number, strlen(number));
        break;
    case 7:
        trade(t, other, token_of);
        break;
    default:
        trade(t, spare, token_of);
        break;
    }
}

/* ---- running */

static void run(const Text *t)
{
    FILE *f = fopen(input_path, "wb");
    if (!f || fwrite(t->at, 1, t->len, f) != t->len || fclose(f) != 0) {
        perror(input_path);
        exit(EXIT_FAILURE);
    }
    LLVMFuzzerTestOneInput((const uint8_t *)t->at, t->len);
}

static void read_arguments(int argc, char **argv, int64_t *runs)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            *runs = strtoll(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
            state = strtoull(argv[++i], NULL, 10);
        else
            find_seeds(argv[i], true);
    }
}

int main(int argc, char **argv)
{
    int64_t runs = 0;
    static Text text, spare;
    state = 1;
    snprintf(input_path, sizeof input_path, "%s.input", argv[0]);
    read_arguments(argc, argv, &runs);
    qsort(paths, nseeds, sizeof paths[0], by_text);
    for (size_t i = 0; i < nseeds; i++) {
        read_seed(i);
        run(seeds[i]);
    }
    for (int64_t k = 0; k < runs && nseeds; k++) {
        copy_without_comments(&text, seeds[below(nseeds)]);
        for (size_t left = 1 + below(4); left > 0; left--)
            mutate(&text, seeds[below(nseeds)], &spare);
        run(&text);
    }
    remove(input_path);
    printf("%zu seeds, %" PRId64 " mutants\n", nseeds, runs);
    for (size_t i = 0; i < nseeds; i++) {
        free(paths[i]);
        free(seeds[i]);
    }
    return nseeds ? EXIT_SUCCESS : EXIT_FAILURE;
}
