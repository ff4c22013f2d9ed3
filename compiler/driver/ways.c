/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/ways.c - for every chain of the schedule the ways that there are, what each would cost on the machine, and
 * why the one that was taken was: the tables of --explain. Asked for afterwards, so that it costs nothing otherwise.
 */
#include "driver/job.h"
#include "diag/render.h"
#include "pass/cut.h"
#include "pass/route.h"

#include <string.h>

/* The cells of a line; the last is not padded. */
enum { TIME, RATIO, WORST, WIRES, WAY, NCELLS };

/* A line of a table. */
typedef struct Row {
    ChmSteps steps; /* pipelines taken apart */
    ChmPrice price;
    const char *cell[NCELLS];
    bool taken, written, direct, cut;
} Row;
typedef CHM_VEC(Row) Rows;

/* A chain of the schedule: its ops in order. */
typedef struct Chain {
    CHM_VEC(const ChmOp *) ops;
    const ChmType *from, *to;
    const ChmOp *tail;
} Chain;

typedef struct Explainer {
    ChmJob *job;
    ChmArena *arena;
    ChmRouter *router;
    ChmCutter cutter, uncut;
    ChmTraffic traffic; /* of a way, on every wire */
    int32_t chunks;     /* as the passes that ran would cut: 1 where none does */
} Explainer;

static bool ran(const ChmJob *job, const char *pass)
{
    for (int32_t i = 0; i < job->nstats; i++)
        if (strcmp(job->stats[i].pass->name, pass) == 0)
            return true;
    return false;
}

/* ---- rows */

static void put_way(ChmOut *out, const ChmShape *shape, const ChmSteps *steps)
{
    for (int32_t i = 0; i < steps->len; i++) {
        chm_out_puts(out, i ? "; " : "");
        chm_step_print(shape, &steps->at[i], out);
    }
    if (steps->len == 0)
        chm_out_puts(out, "nothing");
}

/* Fills the cells that the traffic tells. */
static void describe(Explainer *e, Row *row, const ChmShape *shape, const ChmTraffic *t, int32_t chunks, int32_t dim)
{
    ChmOut worst, wires, way;
    chm_out_init_arena(&worst, e->arena);
    chm_out_init_arena(&wires, e->arena);
    chm_out_init_arena(&way, e->arena);
    chm_out_bytes(&worst, row->price.worst_bytes);
    chm_traffic_explain(&wires, t);
    put_way(&way, shape, &row->steps);
    if (chunks > 1)
        chm_out_printf(&way, "; in %d chunks along %s", (int)chunks, shape->dim_name[dim]);
    bool short_time = row->price.time_s < 1e-4;
    row->cell[TIME] =
        chm_arena_printf(e->arena, "%.4g %s", row->price.time_s * (short_time ? 1e6 : 1e3), short_time ? "us" : "ms");
    row->cell[WORST] = chm_out_text(&worst);
    row->cell[WIRES] = chm_out_text(&wires);
    row->cell[WAY] = chm_out_text(&way);
}

static bool same_steps(const ChmSteps *a, const ChmSteps *b)
{
    bool same = a->len == b->len;
    for (int32_t i = 0; i < a->len && same; i++)
        same = a->at[i].code == b->at[i].code && a->at[i].to == b->at[i].to;
    return same;
}

/* Two lines of which the reader would see no difference but in the last cell. */
static bool looks_alike(const Row *a, const Row *b)
{
    for (int c = TIME; c < WAY; c++)
        if (c != RATIO && strcmp(a->cell[c], b->cell[c]) != 0)
            return false;
    return a->price.total_bytes == b->price.total_bytes;
}

/* As it will be done. */
static void measure_way(ChmTraffic *t, const ChmType *from, const ChmSteps *steps, const ChmCut *cut)
{
    const ChmLayout *at = from->layout;
    chm_traffic_clear(t);
    if (cut->taken) {
        ChmStep pipeline = chm_cut_step(cut, steps->at, steps->len);
        chm_traffic_add(t, from->shape, from->dtype, at, &pipeline);
        return;
    }
    for (int32_t i = 0; i < steps->len; i++) {
        chm_traffic_add(t, from->shape, from->dtype, at, &steps->at[i]);
        at = steps->at[i].to;
    }
}

