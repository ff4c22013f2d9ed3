/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/mesh.h"

#include <string.h>

const ChmMesh *chm_mesh_make(ChmCtx *ctx, const char *name, int32_t naxes, const char *const *names,
                             const int32_t *sizes)
{
    if (naxes < 0 || naxes > CHM_MAX_AXES)
        return NULL;
    ChmMesh m;
    memset(&m, 0, sizeof m); /* records are compared by their bytes, padding too */
    m.name = chm_intern_str(&ctx->strings, name);
    m.naxes = naxes;
    int64_t ranks = 1;
    for (int32_t i = naxes - 1; i >= 0; i--) {
        if (sizes[i] < 1)
            return NULL;
        m.axis_name[i] = chm_intern_str(&ctx->strings, names[i]);
        m.axis_size[i] = sizes[i];
        m.stride[i] = (int32_t)ranks;
        if (sizes[i] == 1)
            m.trivial |= CHM_AXIS(i);
        ranks *= sizes[i];
        if (ranks > CHM_MAX_RANKS)
            return NULL;
    }
    m.ranks = (int32_t)ranks;
    return chm_intern_bytes(&ctx->records, &m, sizeof m);
}

int32_t chm_mesh_find_axis(const ChmMesh *m, const char *interned_name)
{
    for (int32_t i = 0; i < m->naxes; i++)
        if (m->axis_name[i] == interned_name)
            return i;
    return -1;
}

/* The letters of the name before its dot. */
static size_t whole_len(const char *name)
{
    return strcspn(name, ".");
}

static bool is_part_of(const char *name, const char *whole, size_t len)
{
    return strncmp(name, whole, len) == 0 && name[len] == '.';
}

int32_t chm_mesh_parts(const ChmMesh *m, int32_t axis)
{
    const char *name = m->axis_name[axis];
    int32_t n = 1;
    while (axis + n < m->naxes && is_part_of(m->axis_name[axis + n], name, whole_len(name)))
        n++;
    return n;
}

int32_t chm_mesh_find(const ChmMesh *m, const char *name, int32_t *count)
{
    for (int32_t i = 0; i < m->naxes; i++) {
        bool whole = is_part_of(m->axis_name[i], name, strlen(name));
        *count = whole ? chm_mesh_parts(m, i) : 1;
        if (whole || strcmp(m->axis_name[i], name) == 0)
            return i;
    }
    return -1;
}

void chm_mesh_print(ChmOut *out, const ChmMesh *m)
{
    chm_out_printf(out, "%s (", m->name);
    for (int32_t i = 0; i < m->naxes; i++)
        chm_out_printf(out, "%s%s = %d", i ? ", " : "", m->axis_name[i], (int)m->axis_size[i]);
    chm_out_putc(out, ')');
}

ChmAxes chm_seq_set(const ChmAxisSeq *s)
{
    ChmAxes set = 0;
    for (int32_t i = 0; i < s->len; i++)
        set |= CHM_AXIS(s->at[i]);
    return set;
}

bool chm_seq_equal(const ChmAxisSeq *a, const ChmAxisSeq *b)
{
    return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

void chm_seq_push(ChmAxisSeq *s, int32_t axis)
{
    s->at[s->len++] = (uint8_t)axis;
}

ChmAxisSeq chm_seq_of_set(ChmAxes set)
{
    ChmAxisSeq s = {0};
    for (int32_t i = 0; set; i++, set >>= 1)
        if (set & 1)
            chm_seq_push(&s, i);
    return s;
}

ChmAxisSeq chm_seq_slice(const ChmAxisSeq *s, int32_t begin, int32_t end)
{
    ChmAxisSeq r = {0};
    for (int32_t i = begin; i < end; i++)
        chm_seq_push(&r, s->at[i]);
    return r;
}

int32_t chm_seq_common_prefix(const ChmAxisSeq *a, const ChmAxisSeq *b)
{
    int32_t n = 0;
    while (n < a->len && n < b->len && a->at[n] == b->at[n])
        n++;
    return n;
}

bool chm_seq_ends_with(const ChmAxisSeq *s, const ChmAxisSeq *suffix)
{
    return suffix->len <= s->len && memcmp(s->at + (s->len - suffix->len), suffix->at, suffix->len) == 0;
}

/* The length of the run from place i on that is all parts of an axis in their order; 1 where there is none. */
static int32_t parts_in_order(const ChmMesh *mesh, const ChmAxisSeq *s, int32_t i)
{
    int32_t first = s->at[i], whole, n = 0;
    whole = chm_mesh_parts(mesh, first);
    while (n < whole && i + n < s->len && s->at[i + n] == first + n)
        n++;
    return n == whole && (first == 0 || chm_mesh_parts(mesh, first - 1) == 1) ? n : 1;
}

void chm_seq_print(ChmOut *out, const ChmMesh *mesh, const ChmAxisSeq *s, const char *separator)
{
    int32_t n;
    for (int32_t i = 0; i < s->len; i += n) {
        const char *name = mesh->axis_name[s->at[i]];
        n = parts_in_order(mesh, s, i);
        chm_out_printf(out, "%s%.*s", i ? separator : "", n > 1 ? (int)strcspn(name, ".") : (int)strlen(name), name);
    }
}

int64_t chm_mesh_extent(const ChmMesh *m, const ChmAxisSeq *s)
{
    int64_t n = 1;
    for (int32_t i = 0; i < s->len; i++)
        n *= m->axis_size[s->at[i]];
    return n;
}

int32_t chm_group_index(const ChmMesh *m, int32_t rank, const ChmAxisSeq *over)
{
    int32_t k = 0;
    for (int32_t i = 0; i < over->len; i++)
        k = k * m->axis_size[over->at[i]] + chm_mesh_coord(m, rank, over->at[i]);
    return k;
}

int32_t chm_group_member(const ChmMesh *m, int32_t rank, const ChmAxisSeq *over, int32_t k)
{
    for (int32_t i = over->len - 1; i >= 0; i--) {
        int32_t a = over->at[i], size = m->axis_size[a];
        rank += (k % size - chm_mesh_coord(m, rank, a)) * m->stride[a];
        k /= size;
    }
    return rank;
}
