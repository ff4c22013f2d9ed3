/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/emit.h - from a schedule to text: C, its header, IR, JSON, Graphviz. An emitter is one row of emit/emitters.def
 * and one function. Output depends on the module alone: no file names, times or addresses.
 */
#ifndef CHM_EMIT_EMIT_H
#define CHM_EMIT_EMIT_H

#include "cost/pricer.h"
#include "ir/buffers.h"

typedef struct ChmEmitJob {
    ChmModule *module;   /* the schedule to write; verified */
    ChmModule *baseline; /* the plan as written: signature, figures, the other half of --driver */
    const ChmTopology *topology;
    ChmPricer *pricer; /* on it */
    bool driver;       /* C only: add a main that checks and times one against the other */
    ChmArena *arena;   /* scratch, the caller's */
} ChmEmitJob;

typedef void ChmEmitFn(const ChmEmitJob *job, ChmOut *out);

typedef struct ChmEmitter {
    const char *name;
    const char *what; /* one line, for --help */
    ChmEmitFn *emit;
    bool takes_driver;
} ChmEmitter;

extern const ChmEmitter chm_emitters[]; /* ends with name NULL */
const ChmEmitter *chm_emitter_find(const char *name);

#define CHM_JSON_SCHEMA_VERSION 1

#endif
