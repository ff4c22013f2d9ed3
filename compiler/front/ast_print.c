/* SPDX-License-Identifier: Apache-2.0
 *
 * front/ast_print.c - the plan in its own notation: params resolved, one statement a line, layouts as written.
 */
#include "front/ast.h"

void chm_names_print(ChmOut *out, const ChmNames *names, const char *separator)
{
    for (int32_t i = 0; i < names->len; i++)
        chm_out_printf(out, "%s%s", i ? separator : "", names->at[i].text);
}

static void print_partial(ChmOut *out, const ChmPartialUse *partial)
{
    if (!partial->span.source)
        return;
    chm_out_puts(out, " partial(");
    chm_names_print(out, &partial->axes, ", ");
    chm_out_putc(out, ')');
}

void chm_layout_text_print(ChmOut *out, const ChmLayoutText *text)
{
    chm_out_putc(out, '[');
    for (int32_t i = 0; i < text->dims.len; i++) {
        const ChmDimUse *use = &text->dims.at[i];
        chm_out_printf(out, "%s%s%s", i ? ", " : "", use->dim.text, use->axes.len ? "/" : "");
        chm_names_print(out, &use->axes, "/");
    }
    chm_out_putc(out, ']');
    print_partial(out, &text->partial);
    for (int32_t i = 0; i < text->pins.len; i++) {
        const ChmPinUse *pin = &text->pins.at[i];
        chm_out_printf(out, "%s%s=%lld", i ? ", " : " at(", pin->axis.text, (long long)pin->coord);
    }
    chm_out_puts(out, text->pins.len ? ")" : "");
}

static void print_sizes(ChmOut *out, const ChmSizeds *list)
{
    for (int32_t i = 0; i < list->len; i++)
        chm_out_printf(out, "%s%s = %lld", i ? ", " : "", list->at[i].name.text, (long long)list->at[i].size);
}

static void print_stmt(ChmOut *out, const ChmStmt *s)
{
    switch (s->kind) {
    case CHM_STMT_INPUT:
        chm_out_printf(out, "  %s = input %s ", s->name.text, s->source.text);
        chm_layout_text_print(out, s->text);
        break;
    case CHM_STMT_ARROW:
        chm_out_printf(out, "  %s = %s -> ", s->name.text, s->source.text);
        chm_layout_text_print(out, s->text);
        break;
    case CHM_STMT_OUTPUT:
        chm_out_printf(out, "  output %s", s->name.text);
        print_partial(out, &s->partial);
        break;
    }
    chm_out_puts(out, ";\n");
}

void chm_plan_print(ChmOut *out, const ChmPlan *plan)
{
    chm_out_printf(out, "plan %s;\n\nmesh %s (", plan->name.text, plan->mesh->name.text);
    print_sizes(out, &plan->mesh->axes);
    chm_out_puts(out, ");\n");
    if (plan->topology)
        chm_topology_print(plan->topology, plan->mesh->mesh, out);
    for (int32_t i = 0; i < plan->tensors.len; i++) {
        const ChmTensorDecl *t = plan->tensors.at[i];
        chm_out_printf(out, "tensor %s : %s[", t->name.text, t->dtype_name.text);
        print_sizes(out, &t->dims);
        chm_out_puts(out, "];\n");
    }
    chm_out_puts(out, "\nstep {\n");
    for (int32_t i = 0; i < plan->stmts.len; i++)
        print_stmt(out, plan->stmts.at[i]);
    chm_out_puts(out, "}\n");
}
