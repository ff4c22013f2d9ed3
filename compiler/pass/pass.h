/* SPDX-License-Identifier: Apache-2.0
 *
 * pass/pass.h - the passes and their manager. A pass is one row of pass/passes.def and one function; the manager, not
 * the pass, checks requirements, verifies and validates after each, times, dumps and counts.
 */
#ifndef CHM_PASS_PASS_H
#define CHM_PASS_PASS_H

#include "cost/pricer.h"
#include "ir/expect.h"

typedef enum ChmProps {                              /* properties of a module, as bits */
                        CHM_PROP_CANONICAL = 1 << 0, /* no size-1 axis in an op, no op without effect */
                        CHM_PROP_NO_DEAD = 1 << 1,   /* every value is used */
} ChmProps;

typedef struct ChmPassEnv {
    const ChmTopology *topology;
    ChmPricer *pricer;        /* on it, for the module's mesh; NULL: each pass makes its own */
    int32_t chunks;           /* of every pipeline, as far as it can be cut so; 0: by cost */
    bool cuts;                /* a later pass of the list cuts chains into chunks */
    int64_t max_buffer_bytes; /* of a rank's arena (ir/buffers.h), for 'schedule'; 0: no limit */
    ChmRemarks *remarks;
} ChmPassEnv;

typedef struct ChmPass {
    const char *name;
    const char *what; /* one line, for --list-passes */
    int32_t (*run)(ChmModule *m,
                   const ChmPassEnv *env);  /* number of changes made; idempotent: a second run returns 0 */
    uint32_t requires, establishes, breaks; /* ChmProps */
} ChmPass;

extern const ChmPass chm_passes[]; /* ends with name NULL */
const ChmPass *chm_pass_find(const char *name);

/* Default pipelines by -O level 0..3: NULL-terminated lists of rows. */
void chm_pipeline_for_level(int32_t level, const ChmPass **list, int32_t max, int32_t *n);

typedef struct ChmPassStat {
    const ChmPass *pass;
    int32_t changes;
    double seconds;
} ChmPassStat;

typedef struct ChmPassOptions {
    const ChmTopology *topology;
    ChmPricer *pricer;        /* on it, for the module's mesh; may be NULL */
    int32_t chunks;           /* --chunks; 0: by cost */
    int64_t max_buffer_bytes; /* --max-buffer; 0: no limit */
    bool verify_each;
    /* Called after each pass when not NULL: the driver's --print-after / --print-changed. */
    void (*after)(void *user, const ChmPass *pass, ChmModule *m, int32_t changes);
    void *user;
    /* Translation validation, given by the driver since it stands in 'check' (the pass module knows it only by this
     * pointer). */
    ChmStatus (*validate)(ChmModule *m, const ChmExpects *expected, ChmWhy *why);
    const ChmExpects *expected;
} ChmPassOptions;

/* Runs the passes in order on m, and checks it (verifier and 'validate') before the first and after the last; with
 * verify_each after every one. What a pass requires and the module lacks is established first, by the passes of the
 * table that establish it; these count as passes of their own for checks, 'after' and *culprit, but have no entry in
 * 'stats', which has one for each of the list (NULL: not wanted).
 *
 * On a failed check: CHM_ERR_INTERNAL, and never a diagnostic. *culprit is the pass (found by running the list over
 * again on a copy of the start when verify_each is off; NULL when m was wrong before any), *why the reason, and
 * *reproducer (inited; may be NULL) the module before that pass as a golden test file ("# RUN: chimerac -q --emit=ir
 * --passes=NAME %s" and the IR); its text is empty otherwise. m is then not to be used any more. */
ChmStatus chm_passes_run(ChmModule *m, const ChmPass *const *list, int32_t n, const ChmPassOptions *options,
                         ChmPassStat *stats, const ChmPass **culprit, ChmWhy *why, ChmOut *reproducer) CHM_MUST_USE;

#endif
