/* SPDX-License-Identifier: Apache-2.0
 *
 * count_guard.c - linked into the build with a small CHRT_MAX_COUNT: no MPI call may take more elements than that, and
 * no message may go to its own sender. Counts of 4 and less are the runtime's own agreements.
 */
#include <mpi.h>

#include <stdio.h>

static void guard(const char *call, long count)
{
    if (count <= CHRT_MAX_COUNT)
        return;
    fprintf(stderr, "%s with %ld elements\n", call, count);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static long total(const int *counts, MPI_Comm comm)
{
    int size = 0;
    long sum = 0;
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++)
        sum += counts[i];
    return sum;
}

static long times_ranks(int count, MPI_Comm comm)
{
    int size = 0;
    MPI_Comm_size(comm, &size);
    return (long)count * size;
}

static void guard_peer(const char *call, int peer, MPI_Comm comm)
{
    int rank = -1;
    MPI_Comm_rank(comm, &rank);
    if (peer != rank)
        return;
    fprintf(stderr, "%s with oneself\n", call);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int MPI_Isend(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    guard("MPI_Isend", count);
    guard_peer("MPI_Isend", peer, comm);
    return PMPI_Isend(at, count, type, peer, tag, comm, request);
}

int MPI_Irecv(void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    guard("MPI_Irecv", count);
    guard_peer("MPI_Irecv", peer, comm);
    return PMPI_Irecv(at, count, type, peer, tag, comm, request);
}

int MPI_Bcast(void *at, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    guard("MPI_Bcast", count);
    return PMPI_Bcast(at, count, type, root, comm);
}

int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    guard("MPI_Reduce", count);
    return PMPI_Reduce(in, out, count, type, op, root, comm);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    guard("MPI_Allreduce", count);
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Reduce_scatter(const void *in, void *out, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    guard("MPI_Reduce_scatter", total(counts, comm));
    return PMPI_Reduce_scatter(in, out, counts, type, op, comm);
}

int MPI_Reduce_scatter_block(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    guard("MPI_Reduce_scatter_block", times_ranks(count, comm));
    return PMPI_Reduce_scatter_block(in, out, count, type, op, comm);
}

int MPI_Allgather(const void *in, int count, MPI_Datatype type, void *out, int out_count, MPI_Datatype out_type,
                  MPI_Comm comm)
{
    guard("MPI_Allgather", times_ranks(count, comm));
    return PMPI_Allgather(in, count, type, out, out_count, out_type, comm);
}

int MPI_Allgatherv(const void *in, int count, MPI_Datatype type, void *out, const int counts[], const int places[],
                   MPI_Datatype out_type, MPI_Comm comm)
{
    guard("MPI_Allgatherv", total(counts, comm));
    return PMPI_Allgatherv(in, count, type, out, counts, places, out_type, comm);
}
