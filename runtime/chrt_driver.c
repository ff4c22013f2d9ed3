/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_driver.c - runs both schedules, checks them, times them, and says so.
 */
#ifndef _POSIX_C_SOURCE         // some MPI wrappers include system headers first
#define _POSIX_C_SOURCE 199309L // nanosleep
#endif

#include "chrt_driver_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEEDS = 3, WARM_UPS = 3, MAX_REPETITIONS = 1000000, WRONG_BYTES = 256 };

typedef struct Options {
    int64_t repetitions;
    uint64_t seed;
    bool floats, time_only, help;
} Options;

/* Everything of one rank's run. [0] is the baseline, [1] the optimized schedule. */
typedef struct Run {
    const ChrtDriver *driver;
    Options options;
    int rank, ranks;
    void *plan[2];
    void **in, **out[2];
} Run;

static const char *const schedule_name[2] = {"baseline", "optimized"};

static const ChrtDriverSchedule *schedule(const Run *run, int which)
{
    return which == 0 ? &run->driver->baseline : &run->driver->optimized;
}

/* ---- options ------------------------------------------------------------------------------------------------------
 */

static bool parse_number(const char *text, uint64_t max, uint64_t *number)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10);
    *number = value;
    return *end == '\0' && errno == 0 && value <= max;
}

/* The value of the option argv[*i], a number in [min, max]; steps over it. */
static bool parse_value(char **argv, int *i, uint64_t min, uint64_t max, uint64_t *number, char *wrong)
{
    const char *option = argv[*i], *text = argv[*i + 1];
    if (text && parse_number(text, max, number) && *number >= min) {
        ++*i;
        return true;
    }
    snprintf(wrong, WRONG_BYTES, "%s needs a whole number from %" PRIu64 " to %" PRIu64 ", %s%.100s%s", option, min,
             max, text ? "not '" : "and there is nothing after it", text ? text : "", text ? "'" : "");
    return false;
}

/* On failure `wrong` says which option is not right, and what is. */
static bool parse(int argc, char **argv, Options *options, char *wrong)
{
    *options = (Options){.repetitions = 6, .seed = 1};
    for (int i = 1; i < argc; i++) {
        uint64_t number = 0;
        if (!strcmp(argv[i], "-r")) {
            if (!parse_value(argv, &i, 1, MAX_REPETITIONS, &number, wrong))
                return false;
            options->repetitions = (int64_t)(number + number % 2);
        } else if (!strcmp(argv[i], "-s")) {
            if (!parse_value(argv, &i, 0, UINT64_MAX, &options->seed, wrong))
                return false;
        } else if (!strcmp(argv[i], "--float")) {
            options->floats = true;
        } else if (!strcmp(argv[i], "--time-only")) {
            options->time_only = true;
        } else if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
            options->help = true;
        } else {
            snprintf(wrong, WRONG_BYTES, "unknown option '%.100s'; there are -r N, -s SEED, --float, --time-only, -h",
                     argv[i]);
            return false;
        }
    }
    return true;
}

static void usage(FILE *to, const ChrtDriver *driver)
{
    fprintf(to,
            "usage: mpirun -n %" PRId32 " PROGRAM [-r N] [-s SEED] [--float] [--time-only] [-h]\n"
            "  plan '%s': runs the baseline and the optimized schedule, checks and times both\n"
            "  -r N         timed repetitions of each (6), made even: each schedule is first in half of them\n"
            "  -s SEED      first of %d seeds of the test data (1)\n"
            "  --float      random floats, compared within rounding, instead of exact numbers\n"
            "  --time-only  no check of the data\n",
            chrt_mesh_ranks(driver->mesh), driver->plan, SEEDS);
}

/* ---- running ------------------------------------------------------------------------------------------------------
 */

/* A launcher that hears of the abort before it has read this rank's output drops that output (Hydra does): half a
 * second for it to read. */
