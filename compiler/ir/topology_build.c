/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/topology_build.c - from a topology block as written to the topology on a mesh. What a property is called and takes
 * is one row of a table.
 */
#include "ir/topology_text.h"

#include <string.h>

typedef enum PropertyCode { BANDWIDTH, LATENCY, MESSAGE, SHARED, SWITCH, RING, MESH, TORUS, REDUCE, NPROPERTIES } Code;

typedef struct Property {
    const char *name;
    ChmPropertyForm form;
    ChmQuantityKind unit;
    const char *example;
    const char *without; /* what to write where it is not positive */
} Property;

static const Property properties[NPROPERTIES] = {
    [BANDWIDTH] = {"bandwidth", CHM_FORM_QUANTITY, CHM_BANDWIDTH, "bandwidth = 300 GB/s", "A bandwidth is positive."},
    [LATENCY] = {"latency", CHM_FORM_QUANTITY, CHM_TIME, "latency = 2 us", "Leave 'latency' out where there is none."},
    [MESSAGE] = {"message", CHM_FORM_QUANTITY, CHM_TIME, "message = 200 ns",
                 "Leave 'message' out where a message costs nothing by itself."},
    [SHARED] = {"shared", CHM_FORM_FLAG, CHM_TIME, "shared", NULL},
    [SWITCH] = {"switch", CHM_FORM_FLAG, CHM_TIME, "switch", NULL},
    [RING] = {"ring", CHM_FORM_FLAG, CHM_TIME, "ring", NULL},
    [MESH] = {"mesh", CHM_FORM_GRID, CHM_TIME, "mesh 4 x 4", NULL},
    [TORUS] = {"torus", CHM_FORM_GRID, CHM_TIME, "torus 4 x 4", NULL},
    [REDUCE] = {"reduce", CHM_FORM_QUANTITY, CHM_BANDWIDTH, "reduce = 200 GB/s",
                "Leave 'reduce' out where summing costs nothing."},
};

typedef struct Build {
    ChmCtx *ctx;
    const ChmTopologyText *text;
    const ChmMesh *mesh;
    bool foreign, good;
    ChmTopology *t;
    ChmSpan axis_span[CHM_MAX_AXES]; /* where an axis was first named */
    ChmAxes named;
} Build;

/* These report: what is being built is no good. */
#define ERROR(b, at, ...) ((b)->good = false, chm_error(&(b)->ctx->diags, (at), __VA_ARGS__))
#define HELP(b, diag, ...) chm_help(&(b)->ctx->diags, (diag), __VA_ARGS__)
#define NOTE(b, diag, at, ...) chm_note(&(b)->ctx->diags, (diag), (at), __VA_ARGS__)

/* ---- properties */

static Code code_of(const char *name)
{
    int code = 0;
    while (code < NPROPERTIES && strcmp(properties[code].name, name) != 0)
        code++;
    return (Code)code;
}

static void report_unknown(Build *b, const ChmPropertyText *p, bool of_level)
{
    const char *known[NPROPERTIES];
    int32_t n = 0;
    Code code = code_of(p->name.text);
    for (int i = 0; i < NPROPERTIES; i++) {
        if ((i != REDUCE) == of_level)
            known[n++] = properties[i].name;
    }
    const char *near = chm_did_you_mean(p->name.text, known, n);
    ChmDiag *d = ERROR(b, p->name.span, "a %s has no property '%s'", of_level ? "level" : "topology", p->name.text);
    if (code != NPROPERTIES)
        HELP(b, d,
             of_level ? "It belongs to the topology as a whole: move it out of the level."
                      : "It belongs to a level: move it into the braces of one.");
    else if (near)
        HELP(b, d, "Did you mean '%s'?", near);
    else if (of_level)
        HELP(b, d, "A level has bandwidth, latency, message, shared, and one of switch, ring, mesh and torus.");
    else
        HELP(b, d, "A topology has levels and, if it is to count, 'reduce': the speed of summing.");
}

