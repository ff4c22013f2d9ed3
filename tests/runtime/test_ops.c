/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ops.c - every op on random meshes, layouts, sizes and dtypes, compared bit for bit with what the logical tensor
 * says. The expectation is computed here from scratch: blocks by plain division, contributions by enumeration.
 *
 *   mpirun -n P test_ops [first seed] [cases]
 */
#include "chrt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_AXES = 5, MAX_DIMS = 4 };

typedef enum Kind {
    ALL_REDUCE,
    REDUCE_SCATTER,
    ALL_GATHER,
    ALL_TO_ALL,
    SLICE,
    SHIFT,
    BROADCAST,
    REDUCE,
    DROP,
    EXCHANGE,
    REDUCE_EXCHANGE,
    COPY,
    NKINDS,
} Kind;

static const char *const kind_name[NKINDS] = {
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "slice",           "shift",
    "broadcast",  "reduce",         "drop",       "exchange",   "reduce_exchange", "copy",
};

/* One random op. */
typedef struct Case {
    uint64_t seed;
    Kind kind;
    ChrtMesh mesh;
    ChrtType from, to;
    ChrtAxes over;    /* of the op, in its order */
    ChrtAxes settled; /* partial axes that the op settles, in member order */
    int32_t dim, to_dim;
    int32_t axis, source, target;
    bool rough; /* 16-bit floats: values whose sums are not exact */
} Case;

/* ---- random numbers: the same on every rank -------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static int32_t draw(uint64_t *state, int32_t n)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return (int32_t)(mix(*state) % (uint64_t)n);
}

/* ---- lists ----------------------------------------------------------------------------------------------------------
 */

static void append(uint8_t *axes, int32_t axis)
{
    while (*axes)
        axes++;
    axes[0] = (uint8_t)axis;
    axes[1] = 0;
}

static bool contains(const uint8_t *axes, int32_t axis)
{
    for (; *axes; axes++)
        if (*axes == axis)
            return true;
    return false;
}

static void take_out(uint8_t *axes, const uint8_t *gone)
{
    uint8_t *to = axes;
    for (; *axes; axes++)
        if (!contains(gone, *axes))
            *to++ = *axes;
    *to = 0;
}

static void append_pin(ChrtType *type, int32_t axis, int32_t at)
{
    ChrtPin *pin = type->at;
    while (pin->axis)
        pin++;
    pin[0] = (ChrtPin){(uint8_t)axis, at};
    pin[1] = (ChrtPin){0, 0};
}

static void remove_pin(ChrtType *type, int32_t axis)
{
    ChrtPin *to = type->at;
    for (ChrtPin *pin = type->at; pin->axis; pin++)
        if (pin->axis != axis)
            *to++ = *pin;
    *to = (ChrtPin){0, 0};
}

/* ---- a random case --------------------------------------------------------------------------------------------------
 */

static ChrtMesh random_mesh(uint64_t *r, int32_t ranks)
{
    static const char *const names[MAX_AXES] = {"a", "b", "c", "d", "e"};
    ChrtMesh mesh = {.naxes = 1 + draw(r, MAX_AXES)};
    for (int32_t a = 0; a < mesh.naxes; a++)
        mesh.axis[a] = (ChrtAxis){names[a], 1};
    for (int32_t p = 2; ranks > 1; p += (ranks % p) != 0)
        if (ranks % p == 0) {
            mesh.axis[draw(r, mesh.naxes)].size *= p;
            ranks /= p;
        }
    return mesh;
}

/* A random state for one axis, partial only if allowed. */
static void random_state(uint64_t *r, const ChrtMesh *mesh, ChrtType *type, int32_t axis, bool partial)
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
static void shuffle(uint64_t *r, const ChrtMesh *mesh, uint8_t *axes)
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

