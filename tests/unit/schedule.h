/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/schedule.h - small modules written in C, right or deliberately wrong: axes and dims have one letter, a
 * layout is a short text, and the result type of an op may be forged.
 */
#ifndef TESTS_SCHEDULE_H
#define TESTS_SCHEDULE_H

#include "ir/expect.h"
#include "ir/geom.h"

#include <string.h>

typedef struct Schedule {
    ChmCtx ctx;
    const ChmMesh *mesh;
    ChmModule *m;
    ChmArena arena; /* of expectations */
} Schedule;

/* Axes a, b, c... of these sizes; 0 ends the list. */
static inline void schedule_init(Schedule *s, const int32_t *sizes)
{
    const char *names[CHM_MAX_AXES];
    int32_t n = 0;
    chm_ctx_init(&s->ctx);
    for (; sizes[n]; n++) {
        char name[2] = {(char)('a' + n), 0};
        names[n] = chm_intern_str(&s->ctx.strings, name);
    }
    s->mesh = chm_mesh_make(&s->ctx, chm_intern_str(&s->ctx.strings, "mesh"), n, names, sizes);
    s->m = chm_module_new(&s->ctx, "test", s->mesh);
    chm_arena_init(&s->arena, &s->ctx.guard);
}

static inline void schedule_fini(Schedule *s)
{
    chm_arena_fini(&s->arena);
    chm_module_free(s->m);
    chm_ctx_fini(&s->ctx);
}

/* "ab,c|d|e1": the first dim is split by a/b, the second by c; d is partial; e is pinned at 1. */
static inline const ChmLayout *schedule_layout(Schedule *s, const char *text)
{
    ChmLayout l = {.mesh = s->mesh, .ndims = 1};
    int part = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '|')
            part++;
        else if (*c == ',')
            l.ndims++;
        else if (part == 0)
            chm_seq_push(&l.dim[l.ndims - 1], *c - 'a');
        else if (part == 1)
            l.partial |= CHM_AXIS(*c - 'a');
        else {
            l.pinned |= CHM_AXIS(*c - 'a');
            l.pin[*c - 'a'] = c[1] - '0';
            c++;
        }
    }
    return chm_layout_make(&s->ctx, &l);
}

static inline ChmAxisSeq schedule_axes(const char *text)
{
    ChmAxisSeq seq = {0};
    for (; *text; text++)
        chm_seq_push(&seq, *text - 'a');
    return seq;
}

/* Input of a new tensor 'name' with dims x, y, z... of these sizes (0 ends the list). */
static inline ChmValue *schedule_input(Schedule *s, const char *name, ChmDtype dtype, const int64_t *sizes,
                                       const char *layout)
{
    const char *names[CHM_MAX_DIMS];
    int32_t n = 0;
    for (; sizes[n]; n++) {
        char dim[2] = {(char)('x' + n), 0};
        names[n] = chm_intern_str(&s->ctx.strings, dim);
    }
    const ChmShape *shape = chm_shape_make(&s->ctx, n, names, sizes);
    const char *interned = chm_intern_str(&s->ctx.strings, name);
    const ChmTensor *t = chm_module_add_tensor(s->m, interned, dtype, shape, (ChmSpan){0});
    return chm_build_input(s->m, NULL, (ChmSpan){0}, t,
                           chm_type_make(&s->ctx, dtype, shape, schedule_layout(s, layout)), interned);
}

/* The layout is believed, right or wrong. */
static inline ChmValue *schedule_op(Schedule *s, ChmValue *v, ChmOpcode code, ChmAttrs attrs, const char *to)
{
    ChmStep step = {code, attrs, schedule_layout(s, to)};
    return chm_build_step(s->m, NULL, (ChmSpan){0}, v, &step, NULL);
}

static inline void schedule_output(Schedule *s, ChmValue *v, const char *name)
{
    chm_build_output(s->m, NULL, (ChmSpan){0}, v, chm_intern_str(&s->ctx.strings, name));
}

#endif