/* The first property of a list that means the same; p itself when there is none before it. */
static const ChmPropertyText *first_of(const ChmPropertyTexts *list, const ChmPropertyText *p)
{
    Code code = code_of(p->name.text);
    for (const ChmPropertyText *q = list->at; q < p; q++) {
        Code other = code_of(q->name.text);
        bool both_kinds = other >= SWITCH && other <= TORUS && code >= SWITCH && code <= TORUS;
        if (other == code || both_kinds)
            return q;
    }
    return p;
}

/* The code of a property that belongs here, stands once, and has the right form; NPROPERTIES after a report. */
static Code check_property(Build *b, const ChmPropertyTexts *list, const ChmPropertyText *p, bool of_level)
{
    Code code = code_of(p->name.text);
    if (code == NPROPERTIES || (code != REDUCE) != of_level) {
        report_unknown(b, p, of_level);
        return NPROPERTIES;
    }
    const ChmPropertyText *first = first_of(list, p);
    if (first != p) {
        ChmDiag *d = first->name.text == p->name.text
                         ? ERROR(b, p->name.span, "'%s' stands twice", p->name.text)
                         : ERROR(b, p->name.span, "a level is a %s or a %s, not both", first->name.text, p->name.text);
        NOTE(b, d, first->name.span, "the first is here");
        return NPROPERTIES;
    }
    bool counted_ring = code == RING && p->form == CHM_FORM_GRID;
    if (p->form != properties[code].form && !counted_ring) {
        ChmDiag *d = ERROR(b, p->name.span, "'%s' %s", p->name.text,
                           properties[code].form == CHM_FORM_FLAG   ? "stands alone"
                           : properties[code].form == CHM_FORM_GRID ? "takes the sizes of its grid"
                                                                    : "takes a number with a unit");
        HELP(b, d, "Write `%s;`.", properties[code].example);
        return NPROPERTIES;
    }
    return code;
}

static double quantity(Build *b, Code code, const ChmPropertyText *p)
{
    double value = 0;
    if (!chm_quantity_read(b->ctx, p->name.text, &p->quantity, properties[code].unit, properties[code].without, &value))
        b->good = false;
    return value;
}

static void build_grid(Build *b, ChmLevel *level, const ChmPropertyText *p, ChmLevelKind kind)
{
    int32_t most = kind == CHM_LEVEL_RING ? 1 : CHM_MAX_GRID_DIMS;
    level->kind = kind;
    if (p->grid.len > most) {
        ERROR(b, p->grid.at[most].span, "a %s has %d dimension%s at most", p->name.text, most, most == 1 ? "" : "s");
        return;
    }
    level->grid_dims = p->grid.len;
    for (int32_t i = 0; i < p->grid.len; i++) {
        int64_t n = p->grid.at[i].value;
        if (n < 1 || n > INT32_MAX)
            ERROR(b, p->grid.at[i].span, "a %s of size %lld: sizes are 1 or more, and no more than the ranks",
                  p->name.text, (long long)n);
        level->grid[i] = n < 1 || n > INT32_MAX ? 1 : (int32_t)n;
    }
}

/* ---- levels */

static void build_property(Build *b, ChmLevel *level, Code code, const ChmPropertyText *p)
{
    switch (code) {
    case BANDWIDTH:
        level->bandwidth_bytes_per_s = quantity(b, code, p);
        break;
    case LATENCY:
        level->latency_s = quantity(b, code, p);
        break;
    case MESSAGE:
        level->message_s = quantity(b, code, p);
        break;
    case SHARED:
        level->shared = true;
        break;
    case SWITCH:
        break;
    case RING:
        build_grid(b, level, p, CHM_LEVEL_RING);
        break;
    case MESH:
        build_grid(b, level, p, CHM_LEVEL_MESH);
        break;
    case TORUS:
        build_grid(b, level, p, CHM_LEVEL_TORUS);
        break;
    case REDUCE:
    case NPROPERTIES:
        break;
    }
}

