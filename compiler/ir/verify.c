/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/verify.c - whether a module is well-formed: its list, its values, its types, its outputs.
 *
 * Four steps, each of which may trust what the ones before it have found right: links and kinds; types, in SSA order;
 * what is started and waited for; use counts and names. A fault in the first ends the check, since nothing else can
 * then be walked safely.
 */
#include "ir/module.h"

#include <string.h>

typedef struct Verifier {
    ChmModule *m;
    ChmCtx *ctx;
    bool whole; /* no line of its text is missing */
    int32_t faults;
    int32_t nvalues;
    ChmValue **values; /* by id */
    int32_t *uses;     /* by id, counted afresh */
    bool *is_input;    /* by tensor index */
} Verifier;

#define FAULT(v, op, ...) ((v)->faults++, chm_error(&(v)->ctx->diags, (op) ? (op)->span : (ChmSpan){0}, __VA_ARGS__))

/* ---- links and kinds */

/* first has no 'prev' and every 'next' points back, so that the walk cannot come round to an op it has seen. */
static bool check_links(Verifier *v)
{
    const ChmOp *prev = NULL;
    for (const ChmOp *op = v->m->first; op; prev = op, op = op->next)
        if (op->prev != prev) {
            FAULT(v, op, "the list of ops is broken: an op does not point back to the one before it");
            return false;
        }
    if (v->m->last != prev) {
        FAULT(v, prev, "the list of ops is broken: its last op is not the end of the chain");
        return false;
    }
    return true;
}

/* What an op of its class must have, and must not have. */
static bool check_parts(Verifier *v, const ChmOp *op)
{
    if ((unsigned)op->code >= CHM_NOPS) {
        FAULT(v, op, "there is no op with code %d", (int)op->code);
        return false;
    }
    const ChmOpInfo *info = &chm_ops[op->code];
    bool source = info->class == CHM_CLASS_SOURCE, sink = info->class == CHM_CLASS_SINK;
    bool makes = source || info->class == CHM_CLASS_LAYOUT;
    if (source ? op->operand != NULL : op->operand == NULL)
        FAULT(v, op, "'%s' %s an operand", info->name, source ? "must not have" : "lacks");
    else if (makes ? op->result == NULL : op->result != NULL)
        FAULT(v, op, "'%s' %s a result", info->name, makes ? "lacks" : "must not have");
    else if (source ? op->tensor == NULL : op->tensor != NULL)
        FAULT(v, op, "'%s' %s a tensor", info->name, source ? "lacks" : "must not have");
    else if (sink ? op->name == NULL : op->name != NULL)
        FAULT(v, op, "'%s' %s a name", info->name, sink ? "lacks" : "must not have");
    else if (op->started && (info->class != CHM_CLASS_LAYOUT || chm_is_local(op->code)))
        FAULT(v, op, "'%s' cannot be started", info->name);
    else if (op->result && op->result->def != op)
        FAULT(v, op, "the result of '%s' does not know it as its definition", info->name);
    else if (op->result && (!op->result->type || !op->result->type->shape || !op->result->type->layout))
        FAULT(v, op, "the result of '%s' has no type", info->name);
    else
        return true;
    return false;
}

/* Attributes that the op's syntax does not name are 0, so that equal ops have equal bytes. */
static void check_attrs(Verifier *v, const ChmOp *op)
{
    const ChmAttrs *a = &op->attrs;
    const char *name = chm_ops[op->code].name;
    bool stray = a->over.len > CHM_MAX_AXES || (a->over.len && !chm_op_has(op->code, 'A')) ||
                 (a->dim && !chm_op_has(op->code, 'D')) || (a->to_dim && !chm_op_has(op->code, 'E')) ||
                 (a->axis && !chm_op_has(op->code, 'X')) || (a->from && !chm_op_has(op->code, 'I')) ||
                 (a->to && !chm_op_has(op->code, 'J')) || ((a->chunks || a->body_len) && !chm_op_has(op->code, 'N'));
    for (int i = a->over.len; !stray && i < CHM_MAX_AXES; i++)
        stray = a->over.at[i] != 0;
    if (stray)
        FAULT(v, op, "'%s' carries an attribute that it does not have", name);
}

/* ---- types */

static const char *value_text(const Verifier *v, const ChmValue *value)
{
    ChmOut o;
    chm_out_init_arena(&o, &v->ctx->arena);
    chm_value_print(value, &o);
    return chm_out_text(&o);
}

static const char *layout_text(const Verifier *v, const ChmType *t)
{
    return chm_layout_str(v->ctx, t->shape, t->layout);
}

