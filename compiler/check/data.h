/* SPDX-License-Identifier: Apache-2.0
 *
 * check/data.h - test data: what each rank holds of each input, and what each output must therefore be. Input and
 * expectation come from one function of (seed, tensor, element, contribution), never from a schedule.
 *
 * runtime/chrt_driver.h documents the same function for the emitted program; a test compares the two.
 */
#ifndef CHM_CHECK_DATA_H
#define CHM_CHECK_DATA_H

#include "check/check.h"
#include "ir/geom.h"

/* One input tensor as data. The contributions of a partial input are the coordinates over its partial axes, row-major,
 * axes in mesh order; element is the row-major global index. */
typedef struct ChmData {
    const ChmDataSpec *spec;
    const ChmTensor *tensor;
    const ChmLayout *layout; /* of the input */
    int64_t contributions;   /* at least 1 */
    int64_t limit;           /* floats, exact data: |v| of one contribution */
    int64_t stride;          /* floats, exact data: only every stride-th contribution is not 0 */
    bool random;             /* floats in [-1, 1), not exact */
} ChmData;

void chm_data_init(ChmData *d, const ChmDataSpec *spec, const ChmTensor *t, const ChmLayout *layout);

uint64_t chm_data_hash(uint64_t seed, uint64_t tensor, uint64_t element, uint64_t contribution);

/* n elements from global index 'element' on of one contribution, in the tensor's dtype. */
void chm_data_fill(const ChmData *d, int64_t contribution, int64_t element, int64_t n, void *out);

/* Bitwise equal to the sum over the given contributions; exact data only. */
void chm_data_sum(const ChmData *d, const int64_t *contributions, int64_t ncontributions, int64_t element, int64_t n,
                  void *out);

/* Random data: the sum, and how far off a result may be: n * eps * sum |v| for n > 1 contributions, else 0. */
void chm_data_sum_random(const ChmData *d, const int64_t *contributions, int64_t ncontributions, int64_t element,
                         double *sum, double *tolerance);

/* The contributions whose coordinates on the axes 'stay' are those of the rank, in ascending order; the count. 'out'
 * has room for d->contributions. */
int64_t chm_data_agreeing(const ChmData *d, ChmAxes stay, int32_t rank, int64_t *out);

double chm_data_load(ChmDtype dtype, const void *at); /* one element, for messages and tolerances */

#endif