static void build_properties(Build *b, const ChmLevelText *text, ChmLevel *level)
{
    const ChmPropertyTexts *list = &text->properties;
    bool has_bandwidth = false;
    for (int32_t i = 0; i < list->len; i++) {
        Code code = check_property(b, list, &list->at[i], true);
        build_property(b, level, code, &list->at[i]);
        has_bandwidth |= strcmp(list->at[i].name.text, properties[BANDWIDTH].name) == 0;
    }
    if (!has_bandwidth) {
        ChmDiag *d = ERROR(b, level->span, "level '%s' has no bandwidth", level->name);
        HELP(b, d, "Say what one wire carries each way: `%s;`.", properties[BANDWIDTH].example);
    }
}

static bool claim_axis(Build *b, ChmLevel *level, ChmWord word, int32_t axis)
{
    if (b->named & CHM_AXIS(axis)) {
        bool here = level->axes & CHM_AXIS(axis);
        ChmDiag *d =
            ERROR(b, word.span, here ? "axis '%s' stands twice in the list" : "axis '%s' is in two levels", word.text);
        NOTE(b, d, b->axis_span[axis], "the first use is here");
        if (!here)
            HELP(b, d, "A level by axes spans those of the levels below as well: name only what it adds.");
        return false;
    }
    b->named |= CHM_AXIS(axis);
    b->axis_span[axis] = word.span;
    level->axes |= CHM_AXIS(axis);
    return true;
}

static void build_axis(Build *b, const ChmLevelText *text, ChmLevel *level, ChmWord word)
{
    int32_t count, first = chm_mesh_find(b->mesh, word.text, &count);
    if (first < 0 && b->foreign)
        return;
    if (first < 0) {
        const char *near = chm_did_you_mean(word.text, b->mesh->axis_name, b->mesh->naxes);
        ChmDiag *d = ERROR(b, word.span, "mesh '%s' has no axis '%s'", b->mesh->name, word.text);
        if (near)
            HELP(b, d, "Did you mean '%s'?", near);
        else if (strcmp(word.text, text->name.text) != 0)
            HELP(b, d, "A size in ranks stands without parentheses: `level %s %s { ... }`.", text->name.text,
                 word.text);
        return;
    }
    for (int32_t axis = first; axis < first + count; axis++) {
        if (!claim_axis(b, level, word, axis))
            return;
    }
}

static void build_ranks(Build *b, const ChmLevelText *text, ChmLevel *level)
{
    int64_t n = text->ranks.value;
    if (n >= 1 && n <= INT32_MAX) {
        level->group_ranks = (int32_t)n;
        return;
    }
    ChmDiag *d = ERROR(b, text->ranks.span, "level '%s' holds %lld ranks", level->name, (long long)n);
    HELP(b, d, "A level holds 1 or more ranks, and no more than there are.");
    level->group_ranks = 1;
}

static bool check_head(Build *b, int32_t i)
{
    const ChmLevelText *text = b->text->levels.at[i];
    const char *level = "level";
    if (strcmp(text->word.text, level) != 0) {
        const char *near = chm_did_you_mean(text->word.text, &level, 1);
        ChmDiag *d = ERROR(b, text->word.span, "unknown word '%s' in a topology", text->word.text);
        if (near)
            HELP(b, d, "Did you mean '%s'?", near);
        else
            HELP(b, d, "A topology is made of levels: `level %s { bandwidth = 300 GB/s; }`.", text->name.text);
        return false;
    }
    for (int32_t j = 0; j < i; j++) {
        if (b->text->levels.at[j]->name.text == text->name.text) {
            ChmDiag *d = ERROR(b, text->name.span, "level '%s' is declared twice", text->name.text);
            NOTE(b, d, b->text->levels.at[j]->name.span, "it is first declared here");
            return false;
        }
    }
    if (i == CHM_MAX_LEVELS)
        ERROR(b, text->name.span, "a topology has %d levels at most", CHM_MAX_LEVELS);
    return i < CHM_MAX_LEVELS;
}

