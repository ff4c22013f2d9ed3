/* SPDX-License-Identifier: Apache-2.0
 *
 * values.c - random layouts, and what a rank must hold. Computed from scratch: blocks by plain division, contributions
 * by enumeration.
 */
#include "values.h"

#include <stdlib.h>
#include <string.h>

/* ---- random numbers: the same on every rank -------------------------------------------------------------------------
 */

uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int32_t draw(uint64_t *state, int32_t n)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return (int32_t)(mix(*state) % (uint64_t)n);
}

/* ---- lists ----------------------------------------------------------------------------------------------------------
 */

void append(uint8_t *axes, int32_t axis)
{
    while (*axes)
        axes++;
    axes[0] = (uint8_t)axis;
    axes[1] = 0;
}

bool contains(const uint8_t *axes, int32_t axis)
{
    for (; *axes; axes++)
        if (*axes == axis)
            return true;
    return false;
}

void take_out(uint8_t *axes, const uint8_t *gone)
{
    uint8_t *to = axes;
    for (; *axes; axes++)
        if (!contains(gone, *axes))
            *to++ = *axes;
    *to = 0;
}

void append_pin(ChrtType *type, int32_t axis, int32_t at)
{
    ChrtPin *pin = type->at;
    while (pin->axis)
        pin++;
    pin[0] = (ChrtPin){(uint8_t)axis, at};
    pin[1] = (ChrtPin){0, 0};
}

void remove_pin(ChrtType *type, int32_t axis)
{
    ChrtPin *to = type->at;
    for (ChrtPin *pin = type->at; pin->axis; pin++)
        if (pin->axis != axis)
            *to++ = *pin;
    *to = (ChrtPin){0, 0};
}

/* ---- random layouts -------------------------------------------------------------------------------------------------
 */

ChrtMesh random_mesh(uint64_t *r, int32_t ranks)
{
    static const char *const names[MAX_AXES] = {"a", "b", "c", "d", "e"};
    ChrtMesh mesh = {.naxes = 1 + draw(r, MAX_AXES)};
    for (int32_t a = 0; a < mesh.naxes; a++)
        mesh.axis[a] = (ChrtAxis){names[a], 1};
    for (int32_t p = 2; ranks > 1; p++)
        for (; ranks % p == 0; ranks /= p)
            mesh.axis[draw(r, mesh.naxes)].size *= p;
    return mesh;
}

/* A random state for one axis, partial only if allowed. */
void random_state(uint64_t *r, const ChrtMesh *mesh, ChrtType *type, int32_t axis, bool partial)
{
    switch (draw(r, partial ? 5 : 4)) {
    case 0:
        return;
    case 1:
    case 2:
        append(type->split[draw(r, type->ndims)], axis);
        return;
    case 3:
        append_pin(type, axis, draw(r, mesh->axis[axis - 1].size));
        return;
    case 4:
        append(type->partial, axis);
        return;
    default:
        return;
    }
}

/* All axes in a random order. */
void shuffle(uint64_t *r, const ChrtMesh *mesh, uint8_t *axes)
{
    memset(axes, 0, sizeof(ChrtAxes));
    for (int32_t a = 1; a <= mesh->naxes; a++)
        append(axes, a);
    for (int32_t i = mesh->naxes - 1; i > 0; i--) {
        int32_t j = draw(r, i + 1);
        uint8_t swap = axes[i];
        axes[i] = axes[j];
        axes[j] = swap;
    }
}

/* ---- what a rank must hold
 * ------------------------------------------------------------------------------------------- */

static void coordinates(const ChrtMesh *mesh, int32_t rank, int32_t *at)
{
    for (int32_t a = mesh->naxes; a >= 1; a--) {
        at[a] = rank % mesh->axis[a - 1].size;
        rank /= mesh->axis[a - 1].size;
    }
}

/* Contribution of the rank at these coordinates to an element, as bits of the dtype. */
static uint64_t contribution(const Value *c, int64_t element, const int32_t *at)
{
    uint64_t z = mix(c->seed) + (uint64_t)element * UINT64_C(0x94D049BB133111EB);
    for (int32_t a = 1; a <= c->mesh->naxes; a++)
        if (contains(c->from.partial, a))
            z = z * 31 + (uint64_t)at[a] + 7;
    z = mix(z);
    double small = (double)(z % 33) - 16;
    float rough = ((float)(z >> 40) * 0x1p-24F - 0.5F) * (float)(1 << (z % 7));
    uint64_t bits = 0;
    switch (c->from.dtype) {
    case CHRT_F64:
        memcpy(&bits, &small, sizeof small);
        return bits;
    case CHRT_F32: {
        float v = (float)small;
        memcpy(&bits, &v, sizeof v);
        return bits;
    }
    case CHRT_F16:
        return chrt_f16_from_f32(c->rough ? rough : (float)small);
    case CHRT_BF16:
        return chrt_bf16_from_f32(c->rough ? rough : (float)small);
    case CHRT_I64:
    case CHRT_I32:
    case CHRT_I8:
    case CHRT_U8:
        return z;
    }
    return 0;
}

