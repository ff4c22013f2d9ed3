/* SPDX-License-Identifier: Apache-2.0
 *
 * forms_hand.c - what a careful engineer writes with MPI for the schedules of overhead.py, beside the emitted C: the
 * same operations in the same order. Every rank's messages are nonblocking and received where they are used; strided
 * pieces go by derived types; memory is allocated once. With CHRT_COLLECTIVES=library in the environment MPI's own
 * collectives take the place of the rings.
 *
 * The plan's name says which: NAME or NAME_written of a pair. Four forms: the emitted one, run again and again on the
 * same buffers; the one by hand; and both behind a small all_reduce, which is how an emitted run begins that checks its
 * buffers (chrt_enter).
 */
#include "forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Hand {
    MPI_Comm world, group; /* the group: of the last axis */
    int rank;
    int g, me;            /* of the group */
    int64_t whole;        /* elements of the tensor */
    float *slot[2];       /* a block each */
    float *middle;        /* between two ops */
    MPI_Request *request; /* one a member, as the next */
    MPI_Status *status;
    MPI_Datatype strided;
    bool library;
    const float *in; /* of the last run */
    float *out;
} Hand;

static ChrtDriver driver; /* of the emitted unit */

/* ---- collectives over the group ------------------------------------------------------------------------------------
 */

static int around(const Hand *h, int m)
{
    return (m % h->g + h->g) % h->g;
}

static void add(float *restrict into, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        into[i] += from[i];
}

