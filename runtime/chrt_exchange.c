/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_exchange.c - exchange and reduce_exchange: any layout to any other, straight from holders to needers.
 *
 * Ranks that hold the same block and the same contribution (they differ only in axes that the operand replicates)
 * share the work: the piece that a receiver lacks is cut by the block rule over them, in rank order. Sender and
 * receiver find the same cuts by arithmetic alone; O(ranks) for each.
 */
#include "chrt_internal.h"

#include <string.h>

typedef struct Exchange {
    ChrtAxes copies;  /* replicated in the operand: holders of one block and contribution differ in these */
    ChrtAxes fixed;   /* the other axes */
    ChrtAxes stay;    /* partial before and after: a receiver gets only contributions that agree with it here */
    ChrtAxes settled; /* partial before, not after: number the contributions */
    int32_t holders;  /* of each block and contribution */
} Exchange;

static void append(uint8_t *axes, int32_t axis)
{
    axes[strlen((const char *)axes)] = (uint8_t)axis;
}

/* All lists in mesh order, so that an index in one of them follows the ranks. */
static Exchange classify(const ChrtOp *op)
{
    const ChrtMesh *mesh = op->ctx->mesh;
    Exchange x = {.holders = 1};
    for (int32_t a = 1; a <= mesh->naxes; a++) {
        bool replicated = op->rule.state[a] == CHRT_REPLICATED;
        append(replicated ? x.copies : x.fixed, a);
        if (replicated)
            x.holders *= mesh->axis[a - 1].size;
        if (op->rule.state[a] == CHRT_PARTIAL)
            append(op->target.state[a] == CHRT_PARTIAL ? x.stay : x.settled, a);
    }
    return x;
}

/* What `source` sends to `target`: elements [*first, *last) of *box; false when nothing. */
static bool find_piece(const ChrtOp *op, const Exchange *x, int32_t source, int32_t target, ChrtBox *box,
                       int64_t *first, int64_t *last)
{
    const ChrtMesh *mesh = op->ctx->mesh;
    if (!chrt_present(mesh, op->from, source) || !chrt_present(mesh, op->to, target))
        return false;
    if (chrt_index_in(mesh, source, x->stay) != chrt_index_in(mesh, target, x->stay))
        return false;
    if (chrt_index_in(mesh, source, x->fixed) == chrt_index_in(mesh, target, x->fixed))
        return false; /* the target holds the same itself */
    ChrtBox theirs = chrt_local_box(mesh, op->from, source), needed = chrt_local_box(mesh, op->to, target);
    *box = chrt_box_meet(&theirs, &needed);
    int64_t elems = chrt_box_elems(box);
    int32_t holder = chrt_index_in(mesh, source, x->copies);
    *first = chrt_block_start(elems, x->holders, holder);
    *last = chrt_block_start(elems, x->holders, holder + 1);
    return *first < *last;
}

/* Both lists of this rank. direct: receives may go straight into out. */
static ChrtStatus find_pieces(ChrtOp *op, const Exchange *x, bool direct, ChrtPieces *sends, ChrtPieces *receives)
{
    int32_t ranks = op->ctx->ranks, me = op->ctx->rank;
    CHRT_TRY(chrt_pieces_open(op, ranks, sends, receives));
    for (int32_t s = 1; s < ranks; s++) {
        int32_t source = (me - s + ranks) % ranks, target = (me + s) % ranks;
        ChrtBox box;
        int64_t first, last;
        if (op->needs && find_piece(op, x, source, me, &box, &first, &last))
            chrt_pieces_add(receives, source, chrt_index_in(op->ctx->mesh, source, x->settled), &box, first, last,
                            direct ? &op->out_box : NULL);
        if (op->holds && find_piece(op, x, me, target, &box, &first, &last))
            chrt_pieces_add(sends, target, 0, &box, first, last, &op->in_box);
    }
    return CHRT_OK;
}

