/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_internal.h - what the files of the runtime share. Order of dependence, lowest first:
 *
 *   chrt_mesh (ranks, groups, blocks)  chrt_layout (typing rules)  chrt_box (strided copies)  chrt_number, chrt_sum
 *   chrt_context (life, errors, memory, communicators)  chrt_op (an op at work)  chrt_transfer (point to point)
 *   chrt_piece (boxes as messages)  chrt_collective  chrt_chain  chrt_move  chrt_exchange (the ops)
 */
#ifndef CHRT_INTERNAL_H
#define CHRT_INTERNAL_H

#include "chrt.h"

#include <limits.h>

/* The most elements in one MPI call: MPI 3.1 counts in int. Tests lower it. */
#ifndef CHRT_MAX_COUNT
#define CHRT_MAX_COUNT INT_MAX
#endif

/* Pipelined chains cut their data into segments of this size; what fits one segment goes down a tree instead. Tests
 * lower it. */
#ifndef CHRT_SEGMENT_BYTES
#define CHRT_SEGMENT_BYTES (256 * 1024)
#endif

#if defined(__GNUC__)
#define CHRT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CHRT_PRINTF(fmt, args)
#endif

#define CHRT_TRY(call)               \
    do {                             \
        ChrtStatus status_ = (call); \
        if (status_ < 0)             \
            return status_;          \
    } while (0)

/* ---- chrt_layout: a type as one state per axis, and the typing rules as changes of it ---------------------------- */

typedef enum ChrtAxisState {
    CHRT_REPLICATED,
    CHRT_SPLIT,
    CHRT_PARTIAL,
    CHRT_PINNED,
} ChrtAxisState;

/* Axes of size 1 are left out everywhere. state and pin are indexed by axis number. */
typedef struct ChrtLayout {
    ChrtDtype dtype;
    int32_t ndims;
    int64_t size[CHRT_MAX_DIMS];
    ChrtAxes split[CHRT_MAX_DIMS];
    ChrtAxisState state[CHRT_MAX_AXES + 1];
    int32_t pin[CHRT_MAX_AXES + 1]; /* 0 unless pinned */
} ChrtLayout;

/* false when the type is malformed: an unknown axis, an axis in two states, a pin off the mesh. */
bool chrt_layout_of(const ChrtMesh *mesh, const ChrtType *type, ChrtLayout *layout) CHRT_MUST_USE;
bool chrt_layout_equal(const ChrtLayout *a, const ChrtLayout *b);

/* Each op's typing rule is one or two of these in a row. false, and the layout is of no further use, when the rule
 * does not apply. axes must be free of size-1 axes (chrt_axes_moving). */
bool chrt_layout_settle(ChrtLayout *layout, const uint8_t *axes) CHRT_MUST_USE;              /* partial -> replicated */
bool chrt_layout_append(ChrtLayout *layout, const uint8_t *axes, int32_t dim) CHRT_MUST_USE; /* replicated -> split */
bool chrt_layout_remove(ChrtLayout *layout, const uint8_t *axes, int32_t dim) CHRT_MUST_USE; /* split -> replicated */
bool chrt_layout_pin(ChrtLayout *layout, const ChrtMesh *mesh, int32_t axis, int32_t at) CHRT_MUST_USE;
bool chrt_layout_unpin(ChrtLayout *layout, const ChrtMesh *mesh, int32_t axis, int32_t at) CHRT_MUST_USE;

/* The listed axes whose size is not 1, in order; false when one is not on the mesh. */
bool chrt_axes_moving(const ChrtMesh *mesh, const uint8_t *axes, uint8_t *moving) CHRT_MUST_USE;

/* ---- chrt_box: boxes and strided copies -------------------------------------------------------------------------- */

int64_t chrt_box_elems(const ChrtBox *box);
ChrtBox chrt_box_meet(const ChrtBox *a, const ChrtBox *b); /* may be empty: elems 0 */

/* Whether region is one run of a buffer that holds box; *offset is where it begins, in elements. */
bool chrt_box_contiguous(const ChrtBox *box, const ChrtBox *region, int64_t *offset);

/* Walks the flattened elements [first, last) of region as runs that are contiguous in two buffers, which hold the boxes
 * a and b; a box of NULL stands for a buffer that holds just those elements, packed. Offsets and lengths in elements.
 */
typedef struct ChrtRuns {
    int32_t outer;           /* dims that are walked; those inside are merged into the run */
    int64_t run, skip, left; /* run length; elements of the first run that precede `first`; elements to go */
    int64_t at[CHRT_MAX_DIMS], n[CHRT_MAX_DIMS], step[2][CHRT_MAX_DIMS];
    int64_t offset[2];
    bool packed[2];
} ChrtRuns;