/* Another way, unless it is there already; then it is only marked. */
static void add_row(Explainer *e, Rows *rows, const ChmType *from, const ChmSteps *steps, Row marks)
{
    for (int32_t i = 0; i < rows->len; i++) {
        Row *row = &rows->at[i];
        if (same_steps(&row->steps, steps) && !(marks.written && row->cut)) {
            row->direct = row->direct || marks.direct;
            row->written = row->written || marks.written;
            return;
        }
    }
    ChmCutter *cutter = marks.written ? &e->uncut : &e->cutter; /* a plan as written is not cut */
    Row row = marks;
    row.steps = *steps;
    ChmCut cut = chm_cut_chain(cutter, from->shape, from->dtype, from->layout, steps->at, steps->len);
    row.price = cut.price;
    row.cut = cut.taken;
    measure_way(&e->traffic, from, steps, &cut);
    describe(e, &row, from->shape, &e->traffic, cut.taken ? cut.chunks : 1, cut.dim);
    for (int32_t i = 0; i < rows->len && !marks.written && !marks.direct; i++)
        if (looks_alike(&rows->at[i], &row))
            return;
    CHM_PUSH(e->arena, rows, row);
}

/* What the schedule has, priced as it stands. */
static void add_taken(Explainer *e, Rows *rows, const Chain *chain)
{
    ChmTraffic *t = &e->traffic;
    Row row = {.taken = true};
    int32_t chunks = 1, dim = 0;
    chm_traffic_clear(t);
    for (int32_t i = 0; i < chain->ops.len; i++) {
        const ChmOp *op = chain->ops.at[i];
        const ChmType *from = op->operand->type;
        ChmStep step = {op->code, op->attrs, op->result->type->layout};
        chm_traffic_add(t, from->shape, from->dtype, from->layout, &step);
        if (op->code == CHM_OP_PIPELINE) {
            row.cut = true;
            chunks = op->attrs.chunks;
            dim = op->attrs.dim;
        } else {
            CHM_PUSH(e->arena, &row.steps, step);
        }
        for (int32_t k = 0; op->code == CHM_OP_PIPELINE && k < op->attrs.body_len; k++)
            CHM_PUSH(e->arena, &row.steps, op->attrs.body[k]);
    }
    row.price = chm_traffic_price(t);
    describe(e, &row, chain->from->shape, t, chunks, dim);
    CHM_PUSH(e->arena, rows, row);
}

/* ---- the same change in the plan as written */

static const char *output_name(const ChmModule *m, const ChmValue *v)
{
    for (const ChmOp *op = m->first; op; op = op->next)
        if (op->code == CHM_OP_OUTPUT && op->operand == v)
            return op->name;
    return NULL;
}

/* The value of the plan that the chain's result stands for: what the same output takes, or the one of its name. */
static const ChmValue *written_value(const ChmJob *job, const Chain *chain)
{
    const ChmValue *v = chain->tail->result;
    const char *output = output_name(job->best, v);
    for (const ChmOp *op = job->baseline->first; op; op = op->next) {
        if (output && op->code == CHM_OP_OUTPUT && strcmp(op->name, output) == 0)
            return op->operand;
        bool namesake = !output && v->name && op->result && op->result->name && op->result->type == chain->to;
        if (namesake && strcmp(op->result->name, v->name) == 0)
            return op->result;
    }
    return NULL;
}

/* False where the plan does not come by the layout that the chain begins with. */
static bool written_steps(Explainer *e, const Chain *chain, ChmSteps *steps)
{
    const ChmValue *end = written_value(e->job, chain), *begin = end;
    int32_t n = 0;
    while (begin && begin->type != chain->from) {
        n++;
        begin = chm_is_layout_op(begin->def) && begin->def->code != CHM_OP_PIPELINE ? begin->def->operand : NULL;
    }
    if (!begin || n == 0)
        return false;
    steps->at = CHM_NEW_ARRAY(e->arena, ChmStep, n);
    steps->len = steps->cap = n;
    for (const ChmValue *v = end; v != begin; v = v->def->operand)
        steps->at[--n] = (ChmStep){v->def->code, v->def->attrs, v->type->layout};
    return true;
}

