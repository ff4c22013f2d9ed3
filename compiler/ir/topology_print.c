/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/topology_print.c - a topology block as text.
 */
#include "ir/topology_text.h"

static void put_quantity(ChmOut *out, const char *name, double value, ChmQuantityKind kind)
{
    if (value <= 0)
        return;
    chm_out_printf(out, " %s = ", name);
    chm_quantity_print(out, value, kind);
    chm_out_putc(out, ';');
}

static void put_level(ChmOut *out, const ChmLevel *level, const ChmMesh *mesh)
{
    chm_out_printf(out, "  level %s ", level->name);
    if (level->group_ranks) {
        chm_out_printf(out, "%d ", level->group_ranks);
    } else if (level->axes) {
        ChmAxisSeq axes = chm_seq_of_set(level->axes);
        chm_out_putc(out, '(');
        chm_seq_print(out, mesh, &axes, ", ");
        chm_out_puts(out, ") ");
    }
    chm_out_putc(out, '{');
    if (level->kind != CHM_LEVEL_SWITCH) {
        chm_out_printf(out, " %s", chm_level_kinds[level->kind]);
        for (int32_t k = 0; k < level->grid_dims && level->kind != CHM_LEVEL_RING; k++)
            chm_out_printf(out, "%s%d", k ? " x " : " ", level->grid[k]);
        chm_out_putc(out, ';');
    }
    put_quantity(out, "bandwidth", level->bandwidth_bytes_per_s, CHM_BANDWIDTH);
    put_quantity(out, "latency", level->latency_s, CHM_TIME);
    put_quantity(out, "message", level->message_s, CHM_TIME);
    chm_out_puts(out, level->shared ? " shared; }\n" : " }\n");
}

void chm_topology_print(const ChmTopology *t, const ChmMesh *mesh, ChmOut *out)
{
    chm_out_printf(out, "topology %s {\n", t->name);
    for (int32_t i = 0; i < t->nlevels; i++)
        put_level(out, &t->level[i], mesh);
    if (t->reduce_bytes_per_s > 0) {
        chm_out_puts(out, "  reduce = ");
        chm_quantity_print(out, t->reduce_bytes_per_s, CHM_BANDWIDTH);
        chm_out_puts(out, ";\n");
    }
    chm_out_puts(out, "}\n");
}
