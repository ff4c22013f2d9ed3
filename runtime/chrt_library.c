/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_library.c - MPI's own collectives instead of our schedules, for CHRT_COLLECTIVES=library: all_reduce,
 * reduce_scatter, all_gather, broadcast, reduce, on packed data where the layout asks for it. The others have none that
 * does the same, and 16-bit floats none that sums them.
 */
#include "chrt_task.h"

#include <stdlib.h>
#include <string.h>

struct ChrtLibrary {
    ChrtOp op;
    const ChrtGroup *group;
    MPI_Op sum;
    int root;
    bool takes_part, even;
    bool pack;                   /* the members' parts do not lie one after the other in the whole block */
    int *counts, *displacements; /* of the members' parts */
    ChrtRuns *part;              /* walks between the whole block and the packed parts */
    unsigned char *packed;
};

void chrt_library_free(ChrtLibrary *l)
{
    if (!l)
        return;
    free(l->counts);
    free(l->displacements);
    free(l->part);
    free(l->packed);
    free(l);
}

static ChrtBox box_of(const ChrtCtx *ctx, const ChrtLayout *layout, int32_t rank)
{
    static const ChrtCutting whole = {.dim = -1, .chunks = 1, .blocks = 1};
    return chrt_chunk_box(&whole, ctx->mesh, layout, 0, rank);
}

/* Sizes and places of the members' parts of this rank's whole block. */
static void find_parts(const ChrtCtx *ctx, ChrtLibrary *l, const ChrtLayout *parts, const ChrtLayout *wholes)
{
    ChrtBox whole = box_of(ctx, wholes, ctx->rank);
    int64_t start = 0, offset;
    l->even = true;
    for (int32_t m = 0; m < l->group->size; m++) {
        ChrtBox box = box_of(ctx, parts, l->group->members[m]);
        int64_t elems = chrt_box_elems(&box);
        l->counts[m] = (int)elems;
        l->displacements[m] = (int)start;
        l->part[m] = chrt_runs(&box, 0, elems, &whole, NULL);
        l->even = l->even && l->counts[m] == l->counts[0];
        l->pack = l->pack || (elems && (!chrt_box_contiguous(&whole, &box, &offset) || offset != start));
        start += elems;
    }
}

/* SimGrid's model of Open MPI's recursive halving sums empty parts wrongly; so few elements lose nothing. */
static bool has_empty_part(const ChrtLibrary *l)
{
    for (int32_t m = 0; m < l->group->size; m++)
        if (l->counts[m] == 0)
            return true;
    return false;
}

ChrtStatus chrt_library_make(ChrtTask *t, const ChrtRule *rule, ChrtLibrary **library)
{
    ChrtCtx *ctx = t->ctx;
    const ChrtStep *step = rule->step;
    bool scatters = step->op == CHRT_REDUCE_SCATTER, gathers = step->op == CHRT_ALL_GATHER;
    bool sums = scatters || step->op == CHRT_ALL_REDUCE || step->op == CHRT_REDUCE;
    *library = NULL;
    if (!rule->group || (!sums && !gathers && step->op != CHRT_BROADCAST) || (sums && chrt_dtype_is_half(t->dtype)))
        return CHRT_OK;
    /* Alike on all members: sizes and types, never what this rank holds. */
    const ChrtLayout *wholes = gathers ? &rule->to : &rule->from;
    ChrtBox whole = box_of(ctx, wholes, ctx->rank);
    int64_t elems = chrt_box_elems(&whole);
    if (elems == 0 || elems > CHRT_MAX_COUNT)
        return CHRT_OK;

    ChrtLibrary *l = calloc(1, sizeof *l);
    if (!l)
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "prepare %.64s: out of memory", step->name);
    size_t g = (size_t)rule->group->size;
    *l = (ChrtLibrary){.op = step->op, .group = rule->group};
    l->sum = t->elem_bytes == 1 ? ctx->sum_wrap : MPI_SUM;
    l->root = step->op == CHRT_BROADCAST ? step->source : step->target;
    l->takes_part = step->op == CHRT_BROADCAST ? chrt_layout_present(ctx->mesh, &rule->to, ctx->rank)
                                               : chrt_layout_present(ctx->mesh, &rule->from, ctx->rank);
    l->counts = malloc(g * sizeof *l->counts);
    l->displacements = malloc(g * sizeof *l->displacements);
    l->part = malloc(g * sizeof *l->part);
    *library = l; /* the task's, to be freed with it */
    if (!l->counts || !l->displacements || !l->part)
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "prepare %.64s: out of memory", step->name);
    if (!scatters && !gathers)
        return CHRT_OK;
    find_parts(ctx, l, gathers ? &rule->from : &rule->to, wholes);
    if (scatters && has_empty_part(l)) {
        chrt_library_free(l);
        *library = NULL;
        return CHRT_OK;
    }
    if (l->pack && !(l->packed = malloc((size_t)(elems * t->elem_bytes))))
        return chrt_fail(ctx, CHRT_ERR_MEMORY, "prepare %.64s: out of memory", step->name);
    return CHRT_OK;
}

