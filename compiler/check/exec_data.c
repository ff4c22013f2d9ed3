/* SPDX-License-Identifier: Apache-2.0
 *
 * check/exec_data.c - inputs filled and outputs compared, with the logical tensor between them.
 */
#include "check/exec.h"

#include <math.h>
#include <string.h>

static ChmBox whole_box(const ChmShape *s)
{
    ChmBox box = {.ndims = s->ndims};
    for (int32_t d = 0; d < s->ndims; d++)
        box.hi[d] = s->dim_size[d];
    return box;
}

/* ---- inputs */

static bool same_box(const ChmBox *a, const ChmBox *b)
{
    for (int32_t d = 0; d < a->ndims; d++)
        if (a->lo[d] != b->lo[d] || a->hi[d] != b->hi[d])
            return false;
    return true;
}

/* An earlier rank that holds the same contribution of the same block, or -1. */
static int32_t find_replica(const ChmExec *x, const ChmValue *v, int32_t rank, const ChmPiece *piece, ChmPiece *out)
{
    const ChmLayout *l = v->type->layout;
    for (int32_t r = 0; r < rank; r++)
        if (chm_contribution_index(l, l->partial, r) == chm_contribution_index(l, l->partial, rank) &&
            chm_exec_piece(x, v, r, out) && same_box(&out->box, &piece->box))
            return r;
    return -1;
}

void chm_exec_fill_inputs(ChmExec *x)
{
    for (const ChmOp *op = x->m->first; op; op = op->next) {
        if (op->code != CHM_OP_INPUT)
            continue;
        const ChmData *d = &x->data[op->tensor->index];
        ChmBox whole = whole_box(op->tensor->shape);
        int64_t elem_bytes = chm_dtypes[op->tensor->dtype].bytes;
        for (int32_t r = 0; r < x->ranks; r++) {
            ChmPiece piece, replica;
            if (!chm_exec_piece(x, op->result, r, &piece))
                continue;
            int64_t n = chm_box_elems(&piece.box);
            if (find_replica(x, op->result, r, &piece, &replica) >= 0) {
                memcpy(piece.at, replica.at, (size_t)(n * elem_bytes));
                continue;
            }
            int64_t contribution = chm_contribution_index(d->layout, d->layout->partial, r);
            char *at = piece.at;
            ChmRuns runs = chm_runs(&piece.box, 0, n, &whole, &piece.box);
            while (chm_runs_next(&runs))
                chm_data_fill(d, contribution, runs.at_a, runs.n, at + runs.at_b * elem_bytes);
        }
    }
}

/* ---- outputs */

/* One output as it is compared. */
typedef struct Check {
    const ChmExpect *expect;
    const ChmData *data;
    int64_t *contributions; /* that a rank's elements are the sum of */
    int64_t ncontributions;
    int64_t elem_bytes;
    int32_t rank;
    ChmRunReport *report;
} Check;

static void report_mismatch(const Check *c, int64_t element, double expected, double got)
{
    if (c->report->mismatches++ > 0)
        return;
    ChmMismatch *first = &c->report->first;
    *first = (ChmMismatch){.output = c->expect->output, .rank = c->rank, .expected = expected, .got = got};
    const ChmShape *s = c->expect->type->shape;
    for (int32_t d = s->ndims - 1; d >= 0; d--) {
        first->index[d] = element % s->dim_size[d];
        element /= s->dim_size[d];
    }
}

static void compare_exact(const Check *c, const char *expected, int64_t element, const char *got, int64_t n)
{
    expected += element * c->elem_bytes;
    if (memcmp(expected, got, (size_t)(n * c->elem_bytes)) == 0)
        return;
    ChmDtype dtype = c->expect->type->dtype;
    for (int64_t i = 0; i < n; i++, expected += c->elem_bytes, got += c->elem_bytes)
        if (memcmp(expected, got, (size_t)c->elem_bytes) != 0)
            report_mismatch(c, element + i, chm_data_load(dtype, expected), chm_data_load(dtype, got));
}

static void compare_random(const Check *c, int64_t element, const char *got, int64_t n)
{
    for (int64_t i = 0; i < n; i++, got += c->elem_bytes) {
        double expected, tolerance, value = chm_data_load(c->expect->type->dtype, got);
        chm_data_sum_random(c->data, c->contributions, c->ncontributions, element + i, &expected, &tolerance);
        if (!(fabs(value - expected) <= tolerance)) /* also when it is not a number */
            report_mismatch(c, element + i, expected, value);
    }
}

static void compare_rank(const ChmExec *x, const Check *c, const ChmPiece *got)
{
    ChmBox whole = whole_box(c->expect->type->shape);
    const char *at = got->at;
    ChmRuns runs = chm_runs(&got->box, 0, chm_box_elems(&got->box), &whole, &got->box);
    while (chm_runs_next(&runs)) {
        if (c->data->random)
            compare_random(c, runs.at_a, at + runs.at_b * c->elem_bytes, runs.n);
        else
            compare_exact(c, x->reference, runs.at_a, at + runs.at_b * c->elem_bytes, runs.n);
        c->report->elements_checked += runs.n;
    }
}

/* Ranks that agree on what is still owed share a reference: it is made once for each of them, in order. */
static void check_output(ChmExec *x, int32_t index, ChmRunReport *report)
{
    const ChmExpect *e = &x->expected->at[index];
    const ChmLayout *l = e->type->layout;
    const ChmData *d = &x->data[e->tensor->index];
    Check c = {.expect = e, .data = d, .elem_bytes = chm_dtypes[e->type->dtype].bytes, .report = report};
    c.contributions = CHM_NEW_ARRAY(x->scratch, int64_t, d->contributions);
    ChmAxisSeq owed = chm_seq_of_set(l->partial);
    int64_t nowed = chm_mesh_extent(x->m->mesh, &owed);
    for (int64_t q = 0; q < nowed; q++) {
        bool ready = false;
        for (c.rank = 0; c.rank < x->ranks; c.rank++) {
            ChmPiece got;
            if (!chm_layout_present(l, c.rank) || chm_contribution_index(l, l->partial, c.rank) != q)
                continue;
            chm_layout_box(e->type->shape, l, c.rank, &got.box);
            report->outputs_checked++;
            if (chm_box_elems(&got.box) == 0)
                continue;
            if (!ready)
                c.ncontributions = chm_data_agreeing(d, l->partial, c.rank, c.contributions);
            if (!ready && !d->random)
                chm_data_sum(d, c.contributions, c.ncontributions, 0, e->type->shape->elems, x->reference);
            ready = true;
            got.at = x->output[(size_t)index * (size_t)x->ranks + (size_t)c.rank];
            compare_rank(x, &c, &got);
        }
    }
}

void chm_exec_check_outputs(ChmExec *x, ChmRunReport *report)
{
    for (int32_t i = 0; i < x->expected->len; i++)
        check_output(x, i, report);
}
