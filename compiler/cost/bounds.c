/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/bounds.c - the least bytes that the worst rank must send or receive, from first and last layouts alone (design
 * section 8): the greatest of
 *   - the worst rank's in;
 *   - the joint out of a set of replicas over their number. Over several tensors whose replicas are other sets: the
 *     joint out of all sets inside one larger set, over the size of that;
 *   - what a set of ranks sends, or receives, together, over their number: bound_parties.c.
 *
 * Outputs of one tensor that leave different axes partial are owed different sums, which no transfer need share and
 * some may: each kind is judged by itself, and the greatest figure of each rank, set and total counts. Likewise what is
 * too much for one turn of demand_several.c.
 *
 * The like figure of units of ranks, each counted as one rank, bounds what passes the wires of a level: bound_time.c.
 */
#include "cost/bounds.h"
#include "cost/demand.h"

#include <string.h>

/* Intervals that demand_several.c may visit for one tensor: some tenths of a second. */
#define WORK_MAX (INT64_C(1) << 22)
/* Sets of axes whose cosets are tried as sets of ranks that send together. */
#define SETS_MAX 32
/* Meshes up to this size are judged on the stack. */
#define SMALL_RANKS 256

/* Joint out in bytes of the sets of ranks that differ in these axes, each at the lowest rank of its set. */
typedef struct Senders {
    ChmAxes axes;
    int64_t *out;
} Senders;

typedef struct Bound {
    ChmArena *scratch;
    const ChmMesh *mesh;
    ChmAxes inside; /* of units of ranks that count as one, at the lowest; else 0 */
    int64_t *in;    /* by rank, bytes, over tensors */
    ChmParties parties;
    Senders senders[SETS_MAX];
    int32_t nsenders;
    int64_t *elems_in, *elems_out, *most_in, *most_out; /* of one turn; of one tensor */
} Bound;

static void bound_init(Bound *b, ChmArena *scratch, const ChmMesh *mesh, const ChmNeeds *needs, ChmAxes inside)
{
    *b = (Bound){.scratch = scratch, .mesh = mesh, .inside = inside};
    chm_parties_find(&b->parties, scratch, mesh, needs, inside);
    b->in = CHM_NEW_ARRAY(scratch, int64_t, mesh->ranks);
    b->elems_in = CHM_NEW_ARRAY(scratch, int64_t, mesh->ranks);
    b->elems_out = CHM_NEW_ARRAY(scratch, int64_t, mesh->ranks);
    b->most_in = CHM_NEW_ARRAY(scratch, int64_t, mesh->ranks);
    b->most_out = CHM_NEW_ARRAY(scratch, int64_t, mesh->ranks);
}

/* The row for these axes; NULL when the table is full, and a bound without it is still one. */
static Senders *senders_of(Bound *b, ChmAxes axes)
{
    for (int32_t i = 0; i < b->nsenders; i++)
        if (b->senders[i].axes == axes)
            return &b->senders[i];
    if (b->nsenders == SETS_MAX)
        return NULL;
    Senders *s = &b->senders[b->nsenders++];
    *s = (Senders){axes, CHM_NEW_ARRAY(b->scratch, int64_t, b->mesh->ranks)};
    return s;
}

/* ---- one tensor */

/* One turn: the targets at once, or one by one where that is too much work. */
static void take_turn(Bound *b, const ChmDemand *turn, int64_t *most_total)
{
    ChmDemand x = *turn;
    bool together = x.targets > 1 && !x.inside && chm_demand_several_work(&x) <= WORK_MAX;
    for (int32_t i = 0; i < (together ? 1 : turn->targets); i++) {
        if (together) {
            chm_demand_of_several(b->scratch, &x);
        } else {
            x.to[0] = turn->to[i];
            x.targets = 1;
            chm_demand_of_one(&x);
        }
        *most_total = chm_max64(*most_total, x.total);
        for (int32_t r = 0; r < b->mesh->ranks; r++) {
            b->most_in[r] = chm_max64(b->most_in[r], x.in[r]);
            b->most_out[r] = chm_max64(b->most_out[r], x.out[r]);
        }
    }
}