/* Between the whole block and the packed parts. */
static void copy_parts(const ChrtLibrary *l, int64_t b, const unsigned char *whole, unsigned char *packed)
{
    for (int32_t m = 0; m < l->group->size; m++) {
        ChrtRuns runs = l->part[m];
        int64_t at, in_part, elems;
        while (chrt_runs_next(&runs, &at, &in_part, &elems))
            memcpy(packed + (l->displacements[m] + in_part) * b, whole + at * b, (size_t)(elems * b));
    }
}

static void place_parts(const ChrtLibrary *l, int64_t b, const unsigned char *packed, unsigned char *whole)
{
    for (int32_t m = 0; m < l->group->size; m++) {
        ChrtRuns runs = l->part[m];
        int64_t at, in_part, elems;
        while (chrt_runs_next(&runs, &at, &in_part, &elems))
            memcpy(whole + at * b, packed + (l->displacements[m] + in_part) * b, (size_t)(elems * b));
    }
}

static int gather(const ChrtTask *t, const ChrtLibrary *l, const void *in, void *out)
{
    int me = l->group->me;
    void *packed = l->pack ? l->packed : out;
    int rc = l->even ? MPI_Allgather(in, l->counts[me], t->mpi, packed, l->counts[me], t->mpi, l->group->comm)
                     : MPI_Allgatherv(in, l->counts[me], t->mpi, packed, l->counts, l->displacements, t->mpi,
                                      l->group->comm);
    if (rc == MPI_SUCCESS && l->pack)
        place_parts(l, t->elem_bytes, l->packed, out);
    return rc;
}

static int scatter(const ChrtTask *t, const ChrtLibrary *l, const void *in, void *out)
{
    const void *packed = in;
    if (l->pack) {
        copy_parts(l, t->elem_bytes, in, l->packed);
        packed = l->packed;
    }
    if (l->even)
        return MPI_Reduce_scatter_block(packed, out, l->counts[0], t->mpi, l->sum, l->group->comm);
    return MPI_Reduce_scatter(packed, out, l->counts, t->mpi, l->sum, l->group->comm);
}

static int call(const ChrtTask *t, const ChrtLibrary *l, const void *in, void *out)
{
    MPI_Comm comm = l->group->comm;
    switch (l->op) {
    case CHRT_ALL_REDUCE:
        return MPI_Allreduce(in, out, (int)t->in_elems, t->mpi, l->sum, comm);
    case CHRT_REDUCE:
        return MPI_Reduce(in, out, (int)t->in_elems, t->mpi, l->sum, l->root, comm);
    case CHRT_BROADCAST:
        if (l->group->me == l->root)
            memcpy(out, in, (size_t)(t->out_elems * t->elem_bytes));
        return MPI_Bcast(out, (int)t->out_elems, t->mpi, l->root, comm);
    case CHRT_ALL_GATHER:
        return gather(t, l, in, out);
    case CHRT_REDUCE_SCATTER:
        return scatter(t, l, in, out);
    case CHRT_ALL_TO_ALL:
    case CHRT_SLICE:
    case CHRT_SHIFT:
    case CHRT_DROP:
    case CHRT_EXCHANGE:
    case CHRT_REDUCE_EXCHANGE:
    case CHRT_COPY:
        break;
    }
    return MPI_SUCCESS;
}

ChrtStatus chrt_library_run(ChrtTask *t, const void *in, void *out)
{
    if (!t->library->takes_part)
        return CHRT_OK;
    int rc = call(t, t->library, in, out);
    if (rc == MPI_SUCCESS)
        return CHRT_OK;
    return chrt_fail_mpi(t->ctx, chrt_op_name(t->steps[0].op), t->steps[0].name, rc);
}
