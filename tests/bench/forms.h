/* SPDX-License-Identifier: Apache-2.0
 *
 * forms.h - several schedules of one plan in one program: checked, then timed by turns.
 *
 * A unit that 'chimerac --driver' emitted is compiled with -Dmain=NAME_main and linked with forms.c in place of
 * chrt_driver.c: its main then hands over the descriptor instead of running it. Schedules written by hand fill a
 * ChrtDriverSchedule of their own.
 */
#ifndef FORMS_H
#define FORMS_H

#include "chrt_driver.h"

typedef struct Form {
    const char *name;
    const ChrtDriverSchedule *schedule;
    bool once; /* enters in its first run alone: the others are reruns */
} Form;

/* The descriptor of an emitted unit; lives as long as the program. */
const ChrtDriver *forms_driver(int (*emitted_main)(int, char **));

/* Runs the forms of the driver's plan: options -r N timed repetitions (5) behind -w N that are not (1), --time-only.
 * All inputs and outputs are laid out as the driver says. Initialises and finalises MPI. Unless told not to check, each
 * form runs first on test data, and all outputs of every rank must be what the plan says. In each repetition every form
 * runs once, and another begins than in the one before. Rank 0 prints, for each form, the slowest rank's seconds
 *
 *   form NAME 1.1710 1.1702 ...
 *
 * in the order of the repetitions, and last 'forms: ok' ('forms: unchecked'). Returns the exit status. */
int forms_main(int argc, char **argv, const ChrtDriver *driver, const Form *forms, int nforms);

#endif