ChrtRuns chrt_runs(const ChrtBox *region, int64_t first, int64_t last, const ChrtBox *a, const ChrtBox *b);
bool chrt_runs_next(ChrtRuns *runs, int64_t *a_offset, int64_t *b_offset, int64_t *elems);

/* Copies elements [first, last) of region from the buffer a to the buffer b, as above. */
void chrt_box_copy(int32_t elem_bytes, const ChrtBox *region, int64_t first, int64_t last, const ChrtBox *a_box,
                   const void *a, const ChrtBox *b_box, void *b);

/* ---- chrt_sum: local sums -----------------------------------------------------------------------------------------
 */

MPI_Datatype chrt_dtype_mpi(ChrtDtype dtype); /* integers unsigned, so that sums wrap; 16-bit floats as integers */
bool chrt_dtype_is_half(ChrtDtype dtype);     /* f16, bf16: MPI cannot sum them */
int32_t chrt_sum_bytes(ChrtDtype dtype);      /* of an accumulator element: f32 for 16-bit floats, else the dtype */

void chrt_sum_set(ChrtDtype dtype, void *sum, const void *values, int64_t elems);
void chrt_sum_add(ChrtDtype dtype, void *sum, const void *values, int64_t elems);
void chrt_sum_round(ChrtDtype dtype, const void *sum, void *values, int64_t elems); /* sum == values is fine */

/* ---- chrt_context --------------------------------------------------------------------------------------------------
 */

typedef struct ChrtGroup {
    ChrtAxes axes; /* without size-1 axes */
    MPI_Comm comm;
    int32_t size, me; /* ranks, and this rank's place among them */
    int32_t *members; /* their ranks on the mesh */
} ChrtGroup;

/* Scratch memory, one buffer a purpose; grown on demand, kept to the end. */
typedef enum ChrtScratch {
    CHRT_SCRATCH_SEND,   /* packed data to be sent */
    CHRT_SCRATCH_RECV,   /* packed data received */
    CHRT_SCRATCH_SUM,    /* accumulators */
    CHRT_SCRATCH_BLOCK,  /* a rank's own part of a flattened value */
    CHRT_SCRATCH_STARTS, /* where the members' parts begin */
    CHRT_SCRATCH_COUNTS, /* the same for MPI, in int */
    CHRT_SCRATCH_PIECES, /* lists of pieces */
    CHRT_NSCRATCH,
} ChrtScratch;

struct ChrtCtx {
    const ChrtMesh *mesh;
    const char *plan;
    int32_t rank, ranks;
    MPI_Comm comm;   /* our duplicate; errors return */
    MPI_Op sum_wrap; /* sum of 8-bit integers */
    ChrtGroup *groups;
    int32_t ngroups;
    void **arenas;
    int32_t narenas;
    struct {
        void *at;
        int64_t bytes;
    } scratch[CHRT_NSCRATCH];
    MPI_Request *requests; /* posted and not yet waited for */
    MPI_Status *statuses;
    int32_t nrequests, max_requests;
    ChrtStatus broken; /* status of the first error after which messages may be under way, or 0 */
    double nothing;    /* stands in for NULL where a buffer has no elements */
    char message[CHRT_MESSAGE_BYTES];
};

/* Puts the text into the context and returns the status. */
ChrtStatus chrt_fail(ChrtCtx *ctx, ChrtStatus status, const char *format, ...) CHRT_PRINTF(3, 4);

/* The context's buffer for the purpose, of at least so many bytes, contents undefined; NULL when out of memory. */
void *chrt_scratch(ChrtCtx *ctx, ChrtScratch purpose, int64_t bytes);

/* ---- chrt_op: an op at work -----------------------------------------------------------------------------------------
 */

typedef struct ChrtOp {
    ChrtCtx *ctx;
    const char *kind, *name; /* for messages: "reduce_scatter", "%1" */
    const ChrtType *from, *to;
    const void *in;
    void *out;
    ChrtLayout rule, target; /* rule starts as from's layout; the op's rules must turn it into target */
    bool holds, needs;       /* the value is at this rank before, after */
    ChrtBox in_box, out_box;
    int64_t in_elems, out_elems; /* 0 when absent */
    int32_t elem_bytes;
    MPI_Datatype mpi;
    MPI_Op sum;             /* for MPI's reductions; not for 16-bit floats */
    const ChrtGroup *group; /* NULL: this rank alone */
    int32_t size, me;       /* of the group */
} ChrtOp;

