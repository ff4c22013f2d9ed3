/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_parts.c - axes in parts against what they are for: ranks keep their numbers, and the ranks that
 * differ in one part alone meet at one level of the machine.
 */
#include "ir/parts.h"

#include "unit.h"

#define ALL_AXES ((ChmAxes)7)

static ChmTopology two_sizes(int32_t first, int32_t second)
{
    ChmTopology t = {.name = "t", .nlevels = 3};
    t.level[0] = (ChmLevel){.name = "x", .group_ranks = first, .bandwidth_bytes_per_s = 1e9};
    t.level[1] = (ChmLevel){.name = "y", .group_ranks = second, .bandwidth_bytes_per_s = 1e9};
    t.level[2] = (ChmLevel){.name = "z", .bandwidth_bytes_per_s = 1e9};
    return t;
}

static const ChmMesh *make_mesh(ChmCtx *ctx, const int32_t *sizes)
{
    const char *names[] = {"a", "b", "c"};
    return chm_mesh_make(ctx, "m", 3, names, sizes);
}

static const ChmMesh *make_long_mesh(ChmCtx *ctx, int32_t naxes)
{
    const char *names[CHM_MAX_AXES];
    int32_t sizes[CHM_MAX_AXES];
    for (int32_t i = 0; i < naxes; i++) {
        names[i] = chm_arena_printf(&ctx->arena, "a%d", (int)i);
        sizes[i] = i == naxes - 1 ? 8 : 1;
    }
    return chm_mesh_make(ctx, "m", naxes, names, sizes);
}

/* ---- what a cut leaves as it was */

static ChmAxisSeq parts_of(const ChmParts *p, int32_t axis)
{
    ChmAxisSeq s = {0};
    for (int32_t i = 0; i < p->count[axis]; i++)
        chm_seq_push(&s, p->first[axis] + i);
    return s;
}

static void keeps_coordinates(const ChmParts *p)
{
    for (int32_t a = 0; a < p->whole->naxes; a++) {
        ChmAxisSeq parts = parts_of(p, a);
        CU_ASSERT_EQUAL(chm_mesh_extent(p->mesh, &parts), p->whole->axis_size[a]);
        for (int32_t rank = 0; rank < p->whole->ranks; rank++)
            CU_ASSERT_EQUAL(chm_group_index(p->mesh, rank, &parts), chm_mesh_coord(p->whole, rank, a));
    }
}

/* A whole name is found as all parts, a part's as itself; and the sequence of all parts prints as the whole. */
static void keeps_names(ChmCtx *ctx, const ChmParts *p)
{
    for (int32_t a = 0; a < p->whole->naxes; a++) {
        int32_t count;
        CU_ASSERT_EQUAL(chm_mesh_find(p->mesh, p->whole->axis_name[a], &count), p->first[a]);
        CU_ASSERT_EQUAL(count, p->count[a]);
        ChmOut text;
        chm_out_init_arena(&text, &ctx->arena);
        ChmAxisSeq parts = parts_of(p, a);
        chm_seq_print(&text, p->mesh, &parts, "/");
        UNIT_SAME_TEXT(chm_out_text(&text), p->whole->axis_name[a]);
        for (int32_t i = p->first[a]; i < p->first[a] + p->count[a]; i++) {
            CU_ASSERT_EQUAL(chm_mesh_find(p->mesh, p->mesh->axis_name[i], &count), i);
            CU_ASSERT_EQUAL(chm_mesh_find_axis(p->mesh, p->mesh->axis_name[i]), i);
            CU_ASSERT_EQUAL(count, p->count[a] == 1 ? p->count[a] : 1);
        }
    }
}

/* ---- what it is for */

/* Does a level end inside the part, at one of its coordinates that divides it? Then it should have been cut. */
static bool could_be_cut(const ChmTopology *t, const ChmMesh *m, int32_t axis)
{
    for (int32_t i = 0; i + 1 < t->nlevels; i++) {
        int32_t n = t->level[i].group_ranks / m->stride[axis];
        if (n > 1 && n < m->axis_size[axis] && n * m->stride[axis] == t->level[i].group_ranks &&
            m->axis_size[axis] % n == 0)
            return true;
    }
    return false;
}

/* Ranks that differ in the part alone meet at the level that it is called by. */
static void meets_at_its_level(const ChmTopology *t, const ChmMesh *m, int32_t axis)
{
    ChmAxisSeq over = chm_seq_of_set(CHM_AXIS(axis));
    for (int32_t p = 0; p < m->ranks; p++)
        for (int32_t k = 0; k < m->axis_size[axis]; k++) {
            int32_t q = chm_group_member(m, p, &over, k);
            int32_t level = chm_topology_level_between(t, m, p, q);
            CU_ASSERT(p == q || strcmp(strchr(m->axis_name[axis], '.') + 1, t->level[level].name) == 0);
        }
}

static void check_cut(ChmCtx *ctx, const ChmTopology *t, const ChmParts *p, bool even)
{
    keeps_coordinates(p);
    keeps_names(ctx, p);
    for (int32_t a = 0; a < p->mesh->naxes; a++) {
        CU_ASSERT_FALSE(could_be_cut(t, p->mesh, a));
        if (even && strchr(p->mesh->axis_name[a], '.'))
            meets_at_its_level(t, p->mesh, a);
    }
}

