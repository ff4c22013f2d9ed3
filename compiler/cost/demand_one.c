/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/demand_one.c - what one arrow demands, in closed form: one visit to each rank.
 */
#include "cost/demand.h"

static bool is_zero_on(const ChmMesh *m, const ChmAxisSeq *axes, int32_t rank)
{
    return chm_seq_clear(m, axes, rank) == rank;
}

void chm_demand_of_one(ChmDemand *x)
{
    const ChmLayout *from = x->from, *to = x->to[0];
    const ChmMesh *m = from->mesh;
    ChmAxes settled = from->partial & ~to->partial;
    ChmAxes spread = chm_replicated_axes(to); /* in which the needers of an element differ */
    ChmAxes common = spread & ~(from->split | from->pinned);
    ChmAxisSeq settled_seq = chm_seq_of_set(settled), staying = chm_seq_of_set(to->partial);
    ChmAxisSeq replicas = chm_seq_of_set(chm_replicated_axes(from));
    ChmAxisSeq needers = chm_seq_of_set(spread), both_seq = chm_seq_of_set(common);
    int64_t classes = chm_mesh_extent(m, &settled_seq);
    /* The needers of an element may all be of one class only if no axis that tells classes apart is free for them. */
    bool confined = !((from->split | from->pinned | settled) & spread);
    int64_t met = 0, sum_in = 0; /* elements of one problem that a holder needs */

    for (int32_t r = 0; r < m->ranks; r++)
        x->in[r] = x->out[r] = 0;
    for (int32_t r = 0; r < m->ranks; r++) {
        ChmBox have, want;
        bool has = chm_layout_present(from, r), needs = chm_layout_present(to, r);
        chm_layout_box(x->shape, from, r, &have);
        chm_layout_box(x->shape, to, r, &want);
        int64_t both = has && needs ? chm_box_shared(&have, &want) : 0;
        if (needs)
            x->in[r] = chm_box_elems(&want) - (classes == 1 ? both : 0);
        sum_in = chm_sat_add(sum_in, x->in[r]);
        if (!has)
            continue;
        int32_t first = chm_seq_clear(m, &replicas, r);
        if (first == r)
            x->out[r] += chm_box_elems(&have);
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
