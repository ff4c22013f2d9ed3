/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/main.c - the program chimerac.
 */
#include "driver/driver.h"

int main(int argc, char **argv)
{
    return chm_driver(argc, argv, 0);
}
