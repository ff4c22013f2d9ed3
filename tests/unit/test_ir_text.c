/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/test_ir_text.c - the text form of the IR and the verifier: what the golden files cannot show.
 */
#include "unit.h"

#include "ir/module.h"

#include <time.h>

static const char plan_text[] = "plan tp_pp\n"
                                "mesh cluster (pp = 2, tp = 4)\n"
                                "tensor x : f32[seq = 8192, hidden = 2048]\n"
                                "tensor y : bf16[rows = 7]\n"
                                "%x0 = input x : [seq, hidden] partial(tp) at(pp=0)\n"
                                "%1 = reduce_scatter %x0 over (tp) dim seq : [seq/tp, hidden] at(pp=0)\n"
                                "%2 = shift %1 pp 0 -> 1 : [seq/tp, hidden] at(pp=1)\n"
                                "%x2 = all_gather %2 over (tp) dim seq : [seq, hidden] at(pp=1)\n"
                                "%3 = input y : [rows/tp]\n"
                                "output x2 = %x2\n"
                                "output y = %3\n";

static const ChmSource *source_of(ChmCtx *ctx, const char *text, size_t len)
{
    return chm_source_from_text(&ctx->arena, "t.ir", text, len);
}

static ChmModule *parse(ChmCtx *ctx, const char *text)
{
    return chm_module_parse(ctx, source_of(ctx, text, strlen(text)));
}

static const char *print(ChmModule *m)
{
    ChmOut o;
    chm_out_init_arena(&o, &m->ctx->arena);
    chm_module_print(m, &o);
    return chm_out_text(&o);
}

static ChmOp *nth_op(ChmModule *m, int n)
{
    ChmOp *op = m->first;
    while (n-- > 0)
        op = op->next;
    return op;
}

/* ---- text */

static void test_round_trip(void)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmModule *m = parse(&ctx, plan_text);
    UNIT_SAME_TEXT(print(m), plan_text);
    ChmModule *copy = chm_module_clone(m);
    UNIT_SAME_TEXT(print(copy), plan_text);
    chm_module_free(m);
    UNIT_SAME_TEXT(print(copy), plan_text); /* a clone does not live on its original */
    CU_ASSERT(chm_module_verify(copy) == CHM_OK);
    chm_ctx_fini(&ctx);
}

static void test_places(void)
{
    ChmCtx ctx;
    uint32_t line, col;
    chm_ctx_init(&ctx);
    const ChmOp *op = nth_op(parse(&ctx, plan_text), 2);
    chm_source_place(op->span.source, op->span.begin, &line, &col);
    CU_ASSERT(line == 7 && col == 1);
    chm_source_place(op->span.source, op->span.end, &line, &col);
    CU_ASSERT(line == 7 && col == strlen("%2 = shift %1 pp 0 -> 1 : [seq/tp, hidden] at(pp=1)") + 1);
    chm_ctx_fini(&ctx);
}

static void test_pieces(void)
{
    ChmCtx ctx;
    ChmOut o;
    chm_ctx_init(&ctx);
    chm_out_init_arena(&o, &ctx.arena);
    ChmModule *m = parse(&ctx, plan_text);
    const ChmOp *op = nth_op(m, 1);
    ChmStep step = {op->code, op->attrs, op->result->type->layout};
    chm_step_print(op->result->type->shape, &step, &o);
    chm_out_puts(&o, "; ");
    step = (ChmStep){.code = CHM_OP_EXCHANGE, .to = op->result->type->layout};
    chm_step_print(op->result->type->shape, &step, &o);
    UNIT_SAME_TEXT(chm_out_text(&o), "reduce_scatter over (tp) dim seq; exchange to [seq/tp, hidden] at(pp=0)");
    chm_ctx_fini(&ctx);
}

/* ---- bad input */

/* A parsed module prints to something that parses and prints the same; anything else has been reported. */
static void try_text(const char *text, size_t len)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmModule *m = chm_module_parse(&ctx, source_of(&ctx, text, len));
    if (m) {
        const char *once = print(m);
        ChmModule *again = parse(&ctx, once);
        CU_ASSERT_FATAL(again != NULL);
        UNIT_SAME_TEXT(print(again), once);
    } else {
        CU_ASSERT(ctx.diags.errors > 0);
    }
    chm_ctx_fini(&ctx);
}

