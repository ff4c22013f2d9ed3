/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_program.c - writing a task's program: actions, what they wait for, and where their data lie.
 */
#include "chrt_task.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

/* Room for one more element of a growing array. */
static bool grow(ChrtTask *task, void **array, int32_t n, int32_t *max, size_t bytes)
{
    if (task->no_memory)
        return false;
    if (n < *max)
        return true;
    int32_t more = *max ? *max * 2 : 32;
    void *memory = *max > INT32_MAX / 2 ? NULL : realloc(*array, (size_t)more * bytes);
    if (!memory) {
        task->no_memory = true;
        return false;
    }
    *array = memory;
    *max = more;
    return true;
}

static int32_t add(ChrtTask *task, const ChrtAction *action)
{
    void *array = task->action;
    if (!grow(task, &array, task->nactions, &task->max_actions, sizeof *task->action))
        return -1;
    task->action = array;
    task->action[task->nactions] = *action;
    task->action[task->nactions].lane = -1;
    return task->nactions++;
}

void chrt_after(ChrtTask *task, int32_t action, int32_t before)
{
    void *array = task->edge;
    if (action < 0 || before < 0 || !grow(task, &array, task->nedges, &task->max_edges, sizeof *task->edge))
        return;
    task->edge = array;
    task->edge[task->nedges++] = (ChrtEdge){before, action};
    task->action[before].followed = true;
}

int32_t chrt_join(ChrtTask *task, int32_t step)
{
    return add(task, &(ChrtAction){.verb = CHRT_JOIN, .step = step});
}

/* ---- places --------------------------------------------------------------------------------------------------------
 */

ChrtPlace chrt_place_at(ChrtPlace place, int64_t bytes)
{
    place.offset += bytes;
    return place;
}

ChrtPlace chrt_take(ChrtWork *w, int64_t elems, int32_t elem_bytes)
{
    ChrtPlace place = {CHRT_REGION + 2 * w->step + w->chunk % 2, w->used, 0};
    if (elems > (INT64_MAX - ALIGN - w->used) / elem_bytes)
        w->task->no_memory = true;
    else
        w->used += (elems * elem_bytes + ALIGN - 1) / ALIGN * ALIGN;
    return place;
}

bool chrt_strided_reserve(ChrtTask *task)
{
    void *array = task->strided;
    bool room = grow(task, &array, task->nstrided, &task->max_strided, sizeof *task->strided);
    task->strided = array;
    return room;
}

ChrtView chrt_packed(ChrtPlace at, const ChrtBox *box)
{
    return (ChrtView){.at = at, .box = *box, .dim = -1};
}

ChrtBox chrt_line(int64_t first, int64_t elems)
{
    return (ChrtBox){.ndims = 1, .lo = {first}, .n = {elems}};
}

/* ---- messages ------------------------------------------------------------------------------------------------------
 */

static int32_t message(ChrtWork *w, ChrtVerb verb, int32_t peer, ChrtPlace at, int64_t elems, int32_t after)
{
    if (elems <= 0)
        return -1;
    ChrtAction action = {.verb = verb, .step = w->step, .peer = peer, .at = at, .elems = elems};
    action.tag = w->task->tag + 2 * w->step + w->chunk % 2;
    int32_t id = add(w->task, &action);
    chrt_after(w->task, id, verb == CHRT_SEND ? w->ready : w->free);
    chrt_after(w->task, id, after);
    return id;
}

int32_t chrt_send(ChrtWork *w, int32_t peer, ChrtPlace at, int64_t elems, int32_t after)
{
    return message(w, CHRT_SEND, peer, at, elems, after);
}

int32_t chrt_recv(ChrtWork *w, int32_t peer, ChrtPlace at, int64_t elems, int32_t after)
{
    return message(w, CHRT_RECV, peer, at, elems, after);
}

/* ---- local actions -------------------------------------------------------------------------------------------------
 */

