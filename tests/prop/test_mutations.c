/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/prop/test_mutations.c - deliberately broken passes: each must be caught, and named, by the typing of the IR or
 * by translation validation, with checks after every pass and with checks at the end alone.
 */
#include "check/check.h"
#include "pass/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Schedules as the optimizer meets them: sums over one and two axes, stages, experts, values that are used twice, two
 * tensors of one type. */
static const char *const plans[] = {
    /* stages of a tensor-parallel model */
    "plan tp_pp\n"
    "mesh m (pp = 3, tp = 4)\n"
    "tensor x : f32[seq = 8192, hidden = 2048]\n"
    "tensor r : f32[seq = 8192, hidden = 2048]\n"
    "%x0 = input x : [seq, hidden] partial(tp) at(pp=0)\n"
    "%r0 = input r : [seq, hidden] partial(tp) at(pp=0)\n"
    "%1 = reduce_scatter %x0 over (tp) dim seq : [seq/tp, hidden] at(pp=0)\n"
    "%2 = shift %1 pp 0 -> 1 : [seq/tp, hidden] at(pp=1)\n"
    "%x2 = all_gather %2 over (tp) dim seq : [seq, hidden] at(pp=1)\n"
    "%3 = all_reduce %r0 over (tp) : [seq, hidden] at(pp=0)\n"
    "%4 = shift %3 pp 0 -> 1 : [seq, hidden] at(pp=1)\n"
    "%5 = broadcast %4 pp from 1 : [seq, hidden]\n"
    "%6 = drop %5 pp = 2 : [seq, hidden] at(pp=2)\n"
    "output x2 = %x2\n"
    "output r2 = %4\n"
    "output r3 = %6\n",
    /* tokens to experts over two axes, and back */
    "plan tp_ep\n"
    "mesh m (dp = 2, tp = 4)\n"
    "tensor x : bf16[expert = 8, slot = 100, hidden = 16]\n"
    "tensor y : bf16[expert = 8, slot = 100, hidden = 16]\n"
    "%x = input x : [expert, slot/dp, hidden] partial(tp)\n"
    "%y = input y : [expert/dp/tp, slot, hidden]\n"
    "%1 = reduce_scatter %x over (tp) dim slot : [expert, slot/dp/tp, hidden]\n"
    "%2 = all_to_all %1 over (dp, tp) from slot to expert : [expert/dp/tp, slot, hidden]\n"
    "%3 = all_to_all %y over (dp, tp) from expert to slot : [expert, slot/dp/tp, hidden]\n"
    "%4 = all_gather %3 over (tp) dim slot : [expert, slot/dp, hidden]\n"
    "%5 = slice %4 over (tp) dim hidden : [expert, slot/dp, hidden/tp]\n"
    "output sent = %2\n"
    "output back = %5\n",
    /* gradients over two axes, kept in shards and whole, and an exchange of orders */
    "plan grads\n"
    "mesh m (a = 2, b = 2, pp = 2)\n"
    "tensor g : i32[rows = 12]\n"
    "tensor h : i32[rows = 12]\n"
    "%g = input g : [rows] partial(a, b)\n"
    "%h = input h : [rows] partial(a, b)\n"
    "%1 = reduce_scatter %g over (a, b) dim rows : [rows/a/b]\n"
    "%2 = all_gather %1 over (a, b) dim rows : [rows]\n"
    "%3 = all_reduce %h over (a, b) : [rows]\n"
    "%4 = exchange %1 : [rows/b/a]\n"
    "%5 = reduce_exchange %h : [rows/a] partial(b)\n"
    "%6 = reduce %5 b to 1 : [rows/a] at(b=1)\n"
    "output shard = %1\n"
    "output all = %2\n"
    "output both = %3\n"
    "output other = %4\n"
    "output part = %6\n",
};
#define NPLANS ((int)(sizeof plans / sizeof plans[0]))

/* ---- helpers of the broken passes */

static ChmOp *find(ChmModule *m, ChmOpcode code)
{
    for (ChmOp *op = m->first; op; op = op->next)
        if (op->code == code)
            return op;
    return NULL;
}

static ChmOp *find_long(ChmModule *m, ChmOpcode code) /* over two axes or more */
{
    for (ChmOp *op = m->first; op; op = op->next)
        if (op->code == code && op->attrs.over.len > 1)
            return op;
    return NULL;
}

static ChmOp *nth_output(ChmModule *m, int n)
{
    for (ChmOp *op = m->first; op; op = op->next)
        if (op->code == CHM_OP_OUTPUT && n-- == 0)
            return op;
    return NULL;
}