static void check_input(Verifier *v, const ChmOp *op)
{
    const ChmTensor *t = op->tensor;
    const ChmType *type = op->result->type;
    if (t->index < 0 || t->index >= v->m->tensors.len || v->m->tensors.at[t->index] != t) {
        FAULT(v, op, "tensor '%s' is not of this module", t->name);
        return;
    }
    if (v->is_input[t->index])
        FAULT(v, op, "tensor '%s' is input twice", t->name);
    v->is_input[t->index] = true;
    if (type->dtype != t->dtype || type->shape != t->shape)
        FAULT(v, op, "the value has not the dtype and shape of tensor '%s'", t->name);
}

/* A type of this module's mesh, interned and so within the layout invariant. */
static bool check_type(Verifier *v, const ChmOp *op)
{
    const ChmType *t = op->result->type;
    if (t->layout->mesh != v->m->mesh)
        FAULT(v, op, "the layout of '%s' is of another mesh", value_text(v, op->result));
    else if (t->layout->ndims != t->shape->ndims)
        FAULT(v, op, "the layout of '%s' has not the dims of its shape", value_text(v, op->result));
    else if ((unsigned)t->dtype >= CHM_NDTYPES || chm_layout_make(v->ctx, t->layout) != t->layout ||
             chm_type_make(v->ctx, t->dtype, t->shape, t->layout) != t)
        FAULT(v, op, "the type of '%s' is not a legal one", value_text(v, op->result));
    else
        return true;
    return false;
}

static void check_step(Verifier *v, const ChmOp *op)
{
    const ChmType *from = op->operand->type, *to = op->result->type;
    const char *name = chm_ops[op->code].name;
    if (from->dtype != to->dtype || from->shape != to->shape) {
        FAULT(v, op, "'%s' changes the dtype or the shape of '%s'; it changes layouts only", name,
              value_text(v, op->operand));
        return;
    }
    ChmWhy why = {NULL};
    const ChmLayout *layout =
        chm_infer_layout(v->ctx, op->code, &op->attrs, from->shape, from->layout, to->layout, &why);
    if (!layout) {
        ChmDiag *d = FAULT(v, op, "'%s' does not apply: %s", name, why.text ? why.text : "its rule says no");
        chm_note(&v->ctx->diags, d, op->operand->def->span, "its operand '%s' has the layout '%s', its result '%s'",
                 value_text(v, op->operand), layout_text(v, from), layout_text(v, to));
    } else if (layout != to->layout) {
        ChmDiag *d =
            FAULT(v, op, "the layout of '%s' is stated as '%s', but '%s' makes '%s'", value_text(v, op->result),
                  layout_text(v, to), name, chm_layout_str(v->ctx, from->shape, layout));
        chm_note(&v->ctx->diags, d, op->operand->def->span, "its operand '%s' has the layout '%s'",
                 value_text(v, op->operand), layout_text(v, from));
    }
}

/* A value's id is its place in program order, so that 'defined before' is a comparison. */
static bool check_operand(Verifier *v, const ChmOp *op, int32_t defined)
{
    const ChmValue *x = op->operand;
    if (x->id < 0 || x->id >= v->nvalues || v->values[x->id] != x) {
        FAULT(v, op, "the operand of '%s' is not a value of this module", chm_ops[op->code].name);
        return false;
    }
    v->uses[x->id]++;
    if (x->id >= defined) {
        FAULT(v, op, "value '%s' is used before it is defined", value_text(v, x));
        return false;
    }
    return true;
}

static void check_op(Verifier *v, const ChmOp *op, int32_t defined)
{
    check_attrs(v, op);
    int32_t faults = v->faults;
    if (op->operand && !check_operand(v, op, defined))
        return;
    if (op->result && !check_type(v, op))
        return;
    if (v->faults != faults)
        return;
    /* Which class has which parts, check_parts has seen to. */
    if (op->result && op->operand && op->attrs.over.len <= CHM_MAX_AXES)
        check_step(v, op);
    else if (op->result && op->tensor)
        check_input(v, op);
}

/* ---- what is started and waited for */

/* Neither a use before the wait nor a missing wait is told where the wait may have stood on a line that is missing. */
static void check_use(Verifier *v, const ChmOp *op, const ChmOp *wait)
{
    const ChmOp *def = op->operand->def;
    if (!def->started || wait || !v->whole)
        return;
    ChmDiag *d = FAULT(v, op, "value '%s' is used before it is waited for", value_text(v, op->operand));
    chm_note(&v->ctx->diags, d, def->span, "it is started here, and under way until then");
    chm_help(&v->ctx->diags, d, "Write 'wait %s' before this line.", value_text(v, op->operand));
}

