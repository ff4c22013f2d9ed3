/* SPDX-License-Identifier: Apache-2.0
 *
 * check/exec_ops.c - what each op moves.
 *
 * One engine does all group ops: every receiver takes, from each member of its group that the op names, in member
 * order, what the op's definition says that this member holds, and copies or sums it. What a member holds follows from
 * the op's axes and dim, not from the layout that the operand claims, so that an op with wrong attributes goes wrong
 * here as it would over MPI.
 */
#include "check/exec.h"

#include <stdlib.h>
#include <string.h>

bool chm_exec_piece(const ChmExec *x, const ChmValue *v, int32_t rank, ChmPiece *out)
{
    const ChmType *type = v->type;
    chm_layout_box(type->shape, type->layout, rank, &out->box);
    if (!chm_layout_present(type->layout, rank) || chm_box_elems(&out->box) == 0)
        return false;
    const ChmPlace *place = &x->buffers.place[v->id];
    size_t i = (size_t)place->index * (size_t)x->ranks + (size_t)rank;
    switch (place->home) {
    case CHM_HOME_ARENA:
        out->at = x->arena[rank] + place->offset_bytes;
        break;
    case CHM_HOME_INPUT:
        out->at = x->input[i];
        break;
    case CHM_HOME_OUTPUT:
        out->at = x->output[i];
        break;
    }
    return true;
}

/* ---- group ops */

enum { ALL = -1, OWN = -2, NONE = -1 };

typedef struct GroupOp {
    ChmAxisSeq over;
    int32_t from;         /* the member that contributes; ALL: every member, in order; OWN: the receiver itself */
    int32_t to;           /* the member that receives, or ALL */
    bool sums;            /* contributions are summed; else each is copied to where it belongs */
    int32_t members_hold; /* the dim of which member k holds block k, or NONE: the members hold the same */
    int32_t members_keep; /* the dim of which member k receives block k, or NONE: they receive the same */
} GroupOp;

/* Block k of g of what the rank's block of dim d is in the layout 'whole', in which the dim is not cut by the group. */
static void cut_box(const ChmShape *s, const ChmLayout *whole, int32_t rank, int32_t d, int64_t g, int64_t k,
                    ChmBox *box)
{
    int64_t blocks = chm_layout_block_count(whole, d) * g, b = chm_layout_block_index(whole, rank, d) * g + k;
    box->lo[d] = chm_block_begin(s->dim_size[d], blocks, b);
    box->hi[d] = chm_block_begin(s->dim_size[d], blocks, b + 1);
}

static bool same_extents(const ChmBox *a, const ChmBox *b)
{
    for (int32_t d = 0; d < a->ndims; d++)
        if (a->hi[d] - a->lo[d] != b->hi[d] - b->lo[d])
            return false;
    return true;
}

/* The piece as the op's definition sees it; false when the rank has none, or one of another size. */
static bool piece_as(const ChmExec *x, const ChmValue *v, int32_t rank, const ChmBox *seen, ChmPiece *out)
{
    if (!chm_exec_piece(x, v, rank, out) || !same_extents(&out->box, seen))
        return false;
    out->box = *seen;
    return true;
}

/* What one receiver does with contributions: the first is written, the others are added. */
typedef struct Sink {
    ChmSummer summer;
    ChmPiece into, result; /* into: the result itself, or the accumulator */
    int64_t begin, end;    /* the part of the result concerned, flattened */
} Sink;

static Sink sink_open(ChmExec *x, ChmDtype dtype, const ChmPiece *result, int64_t begin, int64_t end)
{
    Sink s = {chm_summer(dtype), *result, *result, begin, end};
    if (s.summer.finish) {
        s.into.at = x->sums;
        memset(x->sums + begin, CHM_EXEC_POISON, (size_t)(end - begin) * sizeof *x->sums);
    }
    return s;
}

