/* SPDX-License-Identifier: Apache-2.0
 *
 * test_errors.c - whatever goes wrong ends in a status and a message, on every rank, and nothing hangs.
 *
 *   mpirun -n 4 test_errors          all cases that every rank returns from
 *   mpirun -n 4 test_errors abort    an MPI error on one rank inside an op, under the driver: must end with status 1
 *
 * MPI errors are injected through the profiling interface.
 */
#include "chrt_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- injected errors ------------------------------------------------------------------------------------------------
 */

static struct {
    bool allreduce, isend, waitall, split, reduce_scatter;
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

int MPI_Isend(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = PMPI_Isend(at, count, type, peer, tag, comm, request);
    return armed.isend ? MPI_ERR_RANK : rc;
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    int rc = PMPI_Waitall(n, requests, statuses);
    if (!armed.waitall)
        return rc;
    for (int i = 0; i < n; i++)
        statuses[i].MPI_ERROR = i + 1 < n ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    return MPI_ERR_IN_STATUS;
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
static float in[8], out[8];

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
    demand("schedule", st, CHRT_ERR_SCHEDULE, message, "not the same schedule on every rank");
    st = chrt_create(MPI_COMM_WORLD, rank == 1 ? &flat : &mesh, groups, rank == 1 ? 1 : 2, 1, "errors", &rt, message);
    demand("mesh", st, CHRT_ERR_SCHEDULE, message, "not the same schedule");
    st = chrt_create(MPI_COMM_WORLD, rank == 3 ? &small : &mesh, groups, 1, 1, "errors", &rt, message);
    demand("mesh of another size", st, CHRT_ERR_SCHEDULE, message, "not the same schedule");
    st = chrt_create(MPI_COMM_WORLD, &mesh, rank == 0 ? swapped : groups, 2, 1, "errors", &rt, message);
    demand("groups", st, CHRT_ERR_SCHEDULE, message, "not the same schedule");
    st = chrt_create(MPI_COMM_WORLD, &flat, groups, 2, 1, "errors", &rt, message);
    demand("axis", st, CHRT_ERR_GROUP, message, "an axis that the mesh lacks");
    armed.split = rank == 1;
    st = chrt_create(MPI_COMM_WORLD, &mesh, groups, 2, 1, "errors", &rt, message);
    demand("split", st, CHRT_ERR_MPI, message, rank == 1 ? "MPI_Comm_split: " : "on another rank");
    armed.split = false;
}

static void test_enter(void)
{
    ChrtCtx *rt = make();
    unsigned char *arena;
    ChrtStatus st = chrt_enter(rt, 2, (const ChrtBuffer[]){{"x", &whole, in}, {"y", &split_b, rank == 1 ? NULL : out}});
    demand("enter", st, CHRT_ERR_NULL, chrt_error_message(rt),
           "buffer 'y' is NULL on rank 1, where its block has 16 bytes");
    st = chrt_enter(rt, 2, (const ChrtBuffer[]){{"x", &at_a1, rank < 2 ? NULL : in}, {"y", &split_b, out}});
    demand("enter after an error", st, CHRT_OK, "", "");
    st = chrt_arena(rt, rank == 3 ? INT64_MAX : 100, &arena);
    demand("arena", st, CHRT_ERR_MEMORY, chrt_error_message(rt), rank == 3 ? "on this rank" : "on another rank");
    st = chrt_arena(rt, rank * 100, &arena);
    if (st < 0 || (uintptr_t)arena % 64 != 0)
        fail("arena", "must succeed, aligned", chrt_error_message(rt));
    chrt_destroy(rt);
}

static void test_op(void)
{
    ChrtCtx *rt = make();
    ChrtStatus st = chrt_all_reduce(rt, "%1", &partial_b, NULL, &whole, out, CHRT_AXES(AXIS_b));
    demand("null", st, CHRT_ERR_NULL, chrt_error_message(rt), "all_reduce %1: operand buffer is NULL");
    st = chrt_all_reduce(rt, "%1", &partial_b, in, &whole, NULL, CHRT_AXES(AXIS_b));
    demand("null", st, CHRT_ERR_NULL, chrt_error_message(rt), "all_reduce %1: result buffer is NULL");
    st = chrt_all_reduce(rt, "%1", &whole, in, &whole, out, CHRT_AXES(AXIS_b));
    demand("type", st, CHRT_ERR_TYPE, chrt_error_message(rt), "all_reduce %1: ");
    st = chrt_all_gather(rt, "%2", &split_ba, in, &split_b, out, CHRT_AXES(AXIS_b), 0);
    demand("gather", st, CHRT_ERR_TYPE, chrt_error_message(rt), "all_gather %2: ");
    st = chrt_all_gather(rt, "%2", &split_ba, in, &whole, out, CHRT_AXES(AXIS_b, AXIS_a), 0);
    demand("group", st, CHRT_ERR_GROUP, chrt_error_message(rt), "all_gather %2: its group");
    st = chrt_shift(rt, "%3", &at_a0, in, &at_a1, out, 9, 0, 1);
    demand("axis", st, CHRT_ERR_TYPE, chrt_error_message(rt), "shift %3: ");
    st = chrt_exchange(rt, "%4", &whole, in, &partial_b, out);
    demand("partial", st, CHRT_ERR_TYPE, chrt_error_message(rt), "exchange %4: ");
    chrt_destroy(rt);
}

static void test_injected(void)
{
    ChrtCtx *rt = make();
    armed.allreduce = true;
    ChrtStatus st = chrt_all_reduce(rt, "%5", &partial_b, in, &whole, out, CHRT_AXES(AXIS_b));
    armed.allreduce = false;
    demand("all_reduce", st, CHRT_ERR_MPI, chrt_error_message(rt), "all_reduce %5: ");
    st = chrt_all_reduce(rt, "%5", &partial_b, in, &whole, out, CHRT_AXES(AXIS_b));
    demand("broken", st, CHRT_ERR_MPI, chrt_error_message(rt), "all_reduce %5: ");
    chrt_destroy(rt);

    rt = make();
    armed.reduce_scatter = true;
    st = chrt_reduce_scatter(rt, "%6", &partial_b, in, &split_b, out, CHRT_AXES(AXIS_b), 0);
    armed.reduce_scatter = false;
    demand("reduce_scatter", st, CHRT_ERR_MPI, chrt_error_message(rt), "reduce_scatter %6: ");
    chrt_destroy(rt);

    rt = make();
    armed.waitall = true;
    st = chrt_exchange(rt, "%7", &split_ba, in, &whole, out);
    armed.waitall = false;
    demand("exchange", st, CHRT_ERR_MPI, chrt_error_message(rt), "exchange %7: ");
    st = chrt_enter(rt, 0, NULL);
    demand("enter when broken", st, CHRT_ERR_MPI, chrt_error_message(rt), "exchange %7: ");
    chrt_destroy(rt);

    rt = make();
    armed.isend = true;
    st = chrt_shift(rt, "%8", &at_a0, in, &at_a1, out, AXIS_a, 0, 1);
    armed.isend = false;
    if (rank < 2)
        demand("shift", st, CHRT_ERR_MPI, chrt_error_message(rt), "shift %8: ");
    else
        demand("shift", st, CHRT_OK, "", "");
    st = chrt_enter(rt, 0, NULL);
    demand("enter when one is broken", st, CHRT_ERR_MPI, chrt_error_message(rt),
           rank < 2 ? "shift %8" : "another rank");
    chrt_destroy(rt);
}

/* ---- the driver ends what one rank cannot go on with
 * ------------------------------------------------------------------ */

static int create(MPI_Comm comm, void **plan, char *message)
{
    ChrtCtx *rt;
    ChrtStatus st = chrt_create(comm, &mesh, groups, 2, 1, "errors", &rt, message);
    *plan = rt;
    return st;
}

static int run(void *plan, const void *const *inputs, void *const *outputs)
{
    ChrtStatus st = chrt_enter(plan, 1, (const ChrtBuffer[]){{"x", &partial_b, inputs[0]}});
    if (st < 0)
        return st;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    armed.allreduce = rank == 2;
    return chrt_all_reduce(plan, "%9", &partial_b, inputs[0], &whole, outputs[0], CHRT_AXES(AXIS_b));
}

static void destroy(void *plan)
{
    chrt_destroy(plan);
}

static const char *message_of(void *plan)
{
    return chrt_error_message(plan);
}

static int test_abort(int argc, char **argv)
{
    static const ChrtDriverInput inputs[] = {{"x", &partial_b, 0}};
    static const ChrtDriverOutput outputs[] = {{"y", &whole, 0}};
    ChrtDriver driver = {.plan = "errors", .mesh = &mesh, .ninputs = 1, .noutputs = 1};
    driver.inputs = inputs;
    driver.outputs = outputs;
    driver.baseline = driver.optimized = (ChrtDriverSchedule){create, run, destroy, message_of, 0, 0};
    return chrt_driver_main(argc, argv, &driver);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "abort"))
        return test_abort(1, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    test_create();
    test_enter();
    test_op();
    test_injected();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("test_errors: ok\n");
    MPI_Finalize();
    return 0;
}
