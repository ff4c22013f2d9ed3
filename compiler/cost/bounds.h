/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/bounds.h - inside the cost module: the bound of one arrow over units of ranks.
 */
#ifndef CHM_COST_BOUNDS_H
#define CHM_COST_BOUNDS_H

#include "cost/tally.h"

/* Of the worst unit, and of all together; a unit is the ranks that differ in the axes 'inside' (0: a rank). */
typedef struct ChmUnitBound {
    int64_t worst_bytes, total_bytes;
} ChmUnitBound;
ChmUnitBound chm_bound_units(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                             const ChmLayout *to, ChmAxes inside);

/* A plan's input, and the layouts in which it is output. */
typedef struct ChmNeed {
    const ChmShape *shape;
    ChmDtype dtype;
    const ChmLayout *from;
    CHM_VEC(const ChmLayout *) to; /* one at least */
} ChmNeed;
typedef CHM_VEC(ChmNeed) ChmNeeds;
void chm_module_needs(ChmArena *scratch, const ChmModule *m, ChmNeeds *needs); /* inputs that are output, in order */
/* Of the worst unit, its figures added over the needs. Of several outputs of one tensor the greatest counts where there
 * are axes inside; of an axis inside that stays partial the sums count once. */
int64_t chm_bound_needs(ChmArena *scratch, const ChmMesh *mesh, const ChmNeeds *needs, ChmAxes inside);

/* ---- bound_parties.c: what sets of ranks do together, over all tensors. With axes inside, a unit of ranks counts as
 * one, at its lowest. */
#define CHM_PARTIES_MAX 16 /* sets that are tried */
typedef struct ChmParty {
    const ChmNeed *need;         /* the members are those that take part in this tensor; NULL: in any */
    bool *member;                /* by rank */
    int64_t members, in, out;    /* in bytes, of all members together */
    bool holds[CHM_PARTIES_MAX]; /* all members of that party too */
} ChmParty;
typedef struct ChmParties {
    const ChmMesh *mesh;
    ChmAxes inside;
    int32_t len;
    ChmParty party[CHM_PARTIES_MAX];
    bool *apart; /* scratch, by rank */
} ChmParties;
/* Lives in scratch; nothing is in or out yet. O(ranks * layouts of sets that differ) */
void chm_parties_find(ChmParties *p, ChmArena *scratch, const ChmMesh *mesh, const ChmNeeds *needs, ChmAxes inside);
/* The figures of one of those tensors, as ChmDemand has them, in elements. O(ranks * parties) */
void chm_parties_add(ChmParties *p, const ChmNeed *need, const int64_t *in, const int64_t *out, int64_t total);
int64_t chm_parties_worst(const ChmParties *p); /* in bytes, of the worst rank */

/* What the worst of n ranks does at least when together they do so much; 0 when there are none. */
static inline int64_t chm_share(int64_t total, int64_t n)
{
    return n > 0 ? total / n + (total % n != 0) : 0;
}

#endif