/* Gives every result the type that its op makes, so that the module type-checks again; false when an op does not apply
 * any more. */
static bool retype(ChmModule *m)
{
    for (ChmOp *op = m->first; op; op = op->next) {
        if (!chm_is_layout_op(op))
            continue;
        const ChmType *from = op->operand->type;
        const ChmLayout *l =
            chm_infer_layout(m->ctx, op->code, &op->attrs, from->shape, from->layout, op->result->type->layout, NULL);
        if (!l)
            return false;
        op->result->type = chm_type_with_layout(m->ctx, from, l);
    }
    return true;
}

static void reverse(ChmAxisSeq *s)
{
    ChmAxisSeq r = {0};
    for (int32_t i = s->len - 1; i >= 0; i--)
        chm_seq_push(&r, s->at[i]);
    *s = r;
}

static void set_type(ChmModule *m, ChmValue *v, const ChmLayout *draft)
{
    v->type = chm_type_with_layout(m->ctx, v->type, chm_layout_make(m->ctx, draft));
}

/* A value before op of the same type, from another tensor. */
static ChmValue *twin_of(ChmModule *m, const ChmOp *op)
{
    for (ChmOp *other = m->first; other && other != op; other = other->next)
        if (other->result && other->result != op->operand && other->result->type == op->operand->type)
            return other->result;
    return NULL;
}

/* ---- the broken passes; each says whether it found what it breaks */

#define MUTATION(name)                                        \
    static int32_t name(ChmModule *m, const ChmPassEnv *env); \
    static int32_t name(ChmModule *m, const ChmPassEnv *env)
#define SAID ((void)env, 1)
#define NOT_HERE ((void)env, 0)

MUTATION(wrong_dim)
{
    ChmOp *op = find(m, CHM_OP_REDUCE_SCATTER);
    if (!op || op->operand->type->shape->ndims < 2)
        return NOT_HERE;
    op->attrs.dim = (op->attrs.dim + 1) % op->operand->type->shape->ndims;
    return SAID;
}

MUTATION(wrong_dim_retyped)
{
    ChmOp *op = find(m, CHM_OP_SLICE);
    if (!op || nth_output(m, 1)->operand != op->result)
        return NOT_HERE;
    op->attrs.dim = 0;
    return retype(m) ? SAID : NOT_HERE;
}

MUTATION(wrong_axis_order)
{
    ChmOp *op = find_long(m, CHM_OP_ALL_TO_ALL);
    if (!op)
        return NOT_HERE;
    reverse(&op->attrs.over);
    return SAID;
}

/* The order of members is another throughout, so that every op applies. */
MUTATION(wrong_axis_order_retyped)
{
    ChmOp *scatter = find_long(m, CHM_OP_REDUCE_SCATTER), *gather = find_long(m, CHM_OP_ALL_GATHER);
    if (!scatter || !gather)
        return NOT_HERE;
    reverse(&scatter->attrs.over);
    reverse(&gather->attrs.over);
    return retype(m) ? SAID : NOT_HERE;
}

MUTATION(dropped_partial)
{
    ChmOp *op = find(m, CHM_OP_REDUCE_SCATTER);
    if (!op)
        return NOT_HERE;
    op->code = CHM_OP_SLICE;
    return SAID;
}

/* The same, and the input is believed to be whole. */
MUTATION(dropped_partial_retyped)
{
    ChmOp *op = find(m, CHM_OP_REDUCE_SCATTER);
    if (!op || op->operand->uses > 1)
        return NOT_HERE;
    ChmLayout l = *op->operand->type->layout;
    l.partial = 0;
    set_type(m, op->operand, &l);
    op->code = CHM_OP_SLICE;
    return retype(m) ? SAID : NOT_HERE;
}

MUTATION(exchange_for_a_sum)
{
    ChmOp *op = find(m, CHM_OP_ALL_REDUCE);
    if (!op)
        return NOT_HERE;
    op->code = CHM_OP_EXCHANGE;
    memset(&op->attrs, 0, sizeof op->attrs);
    return SAID;
}

MUTATION(sums_too_little)
{
    ChmOp *op = find_long(m, CHM_OP_ALL_REDUCE);
    if (!op)
        return NOT_HERE;
    op->attrs.over = chm_seq_slice(&op->attrs.over, 0, 1);
    return SAID;
}