static void test_cuts(void)
{
    /* in meshes of powers of two, levels that are powers of two end at coordinates that divide the axis */
    static const int32_t shapes[][3] = {{2, 3, 4}, {2, 8, 2}, {1, 1, 16}, {4, 2, 4}, {12, 1, 3}};
    int32_t cut = 0, whole = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        ChmCtx ctx;
        chm_ctx_init(&ctx);
        const ChmMesh *m = make_mesh(&ctx, shapes[s]);
        for (int32_t first = 1; first <= m->ranks; first++) {
            for (int32_t second = first; second <= m->ranks; second += first) {
                ChmTopology t = two_sizes(first, second);
                ChmParts parts;
                if (m->ranks % first || m->ranks % second)
                    continue;
                chm_parts_find(&ctx, m, &t, ALL_AXES, &parts);
                check_cut(&ctx, &t, &parts, (m->ranks & (m->ranks - 1)) == 0);
                *(parts.mesh == m ? &whole : &cut) += 1;
            }
        }
        chm_ctx_fini(&ctx);
    }
    CU_ASSERT(cut > 10);
    CU_ASSERT(whole > 10);
}

static void test_whole(void)
{
    ChmCtx ctx;
    ChmParts parts;
    chm_ctx_init(&ctx);
    const int32_t sizes[] = {2, 8, 2};
    const ChmMesh *m = make_mesh(&ctx, sizes);
    ChmTopology t = two_sizes(4, 8);
    chm_parts_find(&ctx, m, &t, ALL_AXES, &parts);
    CU_ASSERT_EQUAL(parts.mesh->naxes, 5);
    chm_parts_find(&ctx, m, &t, ALL_AXES & ~CHM_AXIS(1), &parts);
    CU_ASSERT_PTR_EQUAL(parts.mesh, m);
    chm_parts_find(&ctx, m, NULL, ALL_AXES, &parts);
    CU_ASSERT_PTR_EQUAL(parts.mesh, m);
    CU_ASSERT_PTR_EQUAL(chm_parts_topology(&ctx, &parts, &t), &t);
    CU_ASSERT_PTR_NULL(chm_parts_topology(&ctx, &parts, NULL));
    chm_ctx_fini(&ctx);
}

/* Up to CHM_MAX_AXES there is room for two parts more, for one more, for none. */
static void test_room(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmTopology t = two_sizes(2, 4);
    for (int32_t naxes = CHM_MAX_AXES - 3; naxes <= CHM_MAX_AXES; naxes++) {
        ChmParts parts;
        chm_parts_find(&ctx, make_long_mesh(&ctx, naxes), &t, ~(ChmAxes)0, &parts);
        CU_ASSERT_PTR_NOT_NULL(parts.mesh);
        CU_ASSERT_EQUAL(parts.mesh->naxes, naxes + 2 <= CHM_MAX_AXES ? naxes + 2 : naxes);
    }
    chm_ctx_fini(&ctx);
}

/* ---- what stands on the mesh */

static void test_types(void)
{
    ChmCtx ctx;
    ChmParts parts;
    chm_ctx_init(&ctx);
    const int32_t sizes[] = {2, 8, 2};
    const ChmMesh *m = make_mesh(&ctx, sizes);
    ChmTopology t = two_sizes(4, 8), axes = t;
    chm_parts_find(&ctx, m, &t, CHM_AXIS(1) | CHM_AXIS(2), &parts);
    const char *names[] = {"seq", "hidden"};
    const int64_t dims[] = {64, 64};
    const ChmShape *shape = chm_shape_make(&ctx, 2, names, dims);
    ChmLayout draft = {.mesh = m, .ndims = 2, .pinned = CHM_AXIS(0), .pin = {1}, .partial = CHM_AXIS(1)};
    chm_seq_push(&draft.dim[1], 2);
    const ChmLayout *from = chm_layout_make(&ctx, &draft);
    ChmStep step = {.code = CHM_OP_ALL_REDUCE, .attrs = {.over = chm_seq_of_set(CHM_AXIS(1))}};
    ChmWhy why;
    step.to = chm_infer_layout(&ctx, step.code, &step.attrs, shape, from, NULL, &why);
    ChmStep cut = chm_parts_step(&ctx, &parts, &step);
    const ChmLayout *cut_from = chm_parts_layout(&ctx, &parts, from);
    CU_ASSERT_EQUAL(cut.attrs.over.len, 3);
    CU_ASSERT_PTR_EQUAL(chm_infer_layout(&ctx, cut.code, &cut.attrs, shape, cut_from, NULL, &why), cut.to);
    UNIT_SAME_TEXT(chm_layout_str(&ctx, shape, cut_from), "[seq, hidden/c] partial(b) at(a=1)");
    ChmStep shift = {.code = CHM_OP_SHIFT, .attrs = {.axis = 0, .from = 1, .to = 0}};
    shift.to = chm_infer_layout(&ctx, shift.code, &shift.attrs, shape, from, NULL, &why);
    cut = chm_parts_step(&ctx, &parts, &shift);
    CU_ASSERT_PTR_EQUAL(chm_infer_layout(&ctx, cut.code, &cut.attrs, shape, cut_from, NULL, &why), cut.to);
    axes.level[1] = (ChmLevel){.name = "by_axes", .axes = CHM_AXIS(1), .bandwidth_bytes_per_s = 1e9};
    CU_ASSERT_EQUAL(chm_parts_topology(&ctx, &parts, &axes)->level[1].axes, CHM_AXIS(1) | CHM_AXIS(2) | CHM_AXIS(3));
    chm_ctx_fini(&ctx);
}

int main(void)
{
    static const UnitTest tests[] = {{"cuts where levels end", test_cuts},
                                     {"what is not asked for stays whole", test_whole},
                                     {"no more axes than a mesh has", test_room},
                                     {"layouts, steps and topologies", test_types},
                                     UNIT_END};
    return unit_main("parts", tests);
}
