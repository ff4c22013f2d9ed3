/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/type.h"

#include <string.h>

const ChmDtypeInfo chm_dtypes[CHM_NDTYPES] = {
#define X(CODE, name, bytes, kind) {#name, bytes, CHM_KIND_##kind},
    CHM_DTYPES(X)
#undef X
};

const ChmShape *chm_shape_make(ChmCtx *ctx, int32_t ndims, const char *const *names, const int64_t *sizes)
{
    if (ndims < 1 || ndims > CHM_MAX_DIMS)
        return NULL;
    ChmShape s;
    memset(&s, 0, sizeof s);
    s.ndims = ndims;
    s.elems = 1;
    int64_t bytes;
    for (int32_t i = 0; i < ndims; i++) {
        if (sizes[i] < 1 || !chm_mul64(s.elems, sizes[i], &s.elems))
            return NULL;
        s.dim_name[i] = chm_intern_str(&ctx->strings, names[i]);
        s.dim_size[i] = sizes[i];
    }
    if (!chm_mul64(s.elems, 8, &bytes))
        return NULL;
    return chm_intern_bytes(&ctx->records, &s, sizeof s);
}

int32_t chm_shape_find_dim(const ChmShape *s, const char *interned_name)
{
    for (int32_t i = 0; i < s->ndims; i++)
        if (s->dim_name[i] == interned_name)
            return i;
    return -1;
}

const ChmType *chm_type_make(ChmCtx *ctx, ChmDtype dtype, const ChmShape *shape, const ChmLayout *layout)
{
    ChmType t;
    memset(&t, 0, sizeof t);
    t.dtype = dtype;
    t.shape = shape;
    t.layout = layout;
    return chm_intern_bytes(&ctx->records, &t, sizeof t);
}

const ChmType *chm_type_with_layout(ChmCtx *ctx, const ChmType *t, const ChmLayout *layout)
{
    return chm_type_make(ctx, t->dtype, t->shape, layout);
}