/* The rule: any layout of the same tensor, as long as no axis becomes partial. */
static ChrtStatus start(ChrtOp *op, bool applies)
{
    ChrtLayout *rule = &op->rule;
    const ChrtLayout *target = &op->target;
    applies = applies && rule->dtype == target->dtype && rule->ndims == target->ndims &&
              !memcmp(rule->size, target->size, sizeof rule->size);
    for (int32_t a = 1; a <= op->ctx->mesh->naxes; a++)
        if (target->state[a] == CHRT_PARTIAL && rule->state[a] != CHRT_PARTIAL)
            applies = false;
    op->rule = op->target;
    return chrt_op_start(op, applies, NULL);
}

ChrtStatus chrt_exchange(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in, const ChrtType *to,
                         void *out)
{
    ChrtOp op;
    CHRT_TRY(chrt_op_open(&op, ctx, "exchange", name, from, in, to, out));
    Exchange x = classify(&op);
    CHRT_TRY(start(&op, !x.settled[0]));
    ChrtPieces sends, receives;
    unsigned char *packed;
    CHRT_TRY(find_pieces(&op, &x, true, &sends, &receives));
    CHRT_TRY(chrt_pieces_travel(&op, ctx->comm, &sends, &receives, &packed));
    chrt_pieces_unpack(&op, &receives, packed);
    return chrt_op_local(&op);
}

/* sum = or += elements [first, last) of box, found in a buffer that holds values_box (NULL: packed). */
static void add_piece(const ChrtOp *op, bool set, const ChrtBox *box, int64_t first, int64_t last,
                      const ChrtBox *values_box, const unsigned char *values, unsigned char *sum)
{
    int32_t sum_bytes = chrt_sum_bytes(op->from->dtype);
    ChrtRuns runs = chrt_runs(box, first, last, values_box, &op->out_box);
    int64_t from, into, elems;
    while (chrt_runs_next(&runs, &from, &into, &elems)) {
        if (set)
            chrt_sum_set(op->from->dtype, sum + into * sum_bytes, values + from * op->elem_bytes, elems);
        else
            chrt_sum_add(op->from->dtype, sum + into * sum_bytes, values + from * op->elem_bytes, elems);
    }
}

ChrtStatus chrt_reduce_exchange(ChrtCtx *ctx, const char *name, const ChrtType *from, const void *in,
                                const ChrtType *to, void *out)
{
    ChrtOp op;
    CHRT_TRY(chrt_op_open(&op, ctx, "reduce_exchange", name, from, in, to, out));
    Exchange x = classify(&op);
    CHRT_TRY(start(&op, x.settled[0] || from->partial[0])); /* the latter: axes of size 1 */
    ChrtPieces sends, receives;
    unsigned char *packed;
    CHRT_TRY(find_pieces(&op, &x, false, &sends, &receives));
    CHRT_TRY(chrt_pieces_travel(&op, ctx->comm, &sends, &receives, &packed));
    if (op.out_elems == 0)
        return CHRT_OK;

    void *sum = op.out;
    if (chrt_dtype_is_half(from->dtype))
        CHRT_TRY(chrt_op_scratch(&op, CHRT_SCRATCH_SUM, op.out_elems, chrt_sum_bytes(from->dtype), &sum));
    int32_t contributions = chrt_group_members(ctx->mesh, ctx->rank, x.settled, NULL);
    int32_t mine = chrt_index_in(ctx->mesh, ctx->rank, x.settled);
    ChrtBox local = chrt_box_meet(&op.in_box, &op.out_box);
    for (int32_t c = 0; c < contributions; c++) {
        if (op.holds && c == mine)
            add_piece(&op, c == 0, &local, 0, chrt_box_elems(&local), &op.in_box, op.in, sum);
        for (int32_t i = 0; i < receives.n; i++) {
            const ChrtPiece *piece = &receives.piece[i];
            if (piece->contribution == c)
                add_piece(&op, c == 0, &piece->box, piece->first, piece->last, NULL, packed + piece->at * op.elem_bytes,
                          sum);
        }
    }
    chrt_sum_round(from->dtype, sum, op.out, op.out_elems);
    return CHRT_OK;
}
