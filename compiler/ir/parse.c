/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/parse.c - from the lines of the text form to a module. The grammar (grammar/ir.y) knows only the shape of a line;
 * which attributes an op has is read from its row in ir/ops.def. Time and memory are linear in the text.
 */
#include "ir/reader.h"

#include <stdlib.h>
#include <string.h>

/* What a name with '%' stands for. value is NULL after an error in its definition, which then is not repeated at its
 * uses. */
typedef struct Entry {
    ChmValue *value;
    ChmSpan span;
} Entry;

#define ERROR(r, at, ...) chm_error(&(r)->ctx->diags, (at), __VA_ARGS__)
#define NOTE(r, diag, at, ...) chm_note(&(r)->ctx->diags, (diag), (at), __VA_ARGS__)
#define HELP(r, diag, ...) chm_help(&(r)->ctx->diags, (diag), __VA_ARGS__)

/* ---- scanner and syntax */

void chm_ir_scan_number(ChmIrReader *r, ChmSpan at, int64_t *out)
{
    int64_t n = 0;
    for (uint32_t i = at.begin; i < at.end; i++)
        if (!chm_mul64(n, 10, &n) || !chm_add64(n, r->source->text[i] - '0', &n)) {
            ERROR(r, at, "number does not fit 64 bits");
            n = 1;
            r->number_lost = true;
            break;
        }
    *out = n;
}

void chm_ir_scan_bad(ChmIrReader *r, ChmSpan at)
{
    bool first = r->bad_end == 0 || memchr(r->source->text + r->bad_end, '\n', at.begin - r->bad_end);
    r->bad_end = at.end;
    if (!first)
        return; /* one report a line */
    unsigned char c = (unsigned char)r->source->text[at.begin];
    if (c >= '0' && c <= '9')
        ERROR(r, at, "a name does not begin with a digit");
    else if (c > ' ' && c < 127)
        ERROR(r, at, "stray character '%c'", c);
    else
        ERROR(r, at, "stray byte 0x%02x", c);
}

void chm_ir_syntax_error(ChmIrReader *r, ChmSpan at, const char *found, const char *const *wanted, int n)
{
    r->syntax_errors++;
    ChmOut o;
    chm_out_init_arena(&o, &r->ctx->arena);
    for (int i = 0; i < n; i++)
        chm_out_printf(&o, "%s%s", i == 0 ? ", expected " : i == n - 1 ? " or " : ", ", wanted[i]);
    if (at.source && at.begin < at.end && at.source->text[at.begin] != '\n')
        ERROR(r, at, "unexpected '%.*s'%s", (int)(at.end - at.begin > 40 ? 40 : at.end - at.begin),
              at.source->text + at.begin, chm_out_text(&o));
    else
        ERROR(r, at, "unexpected %s%s", found, chm_out_text(&o));
}

/* ---- heads: plan, mesh, topology, tensor */

void chm_ir_plan(ChmIrReader *r, ChmSpan at, ChmIrName name)
{
    if (r->plan.text) {
        ChmDiag *d = ERROR(r, at, "a second 'plan' line");
        NOTE(r, d, r->plan.span, "the plan is named here");
        return;
    }
    r->plan = name;
}

/* Reports a name that stands twice in a list. */
static bool distinct(ChmIrReader *r, const ChmIrPairs *pairs, const char *kind)
{
    for (int32_t i = 0; i < pairs->len; i++)
        for (int32_t j = 0; j < i; j++)
            if (pairs->at[i].name.text == pairs->at[j].name.text) {
                ChmDiag *d = ERROR(r, pairs->at[i].name.span, "%s '%s' stands twice", kind, pairs->at[i].name.text);
                NOTE(r, d, pairs->at[j].name.span, "first here");
                return false;
            }
    return true;
}

static bool same_whole(const char *a, const char *b)
{
    size_t n = strcspn(a, ".");
    return n == strcspn(b, ".") && memcmp(a, b, n) == 0;
}

