/* SPDX-License-Identifier: Apache-2.0
 *
 * check/exec.c - chm_run: memory, and the order of things.
 */
#include "check/exec.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT_BYTES ((int64_t)8 << 30)

/* ---- what the caller asked for, against what the module is */

/* The reason why the module cannot be run against *expected, or NULL. */
static const char *find_obstacle(ChmExec *x, const ChmDataSpec *spec)
{
    x->data = CHM_NEW_ARRAY(x->scratch, ChmData, x->m->tensors.len);
    for (int32_t i = 0; i < x->expected->inputs.len; i++) {
        const ChmExpectInput *in = &x->expected->inputs.at[i];
        chm_data_init(&x->data[in->tensor->index], spec, in->tensor, in->type->layout);
    }
    int32_t noutputs = 0;
    for (const ChmOp *op = x->m->first; op; op = op->next) {
        if (op->code == CHM_OP_INPUT && x->data[op->tensor->index].layout != op->result->type->layout)
            return "the module's inputs are not those of the plan";
        if (op->code != CHM_OP_OUTPUT)
            continue;
        if (noutputs == x->expected->len)
            return "the module has more outputs than the plan";
        const ChmExpect *e = &x->expected->at[noutputs++];
        if (strcmp(e->output, op->name) != 0 || e->type != op->operand->type || !x->data[e->tensor->index].tensor)
            return "the module's outputs are not those of the plan";
    }
    return noutputs < x->expected->len ? "the module has fewer outputs than the plan" : NULL;
}

/* ---- memory: one block, laid out twice: first to count, then to hand out */

typedef struct Layout {
    char *base;  /* NULL while counting */
    int64_t end; /* bytes so far */
    bool overflows;
} Layout;

static char *reserve(Layout *l, int64_t bytes)
{
    char *at = l->base && bytes > 0 ? l->base + l->end : NULL;
    int64_t end;
    if (!chm_add64(l->end, bytes, &end) || !chm_add64(end, CHM_ARENA_ALIGN - 1, &end))
        l->overflows = true;
    else
        l->end = end / CHM_ARENA_ALIGN * CHM_ARENA_ALIGN;
    return at;
}

static void reserve_by_rank(const ChmExec *x, Layout *l, const ChmType *type, char **at)
{
    for (int32_t r = 0; r < x->ranks; r++)
        at[r] = reserve(l, chm_local_bytes(type, r));
}

/* The buffers of all ranks; what the check itself needs comes after *buffer_bytes. */
static void lay_out(ChmExec *x, Layout *l, int64_t *buffer_bytes)
{
    int64_t sums_bytes = 0, reference_bytes = 0, chunk_bytes = 0;
    size_t ranks = (size_t)x->ranks, noutputs = 0;
    for (size_t r = 0; r < ranks; r++)
        x->arena[r] = reserve(l, x->buffers.arena_bytes);
    for (const ChmOp *op = x->m->first; op; op = op->next) {
        if (op->code == CHM_OP_INPUT)
            reserve_by_rank(x, l, op->result->type, x->input + (size_t)op->tensor->index * ranks);
        else if (op->code == CHM_OP_OUTPUT)
            reserve_by_rank(x, l, op->operand->type, x->output + noutputs++ * ranks);
        if (chm_exec_chunk_bytes(x->m->ctx, op) > chunk_bytes)
            chunk_bytes = chm_exec_chunk_bytes(x->m->ctx, op);
        const ChmType *type = op->result ? op->result->type : op->operand->type;
        int64_t bytes = chm_max_local_bytes(type), elem_bytes = chm_dtypes[type->dtype].bytes;
        if (op->code == CHM_OP_OUTPUT && type->shape->elems * elem_bytes > reference_bytes)
            reference_bytes = type->shape->elems * elem_bytes;
        if (chm_is_layout_op(op) && chm_summer(type->dtype).finish && bytes / elem_bytes * 4 > sums_bytes)
            sums_bytes = bytes / elem_bytes * 4;
    }
    for (size_t r = 0; r < ranks; r++)
        x->chunk_arena[r] = reserve(l, chunk_bytes);
    *buffer_bytes = l->end;
    char *sums = reserve(l, sums_bytes);
    x->sums = (float *)(void *)sums;
    x->reference = reserve(l, reference_bytes);
}

