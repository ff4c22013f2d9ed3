/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_piece.c - boxes as messages: the lists say all there is to know about an exchange before anything is posted.
 */
#include "chrt_internal.h"

ChrtStatus chrt_pieces_open(ChrtOp *op, int32_t max, ChrtPieces *sends, ChrtPieces *receives)
{
    void *memory;
    CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_PIECES, 2 * (int64_t)max, (int64_t)sizeof(ChrtPiece), &memory));
    *sends = (ChrtPieces){.piece = memory};
    *receives = (ChrtPieces){.piece = sends->piece + max};
    return CHRT_OK;
}

void chrt_pieces_add(ChrtPieces *pieces, int32_t peer, int32_t contribution, const ChrtBox *box, int64_t first,
                     int64_t last, const ChrtBox *buffer)
{
    if (first == last)
        return;
    ChrtPiece *piece = &pieces->piece[pieces->n++];
    *piece = (ChrtPiece){.peer = peer, .contribution = contribution, .first = first, .last = last, .box = *box};
    piece->direct = buffer && chrt_box_contiguous(buffer, box, &piece->at);
    if (piece->direct) {
        piece->at += first;
    } else {
        piece->at = pieces->packed_elems;
        pieces->packed_elems += last - first;
    }
}

ChrtStatus chrt_pieces_travel(ChrtOp *op, MPI_Comm comm, const ChrtPieces *sends, const ChrtPieces *receives,
                              unsigned char **packed)
{
    int32_t b = op->elem_bytes;
    void *to_send, *received;
    CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_SEND, sends->packed_elems, b, &to_send));
    CHRT_TRY(chrt_op_scratch(op, CHRT_SCRATCH_RECV, receives->packed_elems, b, &received));
    *packed = received;

    for (int32_t i = 0; i < receives->n; i++) {
        const ChrtPiece *piece = &receives->piece[i];
        unsigned char *base = piece->direct ? op->out : received;
        CHRT_TRY(chrt_post_recv(op, comm, piece->peer, base + piece->at * b, piece->last - piece->first));
    }
    for (int32_t i = 0; i < sends->n; i++) {
        const ChrtPiece *piece = &sends->piece[i];
        const unsigned char *from = op->in;
        if (!piece->direct) {
            unsigned char *into = (unsigned char *)to_send + piece->at * b;
            chrt_box_copy(b, &piece->box, piece->first, piece->last, &op->in_box, op->in, NULL, into);
            CHRT_TRY(chrt_post_send(op, comm, piece->peer, into, piece->last - piece->first));
        } else {
            CHRT_TRY(chrt_post_send(op, comm, piece->peer, from + piece->at * b, piece->last - piece->first));
        }
    }
    return chrt_wait(op);
}

void chrt_pieces_unpack(ChrtOp *op, const ChrtPieces *receives, const unsigned char *packed)
{
    for (int32_t i = 0; i < receives->n; i++) {
        const ChrtPiece *piece = &receives->piece[i];
        if (!piece->direct)
            chrt_box_copy(op->elem_bytes, &piece->box, piece->first, piece->last, NULL,
                          packed + piece->at * op->elem_bytes, &op->out_box, op->out);
    }
}
