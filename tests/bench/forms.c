/* SPDX-License-Identifier: Apache-2.0 */
#include "forms.h"

#include "chrt_driver_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FORMS = 8 };

typedef struct Bench {
    const ChrtDriver *driver;
    const Form *forms;
    int nforms, rank;
    int repetitions, warm_ups;
    bool time_only;
    void *plan[MAX_FORMS];
    bool entered[MAX_FORMS];
    void **in, **out;
} Bench;

/* ---- emitted units -------------------------------------------------------------------------------------------------
 */

static const ChrtDriver *handed_over;

int chrt_driver_main(int argc, char **argv, const ChrtDriver *driver)
{
    (void)argc;
    (void)argv;
    handed_over = driver;
    return 0;
}

const ChrtDriver *forms_driver(int (*emitted_main)(int, char **))
{
    handed_over = NULL;
    emitted_main(0, NULL);
    return handed_over;
}

/* ---- running -------------------------------------------------------------------------------------------------------
 */

static void stop(const Bench *b, const char *what, const char *message)
{
    fprintf(stderr, "forms: rank %d: %s: %s\n", b->rank, what, message);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static void **allocate_blocks(const Bench *b, int32_t n)
{
    void **blocks = calloc((size_t)(n > 0 ? n : 1), sizeof *blocks);
    if (!blocks)
        stop(b, "set-up", "out of memory");
    return blocks;
}

static void *allocate_block(const Bench *b, const ChrtType *type)
{
    int64_t bytes = chrt_local_bytes(b->driver->mesh, type, b->rank);
    void *block = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (bytes > 0 && !block)
        stop(b, "set-up", "out of memory");
    return block;
}

static void set_up(Bench *b)
{
    const ChrtDriver *driver = b->driver;
    ChrtDriverData data = {driver, b->rank, 1, false};
    for (int f = 0; f < b->nforms; f++) {
        char message[CHRT_MESSAGE_BYTES] = "";
        if (b->forms[f].schedule->create(MPI_COMM_WORLD, &b->plan[f], message) < 0)
            stop(b, b->forms[f].name, message);
    }
    b->in = allocate_blocks(b, driver->ninputs);
    b->out = allocate_blocks(b, driver->noutputs);
    for (int32_t i = 0; i < driver->ninputs; i++) {
        b->in[i] = allocate_block(b, driver->inputs[i].type);
        if (b->in[i])
            chrt_driver_fill(&data, &driver->inputs[i], b->in[i]);
    }
    for (int32_t i = 0; i < driver->noutputs; i++)
        b->out[i] = allocate_block(b, driver->outputs[i].type);
}

static void tear_down(Bench *b)
{
    for (int32_t i = 0; i < b->driver->ninputs; i++)
        free(b->in[i]);
    for (int32_t i = 0; i < b->driver->noutputs; i++)
        free(b->out[i]);
    free(b->in);
    free(b->out);
    for (int f = 0; f < b->nforms; f++)
        b->forms[f].schedule->destroy(b->plan[f]);
}

static void run_once(Bench *b, int f)
{
    const ChrtDriverSchedule *s = b->forms[f].schedule;
    bool again = b->forms[f].once && b->entered[f];
    int status = again ? 0 : s->enter(b->plan[f], (const void *const *)b->in, b->out);
    b->entered[f] = true;
    if (status >= 0)
        status = s->rerun(b->plan[f]);
    if (status < 0)
        stop(b, b->forms[f].name, s->message ? s->message(b->plan[f]) : chrt_status_name((ChrtStatus)status));
}

/* The same answer on all ranks; one that fails tells its first mismatch. */
static bool check(Bench *b, int f)
{
    int bad = 0, any = 0;
    ChrtDriverData data = {b->driver, b->rank, 1, false};
    for (int32_t i = 0; i < b->driver->noutputs; i++)
        if (b->out[i])
            memset(b->out[i], 0xA5, (size_t)chrt_local_bytes(b->driver->mesh, b->driver->outputs[i].type, b->rank));
    run_once(b, f);
    for (int32_t i = 0; i < b->driver->noutputs && !bad; i++) {
        char mismatch[1024];
        if (!b->out[i] ||
            chrt_driver_check(&data, &b->driver->outputs[i], b->out[i], b->out[i], mismatch, sizeof mismatch))
            continue;
        fprintf(stderr, "forms: %s: %s\n", b->forms[f].name, mismatch);
        bad = 1;
    }
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return !any;
}

static double time_once(Bench *b, int f)
{
    double slowest = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    run_once(b, f);
    double mine = MPI_Wtime() - begin;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return slowest;
}

static void time_all(Bench *b)
{
    size_t n = (size_t)b->repetitions;
    double *times = malloc(n * (size_t)b->nforms * sizeof *times);
    if (!times)
        stop(b, "timing", "out of memory");
    for (int r = -b->warm_ups; r < b->repetitions; r++)
        for (int turn = 0; turn < b->nforms; turn++) {
            int f = (r + b->warm_ups + turn) % b->nforms;
            double s = time_once(b, f);
            if (r >= 0)
                times[(size_t)f * n + (size_t)r] = s;
        }
    for (int f = 0; f < b->nforms && b->rank == 0; f++) {
        printf("form %s", b->forms[f].name);
        for (size_t r = 0; r < n; r++)
            printf(" %.9f", times[(size_t)f * n + r]);
        printf("\n");
    }
    free(times);
}

static bool parse(Bench *b, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int *number = !strcmp(argv[i], "-r") ? &b->repetitions : !strcmp(argv[i], "-w") ? &b->warm_ups : NULL;
        if (!strcmp(argv[i], "--time-only"))
            b->time_only = true;
        else if (number && i + 1 < argc)
            *number = (int)strtol(argv[++i], NULL, 10);
        else
            return false;
    }
    return b->repetitions > 0 && b->repetitions <= 1000000 && b->warm_ups >= 0 && b->nforms <= MAX_FORMS;
}

int forms_main(int argc, char **argv, const ChrtDriver *driver, const Form *forms, int nforms)
{
    Bench b = {.driver = driver, .forms = forms, .nforms = nforms, .repetitions = 5, .warm_ups = 1};
    bool right = true;
    if (!parse(&b, argc, argv)) {
        fprintf(stderr, "usage: PROGRAM [-r N] [-w N] [--time-only]\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    set_up(&b);
    for (int f = 0; f < nforms && !b.time_only; f++)
        right = check(&b, f) && right;
    if (right)
        time_all(&b);
    if (b.rank == 0)
        printf("forms: %s\n", !right ? "FAILED" : b.time_only ? "unchecked" : "ok");
    tear_down(&b);
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
