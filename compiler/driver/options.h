/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/options.h - the command line, read by one table (options.def). Long options are never abbreviated, so that a
 * later option cannot change what an old command means.
 */
#ifndef CHM_DRIVER_OPTIONS_H
#define CHM_DRIVER_OPTIONS_H

#include "emit/emit.h"
#include "front/front.h"
#include "pass/pass.h"

typedef enum ChmCommand { CHM_COMMAND_COMPILE = 1 << 0, CHM_COMMAND_RUN = 1 << 1 } ChmCommand;
typedef enum ChmLanguage { CHM_LANGUAGE_BY_NAME, CHM_LANGUAGE_PLAN, CHM_LANGUAGE_IR } ChmLanguage;
typedef enum ChmColor { CHM_COLOR_AUTO, CHM_COLOR_ALWAYS, CHM_COLOR_NEVER } ChmColor;
typedef enum ChmShow { CHM_SHOW_NOTHING, CHM_SHOW_HELP, CHM_SHOW_VERSION, CHM_SHOW_PASSES } ChmShow;

typedef struct ChmOptions {
    ChmCommand command;
    ChmShow show;           /* print this and end */
    const char *input;      /* as given; "-": standard input */
    const char *output;     /* "-": standard output */
    const char *topology;   /* file of the machine to plan for; NULL: the input says */
    ChmLanguage language;   /* never BY_NAME once parsed */
    const ChmEmitter *emit; /* NULL: --emit=ast, which is the front end's */
    int32_t level;          /* 0..3 */
    int32_t chunks;         /* of every pipeline; 0: by cost */
    bool passes_given;      /* --passes, maybe of no pass at all */
    CHM_VEC(const ChmPass *) passes;
    CHM_VEC(ChmDefine) defines;
    CHM_VEC(const char *) print_after; /* pass names, or "all" */
    bool print_changed, verify_each, time_passes, explain, stats, driver, quiet, random_float;
    uint64_t seed;
    int64_t memory_bytes;     /* 0: the default */
    int64_t max_buffer_bytes; /* of a rank's arena; 0: no limit */
    ChmColor color;
} ChmOptions;

/* Strings of the result point into argv or the arena. CHM_ERR_USAGE with one message in *err ("chimerac: error: ...")
 * when the command line is wrong. */
ChmStatus chm_options_parse(ChmArena *arena, int argc, char **argv, ChmOptions *o, ChmOut *err) CHM_MUST_USE;

void chm_options_help(ChmOut *out);
void chm_options_list_passes(ChmOut *out);

#endif