static void report_apart(ChmIrReader *r, ChmIrName part, ChmIrName before)
{
    ChmDiag *d = ERROR(r, part.span, "'%s' stands apart from '%s'", part.text, before.text);
    NOTE(r, d, before.span, "the part before it is here");
    HELP(r, d, "The parts of an axis stand side by side in the mesh, outer first.");
}

static void report_whole(ChmIrReader *r, ChmIrName axis, ChmIrName before)
{
    const char *whole = strchr(axis.text, '.') ? before.text : axis.text;
    ChmDiag *d = ERROR(r, axis.span, "axis '%s' is whole and in parts", whole);
    NOTE(r, d, before.span, "the other is here");
}

/* Axis i, by those before it: the part next to its other parts, or of an axis of its own. */
static bool stands_well(ChmIrReader *r, const ChmIrPairs *axes, int32_t i)
{
    ChmIrName axis = axes->at[i].name;
    int32_t j = i - 1;
    while (j >= 0 && !same_whole(axes->at[j].name.text, axis.text))
        j--;
    if (j < 0)
        return true;
    bool parts = strchr(axis.text, '.') && strchr(axes->at[j].name.text, '.');
    if (!parts)
        report_whole(r, axis, axes->at[j].name);
    else if (j < i - 1)
        report_apart(r, axis, axes->at[j].name);
    return parts && j == i - 1;
}

static bool parts_together(ChmIrReader *r, const ChmIrPairs *axes)
{
    int32_t i = 1;
    while (i < axes->len && stands_well(r, axes, i))
        i++;
    return i >= axes->len;
}

void chm_ir_mesh(ChmIrReader *r, ChmSpan at, ChmIrName name, const ChmIrPairs *axes)
{
    static const ChmIrPairs none;
    if (r->mesh_seen) {
        ERROR(r, at, "a second 'mesh' line; a module has one mesh");
        return;
    }
    r->mesh_seen = true;
    if (!axes)
        axes = &none;
    if (!r->plan.text && !r->syntax_errors)
        ERROR(r, at, "the 'plan' line comes before the 'mesh' line");
    if (axes->len > CHM_MAX_AXES) {
        ERROR(r, at, "mesh '%s' has %d axes, more than %d", name.text, axes->len, CHM_MAX_AXES);
        return;
    }
    if (!distinct(r, axes, "axis") || !parts_together(r, axes))
        return;
    const char *names[CHM_MAX_AXES];
    int32_t sizes[CHM_MAX_AXES];
    int64_t ranks = 1;
    for (int32_t i = 0; i < axes->len; i++) {
        const ChmIrPair *p = &axes->at[i];
        if (p->number < 1 || !chm_mul64(ranks, p->number, &ranks) || ranks > CHM_MAX_RANKS) {
            ERROR(r, p->span,
                  p->number < 1 ? "axis '%s' has no ranks" : "with axis '%s' the mesh has more than 1048576 ranks",
                  p->name.text);
            return;
        }
        names[i] = p->name.text;
        sizes[i] = (int32_t)p->number;
    }
    const ChmMesh *mesh = chm_mesh_make(r->ctx, name.text, axes->len, names, sizes);
    r->module = chm_module_new(r->ctx, r->plan.text ? r->plan.text : "", mesh);
}

/* Whether there is a mesh to speak about; a report when it is simply missing. */
static bool has_mesh(ChmIrReader *r, ChmSpan at)
{
    if (!r->mesh_seen && !r->syntax_errors) {
        ERROR(r, at, "the 'mesh' line comes before this one");
        r->mesh_seen = true; /* said once */
    }
    return r->module != NULL;
}

void chm_ir_by(ChmIrReader *r, ChmIrName word)
{
    if (strcmp(word.text, "x") != 0)
        ERROR(r, word.span, "unexpected '%s' between the sizes of a grid, expected 'x'", word.text);
}

void chm_ir_topology(ChmIrReader *r, ChmSpan at, const ChmTopologyText *text)
{
    if (!has_mesh(r, at))
        return;
    if (r->module->topology) {
        ChmDiag *d = ERROR(r, text->name.span, "a second topology; a module has one");
        NOTE(r, d, r->module->topology->span, "the first is here");
        return;
    }
    r->module->topology = chm_topology_build(r->ctx, text, r->module->mesh, false);
}