static void sink_close(const Sink *s)
{
    if (s->summer.finish) {
        const float *sums = s->into.at;
        char *to = s->result.at;
        s->summer.finish(to + s->begin * s->summer.first.src_bytes, sums + s->begin, s->end - s->begin);
    }
}

static void receive(ChmExec *x, const ChmOp *op, const GroupOp *g, int32_t rank)
{
    const ChmType *from = op->operand->type, *to = op->result->type;
    const ChmMesh *mesh = x->m->mesh;
    int64_t members = chm_mesh_extent(mesh, &g->over);
    int32_t own = chm_group_index(mesh, rank, &g->over);
    if (g->to != ALL && g->to != own)
        return;
    ChmBox whole, kept;
    chm_layout_box(to->shape, to->layout, rank, &whole);
    if (g->members_keep != NONE)
        cut_box(to->shape, from->layout, rank, g->members_keep, 1, 0, &whole);
    kept = whole;
    if (g->members_keep != NONE)
        cut_box(to->shape, from->layout, rank, g->members_keep, members, own, &kept);
    ChmPiece dst, src;
    if (!piece_as(x, op->result, rank, &kept, &dst))
        return;
    ChmKernel copy = chm_copy_kernel(to->dtype);
    Sink sink = {0};
    if (g->sums)
        sink = sink_open(x, to->dtype, &dst, 0, chm_box_elems(&kept));
    int32_t first = g->from == ALL ? 0 : g->from == OWN ? own : g->from;
    int32_t last = g->from == ALL ? (int32_t)members - 1 : first;
    for (int32_t k = first; k <= last; k++) {
        ChmBox held = whole, region;
        if (g->members_hold != NONE)
            cut_box(to->shape, to->layout, rank, g->members_hold, members, k, &held);
        if (!chm_box_meet(&held, &kept, &region) ||
            !piece_as(x, op->operand, chm_group_member(mesh, rank, &g->over, k), &held, &src))
            continue;
        if (g->sums)
            chm_move(k == 0 ? &sink.summer.first : &sink.summer.next, &region, 0, chm_box_elems(&region), &sink.into,
                     &src);
        else
            chm_move(&copy, &region, 0, chm_box_elems(&region), &dst, &src);
    }
    if (g->sums)
        sink_close(&sink);
}

static void exec_group(ChmExec *x, const ChmOp *op, GroupOp g)
{
    for (int32_t r = 0; r < x->ranks; r++)
        receive(x, op, &g, r);
}

static ChmAxisSeq one_axis(const ChmAttrs *a)
{
    ChmAxisSeq s = {0};
    chm_seq_push(&s, a->axis);
    return s;
}

#define GROUP_OP(name, over, from, to, sums, members_hold, members_keep)                \
    static void exec_##name(ChmExec *x, const ChmOp *op)                                \
    {                                                                                   \
        const ChmAttrs *a = &op->attrs;                                                 \
        exec_group(x, op, (GroupOp){over, from, to, sums, members_hold, members_keep}); \
    }

/* clang-format off
       name            over          from     to     sums   members_hold  members_keep */
GROUP_OP(slice, a->over, OWN, ALL, false, NONE, a->dim)
GROUP_OP(drop, one_axis(a), OWN, a->to, false, NONE, NONE)
GROUP_OP(shift, one_axis(a), a->from, a->to, false, NONE, NONE)
GROUP_OP(reduce_scatter, a->over, ALL, ALL, true, NONE, a->dim)
GROUP_OP(all_gather, a->over, ALL, ALL, false, a->dim, NONE)
GROUP_OP(all_to_all, a->over, ALL, ALL, false, a->dim, a->to_dim)
GROUP_OP(broadcast, one_axis(a), a->from, ALL, false, NONE, NONE)
GROUP_OP(reduce, one_axis(a), ALL, a->to, true, NONE, NONE)
/* clang-format on */

