/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt.h - the runtime that emitted C calls: layout changes as tasks, over MPI 3.1.
 *
 * A value is one logical tensor in a layout (ChrtType). Every rank holds its block: contiguous, row-major in the
 * declared order of dims. A step takes a value from one layout to another; the data of the logical tensor stay the
 * same. Steps are data; a task is a chain of them, prepared once and run any number of times.
 *
 *   enum { AXIS_pp = 1, AXIS_tp };                        axes count from 1: 0 ends a list
 *   enum { DIM_seq, DIM_hidden };                         dims count from 0
 *   static const ChrtMesh mesh = { .naxes = 2, .axis = { { "pp", 2 }, { "tp", 4 } } };
 *   static const ChrtType type_1 = { .dtype = CHRT_F32, .ndims = 2, .size = { 8192, 2048 },
 *                                    .split = { [DIM_seq] = { AXIS_tp } }, .at = { { AXIS_pp, 0 } } };
 *
 *   static const ChrtStep step_1 = { CHRT_REDUCE_SCATTER, "%1", &type_x0, &type_1, .over = { AXIS_tp },
 *                                    .dim = DIM_seq };
 *
 *   chrt_create(comm, &mesh, groups, ngroups, hash, "tp_pp", &rt, message);                      collective
 *   chrt_arena(rt, bytes, &arena);                                                               collective
 *   chrt_prepare(rt, &step_1, 1, NULL, &task);                                                   collective
 *   chrt_enter(rt, 1, 1, (const ChrtBuffer[]){ { "x", &type_x0, x }, { "x2", &type_x2, x2 } });  collective
 *   chrt_run(task, x, v1);        or chrt_start(task, x, v1); ... chrt_wait(task);
 *   chrt_destroy(rt);                                                                            collective
 *
 * All ranks make the same calls in the same order. Ranks where a value is absent (pinned elsewhere) on both sides take
 * no part, and their buffers are not looked at; NULL is legal wherever the local block is absent or empty. The two
 * buffers of a task must not overlap.
 *
 * Errors: 0 or a negative ChrtStatus; chrt_error_message says which op and why. chrt_create, chrt_arena, chrt_prepare
 * and chrt_enter agree on their result, so every rank returns an error together; after a refusal by chrt_enter the plan
 * is as good as before. An error while a task runs may be one rank's own: the others then wait for it, and the caller
 * must end the program (MPI_Abort). A context, and with it the plan, that had an MPI error is unusable: every later
 * call returns the status again, with the message "an earlier op failed: ..."; chrt_enter tells it to all ranks that
 * get there, and theirs are unusable too. chrt_destroy leaves alone what MPI may still be writing to.
 */
#ifndef CHRT_H
#define CHRT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHRT_MAX_DIMS 8
#define CHRT_MAX_AXES 32
#define CHRT_MESSAGE_BYTES 1024

#if defined(__GNUC__)
#define CHRT_MUST_USE __attribute__((warn_unused_result))
#else
#define CHRT_MUST_USE
#endif

typedef enum ChrtStatus {
    CHRT_OK = 0,
    CHRT_ERR_RANKS = -1,    /* the communicator's size is not the mesh's */
    CHRT_ERR_SCHEDULE = -2, /* the ranks do not run the same schedule */
    CHRT_ERR_NULL = -3,     /* a buffer is NULL where the local block is not empty */
    CHRT_ERR_MPI = -4,      /* an MPI call failed; the message has MPI's own text */
    CHRT_ERR_MEMORY = -5,   /* an allocation failed */
    CHRT_ERR_TYPE = -6,     /* the op does not lead from the one type to the other: a defect of the caller */
    CHRT_ERR_GROUP = -7,    /* the op's group was not in the list given to chrt_create: a defect of the caller */
    CHRT_ERR_CUT = -8,      /* the chain cannot be cut along the dim: a defect of the caller */
    CHRT_ERR_STATE = -9,    /* a task under way was started again, or there is no run to run again */
    CHRT_ERR_OVERLAP = -10, /* an output shares memory with another buffer */
    CHRT_ERR_COMM = -11,    /* no communicator to work on: MPI_COMM_NULL, an intercommunicator, MPI not running */
    CHRT_ERR_PLAN = -12,    /* the plan or context is NULL: creating it failed or was left out */
} ChrtStatus;

/* ---- types ----------------------------------------------------------------------------------------------------- */

typedef enum ChrtDtype {
    CHRT_F64,
    CHRT_F32,
    CHRT_F16,
    CHRT_BF16,
    CHRT_I64,
    CHRT_I32,
    CHRT_I8,
    CHRT_U8,
} ChrtDtype;

/* How partial axes are settled. One kind for now; a zero initialiser means a sum. */
typedef enum ChrtReduce {
    CHRT_SUM,
} ChrtReduce;

/* A list of axes, major first, ended by 0. An array, so that { AXIS_tp } initialises it without further braces. */
typedef uint8_t ChrtAxes[CHRT_MAX_AXES + 1];
#define CHRT_AXES(...) ((const uint8_t[]){__VA_ARGS__, 0})

typedef struct ChrtAxis {
    const char *name;
    int32_t size;
} ChrtAxis;