static const ChmTensor *find_tensor(const ChmIrReader *r, const char *name)
{
    for (int32_t i = 0; i < r->module->tensors.len; i++)
        if (r->module->tensors.at[i]->name == name)
            return r->module->tensors.at[i];
    return NULL;
}

static bool is_bad_tensor(const ChmIrReader *r, const char *name)
{
    for (int32_t i = 0; i < r->bad_tensors.len; i++)
        if (r->bad_tensors.at[i] == name)
            return true;
    return false;
}

static bool find_dtype(ChmIrReader *r, ChmIrName name, ChmDtype *out)
{
    const char *known[CHM_NDTYPES];
    for (int i = 0; i < CHM_NDTYPES; i++) {
        known[i] = chm_dtypes[i].name;
        if (strcmp(known[i], name.text) == 0) {
            *out = (ChmDtype)i;
            return true;
        }
    }
    chm_ir_unknown(r, name, "dtype", known, CHM_NDTYPES);
    return false;
}

static const ChmTensor *read_tensor(ChmIrReader *r, ChmSpan at, ChmIrName name, ChmIrName dtype_name,
                                    const ChmIrPairs *dims)
{
    ChmDtype dtype;
    if (!find_dtype(r, dtype_name, &dtype))
        return NULL;
    if (dims->len > CHM_MAX_DIMS) {
        ERROR(r, at, "tensor '%s' has %d dims, more than %d", name.text, dims->len, CHM_MAX_DIMS);
        return NULL;
    }
    if (!distinct(r, dims, "dim"))
        return NULL;
    const ChmTensor *before = find_tensor(r, name.text);
    if (before) {
        ChmDiag *d = ERROR(r, name.span, "tensor '%s' is declared twice", name.text);
        NOTE(r, d, before->span, "first here");
        return NULL;
    }
    const char *names[CHM_MAX_DIMS];
    int64_t sizes[CHM_MAX_DIMS];
    for (int32_t i = 0; i < dims->len; i++) {
        names[i] = dims->at[i].name.text;
        sizes[i] = dims->at[i].number;
        if (sizes[i] < 1) {
            ERROR(r, dims->at[i].span, "dim '%s' has no elements", names[i]);
            return NULL;
        }
    }
    const ChmShape *shape = chm_shape_make(r->ctx, dims->len, names, sizes);
    if (!shape) {
        ERROR(r, at, "the size of tensor '%s' in bytes does not fit 64 bits", name.text);
        return NULL;
    }
    return chm_module_add_tensor(r->module, name.text, dtype, shape, at);
}

void chm_ir_tensor(ChmIrReader *r, ChmSpan at, ChmIrName name, ChmIrName dtype, const ChmIrPairs *dims)
{
    if (has_mesh(r, at) && !read_tensor(r, at, name, dtype, dims))
        CHM_PUSH(&r->ctx->arena, &r->bad_tensors, name.text);
}

/* ---- attributes, driven by the syntax column of ops.def */

static const char *attr_word(char letter)
{
    switch (letter) {
    case 'A':
        return "(AXIS, ...)";
    case 'D':
    case 'E':
        return "DIM";
    case 'X':
        return "AXIS";
    case 'N':
        return "NUMBER";
    default:
        return "COORDINATE";
    }
}

static bool is_letter(const char *word, int len)
{
    return len == 1 && *word >= 'A' && *word <= 'Z';
}

/* "over (AXIS, ...) dim DIM", for messages. */
static const char *syntax_for_people(ChmIrReader *r, ChmOpcode code)
{
    ChmOut o;
    chm_out_init_arena(&o, &r->ctx->arena);
    for (const char *s = chm_ops[code].syntax; *s;) {
        int len = (int)strcspn(s, " ");
        if (is_letter(s, len))
            chm_out_printf(&o, " %s", attr_word(*s));
        else
            chm_out_printf(&o, " %.*s", len, s);
        s += len + (s[len] == ' ');
    }
    return chm_out_text(&o);
}