static bool stands_in(const ChmLayout *l, const ChmLayout *const *list, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == l)
            return true;
    return false;
}

/* All turns for targets whose partial axes are those of to[begin]. */
static void take_targets(Bound *b, ChmDemand *x, const ChmLayout *const *to, int32_t begin, int32_t n, int64_t *most)
{
    x->targets = 0;
    for (int32_t i = begin; i < n; i++) {
        if (to[i]->partial != to[begin]->partial || stands_in(to[i], to, i))
            continue;
        x->to[x->targets++] = to[i];
        if (x->targets == CHM_DEMAND_TARGETS) {
            take_turn(b, x, most);
            x->targets = 0;
        }
    }
    if (x->targets > 0)
        take_turn(b, x, most);
}

static void bound_tensor(Bound *b, const ChmNeed *need)
{
    int32_t ranks = b->mesh->ranks;
    int64_t bytes = chm_dtypes[need->dtype].bytes, total = 0;
    ChmDemand x = {
        .shape = need->shape, .from = need->from, .inside = b->inside, .in = b->elems_in, .out = b->elems_out};
    memset(b->most_in, 0, sizeof *b->most_in * (size_t)ranks);
    memset(b->most_out, 0, sizeof *b->most_out * (size_t)ranks);
    for (int32_t i = 0; i < need->to.len; i++) {
        bool first = true; /* of its kind */
        for (int32_t j = 0; j < i; j++)
            first = first && need->to.at[j]->partial != need->to.at[i]->partial;
        if (first)
            take_targets(b, &x, need->to.at, i, need->to.len, &total);
    }

    chm_parties_add(&b->parties, need, b->most_in, b->most_out, total);
    Senders *senders = senders_of(b, chm_replicated_axes(need->from) & ~b->inside);
    for (int32_t r = 0; r < ranks; r++) {
        b->in[r] = chm_sat_add(b->in[r], b->most_in[r] * bytes);
        if (senders)
            senders->out[r] = chm_sat_add(senders->out[r], b->most_out[r] * bytes);
    }
}

/* ---- the greatest */

/* The worst joint out over the number, among the sets of ranks that differ in these axes. */
static int64_t worst_senders(const Bound *b, ChmAxes axes, int64_t *joint)
{
    ChmAxisSeq seq = chm_seq_of_set(axes);
    int64_t worst = 0;
    memset(joint, 0, sizeof *joint * (size_t)b->mesh->ranks);
    for (int32_t i = 0; i < b->nsenders; i++) {
        if (b->senders[i].axes & ~axes)
            continue; /* such sets reach outside */
        for (int32_t r = 0; r < b->mesh->ranks; r++) {
            int64_t *sum = &joint[chm_seq_clear(b->mesh, &seq, r)];
            *sum = chm_sat_add(*sum, b->senders[i].out[r]);
            worst = chm_max64(worst, *sum);
        }
    }
    return chm_share(worst, chm_mesh_extent(b->mesh, &seq));
}

/* Adds rows, with nothing sent, for the unions of those that there are. */
static void join_senders(Bound *b)
{
    for (int32_t i = 0; i < b->nsenders; i++)
        for (int32_t j = 0; j < i; j++)
            (void)senders_of(b, b->senders[i].axes | b->senders[j].axes);
}

static int64_t bound_greatest(Bound *b)
{
    int64_t greatest = chm_parties_worst(&b->parties);
    for (int32_t r = 0; r < b->mesh->ranks; r++)
        greatest = chm_max64(greatest, b->in[r]);
    join_senders(b);
    for (int32_t i = 0; i < b->nsenders; i++)
        greatest = chm_max64(greatest, worst_senders(b, b->senders[i].axes, b->elems_out));
    return greatest;
}

int64_t chm_bound_needs(ChmArena *scratch, const ChmMesh *mesh, const ChmNeeds *needs, ChmAxes inside)
{
    Bound b;
    bound_init(&b, scratch, mesh, needs, inside);
    for (int32_t i = 0; i < needs->len; i++)
        bound_tensor(&b, &needs->at[i]);
    return bound_greatest(&b);
}