/* The target of an exchange: partial axes stay or, if settling, may go. */
static void random_target(uint64_t *r, Case *c)
{
    ChrtAxes order;
    c->to = (ChrtType){.dtype = c->from.dtype, .ndims = c->from.ndims};
    memcpy(c->to.size, c->from.size, sizeof c->to.size);
    bool settles = c->kind == REDUCE_EXCHANGE;
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
    Case c = {.seed = seed, .kind = (Kind)draw(r, NKINDS)};
    c.mesh = random_mesh(r, ranks);
    c.from.dtype = (ChrtDtype)draw(r, CHRT_U8 + 1);
    c.from.ndims = c.kind == ALL_TO_ALL ? 2 + draw(r, MAX_DIMS - 1) : 1 + draw(r, MAX_DIMS);
    for (int32_t d = 0; d < c.from.ndims; d++)
        c.from.size[d] = draw(r, 12) ? 1 + draw(r, 11) : 0;
    c.rough = (c.from.dtype == CHRT_F16 || c.from.dtype == CHRT_BF16) && draw(r, 2);

    /* The op's own axes first, then the others; the split that must end in the op's axes gets the others before. */
    ChrtAxes order;
    shuffle(r, &c.mesh, order);
    bool single = c.kind == SHIFT || c.kind == BROADCAST || c.kind == REDUCE || c.kind == DROP;
    int32_t n = single ? 1 : 1 + draw(r, c.mesh.naxes);
    memcpy(c.over, order, (size_t)n);
    for (const uint8_t *a = order + n; *a && c.kind != EXCHANGE && c.kind != REDUCE_EXCHANGE; a++)
        random_state(r, &c.mesh, &c.from, *a, true);
    c.dim = draw(r, c.from.ndims);
    c.to_dim = c.from.ndims > 1 ? (c.dim + 1 + draw(r, c.from.ndims - 1)) % c.from.ndims : c.dim;
    c.axis = c.over[0];
    c.source = draw(r, c.mesh.axis[c.axis - 1].size);
    c.target = draw(r, c.mesh.axis[c.axis - 1].size);

    switch (c.kind) {
    case ALL_REDUCE:
    case REDUCE_SCATTER:
        for (const uint8_t *a = c.over; *a; a++)
            append(c.from.partial, *a);
        memcpy(c.settled, c.over, sizeof c.settled);
        break;
    case REDUCE:
        append(c.from.partial, c.axis);
        append(c.settled, c.axis);
        break;
    case ALL_GATHER:
    case ALL_TO_ALL:
        for (const uint8_t *a = c.over; *a; a++)
            append(c.from.split[c.dim], *a);
        break;
    case SHIFT:
    case BROADCAST:
        append_pin(&c.from, c.axis, c.source);
        break;
    case EXCHANGE:
    case REDUCE_EXCHANGE:
        if (c.kind == REDUCE_EXCHANGE)
            append(c.from.partial, order[0]);
        for (const uint8_t *a = order + (c.kind == REDUCE_EXCHANGE); *a; a++)
            random_state(r, &c.mesh, &c.from, *a, true);
        random_target(r, &c);
        return c;
    case SLICE:
    case DROP:
    case COPY:
    case NKINDS:
        break;
    }

    c.to = c.from;
    take_out(c.to.partial, c.settled);
    if (c.kind == ALL_GATHER || c.kind == ALL_TO_ALL)
        take_out(c.to.split[c.dim], c.over);
    if (c.kind == REDUCE_SCATTER || c.kind == SLICE || c.kind == ALL_TO_ALL)
        for (const uint8_t *a = c.over; *a; a++)
            append(c.to.split[c.kind == ALL_TO_ALL ? c.to_dim : c.dim], *a);
    if (c.kind == SHIFT || c.kind == BROADCAST)
        remove_pin(&c.to, c.axis);
    if (c.kind == SHIFT || c.kind == REDUCE || c.kind == DROP)
        append_pin(&c.to, c.axis, c.target);
    return c;
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
static uint64_t contribution(const Case *c, int64_t element, const int32_t *at)
{
    uint64_t z = mix(c->seed) + (uint64_t)element * UINT64_C(0x94D049BB133111EB);
    for (int32_t a = 1; a <= c->mesh.naxes; a++)
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
static unsigned char *local_buffer(const Case *c, const ChrtType *type, const uint8_t *settled, int32_t rank,
                                   size_t *bytes)
{
    int32_t at[CHRT_MAX_AXES + 1], nd = type->ndims;
    coordinates(&c->mesh, rank, at);
    *bytes = 0;
    for (const ChrtPin *pin = type->at; pin->axis; pin++)
        if (at[pin->axis] != pin->at)
            return NULL;
    int64_t lo[CHRT_MAX_DIMS], n[CHRT_MAX_DIMS], elems = 1;
    for (int32_t d = 0; d < nd; d++) {
        int64_t blocks = 1, b = 0;
        for (const uint8_t *a = type->split[d]; *a; a++) {
            b = b * c->mesh.axis[*a - 1].size + at[*a];
            blocks *= c->mesh.axis[*a - 1].size;
        }
        lo[d] = b * type->size[d] / blocks;
        n[d] = (b + 1) * type->size[d] / blocks - lo[d];
        elems *= n[d];
    }
    if (elems == 0)
        return NULL;

    int32_t width = chrt_dtype_bytes(type->dtype), terms = 1;
    for (const uint8_t *a = settled; *a; a++)
        terms *= c->mesh.axis[*a - 1].size;
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
                int32_t size = c->mesh.axis[settled[length] - 1].size;
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

/* ---- running
 * ---------------------------------------------------------------------------------------------------------- */

static ChrtStatus run_op(ChrtCtx *rt, const Case *c, const void *in, void *out)
{
    const ChrtType *from = &c->from, *to = &c->to;
    switch (c->kind) {
    case ALL_REDUCE:
        return chrt_all_reduce(rt, "%1", from, in, to, out, c->over);
    case REDUCE_SCATTER:
        return chrt_reduce_scatter(rt, "%1", from, in, to, out, c->over, c->dim);
    case ALL_GATHER:
        return chrt_all_gather(rt, "%1", from, in, to, out, c->over, c->dim);
    case ALL_TO_ALL:
        return chrt_all_to_all(rt, "%1", from, in, to, out, c->over, c->dim, c->to_dim);
    case SLICE:
        return chrt_slice(rt, "%1", from, in, to, out, c->over, c->dim);
    case SHIFT:
        return chrt_shift(rt, "%1", from, in, to, out, c->axis, c->source, c->target);
    case BROADCAST:
        return chrt_broadcast(rt, "%1", from, in, to, out, c->axis, c->source);
    case REDUCE:
        return chrt_reduce(rt, "%1", from, in, to, out, c->axis, c->target);
    case DROP:
        return chrt_drop(rt, "%1", from, in, to, out, c->axis, c->target);
    case EXCHANGE:
        return chrt_exchange(rt, "%1", from, in, to, out);
    case REDUCE_EXCHANGE:
        return chrt_reduce_exchange(rt, "%1", from, in, to, out);
    case COPY:
        return chrt_copy(rt, "%1", from, in, to, out);
    case NKINDS:
        break;
    }
    return CHRT_ERR_TYPE;
}

static void stop(const Case *c, int32_t rank, const char *what)
{
    fprintf(stderr, "seed %" PRIu64 " (%s, dtype %d%s) rank %" PRId32 ": %s\n", c->seed, kind_name[c->kind],
            (int)c->from.dtype, c->rough ? " rough" : "", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Two runs in one context: the second finds the scratch memory of the first. */
static void run_case(const Case *c, int32_t rank)
{
    size_t in_bytes, out_bytes;
    static const ChrtAxes none;
    unsigned char *in = local_buffer(c, &c->from, none, rank, &in_bytes);
    unsigned char *expected = local_buffer(c, &c->to, c->settled, rank, &out_bytes);
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
    for (int run = 0; run < 2; run++) {
        if (out_bytes)
            memset(out, 0xA5, out_bytes);
        status = chrt_enter(rt, 2, (const ChrtBuffer[]){{"in", &c->from, in}, {"out", &c->to, out}});
        if (status == CHRT_OK)
            status = run_op(rt, c, in, out);
        if (status < 0)
            stop(c, rank, chrt_error_message(rt));
        if (out_bytes && memcmp(out, expected, out_bytes) != 0)
            stop(c, rank, "wrong result");
        if (in_bytes && memcmp(in, before, in_bytes) != 0)
            stop(c, rank, "the operand was written to");
    }
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