static void check_wait(Verifier *v, const ChmOp *op, const ChmOp *before)
{
    const ChmOp *def = op->operand->def;
    const char *value = value_text(v, op->operand);
    if (!def->started) {
        ChmDiag *d = FAULT(v, op, "value '%s' is waited for, but was not started", value);
        chm_note(&v->ctx->diags, d, def->span, "it is made here%s",
                 chm_is_layout_op(def) ? ", where the op runs to its end" : "");
        if (chm_is_layout_op(def) && !chm_is_local(def->code))
            chm_help(&v->ctx->diags, d, "Write '%s = start %s ...' there, or no 'wait'.", value,
                     chm_ops[def->code].name);
    } else if (before) {
        ChmDiag *d = FAULT(v, op, "value '%s' is waited for twice", value);
        chm_note(&v->ctx->diags, d, before->span, "it is done from here on");
    }
}

static void check_order(Verifier *v)
{
    const ChmOp **waits = CHM_NEW_ARRAY(&v->ctx->arena, const ChmOp *, v->nvalues); /* by value id: the first */
    for (const ChmOp *op = v->m->first; op; op = op->next) {
        if (!op->operand)
            continue;
        const ChmOp **wait = &waits[op->operand->id];
        if (op->code != CHM_OP_WAIT) {
            check_use(v, op, *wait);
            continue;
        }
        check_wait(v, op, *wait);
        *wait = *wait ? *wait : op;
    }
    for (const ChmOp *op = v->m->first; op && v->whole; op = op->next)
        if (op->started && !waits[op->result->id]) {
            ChmDiag *d = FAULT(v, op, "value '%s' is started and never waited for", value_text(v, op->result));
            chm_help(&v->ctx->diags, d, "Write 'wait %s' before its first use, at the latest at the end.",
                     value_text(v, op->result));
        }
}

/* ---- uses and names */

/* Reports when another op has the name already. */
static void claim_name(Verifier *v, ChmMap *names, const ChmOp *op, const char *name, const char *kind)
{
    const ChmOp *before = chm_map_get(names, name, strlen(name));
    if (before) {
        ChmDiag *d = FAULT(v, op, "%s '%s' is defined twice", kind, name);
        chm_note(&v->ctx->diags, d, before->span, "first here");
        return;
    }
    chm_map_put(names, name, strlen(name), (void *)(uintptr_t)op);
}

static void check_uses_and_names(Verifier *v)
{
    ChmMap values, outputs;
    chm_map_init(&values, &v->ctx->arena);
    chm_map_init(&outputs, &v->ctx->arena);
    for (const ChmOp *op = v->m->first; op; op = op->next) {
        if (op->code == CHM_OP_OUTPUT)
            claim_name(v, &outputs, op, op->name, "output");
        if (!op->result)
            continue;
        if (op->result->name && v->whole) /* else its reader has looked */
            claim_name(v, &values, op, op->result->name, "value");
        if (op->result->uses != v->uses[op->result->id])
            FAULT(v, op, "value '%s' counts %d uses, but has %d", value_text(v, op->result), (int)op->result->uses,
                  (int)v->uses[op->result->id]);
    }
    if (outputs.len == 0 && v->whole) {
        ChmSpan none = {0};
        const ChmOp *last = v->m->last;
        v->faults++;
        ChmDiag *d = chm_error(&v->ctx->diags, last ? last->span : none, "the plan has no output");
        chm_help(&v->ctx->diags, d, "Write 'output NAME = %%VALUE' after the ops.");
    }
}

static ChmStatus verify(ChmModule *m, bool numbered, bool whole)
{
    Verifier v = {.m = m, .ctx = m->ctx, .whole = whole};
    if (!check_links(&v))
        return CHM_ERR_INPUT;
    for (const ChmOp *op = m->first; op; op = op->next)
        if (!check_parts(&v, op))
            return CHM_ERR_INPUT;
    if (!numbered)
        chm_module_number(m);
    for (const ChmOp *op = m->first; op; op = op->next)
        if (op->result)
            op->result->id = v.nvalues++;
    v.values = CHM_NEW_ARRAY(&m->ctx->arena, ChmValue *, v.nvalues);
    v.uses = CHM_NEW_ARRAY(&m->ctx->arena, int32_t, v.nvalues);
    v.is_input = CHM_NEW_ARRAY(&m->ctx->arena, bool, m->tensors.len);
    for (ChmOp *op = m->first; op; op = op->next)
        if (op->result)
            v.values[op->result->id] = op->result;
    int32_t defined = 0;
    for (const ChmOp *op = m->first; op; op = op->next) {
        check_op(&v, op, defined);
        defined += op->result != NULL;
    }
    if (v.faults == 0)
        check_order(&v);
    check_uses_and_names(&v);
    return v.faults ? CHM_ERR_INPUT : CHM_OK;
}

ChmStatus chm_module_verify(ChmModule *m)
{
    return verify(m, false, true);
}

ChmStatus chm_module_verify_read(ChmModule *m, bool whole)
{
    ChmStatus status = verify(m, true, whole);
    chm_module_number(m);
    return status;
}