/* Rank = row-major index of the coordinates, last axis fastest. Axis number a is axis[a - 1]. */
typedef struct ChrtMesh {
    int32_t naxes;
    ChrtAxis axis[CHRT_MAX_AXES];
} ChrtMesh;

typedef struct ChrtPin {
    uint8_t axis; /* 0 ends the list */
    int32_t at;   /* the coordinate where the value is */
} ChrtPin;

/* A logical tensor in a layout. An axis that is named nowhere is replicated; one of size 1 has no effect anywhere.
 * Block b of K over n elements is [floor(b n / K), floor((b + 1) n / K)); for split { a1, a2 } b = a1 * size(a2) + a2.
 */
typedef struct ChrtType {
    ChrtDtype dtype;
    int32_t ndims;
    int64_t size[CHRT_MAX_DIMS];   /* global */
    ChrtAxes split[CHRT_MAX_DIMS]; /* per dim */
    ChrtAxes partial;              /* a reduction over these is still owed */
    ChrtReduce reduce;             /* of which kind */
    ChrtPin at[CHRT_MAX_AXES + 1];
} ChrtType;

/* ---- life of a context ------------------------------------------------------------------------------------------ */

typedef struct ChrtCtx ChrtCtx;

/* Collective over comm. Checks that comm has the mesh's ranks and that all ranks give the same schedule_hash (and mesh,
 * groups, CHRT_COLLECTIVES), and works on a duplicate of comm from then on. A group is needed for the axes of every op,
 * as a sequence, except exchange, reduce_exchange, slice, drop and copy; for shift, broadcast and reduce it is
 * { axis }. Repeated lists and groups of one rank cost nothing; a communicator each is made only for
 * CHRT_COLLECTIVES=library. mesh and plan must outlive the context. On failure *ctx is NULL and message, if not NULL,
 * holds the reason (CHRT_MESSAGE_BYTES bytes). */
ChrtStatus chrt_create(MPI_Comm comm, const ChrtMesh *mesh, const ChrtAxes *groups, int32_t ngroups,
                       uint64_t schedule_hash, const char *plan, ChrtCtx **ctx, char *message) CHRT_MUST_USE;

/* Collective. *arena = bytes of memory aligned to 64, which live as long as the context; sizes may differ by rank. */
ChrtStatus chrt_arena(ChrtCtx *ctx, int64_t bytes, unsigned char **arena) CHRT_MUST_USE;

/* A buffer of the user, to be checked on entry; name appears in messages. */
typedef struct ChrtBuffer {
    const char *name;
    const ChrtType *type;
    const void *at;
} ChrtBuffer;

/* Collective; the inputs come first in the list. On every rank, when it is so on any: CHRT_ERR_NULL for a buffer that
 * is missing, CHRT_ERR_OVERLAP for an output that shares a byte with any other buffer (inputs may share). One small
 * all_reduce and O(n log n); allocates only when n is greater than ever before. CHRT_ERR_COMM after MPI_Finalize. */
ChrtStatus chrt_enter(ChrtCtx *ctx, int32_t ninputs, int32_t noutputs, const ChrtBuffer *buffers) CHRT_MUST_USE;

/* In place of chrt_enter where its buffers are those of the last time: no message, so a rank that is broken by then
 * tells only itself. CHRT_ERR_STATE when there was no last time or it was refused, which is so on every rank;
 * CHRT_ERR_COMM after MPI_Finalize. O(1) */
ChrtStatus chrt_reenter(ChrtCtx *ctx) CHRT_MUST_USE;

/* Collective; NULL is fine. Finishes tasks that nobody waited for. After MPI_Finalize: frees memory, and is local. */
void chrt_destroy(ChrtCtx *ctx);

/* For a create that cannot go on after chrt_create: copies the text of the last error to message, if that is not NULL,
 * destroys the context, and returns the status. Where chrt_create failed itself, which leaves NULL and a message, only
 * returns it. Collective. */
ChrtStatus chrt_abandon(ChrtCtx *ctx, int status, char *message);

/* Text of the last error, "" before the first; lives as long as the context. For NULL it says that there is none. */
const char *chrt_error_message(const ChrtCtx *ctx);

/* A short constant name of a status, for programs that have no context at hand. */
const char *chrt_status_name(ChrtStatus status);

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

typedef enum ChrtOp {
    CHRT_ALL_REDUCE,      /* over is partial -> replicated */
    CHRT_REDUCE_SCATTER,  /* over is partial -> appended to the split of dim */
    CHRT_ALL_GATHER,      /* over ends the split of dim, in this order -> replicated */
    CHRT_ALL_TO_ALL,      /* over ends the split of dim -> appended to the split of to_dim */
    CHRT_SLICE,           /* over is replicated -> appended to the split of dim; local */
    CHRT_SHIFT,           /* at(axis = source) -> at(axis = target) */
    CHRT_BROADCAST,       /* at(axis = source) -> replicated */
    CHRT_REDUCE,          /* axis is partial -> at(axis = target) */
    CHRT_DROP,            /* axis is replicated -> at(axis = target); local */
    CHRT_EXCHANGE,        /* any layout to any other with the same partial axes */
    CHRT_REDUCE_EXCHANGE, /* any to any whose partial axes are a proper subset; the rest are settled at the receiver */
    CHRT_COPY,            /* the same type on both sides; local, for outputs that are inputs */
} ChrtOp;

