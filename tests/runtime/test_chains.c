/* SPDX-License-Identifier: Apache-2.0
 *
 * test_chains.c - random chains of 1 to 4 steps, cut into 1 to 8 chunks along a random dim, in even and uneven sizes,
 * compared bit for bit with what the logical tensor says; several tasks under way at a time, waited for in another
 * order on every rank. Where the ends do not allow the cut, prepare must say so.
 *
 *   mpirun -n P test_chains [first seed] [cases]
 */
#include "values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 4, TASKS = 3 };

typedef struct Chain {
    uint64_t seed;
    ChrtMesh mesh;
    int32_t n;
    ChrtType type[MAX_STEPS + 1];
    ChrtStep step[MAX_STEPS];
    ChrtAxes group[MAX_STEPS];
    ChrtAxes settled;
    ChrtCut cut[TASKS];
} Chain;

/* ---- a random step -------------------------------------------------------------------------------------------------
 */

/* Some of the axes of a list, at least one, in a random order. */
static void some(uint64_t *r, const ChrtMesh *mesh, const uint8_t *from, uint8_t *to)
{
    ChrtAxes order;
    shuffle(r, mesh, order);
    memset(to, 0, sizeof(ChrtAxes));
    for (const uint8_t *a = order; *a; a++)
        if (contains(from, *a) && (!to[0] || draw(r, 2)))
            append(to, *a);
}

static void replicated(const ChrtMesh *mesh, const ChrtType *type, uint8_t *axes)
{
    memset(axes, 0, sizeof(ChrtAxes));
    for (int32_t a = 1; a <= mesh->naxes; a++) {
        bool used = contains(type->partial, a);
        for (int32_t d = 0; d < type->ndims; d++)
            used = used || contains(type->split[d], a);
        for (const ChrtPin *pin = type->at; pin->axis; pin++)
            used = used || pin->axis == a;
        if (!used)
            append(axes, a);
    }
}

static bool make_exchange(uint64_t *r, Chain *c, const ChrtType *from, ChrtType *to, bool settles)
{
    ChrtAxes order;
    if (settles && !from->partial[0])
        return false;
    *to = (ChrtType){.dtype = from->dtype, .ndims = from->ndims};
    memcpy(to->size, from->size, sizeof to->size);
    shuffle(r, &c->mesh, order);
    for (const uint8_t *a = order; *a; a++) {
        bool was = contains(from->partial, *a);
        if (was && (!settles || (*a != from->partial[0] && draw(r, 2))))
            append(to->partial, *a);
        else
            random_state(r, &c->mesh, to, *a, false);
        if (was && !contains(to->partial, *a))
            append(c->settled, *a);
    }
    return true;
}