/* Sum of n contributions, in order. */
static uint64_t sum_of(ChrtDtype dtype, const uint64_t *bits, int32_t n)
{
    uint64_t integer = 0, result = 0;
    double wide = 0;
    float narrow = 0;
    for (int32_t i = 0; i < n; i++) {
        double d = 0;
        float f = 0;
        if (dtype == CHRT_F64)
            memcpy(&d, &bits[i], sizeof d);
        if (dtype == CHRT_F32)
            memcpy(&f, &bits[i], sizeof f);
        if (dtype == CHRT_F16)
            f = chrt_f32_from_f16((uint16_t)bits[i]);
        if (dtype == CHRT_BF16)
            f = chrt_f32_from_bf16((uint16_t)bits[i]);
        integer += bits[i];
        wide = i ? wide + d : d;
        narrow = i ? narrow + f : f;
    }
    if (dtype == CHRT_F64)
        memcpy(&result, &wide, sizeof wide);
    else if (dtype == CHRT_F32)
        memcpy(&result, &narrow, sizeof narrow);
    else if (dtype == CHRT_F16)
        result = chrt_f16_from_f32(narrow);
    else if (dtype == CHRT_BF16)
        result = chrt_bf16_from_f32(narrow);
    else
        result = integer;
    return result;
}

/* What the rank holds of the value in the type; settled: partial axes of `from` that are summed by then, in order.
 * NULL and 0 when absent or empty. */
unsigned char *local_buffer(const Value *c, const ChrtType *type, const uint8_t *settled, int32_t rank, size_t *bytes)
{
    int32_t at[CHRT_MAX_AXES + 1], nd = type->ndims;
    coordinates(c->mesh, rank, at);
    *bytes = 0;
    for (const ChrtPin *pin = type->at; pin->axis; pin++)
        if (at[pin->axis] != pin->at)
            return NULL;
    int64_t lo[CHRT_MAX_DIMS], n[CHRT_MAX_DIMS], elems = 1;
    for (int32_t d = 0; d < nd; d++) {
        int64_t blocks = 1, b = 0;
        for (const uint8_t *a = type->split[d]; *a; a++) {
            b = b * c->mesh->axis[*a - 1].size + at[*a];
            blocks *= c->mesh->axis[*a - 1].size;
        }
        lo[d] = b * type->size[d] / blocks;
        n[d] = (b + 1) * type->size[d] / blocks - lo[d];
        elems *= n[d];
    }
    if (elems == 0)
        return NULL;

    int32_t width = chrt_dtype_bytes(type->dtype), terms = 1;
    for (const uint8_t *a = settled; *a; a++)
        terms *= c->mesh->axis[*a - 1].size;
    unsigned char *buffer = malloc((size_t)(elems * width));
    uint64_t *bits = malloc((size_t)terms * sizeof *bits);
    if (!buffer || !bits)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int64_t i = 0; i < elems; i++) {
        int64_t rest = i, element = 0, stride = 1;
        for (int32_t d = nd - 1; d >= 0; d--) {
            element += (lo[d] + rest % n[d]) * stride;
            rest /= n[d];
            stride *= type->size[d];
        }
        for (int32_t t = 0; t < terms; t++) {
            int32_t index = t, at_t[CHRT_MAX_AXES + 1], length = 0;
            memcpy(at_t, at, sizeof at);
            while (settled[length])
                length++;
            while (length-- > 0) {
                int32_t size = c->mesh->axis[settled[length] - 1].size;
                at_t[settled[length]] = index % size;
                index /= size;
            }
            bits[t] = contribution(c, element, at_t);
        }
        uint64_t value = sum_of(type->dtype, bits, terms);
        memcpy(buffer + i * width, &value, (size_t)width); /* little endian */
    }
    free(bits);
    *bytes = (size_t)(elems * width);
    return buffer;
}