static void test_every_prefix(void)
{
    for (size_t len = 0; len < sizeof plan_text; len++)
        try_text(plan_text, len);
}

static uint32_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

static void test_changed_bytes(void)
{
    static const char bytes[] = "%()[]=:,/->#\n 0123456789xytpseq_\0\x80\xff";
    uint64_t random = 20250101;
    for (int round = 0; round < 3000; round++) {
        char text[sizeof plan_text];
        memcpy(text, plan_text, sizeof text);
        for (uint32_t n = 1 + next_random(&random) % 3; n > 0; n--)
            text[next_random(&random) % (sizeof text - 1)] = bytes[next_random(&random) % sizeof bytes];
        try_text(text, sizeof text - 1);
    }
}

/* Words of the language in any order. */
static void test_changed_words(void)
{
    static const char *const words[] = {
        "plan", "mesh", "tensor",  "input", "output", "%x0",   "%1",   "%x2", "all_gather", "over", "dim",       "seq",
        "tp",   "pp",   "(",       ")",     "[",      "]",     "=",    ":",   ",",          "/",    "->",        "\n",
        "0",    "1",    "partial", "at",    "x",      "slice", "from", "to",  "#",          "f32",  "9999999999"};
    uint64_t random = 7;
    for (int round = 0; round < 2000; round++) {
        ChmGuard guard = {0};
        ChmOut o;
        chm_out_init(&o, &guard);
        chm_out_puts(&o, round % 2 ? "plan p\nmesh m (tp = 2, pp = 2)\ntensor x : f32[seq = 4]\n" : "");
        for (uint32_t n = next_random(&random) % 60; n > 0; n--)
            chm_out_printf(&o, "%s ", words[next_random(&random) % (sizeof words / sizeof words[0])]);
        try_text(chm_out_text(&o), o.len);
        chm_out_fini(&o);
    }
}

static void test_long_input(void)
{
    enum { N = 50000 };
    static const char head[] = "plan p\nmesh m (a = 2)\ntensor x : f32[s = 8]\n%0 = input x : [s] at(a=0)\n";
    ChmCtx ctx;
    ChmOut o;
    chm_ctx_init(&ctx);
    chm_out_init(&o, &ctx.guard);
    chm_out_puts(&o, head);
    for (int i = 1; i <= N; i++)
        chm_out_printf(&o, "%%%d = shift %%%d a %d -> %d : [s] at(a=%d)\n", i, i - 1, (i - 1) % 2, i % 2, i % 2);
    chm_out_printf(&o, "output y = %%%d\n", (int)N);
    clock_t begin = clock();
    ChmModule *m = chm_module_parse(&ctx, source_of(&ctx, o.text, o.len));
    CU_ASSERT_FATAL(m != NULL);
    CU_ASSERT(chm_module_number(m) == N + 1);
    CU_ASSERT((double)(clock() - begin) / CLOCKS_PER_SEC < 60.0); /* linear; seconds only with sanitizers */
    chm_out_fini(&o);
    chm_ctx_fini(&ctx);
}

static void test_long_line(void)
{
    enum { N = 1 << 20 };
    char *text = malloc(N);
    CU_ASSERT_FATAL(text != NULL);
    memset(text, 'x', N);
    try_text(text, N);
    memset(text, '(', N);
    try_text(text, N);
    memset(text, '9', N);
    try_text(text, N);
    memset(text, 0, N);
    try_text(text, N);
    text[0] = '#';
    try_text(text, N);
    memset(text, 0x80, N);
    try_text(text, N);
    free(text);
}

/* ---- running out of memory */

typedef struct Entry {
    ChmCtx ctx;
    bool parsed;
} Entry;

static bool parse_within(Entry *e, int64_t fail_at)
{
    chm_ctx_init(&e->ctx);
    e->parsed = false;
    if (CHM_TRY(&e->ctx.guard)) {
        const ChmSource *s = source_of(&e->ctx, plan_text, sizeof plan_text - 1);
        e->ctx.guard.fail_at = fail_at;
        e->parsed = chm_module_parse(&e->ctx, s) != NULL;
        e->ctx.guard.armed = false;
    }
    chm_ctx_fini(&e->ctx); /* with the module, however far it came */
    return e->parsed;
}