/* The next step of the chain; false when the op drawn does not apply to the layout. */
static bool make_step(uint64_t *r, Chain *c)
{
    const ChrtType *from = &c->type[c->n];
    ChrtType *to = &c->type[c->n + 1];
    ChrtStep *s = &c->step[c->n];
    ChrtAxes free_axes;
    *s = (ChrtStep){.op = (ChrtOp)draw(r, CHRT_COPY + 1), .name = "%1"};
    s->dim = draw(r, from->ndims);
    s->to_dim = from->ndims > 1 ? (s->dim + 1 + draw(r, from->ndims - 1)) % from->ndims : s->dim;
    int32_t pins = 0, have = (int32_t)strlen((const char *)from->split[s->dim]);
    while (from->at[pins].axis)
        pins++;
    replicated(&c->mesh, from, free_axes);
    *to = *from;
    switch (s->op) {
    case CHRT_ALL_REDUCE:
    case CHRT_REDUCE_SCATTER:
        some(r, &c->mesh, from->partial, s->over);
        break;
    case CHRT_REDUCE:
        some(r, &c->mesh, from->partial, s->over);
        s->over[1] = 0;
        break;
    case CHRT_ALL_GATHER:
    case CHRT_ALL_TO_ALL:
        if (have == 0 || (s->op == CHRT_ALL_TO_ALL && s->dim == s->to_dim))
            return false;
        strcpy((char *)s->over, (const char *)from->split[s->dim] + draw(r, have));
        break;
    case CHRT_SLICE:
        some(r, &c->mesh, free_axes, s->over);
        break;
    case CHRT_DROP:
        some(r, &c->mesh, free_axes, s->over);
        s->over[1] = 0;
        break;
    case CHRT_SHIFT:
    case CHRT_BROADCAST:
        if (pins == 0)
            return false;
        s->over[0] = from->at[pins - 1].axis;
        s->source = from->at[pins - 1].at;
        break;
    case CHRT_EXCHANGE:
    case CHRT_REDUCE_EXCHANGE:
        return make_exchange(r, c, from, to, s->op == CHRT_REDUCE_EXCHANGE);
    case CHRT_COPY:
        return true;
    }
    if (!s->over[0])
        return false;
    s->axis = s->over[0];
    s->target = draw(r, c->mesh.axis[s->axis - 1].size);
    if (s->op == CHRT_ALL_REDUCE || s->op == CHRT_REDUCE_SCATTER || s->op == CHRT_REDUCE)
        for (const uint8_t *a = s->over; *a; a++)
            append(c->settled, *a);
    take_out(to->partial, s->over);
    if (s->op == CHRT_ALL_GATHER || s->op == CHRT_ALL_TO_ALL)
        take_out(to->split[s->dim], s->over);
    if (s->op == CHRT_REDUCE_SCATTER || s->op == CHRT_SLICE || s->op == CHRT_ALL_TO_ALL)
        for (const uint8_t *a = s->over; *a; a++)
            append(to->split[s->op == CHRT_ALL_TO_ALL ? s->to_dim : s->dim], *a);
    if (s->op == CHRT_SHIFT || s->op == CHRT_BROADCAST)
        remove_pin(to, s->axis);
    if (s->op == CHRT_SHIFT || s->op == CHRT_REDUCE || s->op == CHRT_DROP)
        append_pin(to, s->axis, s->target);
    if (s->op != CHRT_SLICE && s->op != CHRT_DROP)
        memcpy(c->group[c->n], s->over, sizeof s->over);
    return true;
}

/* ---- a random chain ------------------------------------------------------------------------------------------------
 */

static void make_chain(Chain *c, uint64_t seed, int32_t ranks)
{
    uint64_t state = mix(seed), *r = &state;
    ChrtAxes order;
    memset(c, 0, sizeof *c);
    c->seed = seed;
    c->mesh = random_mesh(r, ranks);
    ChrtType *first = &c->type[0];
    first->dtype = (ChrtDtype)draw(r, CHRT_U8 + 1);
    first->ndims = 1 + draw(r, MAX_DIMS - 1);
    bool even = draw(r, 3) == 0;
    for (int32_t d = 0; d < first->ndims; d++)
        first->size[d] = even ? 16 : draw(r, 16) ? 1 + draw(r, 21) : 0;
    shuffle(r, &c->mesh, order);
    for (const uint8_t *a = order; *a; a++)
        random_state(r, &c->mesh, first, *a, true);
    int32_t steps = 1 + draw(r, MAX_STEPS);
    while (c->n < steps) {
        memset(c->group[c->n], 0, sizeof c->group[c->n]);
        c->n += make_step(r, c);
    }
    for (int32_t k = 0; k < c->n; k++) {
        c->step[k].from = &c->type[k];
        c->step[k].to = &c->type[k + 1];
    }
    for (int32_t t = 0; t < TASKS; t++)
        c->cut[t] = (ChrtCut){draw(r, first->ndims), 1 + draw(r, 8)};
}

/* Whether one end's split of the dim is a prefix of the other's, axes of size 1 left out. */
static bool can_cut(const Chain *c, int32_t dim)
{
    ChrtAxes split[2] = {{0}};
    for (int e = 0; e < 2; e++)
        for (const uint8_t *a = c->type[e ? c->n : 0].split[dim]; *a; a++)
            if (c->mesh.axis[*a - 1].size > 1)
                append(split[e], *a);
    for (int32_t i = 0; split[0][i] && split[1][i]; i++)
        if (split[0][i] != split[1][i])
            return false;
    return true;
}