/* ---- the table */

static void sort_rows(Rows *rows)
{
    for (int32_t i = 1; i < rows->len; i++) {
        Row row = rows->at[i];
        int32_t k = i;
        for (; k > 0 && chm_price_compare(&row.price, &rows->at[k - 1].price) < 0; k--)
            rows->at[k] = rows->at[k - 1];
        rows->at[k] = row;
    }
}

/* ".., which is 20% faster than", "as quick as .., with 8 MiB less on the worst rank" */
static void put_against(ChmOut *out, const Row *taken, const Row *other, const char *what)
{
    const ChmPrice *a = &taken->price, *b = &other->price;
    double greater_s = a->time_s > b->time_s ? a->time_s : b->time_s, ahead_s = b->time_s - a->time_s;
    if (ahead_s > 1e-9 * greater_s) {
        double ratio = b->time_s / a->time_s;
        if (a->time_s <= 0 || ratio >= 2)
            chm_out_printf(out, "%.2f times as fast as %s", a->time_s > 0 ? ratio : 0.0, what);
        else
            chm_out_printf(out, "%.3g%% faster than %s", 100 * (ratio - 1), what);
    } else if (chm_price_compare(b, a) < 0) {
        chm_out_printf(out, "dearer than %s by itself, but not beside the other arrows", what);
    } else if (a->worst_bytes < b->worst_bytes) {
        chm_out_printf(out, "as quick as %s, with ", what);
        chm_out_bytes(out, b->worst_bytes - a->worst_bytes);
        chm_out_puts(out, " less on the worst rank");
    } else if (a->total_bytes < b->total_bytes) {
        chm_out_printf(out, "as quick as %s, with ", what);
        chm_out_bytes(out, b->total_bytes - a->total_bytes);
        chm_out_puts(out, " less in all");
    } else {
        const char *how = a->ops < b->ops             ? "in fewer or plainer ops"
                          : a->messages < b->messages ? "in fewer messages"
                                                      : "and met first";
        chm_out_printf(out, "as quick as %s, %s", what, how);
    }
}

static void put_line(ChmOut *out, const char *const *cells, const int *columns, bool taken)
{
    chm_out_puts(out, taken ? "  *" : "   ");
    for (int c = 0; c < NCELLS; c++) {
        int padding = columns[c] - (int)strlen(cells[c]);
        bool to_the_left = c >= WIRES;
        chm_out_puts(out, "  ");
        chm_out_spaces(out, to_the_left ? 0 : padding);
        chm_out_puts(out, cells[c]);
        chm_out_spaces(out, to_the_left && c + 1 < NCELLS ? padding : 0);
    }
}

static void put_table(Explainer *e, ChmOut *out, Rows *rows, double taken_s)
{
    static const char *const head[NCELLS] = {"predicted", "ratio", "worst rank", "busiest wires", "way"};
    int columns[NCELLS];
    for (int c = 0; c < NCELLS; c++)
        columns[c] = (int)strlen(head[c]);
    for (int32_t i = 0; i < rows->len; i++) {
        Row *row = &rows->at[i];
        row->cell[RATIO] = taken_s > 0 ? chm_arena_printf(e->arena, "%.2f", row->price.time_s / taken_s) : "-";
        for (int c = 0; c < NCELLS; c++)
            columns[c] = (int)strlen(row->cell[c]) > columns[c] ? (int)strlen(row->cell[c]) : columns[c];
    }
    put_line(out, head, columns, false);
    chm_out_putc(out, '\n');
    for (int32_t i = 0; i < rows->len; i++) {
        put_line(out, rows->at[i].cell, columns, rows->at[i].taken);
        chm_out_puts(out, rows->at[i].written ? " (as written)\n" : "\n");
    }
}

