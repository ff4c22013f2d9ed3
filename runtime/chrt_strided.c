/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_strided.c - messages straight from and to strided places, by a derived datatype. MPI copies between the wire and
 * memory anyway, so that runs of some length save the copy through scratch memory; over short ones MPI walks slower
 * than we do. Each side decides by itself: what is matched is the sequence of elements.
 */
#include "chrt_task.h"

#include <stdlib.h>

/* The runs of a piece, in order. */
typedef struct Runs {
    int64_t n, max;
    int64_t first; /* bytes from the buffer's beginning */
    MPI_Aint *at;  /* bytes from there */
    int *elems;
    int64_t total; /* elements */
    bool alike;    /* of one length, at one distance */
} Runs;

static bool add_run(Runs *runs, int64_t at, int64_t elems)
{
    if (runs->n == runs->max)
        return false;
    runs->first = runs->n == 0 ? at : runs->first;
    runs->at[runs->n] = (MPI_Aint)(at - runs->first);
    runs->elems[runs->n] = (int)elems;
    runs->alike = runs->alike && runs->elems[0] == elems && (runs->n < 2 || runs->at[runs->n] == runs->n * runs->at[1]);
    runs->n++;
    runs->total += elems;
    return true;
}

/* A part of the piece; false when there are too many runs, or spans of the view interleave in it. */
static bool add_part(Runs *runs, const ChrtView *view, const ChrtBox *part, int64_t b)
{
    int64_t start = runs->total;
    for (int32_t i = view->nspans ? 0 : -1; i < view->nspans; i++) {
        ChrtBox box, both = chrt_view_span(view, i, part, &box);
        ChrtRuns walk = chrt_runs(&both, 0, chrt_box_elems(&both), &box, part);
        int64_t at, in_part, elems;
        while (chrt_runs_next(&walk, &at, &in_part, &elems))
            if (start + in_part != runs->total || !add_run(runs, view->at.offset + at * b, elems))
                return false;
    }
    return true;
}

/* The task's type of these runs, or 0: one that it has already, if they are alike. */
static int32_t type_of(ChrtTask *t, const Runs *runs)
{
    ChrtStrided made = {.runs = runs->alike ? runs->n : 0, .elems = runs->elems[0], .stride = runs->at[runs->n - 1]};
    for (int32_t i = 0; i < t->nstrided && made.runs; i++)
        if (t->strided[i].runs == made.runs && t->strided[i].elems == made.elems && t->strided[i].stride == made.stride)
            return i + 1;
    if (!chrt_strided_reserve(t))
        return 0;
    int rc = runs->alike ? MPI_Type_create_hvector((int)runs->n, runs->elems[0], runs->at[1], t->mpi, &made.type)
                         : MPI_Type_create_hindexed((int)runs->n, runs->elems, runs->at, t->mpi, &made.type);
    if (rc != MPI_SUCCESS)
        return 0;
    t->strided[t->nstrided] = made;
    if (MPI_Type_commit(&t->strided[t->nstrided++].type) != MPI_SUCCESS)
        return 0;
    return t->nstrided;
}

bool chrt_strided(ChrtWork *w, const ChrtView *view, const ChrtBox *box, int64_t first, int64_t last, ChrtPlace *at)
{
    int32_t b = w->task->elem_bytes, type = 0;
    int64_t elems = last - first;
    Runs runs = {.max = elems < CHRT_MAX_COUNT ? elems * b / CHRT_STRIDED_BYTES : 0, .alike = true};
    if (runs.max < 2)
        return false;
    runs.at = malloc((size_t)runs.max * sizeof *runs.at);
    runs.elems = malloc((size_t)runs.max * sizeof *runs.elems);
    bool ok = runs.at && runs.elems;
    for (int64_t n; ok && first < last; first += n) {
        ChrtBox part;
        n = chrt_box_part(box, first, last, &part);
        ok = add_part(&runs, view, &part, b);
    }
    if (ok && runs.n > 1)
        type = type_of(w->task, &runs);
    free(runs.at);
    free(runs.elems);
    *at = (ChrtPlace){view->at.base, runs.first, type};
    return type > 0;
}
