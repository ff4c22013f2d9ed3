/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_rule.c - the typing rules of the ops: what a step must be before any memory is looked at.
 */
#include "chrt_internal.h"

#include <string.h>

const char *chrt_op_name(ChrtOp op)
{
    switch (op) {
    case CHRT_ALL_REDUCE:
        return "all_reduce";
    case CHRT_REDUCE_SCATTER:
        return "reduce_scatter";
    case CHRT_ALL_GATHER:
        return "all_gather";
    case CHRT_ALL_TO_ALL:
        return "all_to_all";
    case CHRT_SLICE:
        return "slice";
    case CHRT_SHIFT:
        return "shift";
    case CHRT_BROADCAST:
        return "broadcast";
    case CHRT_REDUCE:
        return "reduce";
    case CHRT_DROP:
        return "drop";
    case CHRT_EXCHANGE:
        return "exchange";
    case CHRT_REDUCE_EXCHANGE:
        return "reduce_exchange";
    case CHRT_COPY:
        return "copy";
    }
    return "unknown op";
}

/* Any layout of the same tensor, as long as no axis becomes partial; with settles, some stops being so. */
static bool exchange_applies(const ChrtCtx *ctx, const ChrtStep *step, ChrtLayout *from, const ChrtLayout *to,
                             bool settles)
{
    bool applies =
        from->dtype == to->dtype && from->ndims == to->ndims && !memcmp(from->size, to->size, sizeof to->size);
    bool settled = false;
    for (int32_t a = 1; a <= ctx->mesh->naxes; a++) {
        if (to->state[a] == CHRT_PARTIAL && from->state[a] != CHRT_PARTIAL)
            applies = false;
        if (from->state[a] == CHRT_PARTIAL && to->state[a] != CHRT_PARTIAL)
            settled = true;
    }
    *from = *to;
    return applies && (settles ? settled || step->from->partial[0] : !settled); /* partial[0]: axes of size 1 */
}

/* Turns `from` into what the op makes of it. group: the axes whose members meet; empty where nobody does. */
static bool apply(const ChrtCtx *ctx, const ChrtStep *step, ChrtLayout *from, const ChrtLayout *to, uint8_t *group)
{
    const ChrtMesh *mesh = ctx->mesh;
    ChrtAxes over;
    bool over_ok = chrt_axes_moving(mesh, step->over, over);
    bool axis_ok = step->axis >= 1 && step->axis <= mesh->naxes;
    memset(group, 0, sizeof(ChrtAxes));
    switch (step->op) {
    case CHRT_ALL_REDUCE:
        memcpy(group, over, sizeof over);
        return over_ok && chrt_layout_settle(from, over);
    case CHRT_REDUCE_SCATTER:
        memcpy(group, over, sizeof over);
        return over_ok && chrt_layout_settle(from, over) && chrt_layout_append(from, over, step->dim);
    case CHRT_ALL_GATHER:
        memcpy(group, over, sizeof over);
        return over_ok && chrt_layout_remove(from, over, step->dim);
    case CHRT_ALL_TO_ALL:
        memcpy(group, over, sizeof over);
        return over_ok && step->dim != step->to_dim && chrt_layout_remove(from, over, step->dim) &&
               chrt_layout_append(from, over, step->to_dim);
    case CHRT_SLICE:
        return over_ok && chrt_layout_append(from, over, step->dim);
    case CHRT_SHIFT:
        return axis_ok && chrt_layout_unpin(from, mesh, step->axis, step->source) &&
               chrt_layout_pin(from, mesh, step->axis, step->target) &&
               (step->source == step->target || chrt_axes_moving(mesh, CHRT_AXES((uint8_t)step->axis), group));
    case CHRT_BROADCAST:
        return axis_ok && chrt_layout_unpin(from, mesh, step->axis, step->source) &&
               chrt_axes_moving(mesh, CHRT_AXES((uint8_t)step->axis), group);
    case CHRT_REDUCE:
        return axis_ok && chrt_axes_moving(mesh, CHRT_AXES((uint8_t)step->axis), group) &&
               chrt_layout_settle(from, group) && chrt_layout_pin(from, mesh, step->axis, step->target);
    case CHRT_DROP:
        return chrt_layout_pin(from, mesh, step->axis, step->target);
    case CHRT_EXCHANGE:
    case CHRT_REDUCE_EXCHANGE:
        return exchange_applies(ctx, step, from, to, step->op == CHRT_REDUCE_EXCHANGE);
    case CHRT_COPY:
        return true;
    }
    return false;
}

static ChrtStatus fail(ChrtCtx *ctx, const ChrtStep *step, ChrtStatus status, const char *text)
{
    return chrt_fail(ctx, status, "%s %.64s: %s", chrt_op_name(step->op), step->name, text);
}

ChrtStatus chrt_rule_check(ChrtCtx *ctx, const ChrtStep *step, ChrtRule *rule)
{
    *rule = (ChrtRule){.step = step};
    if (!chrt_layout_of(ctx->mesh, step->from, &rule->from) || !chrt_layout_of(ctx->mesh, step->to, &rule->to))
        return fail(ctx, step, CHRT_ERR_TYPE, "malformed type");
    ChrtLayout made = rule->from;
    ChrtAxes group;
    if (!apply(ctx, step, &made, &rule->to, group) || !chrt_layout_equal(&made, &rule->to))
        return fail(ctx, step, CHRT_ERR_TYPE, "the op does not lead from the operand's layout to the result's");
    if (group[0] && !(rule->group = chrt_group_find(ctx, group)))
        return fail(ctx, step, CHRT_ERR_GROUP, "its group was not given to chrt_create");
    return CHRT_OK;
}