static void help_with_syntax(ChmIrReader *r, ChmDiag *d, ChmOpcode code)
{
    HELP(r, d, "Write '%%RESULT = %s %%OPERAND%s : LAYOUT'.", chm_ops[code].name, syntax_for_people(r, code));
}

typedef struct Matcher {
    ChmIrReader *r;
    ChmOpcode code;
    const ChmShape *shape;
    const ChmIrAttrs *given;
    int32_t next; /* of given */
    ChmSpan end;  /* a point behind all that is given */
    ChmAttrs attrs;
} Matcher;

static bool missing(Matcher *m, const char *word, int len)
{
    ChmDiag *d = ERROR(m->r, m->end, "'%s' lacks '%.*s'", chm_ops[m->code].name, len, word);
    help_with_syntax(m->r, d, m->code);
    return false;
}

static bool unexpected(Matcher *m, const char *word, int len)
{
    const ChmIrAttr *a = &m->given->at[m->next];
    ChmSpan s = a->span;
    ChmDiag *d = len ? ERROR(m->r, s, "unexpected '%.*s' in '%s', expected '%.*s'", (int)(s.end - s.begin),
                             s.source->text + s.begin, chm_ops[m->code].name, len, word)
                     : ERROR(m->r, s, "unexpected '%.*s' after '%s'", (int)(s.end - s.begin), s.source->text + s.begin,
                             chm_ops[m->code].name);
    help_with_syntax(m->r, d, m->code);
    return false;
}

static bool take_coord(Matcher *m, const ChmIrAttr *a, int32_t *out)
{
    int32_t size = m->r->module->mesh->axis_size[m->attrs.axis];
    if (a->number >= size) {
        ERROR(m->r, a->span, "coordinate %lld is outside axis '%s' of size %d", (long long)a->number,
              m->r->module->mesh->axis_name[m->attrs.axis], size);
        return false;
    }
    *out = (int32_t)a->number;
    return true;
}

static bool take_chunks(Matcher *m, const ChmIrAttr *a)
{
    if (a->number < 1 || a->number > INT32_MAX) {
        ERROR(m->r, a->span, "%lld chunks; there are 1 to %d", (long long)a->number, INT32_MAX);
        return false;
    }
    m->attrs.chunks = (int32_t)a->number;
    return true;
}

/* One letter of the syntax column. */
static bool take_attr(Matcher *m, char letter, const ChmIrAttr *a)
{
    ChmIrName name = {a->text, a->span};
    switch (letter) {
    case 'A':
        return chm_ir_find_axes(m->r, a->axes, &m->attrs.over);
    case 'D':
        return chm_ir_find_dim(m->r, m->shape, name, &m->attrs.dim);
    case 'E':
        return chm_ir_find_dim(m->r, m->shape, name, &m->attrs.to_dim);
    case 'X':
        return chm_ir_find_axis(m->r, name, &m->attrs.axis);
    case 'I':
        return take_coord(m, a, &m->attrs.from);
    case 'N':
        return take_chunks(m, a);
    default:
        return take_coord(m, a, &m->attrs.to);
    }
}

static ChmIrAttrKind kind_of_letter(char letter)
{
    return letter == 'A'                                     ? CHM_IR_A_AXES
           : letter == 'I' || letter == 'J' || letter == 'N' ? CHM_IR_A_NUMBER
                                                             : CHM_IR_A_WORD;
}

static bool match_attrs(Matcher *m)
{
    for (const char *s = chm_ops[m->code].syntax; *s;) {
        int len = (int)strcspn(s, " ");
        bool letter = is_letter(s, len);
        const char *shown = letter ? attr_word(*s) : s;
        int shown_len = letter ? (int)strlen(shown) : len;
        if (m->next == m->given->len)
            return missing(m, shown, shown_len);
        const ChmIrAttr *a = &m->given->at[m->next];
        if (letter ? a->kind != kind_of_letter(*s)
                   : a->kind != CHM_IR_A_WORD || strncmp(a->text, s, (size_t)len) != 0 || a->text[len] != '\0')
            return unexpected(m, shown, shown_len);
        if (letter && !take_attr(m, *s, a))
            return false;
        m->next++;
        s += len + (s[len] == ' ');
    }
    return m->next == m->given->len || unexpected(m, "", 0);
}

