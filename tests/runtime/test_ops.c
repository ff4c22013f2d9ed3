/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ops.c - every op on random meshes, layouts, sizes and dtypes, compared bit for bit with what the logical tensor
 * says.
 *
 *   mpirun -n P test_ops [first seed] [cases]
 */
#include "values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOPS = CHRT_COPY + 1 };

static const char *const op_name[NOPS] = {
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "slice",           "shift",
    "broadcast",  "reduce",         "drop",       "exchange",   "reduce_exchange", "copy",
};

/* One random op. */
typedef struct Case {
    uint64_t seed;
    ChrtOp kind;
    ChrtMesh mesh;
    ChrtType from, to;
    ChrtAxes over;    /* of the op, in its order */
    ChrtAxes settled; /* partial axes that the op settles, in member order */
    int32_t dim, to_dim;
    int32_t axis, source, target;
    bool rough; /* 16-bit floats: values whose sums are not exact */
} Case;

/* ---- a random case --------------------------------------------------------------------------------------------------
 */

/* The target of an exchange: partial axes stay or, if settling, may go. */
static void random_target(uint64_t *r, Case *c)
{
    ChrtAxes order;
    c->to = (ChrtType){.dtype = c->from.dtype, .ndims = c->from.ndims};
    memcpy(c->to.size, c->from.size, sizeof c->to.size);
    bool settles = c->kind == CHRT_REDUCE_EXCHANGE;
    shuffle(r, &c->mesh, order);
    int32_t must = c->from.partial[0]; /* the first partial axis goes always, so that the subset is proper */
    for (const uint8_t *a = order; *a; a++) {
        bool was = contains(c->from.partial, *a);
        if (was && (!settles || (*a != must && draw(r, 2))))
            append(c->to.partial, *a);
        else
            random_state(r, &c->mesh, &c->to, *a, false);
    }
    for (int32_t a = 1; a <= c->mesh.naxes; a++)
        if (contains(c->from.partial, a) && !contains(c->to.partial, a))
            append(c->settled, a);
}

static Case random_case(uint64_t seed, int32_t ranks)
{
    uint64_t state = mix(seed), *r = &state;
    Case c = {.seed = seed, .kind = (ChrtOp)draw(r, NOPS)};
    c.mesh = random_mesh(r, ranks);
    c.from.dtype = (ChrtDtype)draw(r, CHRT_U8 + 1);
    c.from.ndims = c.kind == CHRT_ALL_TO_ALL ? 2 + draw(r, MAX_DIMS - 1) : 1 + draw(r, MAX_DIMS);
    for (int32_t d = 0; d < c.from.ndims; d++)
        c.from.size[d] = draw(r, 12) ? 1 + draw(r, 11) : 0;
    c.rough = (c.from.dtype == CHRT_F16 || c.from.dtype == CHRT_BF16) && draw(r, 2);

    /* The op's own axes first, then the others; the split that must end in the op's axes gets the others before. */
    ChrtAxes order;
    shuffle(r, &c.mesh, order);
    bool single = c.kind == CHRT_SHIFT || c.kind == CHRT_BROADCAST || c.kind == CHRT_REDUCE || c.kind == CHRT_DROP;
    int32_t n = single ? 1 : 1 + draw(r, c.mesh.naxes);
    memcpy(c.over, order, (size_t)n);
    for (const uint8_t *a = order + n; *a && c.kind != CHRT_EXCHANGE && c.kind != CHRT_REDUCE_EXCHANGE; a++)
        random_state(r, &c.mesh, &c.from, *a, true);
    c.dim = draw(r, c.from.ndims);
    c.to_dim = c.from.ndims > 1 ? (c.dim + 1 + draw(r, c.from.ndims - 1)) % c.from.ndims : c.dim;
    c.axis = c.over[0];
    c.source = draw(r, c.mesh.axis[c.axis - 1].size);
    c.target = draw(r, c.mesh.axis[c.axis - 1].size);

    switch (c.kind) {
    case CHRT_ALL_REDUCE:
    case CHRT_REDUCE_SCATTER:
        for (const uint8_t *a = c.over; *a; a++)
            append(c.from.partial, *a);
        memcpy(c.settled, c.over, sizeof c.settled);
        break;
    case CHRT_REDUCE:
        append(c.from.partial, c.axis);
        append(c.settled, c.axis);
        break;
    case CHRT_ALL_GATHER:
    case CHRT_ALL_TO_ALL:
        for (const uint8_t *a = c.over; *a; a++)
            append(c.from.split[c.dim], *a);
        break;
    case CHRT_SHIFT:
    case CHRT_BROADCAST:
        append_pin(&c.from, c.axis, c.source);
        break;
    case CHRT_EXCHANGE:
    case CHRT_REDUCE_EXCHANGE:
        if (c.kind == CHRT_REDUCE_EXCHANGE)
            append(c.from.partial, order[0]);
        for (const uint8_t *a = order + (c.kind == CHRT_REDUCE_EXCHANGE); *a; a++)
            random_state(r, &c.mesh, &c.from, *a, true);
        random_target(r, &c);
        return c;
    case CHRT_SLICE:
    case CHRT_DROP:
    case CHRT_COPY:
        break;
    }

    c.to = c.from;
    take_out(c.to.partial, c.settled);
    if (c.kind == CHRT_ALL_GATHER || c.kind == CHRT_ALL_TO_ALL)
        take_out(c.to.split[c.dim], c.over);
    if (c.kind == CHRT_REDUCE_SCATTER || c.kind == CHRT_SLICE || c.kind == CHRT_ALL_TO_ALL)
        for (const uint8_t *a = c.over; *a; a++)
            append(c.to.split[c.kind == CHRT_ALL_TO_ALL ? c.to_dim : c.dim], *a);
    if (c.kind == CHRT_SHIFT || c.kind == CHRT_BROADCAST)
        remove_pin(&c.to, c.axis);
    if (c.kind == CHRT_SHIFT || c.kind == CHRT_REDUCE || c.kind == CHRT_DROP)
        append_pin(&c.to, c.axis, c.target);
    return c;
}

