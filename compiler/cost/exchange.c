/* SPDX-License-Identifier: Apache-2.0
 *
 * cost/exchange.c - who sends what to whom in an exchange. A piece is the receiver's box met with one source block,
 * flattened row-major. A piece that the receiver lacks is cut by the block rule over the ranks that hold it and agree
 * with the receiver in the partial axes that stay, in rank order; each sends its part. Where partial axes settle, each
 * contribution is such a piece of its own.
 *
 * Per receiver only the source blocks that its box meets are visited, dim by dim.
 */
#include "cost/wires.h"

int64_t chm_block_at(int64_t n, int64_t k, int64_t e)
{
    /* The greatest b whose begin is not after e: b*n < (e+1)*k. */
    if (n <= INT32_MAX)
        return ((e + 1) * k - 1) / n;
    int64_t lo = 0, hi = k; /* begin(lo) <= e < begin(hi) */
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (chm_block_begin(n, k, mid) <= e)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

typedef struct Exchange {
    ChmTraffic *t;
    const ChmShape *shape;
    int64_t elem_bytes;
    const ChmMesh *mesh;
    const ChmLayout *from;
    ChmAxisSeq replicas;     /* axes in which the holders of a piece differ, in mesh order: rank order */
    const int32_t *holder;   /* of them, counted from the first, in rank order */
    const int32_t *piece;    /* first holders of the contributions that are summed here, from that of the first */
    int64_t holders, pieces; /* lengths of the two */
    int64_t blocks[CHM_MAX_DIMS];
    int32_t receiver;
    int32_t receiver_first;   /* first holder of what the receiver has itself, or -1 */
    int64_t receiver_senders; /* ranks that send to it */
    ChmBox want;
} Exchange;

static void send_part(Exchange *x, int32_t sender, int64_t elems)
{
    ChmTraffic *t = x->t;
    t->step_sent[sender] = chm_sat_add(t->step_sent[sender], elems * x->elem_bytes);
    t->step_sends[sender]++;
    if (t->wires)
        chm_wires_send(t, sender, x->receiver, elems * x->elem_bytes, 1);
    x->receiver_senders++;
}

/* The holders of one contribution to a piece, 'first' being the lowest of them, send their parts: noted once for all of
 * them where the parts are equal, since there may be as many holders as receivers. */
static void send_piece(Exchange *x, int64_t elems, int32_t first)
{
    if (first == x->receiver_first)
        return;
    if (elems % x->holders == 0 && !x->t->wires) {
        ChmEqualParts *e = &x->t->step_equal[first];
        e->bytes = chm_sat_add(e->bytes, elems / x->holders * x->elem_bytes);
        e->sends += elems > 0;
        x->receiver_senders += elems > 0 ? x->holders : 0;
    } else {
        for (int64_t k = 0; k < x->holders; k++) {
            int64_t part = chm_block_len(elems, x->holders, k);
            if (part > 0)
                send_part(x, first + x->holder[k], part);
        }
    }
    int64_t *received = &x->t->step_received[x->receiver];
    *received = chm_sat_add(*received, elems * x->elem_bytes);
}

/* What was noted, for every holder. */
static void send_equal_parts(Exchange *x)
{
    ChmTraffic *t = x->t;
    for (int32_t first = 0; first < t->ranks; first++) {
        const ChmEqualParts e = t->step_equal[first];
        for (int64_t k = 0; e.sends > 0 && k < x->holders; k++) {
            int32_t sender = first + x->holder[k];
            t->step_sent[sender] = chm_sat_add(t->step_sent[sender], e.bytes);
            t->step_sends[sender] += e.sends;
        }
    }
}

/* Visits the source blocks that meet the receiver's box in dims d and later. */
static void meet_blocks(Exchange *x, int32_t d, int64_t elems, int32_t first)
{
    if (d == x->shape->ndims) {
        for (int64_t c = 0; c < x->pieces; c++)
            send_piece(x, elems, first + x->piece[c]);
        return;
    }
    int64_t n = x->shape->dim_size[d], k = x->blocks[d], end;
    for (int64_t at = x->want.lo[d]; at < x->want.hi[d]; at = end) {
        int64_t b = chm_block_at(n, k, at);
        end = chm_min64(chm_block_begin(n, k, b + 1), x->want.hi[d]);
        meet_blocks(x, d + 1, elems * (end - at), first + chm_seq_offset(x->mesh, &x->from->dim[d], b));
    }
}

static void receive(Exchange *x, const ChmAxisSeq *staying, int32_t pins)
{
    const ChmMesh *m = x->mesh;
    int32_t first = pins; /* a holder must be at the source's pins and agree with the receiver in what stays partial */
    for (int32_t i = 0; i < staying->len; i++)
        first += chm_mesh_coord(m, x->receiver, staying->at[i]) * m->stride[staying->at[i]];
    bool holds = chm_layout_present(x->from, x->receiver);
    x->receiver_first = holds ? chm_seq_clear(m, &x->replicas, x->receiver) : -1;
    x->receiver_senders = 0;
    meet_blocks(x, 0, 1, first);
    x->t->step_messages = chm_sat_add(x->t->step_messages, x->receiver_senders);
}

/* Offsets of the ranks that differ in these axes, in row-major order; the number of them. */
static int64_t list_offsets(const ChmMesh *m, const ChmAxisSeq *axes, int32_t *out)
{
    int64_t n = chm_mesh_extent(m, axes);
    for (int64_t i = 0; i < n; i++)
        out[i] = chm_seq_offset(m, axes, i);
    return n;
}

int64_t chm_exchange_visits(const ChmTopology *topo, const ChmShape *shape, const ChmLayout *from, const ChmLayout *to)
{
    ChmAxisSeq replicas = chm_seq_of_set(chm_replicated_axes(from)); /* each is noted by itself where there are wires */
    int64_t parts = chm_topology_is_plain(topo) ? 1 : chm_mesh_extent(from->mesh, &replicas);
    ChmAxisSeq pinned = chm_seq_of_set(to->pinned), settled = chm_seq_of_set(from->partial & ~to->partial);
    int64_t visits = from->mesh->ranks / chm_mesh_extent(from->mesh, &pinned);
    visits = chm_sat_mul(chm_sat_mul(visits, parts), chm_mesh_extent(from->mesh, &settled));
    for (int32_t d = 0; d < shape->ndims; d++)
        visits = chm_sat_mul(visits, chm_max64(1, chm_layout_block_count(from, d) / chm_layout_block_count(to, d)));
    return visits;
}

void chm_exchange_traffic(ChmTraffic *t, const ChmShape *shape, int64_t elem_bytes, const ChmLayout *from,
                          const ChmLayout *to)
{
    Exchange x = {.t = t, .shape = shape, .elem_bytes = elem_bytes, .mesh = from->mesh, .from = from};
    ChmAxisSeq staying = chm_seq_of_set(from->partial & to->partial);
    ChmAxisSeq settled = chm_seq_of_set(from->partial & ~to->partial);
    x.replicas = chm_seq_of_set(chm_replicated_axes(from));
    x.holder = t->step_offsets;
    x.holders = list_offsets(x.mesh, &x.replicas, t->step_offsets);
    x.piece = t->step_offsets + t->ranks;
    x.pieces = list_offsets(x.mesh, &settled, t->step_offsets + t->ranks);
    for (int32_t d = 0; d < shape->ndims; d++)
        x.blocks[d] = chm_layout_block_count(from, d);
    int32_t pins = 0;
    for (int32_t a = 0; a < x.mesh->naxes; a++)
        pins += from->pin[a] * x.mesh->stride[a];
    for (x.receiver = 0; x.receiver < t->ranks; x.receiver++) {
        if (!chm_layout_present(to, x.receiver))
            continue;
        chm_layout_box(shape, to, x.receiver, &x.want);
        receive(&x, &staying, pins);
    }
    send_equal_parts(&x);
    for (int32_t r = 0; r < t->ranks; r++)
        t->step_most_sends = chm_max64(t->step_most_sends, t->step_sends[r]);
    t->step_rounds = t->step_most_sends > 0; /* all are posted at once */
}
