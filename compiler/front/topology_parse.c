/* SPDX-License-Identifier: Apache-2.0
 *
 * front/topology_parse.c - actions of the grammar for topologies. What a syntax error has touched is dropped as a
 * whole: there is little sense in half a machine.
 */
#include "front/plan_parse.h"

#include <string.h>

/* A plan is for one machine. True when there is one already, with an error at the second. */
static bool has_topology(ChmParser *p, ChmSpan at)
{
    ChmSpan first = p->plan->topology_span;
    if (!first.source) {
        p->plan->topology_span = at;
        return false;
    }
    ChmDiag *d = chm_error(p->diags, at, "a plan has one topology, this is the second");
    chm_note(p->diags, d, first, "the first is here");
    chm_help(p->diags, d, "To compile for another machine, keep it in a file: `--topology FILE`.");
    return true;
}

void chm_ast_use(ChmParser *p, ChmName path, bool whole)
{
    if (!has_topology(p, path.span))
        p->plan->use = (ChmUse){path, !whole};
}

void chm_ast_bad_use(ChmParser *p, ChmSpan word)
{
    if (!p->plan->topology_span.source)
        p->plan->topology_span = word;
}

void chm_ast_topology(ChmParser *p, ChmSpan word, ChmName name)
{
    p->topology = CHM_NEW(p->arena, ChmTopologyText);
    p->topology->name = name;
    p->level = NULL;
    p->topology_begin = word;
    p->topology_damaged = name.text == NULL;
}

void chm_ast_topology_end(ChmParser *p, ChmSpan span)
{
    ChmTopologyText *t = p->topology;
    t->span = span;
    p->topology = NULL;
    if (!has_topology(p, t->name.text ? t->name.span : p->topology_begin) && !p->topology_damaged)
        p->plan->topology_text = t;
}

static ChmWrittenInt written(const ChmExpr *e)
{
    return (ChmWrittenInt){.span = e->span, .expr = e};
}

void chm_ast_level(ChmParser *p, ChmName word, ChmName name, const ChmExpr *ranks, const ChmNames *axes)
{
    ChmLevelText *level = CHM_NEW(p->arena, ChmLevelText);
    *level = (ChmLevelText){.word = word, .name = name, .sized = ranks != NULL, .by_axes = axes != NULL};
    if (ranks)
        level->ranks = written(ranks);
    if (axes)
        level->axes = *axes;
    p->level = level;
}

void chm_ast_level_end(ChmParser *p)
{
    CHM_PUSH(p->arena, &p->topology->levels, p->level);
    p->level = NULL;
}

void chm_ast_property(ChmParser *p, ChmName name, const ChmQuantityText *quantity, const ChmPropertyText *grid)
{
    ChmPropertyText property = {.name = name, .form = CHM_FORM_FLAG};
    if (quantity) {
        property.form = CHM_FORM_QUANTITY;
        property.quantity = *quantity;
    } else if (grid) {
        property.form = CHM_FORM_GRID;
        property.grid.at = grid->grid.at;
        property.grid.len = grid->grid.len;
    }
    ChmPropertyTexts *list = p->level ? &p->level->properties : &p->topology->properties;
    CHM_PUSH(p->arena, list, property);
}

ChmQuantityText *chm_ast_amount(ChmParser *p, const ChmExpr *whole, ChmName decimal)
{
    ChmQuantityText *q = CHM_NEW(p->arena, ChmQuantityText);
    q->digits = decimal.text;
    if (whole)
        q->whole = written(whole);
    return q;
}

ChmQuantityText *chm_ast_quantity(ChmParser *p, ChmQuantityText *amount, ChmSpan span, ChmName unit, ChmName per)
{
    amount->span = span;
    amount->unit = unit;
    if (per.text) {
        amount->unit.text = chm_arena_printf(p->arena, "%s/%s", unit.text, per.text);
        amount->unit.span = chm_span_join(unit.span, per.span);
    }
    return amount;
}

ChmPropertyText *chm_ast_grid(ChmParser *p, ChmPropertyText *grid, ChmName by, const ChmExpr *size)
{
    if (!grid)
        grid = CHM_NEW(p->arena, ChmPropertyText);
    if (by.text && strcmp(by.text, "x") != 0) {
        ChmDiag *d = chm_error(p->diags, by.span, "expected 'x' between the sizes of a grid, found '%s'", by.text);
        chm_help(p->diags, d, "A grid is written `torus 4 x 4;`, any other property `latency = 2 us;`.");
        p->topology_damaged = true;
    }
    CHM_PUSH(p->arena, &grid->grid, written(size));
    return grid;
}
