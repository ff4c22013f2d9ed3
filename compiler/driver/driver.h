/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/driver.h - the command chimerac as a function.
 */
#ifndef CHM_DRIVER_DRIVER_H
#define CHM_DRIVER_DRIVER_H

#include <stdint.h>

/* The exit status: 0; 1 wrong input, or a file that cannot be read or written; 2 wrong command line; 70 a failure of
 * the compiler itself. fail_at is a test aid: the allocation with this number fails; 0: none. */
int chm_driver(int argc, char **argv, int64_t fail_at);

#endif
