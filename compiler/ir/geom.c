/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/geom.h"

int64_t chm_block_begin(int64_t n, int64_t k, int64_t b)
{
    /* b*n/k with n = q*k + r: both products stay small, since b, r and k are below 2^31. */
    int64_t q = n / k, r = n % k;
    return r ? b * q + b * r / k : b * q; /* the searches ask millions of times, mostly where it is even */
}

int64_t chm_box_elems(const ChmBox *b)
{
    int64_t n = 1;
    for (int32_t d = 0; d < b->ndims; d++)
        n *= b->hi[d] > b->lo[d] ? b->hi[d] - b->lo[d] : 0;
    return n;
}

bool chm_box_meet(const ChmBox *a, const ChmBox *b, ChmBox *out)
{
    bool meets = true;
    out->ndims = a->ndims;
    for (int32_t d = 0; d < a->ndims; d++) {
        out->lo[d] = a->lo[d] > b->lo[d] ? a->lo[d] : b->lo[d];
        out->hi[d] = a->hi[d] < b->hi[d] ? a->hi[d] : b->hi[d];
        if (out->hi[d] <= out->lo[d]) {
            out->hi[d] = out->lo[d];
            meets = false;
        }
    }
    return meets;
}

int64_t chm_layout_block_index(const ChmLayout *l, int32_t rank, int32_t d)
{
    return chm_group_index(l->mesh, rank, &l->dim[d]);
}

int64_t chm_layout_block_count(const ChmLayout *l, int32_t d)
{
    return chm_mesh_extent(l->mesh, &l->dim[d]);
}

bool chm_layout_present(const ChmLayout *l, int32_t rank)
{
    if (l->pinned)
        for (int32_t a = 0; a < l->mesh->naxes; a++)
            if (l->pinned & CHM_AXIS(a) && chm_mesh_coord(l->mesh, rank, a) != l->pin[a])
                return false;
    return true;
}

void chm_layout_box(const ChmShape *s, const ChmLayout *l, int32_t rank, ChmBox *out)
{
    out->ndims = s->ndims;
    for (int32_t d = 0; d < s->ndims; d++) {
        out->lo[d] = 0;
        out->hi[d] = s->dim_size[d];
        if (l->dim[d].len == 0)
            continue;
        int64_t k = chm_layout_block_count(l, d), b = chm_layout_block_index(l, rank, d);
        out->lo[d] = chm_block_begin(s->dim_size[d], k, b);
        out->hi[d] = chm_block_begin(s->dim_size[d], k, b + 1);
    }
}

int64_t chm_local_elems(const ChmShape *s, const ChmLayout *l, int32_t rank)
{
    if (!chm_layout_present(l, rank))
        return 0;
    ChmBox box;
    chm_layout_box(s, l, rank, &box);
    return chm_box_elems(&box);
}

int64_t chm_local_bytes(const ChmType *t, int32_t rank)
{
    return chm_local_elems(t->shape, t->layout, rank) * chm_dtypes[t->dtype].bytes;
}

int64_t chm_max_local_bytes(const ChmType *t)
{
    /* The largest block of K over n has ceil(n/K) elements, and the last block is such a one on every dim at once. */
    int64_t n = chm_dtypes[t->dtype].bytes;
    for (int32_t d = 0; d < t->shape->ndims; d++) {
        int64_t size = t->shape->dim_size[d], k = chm_layout_block_count(t->layout, d);
        n *= size - chm_block_begin(size, k, k - 1);
    }
    return n;
}

int64_t chm_contribution_index(const ChmLayout *l, ChmAxes partial_axes, int32_t rank)
{
    ChmAxisSeq s = chm_seq_of_set(partial_axes);
    return chm_group_index(l->mesh, rank, &s);
}