/* Why it was taken: against the best of the others, one exchange, and the plan as written. */
static void put_reasons(ChmOut *out, const Rows *rows, const Row *taken)
{
    const Row *next = NULL, *direct = NULL, *written = NULL;
    for (int32_t i = 0; i < rows->len; i++) {
        const Row *row = &rows->at[i];
        if (row == taken)
            continue;
        next = next ? next : row;
        direct = row->direct ? row : direct;
        written = row->written ? row : written;
    }
    chm_out_puts(out, "    * is ");
    if (next)
        put_against(out, taken, next,
                    next == written  ? "the plan as written"
                    : next == direct ? "one exchange, the next"
                                     : "the next");
    else
        chm_out_puts(out, "the only way");
    if (direct && direct != next) {
        chm_out_puts(out, "; ");
        put_against(out, taken, direct, "one exchange");
    }
    if (written && written != next) {
        chm_out_puts(out, "; ");
        put_against(out, taken, written, "the plan as written");
    }
    chm_out_putc(out, '\n');
}

static void explain_chain(Explainer *e, const Chain *chain)
{
    ChmOut *out = &e->job->err;
    Rows rows = {0};
    ChmSteps written = {0}, direct = {0};
    const ChmType *from = chain->from, *to = chain->to;
    add_taken(e, &rows, chain);
    const ChmWays *ways = chm_router_several(e->router, from->shape, from->dtype, from->layout, to->layout, e->chunks);
    for (int32_t i = 0; i < ways->len; i++)
        add_row(e, &rows, from, &ways->at[i].steps, (Row){0});
    if (chm_exchange_visits(e->job->topology, from->shape, from->layout, to->layout) <= CHM_ROUTE_MAX_PIECES) {
        CHM_PUSH(e->arena, &direct, chm_arrow_exchange(from->layout, to->layout));
        add_row(e, &rows, from, &direct, (Row){.direct = true});
    }
    if (written_steps(e, chain, &written))
        add_row(e, &rows, from, &written, (Row){.written = true});
    double taken_s = rows.at[0].price.time_s;
    sort_rows(&rows);
    chm_render_place(out, chain->tail->span);
    chm_out_printf(out, "ways: %s to ", chm_layout_str(&e->job->ctx, from->shape, from->layout));
    chm_out_printf(out, "%s\n", chm_layout_str(&e->job->ctx, to->shape, to->layout));
    put_table(e, out, &rows, taken_s);
    const Row *taken = rows.at;
    while (!taken->taken)
        taken++;
    put_reasons(out, &rows, taken);
}

/* A wait is no use of what it waits for. */
static bool used_once(const ChmValue *v)
{
    return v->uses - (v->def->started ? 1 : 0) == 1;
}

/* The chain that ends with this op; its ops, pipelines too, have no other use. */
static Chain chain_to(ChmArena *arena, const ChmOp *tail)
{
    Chain chain = {.tail = tail, .to = tail->result->type};
    const ChmOp *head = tail;
    int32_t n = 1;
    for (; chm_is_layout_op(head->operand->def) && used_once(head->operand); n++)
        head = head->operand->def;
    chain.from = head->operand->type;
    chain.ops.at = CHM_NEW_ARRAY(arena, const ChmOp *, n);
    chain.ops.len = chain.ops.cap = n;
    for (head = tail; n > 0; head = head->operand->def)
        chain.ops.at[--n] = head;
    return chain;
}

static bool goes_on(const ChmOp *op)
{
    for (const ChmOp *user = op->next; user && used_once(op->result); user = user->next)
        if (chm_is_layout_op(user) && user->operand == op->result)
            return true;
    return false;
}

void chm_report_ways(ChmJob *job)
{
    if (!ran(job, "route"))
        return; /* nothing was chosen */
    Explainer e = {.job = job, .arena = &job->ctx.arena, .chunks = ran(job, "pipeline") ? job->options.chunks : 1};
    e.router = chm_router_new(e.arena, &job->ctx, job->topology, job->pricer);
    chm_cutter_init(&e.cutter, job->pricer, e.chunks);
    chm_cutter_init(&e.uncut, job->pricer, 1);
    chm_traffic_init(&e.traffic, e.arena, job->topology, job->best->mesh);
    for (const ChmOp *op = job->best->first; op; op = op->next) {
        if (!chm_is_layout_op(op) || goes_on(op))
            continue;
        Chain chain = chain_to(e.arena, op);
        if (chain.from->layout != chain.to->layout)
            explain_chain(&e, &chain);
    }
}