MUTATION(sums_too_little_retyped)
{
    ChmOp *op = find_long(m, CHM_OP_ALL_REDUCE);
    if (!op)
        return NOT_HERE;
    op->attrs.over = chm_seq_slice(&op->attrs.over, 0, 1);
    return retype(m) ? SAID : NOT_HERE;
}

MUTATION(sums_twice)
{
    ChmOp *op = find(m, CHM_OP_ALL_REDUCE);
    if (!op)
        return NOT_HERE;
    ChmStep again = {op->code, op->attrs, op->result->type->layout};
    ChmValue *v = chm_build_step(m, op->next, op->span, op->result, &again, NULL);
    for (ChmOp *user = v->def->next; user; user = user->next)
        if (user->operand == op->result)
            chm_op_set_operand(user, v);
    return SAID;
}

MUTATION(wrong_pin)
{
    ChmOp *op = find(m, CHM_OP_SHIFT);
    if (!op)
        return NOT_HERE;
    op->attrs.to = 2;
    return SAID;
}

MUTATION(wrong_pin_retyped)
{
    ChmOp *op = find(m, CHM_OP_DROP);
    if (!op)
        return NOT_HERE;
    op->attrs.to = 1;
    return retype(m) ? SAID : NOT_HERE;
}

MUTATION(wrong_root)
{
    ChmOp *op = find(m, CHM_OP_BROADCAST);
    if (!op)
        return NOT_HERE;
    op->attrs.from = 0;
    return SAID;
}

MUTATION(wrong_source_coordinate)
{
    ChmOp *op = find(m, CHM_OP_SHIFT);
    if (!op)
        return NOT_HERE;
    op->attrs.from = 2;
    return SAID;
}

/* Everything type-checks: only the tensor is the wrong one. */
MUTATION(swapped_operand)
{
    for (ChmOp *op = m->first; op; op = op->next) {
        ChmValue *twin = op->operand ? twin_of(m, op) : NULL;
        if (twin) {
            chm_op_set_operand(op, twin);
            return SAID;
        }
    }
    return NOT_HERE;
}

MUTATION(operand_of_another_type)
{
    ChmOp *op = find(m, CHM_OP_ALL_GATHER);
    if (!op)
        return NOT_HERE;
    chm_op_set_operand(op, m->first->result);
    return SAID;
}

MUTATION(dropped_gather)
{
    ChmOp *op = find(m, CHM_OP_ALL_GATHER);
    if (!op)
        return NOT_HERE;
    chm_value_replace(m, op->result, op->operand);
    chm_op_unlink(m, op);
    return SAID;
}

MUTATION(retyped_value)
{
    ChmOp *op = find(m, CHM_OP_ALL_REDUCE);
    if (!op)
        return NOT_HERE;
    op->result->type = op->operand->type;
    return SAID;
}

MUTATION(other_dtype)
{
    ChmType t = *m->first->result->type;
    for (ChmOp *op = m->first; op; op = op->next)
        if (op->result)
            op->result->type = chm_type_make(m->ctx, CHM_F16, op->result->type->shape, op->result->type->layout);
    return t.dtype != CHM_F16 ? SAID : NOT_HERE;
}

MUTATION(other_exchange_target)
{
    ChmOp *op = find(m, CHM_OP_EXCHANGE);
    if (!op)
        return NOT_HERE;
    ChmLayout l = *op->result->type->layout;
    reverse(&l.dim[0]);
    set_type(m, op->result, &l);
    return SAID;
}

MUTATION(removed_output)
{
    chm_op_unlink(m, nth_output(m, 1));
    return SAID;
}

MUTATION(renamed_output)
{
    nth_output(m, 0)->name = chm_intern_str(&m->ctx->strings, "renamed");
    return SAID;
}

MUTATION(outputs_exchanged)
{
    ChmOp *a = nth_output(m, 0), *b = nth_output(m, 1);
    const char *name = a->name;
    a->name = b->name;
    b->name = name;
    return SAID;
}

MUTATION(extra_output)
{
    chm_build_output(m, NULL, m->last->span, m->last->operand, chm_intern_str(&m->ctx->strings, "extra"));
    return SAID;
}

MUTATION(output_twice)
{
    chm_build_output(m, NULL, m->last->span, m->last->operand, m->last->name);
    return SAID;
}

MUTATION(output_of_an_earlier_value)
{
    ChmOp *op = nth_output(m, 0);
    chm_op_set_operand(op, op->operand->def->operand);
    return SAID;
}

