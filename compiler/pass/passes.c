/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/passes.c - the table of passes and the pipelines made of it.
 */
#include "pass/passes.h"

#include <string.h>

const ChmPass chm_passes[] = {
#define CHM_PASS(function, name, what, requires, establishes, breaks) \
    {name, what, chm_pass_##function, requires, establishes, breaks},
#include "pass/passes.def"
#undef CHM_PASS
    {NULL, NULL, NULL, 0, 0, 0},
};

const ChmPass *chm_pass_find(const char *name)
{
    for (const ChmPass *p = chm_passes; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

/* The local rules. 'dce' comes before the rules that a second use holds up, and 'cse' before 'cancel', since sharing
 * takes uses away from what stands before it. */
static const char *const local_rules[] = {"canonicalize", "cse", "dce", "split-all-reduce", "cancel", "cse",
                                          "cancel",       "dce", NULL};

/* What is left after them is made into arrows, each of which is then routed; two routes may begin alike. */
static const char *const global_rules[] = {"compose", "route", "canonicalize", "cse", "dce", NULL};

/* Steps that load different wires are made to run at the same time: those of one chain, then those of different ones.
 */
static const char *const overlap[] = {"pipeline", "schedule", NULL};

static void append(const char *const *names, const ChmPass **list, int32_t max, int32_t *n)
{
    for (; *names && *n < max; names++)
        list[(*n)++] = chm_pass_find(*names);
}

void chm_pipeline_for_level(int32_t level, const ChmPass **list, int32_t max, int32_t *n)
{
    *n = 0;
    if (level >= 1)
        append(local_rules, list, max, n);
    if (level >= 2)
        append(global_rules, list, max, n);
    if (level >= 3)
        append(overlap, list, max, n);
}
