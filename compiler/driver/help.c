/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/help.c - the texts of --help and --list-passes, made from the tables.
 */
#include "driver/option_table.h"

#include <stdio.h>
#include <string.h>

static void help_row(ChmOut *out, const char *left, const char *what)
{
    int used = (int)strlen(left) + 2;
    chm_out_printf(out, "  %s", left);
    if (used > 28) {
        chm_out_putc(out, '\n');
        used = 0;
    }
    chm_out_spaces(out, 30 - used);
    chm_out_printf(out, "%s\n", what);
}

static const char *of_one(uint32_t commands)
{
    return commands == CHM_COMMAND_RUN ? " [run]" : commands == CHM_COMMAND_COMPILE ? " [compile]" : "";
}

static void help_options(ChmOut *out)
{
    for (int32_t k = 0; k < CHM_NOPTIONS; k++) {
        const ChmOption *option = &chm_option_table[k];
        char left[64], letter[8] = "    ", what[256];
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c", option->letter);
        bool with_value = option->argument != CHM_FLAG;
        if (!option->name)
            snprintf(left, sizeof left, "%s%s", letter, option->metavar);
        else
            snprintf(left, sizeof left, "%s%s--%s%s%s", letter, option->letter ? ", " : "", option->name,
                     with_value ? "=" : "", with_value ? option->metavar : "");
        snprintf(what, sizeof what, "%s%s", option->what, of_one(option->commands));
        help_row(out, left, what);
    }
}

void chm_options_help(ChmOut *out)
{
    chm_out_puts(out, "Usage: chimerac [compile] [OPTION]... FILE\n"
                      "       chimerac run [OPTION]... FILE\n"
                      "\n"
                      "Reads a plan, removes its redundant communication and writes C for MPI.\n"
                      "'run' executes the schedule for all ranks in this process, and compares every output with the\n"
                      "plan's plain meaning. FILE '-' is standard input.\n"
                      "\n"
                      "Options; [compile] or [run]: of that command only:\n");
    help_options(out);
    chm_out_puts(out, "\nKinds of output:\n");
    help_row(out, "ast", "the plan in its own notation, params resolved");
    for (const ChmEmitter *e = chm_emitters; e->name; e++)
        help_row(out, e->name, e->what);
    chm_out_puts(
        out, "\nExit status: 0; 1 when the input is wrong, a file cannot be read or written, or an output of 'run'\n"
             "is wrong; 2 when the command line is wrong; 70 when the compiler itself failed.\n");
}

void chm_options_list_passes(ChmOut *out)
{
    for (const ChmPass *p = chm_passes; p->name; p++)
        chm_out_printf(out, "%-18s %s\n", p->name, p->what);
    for (int32_t level = 0; level <= 3; level++) {
        const ChmPass *list[64];
        int32_t n = 0;
        chm_pipeline_for_level(level, list, 64, &n);
        chm_out_printf(out, "-O%d", (int)level);
        for (int32_t i = 0; i < n; i++)
            chm_out_printf(out, "%s%s", i ? "," : " ", list[i]->name);
        chm_out_putc(out, '\n');
    }
}
