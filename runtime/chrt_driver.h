/* SPDX-License-Identifier: Apache-2.0
 *
 * chrt_driver.h - the main body of a program that checks and times itself.
 *
 * An emitted main fills a ChrtDriver and returns chrt_driver_main(argc, argv, &driver). For at least three seeds it
 * runs the baseline and the optimized schedule on the same test data and compares every rank's outputs bit for bit
 * with each other and with the plan's plain meaning; then it times both: three runs each to warm up, then the
 * repetitions as reruns, an even number, with the order swapped every time. Rank 0 prints a table (bytes first, then
 * medians of times, with 'same schedule' when the two are one) and, last, one line for scripts:
 *
 *   chimera-driver: ok ranks=8 baseline_s=0.00336 optimized_s=0.00144 speedup=2.33
 *
 * with 'FAILED' for 'ok', and exit status 1, when any output differs on any rank; the first mismatch of every failing
 * rank is told on standard error. Usage errors are told and exit with 2. An error inside a schedule prints the op and
 * aborts.
 *
 * Test data. Contribution c of element e (row-major global index in the declared order of dims) of input tensor t:
 *
 *   z  = seed * 0x9E3779B97F4A7C15 + t * 0xBF58476D1CE4E5B9 + e * 0x94D049BB133111EB + c * 0xD6E8FEB86659FD93
 *   z ^= z >> 30;  z *= 0xBF58476D1CE4E5B9;  z ^= z >> 27;  z *= 0x94D049BB133111EB;  z ^= z >> 31
 *
 * all modulo 2^64. c is the row-major index of the rank's coordinates on the partial axes of the *input*, axes in mesh
 * order; k = the number of contributions (1 if no axis is partial). The value is
 *
 *   i64, i32, i8, u8   z truncated to the width (sums wrap)
 *   f64, f32           limit 2^20 \   m = max(1, limit / k);  v = (int64_t)(z % (2 m + 1)) - m,
 *   f16                limit 2^11  >  so that every partial sum is an integer that the dtype holds exactly;
 *   bf16               limit 2^8  /   if k > limit, with s = ceil(k / limit): v = 0 where c % s != 0
 *
 * An output element is the sum over the contributions whose coordinates on the axes that are partial in the output
 * equal the rank's. With --float the floating-point dtypes get v = (double)(z >> 11) * 2^-52 - 1 instead, in [-1, 1),
 * rounded to the dtype; sums of n contributions may then be off by n * eps * sum |v|, where 1 + eps follows 1.
 */
#ifndef CHRT_DRIVER_H
#define CHRT_DRIVER_H

#include "chrt.h"

typedef struct ChrtDriverInput {
    const char *name;
    const ChrtType *type;
    int32_t tensor; /* t of the hash: the index of the tensor's declaration, from 0 */
} ChrtDriverInput;

typedef struct ChrtDriverOutput {
    const char *name;
    const ChrtType *type;
    int32_t input; /* index into the inputs: the tensor it comes from */
} ChrtDriverOutput;

/* One schedule through void pointers. in and out follow the order of the descriptor's lists; entries are NULL where
 * the rank's block is absent or empty. Functions return 0 or a negative ChrtStatus. */
typedef struct ChrtDriverSchedule {
    int (*create)(MPI_Comm comm, void **plan,
                  char *message); /* message: CHRT_MESSAGE_BYTES bytes, written on failure */
    int (*enter)(void *plan, const void *const *in, void *const *out); /* checks the buffers, and keeps them */
    int (*rerun)(void *plan);                                          /* on the buffers that entered last */
    void (*destroy)(void *plan);
    const char *(*message)(void *plan); /* chrt_error_message of the plan's context; may be NULL */
    int64_t sent_bytes, received_bytes; /* by the model: the worst rank's, over the whole schedule */
} ChrtDriverSchedule;

typedef struct ChrtDriver {
    const char *plan;
    const ChrtMesh *mesh;
    int32_t ninputs;
    const ChrtDriverInput *inputs;
    int32_t noutputs;
    const ChrtDriverOutput *outputs;
    ChrtDriverSchedule baseline, optimized;
    bool same; /* the two are one and the same: their ratio is 1, and what is measured is noise */
} ChrtDriver;

/* Of an emitted plan: the functions of its two schedules above, but for do_enter, and base_rerun, the plan as written.
 */
#define CHRT_DRIVER_FUNCTIONS(NAME)                                 \
    static int do_create(MPI_Comm comm, void **plan, char *message) \
    {                                                               \
        NAME *made = NULL;                                          \
        int status = NAME##_create(comm, &made, message);           \
        *plan = made;                                               \
        return status;                                              \
    }                                                               \
    static int do_baseline(void *plan)                              \
    {                                                               \
        return base_rerun(plan);                                    \
    }                                                               \
    static int do_optimized(void *plan)                             \
    {                                                               \
        return NAME##_rerun(plan);                                  \
    }                                                               \
    static void do_destroy(void *plan)                              \
    {                                                               \
        NAME##_destroy(plan);                                       \
    }                                                               \
    static const char *do_message(void *plan)                       \
    {                                                               \
        return NAME##_message(plan);                                \
    }

/* Initialises and finalises MPI. Options: -r N repetitions (6), made even, -s SEED first seed (1), --float, --time-only
 * (no check; the last line then says 'unchecked'), -h. Returns the exit status. */
int chrt_driver_main(int argc, char **argv, const ChrtDriver *driver);

/* The value of the hash above, before it is made a number. */
uint64_t chrt_driver_hash(uint64_t seed, uint64_t tensor, uint64_t element, uint64_t contribution);

/* The integer v of the hash above for a floating-point dtype and k contributions. */
int64_t chrt_driver_small(ChrtDtype dtype, uint64_t z, int64_t contribution, int64_t contributions);

#endif