int32_t chrt_local_open(ChrtWork *w, ChrtVerb verb, int32_t after)
{
    int32_t id = add(w->task, &(ChrtAction){.verb = verb, .step = w->step, .first = w->task->nwalks});
    chrt_after(w->task, id, w->ready);
    chrt_after(w->task, id, w->free);
    chrt_after(w->task, id, after);
    return id;
}

static void add_walk(ChrtTask *task, const ChrtBox *region, const ChrtBox *from_box, ChrtPlace from,
                     const ChrtBox *to_box, ChrtPlace to)
{
    void *array = task->walk;
    int64_t elems = chrt_box_elems(region);
    if (elems == 0 || !grow(task, &array, task->nwalks, &task->max_walks, sizeof *task->walk))
        return;
    task->walk = array;
    task->walk[task->nwalks++] = (ChrtWalk){chrt_runs(region, 0, elems, from_box, to_box), from, to};
    task->action[task->nactions - 1].n++;
}

ChrtBox chrt_view_span(const ChrtView *view, int32_t span, const ChrtBox *region, ChrtBox *box)
{
    ChrtBox part = *region;
    *box = view->box;
    if (span < 0)
        return part;
    const ChrtSpan *s = &view->spans[span];
    int32_t d = view->dim;
    int64_t end = part.lo[d] + part.n[d] < s->hi ? part.lo[d] + part.n[d] : s->hi;
    part.lo[d] = part.lo[d] > s->lo ? part.lo[d] : s->lo;
    part.n[d] = end > part.lo[d] ? end - part.lo[d] : 0;
    box->lo[d] -= s->shift;
    return part;
}

void chrt_local_walk(ChrtWork *w, const ChrtBox *region, const ChrtView *from, const ChrtView *to)
{
    if (w->task->no_memory)
        return;
    for (int32_t i = from->nspans ? 0 : -1; i < from->nspans; i++) {
        ChrtBox from_box, to_box, part = chrt_view_span(from, i, region, &from_box);
        if (chrt_box_elems(&part) == 0)
            continue;
        for (int32_t j = to->nspans ? 0 : -1; j < to->nspans; j++) {
            ChrtBox both = chrt_view_span(to, j, &part, &to_box);
            add_walk(w->task, &both, &from_box, from->at, &to_box, to->at);
        }
    }
}

int32_t chrt_local(ChrtWork *w, ChrtVerb verb, const ChrtBox *region, const ChrtView *from, const ChrtView *to,
                   int32_t after)
{
    if (chrt_box_elems(region) == 0)
        return -1;
    int32_t id = chrt_local_open(w, verb, after);
    chrt_local_walk(w, region, from, to);
    return id;
}

bool chrt_view_run(const ChrtView *view, int32_t elem_bytes, const ChrtBox *region, ChrtPlace *at)
{
    int64_t elems = chrt_box_elems(region), offset;
    for (int32_t i = view->nspans ? 0 : -1; i < view->nspans; i++) {
        ChrtBox box, part = chrt_view_span(view, i, region, &box);
        if (chrt_box_elems(&part) != elems)
            continue;
        if (!chrt_box_contiguous(&box, region, &offset))
            return false;
        *at = chrt_place_at(view->at, offset * elem_bytes);
        return true;
    }
    return false;
}

/* ---- closing -------------------------------------------------------------------------------------------------------
 */

/* By direction, tag, peer; then as written. */
typedef struct Lane {
    int32_t send, tag, peer, id;
} Lane;

