/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/buffers.c - the arena plan.
 */
#include "ir/buffers.h"

#include "base/vec.h"
#include "ir/geom.h"

#include <stdlib.h>

/* A value that needs arena bytes, from the op that makes it to the last that reads it, both included: that is why a
 * result never overlaps its operand. An op that is started reads until the wait of its result, which counts for both.
 */
typedef struct Range {
    int32_t id;
    const ChmValue *value;
    int32_t first_op, last_op;
    int64_t bytes, offset;
} Range;

static int by_size(const void *a, const void *b)
{
    const Range *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    return chm_add64(a, b, &sum) ? sum : INT64_MAX;
}

int64_t chm_arena_bytes(const ChmType *type)
{
    int64_t bytes = add_saturating(chm_max_local_bytes(type), CHM_ARENA_ALIGN - 1);
    return bytes == INT64_MAX ? bytes : bytes / CHM_ARENA_ALIGN * CHM_ARENA_ALIGN;
}

/* The lowest offset at which r meets none of the ranges in 'placed', which stand in order of offset. */
static int64_t find_gap(const Range *r, Range *const *placed, int32_t nplaced)
{
    int64_t at = 0;
    for (int32_t i = 0; i < nplaced; i++) {
        const Range *p = placed[i];
        if (p->last_op < r->first_op || r->last_op < p->first_op)
            continue;
        if (p->offset >= add_saturating(at, r->bytes))
            break;
        int64_t end = add_saturating(p->offset, p->bytes);
        if (end > at)
            at = end;
    }
    return at;
}

static void insert_by_offset(Range **placed, int32_t nplaced, Range *r)
{
    int32_t i = nplaced;
    for (; i > 0 && placed[i - 1]->offset > r->offset; i--)
        placed[i] = placed[i - 1];
    placed[i] = r;
}

void chm_buffers_plan(ChmArena *arena, ChmModule *m, ChmBuffers *out)
{
    int32_t n = chm_module_number(m);
    *out = (ChmBuffers){.place = CHM_NEW_ARRAY(arena, ChmPlace, n), .nvalues = n};
    Range *ranges = CHM_NEW_ARRAY(arena, Range, n); /* by value id */
    int32_t position = 0, noutputs = 0;
    for (const ChmOp *op = m->first; op; op = op->next, position++) {
        if (op->operand) {
            ChmPlace *place = &out->place[op->operand->id];
            ranges[op->operand->id].last_op = position;
            if (op->code == CHM_OP_WAIT)
                ranges[op->operand->def->operand->id].last_op = position;
            if (op->code == CHM_OP_OUTPUT && place->home == CHM_HOME_ARENA)
                *place = (ChmPlace){.home = CHM_HOME_OUTPUT, .index = noutputs};
            noutputs += op->code == CHM_OP_OUTPUT;
        }
        if (op->result) {
            int32_t id = op->result->id;
            ranges[id] = (Range){.id = id, .value = op->result, .first_op = position, .last_op = position};
            if (op->code == CHM_OP_INPUT)
                out->place[id] = (ChmPlace){.home = CHM_HOME_INPUT, .index = op->tensor->index};
            else
                ranges[id].bytes = chm_arena_bytes(op->result->type);
        }
    }
    Range **placed = CHM_NEW_ARRAY(arena, Range *, n);
    int32_t nplaced = 0;
    qsort(ranges, (size_t)n, sizeof *ranges, by_size);
    for (int32_t i = 0; i < n; i++) {
        Range *r = &ranges[i];
        ChmPlace *place = &out->place[r->id];
        if (place->home != CHM_HOME_ARENA)
            continue;
        r->offset = place->offset_bytes = find_gap(r, placed, nplaced);
        insert_by_offset(placed, nplaced++, r);
        int64_t end = add_saturating(r->offset, r->bytes);
        if (end > out->arena_bytes) {
            out->arena_bytes = end;
            out->top = r->value;
        }
    }
}
