/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/cut.c - the dim and the number of chunks of the least predicted time: see cut.h and docs/cost.md.
 */
#include "pass/cut.h"
#include "ir/module.h"

/* More chunks than this gain less than a percent or two, and each costs its messages. */
#define MAX_CHUNKS 32

typedef struct Chain {
    const ChmShape *shape;
    ChmDtype dtype;
    const ChmLayout *from, *to;
    const ChmStep *steps;
    int32_t n;
} Chain;

typedef struct Cutting {
    int32_t dim, chunks;
    double time_s;
} Cutting;

void chm_cutter_init(ChmCutter *c, ChmPricer *pricer, int32_t chunks)
{
    *c = (ChmCutter){.chunks = chunks, .pricer = pricer};
    chm_bill_init(&c->bill, pricer);
}

/* The largest number of chunks up to 'limit' that divide the dim at its finer end. */
static int32_t most_chunks(const ChmShape *shape, int64_t blocks, int32_t dim, int32_t limit)
{
    int64_t size = shape->dim_size[dim];
    if (blocks == 0 || size % blocks != 0)
        return 1;
    int32_t chunks = limit < size / blocks ? limit : (int32_t)(size / blocks);
    while (size / blocks % chunks != 0)
        chunks--;
    return chunks;
}

/* Into the bill: the chain as a pipeline. */
static ChmPrice price_cut(ChmCutter *c, const Chain *chain, int32_t dim, int32_t chunks)
{
    ChmStep pipeline = chm_cut_step(&(ChmCut){.dim = dim, .chunks = chunks}, chain->steps, chain->n);
    chm_bill_clear(&c->bill);
    chm_bill_add(&c->bill, chain->shape, chain->dtype, chain->from, &pipeline);
    return chm_bill_price(&c->bill);
}

/* By the load of the whole; but where chunks are so small that a ring gives way to short messages, by their own. */
static double time_of(ChmCutter *c, const Chain *chain, int32_t dim, int32_t chunks)
{
    if (c->load->ring_bytes / chunks > CHM_SHORT_BYTES)
        return chm_pipeline_time(c->load, chunks);
    return price_cut(c, chain, dim, chunks).time_s;
}

/* The best number of chunks along one dim: the one asked for, as far as it divides, or the cheapest power of two. */
static Cutting cut_along(ChmCutter *c, const Chain *chain, int32_t dim)
{
    int64_t blocks = chm_chunk_blocks(chain->from, chain->to, dim), size = chain->shape->dim_size[dim];
    Cutting best = {dim, 1, chm_pipeline_time(c->load, 1)};
    if (c->chunks > 0) {
        best.chunks = most_chunks(chain->shape, blocks, dim, c->chunks);
        return best;
    }
    for (int32_t chunks = 2; chunks <= MAX_CHUNKS && blocks > 0 && size % (blocks * chunks) == 0; chunks *= 2) {
        double time_s = time_of(c, chain, dim, chunks);
        if (time_s < best.time_s * (1 - 1e-9))
            best = (Cutting){dim, chunks, time_s};
    }
    return best;
}

/* The first dim of the least time. With a number asked for, the first that takes the most chunks of it. */
static Cutting choose(ChmCutter *c, const Chain *chain)
{
    Cutting best = cut_along(c, chain, 0);
    for (int32_t d = 1; d < chain->shape->ndims; d++) {
        Cutting other = cut_along(c, chain, d);
        if (c->chunks > 0 ? other.chunks > best.chunks : other.time_s < best.time_s * (1 - 1e-9))
            best = other;
    }
    return best;
}

bool chm_can_be_cut(const ChmShape *shape, const ChmLayout *from, const ChmLayout *to)
{
    for (int32_t d = 0; d < shape->ndims; d++) {
        int64_t blocks = chm_chunk_blocks(from, to, d);
        if (blocks > 0 && shape->dim_size[d] % (2 * blocks) == 0)
            return true;
    }
    return false;
}

ChmStep chm_cut_step(const ChmCut *cut, const ChmStep *steps, int32_t n)
{
    ChmAttrs attrs = {.dim = cut->dim, .chunks = cut->chunks, .body = steps, .body_len = n};
    return (ChmStep){CHM_OP_PIPELINE, attrs, steps[n - 1].to};
}

static void add_plain(ChmCutter *c, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from, const ChmStep *steps,
                      int32_t n)
{
    chm_bill_clear(&c->bill);
    for (int32_t i = 0; i < n; i++) {
        chm_bill_add(&c->bill, shape, dtype, from, &steps[i]);
        from = steps[i].to;
    }
}

ChmCut chm_cut_chain(ChmCutter *c, const ChmShape *shape, ChmDtype dtype, const ChmLayout *from, const ChmStep *steps,
                     int32_t n)
{
    ChmCut cut = {.chunks = 1};
    Chain chain = {shape, dtype, from, steps[n - 1].to, steps, n};
    add_plain(c, shape, dtype, from, steps, n);
    c->load = chm_pricer_load(c->pricer, shape, dtype, from, steps, n, &cut.communicate);
    cut.price = chm_bill_price(&c->bill);
    cut.plain_s = cut.price.time_s;
    if (cut.communicate < 2)
        return cut;
    Cutting best = choose(c, &chain);
    cut.dim = best.dim;
    cut.chunks = best.chunks;
    if (cut.chunks == 1) {
        add_plain(c, shape, dtype, from, steps, n); /* the bill may be that of a pipeline looked at */
        return cut;
    }
    /* The load is that of the whole: blocks of chunks may be less even than those of the tensor. */
    ChmPrice price = price_cut(c, &chain, cut.dim, cut.chunks);
    cut.taken = c->chunks > 0 || price.time_s < cut.plain_s * (1 - 1e-9);
    if (cut.taken)
        cut.price = price;
    else
        add_plain(c, shape, dtype, from, steps, n);
    return cut;
}