/* ---- ops */

static Entry *find_entry(const ChmIrReader *r, const char *name)
{
    return chm_map_get(&r->values, &name, sizeof name);
}

static void define(ChmIrReader *r, ChmIrName name, ChmValue *value)
{
    if (find_entry(r, name.text))
        return; /* reported */
    Entry *e = CHM_NEW(&r->ctx->arena, Entry);
    *e = (Entry){value, name.span};
    chm_map_put(&r->values, &name.text, sizeof name.text, e);
    CHM_PUSH(&r->ctx->arena, &r->value_names, name.text);
}

static ChmValue *find_value(ChmIrReader *r, ChmIrName name)
{
    Entry *e = find_entry(r, name.text);
    if (!e)
        chm_ir_unknown(r, name, "value", r->value_names.at, r->value_names.len);
    return e ? e->value : NULL;
}

/* A value's name without its '%'; NULL for a number. */
static const char *plain_name(ChmIrReader *r, ChmIrName name)
{
    return name.text[1] >= '0' && name.text[1] <= '9' ? NULL : chm_intern_str(&r->ctx->strings, name.text + 1);
}

static ChmOpcode find_op(ChmIrReader *r, ChmIrName name)
{
    ChmOpcode code = chm_op_find(name.text);
    if (code == CHM_NOPS) {
        const char *known[CHM_NOPS];
        for (int i = 0; i < CHM_NOPS; i++)
            known[i] = chm_ops[i].name;
        chm_ir_unknown(r, name, "op", known, CHM_NOPS);
    }
    return code;
}

static ChmSpan end_of(ChmSpan s)
{
    return (ChmSpan){s.source, s.end, s.end};
}

static ChmValue *read_source(ChmIrReader *r, ChmSpan at, ChmIrName result, ChmIrName op, ChmIrName operand,
                             const ChmIrAttrs *attrs, const ChmIrLayout *layout)
{
    if (operand.text || attrs->len == 0 || attrs->at[0].kind != CHM_IR_A_WORD) {
        ERROR(r, operand.text ? operand.span : end_of(op.span), "'%s' takes the name of a tensor", op.text);
        return NULL;
    }
    ChmIrName name = {attrs->at[0].text, attrs->at[0].span};
    if (attrs->len > 1) {
        ERROR(r, attrs->at[1].span, "'%s' takes the name of a tensor and nothing more", op.text);
        return NULL;
    }
    const ChmTensor *t = find_tensor(r, name.text);
    if (!t && is_bad_tensor(r, name.text))
        return NULL;
    if (!t) {
        int32_t n = r->module->tensors.len;
        const char **known = CHM_NEW_ARRAY(&r->ctx->arena, const char *, n);
        for (int32_t i = 0; i < n; i++)
            known[i] = r->module->tensors.at[i]->name;
        chm_ir_unknown(r, name, "tensor", known, n);
        return NULL;
    }
    if (!layout) {
        ERROR(r, end_of(at), "the layout of '%s' is missing", result.text);
        return NULL;
    }
    const ChmLayout *l = chm_ir_make_layout(r, t->shape, layout);
    if (!l)
        return NULL;
    return chm_build_input(r->module, NULL, at, t, chm_type_make(r->ctx, t->dtype, t->shape, l), plain_name(r, result));
}

/* One line of a body. */
static bool read_body_step(Matcher *m, const ChmIrStep *line, ChmStep *out)
{
    if (strcmp(line->op.text, "start") == 0) {
        ERROR(m->r, line->op.span, "nothing is started in a body: its chunks overlap by themselves");
        return false;
    }
    ChmOpcode code = find_op(m->r, line->op);
    if (code == CHM_NOPS)
        return false;
    if (chm_ops[code].class != CHM_CLASS_LAYOUT || chm_op_has(code, 'N')) {
        ERROR(m->r, line->op.span, "'%s' cannot stand in a body: each line there is one layout change", line->op.text);
        return false;
    }
    ChmSpan last = line->attrs->len ? line->attrs->at[line->attrs->len - 1].span : line->op.span;
    Matcher inner = {m->r, code, m->shape, line->attrs, 0, end_of(last), {.dim = 0}};
    if (!match_attrs(&inner))
        return false;
    *out = (ChmStep){code, inner.attrs, chm_ir_make_layout(m->r, m->shape, line->layout)};
    return out->to != NULL;
}