/* Fills *op: layouts, boxes. */
ChrtStatus chrt_op_open(ChrtOp *op, ChrtCtx *ctx, const char *kind, const char *name, const ChrtType *from,
                        const void *in, const ChrtType *to, void *out) CHRT_MUST_USE;

/* applies = the op's rules did; checks that they led to the target, and the buffers; finds the group over moving axes
 * (NULL: none is needed). After it in and out are never NULL. */
ChrtStatus chrt_op_start(ChrtOp *op, bool applies, const uint8_t *over) CHRT_MUST_USE;

/* The part that does not travel: copies what both blocks of this rank have in common. */
ChrtStatus chrt_op_local(ChrtOp *op) CHRT_MUST_USE;

ChrtStatus chrt_op_fail(ChrtOp *op, ChrtStatus status, const char *format, ...) CHRT_PRINTF(3, 4);
ChrtStatus chrt_op_mpi(ChrtOp *op, int mpi_error) CHRT_MUST_USE;

/* chrt_scratch for so many elements of so many bytes, with the error as a status. */
ChrtStatus chrt_op_scratch(ChrtOp *op, ChrtScratch purpose, int64_t elems, int64_t elem_bytes,
                           void **memory) CHRT_MUST_USE;

/* ---- chrt_transfer: point to point ----------------------------------------------------------------------------------
 */

/* The part of so many elements that one MPI call may take. */
int chrt_count(int64_t elems);

/* Post without waiting; nothing for 0 elements. Cut into several messages where one cannot hold them. */
ChrtStatus chrt_post_recv(ChrtOp *op, MPI_Comm comm, int32_t source, void *at, int64_t elems) CHRT_MUST_USE;
ChrtStatus chrt_post_send(ChrtOp *op, MPI_Comm comm, int32_t target, const void *at, int64_t elems) CHRT_MUST_USE;
/* Waits for all that was posted; or for one of them, by its place in ctx->requests. */
ChrtStatus chrt_wait(ChrtOp *op) CHRT_MUST_USE;
ChrtStatus chrt_wait_one(ChrtOp *op, int32_t request) CHRT_MUST_USE;

/* Over the op's group, where member m owns elements [start[m], start[m + 1]) of a flattened buffer:
 * every member sends each its own part of `parts`, and *own = the sum of what it gets, in member order; */
ChrtStatus chrt_pairwise_sum(ChrtOp *op, const void *parts, const int64_t *start, void *own) CHRT_MUST_USE;
/* every member sends all its own part, and `parts` gets all; root >= 0: only member root gets them. */
ChrtStatus chrt_pairwise_gather(ChrtOp *op, const void *own, const int64_t *start, void *parts,
                                int32_t root) CHRT_MUST_USE;

/* *start = the block rule over the op's group: size + 1 entries, in scratch. */
ChrtStatus chrt_even_starts(ChrtOp *op, int64_t elems, int64_t **start) CHRT_MUST_USE;

/* ---- chrt_piece: boxes as messages
 * ------------------------------------------------------------------------------------ */

/* Elements [first, last) of a flattened box that goes to, or comes from, a peer. */
typedef struct ChrtPiece {
    int32_t peer;
    int32_t contribution; /* of which it is a part, where partial axes are settled */
    bool direct;          /* one run of the user's buffer: no packing */
    int64_t at;           /* offset in the user's buffer if direct, else in the packed one; elements */
    int64_t first, last;
    ChrtBox box;
} ChrtPiece;

typedef struct ChrtPieces {
    ChrtPiece *piece;
    int32_t n;
    int64_t packed_elems;
} ChrtPieces;

/* Empty lists of sends and receives with room for max pieces each. */
ChrtStatus chrt_pieces_open(ChrtOp *op, int32_t max, ChrtPieces *sends, ChrtPieces *receives) CHRT_MUST_USE;

/* buffer = the box that the user's buffer holds; NULL: pack even where it is one run. */
void chrt_pieces_add(ChrtPieces *pieces, int32_t peer, int32_t contribution, const ChrtBox *box, int64_t first,
                     int64_t last, const ChrtBox *buffer);

/* Posts all receives, packs and posts all sends, and waits. *packed = what came for pieces that are not direct. */
ChrtStatus chrt_pieces_travel(ChrtOp *op, MPI_Comm comm, const ChrtPieces *sends, const ChrtPieces *receives,
                              unsigned char **packed) CHRT_MUST_USE;

/* Puts the packed pieces into their places in out. */
void chrt_pieces_unpack(ChrtOp *op, const ChrtPieces *receives, const unsigned char *packed);

#endif
