/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_pipeline.c - chains cut into chunks: over random chains, dims and numbers of chunks they compute what
 * the plain chain does, send what their body sends for each chunk, and take the time of the formula in cost/cost.h.
 * Forged ones are caught.
 */
#include "check/check.h"
#include "cost/wires.h"

#include "layouts.h"

#include <math.h>

enum { TRIALS = 400, MAX_RANKS = 12 };

static const ChmTopology one_switch = {
    .name = "switch",
    .nlevels = 1,
    .level = {{.name = "fabric", .bandwidth_bytes_per_s = 1e6, .latency_s = 3e-6, .message_s = 1e-6}},
    .reduce_bytes_per_s = 5e6};

/* Two wires of different speed wherever the last axis is no axis of size 1. */
static ChmTopology two_levels(const World *w)
{
    return (ChmTopology){
        .name = "nodes",
        .nlevels = 2,
        .level =
            {{.name = "node", .axes = CHM_AXIS(w->mesh->naxes - 1), .bandwidth_bytes_per_s = 4e6, .latency_s = 1e-6},
             {.name = "fabric", .bandwidth_bytes_per_s = 1e6, .latency_s = 5e-6, .message_s = 1e-6, .shared = true}},
        .reduce_bytes_per_s = 2e6};
}

/* ---- modules */

static ChmModule *module_of(World *w, const ChmLayout *from, const ChmStep *steps, int32_t n)
{
    ChmModule *m = chm_module_new(&w->ctx, "test", w->mesh);
    const char *name = chm_intern_str(&w->ctx.strings, "in");
    const ChmTensor *t = chm_module_add_tensor(m, name, CHM_I32, w->shape, (ChmSpan){0});
    ChmValue *v = chm_build_input(m, NULL, (ChmSpan){0}, t, chm_type_make(&w->ctx, CHM_I32, w->shape, from), name);
    for (int32_t i = 0; i < n; i++)
        v = chm_build_step(m, NULL, (ChmSpan){0}, v, &steps[i], NULL);
    chm_build_output(m, NULL, (ChmSpan){0}, v, chm_intern_str(&w->ctx.strings, "out"));
    return m;
}

/* Of the elements of all ranks, those that are not what the input says. */
static int64_t wrong_elements(World *w, ChmModule *m)
{
    ChmExpects e = {0};
    ChmRunReport report;
    ChmDataSpec spec = {.seed = 1 + w->random % 100};
    chm_expects_of_module(&w->ctx.arena, m, &e);
    if (chm_run(m, &e, &spec, 0, &report) != CHM_OK)
        return -1;
    return report.mismatches;
}

static ChmStep pipeline(int32_t dim, int32_t chunks, const ChmStep *body, int32_t n)
{
    return (ChmStep){CHM_OP_PIPELINE, {.dim = dim, .chunks = chunks, .body = body, .body_len = n}, body[n - 1].to};
}

/* ---- random chains */

static void random_world(World *w)
{
    static const int64_t first[] = {12, 24, 48, 20}, others[] = {1, 2, 3, 4, 6, 8};
    const char *names[3];
    int64_t sizes[3];
    world_random(w, MAX_RANKS, 4);
    int32_t n = w->shape->ndims;
    for (int32_t d = 0; d < n; d++) {
        names[d] = w->shape->dim_name[d];
        sizes[d] = d == 0 ? first[pick(w, 4)] : others[pick(w, 6)];
    }
    w->shape = chm_shape_make(&w->ctx, n, names, sizes);
}

/* Two or three changes one behind the other, each by plain ops or as one exchange. */
static const ChmLayout *random_chain(World *w, ChmSteps *steps)
{
    const ChmLayout *from = random_layout(w, ~(ChmAxes)0, 0), *at = from;
    for (int32_t i = 2 + pick(w, 2); i > 0; i--) {
        const ChmLayout *to = random_layout(w, at->partial, 0);
        if (to == at)
            continue;
        if (pick(w, 3) == 0) {
            ChmStep step = chm_arrow_exchange(at, to);
            CHM_PUSH(&w->ctx.arena, steps, step);
        } else {
            chm_arrow_baseline(&w->ctx, &w->ctx.arena, w->shape, at, to, steps);
        }
        at = to;
    }
    return from;
}

/* ---- prices */