/* An op has a body if and only if it has chunks. */
static bool read_body(Matcher *m, ChmIrName op, const ChmIrBody *body)
{
    bool wants = chm_op_has(m->code, 'N');
    if (wants != (body != NULL)) {
        ChmDiag *d =
            ERROR(m->r, wants ? m->end : op.span, "'%s' %s", op.text, wants ? "lacks its body" : "has no body");
        if (wants)
            HELP(m->r, d, "Write '{', a line 'OP ... : LAYOUT' for each op, and '}'.");
        return false;
    }
    if (!body)
        return true;
    ChmStep *steps = CHM_NEW_ARRAY(&m->r->ctx->arena, ChmStep, body->len);
    for (int32_t i = 0; i < body->len; i++)
        if (!read_body_step(m, &body->at[i], &steps[i]))
            return false;
    m->attrs.body = steps;
    m->attrs.body_len = body->len;
    return true;
}

static ChmValue *read_step(ChmIrReader *r, ChmSpan at, ChmIrName result, ChmOpcode code, ChmIrName op,
                           ChmIrName operand, const ChmIrAttrs *attrs, const ChmIrBody *body, const ChmIrLayout *layout)
{
    if (!operand.text) {
        ChmDiag *d = ERROR(r, end_of(op.span), "'%s' lacks its operand", op.text);
        help_with_syntax(r, d, code);
        return NULL;
    }
    ChmValue *from = find_value(r, operand);
    if (!from)
        return NULL;
    const ChmShape *shape = from->type->shape;
    Matcher m = {r,         code, shape, attrs, 0, end_of(attrs->len ? attrs->at[attrs->len - 1].span : operand.span),
                 {.dim = 0}};
    if (!match_attrs(&m) || !read_body(&m, op, body))
        return NULL;
    if (!layout) {
        const ChmLayout *would = chm_infer_layout(r->ctx, code, &m.attrs, shape, from->type->layout, NULL, NULL);
        ChmDiag *d = ERROR(r, end_of(at), "the layout of '%s' is missing", result.text);
        if (would)
            HELP(r, d, "Write ' : %s' at the end.", chm_layout_str(r->ctx, shape, would));
        return NULL;
    }
    const ChmLayout *to = chm_ir_make_layout(r, shape, layout);
    if (!to)
        return NULL;
    ChmStep step = {code, m.attrs, to};
    return chm_build_step(r->module, NULL, at, from, &step, plain_name(r, result));
}

/* Whether an op of this kind can be under way while others go on. */
static bool check_start(ChmIrReader *r, ChmIrName start, ChmOpcode code, ChmIrName op)
{
    if (!start.text || (chm_ops[code].class == CHM_CLASS_LAYOUT && !chm_is_local(code)))
        return true;
    bool local = chm_is_local(code);
    ChmDiag *d = ERROR(r, start.span, "'%s' cannot be started: %s", op.text,
                       local ? "it communicates nothing, and is done at once" : "it is no layout change");
    HELP(r, d, "Write '%s' without 'start'.", op.text);
    return false;
}

