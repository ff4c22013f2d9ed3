/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_mesh.c - ranks, groups and blocks: pure arithmetic.
 */
#include "chrt_internal.h"

int32_t chrt_mesh_ranks(const ChrtMesh *mesh)
{
    if (mesh->naxes < 0 || mesh->naxes > CHRT_MAX_AXES)
        return -1;
    int64_t ranks = 1;
    for (int32_t a = 0; a < mesh->naxes; a++) {
        if (mesh->axis[a].size < 1)
            return -1;
        ranks *= mesh->axis[a].size;
        if (ranks > INT32_MAX)
            return -1;
    }
    return (int32_t)ranks;
}

/* Ranks between two neighbours on the axis. */
static int32_t stride(const ChrtMesh *mesh, int32_t axis)
{
    int32_t s = 1;
    for (int32_t a = axis; a < mesh->naxes; a++)
        s *= mesh->axis[a].size;
    return s;
}

int32_t chrt_coordinate(const ChrtMesh *mesh, int32_t rank, int32_t axis)
{
    return rank / stride(mesh, axis) % mesh->axis[axis - 1].size;
}

int32_t chrt_index_in(const ChrtMesh *mesh, int32_t rank, const uint8_t *axes)
{
    int32_t index = 0;
    for (; *axes; axes++)
        index = index * mesh->axis[*axes - 1].size + chrt_coordinate(mesh, rank, *axes);
    return index;
}

int32_t chrt_group_members(const ChrtMesh *mesh, int32_t rank, const uint8_t *axes, int32_t *members)
{
    int32_t first = rank, count = 1;
    for (const uint8_t *a = axes; *a; a++) {
        first -= chrt_coordinate(mesh, rank, *a) * stride(mesh, *a);
        count *= mesh->axis[*a - 1].size;
    }
    if (!members)
        return count;
    /* Grow the list axis by axis, major first: each member so far becomes size(a) consecutive ones. From the back, so
     * that it works in place. */
    members[0] = first;
    int32_t have = 1;
    for (const uint8_t *a = axes; *a; a++) {
        int32_t size = mesh->axis[*a - 1].size, s = stride(mesh, *a);
        for (int32_t i = have - 1; i >= 0; i--)
            for (int32_t c = size - 1; c >= 0; c--)
                members[i * size + c] = members[i] + c * s;
        have *= size;
    }
    return count;
}

int64_t chrt_block_start(int64_t n, int64_t blocks, int64_t b)
{
    /* b, n % blocks <= blocks < 2^31, so the second product fits. */
    return n / blocks * b + n % blocks * b / blocks;
}

bool chrt_present(const ChrtMesh *mesh, const ChrtType *type, int32_t rank)
{
    for (const ChrtPin *pin = type->at; pin->axis; pin++)
        if (chrt_coordinate(mesh, rank, pin->axis) != pin->at)
            return false;
    return true;
}

ChrtBox chrt_local_box(const ChrtMesh *mesh, const ChrtType *type, int32_t rank)
{
    ChrtBox box = {.ndims = type->ndims};
    for (int32_t d = 0; d < type->ndims; d++) {
        int64_t blocks = 1;
        for (const uint8_t *a = type->split[d]; *a; a++)
            blocks *= mesh->axis[*a - 1].size;
        int32_t b = chrt_index_in(mesh, rank, type->split[d]);
        box.lo[d] = chrt_block_start(type->size[d], blocks, b);
        box.n[d] = chrt_block_start(type->size[d], blocks, b + 1) - box.lo[d];
    }
    return box;
}

int64_t chrt_local_elems(const ChrtMesh *mesh, const ChrtType *type, int32_t rank)
{
    if (!chrt_present(mesh, type, rank))
        return 0;
    ChrtBox box = chrt_local_box(mesh, type, rank);
    return chrt_box_elems(&box);
}

int64_t chrt_local_bytes(const ChrtMesh *mesh, const ChrtType *type, int32_t rank)
{
    return chrt_local_elems(mesh, type, rank) * chrt_dtype_bytes(type->dtype);
}