/* ---- running --------------------------------------------------------------------------------------------------------
 */

static void stop(const Case *c, int32_t rank, const char *what)
{
    fprintf(stderr, "seed %" PRIu64 " (%s, dtype %d%s) rank %" PRId32 ": %s\n", c->seed, op_name[c->kind],
            (int)c->from.dtype, c->rough ? " rough" : "", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Prepared once, run three times: twice in one go, once started and waited for. */
static void run_task(const Case *c, int32_t rank, ChrtCtx *rt, const void *in, void *out, const void *expected,
                     size_t out_bytes)
{
    ChrtStep step = {c->kind, "%1", &c->from, &c->to, .dim = c->dim, .to_dim = c->to_dim};
    memcpy(step.over, c->over, sizeof step.over);
    step.axis = c->axis;
    step.source = c->source;
    step.target = c->target;
    ChrtTask *task;
    ChrtStatus status = chrt_prepare(rt, &step, 1, NULL, &task);
    for (int run = 0; run < 3 && status == CHRT_OK; run++) {
        if (out_bytes)
            memset(out, 0xA5, out_bytes);
        status = chrt_enter(rt, 1, 1, (const ChrtBuffer[]){{"in", &c->from, in}, {"out", &c->to, out}});
        if (status == CHRT_OK && run < 2)
            status = chrt_run(task, in, out);
        if (status == CHRT_OK && run == 2)
            status = chrt_start(task, in, out);
        if (status == CHRT_OK && run == 2)
            status = chrt_wait(task);
        if (status == CHRT_OK && out_bytes && memcmp(out, expected, out_bytes) != 0)
            stop(c, rank, "wrong result");
    }
    if (status < 0)
        stop(c, rank, chrt_error_message(rt));
}

static void run_case(const Case *c, int32_t rank)
{
    size_t in_bytes, out_bytes;
    static const ChrtAxes none;
    Value value = {c->seed, &c->mesh, c->from, c->rough};
    unsigned char *in = local_buffer(&value, &c->from, none, rank, &in_bytes);
    unsigned char *expected = local_buffer(&value, &c->to, c->settled, rank, &out_bytes);
    unsigned char *before = in_bytes ? malloc(in_bytes) : NULL;
    unsigned char *out = out_bytes ? malloc(out_bytes) : NULL;
    if ((in_bytes && !before) || (out_bytes && !out))
        stop(c, rank, "out of memory");
    if (in_bytes)
        memcpy(before, in, in_bytes);
    if ((int64_t)in_bytes != chrt_local_bytes(&c->mesh, &c->from, rank) ||
        (int64_t)out_bytes != chrt_local_bytes(&c->mesh, &c->to, rank))
        stop(c, rank, "chrt_local_bytes differs");

    ChrtCtx *rt;
    char message[CHRT_MESSAGE_BYTES];
    ChrtStatus status =
        chrt_create(MPI_COMM_WORLD, &c->mesh, (const ChrtAxes *)&c->over, 1, c->seed, "test", &rt, message);
    if (status < 0)
        stop(c, rank, message);
    run_task(c, rank, rt, in, out, expected, out_bytes);
    if (in_bytes && memcmp(in, before, in_bytes) != 0)
        stop(c, rank, "the operand was written to");
    chrt_destroy(rt);
    free(in);
    free(before);
    free(out);
    free(expected);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, cases = argc > 2 ? strtoull(argv[2], NULL, 0) : 400;
    for (uint64_t seed = first; seed < first + cases; seed++) {
        Case c = random_case(seed, ranks);
        run_case(&c, rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("test_ops: ok\n");
    MPI_Finalize();
    return 0;
}
