/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/demand_one.c - what one arrow demands, in closed form: one visit to each rank, or to each unit of ranks.
 */
#include "cost/demand.h"

static bool is_zero_on(const ChmMesh *m, const ChmAxisSeq *axes, int32_t rank)
{
    return chm_seq_clear(m, axes, rank) == rank;
}

/* ---- what a unit has of one dim: the blocks whose digits on the outer axes are the rank's */

typedef struct Runs {
    int64_t n, k;          /* blocks [first of run i] of k over n */
    int64_t outer;         /* the digits of the outer axes, at their weights */
    int64_t count;         /* of runs */
    ChmAxisSeq free, held; /* the inner axes, by which runs differ, and the outer ones; the weights of their digits */
    int64_t free_weight[CHM_MAX_AXES], held_weight[CHM_MAX_AXES];
    const ChmMesh *mesh;
} Runs;

/* All but 'outer', which is a unit's own. Weights are set as far as there are axes: this is asked for again and again.
 */
static void runs_init(Runs *x, const ChmShape *shape, const ChmLayout *l, int32_t d, ChmAxes inside)
{
    const ChmAxisSeq *split = &l->dim[d];
    int32_t len = split->len;
    while (len > 0 && inside & CHM_AXIS(split->at[len - 1]))
        len--; /* joined at the minor end: one greater block */
    x->n = shape->dim_size[d];
    x->k = x->count = 1;
    x->outer = 0;
    x->mesh = l->mesh;
    x->free.len = x->held.len = 0;
    for (int32_t i = len - 1; i >= 0; i--) {
        int32_t axis = split->at[i], size = l->mesh->axis_size[axis];
        if (inside & CHM_AXIS(axis)) {
            x->free_weight[x->free.len] = x->k;
            chm_seq_push(&x->free, axis);
            x->count *= size;
        } else {
            x->held_weight[x->held.len] = x->k;
            chm_seq_push(&x->held, axis);
        }
        x->k *= size;
    }
}

static void runs_of_unit(Runs *x, int32_t rank)
{
    x->outer = 0;
    for (int32_t i = 0; i < x->held.len; i++)
        x->outer += x->held_weight[i] * chm_mesh_coord(x->mesh, rank, x->held.at[i]);
}

/* In rising order. */
static void run_at(const Runs *x, int64_t i, int64_t *lo, int64_t *hi)
{
    int64_t block = x->outer;
    for (int32_t f = 0; f < x->free.len; f++) { /* the minor axis first */
        int32_t size = x->mesh->axis_size[x->free.at[f]];
        block += i % size * x->free_weight[f];
        i /= size;
    }
    *lo = chm_block_begin(x->n, x->k, block);
    *hi = chm_block_begin(x->n, x->k, block + 1);
}

static int64_t runs_elems(const Runs *x)
{
    int64_t sum = 0, lo, hi;
    for (int64_t i = 0; i < x->count; i++) {
        run_at(x, i, &lo, &hi);
        sum += hi - lo;
    }
    return sum;
}

static int64_t runs_shared(const Runs *a, const Runs *b)
{
    int64_t sum = 0, i = 0, j = 0;
    while (i < a->count && j < b->count) {
        int64_t alo, ahi, blo, bhi;
        run_at(a, i, &alo, &ahi);
        run_at(b, j, &blo, &bhi);
        int64_t both = chm_min64(ahi, bhi) - chm_max64(alo, blo);
        sum += both > 0 ? both : 0;
        if (ahi <= bhi)
            i++;
        else
            j++;
    }
    return sum;
}

/* ---- what a rank or a unit has */

typedef struct Pieces {
    int64_t have, want, both; /* elements, present or not */
} Pieces;

/* Of units: what they have and want, dim by dim. */
typedef struct Sides {
    Runs have[CHM_MAX_DIMS], want[CHM_MAX_DIMS];
} Sides;