/* ---- running -------------------------------------------------------------------------------------------------------
 */

static void stop(const Chain *c, int32_t rank, const char *what)
{
    fprintf(stderr, "seed %" PRIu64 " (%d steps, chunks %d %d %d, dtype %d) rank %" PRId32 ": %s\n", c->seed, (int)c->n,
            (int)c->cut[0].chunks, (int)c->cut[1].chunks, (int)c->cut[2].chunks, (int)c->type[0].dtype, rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void prepare(const Chain *c, ChrtCtx *rt, int32_t rank, ChrtTask **task)
{
    for (int32_t t = 0; t < TASKS; t++) {
        const ChrtCut *cut = &c->cut[t];
        ChrtStatus status = chrt_prepare(rt, c->step, c->n, cut, &task[t]);
        if (status == CHRT_ERR_CUT && cut->chunks > 1 && !can_cut(c, cut->dim))
            status = chrt_prepare(rt, c->step, c->n, NULL, &task[t]);
        else if (cut->chunks > 1 && !can_cut(c, cut->dim))
            stop(c, rank, "prepared a cut that the ends do not allow");
        if (status < 0)
            stop(c, rank, chrt_error_message(rt));
    }
}

/* Three rounds: one task at a time; all started, then waited for in an order of this rank; one run among started ones.
 */
static void run_tasks(const Chain *c, ChrtCtx *rt, int32_t rank, ChrtTask *const *task, const void *in, void **out,
                      const void *expected, size_t out_bytes)
{
    uint64_t mine = mix(c->seed + (uint64_t)rank * 7919);
    for (int round = 0; round < 3; round++) {
        ChrtStatus status = CHRT_OK;
        int32_t shift = draw(&mine, TASKS);
        for (int32_t t = 0; t < TASKS && out_bytes; t++)
            memset(out[t], 0xA5, out_bytes);
        for (int32_t t = 0; t < TASKS && status == CHRT_OK; t++)
            status =
                round == 0 || (round == 2 && t == 1) ? chrt_run(task[t], in, out[t]) : chrt_start(task[t], in, out[t]);
        for (int32_t t = 0; t < TASKS && status == CHRT_OK; t++)
            status = chrt_wait(task[(t + shift) % TASKS]);
        if (status < 0)
            stop(c, rank, chrt_error_message(rt));
        for (int32_t t = 0; t < TASKS && out_bytes; t++)
            if (memcmp(out[t], expected, out_bytes) != 0)
                stop(c, rank, "wrong result");
    }
}

static void run_chain(const Chain *c, int32_t rank)
{
    static const ChrtAxes none;
    size_t in_bytes, out_bytes;
    Value value = {c->seed, &c->mesh, c->type[0], false};
    unsigned char *in = local_buffer(&value, &c->type[0], none, rank, &in_bytes);
    unsigned char *expected = local_buffer(&value, &c->type[c->n], c->settled, rank, &out_bytes);
    void *out[TASKS];
    for (int32_t t = 0; t < TASKS; t++)
        if (!(out[t] = malloc(out_bytes + 1)))
            stop(c, rank, "out of memory");
    ChrtCtx *rt;
    ChrtTask *task[TASKS];
    char message[CHRT_MESSAGE_BYTES];
    if (chrt_create(MPI_COMM_WORLD, &c->mesh, c->group, c->n, c->seed, "chains", &rt, message) < 0)
        stop(c, rank, message);
    prepare(c, rt, rank, task);
    run_tasks(c, rt, rank, task, in, out, expected, out_bytes);
    chrt_destroy(rt);
    for (int32_t t = 0; t < TASKS; t++)
        free(out[t]);
    free(in);
    free(expected);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, cases = argc > 2 ? strtoull(argv[2], NULL, 0) : 300;
    for (uint64_t seed = first; seed < first + cases; seed++) {
        Chain c; /* types point into it */
        make_chain(&c, seed, ranks);
        run_chain(&c, rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("test_chains: ok\n");
    MPI_Finalize();
    return 0;
}
