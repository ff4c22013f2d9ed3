/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_layout.c - the typing rules of the ops, as changes of a layout.
 */
#include "chrt_internal.h"

#include <string.h>

static bool on_mesh(const ChrtMesh *mesh, int32_t axis)
{
    return axis >= 1 && axis <= mesh->naxes;
}

bool chrt_axes_moving(const ChrtMesh *mesh, const uint8_t *axes, uint8_t *moving)
{
    int32_t n = 0;
    memset(moving, 0, sizeof(ChrtAxes));
    for (; *axes; axes++) {
        if (!on_mesh(mesh, *axes))
            return false;
        if (mesh->axis[*axes - 1].size == 1)
            continue;
        if (n == CHRT_MAX_AXES)
            return false;
        moving[n++] = *axes;
    }
    return true;
}

/* Gives every listed axis a state; false when one does not have the state it should come from. */
static bool change(ChrtLayout *layout, const uint8_t *axes, ChrtAxisState from, ChrtAxisState to)
{
    for (; *axes; axes++) {
        if (layout->state[*axes] != from)
            return false;
        layout->state[*axes] = to;
    }
    return true;
}

bool chrt_layout_of(const ChrtMesh *mesh, const ChrtType *type, ChrtLayout *layout)
{
    memset(layout, 0, sizeof *layout);
    if (type->ndims < 0 || type->ndims > CHRT_MAX_DIMS)
        return false;
    layout->dtype = type->dtype;
    layout->ndims = type->ndims;
    for (int32_t d = 0; d < type->ndims; d++) {
        layout->size[d] = type->size[d];
        if (type->size[d] < 0 || !chrt_axes_moving(mesh, type->split[d], layout->split[d]) ||
            !change(layout, layout->split[d], CHRT_REPLICATED, CHRT_SPLIT))
            return false;
    }
    ChrtAxes partial;
    if (!chrt_axes_moving(mesh, type->partial, partial) || !change(layout, partial, CHRT_REPLICATED, CHRT_PARTIAL))
        return false;
    for (const ChrtPin *pin = type->at; pin->axis; pin++)
        if (!chrt_layout_pin(layout, mesh, pin->axis, pin->at))
            return false;
    return true;
}

bool chrt_layout_equal(const ChrtLayout *a, const ChrtLayout *b)
{
    return a->dtype == b->dtype && a->ndims == b->ndims && !memcmp(a->size, b->size, sizeof a->size) &&
           !memcmp(a->split, b->split, sizeof a->split) && !memcmp(a->state, b->state, sizeof a->state) &&
           !memcmp(a->pin, b->pin, sizeof a->pin);
}

static size_t length(const uint8_t *axes)
{
    size_t n = 0;
    while (axes[n])
        n++;
    return n;
}

bool chrt_layout_settle(ChrtLayout *layout, const uint8_t *axes)
{
    return change(layout, axes, CHRT_PARTIAL, CHRT_REPLICATED);
}

bool chrt_layout_append(ChrtLayout *layout, const uint8_t *axes, int32_t dim)
{
    if (dim < 0 || dim >= layout->ndims || !change(layout, axes, CHRT_REPLICATED, CHRT_SPLIT))
        return false;
    /* Every axis is in one list only and was in none, so there is room. */
    memcpy(layout->split[dim] + length(layout->split[dim]), axes, length(axes));
    return true;
}

bool chrt_layout_remove(ChrtLayout *layout, const uint8_t *axes, int32_t dim)
{
    if (dim < 0 || dim >= layout->ndims)
        return false;
    size_t have = length(layout->split[dim]), n = length(axes);
    if (n > have || memcmp(layout->split[dim] + have - n, axes, n) != 0)
        return false;
    memset(layout->split[dim] + have - n, 0, n);
    return change(layout, axes, CHRT_SPLIT, CHRT_REPLICATED);
}

bool chrt_layout_pin(ChrtLayout *layout, const ChrtMesh *mesh, int32_t axis, int32_t at)
{
    if (!on_mesh(mesh, axis) || at < 0 || at >= mesh->axis[axis - 1].size)
        return false;
    if (mesh->axis[axis - 1].size == 1)
        return true;
    if (layout->state[axis] != CHRT_REPLICATED)
        return false;
    layout->state[axis] = CHRT_PINNED;
    layout->pin[axis] = at;
    return true;
}

bool chrt_layout_unpin(ChrtLayout *layout, const ChrtMesh *mesh, int32_t axis, int32_t at)
{
    if (!on_mesh(mesh, axis) || at < 0 || at >= mesh->axis[axis - 1].size)
        return false;
    if (mesh->axis[axis - 1].size == 1)
        return true;
    if (layout->state[axis] != CHRT_PINNED || layout->pin[axis] != at)
        return false;
    layout->state[axis] = CHRT_REPLICATED;
    layout->pin[axis] = 0;
    return true;
}
