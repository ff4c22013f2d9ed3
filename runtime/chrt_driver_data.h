/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_driver_data.h - test data of the driver: what goes in, and what must come out.
 */
#ifndef CHRT_DRIVER_DATA_H
#define CHRT_DRIVER_DATA_H

#include "chrt_driver.h"

typedef struct ChrtDriverData {
    const ChrtDriver *driver;
    int32_t rank;
    uint64_t seed;
    bool floats; /* --float */
} ChrtDriverData;

/* The rank's block of an input. */
void chrt_driver_fill(const ChrtDriverData *data, const ChrtDriverInput *input, void *buffer);

/* Whether both schedules' results for an output are what the plan says. If not, mismatch (of bytes) tells the first. */
bool chrt_driver_check(const ChrtDriverData *data, const ChrtDriverOutput *output, const void *baseline,
                       const void *optimized, char *mismatch, size_t bytes);

#endif
