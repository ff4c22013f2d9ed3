/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_internal.h - what the files of the runtime share. Order of dependence, lowest first:
 *
 *   chrt_mesh (ranks, groups, blocks)  chrt_layout (states of axes)  chrt_box (strided walks)  chrt_number, chrt_sum
 *   chrt_context (life, errors, memory)  chrt_rule (typing rules of the ops)  and then chrt_task.h
 */
#ifndef CHRT_INTERNAL_H
#define CHRT_INTERNAL_H

#include "chrt.h"

#include <limits.h>

/* The most elements in one MPI call: MPI 3.1 counts in int. Tests lower it. */
#ifndef CHRT_MAX_COUNT
#define CHRT_MAX_COUNT INT_MAX
#endif

/* Chains of hops cut their data into segments, of this size at most where there are not too many. Tests lower it. */
#ifndef CHRT_SEGMENT_BYTES
#define CHRT_SEGMENT_BYTES (256 * 1024)
#endif

/* Collectives whose messages are no longer than this go straight from member to member, in one round of latency
 * instead of a ring's g - 1. Tests lower it. */
#ifndef CHRT_LATENCY_BYTES
#define CHRT_LATENCY_BYTES (16 * 1024) /* what a wire carries during a latency, roughly: for choices within an op */
#endif
#ifndef CHRT_DIRECT_BYTES
#define CHRT_DIRECT_BYTES (8 * 1024)
#endif

/* Messages from or to runs of no less than this on average are not packed: MPI walks the runs. With Open MPI over
 * shared memory that took 0.6 to 0.8 of the time at all lengths from 64 bytes to 4 KiB; the description takes 12 bytes
 * a run while it is made. Tests lower it. */
#ifndef CHRT_STRIDED_BYTES
#define CHRT_STRIDED_BYTES 256
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

/* The largest box that begins at element `first` of the flattened box and is, flattened itself, part of [first, last):
 * returns its elements. Calling it again from there covers the range, in at most 2 ndims - 1 calls. */
int64_t chrt_box_part(const ChrtBox *box, int64_t first, int64_t last, ChrtBox *part);

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
    ChrtAxes axes;    /* without size-1 axes */
    MPI_Comm comm;    /* MPI_COMM_NULL where the library's collectives are not asked for */
    int32_t size, me; /* ranks, and this rank's place among them */
    int32_t *members; /* their ranks on the mesh */
} ChrtGroup;

/* Where a buffer of the user is: which one, and the bytes [begin, end). */
typedef struct ChrtExtent {
    uintptr_t begin, end;
    int32_t buffer;
} ChrtExtent;

/* A message under way: whose it is. */
typedef struct ChrtPosted {
    ChrtTask *task;
    int32_t action;
} ChrtPosted;

struct ChrtCtx {
    const ChrtMesh *mesh;
    const char *plan;
    int32_t rank, ranks;
    MPI_Comm comm;   /* our duplicate; errors return */
    bool library;    /* CHRT_COLLECTIVES=library */
    MPI_Op sum_wrap; /* sum of 8-bit integers */
    ChrtGroup *groups;
    int32_t ngroups;
    void **arenas;
    int32_t narenas;
    ChrtTask **tasks;
    int32_t ntasks;
    int32_t next_tag, max_tag;
    int32_t outstanding; /* tasks started and not waited for: the same number on every rank at every call */

    /* All messages under way, of all tasks; room for all that could be, since prepare. */
    MPI_Request *requests;
    ChrtPosted *posted;
    MPI_Status *statuses;
    int32_t nrequests, max_requests;

    ChrtExtent *extents; /* of chrt_enter: room for the longest list so far */
    int32_t max_extents;
    bool entered; /* the last chrt_enter went well */

    ChrtStatus broken; /* status of the first error after which messages may be under way, or 0 */
    bool told;         /* the message says that the error is an earlier one's */
    char message[CHRT_MESSAGE_BYTES];
};

/* Puts the text into the context and returns the status. */
ChrtStatus chrt_fail(ChrtCtx *ctx, ChrtStatus status, const char *format, ...) CHRT_PRINTF(3, 4);

/* A failed MPI call: breaks the context. name may be "". */
ChrtStatus chrt_fail_mpi(ChrtCtx *ctx, const char *what, const char *name, int mpi_error);

/* What a broken context answers: its status, and whose error it was. */
ChrtStatus chrt_repeat(ChrtCtx *ctx);

/* Whether MPI is finalized, after which no call to it is allowed; a flag that the library reads, no message. */
bool chrt_mpi_is_over(void);

/* Makes one status of all ranks': this rank's own if it has one, else 'what: ... on another rank'. Collective. */
ChrtStatus chrt_agree(ChrtCtx *ctx, const char *what, ChrtStatus mine) CHRT_MUST_USE;

/* The group over axes that are free of size-1 axes, or NULL. */
const ChrtGroup *chrt_group_find(const ChrtCtx *ctx, const uint8_t *moving);

/* ---- chrt_rule -----------------------------------------------------------------------------------------------------
 */

/* A step of a task that has passed its typing rule. */
typedef struct ChrtRule {
    const ChrtStep *step;
    ChrtLayout from, to;
    const ChrtGroup *group; /* NULL: this rank alone, or a step that needs none */
} ChrtRule;

const char *chrt_op_name(ChrtOp op);

ChrtStatus chrt_rule_check(ChrtCtx *ctx, const ChrtStep *step, ChrtRule *rule) CHRT_MUST_USE;

#endif