static void reduce_scatter(const Hand *h, const float *in, float *out)
{
    int64_t block = h->whole / h->g;
    if (h->library) {
        MPI_Reduce_scatter_block(in, out, (int)block, MPI_FLOAT, MPI_SUM, h->group);
        return;
    }
    int next = around(h, h->me + 1), previous = around(h, h->me - 1);
    const float *going = in + around(h, h->me - 1) * block;
    for (int r = 0; r < h->g - 1; r++) {
        float *coming = r == h->g - 2 ? out : h->slot[r % 2];
        MPI_Request request[2];
        MPI_Irecv(coming, (int)block, MPI_FLOAT, previous, 1, h->group, &request[0]);
        MPI_Isend(going, (int)block, MPI_FLOAT, next, 1, h->group, &request[1]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        add(coming, in + around(h, h->me - 2 - r) * block, block);
        MPI_Wait(&request[1], MPI_STATUS_IGNORE);
        going = coming;
    }
}

/* The blocks of all members, of which `out` has this one's already. */
static void gather_blocks(const Hand *h, float *out, int first)
{
    int64_t block = h->whole / h->g;
    int next = around(h, h->me + 1), previous = around(h, h->me - 1);
    for (int r = 0; r < h->g - 1; r++) {
        MPI_Request request[2];
        MPI_Irecv(out + around(h, first - 1 - r) * block, (int)block, MPI_FLOAT, previous, 2, h->group, &request[0]);
        MPI_Isend(out + around(h, first - r) * block, (int)block, MPI_FLOAT, next, 2, h->group, &request[1]);
        MPI_Status status[2];
        MPI_Waitall(2, request, status);
    }
}

static void all_gather(const Hand *h, const float *in, float *out)
{
    int64_t block = h->whole / h->g;
    if (h->library) {
        MPI_Allgather(in, (int)block, MPI_FLOAT, out, (int)block, MPI_FLOAT, h->group);
        return;
    }
    memcpy(out + h->me * block, in, (size_t)block * sizeof *out);
    gather_blocks(h, out, h->me);
}

static void all_reduce(const Hand *h, const float *in, float *out)
{
    if (h->library) {
        MPI_Allreduce(in, out, (int)h->whole, MPI_FLOAT, MPI_SUM, h->group);
        return;
    }
    int64_t block = h->whole / h->g;
    int next = around(h, h->me + 1), previous = around(h, h->me - 1);
    const float *going = in + around(h, h->me - 1) * block;
    for (int r = 0; r < h->g - 1; r++) {
        int b = around(h, h->me - 2 - r);
        float *coming = out + b * block;
        MPI_Request request[2];
        MPI_Irecv(coming, (int)block, MPI_FLOAT, previous, 1, h->group, &request[0]);
        MPI_Isend(going, (int)block, MPI_FLOAT, next, 1, h->group, &request[1]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        add(coming, in + b * block, block);
        MPI_Wait(&request[1], MPI_STATUS_IGNORE);
        going = coming;
    }
    gather_blocks(h, out, h->me);
}

/* ---- the schedules -------------------------------------------------------------------------------------------------
 */

static void tp_sp_written(const Hand *h, const float *in, float *out)
{
    int64_t block = h->whole / h->g;
    all_reduce(h, in, h->middle);
    memcpy(out, h->middle + h->me * block, (size_t)block * sizeof *out);
}

static void tp_sp(const Hand *h, const float *in, float *out)
{
    reduce_scatter(h, in, out);
}

static void tp_pp(const Hand *h, const float *in, float *out)
{
    int block = (int)(h->whole / h->g);
    if (h->rank < h->g) {
        reduce_scatter(h, in, h->middle);
        MPI_Send(h->middle, block, MPI_FLOAT, h->rank + h->g, 3, h->world);
    } else {
        MPI_Recv(h->middle, block, MPI_FLOAT, h->rank - h->g, 3, h->world, MPI_STATUS_IGNORE);
        all_gather(h, h->middle, out);
    }
}

/* Every part to all of the next stage, begun with the one opposite. */
static void pp_sp(const Hand *h, const float *in, float *out)
{
    int64_t block = h->whole / h->g;
    for (int s = 0; s < h->g; s++)
        if (h->rank < h->g)
            MPI_Isend(in, (int)block, MPI_FLOAT, h->g + around(h, h->me + s), 4, h->world, &h->request[s]);
        else
            MPI_Irecv(out + around(h, h->me - s) * block, (int)block, MPI_FLOAT, around(h, h->me - s), 4, h->world,
                      &h->request[s]);
    MPI_Waitall(h->g, h->request, h->status);
}

/* Each rank's slots of an expert's group to its owner, where they lie between those of others. */
static void pp_ep(const Hand *h, const float *in, float *out)
{
    const ChrtType *type = driver.inputs[0].type;
    int64_t piece = h->whole / h->g / h->g, row = type->size[1] / h->g * type->size[2];
    for (int s = 0; s < h->g; s++) {
        int to = around(h, h->me + s), from = around(h, h->me - s);
        if (h->rank < h->g)
            MPI_Isend(in + to * piece, (int)piece, MPI_FLOAT, h->g + to, 5, h->world, &h->request[s]);
        else
            MPI_Irecv(out + from * row, 1, h->strided, from, 5, h->world, &h->request[s]);
    }
    MPI_Waitall(h->g, h->request, h->status);
}

static const struct {
    const char *name;
    void (*run)(const Hand *, const float *, float *);
} schedule[] = {
    {"tp_sp_written", tp_sp_written}, {"tp_sp", tp_sp}, {"tp_pp", tp_pp}, {"pp_sp", pp_sp}, {"pp_ep", pp_ep}};

/* ---- as a form -----------------------------------------------------------------------------------------------------
 */

static size_t which;

static int create(MPI_Comm comm, void **plan, char *message)
{
    const ChrtMesh *mesh = driver.mesh;
    const ChrtType *type = driver.inputs[0].type;
    const char *collectives = getenv("CHRT_COLLECTIVES");
    Hand *h = calloc(1, sizeof *h);
    if (!h)
        return CHRT_ERR_MEMORY;
    h->library = collectives && !strcmp(collectives, "library");
    MPI_Comm_dup(comm, &h->world);
    MPI_Comm_rank(comm, &h->rank);
    h->g = mesh->axis[mesh->naxes - 1].size;
    MPI_Comm_split(comm, h->rank / h->g, h->rank, &h->group);
    MPI_Comm_rank(h->group, &h->me);
    h->whole = 1;
    for (int32_t d = 0; d < type->ndims; d++)
        h->whole *= type->size[d];
    if (type->ndims == 3) {
        int64_t row = type->size[1] / h->g * type->size[2];
        MPI_Type_vector((int)(type->size[0] / h->g), (int)row, (int)(row * h->g), MPI_FLOAT, &h->strided);
    } else {
        MPI_Type_contiguous(1, MPI_FLOAT, &h->strided);
    }
    MPI_Type_commit(&h->strided);
    for (int i = 0; i < 2; i++)
        h->slot[i] = malloc((size_t)(h->whole / h->g) * sizeof(float));
    h->middle = malloc((size_t)h->whole * sizeof(float));
    h->request = malloc((size_t)h->g * sizeof(MPI_Request));
    h->status = malloc((size_t)h->g * sizeof(MPI_Status));
    *plan = h;
    if (h->request && h->status && h->slot[0] && h->slot[1] && h->middle)
        return CHRT_OK;
    snprintf(message, CHRT_MESSAGE_BYTES, "out of memory");
    return CHRT_ERR_MEMORY;
}

static int enter(void *plan, const void *const *in, void *const *out)
{
    Hand *h = plan;
    int64_t mine = INT64_MAX, least;
    h->in = in[0];
    h->out = out[0];
    MPI_Allreduce(&mine, &least, 1, MPI_INT64_T, MPI_MIN, h->world);
    return CHRT_OK;
}

static int rerun(void *plan)
{
    const Hand *h = plan;
    schedule[which].run(h, h->in, h->out);
    return CHRT_OK;
}

static void destroy(void *plan)
{
    Hand *h = plan;
    for (int i = 0; i < 2; i++)
        free(h->slot[i]);
    free(h->middle);
    free(h->request);
    free(h->status);
    MPI_Type_free(&h->strided);
    MPI_Comm_free(&h->group);
    MPI_Comm_free(&h->world);
    free(h);
}

int emitted_main(int argc, char **argv);

int main(int argc, char **argv)
{
    static const ChrtDriverSchedule hand = {.create = create, .enter = enter, .rerun = rerun, .destroy = destroy};
    driver = *forms_driver(emitted_main);
    size_t n = sizeof schedule / sizeof *schedule;
    while (which < n && strcmp(schedule[which].name, driver.plan) != 0)
        which++;
    if (which == n) {
        fprintf(stderr, "forms_hand: nothing by hand for the plan '%s'\n", driver.plan);
        return 2;
    }
    const Form forms[] = {{"emitted", &driver.optimized, .once = true},
                          {"hand", &hand, .once = true},
                          {"emitted_entering", &driver.optimized},
                          {"hand_entering", &hand}};
    return forms_main(argc, argv, &driver, forms, 4);
}