static void test_out_of_memory(void)
{
    static Entry e;
    int64_t n = 1;
    while (!parse_within(&e, n) && n < 100000)
        n++;
    CU_ASSERT(n > 100 && n < 100000);
}

/* ---- the verifier, on modules that no text can give */

typedef struct Broken {
    ChmCtx ctx;
    ChmModule *m;
    ChmOp *input, *scatter, *shift, *gather, *output;
} Broken;

static void broken_init(Broken *b)
{
    chm_ctx_init(&b->ctx);
    b->m = parse(&b->ctx, plan_text);
    b->input = nth_op(b->m, 0);
    b->scatter = nth_op(b->m, 1);
    b->shift = nth_op(b->m, 2);
    b->gather = nth_op(b->m, 3);
    b->output = nth_op(b->m, 5);
    CU_ASSERT(chm_module_verify(b->m) == CHM_OK);
}

/* The module is refused, and the first report begins so. */
static void refused(Broken *b, const char *begin)
{
    CU_ASSERT(chm_module_verify(b->m) == CHM_ERR_INPUT);
    CU_ASSERT_FATAL(b->ctx.diags.errors > 0);
    const char *text = b->ctx.diags.list.at[0]->text;
    if (strncmp(text, begin, strlen(begin)) != 0)
        UNIT_SAME_TEXT(text, begin);
    chm_ctx_fini(&b->ctx);
}

static void test_broken_list(void)
{
    Broken b;
    broken_init(&b);
    b.shift->prev = b.input;
    refused(&b, "the list of ops is broken: an op does not point back");
    broken_init(&b);
    b.m->last = b.gather;
    refused(&b, "the list of ops is broken: its last op");
    broken_init(&b);
    b.output->next = b.scatter; /* a ring */
    refused(&b, "the list of ops is broken: an op does not point back");
    broken_init(&b);
    b.m->first = b.m->last = NULL;
    refused(&b, "the plan has no output");
}

static void test_broken_parts(void)
{
    Broken b;
    broken_init(&b);
    b.shift->code = (ChmOpcode)99;
    refused(&b, "there is no op with code 99");
    broken_init(&b);
    b.shift->operand = NULL;
    refused(&b, "'shift' lacks an operand");
    broken_init(&b);
    b.shift->result = NULL;
    refused(&b, "'shift' lacks a result");
    broken_init(&b);
    b.input->operand = b.gather->result;
    refused(&b, "'input' must not have an operand");
    broken_init(&b);
    b.input->tensor = NULL;
    refused(&b, "'input' lacks a tensor");
    broken_init(&b);
    b.output->name = NULL;
    refused(&b, "'output' lacks a name");
    broken_init(&b);
    b.output->result = b.gather->result;
    refused(&b, "'output' must not have a result");
    broken_init(&b);
    b.shift->result = b.scatter->result;
    refused(&b, "the result of 'shift' does not know it");
    broken_init(&b);
    b.shift->result->type = NULL;
    refused(&b, "the result of 'shift' has no type");
    broken_init(&b);
    b.shift->attrs.dim = 1;
    refused(&b, "'shift' carries an attribute that it does not have");
    broken_init(&b);
    b.scatter->attrs.over.at[7] = 1;
    refused(&b, "'reduce_scatter' carries an attribute that it does not have");
    broken_init(&b);
    b.scatter->attrs.over.len = 200;
    refused(&b, "'reduce_scatter' carries an attribute that it does not have");
    broken_init(&b);
    b.scatter->attrs.over.at[0] = 31;
    refused(&b, "'reduce_scatter' does not apply: an axis of 'over' is not of the mesh");
    broken_init(&b);
    b.scatter->attrs.dim = 5;
    refused(&b, "'reduce_scatter' does not apply: its dim is not of the tensor");
    broken_init(&b);
    b.shift->attrs.axis = -1;
    refused(&b, "'shift' does not apply: its axis is not of the mesh");
    broken_init(&b);
    b.shift->attrs.to = 2;
    refused(&b, "'shift' does not apply: coordinate 2 is outside axis 'pp' of size 2");
}

