/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/mesh.h - device meshes: named axes with sizes; rank = row-major index, last axis fastest.
 */
#ifndef CHM_IR_MESH_H
#define CHM_IR_MESH_H

#include "ir/ctx.h"

#define CHM_MAX_AXES 32
#define CHM_MAX_RANKS (1 << 20) /* what an op does is counted rank by rank */

typedef uint32_t ChmAxes; /* a set of axes, bit i for axis i */
#define CHM_AXIS(i) ((ChmAxes)1 << (i))

/* An ordered sequence of distinct axes, major first. Unused places are 0, so that records compare by their bytes. */
typedef struct ChmAxisSeq {
    uint8_t len;
    uint8_t at[CHM_MAX_AXES];
} ChmAxisSeq;

typedef struct ChmMesh {
    const char *name; /* interned */
    int32_t naxes;
    int32_t ranks; /* product of the sizes */
    const char *axis_name[CHM_MAX_AXES];
    int32_t axis_size[CHM_MAX_AXES];
    int32_t stride[CHM_MAX_AXES]; /* in ranks */
    ChmAxes trivial;              /* the axes of size 1: they have no state anywhere */
} ChmMesh;

/* Interned. NULL when there are more than CHM_MAX_AXES axes, a size is < 1, or the product exceeds CHM_MAX_RANKS. */
const ChmMesh *chm_mesh_make(ChmCtx *ctx, const char *name, int32_t naxes, const char *const *names,
                             const int32_t *sizes);
int32_t chm_mesh_find_axis(const ChmMesh *m, const char *interned_name); /* -1 when absent */

/* Parts of axes (ir/parts.h): axes named "tp.fabric", "tp.node", which stand side by side and together are "tp".
 * The number of axes from this one on that are parts of the same; 1 for a whole axis. */
int32_t chm_mesh_parts(const ChmMesh *m, int32_t axis);
/* Finds an axis, or the first of the parts of one that is named as a whole; *count is how many it has. -1 when absent.
 */
int32_t chm_mesh_find(const ChmMesh *m, const char *name, int32_t *count);
void chm_mesh_print(ChmOut *out, const ChmMesh *m); /* "cluster (pp = 2, tp.fabric = 2, tp.node = 4)" */

static inline int32_t chm_mesh_coord(const ChmMesh *m, int32_t rank, int32_t axis)
{
    return rank / m->stride[axis] % m->axis_size[axis];
}

/* Axis sequences. */
ChmAxes chm_seq_set(const ChmAxisSeq *s);
bool chm_seq_equal(const ChmAxisSeq *a, const ChmAxisSeq *b);
void chm_seq_push(ChmAxisSeq *s, int32_t axis);
ChmAxisSeq chm_seq_of_set(ChmAxes set);                                    /* in mesh order */
ChmAxisSeq chm_seq_slice(const ChmAxisSeq *s, int32_t begin, int32_t end); /* [begin, end) */
int32_t chm_seq_common_prefix(const ChmAxisSeq *a, const ChmAxisSeq *b);
bool chm_seq_ends_with(const ChmAxisSeq *s, const ChmAxisSeq *suffix);
void chm_seq_print(ChmOut *out, const ChmMesh *mesh, const ChmAxisSeq *s, const char *separator);
int64_t chm_mesh_extent(const ChmMesh *m, const ChmAxisSeq *s); /* product of the sizes: the group size */

/* Groups: the ranks that differ only in the axes 'over'; member k has the row-major coordinates k over 'over' as
 * written. This is the one place that defines the order of members; the runtime's is tested against it. */
int32_t chm_group_index(const ChmMesh *m, int32_t rank, const ChmAxisSeq *over);
int32_t chm_group_member(const ChmMesh *m, int32_t rank, const ChmAxisSeq *over, int32_t k);

#endif