/* Member k sums block k of the flattened buffer; then everybody copies everybody's block. */
static void exec_all_reduce(ChmExec *x, const ChmOp *op)
{
    const ChmAxisSeq *over = &op->attrs.over;
    const ChmMesh *mesh = x->m->mesh;
    int64_t members = chm_mesh_extent(mesh, over);
    ChmPiece dst, src;
    for (int32_t r = 0; r < x->ranks; r++) {
        if (!chm_exec_piece(x, op->result, r, &dst))
            continue;
        int64_t n = chm_box_elems(&dst.box), own = chm_group_index(mesh, r, over);
        Sink sink = sink_open(x, op->result->type->dtype, &dst, chm_block_begin(n, members, own),
                              chm_block_begin(n, members, own + 1));
        for (int32_t k = 0; k < members; k++)
            if (piece_as(x, op->operand, chm_group_member(mesh, r, over, k), &dst.box, &src))
                chm_move(k == 0 ? &sink.summer.first : &sink.summer.next, &dst.box, sink.begin, sink.end, &sink.into,
                         &src);
        sink_close(&sink);
    }
    ChmKernel copy = chm_copy_kernel(op->result->type->dtype);
    for (int32_t r = 0; r < x->ranks; r++) {
        if (!chm_exec_piece(x, op->result, r, &dst))
            continue;
        int64_t n = chm_box_elems(&dst.box);
        for (int32_t k = 0; k < members; k++) {
            int32_t member = chm_group_member(mesh, r, over, k);
            if (member != r && piece_as(x, op->result, member, &dst.box, &src))
                chm_move(&copy, &dst.box, chm_block_begin(n, members, k), chm_block_begin(n, members, k + 1), &dst,
                         &src);
        }
    }
}

/* ---- exchanges */

/* A rank that holds a block of one contribution. In order of (stay, contribution, block, rank), those that hold the
 * same stand together, in rank order. */
typedef struct Holder {
    int64_t stay;         /* coordinates on the partial axes that stay */
    int64_t contribution; /* coordinates on those that are settled */
    int64_t block;
    int32_t rank;
} Holder;

static int compare_holders(const void *a, const void *b)
{
    const Holder *x = a, *y = b;
    if (x->stay != y->stay)
        return x->stay < y->stay ? -1 : 1;
    if (x->contribution != y->contribution)
        return x->contribution < y->contribution ? -1 : 1;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool hold_the_same(const Holder *a, const Holder *b)
{
    return a->stay == b->stay && a->contribution == b->contribution && a->block == b->block;
}

static int32_t list_holders(const ChmExec *x, const ChmLayout *l, ChmAxes stay, Holder *out)
{
    int32_t n = 0;
    for (int32_t r = 0; r < x->ranks; r++) {
        if (!chm_layout_present(l, r))
            continue;
        Holder h = {.stay = chm_contribution_index(l, stay, r),
                    .contribution = chm_contribution_index(l, l->partial & ~stay, r),
                    .rank = r};
        for (int32_t d = 0; d < l->ndims; d++)
            h.block = h.block * chm_layout_block_count(l, d) + chm_layout_block_index(l, r, d);
        out[n++] = h;
    }
    qsort(out, (size_t)n, sizeof *out, compare_holders);
    return n;
}

/* One piece for one receiver: all of it from its own buffer if it holds it, else cut over the n holders. */
static void take_piece(const ChmExec *x, const ChmOp *op, const ChmKernel *kernel, int32_t rank, const ChmPiece *into,
                       const Holder *holders, int32_t n)
{
    ChmPiece src;
    ChmBox region;
    if (!chm_exec_piece(x, op->operand, holders[0].rank, &src) || !chm_box_meet(&src.box, &into->box, &region))
        return;
    int64_t elems = chm_box_elems(&region);
    for (int32_t k = 0; k < n; k++)
        if (holders[k].rank == rank) {
            (void)chm_exec_piece(x, op->operand, rank, &src);
            chm_move(kernel, &region, 0, elems, into, &src);
            return;
        }
    for (int32_t k = 0; k < n; k++) {
        (void)chm_exec_piece(x, op->operand, holders[k].rank, &src);
        chm_move(kernel, &region, chm_block_begin(elems, n, k), chm_block_begin(elems, n, k + 1), into, &src);
    }
}

static void exec_any_exchange(ChmExec *x, const ChmOp *op, ChmAxes stay, bool sums)
{
    const ChmLayout *from = op->operand->type->layout;
    ChmDtype dtype = op->result->type->dtype;
    Holder *holders = CHM_NEW_ARRAY(x->scratch, Holder, x->ranks);
    int32_t n = list_holders(x, from, stay, holders);
    ChmKernel copy = chm_copy_kernel(dtype);
    for (int32_t r = 0; r < x->ranks; r++) {
        ChmPiece dst;
        if (!chm_exec_piece(x, op->result, r, &dst))
            continue;
        Sink sink = {.into = dst};
        if (sums)
            sink = sink_open(x, dtype, &dst, 0, chm_box_elems(&dst.box));
        int64_t own = chm_contribution_index(from, stay, r);
        for (int32_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n && hold_the_same(&holders[i], &holders[end]);)
                end++;
            if (holders[i].stay != own)
                continue;
            const ChmKernel *kernel = &copy;
            if (sums)
                kernel = holders[i].contribution == 0 ? &sink.summer.first : &sink.summer.next;
            take_piece(x, op, kernel, r, &sink.into, holders + i, end - i);
        }
        if (sums)
            sink_close(&sink);
    }
}

