/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_task.h - how a task is made and run. Order of dependence, lowest first:
 *
 *   chrt_program (actions, places, what waits for what)  chrt_cut (how blocks and chunks lie in memory)  chrt_strided
 *   (messages without packing)  chrt_pairwise, chrt_direct, chrt_ring, chrt_chain, chrt_exchange (the algorithms)
 * chrt_task (steps and chunks put together) chrt_library (MPI's own collectives)  chrt_engine (progress)
 *
 * A task is a *program*: this rank's messages, copies and sums as nodes of a graph, made once by chrt_prepare. The
 * algorithms only write nodes; one engine runs them. A node runs when all nodes that it waits for are complete.
 *
 * Why it cannot deadlock. (1) Order: number the actions of all ranks by (task in order of start, chunk, step, round
 * within the step). A node waits only for nodes that come before it in this order: for the chunk's previous step and
 * the step's previous chunk (READY), for buffers that chunks two before have used (FREE), for earlier rounds. A send
 * completes once its receive is posted, a receive once its send is posted, and those two have one number. So the least
 * node that has not run on any rank can always run. (2) Matching: messages between two ranks with one tag are posted in
 * the order of the program on both sides (`lane`), and both sides write the same messages in the same order; each task
 * has tags of its own, two a step, used by turns, so tasks that are under way together never mix. (3) All ranks start
 * tasks in one order, a rank that waits for one drives all, and nothing waits for a task that another rank has yet to
 * start, save messages of that very task.
 */
#ifndef CHRT_TASK_H
#define CHRT_TASK_H

#include "chrt_internal.h"

/* ---- chrt_program --------------------------------------------------------------------------------------------------
 */

/* Where data lie: in the caller's buffers, in the task's scratch memory, or, while the program is being made, in
 * region base - CHRT_REGION of it: two a step, for even and odd chunks. */
enum { CHRT_IN, CHRT_OUT, CHRT_SCRATCH, CHRT_REGION };

typedef struct ChrtPlace {
    int32_t base;
    int64_t offset;  /* bytes */
    int32_t strided; /* messages: number of the task's type of what lies from there on; 0: one run */
} ChrtPlace;

typedef enum ChrtVerb {
    CHRT_RECV,
    CHRT_SEND,
    CHRT_MOVE,  /* copy */
    CHRT_SET,   /* start a sum: 16-bit floats become f32 */
    CHRT_ADD,   /* go on with it */
    CHRT_ROUND, /* end it: f32 become 16-bit floats */
    CHRT_JOIN,  /* nothing; for others to wait for */
} ChrtVerb;

typedef struct ChrtAction {
    ChrtVerb verb;
    int32_t step;
    int32_t peer, tag;   /* messages: a rank of the mesh */
    ChrtPlace at;        /* messages */
    int64_t elems;       /* messages */
    int32_t first, n;    /* others: their walks */
    int32_t needs;       /* how many actions it waits for */
    int32_t next, nnext; /* those that wait for it: in the task's list */
    int32_t lane;        /* the next message to or from the peer under the tag: posted after this one; or -1 */
    bool followed;       /* something waits for it */
} ChrtAction;

/* One strided walk of a local action, from one place to another. */
typedef struct ChrtWalk {
    ChrtRuns runs;
    ChrtPlace from, to;
} ChrtWalk;

typedef struct ChrtEdge {
    int32_t before, after;
} ChrtEdge;

/* A derived datatype; runs is 0 where they are not alike. */
typedef struct ChrtStrided {
    MPI_Datatype type;
    int64_t runs, elems, stride;
} ChrtStrided;

typedef struct ChrtLibrary ChrtLibrary;

struct ChrtTask {
    ChrtCtx *ctx;
    ChrtDtype dtype;
    int32_t elem_bytes, sum_bytes;
    MPI_Datatype mpi;
    int32_t nsteps;
    ChrtStep *steps; /* op and name are used */
    int64_t in_elems, out_elems;
    int32_t tag; /* the first of 2 * nsteps */

    ChrtAction *action;
    ChrtWalk *walk;
    ChrtEdge *edge; /* while being made */
    int32_t nactions, nwalks, nedges, max_actions, max_walks, max_edges;
    ChrtStrided *strided;
    int32_t nstrided, max_strided;
    int32_t *next;
    int64_t *region; /* bytes of each, then where it begins */
    bool no_memory;
    bool ends_at_once; /* nothing begins when a message ends: all can be waited for together */
    unsigned char *scratch_memory, *scratch;
    int64_t scratch_bytes;
    ChrtLibrary *library; /* NULL: none for this task */

    bool started;
    const unsigned char *in;
    unsigned char *out;
    int32_t *waiting;   /* per action: needs that are not met */
    int32_t *under_way; /* per action: messages not complete */
    int32_t *ready;     /* stack */
    int32_t nready, left;
};

void chrt_task_free(ChrtTask *task); /* not under way; NULL is fine */

/* How a block lies in memory. A region of it is named in the coordinates of the chunk; span s says that coordinates
 * [lo, hi) of dim are found at lo + shift in the buffer's own, which box is in. No spans: the two are the same. */
typedef struct ChrtSpan {
    int64_t lo, hi, shift;
} ChrtSpan;

typedef struct ChrtView {
    ChrtPlace at;
    ChrtBox box;
    int32_t dim, nspans;
    const ChrtSpan *spans;
} ChrtView;

/* A buffer that holds just the box. */
ChrtView chrt_packed(ChrtPlace at, const ChrtBox *box);

/* A flattened buffer: elements [first, first + elems) of something of one dim. */
ChrtBox chrt_line(int64_t first, int64_t elems);

/* A step on a chunk, as the algorithms see it. Boxes are in coordinates of the chunk. */
typedef struct ChrtCutting ChrtCutting;
typedef struct ChrtWork {
    ChrtTask *task;
    const ChrtRule *rule;
    const ChrtCutting *cutting;
    const ChrtMesh *mesh;
    int32_t step, chunk, rank;
    int32_t g, me; /* of the group */
    bool holds, needs;
    ChrtView in, out;
    ChrtBox in_box, out_box;
    int64_t in_elems, out_elems; /* 0 when absent */
    int32_t ready;               /* every send and local action waits for this: the operand is there */
    int32_t free;                /* every receive and local action waits for this: the buffers may be written to */
    int64_t used;                /* bytes of the region */
    int32_t *ids;                /* room for a number a rank */
} ChrtWork;

ChrtPlace chrt_take(ChrtWork *w, int64_t elems, int32_t elem_bytes); /* scratch memory, aligned */
ChrtPlace chrt_place_at(ChrtPlace place, int64_t bytes);

/* Each adds an action that waits for `after` (-1: nothing) besides ready or free, and returns it, or -1 where there are
 * no elements. After a failed allocation they do nothing; chrt_program_close tells. */
int32_t chrt_send(ChrtWork *w, int32_t peer, ChrtPlace at, int64_t elems, int32_t after);
int32_t chrt_recv(ChrtWork *w, int32_t peer, ChrtPlace at, int64_t elems, int32_t after);
int32_t chrt_local(ChrtWork *w, ChrtVerb verb, const ChrtBox *region, const ChrtView *from, const ChrtView *to,
                   int32_t after);
int32_t chrt_join(ChrtTask *task, int32_t step);
void chrt_after(ChrtTask *task, int32_t action, int32_t before); /* -1 as either: nothing */

/* Room for one more strided type. */
bool chrt_strided_reserve(ChrtTask *task) CHRT_MUST_USE;

/* Of a local action in two parts: room, then walks of its. */
int32_t chrt_local_open(ChrtWork *w, ChrtVerb verb, int32_t after);
void chrt_local_walk(ChrtWork *w, const ChrtBox *region, const ChrtView *from, const ChrtView *to);

/* Everything written: resolves places and sorts out who waits for whom. */
ChrtStatus chrt_program_close(ChrtTask *task) CHRT_MUST_USE;

/* ---- chrt_cut -------------------------------------------------------------------------------------------------------
 */

struct ChrtCutting {
    int32_t dim; /* -1: not cut */
    int32_t chunks;
    int64_t size;
    ChrtAxes fine;  /* the finer end split */
    int64_t blocks; /* its blocks: K */
    int64_t *start; /* [chunk][K + 1]: where the fine blocks begin in the chunk's coordinates */
};

/* from, to: the ends of the chain. Says why not, if the chain cannot be cut so. */
ChrtStatus chrt_cutting_make(ChrtCtx *ctx, const ChrtCut *cut, const ChrtLayout *from, const ChrtLayout *to,
                             ChrtCutting *cutting) CHRT_MUST_USE;
void chrt_cutting_free(ChrtCutting *cutting);

/* The rank's block of a chunk in a layout; chrt_present is another matter. */
ChrtBox chrt_chunk_box(const ChrtCutting *cutting, const ChrtMesh *mesh, const ChrtLayout *layout, int32_t chunk,
                       int32_t rank);

/* How the chunk lies in the caller's buffer at an end of the chain; spans: room for K. */
ChrtView chrt_chunk_view(const ChrtCutting *cutting, const ChrtMesh *mesh, const ChrtLayout *layout, int32_t chunk,
                         int32_t rank, int32_t base, ChrtSpan *spans);

/* Whether a region is one run of the buffer, and where. */
bool chrt_view_run(const ChrtView *view, int32_t elem_bytes, const ChrtBox *region, ChrtPlace *at);

/* The part of a region that lies in one span (-1, where there are none: all), in coordinates of the chunk; and the
 * buffer's box in the same. */
ChrtBox chrt_view_span(const ChrtView *view, int32_t span, const ChrtBox *region, ChrtBox *box);

bool chrt_layout_present(const ChrtMesh *mesh, const ChrtLayout *layout, int32_t rank);

/* ---- chrt_strided --------------------------------------------------------------------------------------------------
 */

/* Whether elements [first, last) of the flattened box should go between the wire and the view without a copy of ours,
 * though they are no single run there; and the place for that. */
bool chrt_strided(ChrtWork *w, const ChrtView *view, const ChrtBox *box, int64_t first, int64_t last, ChrtPlace *at);

/* ---- the algorithms -------------------------------------------------------------------------------------------------
 */

/* Block of member m before and after. */
ChrtBox chrt_member_in(const ChrtWork *w, int32_t m);
ChrtBox chrt_member_out(const ChrtWork *w, int32_t m);
int32_t chrt_member_rank(const ChrtWork *w, int32_t m);

/* The whole operand or result as one run: the caller's buffer, or scratch memory that is filled before *after, and
 * emptied after `after`. */
ChrtPlace chrt_flat_in(ChrtWork *w, int32_t *after);
ChrtPlace chrt_flat_out(ChrtWork *w, bool *direct);
int32_t chrt_flat_done(ChrtWork *w, ChrtPlace flat, bool direct, int32_t after);

/* Pieces: elements [first, last) of a flattened box. */
int32_t chrt_piece_send(ChrtWork *w, int32_t peer, const ChrtBox *box, int64_t first, int64_t last);
int32_t chrt_piece_recv(ChrtWork *w, int32_t peer, const ChrtBox *box, int64_t first, int64_t last);
/* A local action on a piece: between the view and a packed buffer that holds just the piece. */
int32_t chrt_piece_local(ChrtWork *w, ChrtVerb verb, const ChrtBox *box, int64_t first, int64_t last,
                         const ChrtView *view, ChrtPlace packed, bool to_view, int32_t after);

void chrt_make_local(ChrtWork *w); /* what a rank's blocks have in common */
void chrt_make_reduce_scatter(ChrtWork *w);
void chrt_make_all_gather(ChrtWork *w);
void chrt_make_all_reduce(ChrtWork *w);
void chrt_make_all_to_all(ChrtWork *w);
void chrt_make_shift(ChrtWork *w);
void chrt_make_broadcast(ChrtWork *w);
void chrt_make_reduce(ChrtWork *w);
void chrt_make_exchange(ChrtWork *w);

/* The second half of an all_reduce: everyone's balanced block of the flattened value of n elements, which is in its
 * place in `out` after `have`, to all. What arrives in round r waits for busy[r] (NULL: for nothing), the first send in
 * a pipeline for last_send. Returns when all is done. */
int32_t chrt_ring_gather(ChrtWork *w, ChrtPlace out, int64_t n, int32_t have, const int32_t *busy, int32_t last_send);

/* The same straight from member to member: short values, and 16-bit floats, which are rounded once so. */
void chrt_make_direct_reduce_scatter(ChrtWork *w);
void chrt_make_direct_all_gather(ChrtWork *w);
void chrt_make_direct_all_reduce(ChrtWork *w, bool around); /* the sums are gathered around the ring */
void chrt_make_direct_reduce(ChrtWork *w);

/* ---- chrt_library ---------------------------------------------------------------------------------------------------
 */

/* *library = NULL where MPI has no collective for the step, or cannot do it right. */
ChrtStatus chrt_library_make(ChrtTask *task, const ChrtRule *rule, ChrtLibrary **library) CHRT_MUST_USE;
ChrtStatus chrt_library_run(ChrtTask *task, const void *in, void *out) CHRT_MUST_USE;
void chrt_library_free(ChrtLibrary *library);

/* ---- chrt_engine ----------------------------------------------------------------------------------------------------
 */

/* Room for all messages of one more task. */
ChrtStatus chrt_engine_reserve(ChrtCtx *ctx, int64_t messages) CHRT_MUST_USE;
int64_t chrt_task_messages(const ChrtTask *task); /* that its program posts */

#endif
