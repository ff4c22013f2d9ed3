/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/c_main.c - --driver: the plan as written beside the schedule, and a main that checks and times them.
 */
#include "emit/c.h"

static int32_t input_of(const ChmC *w, const ChmOp *output)
{
    const ChmValue *v = output->operand;
    while (v->def->operand)
        v = v->def->operand;
    int32_t i = 0;
    while (i < w->inputs.len && w->inputs.at[i] != v->def)
        i++;
    return i;
}

/* Through void pointers, for the driver. The names here begin with "do_": no plan's do, 'do' being a word of C. */
static void write_functions(ChmC *w)
{
    ChmOut body;
    chm_out_init_arena(&body, w->arena);
    chm_out_puts(&body, "return enter(plan");
    for (int32_t i = 0; i < w->inputs.len; i++)
        chm_out_printf(&body, ", in[%d]", (int)i);
    for (int32_t i = 0; i < w->outputs.len; i++)
        chm_out_printf(&body, ", out[%d]", (int)i);
    chm_out_puts(&body, ");");
    chm_out_putc(w->out, '\n');
    chm_c_write_function(w, "static int do_enter(void *plan, const void *const *in, void *const *out)",
                         chm_out_text(&body));
    chm_out_printf(w->out, "CHRT_DRIVER_FUNCTIONS(%s)\n", w->name);
}

static void put_schedule(ChmC *w, const ChmCSchedule *s, const char *which)
{
    chm_out_printf(w->out, "    .%s = {do_create, do_enter, do_%s, do_destroy, do_message, %s, %s},\n", which, which,
                   chm_c_int(w, s->price.worst_sent_bytes), chm_c_int(w, s->price.worst_received_bytes));
}

static void write_descriptor(ChmC *w)
{
    ChmOut *out = w->out;
    chm_out_puts(out, "\nstatic const ChrtDriver driver = {\n");
    chm_out_printf(out, "    .plan = \"%s\", .mesh = &mesh,\n    .ninputs = %d, .inputs = (const ChrtDriverInput[]){",
                   w->job->baseline->name, (int)w->inputs.len);
    for (int32_t i = 0; i < w->inputs.len; i++) {
        const ChmOp *op = w->inputs.at[i];
        chm_out_printf(out, "%s{\"%s\", &%s, %d}", i ? ", " : "", op->tensor->name, chm_c_type(w, op->result->type),
                       (int)op->tensor->index);
    }
    chm_out_printf(out, "},\n    .noutputs = %d, .outputs = (const ChrtDriverOutput[]){", (int)w->outputs.len);
    for (int32_t i = 0; i < w->outputs.len; i++) {
        const ChmOp *op = w->outputs.at[i];
        chm_out_printf(out, "%s{\"%s\", &%s, %d}", i ? ", " : "", op->name, chm_c_type(w, op->operand->type),
                       (int)input_of(w, op));
    }
    chm_out_puts(out, "},\n");
    put_schedule(w, &w->baseline, "baseline");
    put_schedule(w, &w->optimized, "optimized");
    if (w->baseline.hash == w->optimized.hash)
        chm_out_puts(out, "    .same = true,\n");
    chm_out_puts(out, "};\n");
}

void chm_c_write_main(ChmC *w)
{
    ChmOut *out = w->out;
    chm_out_puts(out, "\n/* ---- main: the plan as written against the schedule above, checked and timed */\n");
    chm_c_write_rerun(w, &w->baseline, "static int base_rerun");
    write_functions(w);
    write_descriptor(w);
    chm_out_putc(out, '\n');
    chm_c_write_function(w, "int main(int argc, char **argv)", "return chrt_driver_main(argc, argv, &driver);");
}
