/* SPDX-License-Identifier: Apache-2.0
 *
 * test_errors.c - whatever goes wrong ends in a status and a message, on every rank, and nothing hangs.
 *
 *   mpirun -n 4 test_errors          all cases that every rank returns from
 *   mpirun -n 4 test_errors abort    an MPI error on one rank inside an op, under the driver: must end with status 1
 *
 * MPI errors are injected through the profiling interface.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include "chrt_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- injected errors ------------------------------------------------------------------------------------------------
 */

static struct {
    bool allreduce, irecv, isend, waitany, waitall, waitall_at_all, split, reduce_scatter;
} armed;

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    if (armed.allreduce)
        return MPI_ERR_OTHER;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Reduce_scatter_block(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    if (armed.reduce_scatter)
        return MPI_ERR_COUNT;
    return PMPI_Reduce_scatter_block(in, out, count, type, op, comm);
}

int MPI_Irecv(void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = PMPI_Irecv(at, count, type, peer, tag, comm, request);
    return armed.irecv ? MPI_ERR_TAG : rc;
}

int MPI_Isend(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = PMPI_Isend(at, count, type, peer, tag, comm, request);
    return armed.isend ? MPI_ERR_RANK : rc;
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
    int rc = PMPI_Waitany(n, requests, index, status);
    return armed.waitany ? MPI_ERR_TRUNCATE : rc;
}

/* One message fails, or the call itself. */
int MPI_Waitall(int n, MPI_Request requests[], MPI_Status *statuses)
{
    int rc = PMPI_Waitall(n, requests, statuses);
    for (int i = 0; i < n && armed.waitall; i++)
        statuses[i].MPI_ERROR = i < n - 1 ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    return armed.waitall ? MPI_ERR_IN_STATUS : armed.waitall_at_all ? MPI_ERR_REQUEST : rc;
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *group)
{
    int rc = PMPI_Comm_split(comm, colour, key, group);
    if (!armed.split)
        return rc;
    PMPI_Comm_free(group);
    *group = MPI_COMM_NULL;
    return MPI_ERR_INTERN;
}

/* ---- checks ---------------------------------------------------------------------------------------------------------
 */

static int rank;

