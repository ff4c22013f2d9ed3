/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/manager.c - runs passes and holds them to what their rows and the IR promise.
 */
#include "pass/passes.h"

#include <string.h>
#include <time.h>

typedef struct Manager {
    ChmModule *m;
    const ChmPassOptions *options;
    ChmPassEnv env;
    uint32_t props; /* of the module as it stands */
    bool verify_each, observed;
    const ChmPass *culprit; /* of the check that failed; NULL: the module was wrong before any pass */
    ChmWhy why;
    ChmOut *reproducer; /* may be NULL */
    ChmRemarks unsaid;  /* of a run that is not the user's */
} Manager;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- checks */

/* The verifier reports diagnostics, but a module that a pass broke is no fault of the user's: what it says becomes the
 * reason of an internal error. */
static bool verified(ChmModule *m, ChmWhy *why)
{
    ChmDiags of_user = m->ctx->diags;
    chm_diags_init(&m->ctx->diags, &m->ctx->arena);
    bool ok = chm_module_verify(m) == CHM_OK;
    if (!ok) {
        const ChmDiag *d = m->ctx->diags.list.at[0];
        why->text = d->text;
        if (d->notes.len && strncmp(d->notes.at[0].text, "its ", 4) == 0) /* more than a place */
            why->text = chm_arena_printf(&m->ctx->arena, "%s; %s", d->text, d->notes.at[0].text);
    }
    m->ctx->diags = of_user;
    return ok;
}

static bool right(Manager *k)
{
    if (!verified(k->m, &k->why))
        return false;
    if (!k->options->validate || k->options->validate(k->m, k->options->expected, &k->why) == CHM_OK)
        return true;
    if (!k->why.text)
        k->why.text = "the module no longer means what it meant";
    return false;
}

/* ---- the reproducer: a golden test file with the module as it was before the pass */

static void write_reproducer(Manager *k, const ChmPass *pass)
{
    if (!k->reproducer || !k->verify_each)
        return;
    chm_out_init(k->reproducer, k->reproducer->guard ? k->reproducer->guard : &k->m->ctx->guard);
    chm_out_printf(k->reproducer, "# RUN: chimerac -q --emit=ir --passes=%s %%s\n", pass->name);
    chm_out_printf(k->reproducer, "# WHAT: the pass '%s' must not break this module\n", pass->name);
    chm_module_print(k->m, k->reproducer);
}

static void drop_reproducer(Manager *k)
{
    if (k->reproducer)
        chm_out_fini(k->reproducer);
}

/* ---- running */

/* False when a check after the pass failed. */
static bool run_pass(Manager *k, const ChmPass *pass, ChmPassStat *stat)
{
    drop_reproducer(k);
    write_reproducer(k, pass);
    double begin_s = now_s();
    int32_t changes = pass->run(k->m, &k->env);
    if (stat)
        *stat = (ChmPassStat){pass, changes, now_s() - begin_s};
    if (changes)
        k->props &= ~pass->breaks;
    k->props |= pass->establishes;
    if (k->observed && k->options->after)
        k->options->after(k->options->user, pass, k->m, changes);
    if (k->verify_each && !right(k)) {
        k->culprit = pass;
        return false;
    }
    return true;
}

/* What the pass requires and the module lacks is established by the passes of the table that say they do. */
static bool establish(Manager *k, uint32_t props)
{
    for (const ChmPass *p = chm_passes; p->name; p++)
        if ((p->establishes & props & ~k->props) && !run_pass(k, p, NULL))
            return false;
    return true;
}

static bool cuts_later(const ChmPass *const *list, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i]->run == chm_pass_pipeline)
            return true;
    return false;
}

static bool run_all(Manager *k, const ChmPass *const *list, int32_t n, ChmPassStat *stats)
{
    for (int32_t i = 0; i < n; i++) {
        k->env.cuts = cuts_later(list + i + 1, n - i - 1);
        if (!establish(k, list[i]->requires) || !run_pass(k, list[i], stats ? &stats[i] : NULL))
            return false;
    }
    return true;
}

/* The end is wrong: the same passes over again from the start, with checks after each, say whose doing it was. Remarks
 * of this run are not the user's. */
static void find_culprit(const Manager *failed, Manager *replay, const ChmPass *const *list, int32_t n)
{
    chm_remarks_init(&replay->unsaid, &replay->m->ctx->arena);
    replay->env.remarks = &replay->unsaid;
    replay->verify_each = true;
    if (!right(replay))
        return;
    if (run_all(replay, list, n, NULL)) { /* a pass that does not do the same twice */
        drop_reproducer(replay);
        replay->culprit = n ? list[n - 1] : NULL;
        replay->why.text =
            chm_arena_printf(&replay->m->ctx->arena, "%s; not so when the passes were run again", failed->why.text);
    }
}

static Manager manager_of(ChmModule *m, const ChmPassOptions *options, ChmOut *reproducer)
{
    const ChmTopology *topology = options->topology ? options->topology : &chm_default_topology;
    return (Manager){.m = m,
                     .options = options,
                     .env = {.topology = topology,
                             .pricer = options->pricer,
                             .chunks = options->chunks,
                             .max_buffer_bytes = options->max_buffer_bytes,
                             .remarks = &m->ctx->remarks},
                     .reproducer = reproducer};
}

static ChmStatus report(const Manager *k, const ChmPass **culprit, ChmWhy *why)
{
    if (culprit)
        *culprit = k->culprit;
    if (why)
        *why = k->why;
    return CHM_ERR_INTERNAL;
}

ChmStatus chm_passes_run(ChmModule *m, const ChmPass *const *list, int32_t n, const ChmPassOptions *options,
                         ChmPassStat *stats, const ChmPass **culprit, ChmWhy *why, ChmOut *reproducer)
{
    Manager k = manager_of(m, options, reproducer);
    k.observed = true;
    k.verify_each = options->verify_each;
    if (!right(&k))
        return report(&k, culprit, why);
    ChmModule *start = k.verify_each ? NULL : chm_module_clone(m);
    bool done = run_all(&k, list, n, stats);
    if (done && right(&k)) {
        drop_reproducer(&k);
        chm_module_free(start);
        return CHM_OK;
    }
    if (!start)
        return report(&k, culprit, why);
    Manager replay = manager_of(start, options, reproducer);
    find_culprit(&k, &replay, list, n);
    chm_module_free(start);
    return report(&replay, culprit, why);
}
