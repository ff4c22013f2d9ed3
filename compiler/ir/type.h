/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/type.h - dtypes, shapes, layouts, types. All interned: equality is pointer equality.
 */
#ifndef CHM_IR_TYPE_H
#define CHM_IR_TYPE_H

#include "ir/mesh.h"

#define CHM_MAX_DIMS 8

/* ---- dtypes: name, bytes, kind */
#define CHM_DTYPES(X)       \
    X(F64, f64, 8, FLOAT)   \
    X(F32, f32, 4, FLOAT)   \
    X(F16, f16, 2, FLOAT)   \
    X(BF16, bf16, 2, FLOAT) \
    X(I64, i64, 8, INT)     \
    X(I32, i32, 4, INT)     \
    X(I8, i8, 1, INT)       \
    X(U8, u8, 1, UINT)

typedef enum ChmDtype {
#define X(CODE, name, bytes, kind) CHM_##CODE,
    CHM_DTYPES(X)
#undef X
        CHM_NDTYPES
} ChmDtype;
typedef enum ChmDtypeKind { CHM_KIND_FLOAT, CHM_KIND_INT, CHM_KIND_UINT } ChmDtypeKind;
typedef struct ChmDtypeInfo {
    const char *name;
    int32_t bytes;
    ChmDtypeKind kind;
} ChmDtypeInfo;
extern const ChmDtypeInfo chm_dtypes[CHM_NDTYPES];

/* ---- shapes: named dims with global sizes (each >= 1), in declared order */
typedef struct ChmShape {
    int32_t ndims;
    const char *dim_name[CHM_MAX_DIMS];
    int64_t dim_size[CHM_MAX_DIMS];
    int64_t elems; /* product; elems times 8 bytes fits an int64_t */
} ChmShape;
/* NULL when ndims is not in 1..CHM_MAX_DIMS, a size is < 1, or the product times 8 overflows. */
const ChmShape *chm_shape_make(ChmCtx *ctx, int32_t ndims, const char *const *names, const int64_t *sizes);
int32_t chm_shape_find_dim(const ChmShape *s, const char *interned_name); /* -1 when absent */

/* ---- layouts
 * Invariant, checked in chm_layout_make: every axis is in exactly one state: replicated, splits one dim, partial,
 * pinned. Axes of size 1 have no state: _make removes them wherever they stand. */
typedef struct ChmLayout {
    const ChmMesh *mesh;
    int32_t ndims;
    ChmAxes partial;              /* a sum over these axes is still owed */
    ChmAxes pinned;               /* present only at pin[axis] */
    ChmAxes split;                /* union of the dims' splits */
    int32_t pin[CHM_MAX_AXES];    /* coordinate of each pinned axis, else 0 */
    ChmAxisSeq dim[CHM_MAX_DIMS]; /* split of each dim, major first */
} ChmLayout;

/* Interned copy of a draft, normalised (sets recomputed, size-1 axes dropped). NULL when the invariant is broken or a
 * pin is outside its axis. Drafts are edited copies: ChmLayout d = *from; ...; chm_layout_make(ctx, &d). */
const ChmLayout *chm_layout_make(ChmCtx *ctx, const ChmLayout *draft);
const ChmLayout *chm_layout_replicated(ChmCtx *ctx, const ChmMesh *mesh, int32_t ndims);
/* The split dim of an axis, or -1. */
int32_t chm_layout_dim_of(const ChmLayout *l, int32_t axis);

/* ---- types: what a value is */
typedef struct ChmType {
    ChmDtype dtype;
    const ChmShape *shape;
    const ChmLayout *layout;
} ChmType;
const ChmType *chm_type_make(ChmCtx *ctx, ChmDtype dtype, const ChmShape *shape, const ChmLayout *layout);
const ChmType *chm_type_with_layout(ChmCtx *ctx, const ChmType *t, const ChmLayout *layout);

/* "[seq/dp/tp, hidden] partial(pp) at(dp=0)": the layout notation of plans and IR alike. */
void chm_layout_print(ChmOut *out, const ChmShape *shape, const ChmLayout *l);
const char *chm_layout_str(ChmCtx *ctx, const ChmShape *shape, const ChmLayout *l); /* in the context's arena */

#endif