/* The two inputs of one type have each the other's tensor. */
MUTATION(wrong_tensor)
{
    ChmOp *a = m->first, *b = a->next;
    if (a->result->type != b->result->type)
        return NOT_HERE;
    const ChmTensor *t = a->tensor;
    a->tensor = b->tensor;
    b->tensor = t;
    return SAID;
}

MUTATION(tensor_twice)
{
    ChmOp *a = m->first, *b = a->next;
    b->tensor = a->tensor;
    return SAID;
}

MUTATION(input_in_another_layout)
{
    ChmOp *op = m->first;
    if (op->result->type->layout->pinned == 0)
        return NOT_HERE;
    for (ChmOp *user = op->next; user; user = user->next) /* what was a shift from 0 is now one from 2 */
        if (user->code == CHM_OP_SHIFT && user->operand->def->operand == op->result)
            user->attrs.from = 2;
    ChmLayout l = *op->result->type->layout;
    l.pin[0] = 2;
    set_type(m, op->result, &l);
    return retype(m) ? SAID : NOT_HERE;
}

MUTATION(used_before_defined)
{
    ChmOp *op = find(m, CHM_OP_ALL_GATHER), *def = op->operand->def;
    op->prev->next = op->next; /* to stand before its operand */
    op->next->prev = op->prev;
    op->prev = def->prev;
    op->next = def;
    def->prev->next = op;
    def->prev = op;
    return SAID;
}

MUTATION(wrong_use_count)
{
    find(m, CHM_OP_ALL_GATHER)->result->uses++;
    return SAID;
}

MUTATION(broken_list)
{
    m->last = m->last->prev;
    return SAID;
}

/* What a scheduler gets wrong: ops start early, and their waits stand too late, twice or nowhere. */
static ChmOp *start(ChmModule *m, bool local)
{
    for (ChmOp *op = m->first; op; op = op->next)
        if (chm_is_layout_op(op) && chm_is_local(op->code) == local) {
            op->started = true;
            return op;
        }
    return NULL;
}

/* A wait for the op, if there is one, before another or (NULL) behind the outputs. */
static bool wait_before(ChmModule *m, ChmOp *op, ChmOp *before)
{
    if (op)
        chm_build_wait(m, before, op->span, op->result);
    return op != NULL;
}

MUTATION(waits_too_late)
{
    ChmOp *op = start(m, false);
    return wait_before(m, op, NULL) ? SAID : NOT_HERE;
}

MUTATION(never_waits)
{
    return start(m, false) ? SAID : NOT_HERE;
}

MUTATION(waits_twice)
{
    ChmOp *op = start(m, false);
    return op && wait_before(m, op, op->next) && wait_before(m, op, op->next) ? SAID : NOT_HERE;
}

MUTATION(waits_for_what_is_done)
{
    ChmOp *op = find(m, CHM_OP_ALL_GATHER);
    return op && wait_before(m, op, op->next) ? SAID : NOT_HERE;
}

MUTATION(waits_before_the_start)
{
    ChmOp *op = start(m, false);
    return wait_before(m, op, op) ? SAID : NOT_HERE;
}

MUTATION(starts_a_local_op)
{
    ChmOp *op = start(m, true);
    return op && wait_before(m, op, op->next) ? SAID : NOT_HERE;
}

static const struct {
    const char *name;
    int32_t (*run)(ChmModule *m, const ChmPassEnv *env);
} mutations[] = {
#define ROW(f) \
    {          \
#f, f  \
    }
    ROW(wrong_dim),
    ROW(wrong_dim_retyped),
    ROW(wrong_axis_order),
    ROW(wrong_axis_order_retyped),
    ROW(dropped_partial),
    ROW(dropped_partial_retyped),
    ROW(exchange_for_a_sum),
    ROW(sums_too_little),
    ROW(sums_too_little_retyped),
    ROW(sums_twice),
    ROW(wrong_pin),
    ROW(wrong_pin_retyped),
    ROW(wrong_root),
    ROW(wrong_source_coordinate),
    ROW(swapped_operand),
    ROW(operand_of_another_type),
    ROW(dropped_gather),
    ROW(retyped_value),
    ROW(other_dtype),
    ROW(other_exchange_target),
    ROW(removed_output),
    ROW(renamed_output),
    ROW(outputs_exchanged),
    ROW(extra_output),
    ROW(output_twice),
    ROW(output_of_an_earlier_value),
    ROW(wrong_tensor),
    ROW(tensor_twice),
    ROW(input_in_another_layout),
    ROW(used_before_defined),
    ROW(wrong_use_count),
    ROW(broken_list),
    ROW(waits_too_late),
    ROW(never_waits),
    ROW(waits_twice),
    ROW(waits_for_what_is_done),
    ROW(waits_before_the_start),
    ROW(starts_a_local_op),
#undef ROW
};
#define NMUTATIONS ((int)(sizeof mutations / sizeof mutations[0]))

