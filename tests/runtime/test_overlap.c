/* SPDX-License-Identifier: Apache-2.0
 *
 * test_overlap.c - how long a schedule takes on a simulated cluster of 8 ranks, pp = 2 stages of tp = 4. Data are
 * checked.
 *
 *   smpirun ... test_overlap tp_pp|pp_sp CHUNKS MIB LEAST_S MOST_S
 *
 *   tp_pp  reduce_scatter, shift, all_gather       pp_sp  shift, all_gather
 *
 * CHUNKS = 0: three tasks, one after the other; else one task in so many chunks.
 */
#include "chrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXIS_pp = 1, AXIS_tp };
enum { DIM_seq, DIM_hidden, HIDDEN = 2048 };

static const ChrtMesh mesh = {.naxes = 2, .axis = {{"pp", 2}, {"tp", 4}}};
static const ChrtAxes groups[] = {{AXIS_tp}, {AXIS_pp}};
static ChrtType partial = {.dtype = CHRT_F32, .ndims = 2, .partial = {AXIS_tp}, .at = {{AXIS_pp, 0}}};
static ChrtType before = {.dtype = CHRT_F32, .ndims = 2, .split = {{AXIS_tp}}, .at = {{AXIS_pp, 0}}};
static ChrtType after = {.dtype = CHRT_F32, .ndims = 2, .split = {{AXIS_tp}}, .at = {{AXIS_pp, 1}}};
static ChrtType whole = {.dtype = CHRT_F32, .ndims = 2, .at = {{AXIS_pp, 1}}};
static const ChrtStep steps[] = {
    {CHRT_REDUCE_SCATTER, "%1", &partial, &before, .over = {AXIS_tp}, .dim = DIM_seq},
    {CHRT_SHIFT, "%2", &before, &after, .axis = AXIS_pp, .source = 0, .target = 1},
    {CHRT_ALL_GATHER, "%3", &after, &whole, .over = {AXIS_tp}, .dim = DIM_seq},
};

static void stop(const char *what)
{
    fprintf(stderr, "test_overlap: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static float *buffer(const ChrtType *type, int rank)
{
    int64_t bytes = chrt_local_bytes(&mesh, type, rank);
    float *at = bytes ? malloc((size_t)bytes) : NULL;
    if (bytes && !at)
        stop("out of memory");
    return at;
}

/* Seconds of the slowest rank. */
static double run(ChrtTask *const *task, int n, void *const *at)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), mine, slowest = 0;
    for (int k = 0; k < n; k++)
        if (chrt_run(task[k], at[k], at[k + 1]) < 0)
            stop("a task failed");
    mine = MPI_Wtime() - begin;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 6)
        stop("usage: test_overlap tp_pp|pp_sp CHUNKS MIB LEAST_S MOST_S");
    int first = strcmp(argv[1], "tp_pp") ? 1 : 0, chunks = atoi(argv[2]), n = chunks ? 1 : 3 - first;
    int64_t seq = atol(argv[3]) * 1048576 / (HIDDEN * 4);
    ChrtType *types[] = {&partial, &before, &after, &whole};
    for (int i = 0; i < 4; i++) {
        types[i]->size[DIM_seq] = seq;
        types[i]->size[DIM_hidden] = HIDDEN;
    }

    ChrtCtx *rt;
    ChrtTask *task[3];
    char message[CHRT_MESSAGE_BYTES];
    if (chrt_create(MPI_COMM_WORLD, &mesh, groups, 2, 1, "overlap", &rt, message) < 0)
        stop(message);
    ChrtCut cut = {DIM_seq, chunks};
    for (int k = 0; k < n; k++)
        if (chrt_prepare(rt, &steps[first + k], chunks ? 3 - first : 1, chunks ? &cut : NULL, &task[k]) < 0)
            stop(chrt_error_message(rt));
    void *at[4] = {0};
    for (int k = 0; k <= n; k++)
        at[k] = buffer(types[k < n ? first + k : 3], rank);
    float *in = at[0], *out = at[n];
    int64_t in_elems = chrt_local_elems(&mesh, types[first], rank), out_elems = chrt_local_elems(&mesh, &whole, rank);
    int64_t start = first ? rank * in_elems : 0;
    for (int64_t i = 0; i < in_elems; i++)
        in[i] = (float)((start + i) % 1021);
    run(task, n, at);
    double seconds = run(task, n, at);
    for (int64_t i = 0; i < out_elems; i++)
        if (out[i] != (float)((first ? 1 : 4) * (i % 1021)))
            stop("wrong result");
    if (rank == 0) {
        bool good = seconds >= atof(argv[4]) && seconds <= atof(argv[5]);
        printf("test_overlap: %s %s chunks=%d scratch=%lld: %.6f s\n", good ? "ok" : "FAILED", argv[1], chunks,
               (long long)chrt_task_bytes(task[0]), seconds);
    }
    chrt_destroy(rt);
    for (int k = 0; k <= n; k++)
        free(at[k]);
    MPI_Finalize();
    return 0;
}
