/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/tally.h - inside the cost module: counters that saturate, block lengths, and subsets of mesh axes as grids.
 */
#ifndef CHM_COST_TALLY_H
#define CHM_COST_TALLY_H

#include "cost/cost.h"

/* By the lowest holder of a piece of an exchange: what every holder of it sends, where they send equal parts. */
typedef struct ChmEqualParts {
    int64_t bytes;
    int32_t sends;
} ChmEqualParts;

/* Sums and products of counts >= 0 that stop at INT64_MAX. */
static inline int64_t chm_sat_add(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static inline int64_t chm_sat_mul(int64_t a, int64_t b)
{
    int64_t product;
    return chm_mul64(a, b, &product) ? product : INT64_MAX;
}

static inline int64_t chm_max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t chm_min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t chm_block_len(int64_t n, int64_t k, int64_t b)
{
    return chm_block_begin(n, k, b + 1) - chm_block_begin(n, k, b);
}

/* Elements of b that stand in both boxes. */
static inline int64_t chm_box_shared(const ChmBox *a, const ChmBox *b)
{
    ChmBox both;
    return chm_box_meet(a, b, &both) ? chm_box_elems(&both) : 0;
}

/* The block of k over n that contains element e. O(1) for n < 2^31, else O(log k). */
int64_t chm_block_at(int64_t n, int64_t k, int64_t e);

/* What must be added to a rank with coordinates 0 on the axes of s to reach the row-major index 'at' over them. */
static inline int32_t chm_seq_offset(const ChmMesh *m, const ChmAxisSeq *s, int64_t at)
{
    int32_t offset = 0;
    for (int32_t i = s->len - 1; i >= 0 && at > 0; i--) {
        int32_t axis = s->at[i], size = m->axis_size[axis];
        offset += (int32_t)(at % size) * m->stride[axis];
        at /= size;
    }
    return offset;
}

/* The rank with its coordinates on the axes of s set to 0. */
static inline int32_t chm_seq_clear(const ChmMesh *m, const ChmAxisSeq *s, int32_t rank)
{
    int32_t base = rank;
    for (int32_t i = 0; i < s->len; i++)
        base -= chm_mesh_coord(m, rank, s->at[i]) * m->stride[s->at[i]];
    return base;
}

/* The axes of the mesh that are not in the set. */
static inline ChmAxes chm_axes_outside(const ChmMesh *m, ChmAxes inside)
{
    return (m->naxes == CHM_MAX_AXES ? ~(ChmAxes)0 : CHM_AXIS(m->naxes) - 1) & ~inside;
}

/* Axes that have no state in l: its replicas differ in them alone. */
static inline ChmAxes chm_replicated_axes(const ChmLayout *l)
{
    return chm_axes_outside(l->mesh, l->partial | l->pinned | l->split | l->mesh->trivial);
}

/* The rank, or one that differs from it in the axes 'inside', has the value. */
static inline bool chm_present_outside(const ChmLayout *l, int32_t rank, ChmAxes inside)
{
    if (!(l->pinned & inside))
        return chm_layout_present(l, rank);
    for (int32_t a = 0; a < l->mesh->naxes; a++)
        if (l->pinned & ~inside & CHM_AXIS(a) && chm_mesh_coord(l->mesh, rank, a) != l->pin[a])
            return false;
    return true;
}

/* wires.c: how many wires t accounts for; on a plain switch two a rank, out and in. */
int32_t chm_traffic_wires(const ChmTraffic *t);

/* exchange.c: adds the parts of an exchange or reduce_exchange to t's step_ fields. */
void chm_exchange_traffic(ChmTraffic *t, const ChmShape *shape, int64_t elem_bytes, const ChmLayout *from,
                          const ChmLayout *to);

#endif