/* ---- the trials */

static const ChmSource *source_of(ChmCtx *ctx, const char *text)
{
    return chm_source_from_text(&ctx->arena, "t.ir", text, strlen(text));
}

static bool complain(const char *mutation, int plan, const char *what, const char *why)
{
    printf("%s on plan %d: %s%s%s\n", mutation, plan, what, why ? ": " : "", why ? why : "");
    return false;
}

/* The reproducer is a golden test file whose module is as it was before the pass. */
static bool reproduces(ChmCtx *ctx, const ChmOut *text, const char *pass, const char *before)
{
    char run[200];
    snprintf(run, sizeof run, "# RUN: chimerac -q --emit=ir --passes=%s %%s\n", pass);
    if (strncmp(chm_out_text(text), run, strlen(run)) != 0)
        return false;
    ChmModule *m = chm_module_parse(ctx, source_of(ctx, chm_out_text(text)));
    if (!m)
        return false;
    ChmOut o;
    chm_out_init_arena(&o, &ctx->arena);
    chm_module_print(m, &o);
    return strcmp(chm_out_text(&o), before) == 0;
}

static int32_t changes_of(const char *text, const ChmPass *pass)
{
    ChmCtx ctx;
    chm_ctx_init(&ctx);
    ChmPassEnv env = {.topology = &chm_default_topology, .remarks = &ctx.remarks};
    int32_t changes = pass->run(chm_module_parse(&ctx, source_of(&ctx, text)), &env);
    chm_ctx_fini(&ctx);
    return changes;
}

static bool caught(const ChmPass *pass, int plan, bool verify_each)
{
    ChmCtx ctx;
    ChmOut reproducer;
    chm_ctx_init(&ctx);
    chm_out_init(&reproducer, &ctx.guard);
    ChmModule *m = chm_module_parse(&ctx, source_of(&ctx, plans[plan]));
    ChmExpects expected = {0};
    chm_expects_of_module(&ctx.arena, m, &expected);
    const ChmPass *list[] = {chm_pass_find("canonicalize"), chm_pass_find("cse"), pass, chm_pass_find("dce")};
    const ChmPass *culprit = NULL;
    ChmWhy why = {NULL};
    ChmPassOptions options = {.verify_each = verify_each, .validate = chm_check_equal, .expected = &expected};
    ChmStatus status = chm_passes_run(m, list, 4, &options, NULL, &culprit, &why, &reproducer);
    bool ok = true;
    if (status != CHM_ERR_INTERNAL)
        ok = complain(pass->name, plan, "not caught", NULL);
    else if (culprit != pass)
        ok = complain(pass->name, plan, "another pass is blamed", culprit ? culprit->name : "none");
    else if (!why.text)
        ok = complain(pass->name, plan, "no reason is given", NULL);
    else if (ctx.diags.errors || ctx.diags.warnings)
        ok = complain(pass->name, plan, "the user is told of it as of a mistake of theirs", NULL);
    else if (!reproduces(&ctx, &reproducer, pass->name, plans[plan]))
        ok = complain(pass->name, plan, "the reproducer is not the module before the pass", chm_out_text(&reproducer));
    if (ok && verify_each && getenv("CHIMERA_VERBOSE"))
        complain(pass->name, plan, "caught", why.text);
    chm_out_fini(&reproducer);
    chm_ctx_fini(&ctx);
    return ok;
}

int main(void)
{
    int trials = 0, failures = 0;
    for (int i = 0; i < NMUTATIONS; i++) {
        const ChmPass pass = {mutations[i].name, "a broken pass", mutations[i].run, 0, 0, 0};
        int met = 0;
        for (int plan = 0; plan < NPLANS; plan++) {
            if (changes_of(plans[plan], &pass) == 0)
                continue;
            met++;
            trials += 2;
            failures += !caught(&pass, plan, true) + !caught(&pass, plan, false);
        }
        if (met == 0)
            failures += !complain(pass.name, -1, "finds nothing to break", NULL);
    }
    printf("%d mutations, %d trials, %d failures\n", NMUTATIONS, trials, failures);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
