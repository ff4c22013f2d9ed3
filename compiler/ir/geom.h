/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/geom.h - where the pieces of a tensor are: blocks, boxes, the ranks that hold them.
 *
 * Block rule: block b of K over n elements is [floor(b*n/K), floor((b+1)*n/K)). Cuts always come from the global extent
 * and the whole split, so the blocks of seq/dp/tp inside one dp make exactly the block of seq/dp, even or not.
 */
#ifndef CHM_IR_GEOM_H
#define CHM_IR_GEOM_H

#include "ir/type.h"

int64_t chm_block_begin(int64_t n, int64_t k,
                        int64_t b); /* floor(b*n/k) without overflow; 0 <= b <= k, n >= 0, 1 <= k < 2^31 */

/* A half-open box of element indices. */
typedef struct ChmBox {
    int32_t ndims;
    int64_t lo[CHM_MAX_DIMS], hi[CHM_MAX_DIMS];
} ChmBox;
int64_t chm_box_elems(const ChmBox *b);                           /* 0 when empty */
bool chm_box_meet(const ChmBox *a, const ChmBox *b, ChmBox *out); /* false (and *out empty) when they do not meet */

/* Index of the block of dim d that the rank holds, and the number of blocks. */
int64_t chm_layout_block_index(const ChmLayout *l, int32_t rank, int32_t d);
int64_t chm_layout_block_count(const ChmLayout *l, int32_t d);

bool chm_layout_present(const ChmLayout *l, int32_t rank); /* the rank is at all pinned coordinates */
/* The box of a rank's block in global indices, whether or not the value is present there. */
void chm_layout_box(const ChmShape *s, const ChmLayout *l, int32_t rank, ChmBox *out);
/* Elements of the local buffer: 0 where absent. */
int64_t chm_local_elems(const ChmShape *s, const ChmLayout *l, int32_t rank);
int64_t chm_local_bytes(const ChmType *t, int32_t rank);
/* The largest local buffer of any rank; closed form, no loop over ranks. */
int64_t chm_max_local_bytes(const ChmType *t);

/* Row-major index of the rank's coordinates over the partial axes (mesh order): which contribution it holds. */
int64_t chm_contribution_index(const ChmLayout *l, ChmAxes partial_axes, int32_t rank);

#endif