static void fail(const char *test, const char *what, const char *message)
{
    fprintf(stderr, "rank %d: %s: %s: '%s'\n", rank, test, what, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void demand(const char *test, ChrtStatus got, ChrtStatus wanted, const char *message, const char *text)
{
    if (got != wanted)
        fail(test, chrt_status_name(got), message);
    if (!strstr(message, text))
        fail(test, "the message lacks its text", message);
}

enum { AXIS_a = 1, AXIS_b };
static const ChrtMesh mesh = {.naxes = 2, .axis = {{"a", 2}, {"b", 2}}};
static const ChrtMesh flat = {.naxes = 1, .axis = {{"a", 4}}};
static const ChrtMesh small = {.naxes = 1, .axis = {{"a", 3}}};
static const ChrtAxes groups[] = {{AXIS_a}, {AXIS_b}};
static const ChrtAxes swapped[] = {{AXIS_b}, {AXIS_a}};

#define SHAPE .dtype = CHRT_F32, .ndims = 1, .size = {8}
static const ChrtType whole = {SHAPE};
static const ChrtType split_b = {SHAPE, .split = {{AXIS_b}}};
static const ChrtType partial_b = {SHAPE, .partial = {AXIS_b}};
static const ChrtType split_ba = {SHAPE, .split = {{AXIS_b, AXIS_a}}};
static const ChrtType at_a0 = {SHAPE, .at = {{AXIS_a, 0}}};
static const ChrtType at_a1 = {SHAPE, .at = {{AXIS_a, 1}}};
static const ChrtType split_a = {SHAPE, .split = {{AXIS_a}}};
static float in[8], out[8], other_out[8];

static ChrtCtx *make(void)
{
    ChrtCtx *rt;
    char message[CHRT_MESSAGE_BYTES] = "";
    if (chrt_create(MPI_COMM_WORLD, &mesh, groups, 2, 1, "errors", &rt, message) < 0)
        fail("create", "must succeed", message);
    return rt;
}

static void test_create(void)
{
    ChrtCtx *rt;
    char message[CHRT_MESSAGE_BYTES] = "";
    ChrtStatus st = chrt_create(MPI_COMM_WORLD, &small, groups, 1, 1, "errors", &rt, message);
    demand("ranks", st, CHRT_ERR_RANKS, message, "needs the 3 ranks of mesh (a=3), the communicator has 4");
    st = chrt_create(MPI_COMM_WORLD, &small, groups, 1, 1, "errors", &rt, NULL);
    demand("no message", st, CHRT_ERR_RANKS, "", "");
    st = chrt_create(MPI_COMM_WORLD, &mesh, groups, 2, rank == 2 ? 7 : 8, "errors", &rt, message);
    demand("schedule", st, CHRT_ERR_SCHEDULE, message, "not the same schedule on every rank: rank 2 (hash ");
    demand("schedule", st, CHRT_ERR_SCHEDULE, message, ") is the lowest of 1 that differs from rank 0 (hash ");
    st = chrt_create(MPI_COMM_WORLD, &mesh, groups, 2, rank > 0 ? 7 : 8, "errors", &rt, message);
    demand("schedules", st, CHRT_ERR_SCHEDULE, message, "rank 1 (hash ");
    demand("schedules", st, CHRT_ERR_SCHEDULE, message, ") is the lowest of 3 that differ from rank 0 (hash ");
    st = chrt_create(MPI_COMM_WORLD, rank == 1 ? &flat : &mesh, groups, rank == 1 ? 1 : 2, 1, "errors", &rt, message);
    demand("mesh", st, CHRT_ERR_SCHEDULE, message, "not the same schedule");
    st = chrt_create(MPI_COMM_WORLD, rank == 3 ? &small : &mesh, groups, 1, 1, "errors", &rt, message);
    demand("mesh of another size", st, CHRT_ERR_SCHEDULE, message, "not the same schedule");
    st = chrt_create(MPI_COMM_WORLD, &mesh, rank == 0 ? swapped : groups, 2, 1, "errors", &rt, message);
    demand("groups", st, CHRT_ERR_SCHEDULE, message, "not the same schedule");
    st = chrt_create(MPI_COMM_WORLD, &flat, groups, 2, 1, "errors", &rt, message);
    demand("axis", st, CHRT_ERR_GROUP, message, "an axis that the mesh lacks");
}

/* Refused before MPI sees it: MPI ends the program. */
static void test_no_comm(void)
{
    ChrtCtx *rt;
    char message[CHRT_MESSAGE_BYTES] = "";
    ChrtStatus st = chrt_create(MPI_COMM_NULL, &mesh, groups, 2, 1, "errors", &rt, message);
    demand("null", st, CHRT_ERR_COMM, message, "create: plan 'errors': the communicator is MPI_COMM_NULL");
    st = chrt_create(MPI_COMM_NULL, &mesh, groups, 2, 1, "errors", &rt, NULL);
    demand("null", st, CHRT_ERR_COMM, rt ? "" : "none", "none");
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
    st = chrt_create(inter, &mesh, groups, 2, 1, "errors", &rt, message);
    demand("inter", st, CHRT_ERR_COMM, message, "the communicator is an intercommunicator");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    demand("no context", chrt_enter(NULL, 0, 0, NULL), CHRT_ERR_PLAN, chrt_error_message(NULL), "there is no plan");
}

static void overlap(ChrtCtx *rt, const ChrtBuffer *buffers, ChrtStatus wanted, const char *text)
{
    ChrtStatus st = chrt_enter(rt, 2, 2, buffers);
    demand("overlap", st, wanted, wanted ? chrt_error_message(rt) : "", text);
}

static void test_overlap(void)
{
    ChrtCtx *rt = make();
    char *at = (char *)in, *to = (char *)out;
    overlap(rt, (const ChrtBuffer[]){{"x", &whole, at}, {"y", &whole, at + 4}, {"u", &whole, to}, {"v", &at_a0, NULL}},
            CHRT_ERR_NULL, "buffer 'v' is NULL on rank 0");
    overlap(rt,
            (const ChrtBuffer[]){{"x", &whole, at}, {"y", &whole, at}, {"u", &split_b, to}, {"v", &split_b, to + 16}},
            CHRT_OK, "");
    overlap(
        rt,
        (const ChrtBuffer[]){
            {"x", &whole, at}, {"y", &whole, at}, {"u", &split_b, to}, {"v", &split_b, rank == 3 ? to + 15 : to + 16}},
        CHRT_ERR_OVERLAP, "enter: output 'v' overlaps output 'u' on rank 3");
    overlap(
        rt,
        (const ChrtBuffer[]){
            {"x", &whole, at}, {"y", &whole, at}, {"u", &split_b, rank == 1 ? at + 8 : to}, {"v", &split_b, to + 16}},
        CHRT_ERR_OVERLAP, "enter: output 'u' overlaps input '");
    overlap(
        rt,
        (const ChrtBuffer[]){{"x", &whole, at}, {"y", &split_b, to + 12}, {"u", &whole, to}, {"v", &at_a0, other_out}},
        CHRT_ERR_OVERLAP, "output 'u' overlaps input 'y' on rank 0, where their blocks have 32 and 16 bytes");
    /* Where a value is absent its pointer is not looked at. */
    overlap(rt, (const ChrtBuffer[]){{"x", &at_a1, at}, {"y", &whole, other_out}, {"u", &at_a0, at}, {"v", &whole, to}},
            CHRT_OK, "");
    demand("in place", chrt_enter(rt, 1, 1, (const ChrtBuffer[]){{"x", &whole, in}, {"y", &whole, in}}),
           CHRT_ERR_OVERLAP, chrt_error_message(rt), "output 'y' overlaps input 'x' on rank 0");
    ChrtBuffer many[100];
    static float memory[100][8];
    for (int i = 0; i < 100; i++)
        many[i] = (ChrtBuffer){"many", &whole, memory[i * 37 % 100]};
    demand("many", chrt_enter(rt, 50, 50, many), CHRT_OK, "", "");
    many[99].at = memory[0];
    demand("many", chrt_enter(rt, 50, 50, many), CHRT_ERR_OVERLAP, chrt_error_message(rt), "'many' on rank 0");
    chrt_destroy(rt);
}

static void reenter(const char *text, ChrtCtx *rt, ChrtStatus wanted)
{
    demand(text, chrt_reenter(rt), wanted, wanted ? chrt_error_message(rt) : "",
           wanted ? "rerun: no run before it whose buffers were accepted" : "");
}

static void test_enter(void)
{
    ChrtCtx *rt = make();
    unsigned char *arena;
    demand("reenter without a context", chrt_reenter(NULL), CHRT_ERR_PLAN, "", "");
    reenter("reenter at first", rt, CHRT_ERR_STATE);
    ChrtStatus st =
        chrt_enter(rt, 1, 1, (const ChrtBuffer[]){{"x", &whole, in}, {"y", &split_b, rank == 1 ? NULL : out}});
    demand("enter", st, CHRT_ERR_NULL, chrt_error_message(rt),
           "buffer 'y' is NULL on rank 1, where its block has 16 bytes");
    reenter("reenter after a refusal, which was one rank's", rt, CHRT_ERR_STATE);
    st = chrt_enter(rt, 1, 1, (const ChrtBuffer[]){{"x", &at_a1, rank < 2 ? NULL : in}, {"y", &split_b, out}});
    demand("enter after an error", st, CHRT_OK, "", "");
    reenter("reenter", rt, CHRT_OK);
    reenter("reenter once more", rt, CHRT_OK);
    st = chrt_arena(rt, rank == 3 ? INT64_MAX : 100, &arena);
    demand("arena", st, CHRT_ERR_MEMORY, chrt_error_message(rt), rank == 3 ? "on this rank" : "on another rank");
    st = chrt_arena(rt, rank * 100, &arena);
    if (st < 0 || (uintptr_t)arena % 64 != 0)
        fail("arena", "must succeed, aligned", chrt_error_message(rt));
    chrt_destroy(rt);
}

/* ---- steps ----------------------------------------------------------------------------------------------------------
 */

static const ChrtStep all_reduce = {CHRT_ALL_REDUCE, "%5", &partial_b, &whole, .over = {AXIS_b}};
static const ChrtStep reduce_scatter = {CHRT_REDUCE_SCATTER, "%6", &partial_b, &split_b, .over = {AXIS_b}};
static const ChrtStep gather = {.op = CHRT_EXCHANGE, "%7", &split_ba, &whole};
static const ChrtStep shift = {CHRT_SHIFT, "%8", &at_a0, &at_a1, .axis = AXIS_a, .source = 0, .target = 1};
static const ChrtStep gather_b = {CHRT_ALL_GATHER, "%9", &split_b, &whole, .over = {AXIS_b}};

static void refused(ChrtCtx *rt, const char *test, const ChrtStep *steps, int32_t n, const ChrtCut *cut,
                    ChrtStatus wanted, const char *text)
{
    ChrtTask *task;
    ChrtStatus st = chrt_prepare(rt, steps, n, cut, &task);
    demand(test, st, wanted, chrt_error_message(rt), text);
    if (task)
        fail(test, "left a task", "");
}

static ChrtTask *prepared(ChrtCtx *rt, const ChrtStep *steps, int32_t n, const ChrtCut *cut)
{
    ChrtTask *task;
    if (chrt_prepare(rt, steps, n, cut, &task) < 0)
        fail("prepare", "must succeed", chrt_error_message(rt));
    return task;
}

static void test_prepare(void)
{
    ChrtCtx *rt = make();
    ChrtStep bad = all_reduce;
    bad.from = &whole;
    refused(rt, "type", &bad, 1, NULL, CHRT_ERR_TYPE, "all_reduce %5: the op does not lead");
    bad = (ChrtStep){CHRT_ALL_GATHER, "%2", &split_ba, &split_b, .over = {AXIS_b}};
    refused(rt, "gather", &bad, 1, NULL, CHRT_ERR_TYPE, "all_gather %2: ");
    bad = (ChrtStep){CHRT_ALL_GATHER, "%2", &split_ba, &whole, .over = {AXIS_b, AXIS_a}};
    refused(rt, "group", &bad, 1, NULL, CHRT_ERR_GROUP, "all_gather %2: its group");
    bad = shift;
    bad.axis = 9;
    refused(rt, "axis", &bad, 1, NULL, CHRT_ERR_TYPE, "shift %8: ");
    bad.axis = -1;
    refused(rt, "axis", &bad, 1, NULL, CHRT_ERR_TYPE, "shift %8: ");
    bad = (ChrtStep){.op = CHRT_EXCHANGE, "%4", &whole, &partial_b};
    refused(rt, "partial", &bad, 1, NULL, CHRT_ERR_TYPE, "exchange %4: ");
    refused(rt, "no steps", &all_reduce, 0, NULL, CHRT_ERR_TYPE, "needs a step");
    refused(rt, "chain", (const ChrtStep[]){all_reduce, gather_b}, 2, NULL, CHRT_ERR_TYPE,
            "all_gather %9: does not begin in the layout where the step before ends");

    refused(rt, "dim", &all_reduce, 1, &(ChrtCut){1, 2}, CHRT_ERR_CUT, "no 2 chunks of dim 1");
    refused(rt, "chunks", &all_reduce, 1, &(ChrtCut){0, 0}, CHRT_ERR_CUT, "no 0 chunks of dim 0");
    bad = (ChrtStep){.op = CHRT_EXCHANGE, "%3", &split_b, &split_a};
    refused(rt, "ends", &bad, 1, &(ChrtCut){0, 2}, CHRT_ERR_CUT, "neither is a prefix of the other");
    prepared(rt, &bad, 1, NULL);
    chrt_destroy(rt);
}

static void test_start(void)
{
    ChrtCtx *rt = make();
    ChrtTask *task = prepared(rt, &all_reduce, 1, NULL), *other = prepared(rt, &shift, 1, NULL);
    ChrtStatus st = chrt_run(task, NULL, out);
    demand("null", st, CHRT_ERR_NULL, chrt_error_message(rt), "all_reduce %5: operand buffer is NULL on rank ");
    st = chrt_start(task, in, NULL);
    demand("null", st, CHRT_ERR_NULL, chrt_error_message(rt), "all_reduce %5: result buffer is NULL on rank ");
    demand("wait without start", chrt_wait(task), CHRT_OK, "", "");
    demand("start", chrt_start(task, in, out), CHRT_OK, "", "");
    st = chrt_start(task, in, out);
    demand("start twice", st, CHRT_ERR_STATE, chrt_error_message(rt), "all_reduce %5: started again");
    demand("another", chrt_start(other, rank < 2 ? in : NULL, rank < 2 ? NULL : other_out), CHRT_OK, "", "");
    chrt_destroy(rt); /* finishes both */
    chrt_destroy(NULL);
}

/* An error inside a task breaks the context; nothing hangs, and what is under way is left alone. */
static void broken_by(bool *arm, const ChrtStep *step, const ChrtCut *cut, const char *text)
{
    ChrtCtx *rt = make();
    ChrtTask *task = prepared(rt, step, 1, cut), *started = prepared(rt, &all_reduce, 1, NULL);
    demand("start", chrt_start(started, in, other_out), CHRT_OK, "", "");
    *arm = true;
    ChrtStatus st = chrt_run(task, in, out);
    *arm = false;
    char first[CHRT_MESSAGE_BYTES], again[CHRT_MESSAGE_BYTES + 32];
    demand(text, st, CHRT_ERR_MPI, chrt_error_message(rt), ": ");
    snprintf(first, sizeof first, "%s", chrt_error_message(rt));
    snprintf(again, sizeof again, "an earlier op failed: %s", first);
    demand(text, chrt_run(task, in, out), CHRT_ERR_MPI, chrt_error_message(rt), again);
    demand(text, chrt_wait(started), CHRT_ERR_MPI, chrt_error_message(rt), again);
    demand(text, chrt_reenter(rt), CHRT_ERR_MPI, chrt_error_message(rt), again);
    demand(text, chrt_enter(rt, 0, 0, NULL), CHRT_ERR_MPI, chrt_error_message(rt), again);
    if (strcmp(chrt_error_message(rt), again) != 0)
        fail(text, "says it twice", chrt_error_message(rt));
    chrt_destroy(rt);
}

/* A direct exchange by itself is waited for at once. */
static void broken_at_once(bool *arm, const char *text)
{
    ChrtCtx *rt = make();
    ChrtTask *task = prepared(rt, &gather, 1, NULL);
    demand("at once", chrt_run(task, in, out), CHRT_OK, "", "");
    *arm = true;
    ChrtStatus st = chrt_run(task, in, out);
    *arm = false;
    demand(text, st, CHRT_ERR_MPI, chrt_error_message(rt), text);
    demand(text, chrt_run(task, in, out), CHRT_ERR_MPI, chrt_error_message(rt), "an earlier op failed: ");
    chrt_destroy(rt);
}

static void test_injected(void)
{
    broken_by(&armed.irecv, &reduce_scatter, NULL, "irecv");
    broken_by(&armed.isend, &reduce_scatter, &(ChrtCut){0, 2}, "isend");
    broken_by(&armed.waitany, &gather, NULL, "waitany");
    broken_by(&armed.waitany, &gather_b, &(ChrtCut){0, 3}, "waitany");
    broken_at_once(&armed.waitall, "exchange %7: ");
    broken_at_once(&armed.waitall_at_all, "progress");

    ChrtCtx *rt = make();
    ChrtTask *task = prepared(rt, &shift, 1, NULL);
    armed.isend = true;
    ChrtStatus st = chrt_run(task, in, out);
    armed.isend = false;
    if (rank < 2)
        demand("shift", st, CHRT_ERR_MPI, chrt_error_message(rt), "shift %8: ");
    else
        demand("shift", st, CHRT_OK, "", "");
    st = chrt_enter(rt, 0, 0, NULL);
    demand("enter when one is broken", st, CHRT_ERR_MPI, chrt_error_message(rt),
           rank < 2 ? "an earlier op failed: shift %8" : "an earlier op failed on another rank");
    demand("run when another is broken", chrt_run(task, in, out), CHRT_ERR_MPI, chrt_error_message(rt),
           "an earlier op");
    chrt_destroy(rt);
}

/* With the library's collectives: communicators, and errors out of the collectives. */
static void test_library(void)
{
    ChrtCtx *rt;
    char message[CHRT_MESSAGE_BYTES] = "";
    setenv("CHRT_COLLECTIVES", rank == 1 ? "own" : "library", 1);
    ChrtStatus st = chrt_create(MPI_COMM_WORLD, &mesh, groups, 2, 1, "errors", &rt, message);
    demand("other collectives", st, CHRT_ERR_SCHEDULE, message, "not the same schedule");
    setenv("CHRT_COLLECTIVES", "library", 1);
    armed.split = rank == 1;
    st = chrt_create(MPI_COMM_WORLD, &mesh, groups, 2, 1, "errors", &rt, message);
    demand("split", st, CHRT_ERR_MPI, message, rank == 1 ? "MPI_Comm_split: " : "on another rank");
    armed.split = false;

    rt = make();
    ChrtTask *sum = prepared(rt, &all_reduce, 1, NULL), *scatter = prepared(rt, &reduce_scatter, 1, NULL);
    demand("library", chrt_run(sum, in, out), CHRT_OK, "", "");
    armed.reduce_scatter = true;
    st = chrt_run(scatter, in, out);
    armed.reduce_scatter = false;
    demand("reduce_scatter", st, CHRT_ERR_MPI, chrt_error_message(rt), "reduce_scatter %6: ");
    demand("broken", chrt_run(sum, in, out), CHRT_ERR_MPI, chrt_error_message(rt),
           "an earlier op failed: reduce_scatter %6: ");
    chrt_destroy(rt);

    rt = make();
    sum = prepared(rt, &all_reduce, 1, NULL);
    armed.allreduce = true;
    st = chrt_run(sum, in, out);
    armed.allreduce = false;
    demand("all_reduce", st, CHRT_ERR_MPI, chrt_error_message(rt), "all_reduce %5: ");
    chrt_destroy(rt);
    unsetenv("CHRT_COLLECTIVES");
}

/* ---- the driver ends what one rank cannot go on with
 * ------------------------------------------------------------------ */

typedef struct Plan {
    ChrtCtx *rt;
    ChrtTask *task;
    const void *in; /* of the last run */
    void *out;
} Plan;

static int create(MPI_Comm comm, void **plan, char *message)
{
    Plan *p = calloc(1, sizeof *p);
    if (!p)
        return CHRT_ERR_MEMORY;
    *plan = p;
    ChrtStatus st = chrt_create(comm, &mesh, groups, 2, 1, "errors", &p->rt, message);
    if (st == CHRT_OK)
        st = chrt_prepare(p->rt, &all_reduce, 1, NULL, &p->task);
    return st;
}

static const char *message_of(void *plan)
{
    return chrt_error_message(((Plan *)plan)->rt);
}

static int enter(void *plan, const void *const *inputs, void *const *outputs)
{
    Plan *p = plan;
    p->in = inputs[0];
    p->out = outputs[0];
    return chrt_enter(p->rt, 1, 0, (const ChrtBuffer[]){{"x", &partial_b, inputs[0]}});
}

static int rerun(void *plan)
{
    Plan *p = plan;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    armed.isend = rank == 2;
    return chrt_run(p->task, p->in, p->out);
}

static void destroy(void *plan)
{
    Plan *p = plan;
    chrt_destroy(p->rt);
    free(p);
}

static int test_abort(int argc, char **argv)
{
    static const ChrtDriverInput inputs[] = {{"x", &partial_b, 0}};
    static const ChrtDriverOutput outputs[] = {{"y", &whole, 0}};
    ChrtDriver driver = {.plan = "errors", .mesh = &mesh, .ninputs = 1, .noutputs = 1};
    driver.inputs = inputs;
    driver.outputs = outputs;
    driver.baseline = driver.optimized = (ChrtDriverSchedule){create, enter, rerun, destroy, message_of, 0, 0};
    return chrt_driver_main(argc, argv, &driver);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "abort"))
        return test_abort(1, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    test_create();
    test_no_comm();
    test_enter();
    test_overlap();
    test_prepare();
    test_start();
    test_injected();
    test_library();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("test_errors: ok\n");
    MPI_Finalize();
    return 0;
}