static int compare_lanes(const void *a, const void *b)
{
    const Lane *x = a, *y = b;
    if (x->send != y->send)
        return x->send < y->send ? -1 : 1;
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool link_lanes(ChrtTask *task)
{
    int32_t n = 0;
    Lane *lane = malloc((size_t)(task->nactions > 0 ? task->nactions : 1) * sizeof *lane);
    if (!lane)
        return false;
    for (int32_t i = 0; i < task->nactions; i++) {
        const ChrtAction *a = &task->action[i];
        if (a->verb == CHRT_SEND || a->verb == CHRT_RECV)
            lane[n++] = (Lane){a->verb == CHRT_SEND, a->tag, a->peer, i};
    }
    qsort(lane, (size_t)n, sizeof *lane, compare_lanes);
    for (int32_t i = 0; i + 1 < n; i++)
        if (lane[i].send == lane[i + 1].send && lane[i].tag == lane[i + 1].tag && lane[i].peer == lane[i + 1].peer) {
            task->action[lane[i].id].lane = lane[i + 1].id;
            task->action[lane[i + 1].id].needs++;
        }
    free(lane);
    return true;
}

/* Edges, in order of writing, become each action's list. */
static bool link_edges(ChrtTask *task)
{
    task->next = malloc((size_t)(task->nedges > 0 ? task->nedges : 1) * sizeof *task->next);
    if (!task->next)
        return false;
    for (int32_t i = 0; i < task->nedges; i++) {
        task->action[task->edge[i].before].nnext++;
        task->action[task->edge[i].after].needs++;
    }
    int32_t at = 0;
    for (int32_t i = 0; i < task->nactions; i++) {
        task->action[i].next = at;
        at += task->action[i].nnext;
        task->action[i].nnext = 0;
    }
    for (int32_t i = 0; i < task->nedges; i++) {
        ChrtAction *before = &task->action[task->edge[i].before];
        task->next[before->next + before->nnext++] = task->edge[i].after;
    }
    free(task->edge);
    task->edge = NULL;
    task->nedges = task->max_edges = 0;
    return true;
}

/* Regions one after the other in the scratch memory. */
static bool place_regions(ChrtTask *task)
{
    int64_t used = 0;
    for (int32_t r = 0; r < 2 * task->nsteps; r++) {
        int64_t bytes = task->region[r];
        if (bytes > INT64_MAX - ALIGN - used)
            return false;
        task->region[r] = used;
        used += bytes;
    }
    task->scratch_bytes = used;
    if (used > PTRDIFF_MAX - ALIGN)
        return false;
    task->scratch_memory = malloc((size_t)used + ALIGN); /* not aligned_alloc: simulators intercept malloc */
    if (!task->scratch_memory)
        return false;
    task->scratch = task->scratch_memory + (ALIGN - (uintptr_t)task->scratch_memory % ALIGN);
    return true;
}

static void resolve(const ChrtTask *task, ChrtPlace *place)
{
    if (place->base < CHRT_REGION)
        return;
    place->offset += task->region[place->base - CHRT_REGION];
    place->base = CHRT_SCRATCH;
}

/* Whether nothing but the end of the task waits for messages. Such are direct exchanges of what needs no packing. */
static bool ends_at_once(const ChrtTask *task)
{
    for (int32_t i = 0; i < task->nactions; i++) {
        const ChrtAction *a = &task->action[i];
        for (int32_t k = 0; k < a->nnext && (a->verb == CHRT_SEND || a->verb == CHRT_RECV); k++) {
            const ChrtAction *next = &task->action[task->next[a->next + k]];
            if (next->verb != CHRT_JOIN || next->nnext > 0)
                return false;
        }
    }
    return true;
}

ChrtStatus chrt_program_close(ChrtTask *task)
{
    if (task->no_memory || !link_lanes(task) || !link_edges(task) || !place_regions(task))
        return chrt_fail(task->ctx, CHRT_ERR_MEMORY, "prepare %.64s: out of memory", task->steps[0].name);
    task->ends_at_once = ends_at_once(task);
    for (int32_t i = 0; i < task->nactions; i++)
        resolve(task, &task->action[i].at);
    for (int32_t i = 0; i < task->nwalks; i++) {
        resolve(task, &task->walk[i].from);
        resolve(task, &task->walk[i].to);
    }
    size_t n = (size_t)(task->nactions > 0 ? task->nactions : 1);
    task->waiting = malloc(n * sizeof *task->waiting);
    task->under_way = malloc(n * sizeof *task->under_way);
    task->ready = malloc(n * sizeof *task->ready);
    if (!task->waiting || !task->under_way || !task->ready)
        return chrt_fail(task->ctx, CHRT_ERR_MEMORY, "prepare %.64s: out of memory", task->steps[0].name);
    return CHRT_OK;
}
