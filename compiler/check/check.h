/* SPDX-License-Identifier: Apache-2.0
 *
 * check/check.h - trust: translation validation (equiv.c) and execution of a module for all ranks in one process
 * (exec*.c).
 */
#ifndef CHM_CHECK_CHECK_H
#define CHM_CHECK_CHECK_H

#include "ir/buffers.h"
#include "ir/expect.h"

/* Translation validation: with every layout change read as the identity, each output is the tensor expected, in the
 * type expected; none is missing, new, renamed or out of order; and inputs are asked for in the layout in which the
 * caller hands them over. An input that no output needs may be gone. On failure CHM_ERR_INTERNAL, and why->text names
 * the output, the value and both layouts. Numbers the module. O(ops). */
ChmStatus chm_check_equal(ChmModule *m, const ChmExpects *expected, ChmWhy *why) CHM_MUST_USE;

/* ---- test data: runtime/chrt_driver.h documents the same; tests hold both to the same numbers. */
typedef struct ChmDataSpec {
    uint64_t seed;
    bool random_float; /* uniform in [-1, 1) instead of exact small integers; float dtypes only */
} ChmDataSpec;

/* ---- execution */
typedef struct ChmMismatch {
    const char *output;
    int32_t rank;
    int64_t index[CHM_MAX_DIMS];
    double expected, got;
} ChmMismatch;

typedef struct ChmRunReport {
    int64_t outputs_checked; /* outputs x ranks that hold them */
    int64_t elements_checked;
    int64_t mismatches;
    ChmMismatch first;  /* when there are any */
    int64_t peak_bytes; /* of all ranks' buffers together */
} ChmRunReport;

/* Runs every op for all ranks through the offsets of chm_buffers_plan, and compares every output of every rank with the
 * plain meaning on the logical tensor, given by *expected: bitwise for exact data, within n * eps * sum |v| for random
 * floats. CHM_OK says that it ran; report->mismatches whether it was right. CHM_ERR_INPUT with a diagnostic when the
 * buffers exceed 'memory_limit_bytes' (0: 8 GiB), CHM_ERR_INTERNAL with one when inputs or outputs are not those
 * expected. Started ops do their work when they start where the seed is even, when they are waited for where it is odd.
 * O(elements * contributions + bytes moved). */
ChmStatus chm_run(ChmModule *m, const ChmExpects *expected, const ChmDataSpec *data, int64_t memory_limit_bytes,
                  ChmRunReport *report) CHM_MUST_USE;

#endif