static void exec_exchange(ChmExec *x, const ChmOp *op)
{
    exec_any_exchange(x, op, op->operand->type->layout->partial, false);
}

static void exec_reduce_exchange(ChmExec *x, const ChmOp *op)
{
    exec_any_exchange(x, op, op->operand->type->layout->partial & op->result->type->layout->partial, true);
}

static void exec_pipeline(ChmExec *x, const ChmOp *op)
{
    chm_exec_pipeline(x, op);
}

/* ---- ends */

static void exec_input(ChmExec *x, const ChmOp *op)
{
    (void)x, (void)op; /* the caller has filled it */
}

static void exec_wait(ChmExec *x, const ChmOp *op)
{
    (void)x, (void)op; /* chm_exec_op knows what is to be done there */
}

static void exec_output(ChmExec *x, const ChmOp *op)
{
    int32_t index = x->outputs_done++;
    const ChmPlace *place = &x->buffers.place[op->operand->id];
    if (place->home == CHM_HOME_OUTPUT && place->index == index)
        return;
    for (int32_t r = 0; r < x->ranks; r++) {
        ChmPiece src;
        if (chm_exec_piece(x, op->operand, r, &src))
            memcpy(x->output[(size_t)index * (size_t)x->ranks + (size_t)r], src.at,
                   (size_t)chm_local_bytes(op->operand->type, r));
    }
}

static void (*const exec_table[CHM_NOPS])(ChmExec *x, const ChmOp *op) = {
#define CHM_OP(CODE, name, class, syntax, what) [CHM_OP_##CODE] = exec_##name,
#include "ir/ops.def"
#undef CHM_OP
};

void chm_exec_op(ChmExec *x, const ChmOp *op)
{
    /* Poisoned now and not before the run: what a buffer held earlier must not pass for the result, and a result that
     * overlaps its operand destroys it. */
    for (int32_t r = 0; op->operand && op->result && r < x->ranks; r++) {
        ChmPiece dst;
        if (chm_exec_piece(x, op->result, r, &dst))
            memset(dst.at, CHM_EXEC_POISON, (size_t)chm_local_bytes(op->result->type, r));
    }
    if (op->started && x->late)
        return;
    if (op->operand && op->code == CHM_OP_WAIT && x->late)
        op = op->operand->def;
    exec_table[op->code](x, op);
}
