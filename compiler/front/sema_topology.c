/* SPDX-License-Identifier: Apache-2.0
 *
 * front/sema_topology.c - the machine of a plan: its own topology block, that of a file it uses, or that of a file that
 * the caller gives. A topology file holds params of its own and one topology; it knows nothing of the plan.
 */
#include "front/sema.h"

#include <string.h>

/* ---- files */

static const char *beside(ChmArena *arena, const ChmSource *source, const char *path)
{
    const char *slash = strrchr(source->name, '/');
    if (path[0] == '/')
        return path;
    if (!slash)
        return chm_arena_printf(arena, "%s%s", path[0] == '-' ? "./" : "", path);
    return chm_arena_printf(arena, "%.*s%s", (int)(slash + 1 - source->name), source->name, path);
}

static void check_file_parts(ChmSema *s, const ChmPlan *file, ChmSpan used_at)
{
    ChmSpan start = {file->source, 0, 0};
    ChmSpan part = file->span.source        ? file->span
                   : file->mesh             ? file->mesh->span
                   : file->tensors.len      ? file->tensors.at[0]->span
                   : file->step_span.source ? file->step_span
                                            : file->use.path.span;
    if (part.source) {
        ChmDiag *d = chm_error(s->diags, part, "a topology file holds params and one topology, and no part of a plan");
        if (used_at.source)
            chm_note(s->diags, d, used_at, "the file is used here");
    } else if (!file->topology_span.source && !file->damaged) {
        ChmDiag *d =
            chm_error(s->diags, used_at.source ? used_at : start, "there is no topology in '%s'", file->source->name);
        chm_help(s->diags, d, "Write one: `topology one { level switch { bandwidth = 50 GB/s; } }`.");
    }
}

static ChmPlan *read_file(ChmSema *s, const ChmSource *source, ChmSpan used_at)
{
    ChmPlan *file = chm_plan_read(s->ctx, source, s->options.errors_before);
    if (!file)
        return NULL;
    check_file_parts(s, file, used_at);
    return file;
}

void chm_read_topology_files(ChmSema *s)
{
    const ChmUse *use = &s->plan->use;
    const ChmSource *source;
    if (s->options.topology)
        s->given = read_file(s, s->options.topology, (ChmSpan){0});
    if (!use->path.text || use->bad)
        return;
    const char *path = beside(s->arena, s->plan->source, use->path.text);
    if (chm_source_read_at(s->diags, use->path.span, path, &source) == CHM_OK)
        s->used = read_file(s, source, use->path.span);
}

/* ---- numbers */

static bool eval_written(ChmSema *s, ChmWrittenInt *n)
{
    return !n->expr || chm_eval(s, n->expr, &n->value);
}

static bool eval_properties(ChmSema *s, ChmPropertyTexts *list)
{
    bool good = true;
    for (int32_t i = 0; i < list->len; i++) {
        good &= eval_written(s, &list->at[i].quantity.whole);
        for (int32_t k = 0; k < list->at[i].grid.len; k++)
            good &= eval_written(s, &list->at[i].grid.at[k]);
    }
    return good;
}

static bool eval_topology(ChmSema *s, ChmTopologyText *t)
{
    bool good = eval_properties(s, &t->properties);
    for (int32_t i = 0; i < t->levels.len; i++) {
        good &= eval_written(s, &t->levels.at[i]->ranks);
        good &= eval_properties(s, &t->levels.at[i]->properties);
    }
    return good;
}

/* ---- the whole */

/* The topology of a file, read with the params of the file alone. mesh NULL: only looked through. */
static const ChmTopology *topology_of_file(ChmSema *s, ChmPlan *file, const ChmMesh *mesh)
{
    ChmSema own;
    ChmSemaOptions options = s->options;
    options.damaged = file->damaged;
    chm_sema_init(&own, s->ctx, file, &options);
    chm_check_params(&own);
    if (!file->topology_text || !eval_topology(&own, file->topology_text) || !mesh)
        return NULL;
    return chm_topology_build(s->ctx, file->topology_text, mesh, true);
}

void chm_check_topology(ChmSema *s)
{
    ChmPlan *plan = s->plan;
    const ChmMesh *mesh = plan->mesh ? plan->mesh->mesh : NULL;
    bool evaluated =
        plan->topology_text && eval_topology(s, plan->topology_text); /* marks params as used, in any case */
    if (s->given) {
        plan->topology = topology_of_file(s, s->given, mesh);
        const ChmTopologyText *own = s->used ? s->used->topology_text : plan->topology_text;
        plan->set_aside = own ? own->name.text : NULL;
    } else if (s->used) {
        plan->topology = topology_of_file(s, s->used, mesh);
    } else if (evaluated && mesh) {
        plan->topology = chm_topology_build(s->ctx, plan->topology_text, mesh, false);
    }
}

const ChmTopology *chm_topology_parse(ChmCtx *ctx, const ChmSource *source, const ChmDefine *defines, int32_t ndefines,
                                      const ChmMesh *mesh)
{
    int32_t errors_before = ctx->diags.errors;
    ChmPlan *file = chm_plan_read(ctx, source, errors_before);
    if (!file)
        return NULL;
    ChmSemaOptions options = {defines, ndefines, file->damaged, errors_before, NULL};
    ChmSema s;
    chm_sema_init(&s, ctx, file, &options);
    check_file_parts(&s, file, (ChmSpan){0});
    chm_check_params(&s);
    chm_check_defines(&s, "topology");
    const ChmTopology *t = NULL;
    if (file->topology_text && eval_topology(&s, file->topology_text))
        t = chm_topology_build(ctx, file->topology_text, mesh, true);
    return ctx->diags.errors == errors_before ? t : NULL;
}

const ChmMesh *chm_plan_mesh(const ChmPlan *plan)
{
    return plan->mesh->mesh;
}

const ChmTopology *chm_plan_topology(const ChmPlan *plan)
{
    return plan->topology;
}

const char *chm_plan_topology_set_aside(const ChmPlan *plan)
{
    return plan->set_aside;
}
