/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/layouts.h - a mesh, a shape and layouts for tests of geometry: written out as in plans, or at random.
 */
#ifndef TESTS_LAYOUTS_H
#define TESTS_LAYOUTS_H

#include "ir/arrow.h"
#include "ir/geom.h"
#include "unit.h"

#include <ctype.h>

typedef struct World {
    ChmCtx ctx;
    const ChmMesh *mesh;
    const ChmShape *shape;
    uint64_t random; /* state; not 0 */
} World;

static inline void world_init(World *w, uint64_t seed)
{
    chm_ctx_init(&w->ctx);
    w->mesh = NULL;
    w->shape = NULL;
    w->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static inline void world_fini(World *w)
{
    chm_ctx_fini(&w->ctx);
}

/* "tp=4 dp=2" -> names and sizes; the number of pairs. */
static inline int32_t read_sizes(World *w, const char *text, const char **names, int64_t *sizes, int32_t max)
{
    int32_t n = 0;
    for (const char *s = text; *s != '\0' && n < max; n++) {
        size_t len = strcspn(s, "=");
        names[n] = chm_intern(&w->ctx.strings, s, len);
        char *end;
        sizes[n] = strtoll(s + len + 1, &end, 10);
        s = end + strspn(end, " ");
    }
    return n;
}

static inline void world_set(World *w, const char *mesh, const char *shape)
{
    const char *names[CHM_MAX_AXES];
    int64_t sizes[CHM_MAX_AXES];
    int32_t axis_sizes[CHM_MAX_AXES];
    int32_t n = read_sizes(w, mesh, names, sizes, CHM_MAX_AXES);
    for (int32_t i = 0; i < n; i++)
        axis_sizes[i] = (int32_t)sizes[i];
    w->mesh = chm_mesh_make(&w->ctx, "m", n, names, axis_sizes);
    n = read_sizes(w, shape, names, sizes, CHM_MAX_DIMS);
    w->shape = chm_shape_make(&w->ctx, n, names, sizes);
}

static inline int32_t read_axis(World *w, const char **at)
{
    size_t len = 0;
    while (isalnum((unsigned char)(*at)[len]))
        len++;
    int32_t axis = chm_mesh_find_axis(w->mesh, chm_intern(&w->ctx.strings, *at, len));
    *at += len;
    return axis;
}

/* "[seq/dp/tp, h] partial(pp) at(dp=1)", as in plans. NULL when it is no layout. */
static inline const ChmLayout *lay(World *w, const char *text)
{
    ChmLayout l = {.mesh = w->mesh, .ndims = w->shape->ndims};
    const char *s = text + 1;
    for (int32_t d = 0; d < l.ndims; d++) {
        for (s += strcspn(s, "/,]"); *s == '/';) {
            s++;
            chm_seq_push(&l.dim[d], read_axis(w, &s));
        }
        s++;
    }
    const char *partial = strstr(s, "partial("), *at = strstr(s, "at(");
    for (s = partial ? partial + strlen("partial(") : ""; *s != '\0' && *s != ')'; s += strspn(s, ", "))
        l.partial |= CHM_AXIS(read_axis(w, &s));
    for (s = at ? at + strlen("at(") : ""; *s != '\0' && *s != ')'; s += strspn(s, ", ")) {
        int32_t axis = read_axis(w, &s);
        char *end;
        l.pinned |= CHM_AXIS(axis);
        l.pin[axis] = (int32_t)strtol(s + 1, &end, 10);
        s = end;
    }
    return chm_layout_make(&w->ctx, &l);
}

/* ---- at random */

static inline int32_t pick(World *w, int32_t n) /* 0 .. n-1 */
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (int32_t)((w->random >> 33) % (uint64_t)n);
}

/* 1-4 axes of size 1-4, at most max_ranks; 1-3 dims of size 1-max_size. */
static inline void world_random(World *w, int32_t max_ranks, int32_t max_size)
{
    static const char *const axes[] = {"a", "b", "c", "d"}, *const dims[] = {"x", "y", "z"};
    int32_t sizes[4], naxes = 1 + pick(w, 4), ranks = 1;
    for (int32_t i = 0; i < naxes; i++) {
        sizes[i] = 1 + pick(w, 4);
        if (ranks * sizes[i] > max_ranks)
            sizes[i] = 1;
        ranks *= sizes[i];
    }
    int64_t extents[3];
    int32_t ndims = 1 + pick(w, 3);
    for (int32_t d = 0; d < ndims; d++)
        extents[d] = 1 + pick(w, max_size);
    w->mesh = chm_mesh_make(&w->ctx, "m", naxes, axes, sizes);
    w->shape = chm_shape_make(&w->ctx, ndims, dims, extents);
}

/* A layout whose partial axes are among 'may_owe', and include 'must_owe'. */
static inline const ChmLayout *random_layout(World *w, ChmAxes may_owe, ChmAxes must_owe)
{
    ChmLayout l = {.mesh = w->mesh, .ndims = w->shape->ndims};
    int32_t order[CHM_MAX_AXES] = {0};
    for (int32_t i = 0; i < w->mesh->naxes; i++) { /* shuffled: split orders come out in any order */
        int32_t j = pick(w, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int32_t i = 0; i < w->mesh->naxes; i++) {
        int32_t axis = order[i], state = pick(w, 9);
        if ((must_owe & CHM_AXIS(axis)) || ((may_owe & CHM_AXIS(axis)) && state > 6)) {
            l.partial |= CHM_AXIS(axis);
        } else if (state < 4) {
            chm_seq_push(&l.dim[pick(w, l.ndims)], axis);
        } else if (state == 4) {
            l.pinned |= CHM_AXIS(axis);
            l.pin[axis] = pick(w, w->mesh->axis_size[axis]);
        }
    }
    return chm_layout_make(&w->ctx, &l);
}

/* ---- elements, one by one */

/* The element with this row-major number, as indices. */
static inline void unflatten(const ChmShape *s, int64_t e, int64_t *index)
{
    for (int32_t d = s->ndims - 1; d >= 0; d--) {
        index[d] = e % s->dim_size[d];
        e /= s->dim_size[d];
    }
}

static inline bool holds(const ChmShape *s, const ChmLayout *l, int32_t rank, const int64_t *index)
{
    ChmBox box;
    if (!chm_layout_present(l, rank))
        return false;
    chm_layout_box(s, l, rank, &box);
    for (int32_t d = 0; d < s->ndims; d++)
        if (index[d] < box.lo[d] || index[d] >= box.hi[d])
            return false;
    return true;
}

#endif
