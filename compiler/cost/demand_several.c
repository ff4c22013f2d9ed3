/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/demand_several.c - what several outputs of one tensor demand together: the union of their needs.
 *
 * A rank's boxes, and the elements whose needers agree with given coordinates, are products over the dims. So each dim
 * is cut into intervals that bear a mask, bit i for target i; over all dims the masks meet and the lengths multiply.
 */
#include "cost/demand.h"

#define HELD CHM_AXIS(CHM_DEMAND_TARGETS) /* mask bit: the rank holds it in the source layout */
#define MAX_MASKS (2 << CHM_DEMAND_TARGETS)

/* How many elements bear which mask. Masks of 0 are left out. */
typedef struct Mix {
    int32_t len;
    uint32_t mask[MAX_MASKS];
    int64_t elems[MAX_MASKS];
} Mix;

typedef struct Several {
    const ChmDemand *d;
    const ChmMesh *mesh;
    Mix *all, *dim, *product;
} Several;

static void mix_add(Mix *x, uint32_t mask, int64_t elems)
{
    if (mask == 0 || elems == 0)
        return;
    int32_t i = 0;
    while (i < x->len && x->mask[i] != mask)
        i++;
    if (i == x->len) {
        x->mask[x->len] = mask;
        x->elems[x->len++] = 0;
    }
    x->elems[i] += elems;
}

/* Takes one more dim, which stands in s->dim, into s->all. */
static void mix_take_dim(Several *s)
{
    Mix *product = s->product;
    product->len = 0;
    for (int32_t i = 0; i < s->all->len; i++)
        for (int32_t j = 0; j < s->dim->len; j++)
            mix_add(product, s->all->mask[i] & s->dim->mask[j], s->all->elems[i] * s->dim->elems[j]);
    s->product = s->all;
    s->all = product;
    s->dim->len = 0;
}

static void mix_begin(Several *s)
{
    s->all->len = s->dim->len = 0;
    mix_add(s->all, UINT32_MAX, 1);
}

/* ---- the elements that a rank needs or holds, by target */

static void cut_rank_dim(Mix *out, const ChmBox *boxes, const uint32_t *bits, int32_t n, int32_t d)
{
    int64_t cuts[2 * (CHM_DEMAND_TARGETS + 1)] = {0};
    int32_t ncuts = 0;
    for (int32_t i = 0; i < 2 * n; i++) { /* insertion sort */
        int64_t cut = i % 2 ? boxes[i / 2].hi[d] : boxes[i / 2].lo[d];
        int32_t at = ncuts++;
        for (; at > 0 && cuts[at - 1] > cut; at--)
            cuts[at] = cuts[at - 1];
        cuts[at] = cut;
    }
    for (int32_t c = 0; c + 1 < ncuts; c++) {
        uint32_t mask = 0;
        for (int32_t i = 0; i < n; i++)
            if (boxes[i].lo[d] <= cuts[c] && cuts[c] < boxes[i].hi[d])
                mask |= bits[i];
        mix_add(out, mask, cuts[c + 1] - cuts[c]);
    }
}

static void mix_of_rank(Several *s, int32_t rank)
{
    const ChmDemand *x = s->d;
    ChmBox boxes[CHM_DEMAND_TARGETS + 1];
    uint32_t bits[CHM_DEMAND_TARGETS + 1];
    int32_t n = 0;
    for (int32_t i = 0; i <= x->targets; i++) {
        const ChmLayout *l = i < x->targets ? x->to[i] : x->from;
        if (!chm_layout_present(l, rank))
            continue;
        bits[n] = i < x->targets ? CHM_AXIS(i) : HELD;
        chm_layout_box(x->shape, l, rank, &boxes[n++]);
    }
    mix_begin(s);
    for (int32_t d = 0; d < x->shape->ndims; d++) {
        cut_rank_dim(s->dim, boxes, bits, n, d);
        mix_take_dim(s);
    }
}

/* ---- the elements of a rank's source block whose needers agree with the rank on some axes, by target */

/* Whether block b of a split belongs to the rank as far as the axes of 'told' go. */
static bool agrees(const ChmMesh *m, const ChmAxisSeq *split, int64_t b, int32_t rank, ChmAxes told)
{
    for (int32_t i = split->len - 1; i >= 0; i--) {
        int32_t axis = split->at[i], size = m->axis_size[axis];
        if ((told & CHM_AXIS(axis)) && b % size != chm_mesh_coord(m, rank, axis))
            return false;
        b /= size;
    }
    return true;
}

static bool pins_agree(const ChmLayout *l, int32_t rank, ChmAxes told)
{
    for (int32_t a = 0; a < l->mesh->naxes; a++)
        if ((l->pinned & told & CHM_AXIS(a)) && chm_mesh_coord(l->mesh, rank, a) != l->pin[a])
            return false;
    return true;
}

