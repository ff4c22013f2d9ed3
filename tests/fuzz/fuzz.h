/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fuzz/fuzz.h - what the fuzz targets share: the whole of chimerac, but for files and execution, on one text.
 *
 * Any text may be refused with diagnostics. What is accepted must go all the way: it lowers to what it says, survives
 * every pass, is never dearer than as written nor cheaper than its bound, prints as text that parses back to the same,
 * and can be written by every emitter. Anything else aborts.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "driver/job.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const char *const fuzz_suffix; /* of the files that are seeds of this target: ".plan" or ".ir" */

/* Everything on one text of the given language. */
void fuzz_compile(ChmLanguage language, const char *text, size_t len);

#endif