static void stop(const Run *run, const char *what, const char *message)
{
    const struct timespec while_read = {.tv_nsec = 500 * 1000 * 1000};
    fprintf(stderr, "chimera-driver: rank %d: %s: %s\n", run->rank, what, message);
    nanosleep(&while_read, NULL);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* Runs one schedule; ends the program on an error, since other ranks may be waiting inside an op. */
static void run_once(const Run *run, int which, bool again)
{
    const ChrtDriverSchedule *s = schedule(run, which);
    int status = again ? 0 : s->enter(run->plan[which], (const void *const *)run->in, run->out[which]);
    if (status >= 0)
        status = s->rerun(run->plan[which]);
    if (status < 0)
        stop(run, schedule_name[which],
             s->message ? s->message(run->plan[which]) : chrt_status_name((ChrtStatus)status));
}

static void *allocate(const Run *run, size_t n, size_t bytes)
{
    void *memory = calloc(n > 0 ? n : 1, bytes);
    if (!memory)
        stop(run, "driver", "out of memory");
    return memory;
}

/* A rank's buffer for a value; NULL where it has none. */
static void *allocate_block(const Run *run, const ChrtType *type)
{
    int64_t bytes = chrt_local_bytes(run->driver->mesh, type, run->rank);
    if (bytes == 0)
        return NULL;
    void *block = malloc((size_t)bytes);
    if (!block)
        stop(run, "driver", "out of memory");
    return block;
}

/* Both plans and all buffers. A failing create fails on every rank. */
static bool set_up(Run *run)
{
    const ChrtDriver *driver = run->driver;
    for (int which = 0; which < 2; which++) {
        char message[CHRT_MESSAGE_BYTES] = "";
        int status = schedule(run, which)->create(MPI_COMM_WORLD, &run->plan[which], message);
        if (status >= 0)
            continue;
        if (run->rank == 0)
            fprintf(stderr, "chimera-driver: %s: %s\n", schedule_name[which],
                    message[0] ? message : chrt_status_name((ChrtStatus)status));
        if (which == 1)
            schedule(run, 0)->destroy(run->plan[0]);
        return false;
    }
    run->in = allocate(run, (size_t)driver->ninputs, sizeof *run->in);
    for (int32_t i = 0; i < driver->ninputs; i++)
        run->in[i] = allocate_block(run, driver->inputs[i].type);
    for (int which = 0; which < 2; which++) {
        run->out[which] = allocate(run, (size_t)driver->noutputs, sizeof *run->out[which]);
        for (int32_t i = 0; i < driver->noutputs; i++)
            run->out[which][i] = allocate_block(run, driver->outputs[i].type);
    }
    return true;
}

static void tear_down(Run *run)
{
    for (int32_t i = 0; i < run->driver->ninputs; i++)
        free(run->in[i]);
    free(run->in);
    for (int which = 0; which < 2; which++) {
        for (int32_t i = 0; i < run->driver->noutputs; i++)
            free(run->out[which][i]);
        free(run->out[which]);
        schedule(run, which)->destroy(run->plan[which]);
    }
}

/* Fills the inputs, and the outputs with what no schedule writes. */
static void fill(Run *run, uint64_t seed)
{
    const ChrtDriver *driver = run->driver;
    ChrtDriverData data = {driver, run->rank, seed, run->options.floats};
    for (int32_t i = 0; i < driver->ninputs; i++)
        if (run->in[i])
            chrt_driver_fill(&data, &driver->inputs[i], run->in[i]);
    for (int which = 0; which < 2; which++)
        for (int32_t i = 0; i < driver->noutputs; i++)
            if (run->out[which][i])
                memset(run->out[which][i], 0xA5 + (int)(seed & 7),
                       (size_t)chrt_local_bytes(driver->mesh, driver->outputs[i].type, run->rank));
}

/* Runs and compares for every seed, from the second on as a rerun; the same answer on all ranks. A failing rank tells
 * its first mismatch. */
static bool check(Run *run)
{
    int bad = 0, any = 0;
    for (int s = 0; s < SEEDS; s++) {
        ChrtDriverData data = {run->driver, run->rank, run->options.seed + (uint64_t)s, run->options.floats};
        fill(run, data.seed);
        run_once(run, 0, s > 0);
        run_once(run, 1, s > 0);
        for (int32_t i = 0; i < run->driver->noutputs && !bad; i++) {
            char mismatch[1024];
            if (!run->out[0][i] || chrt_driver_check(&data, &run->driver->outputs[i], run->out[0][i], run->out[1][i],
                                                     mismatch, sizeof mismatch))
                continue;
            fprintf(stderr, "chimera-driver: %s\n", mismatch);
            bad = 1;
        }
    }
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return !any;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *times, int64_t n)
{
    qsort(times, (size_t)n, sizeof *times, compare);
    return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

/* Medians over the repetitions of the slowest rank's time, on rank 0. Reruns: the buffers are checked by the first run
 * to warm up, as by a program whose steps follow one another. What runs second finds other caches and other neighbours
 * than what runs first, so they take turns. */
static void time_both(Run *run, double *medians)
{
    int64_t n = run->options.repetitions;
    double *times[2] = {allocate(run, (size_t)n, sizeof(double)), allocate(run, (size_t)n, sizeof(double))};
    for (int64_t r = -WARM_UPS; r < n; r++)
        for (int turn = 0; turn < 2; turn++) {
            int which = r % 2 ? 1 - turn : turn;
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = MPI_Wtime();
            run_once(run, which, r > -WARM_UPS);
            double mine = MPI_Wtime() - begin, slowest = 0;
            MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (r >= 0)
                times[which][r] = slowest;
        }
    for (int which = 0; which < 2; which++) {
        medians[which] = median(times[which], n);
        free(times[which]);
    }
}

/* ---- reporting ----------------------------------------------------------------------------------------------------
 */

/* Seconds with three significant digits and no exponent. */
static const char *seconds(double s, char *text, size_t bytes)
{
    int digits = 2;
    for (double scale = 1; digits < 12 && s < scale && s > 0; scale /= 10)
        digits++;
    snprintf(text, bytes, "%.*f", digits, s);
    return text;
}

static double ratio(double before, double after)
{
    return after > 0 ? before / after : before > 0 ? 0 : 1;
}

static void print_row(const char *what, const char *before, const char *after, double times, const char *note)
{
    printf("  %-28s %16s %16s   %6.2fx%s\n", what, before, after, times, note);
}

static void print_bytes(const char *what, int64_t before, int64_t after)
{
    char one[32], two[32];
    snprintf(one, sizeof one, "%" PRId64, before);
    snprintf(two, sizeof two, "%" PRId64, after);
    print_row(what, one, two, ratio((double)before, (double)after), "");
}

static void report(const Run *run, const char *verdict, const double *medians)
{
    const ChrtDriver *driver = run->driver;
    char one[32], two[32], what[64];
    printf("plan %s, mesh (", driver->plan);
    for (int32_t a = 0; a < driver->mesh->naxes; a++)
        printf("%s%s=%" PRId32, a ? ", " : "", driver->mesh->axis[a].name, driver->mesh->axis[a].size);
    printf("), %d rank%s\n  %-28s %16s %16s   %7s\n", run->ranks, run->ranks == 1 ? "" : "s", "", "baseline",
           "optimized", "ratio");
    print_bytes("bytes sent, worst rank", driver->baseline.sent_bytes, driver->optimized.sent_bytes);
    print_bytes("bytes received, worst rank", driver->baseline.received_bytes, driver->optimized.received_bytes);
    seconds(medians[0], one, sizeof one);
    seconds(medians[1], two, sizeof two);
    snprintf(what, sizeof what, "seconds, median of %" PRId64, run->options.repetitions);
    print_row(what, one, two, ratio(medians[0], medians[1]), driver->same ? "  same schedule" : "");
    printf("chimera-driver: %s ranks=%d baseline_s=%s optimized_s=%s speedup=%.2f\n", verdict, run->ranks, one, two,
           ratio(medians[0], medians[1]));
    fflush(stdout);
}

/* Reads the options, for all ranks or none: the lowest rank that finds something wrong tells it. */
static bool read_options(Run *run, int argc, char **argv)
{
    char wrong[WRONG_BYTES];
    int mine = parse(argc, argv, &run->options, wrong) ? run->ranks : run->rank, lowest = mine;
    MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (lowest == run->ranks)
        return true;
    if (lowest == run->rank) {
        fprintf(stderr, "chimera-driver: %s\n", wrong);
        usage(stderr, run->driver);
        fflush(stderr);
    }
    return false;
}

/* Between MPI_Init and MPI_Finalize. */
static int drive(Run *run, int argc, char **argv)
{
    if (!read_options(run, argc, argv))
        return 2;
    if (run->options.help) {
        if (run->rank == 0)
            usage(stdout, run->driver);
        return EXIT_SUCCESS;
    }
    if (!set_up(run))
        return EXIT_FAILURE;
    double medians[2] = {0, 0};
    bool right = true;
    if (run->options.time_only)
        fill(run, run->options.seed);
    else
        right = check(run);
    time_both(run, medians);
    if (run->rank == 0)
        report(run, !right ? "FAILED" : run->options.time_only ? "unchecked" : "ok", medians);
    tear_down(run);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

int chrt_driver_main(int argc, char **argv, const ChrtDriver *driver)
{
    Run run = {.driver = driver};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    int code = drive(&run, argc, argv);
    MPI_Finalize();
    return code;
}