static void cut_block_dim(Several *s, int32_t rank, const ChmBox *block, ChmAxes told, uint32_t targets, int32_t d)
{
    const ChmDemand *x = s->d;
    int64_t n = x->shape->dim_size[d], end;
    for (int64_t at = block->lo[d]; at < block->hi[d]; at = end) {
        uint32_t mask = 0;
        end = block->hi[d];
        for (int32_t i = 0; i < x->targets; i++) {
            int64_t k = chm_layout_block_count(x->to[i], d), b = chm_block_at(n, k, at);
            end = chm_min64(end, chm_block_begin(n, k, b + 1));
            if ((targets & CHM_AXIS(i)) && agrees(s->mesh, &x->to[i]->dim[d], b, rank, told))
                mask |= CHM_AXIS(i);
        }
        mix_add(s->dim, mask, end - at);
    }
}

static void mix_of_block(Several *s, int32_t rank, const ChmBox *block, ChmAxes told)
{
    const ChmDemand *x = s->d;
    uint32_t targets = 0;
    for (int32_t i = 0; i < x->targets; i++)
        if (pins_agree(x->to[i], rank, told))
            targets |= CHM_AXIS(i);
    mix_begin(s);
    for (int32_t d = 0; d < x->shape->ndims; d++) {
        cut_block_dim(s, rank, block, told, targets, d);
        mix_take_dim(s);
    }
}

/* ---- the figures */

static int64_t sum_in(Several *s, int64_t classes, int64_t *needed)
{
    const ChmDemand *x = s->d;
    int64_t sum = 0;
    *needed = 0;
    for (int32_t r = 0; r < s->mesh->ranks; r++) {
        mix_of_rank(s, r);
        x->in[r] = 0;
        for (int32_t i = 0; i < s->all->len; i++) {
            uint32_t mask = s->all->mask[i];
            if (!(mask & (HELD - 1)))
                continue;
            *needed = chm_sat_add(*needed, s->all->elems[i]);
            if (classes > 1 || !(mask & HELD))
                x->in[r] += s->all->elems[i];
        }
        sum = chm_sat_add(sum, x->in[r]);
    }
    return sum;
}

/* Elements of a block that no target's needers take outside the set of replicas: of all targets at once. */
static int64_t kept_inside(Several *s, int32_t rank, const ChmBox *block, ChmAxes told)
{
    uint32_t every = CHM_AXIS(s->d->targets) - 1;
    for (int32_t i = 0; i < s->d->targets; i++)
        if (told & chm_replicated_axes(s->d->to[i]))
            return 0;
    int64_t kept = 0;
    mix_of_block(s, rank, block, told);
    for (int32_t i = 0; i < s->all->len; i++)
        if ((s->all->mask[i] & every) == every)
            kept += s->all->elems[i];
    return kept;
}

/* Elements of a block that some holder needs. */
static int64_t met_inside(Several *s, int32_t rank, const ChmBox *block)
{
    int64_t met = 0;
    mix_of_block(s, rank, block, s->d->from->split | s->d->from->pinned);
    for (int32_t i = 0; i < s->all->len; i++)
        met += s->all->elems[i];
    return met;
}

void chm_demand_of_several(ChmArena *scratch, ChmDemand *x)
{
    const ChmLayout *from = x->from;
    const ChmMesh *m = from->mesh;
    Several s = {x, m, CHM_NEW(scratch, Mix), CHM_NEW(scratch, Mix), CHM_NEW(scratch, Mix)};
    ChmAxes settled = from->partial & ~x->to[0]->partial;
    ChmAxisSeq settled_seq = chm_seq_of_set(settled), staying = chm_seq_of_set(x->to[0]->partial);
    ChmAxisSeq replicas = chm_seq_of_set(chm_replicated_axes(from)), owed = chm_seq_of_set(from->partial);
    int64_t classes = chm_mesh_extent(m, &settled_seq), needed, met = 0;
    int64_t sum = sum_in(&s, classes, &needed);

    for (int32_t r = 0; r < m->ranks; r++) {
        x->out[r] = 0;
        if (!chm_layout_present(from, r) || chm_seq_clear(m, &replicas, r) != r)
            continue;
        ChmBox block;
        chm_layout_box(x->shape, from, r, &block);
        x->out[r] = chm_box_elems(&block) - kept_inside(&s, r, &block, from->split | from->pinned | settled);
        if (classes > 1 && chm_seq_clear(m, &owed, r) == r)
            met += met_inside(&s, r, &block);
    }

    x->total = sum;
    if (classes > 1) {
        int64_t per_problem = chm_sat_add(chm_sat_mul(x->shape->elems, classes - 2), x->shape->elems - met);
        x->total = chm_sat_add(needed, chm_sat_mul(per_problem, chm_mesh_extent(m, &staying)));
    }
}

int64_t chm_demand_several_work(const ChmDemand *x)
{
    const ChmMesh *m = x->from->mesh;
    ChmAxisSeq replicas = chm_seq_of_set(chm_replicated_axes(x->from));
    int64_t per_set = 0;
    for (int32_t d = 0; d < x->shape->ndims; d++)
        for (int32_t i = 0; i < x->targets; i++)
            per_set += 1 + chm_layout_block_count(x->to[i], d) / chm_layout_block_count(x->from, d);
    return chm_sat_mul(per_set, m->ranks / chm_mesh_extent(m, &replicas));
}