static void sides_init(Sides *s, const ChmDemand *x)
{
    for (int32_t d = 0; d < x->shape->ndims; d++) {
        runs_init(&s->have[d], x->shape, x->from, d, x->inside);
        runs_init(&s->want[d], x->shape, x->to[0], d, x->inside);
    }
}

static Pieces pieces_of_unit(Sides *s, int32_t ndims, int32_t rank)
{
    Pieces p = {1, 1, 1};
    for (int32_t d = 0; d < ndims; d++) {
        Runs *have = &s->have[d], *want = &s->want[d];
        runs_of_unit(have, rank);
        runs_of_unit(want, rank);
        p.have *= runs_elems(have);
        p.want *= runs_elems(want);
        p.both *= runs_shared(have, want);
    }
    return p;
}

static Pieces pieces_of_rank(const ChmDemand *x, int32_t rank)
{
    ChmBox have, want;
    chm_layout_box(x->shape, x->from, rank, &have);
    chm_layout_box(x->shape, x->to[0], rank, &want);
    return (Pieces){chm_box_elems(&have), chm_box_elems(&want), chm_box_shared(&have, &want)};
}

void chm_demand_of_one(ChmDemand *x)
{
    const ChmLayout *from = x->from, *to = x->to[0];
    const ChmMesh *m = from->mesh;
    ChmAxes settled = from->partial & ~to->partial & ~x->inside;
    ChmAxes spread = chm_replicated_axes(to) & ~x->inside; /* in which the needers of an element differ */
    ChmAxes common = spread & ~(from->split | from->pinned);
    ChmAxisSeq settled_seq = chm_seq_of_set(settled), staying = chm_seq_of_set(to->partial & ~x->inside);
    ChmAxisSeq replicas = chm_seq_of_set(chm_replicated_axes(from) & ~x->inside);
    ChmAxisSeq needers = chm_seq_of_set(spread), both_seq = chm_seq_of_set(common);
    ChmAxisSeq units = chm_seq_of_set(chm_axes_outside(m, x->inside));
    int32_t nunits = (int32_t)chm_mesh_extent(m, &units);
    int64_t classes = chm_mesh_extent(m, &settled_seq);
    /* The needers of an element may all be of one class only if no axis that tells classes apart is free for them. */
    bool confined = !((from->split | from->pinned | settled) & spread);
    int64_t met = 0, sum_in = 0; /* elements of one problem that a holder needs */
    Sides sides;                 /* of units alone */
    if (x->inside)
        sides_init(&sides, x);

    for (int32_t r = 0; r < m->ranks; r++)
        x->in[r] = x->out[r] = 0;
    for (int32_t u = 0; u < nunits; u++) {
        int32_t r = x->inside ? chm_seq_offset(m, &units, u) : u;
        bool has = chm_present_outside(from, r, x->inside), needs = chm_present_outside(to, r, x->inside);
        Pieces p = x->inside ? pieces_of_unit(&sides, x->shape->ndims, r) : pieces_of_rank(x, r);
        int64_t both = has && needs ? p.both : 0;
        if (needs)
            x->in[r] = p.want - (classes == 1 ? both : 0);
        sum_in = chm_sat_add(sum_in, x->in[r]);
        if (!has)
            continue;
        int32_t first = chm_seq_clear(m, &replicas, r);
        if (first == r)
            x->out[r] += p.have;
        if (confined && is_zero_on(m, &needers, r)) /* once for all needers of these elements */
            x->out[first] -= both;
        if (is_zero_on(m, &both_seq, r) && is_zero_on(m, &staying, r))
            met += both;
    }

    if (classes == 1) {
        x->total = sum_in;
        return;
    }
    int64_t per_elem = classes - 1 + chm_mesh_extent(m, &needers) - 1 + 1;
    x->total = chm_sat_mul(chm_sat_mul(x->shape->elems, per_elem) - met, chm_mesh_extent(m, &staying));
}
