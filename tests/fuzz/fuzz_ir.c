/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fuzz/fuzz_ir.c - IR as input.
 */
#include "fuzz/fuzz.h"

const char *const fuzz_suffix = ".ir";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_compile(CHM_LANGUAGE_IR, (const char *)data, size);
    return 0;
}