/* One layout change: the value of type `from` becomes one of type `to`. name is the result's name in the schedule
 * ("%1") and appears in messages as "reduce_scatter %1: ...". over is a sequence: members are ordered row-major in it.
 */
typedef struct ChrtStep {
    ChrtOp op;
    const char *name;
    const ChrtType *from, *to;
    ChrtAxes over;
    int32_t dim, to_dim;
    int32_t axis, source, target;
} ChrtStep;

/* Cuts a chain of steps into chunks along a dim, so that a chunk travels while the next is being reduced. F = the finer
 * of the splits that the dim has at the two ends of the chain (one must be a prefix of the other), K = its blocks:
 * chunk i is block b * chunks + i of K * chunks, for every b. Sizes need not divide; chunks may be empty. */
typedef struct ChrtCut {
    int32_t dim, chunks;
} ChrtCut;

typedef struct ChrtTask ChrtTask;

/* Collective. Checks the chain of steps (each starts in the layout where the one before ends), finds every message,
 * copy and sum that this rank will make, and allocates all that running it takes. cut = NULL: in one piece. The task
 * lives as long as the context; so must the names of the steps, but nothing else of them. O(members) memory a step and
 * chunk, O(ranks) for exchanges. CHRT_ERR_TYPE, CHRT_ERR_GROUP, CHRT_ERR_CUT, CHRT_ERR_MEMORY; on failure *task is
 * NULL. */
ChrtStatus chrt_prepare(ChrtCtx *ctx, const ChrtStep *steps, int32_t nsteps, const ChrtCut *cut,
                        ChrtTask **task) CHRT_MUST_USE;

/* Bytes of this rank's scratch memory for the task. */
int64_t chrt_task_bytes(const ChrtTask *task);

/* Posts what can be posted, and returns. All ranks start and wait in one order. in and out belong to the task until it
 * has been waited for; a task is not started again before that. Allocates nothing.
 * Sums of f16 and bf16 are made in f32, in member order, and rounded once; integers wrap. */
ChrtStatus chrt_start(ChrtTask *task, const void *in, void *out) CHRT_MUST_USE;

/* Until the task is done; drives all that are started. At once if the task is not started. */
ChrtStatus chrt_wait(ChrtTask *task) CHRT_MUST_USE;

/* Start and wait. With CHRT_COLLECTIVES=library in the environment at chrt_create (the same on all ranks), tasks of one
 * step in one piece use MPI's own collective where there is one; the default is 'own'. */
ChrtStatus chrt_run(ChrtTask *task, const void *in, void *out) CHRT_MUST_USE;

/* ---- geometry: pure functions, no MPI --------------------------------------------------------------------------- */

/* A rank's block: elements [lo[d], lo[d] + n[d]) of every dim. */
typedef struct ChrtBox {
    int32_t ndims;
    int64_t lo[CHRT_MAX_DIMS];
    int64_t n[CHRT_MAX_DIMS];
} ChrtBox;

/* Product of the axis sizes; -1 when that is no valid rank count. */
int32_t chrt_mesh_ranks(const ChrtMesh *mesh);

/* Coordinate of a rank on an axis. */
int32_t chrt_coordinate(const ChrtMesh *mesh, int32_t rank, int32_t axis);

/* Row-major index of a rank's coordinates on the listed axes, first axis major: its place in the group over them. */
int32_t chrt_index_in(const ChrtMesh *mesh, int32_t rank, const uint8_t *axes);

/* The ranks that differ from rank only in the listed axes, in member order; returns how many. members may be NULL. */
int32_t chrt_group_members(const ChrtMesh *mesh, int32_t rank, const uint8_t *axes, int32_t *members);

/* First element of block b of K over n: floor(b n / K), without overflow. Block b ends where b + 1 starts. */
int64_t chrt_block_start(int64_t n, int64_t blocks, int64_t b);

/* Whether the value is at the rank at all (pins). */
bool chrt_present(const ChrtMesh *mesh, const ChrtType *type, int32_t rank);

/* The rank's block, whatever the pins. */
ChrtBox chrt_local_box(const ChrtMesh *mesh, const ChrtType *type, int32_t rank);

/* Elements and bytes that the rank holds; 0 when absent. */
int64_t chrt_local_elems(const ChrtMesh *mesh, const ChrtType *type, int32_t rank);
int64_t chrt_local_bytes(const ChrtMesh *mesh, const ChrtType *type, int32_t rank);

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

int32_t chrt_dtype_bytes(ChrtDtype dtype);

/* To nearest, ties to even; a NaN stays a NaN (quiet), overflow becomes an infinity, subnormals are exact. */
uint16_t chrt_f16_from_f32(float value);
float chrt_f32_from_f16(uint16_t bits);
uint16_t chrt_bf16_from_f32(float value);
float chrt_f32_from_bf16(uint16_t bits);

#endif