static void same_counts(World *w, const ChmTopology *topo, const ChmLayout *from, const ChmStep *pipe)
{
    ChmTraffic whole, part;
    const ChmAttrs *a = &pipe->attrs;
    int32_t wires = 0;
    const ChmShape *chunk = chm_chunk_shape(&w->ctx, w->shape, from, pipe->to, a->dim, a->chunks, NULL);
    chm_traffic_init(&whole, &w->ctx.arena, topo, w->mesh);
    chm_traffic_init(&part, &w->ctx.arena, topo, w->mesh);
    chm_traffic_add(&whole, w->shape, CHM_I32, from, pipe);
    double each_s[4 * MAX_RANKS] = {0}, each_latency_s[4 * MAX_RANKS] = {0}, each_one_way_s[4 * MAX_RANKS] = {0};
    int64_t one_way_bytes = 0;
    double first_s = 0; /* by which the second chunk makes the first one late */
    double wire_s = 0, latency_s = 0, message_s = 0, reduce_s = 0, late_s = 0;
    for (int32_t i = 0; i < a->body_len; i++) {
        chm_traffic_add(&part, chunk, CHM_I32, from, &a->body[i]);
        wire_s += part.step_wire_s;
        double late = fmin(part.step_turns_s, a->chunks * part.step_wire_s / CHM_LATE_CHUNK);
        latency_s += part.step_latency_s;
        late_s += a->chunks > 1 ? late : part.step_tie_s;
        message_s += part.step_message_s;
        reduce_s += part.step_reduce_s;
        bool one_way = true;
        for (int32_t r = 0; r < w->mesh->ranks; r++)
            one_way = one_way && (part.step_sent[r] == 0 || part.step_received[r] == 0);
        int64_t longest = part.step_most_sends > 0 ? part.step_worst_bytes / part.step_most_sends : 0;
        one_way_bytes = one_way && longest > one_way_bytes ? longest : one_way_bytes;
        first_s = i == 0 && one_way ? part.step_wire_s : first_s;
        wires = chm_traffic_wires(&part);
        CU_ASSERT_FATAL(wires <= 4 * MAX_RANKS);
        for (int32_t x = 0, level = 0; x < wires; x++) {
            while (part.wires && x >= part.wires->first[level + 1])
                level++;
            int64_t bytes = part.wires   ? part.step_wire_bytes[x]
                            : x % 2 == 0 ? part.step_sent[x / 2]
                                         : part.step_received[x / 2];
            each_s[x] += (double)bytes / topo->level[level].bandwidth_bytes_per_s;
            double *latest_s = one_way ? each_one_way_s : each_latency_s;
            latest_s[x] = fmax(latest_s[x], bytes ? part.step_latency_s + late : 0);
        }
        from = a->body[i].to;
    }
    for (int32_t r = 0; r < w->mesh->ranks; r++) {
        CU_ASSERT_EQUAL(whole.sent[r], a->chunks * part.sent[r]);
        CU_ASSERT_EQUAL(whole.received[r], a->chunks * part.received[r]);
    }
    for (int32_t x = 0; whole.wires && x < wires; x++)
        CU_ASSERT_EQUAL(whole.wire_bytes[x], a->chunks * part.wire_bytes[x]);
    CU_ASSERT_EQUAL(whole.total_sent, a->chunks * part.total_sent);
    CU_ASSERT_EQUAL(whole.messages, a->chunks * part.messages);
    double pace_s = reduce_s + message_s, share = 1; /* two short chunks are under way at once */
    if (a->chunks > 1 && one_way_bytes < CHM_EAGER_BYTES) {
        share = floor((a->chunks - 1) / 2.0) / (a->chunks - 1);
        late_s += first_s;
    }
    for (int32_t x = 0; x < wires; x++)
        pace_s = fmax(pace_s, each_s[x] + fmax(each_latency_s[x], share * each_one_way_s[x]));
    double time_s = wire_s + latency_s + late_s + message_s + reduce_s + (a->chunks - 1) * pace_s;
    CU_ASSERT_DOUBLE_EQUAL(whole.time_s, time_s, 1e-9 * time_s);
    if (a->chunks == 1)
        CU_ASSERT_DOUBLE_EQUAL(whole.time_s, part.time_s, 1e-9 * time_s);
}

/* ---- tests */