int64_t chm_bound_arrows(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                         const ChmLayout *const *to, int32_t n)
{
    ChmNeed need = {.shape = shape, .dtype = dtype, .from = from};
    for (int32_t i = 0; i < n; i++)
        CHM_PUSH(scratch, &need.to, to[i]);
    ChmNeeds needs = {0};
    CHM_PUSH(scratch, &needs, need);
    return chm_bound_needs(scratch, from->mesh, &needs, 0);
}

/* The same for one arrow, without the sums over tensors and targets. The route search asks this of every layout that it
 * meets, so up to SMALL_RANKS nothing is allocated. */
ChmUnitBound chm_bound_units(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                             const ChmLayout *to, ChmAxes inside)
{
    int64_t small[2 * SMALL_RANKS];
    int32_t ranks = from->mesh->ranks;
    int64_t *figures = ranks <= SMALL_RANKS ? small : CHM_NEW_ARRAY(scratch, int64_t, 2 * (int64_t)ranks);
    ChmDemand x = {.shape = shape, .from = from, .to = {to}, .targets = 1, .inside = inside};
    x.in = figures;
    x.out = figures + ranks;
    chm_demand_of_one(&x);

    ChmAxisSeq replicas = chm_seq_of_set(chm_replicated_axes(from) & ~inside);
    ChmAxisSeq units = chm_seq_of_set(chm_axes_outside(from->mesh, inside));
    ChmAxisSeq many = chm_seq_of_set(from->partial & to->partial & inside); /* problems in each unit, all alike */
    int64_t present = 0, in = 0, out = 0;
    int64_t bytes = chm_sat_mul(chm_dtypes[dtype].bytes, chm_mesh_extent(from->mesh, &many));
    int32_t nunits = (int32_t)chm_mesh_extent(from->mesh, &units);
    for (int32_t u = 0; u < nunits; u++) {
        int32_t r = inside ? chm_seq_offset(from->mesh, &units, u) : u;
        in = chm_max64(in, x.in[r]);
        out = chm_max64(out, x.out[r]);
        present += chm_present_outside(from, r, inside) || chm_present_outside(to, r, inside);
    }
    int64_t total = chm_sat_mul(x.total, bytes);
    int64_t joint = chm_share(chm_sat_mul(out, bytes), chm_mesh_extent(from->mesh, &replicas));
    return (ChmUnitBound){chm_max64(chm_sat_mul(in, bytes), chm_max64(joint, chm_share(total, present))), total};
}

int64_t chm_bound_arrow(ChmArena *scratch, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from,
                        const ChmLayout *to)
{
    return chm_bound_units(scratch, shape, dtype, from, to, 0).worst_bytes;
}

/* ---- a plan */

/* The input that the value is, seen through layout changes. */
static const ChmOp *origin(const ChmValue *v)
{
    while (chm_is_layout_op(v->def))
        v = v->def->operand;
    return v->def;
}

typedef struct Result {
    const ChmOp *input;
    const ChmLayout *layout;
} Result;

void chm_module_needs(ChmArena *scratch, const ChmModule *m, ChmNeeds *needs)
{
    CHM_VEC(Result) results = {0};
    *needs = (ChmNeeds){0};
    for (const ChmOp *op = m->first; op; op = op->next)
        if (op->code == CHM_OP_OUTPUT)
            CHM_PUSH(scratch, &results, ((Result){origin(op->operand), op->operand->type->layout}));
    for (const ChmOp *op = m->first; op; op = op->next) {
        if (op->code != CHM_OP_INPUT)
            continue;
        const ChmType *t = op->result->type;
        ChmNeed need = {.shape = t->shape, .dtype = t->dtype, .from = t->layout};
        for (int32_t i = 0; i < results.len; i++)
            if (results.at[i].input == op)
                CHM_PUSH(scratch, &need.to, results.at[i].layout);
        if (need.to.len > 0)
            CHM_PUSH(scratch, needs, need);
    }
}

int64_t chm_bound_module(ChmArena *scratch, const ChmModule *m)
{
    ChmNeeds needs;
    chm_module_needs(scratch, m, &needs);
    return chm_bound_needs(scratch, m->mesh, &needs, 0);
}