static void test_broken_values(void)
{
    Broken b;
    broken_init(&b);
    b.shift->result->uses = 2;
    refused(&b, "value '%2' counts 2 uses, but has 1");
    broken_init(&b);
    chm_op_set_operand(b.scatter, b.gather->result);
    refused(&b, "value '%x2' is used before it is defined");
    broken_init(&b);
    chm_op_set_operand(b.scatter, b.scatter->result);
    refused(&b, "value '%1' is used before it is defined");
    broken_init(&b);
    ChmModule *other = chm_module_clone(b.m);
    chm_op_set_operand(b.gather, nth_op(other, 2)->result);
    refused(&b, "the operand of 'all_gather' is not a value of this module");
    broken_init(&b);
    ChmValue *lost = b.shift->result;
    chm_op_set_operand(b.gather, b.scatter->result);
    chm_op_unlink(b.m, b.shift);
    chm_op_set_operand(b.gather, lost);
    refused(&b, "the operand of 'all_gather' is not a value of this module");
    broken_init(&b);
    b.shift->result->name = "x2";
    refused(&b, "value 'x2' is defined twice");
}

static void test_broken_types(void)
{
    Broken b;
    broken_init(&b);
    b.shift->result->type = b.scatter->result->type;
    refused(&b, "the layout of '%2' is stated as '[seq/tp, hidden] at(pp=0)', but 'shift' makes");
    broken_init(&b);
    b.shift->result->type = nth_op(b.m, 4)->result->type;
    refused(&b, "'shift' changes the dtype or the shape of '%1'");
    broken_init(&b);
    ChmType twin = *b.shift->result->type; /* equal, but not the interned one */
    b.shift->result->type = &twin;
    refused(&b, "the type of '%2' is not a legal one");
    broken_init(&b);
    ChmLayout both = *b.shift->result->type->layout; /* an axis in two states */
    both.partial |= both.split;
    ChmType wrong = *b.shift->result->type;
    wrong.layout = &both;
    b.shift->result->type = &wrong;
    refused(&b, "the type of '%2' is not a legal one");
    broken_init(&b);
    const char *axis = "a";
    int32_t size = 8;
    const ChmMesh *mesh = chm_mesh_make(&b.ctx, "other", 1, &axis, &size);
    b.shift->result->type = chm_type_with_layout(&b.ctx, b.shift->result->type, chm_layout_replicated(&b.ctx, mesh, 2));
    refused(&b, "the layout of '%2' is of another mesh");
    broken_init(&b);
    b.shift->result->type =
        chm_type_with_layout(&b.ctx, b.shift->result->type, chm_layout_replicated(&b.ctx, b.m->mesh, 1));
    refused(&b, "the layout of '%2' has not the dims of its shape");
}

static void test_broken_ends(void)
{
    Broken b;
    broken_init(&b);
    ChmTensor stranger = *b.input->tensor;
    b.input->tensor = &stranger;
    refused(&b, "tensor 'x' is not of this module");
    broken_init(&b);
    b.input->tensor = nth_op(b.m, 4)->tensor;
    refused(&b, "the value has not the dtype and shape of tensor 'y'");
    broken_init(&b);
    chm_build_input(b.m, b.output, b.input->span, b.input->tensor, b.input->result->type, NULL);
    refused(&b, "tensor 'x' is input twice");
    broken_init(&b);
    b.output->name = b.m->last->name;
    refused(&b, "output 'y' is defined twice");
}

int main(void)
{
    static const UnitTest tests[] = {{"text parses and prints the same", test_round_trip},
                                     {"ops know their line", test_places},
                                     {"steps by themselves", test_pieces},
                                     {"every prefix of a plan", test_every_prefix},
                                     {"changed bytes", test_changed_bytes},
                                     {"words in any order", test_changed_words},
                                     {"many lines", test_long_input},
                                     {"long lines", test_long_line},
                                     {"every allocation may fail", test_out_of_memory},
                                     {"broken lists", test_broken_list},
                                     {"broken parts", test_broken_parts},
                                     {"broken values", test_broken_values},
                                     {"broken types", test_broken_types},
                                     {"broken ends", test_broken_ends},
                                     UNIT_END};
    return unit_main("ir_text", tests);
}