/* ---- the run */

typedef struct Request {
    ChmModule *m;
    const ChmExpects *expected;
    const ChmDataSpec *spec;
    int64_t limit_bytes; /* 0: the default */
    int64_t need_bytes;  /* set when the limit stands in the way */
    const char *obstacle;
    void *block; /* malloc'ed; the entry frees it */
    ChmStatus status;
} Request;

static ChmStatus run(Request *q, ChmArena *scratch, ChmRunReport *report)
{
    ChmExec x = {.m = q->m, .expected = q->expected, .scratch = scratch, .ranks = q->m->mesh->ranks};
    x.late = q->spec->seed % 2 == 1;
    q->obstacle = find_obstacle(&x, q->spec);
    if (q->obstacle)
        return CHM_ERR_INTERNAL;
    if (q->limit_bytes <= 0)
        q->limit_bytes = DEFAULT_LIMIT_BYTES;
    chm_buffers_plan(scratch, q->m, &x.buffers);
    int64_t ranks = x.ranks, lists;
    if (!chm_mul64(ranks, 2 + q->m->tensors.len + q->expected->len, &lists))
        return CHM_ERR_MEMORY;
    x.arena = CHM_NEW_ARRAY(scratch, char *, lists);
    x.chunk_arena = x.arena + ranks;
    x.input = x.chunk_arena + ranks;
    x.output = x.input + ranks * q->m->tensors.len;

    Layout layout = {0};
    lay_out(&x, &layout, &report->peak_bytes);
    if (layout.overflows || layout.end > q->limit_bytes) {
        q->need_bytes = layout.overflows ? INT64_MAX : layout.end;
        return CHM_ERR_INPUT;
    }
    q->block = chm_guard_allows(scratch->guard) ? malloc((size_t)layout.end + CHM_ARENA_ALIGN) : NULL;
    if (!q->block)
        return CHM_ERR_MEMORY;
    uintptr_t misfit = (uintptr_t)q->block % CHM_ARENA_ALIGN;
    layout = (Layout){.base = (char *)q->block + (CHM_ARENA_ALIGN - misfit)};
    lay_out(&x, &layout, &report->peak_bytes);

    chm_exec_fill_inputs(&x);
    for (const ChmOp *op = q->m->first; op; op = op->next)
        chm_exec_op(&x, op);
    chm_exec_check_outputs(&x, report);
    return CHM_OK;
}

/* Alone in a function, so that no variable is live across it. */
static void run_guarded(Request *q, ChmArena *scratch, ChmRunReport *report)
{
    if (CHM_TRY(scratch->guard))
        q->status = run(q, scratch, report);
}

ChmStatus chm_run(ChmModule *m, const ChmExpects *expected, const ChmDataSpec *data, int64_t memory_limit_bytes,
                  ChmRunReport *report)
{
    /* A guard of its own, so that the block is freed when the scratch arena fails; the test aid's count goes with
     * it. */
    ChmCtx *ctx = m->ctx;
    ChmGuard guard = {.fail_at = ctx->guard.fail_at};
    ChmArena scratch;
    Request q = {
        .m = m, .expected = expected, .spec = data, .limit_bytes = memory_limit_bytes, .status = CHM_ERR_MEMORY};
    *report = (ChmRunReport){0};
    chm_arena_init(&scratch, &guard);
    run_guarded(&q, &scratch, report);
    chm_arena_fini(&scratch);
    free(q.block);
    ctx->guard.fail_at = guard.fail_at;

    if (q.obstacle)
        chm_error(&ctx->diags, (ChmSpan){0}, "cannot check the run: %s", q.obstacle);
    if (q.need_bytes > 0) {
        ChmDiag *diag = chm_error(&ctx->diags, (ChmSpan){0},
                                  "the buffers of all %d ranks take %lld bytes, more than the limit of %lld",
                                  (int)m->mesh->ranks, (long long)q.need_bytes, (long long)q.limit_bytes);
        chm_help(&ctx->diags, diag, "Make the tensors smaller, for instance with '-D', or raise the limit.");
    }
    return q.status;
}