void chm_ir_op(ChmIrReader *r, ChmSpan at, ChmIrName result, ChmIrName start, ChmIrName op, ChmIrName operand,
               const ChmIrAttrs *attrs, const ChmIrBody *body, const ChmIrLayout *layout)
{
    if (!has_mesh(r, at))
        return;
    const Entry *before = find_entry(r, result.text);
    if (before) {
        ChmDiag *d = ERROR(r, result.span, "value '%s' is defined twice", result.text);
        NOTE(r, d, before->span, "first here");
    }
    ChmValue *v = NULL;
    ChmOpcode code = find_op(r, op);
    if (code != CHM_NOPS && check_start(r, start, code, op))
        switch (chm_ops[code].class) {
        case CHM_CLASS_SOURCE:
            v = read_source(r, at, result, op, operand, attrs, layout);
            break;
        case CHM_CLASS_LAYOUT:
            v = read_step(r, at, result, code, op, operand, attrs, body, layout);
            break;
        case CHM_CLASS_SYNC: {
            ChmDiag *d = ERROR(r, op.span, "'%s' has no result", op.text);
            HELP(r, d, "Write '%s %%VALUE' on a line by itself.", op.text);
            break;
        }
        case CHM_CLASS_SINK: {
            ChmDiag *d = ERROR(r, op.span, "'%s' has no result", op.text);
            HELP(r, d, "Write '%s NAME = %%VALUE'.", op.text);
            break;
        }
        }
    if (v) {
        v->def->started = start.text != NULL;
        v->number = v->name ? 0 : (int32_t)strtol(result.text + 1, NULL, 10); /* for messages; printing counts afresh */
    }
    define(r, result, v);
}

/* For an op that stands where one of another class should: what to write. False when it is of the class. */
static bool of_other_class(ChmIrReader *r, ChmIrName op, ChmOpcode code, ChmOpClass class)
{
    if (chm_ops[code].class == class)
        return false;
    ChmDiag *d = NULL;
    switch (chm_ops[code].class) {
    case CHM_CLASS_SOURCE:
    case CHM_CLASS_LAYOUT:
        ERROR(r, op.span, "'%s' has a result: it stands after '%%NAME ='", op.text);
        break;
    case CHM_CLASS_SYNC:
        d = ERROR(r, op.span, "'%s' makes nothing that could have a name", op.text);
        HELP(r, d, "Write '%s %%VALUE'.", op.text);
        break;
    case CHM_CLASS_SINK:
        d = ERROR(r, op.span, "'%s' lacks its name", op.text);
        HELP(r, d, "Write '%s NAME = %%VALUE'.", op.text);
        break;
    }
    return true;
}

void chm_ir_sync(ChmIrReader *r, ChmSpan at, ChmIrName op, ChmIrName operand)
{
    if (!has_mesh(r, at))
        return;
    ChmOpcode code = find_op(r, op);
    if (code == CHM_NOPS || of_other_class(r, op, code, CHM_CLASS_SYNC))
        return;
    ChmValue *v = find_value(r, operand);
    if (v)
        chm_build_wait(r->module, NULL, at, v);
}

void chm_ir_sink(ChmIrReader *r, ChmSpan at, ChmIrName op, ChmIrName name, ChmIrName operand)
{
    if (!has_mesh(r, at))
        return;
    ChmOpcode code = find_op(r, op);
    if (code == CHM_NOPS || of_other_class(r, op, code, CHM_CLASS_SINK))
        return;
    ChmValue *v = find_value(r, operand);
    if (v)
        chm_build_output(r->module, NULL, at, v, name.text);
}

/* ---- the entry */

ChmModule *chm_module_parse(ChmCtx *ctx, const ChmSource *source)
{
    if (chm_source_check(&ctx->diags, source) != CHM_OK)
        return NULL;
    int32_t errors_before = ctx->diags.errors;
    ChmIrReader *r = CHM_NEW(&ctx->arena, ChmIrReader);
    r->ctx = ctx;
    r->source = source;
    chm_map_init(&r->values, &ctx->arena);
    chm_ir_read_lines(r);
    ChmSpan end = {source, source->len, source->len};
    if (ctx->diags.errors == errors_before && !r->module)
        ERROR(r, end, r->plan.text ? "there is no 'mesh' line" : "there is no plan here: expected a 'plan' line");
    /* What could be read is checked also when a line could not. */
    bool whole = ctx->diags.errors == errors_before;
    if (r->module && !r->number_lost && chm_module_verify_read(r->module, whole) == CHM_OK && whole)
        return r->module;
    chm_module_free(r->module);
    return NULL;
}