/* 'shared' where it changes nothing goes, so that equal machines have equal descriptions. */
static void check_shared(Build *b, ChmLevel *level, bool first)
{
    if (!level->shared || (level->kind == CHM_LEVEL_SWITCH && !first))
        return;
    level->shared = false;
    ChmDiag *d = chm_warning(&b->ctx->diags, level->span, "'shared' means nothing at level '%s'", level->name);
    if (level->kind != CHM_LEVEL_SWITCH)
        HELP(b, d, "The wires of a %s join groups, whose ranks share them in any case.", chm_level_kinds[level->kind]);
    else
        HELP(b, d, "The ranks of a group of the level below share a wire; below '%s' there are single ranks.",
             level->name);
}

static ChmLevel build_level(Build *b, const ChmLevelText *text)
{
    ChmLevel level = {.name = text->name.text, .span = text->name.span};
    if (text->sized) {
        level.span = chm_span_join(level.span, text->ranks.span);
        build_ranks(b, text, &level);
    }
    for (int32_t i = 0; i < text->axes.len; i++) {
        level.span = chm_span_join(level.span, text->axes.at[i].span);
        build_axis(b, text, &level, text->axes.at[i]);
    }
    build_properties(b, text, &level);
    check_shared(b, &level, text == b->text->levels.at[0]);
    return level;
}

/* A level by axes none of which the mesh has: no two ranks meet there, unless it is asked to be a grid of several. */
static bool adds_nothing(Build *b, const ChmLevelText *text, const ChmLevel *level, bool last)
{
    if (!text->by_axes || level->axes || last)
        return false;
    for (int32_t k = 0; k < level->grid_dims; k++) {
        if (level->grid[k] > 1) {
            ERROR(b, level->span, "level '%s' is a grid, but mesh '%s' has none of its axes", level->name,
                  b->mesh->name);
            return true;
        }
    }
    return true;
}

static void build_levels(Build *b)
{
    int32_t n = b->text->levels.len;
    for (int32_t i = 0; i < n; i++) {
        if (!check_head(b, i))
            continue;
        ChmLevel level = build_level(b, b->text->levels.at[i]);
        if (!b->good || adds_nothing(b, b->text->levels.at[i], &level, i == n - 1))
            continue;
        level.shared = level.shared && b->t->nlevels > 0;
        b->t->level[b->t->nlevels++] = level;
    }
    if (b->good && n > 0 && b->text->levels.at[n - 1]->by_axes) {
        ChmLevel *last = &b->t->level[b->t->nlevels - 1];
        ChmDiag *d = ERROR(b, last->span, "the last level, '%s', has a size", last->name);
        HELP(b, d, "The last level joins all ranks: write `level %s { ... }`, or add a level for the rest.",
             last->name);
    }
}

/* 'ring;' has as many points as the level has units. Sizes that do not fit are reported by the check. */
static void count_rings(Build *b)
{
    for (int32_t i = 0; i < b->t->nlevels; i++) {
        ChmLevel *level = &b->t->level[i];
        if (level->kind != CHM_LEVEL_RING || level->grid_dims)
            continue;
        level->grid_dims = 1;
        level->grid[0] = chm_topology_units(b->t, b->mesh, i);
    }
}

const ChmTopology *chm_topology_build(ChmCtx *ctx, const ChmTopologyText *text, const ChmMesh *mesh, bool foreign)
{
    Build b = {.ctx = ctx, .text = text, .mesh = mesh, .foreign = foreign, .good = true};
    b.t = CHM_NEW(&ctx->arena, ChmTopology);
    b.t->name = text->name.text;
    b.t->span = text->name.span;
    for (int32_t i = 0; i < text->properties.len; i++) {
        if (check_property(&b, &text->properties, &text->properties.at[i], false) == REDUCE)
            b.t->reduce_bytes_per_s = quantity(&b, REDUCE, &text->properties.at[i]);
    }
    build_levels(&b);
    if (!b.good)
        return NULL;
    count_rings(&b);
    return chm_topology_check(ctx, b.t, mesh) == CHM_OK ? b.t : NULL;
}
