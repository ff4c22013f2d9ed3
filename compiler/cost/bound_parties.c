/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/bound_parties.c - what the ranks of a set must do together, over all tensors of a plan.
 *
 * Let S be a set of ranks and t a tensor. In a schedule that borrows no rank the transfers of t run between its
 * participants alone, the ranks at which t is present first or last. So, of what the ranks of S send together,
 *   - all transfers of t, where all its participants are in S;
 *   - else at least the joint out of each set of its replicas that lies in S: those sets are disjoint;
 * and of what they receive together, all transfers, or else at least the sum of their ins. Transfers of different
 * tensors are different transfers: the sums over t are what S does together, and the worst of its n ranks does no less
 * than an nth. That holds for any S. Those tried are the participants of each tensor, and of all: there the average of
 * a tensor, which says nothing of any rank by itself, still adds to the figures of other tensors.
 */
#include "cost/bounds.h"

#include <string.h>

/* The same ranks are present: as far as they are pinned alike. */
static bool same_pins(const ChmLayout *a, const ChmLayout *b, ChmAxes inside)
{
    ChmAxes pinned = a->pinned & ~inside;
    if (pinned != (b->pinned & ~inside))
        return false;
    for (int32_t x = 0; x < a->mesh->naxes; x++)
        if (pinned & CHM_AXIS(x) && a->pin[x] != b->pin[x])
            return false;
    return true;
}

static bool same_participants(const ChmNeed *a, const ChmNeed *b, ChmAxes inside)
{
    bool same = a->to.len == b->to.len && same_pins(a->from, b->from, inside);
    for (int32_t i = 0; i < a->to.len && same; i++)
        same = same_pins(a->to.at[i], b->to.at[i], inside);
    return same;
}

/* The lowest rank of a unit stands for it. */
static void add_members(const ChmParties *p, ChmParty *party, const ChmNeed *need)
{
    ChmAxisSeq units = chm_seq_of_set(p->inside);
    for (int32_t r = 0; r < p->mesh->ranks; r++) {
        if (party->member[r] || (p->inside && chm_seq_clear(p->mesh, &units, r) != r))
            continue;
        bool here = chm_present_outside(need->from, r, p->inside);
        for (int32_t i = 0; i < need->to.len && !here; i++)
            here = chm_present_outside(need->to.at[i], r, p->inside);
        party->member[r] = here;
        party->members += here;
    }
}

static ChmParty *new_party(ChmParties *p, ChmArena *scratch, const ChmNeed *need)
{
    ChmParty *party = &p->party[p->len++];
    *party = (ChmParty){.need = need, .member = CHM_NEW_ARRAY(scratch, bool, p->mesh->ranks)};
    return party;
}

/* The party of the tensor's own participants; NULL where there were too many. */
static const ChmParty *own_party(const ChmParties *p, const ChmNeed *need)
{
    for (int32_t i = 1; i < p->len; i++)
        if (same_participants(need, p->party[i].need, p->inside))
            return &p->party[i];
    return NULL;
}

static bool within(const ChmParties *p, const ChmParty *a, const ChmParty *b)
{
    for (int32_t r = 0; r < p->mesh->ranks; r++)
        if (a->member[r] && !b->member[r])
            return false;
    return true;
}

void chm_parties_find(ChmParties *p, ChmArena *scratch, const ChmMesh *mesh, const ChmNeeds *needs, ChmAxes inside)
{
    *p = (ChmParties){.mesh = mesh, .inside = inside};
    p->apart = CHM_NEW_ARRAY(scratch, bool, mesh->ranks);
    ChmParty *everyone = new_party(p, scratch, NULL);
    for (int32_t i = 0; i < needs->len; i++) {
        const ChmNeed *need = &needs->at[i];
        if (own_party(p, need))
            continue;
        add_members(p, everyone, need);
        if (p->len < CHM_PARTIES_MAX)
            add_members(p, new_party(p, scratch, need), need);
    }
    for (int32_t i = 0; i < p->len; i++)
        for (int32_t k = 0; k < p->len; k++)
            p->party[i].holds[k] = within(p, &p->party[k], &p->party[i]);
}

/* Of a tensor that others than the party's ranks take part in. */
static void add_outsiders(ChmParties *p, ChmParty *party, const ChmNeed *need, const int64_t *in, const int64_t *out,
                          int64_t bytes)
{
    ChmAxisSeq replicas = chm_seq_of_set(chm_replicated_axes(need->from) & ~p->inside);
    memset(p->apart, 0, sizeof *p->apart * (size_t)p->mesh->ranks);
    for (int32_t r = 0; r < p->mesh->ranks; r++) {
        if (party->member[r])
            party->in = chm_sat_add(party->in, chm_sat_mul(in[r], bytes));
        else
            p->apart[chm_seq_clear(p->mesh, &replicas, r)] = true;
    }
    for (int32_t r = 0; r < p->mesh->ranks; r++)
        if (!p->apart[r])
            party->out = chm_sat_add(party->out, chm_sat_mul(out[r], bytes));
}

void chm_parties_add(ChmParties *p, const ChmNeed *need, const int64_t *in, const int64_t *out, int64_t total)
{
    int64_t bytes = chm_dtypes[need->dtype].bytes, all = chm_sat_mul(total, bytes);
    const ChmParty *own = own_party(p, need);
    for (int32_t i = 0; i < p->len; i++) {
        ChmParty *party = &p->party[i];
        bool holds_all = i == 0 || (own && party->holds[own - p->party]);
        if (!holds_all) {
            add_outsiders(p, party, need, in, out, bytes);
            continue;
        }
        party->in = chm_sat_add(party->in, all);
        party->out = chm_sat_add(party->out, all);
    }
}

int64_t chm_parties_worst(const ChmParties *p)
{
    int64_t worst = 0;
    for (int32_t i = 0; i < p->len; i++) {
        const ChmParty *party = &p->party[i];
        if (party->members > 0)
            worst = chm_max64(worst, chm_share(chm_max64(party->in, party->out), party->members));
    }
    return worst;
}