static void test_random_chains(void)
{
    int32_t tried = 0, strided = 0;
    for (int32_t trial = 0; trial < TRIALS; trial++) {
        World w;
        ChmSteps steps = {0};
        world_init(&w, (uint64_t)trial + 1);
        random_world(&w);
        const ChmLayout *from = random_chain(&w, &steps);
        int32_t dim = pick(&w, w.shape->ndims), chunks = 1 + pick(&w, 6);
        if (steps.len > 0) {
            ChmStep pipe = pipeline(dim, chunks, steps.at, steps.len);
            ChmTopology nodes = two_levels(&w);
            ChmModule *plain = module_of(&w, from, steps.at, steps.len), *cut = module_of(&w, from, &pipe, 1);
            if (chm_check_body(&w.ctx, &pipe.attrs, w.shape, from, pipe.to, NULL)) {
                tried++;
                strided += chunks > 1 && chm_chunk_blocks(from, pipe.to, dim) > 1;
                CU_ASSERT(chm_module_verify(cut) == CHM_OK);
                CU_ASSERT_EQUAL(wrong_elements(&w, plain), 0);
                CU_ASSERT_EQUAL(wrong_elements(&w, cut), 0);
                same_counts(&w, &one_switch, from, &pipe);
                same_counts(&w, &nodes, from, &pipe);
            } else {
                CU_ASSERT(chm_module_verify(cut) != CHM_OK);
            }
        }
        world_fini(&w);
    }
    CU_ASSERT(tried > TRIALS / 4);
    CU_ASSERT(strided > TRIALS / 40);
}

/* reduce_scatter over tp, shift, all_gather over tp. */
static void stages(World *w, ChmStep *body)
{
    ChmAxisSeq tp = {0};
    chm_seq_push(&tp, 1);
    body[0] = (ChmStep){CHM_OP_REDUCE_SCATTER, {.over = tp}, lay(w, "[s/tp, h] at(pp=0)")};
    body[1] = (ChmStep){CHM_OP_SHIFT, {.axis = 0, .from = 0, .to = 1}, lay(w, "[s/tp, h] at(pp=1)")};
    body[2] = (ChmStep){CHM_OP_ALL_GATHER, {.over = tp}, lay(w, "[s, h] at(pp=1)")};
}

/* Refused by its type, and where it is run in spite of that, elements are wrong. */
#define FORGED(w, from, pipe, is_run) forged(w, from, pipe, is_run, __LINE__)

static void forged(World *w, const char *from, ChmStep pipe, bool is_run, unsigned line)
{
    ChmModule *m = module_of(w, lay(w, from), &pipe, 1);
    bool caught = chm_module_verify(m) != CHM_OK;
    if (is_run)
        caught = caught && wrong_elements(w, m) > 0;
    CU_assertImplementation(caught, line, "a forged pipeline", __FILE__, "", CU_FALSE);
}

static void test_forged(void)
{
    static const char from[] = "[s, h] partial(tp) at(pp=0)";
    World w;
    ChmStep body[3], wrong[3];
    world_init(&w, 1);
    world_set(&w, "pp=2 tp=2", "s=16 h=6");
    stages(&w, body);
    ChmModule *right = module_of(&w, lay(&w, from), &(ChmStep){0}, 0);
    CU_ASSERT_EQUAL(wrong_elements(&w, right), 0);
    ChmStep pipe = pipeline(0, 4, body, 3);
    right = module_of(&w, lay(&w, from), &pipe, 1);
    CU_ASSERT(chm_module_verify(right) == CHM_OK);
    CU_ASSERT_EQUAL(wrong_elements(&w, right), 0);

    stages(&w, wrong); /* the first two the wrong way round */
    wrong[0] = body[1];
    wrong[1] = body[0];
    FORGED(&w, from, pipeline(0, 4, wrong, 3), true);
    stages(&w, wrong); /* blocks of another dim than the layout says */
    wrong[0].attrs.dim = 1;
    FORGED(&w, from, pipeline(0, 2, wrong, 3), true);
    stages(&w, wrong); /* to the wrong stage */
    wrong[1].attrs.to = 0;
    FORGED(&w, from, pipeline(0, 4, wrong, 3), true);
    FORGED(&w, from, pipeline(0, 4, body + 1, 2), true); /* without the sum */
    pipe = pipeline(0, 4, body, 2);                      /* one op short of its type */
    pipe.to = body[2].to;
    FORGED(&w, from, pipe, true);
    FORGED(&w, from, pipeline(0, 3, body, 3), false); /* chunks that do not divide */
    FORGED(&w, from, pipeline(0, 16 * 2, body, 3), false);
    FORGED(&w, from, pipeline(0, 0, body, 3), false);
    FORGED(&w, from, pipeline(0, 16, body, 2), false); /* two blocks at its end: 32 parts of 16 */
    wrong[0] = pipeline(0, 2, body, 3);                /* one in another */
    FORGED(&w, from, pipeline(0, 2, wrong, 1), false);
    world_fini(&w);
}

int main(void)
{
    static const UnitTest tests[] = {
        {"random chains", test_random_chains},
        {"forged", test_forged},
        UNIT_END,
    };
    return unit_main("pipeline", tests);
}
