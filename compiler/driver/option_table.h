/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/option_table.h - the rows of options.def as C sees them. Private to this folder.
 */
#ifndef CHM_DRIVER_OPTION_TABLE_H
#define CHM_DRIVER_OPTION_TABLE_H

#include "driver/options.h"

#include <getopt.h>

typedef struct ChmCommandLine {
    ChmArena *arena;
    ChmOptions *o;
    ChmOut *err;
    const char *only_of[2]; /* an option that compile (0) or run (1) does not know */
    bool command_seen;
} ChmCommandLine;

typedef bool ChmTakeOption(ChmCommandLine *p, const char *value); /* false: a message is in p->err */

typedef enum ChmOptionArgument {
    CHM_FLAG = no_argument,
    CHM_VALUE = required_argument,
    CHM_ATTACHED = optional_argument /* as getopt sees it; that it is there has to be checked */
} ChmOptionArgument;

typedef struct ChmOption {
    ChmTakeOption *take;
    const char *name; /* without its dashes, or NULL */
    const char *metavar;
    const char *what;
    ChmOptionArgument argument;
    uint32_t commands; /* of ChmCommand */
    char letter;       /* or 0 */
} ChmOption;

enum {
#define CHM_OPTION(CODE, ...) CHM_OPTION_##CODE,
#include "driver/options.def"
#undef CHM_OPTION
    CHM_NOPTIONS
};
extern const ChmOption chm_option_table[CHM_NOPTIONS];

/* Both put a message into p->err and return false. meant: NULL, or what was meant. */
bool chm_options_wrong(ChmCommandLine *p, const char *fmt, ...) CHM_PRINTF(2, 3);
bool chm_options_unknown(ChmCommandLine *p, const char *kind, const char *name, const char *meant);

#endif
