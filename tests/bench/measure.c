/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/bench/measure.c - measure RUNS COMMAND...: runs the command, and prints a line for each run: wall-clock
 * seconds, processor seconds, bytes of the largest resident set.
 *
 * A program by itself since the resident set of a process counts from its fork on: below an interpreter, it would be
 * the interpreter's.
 */
#define _DEFAULT_SOURCE /* wait4 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* The exit status of the command, or -1. */
static int run(char **command)
{
    int status;
    struct rusage use;
    double begin_s = now_s();
    pid_t child = fork();
    if (child == 0) {
        execv(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &use) != child)
        return -1;
    printf("%.6f %.6f %lld\n", now_s() - begin_s, seconds(use.ru_utime) + seconds(use.ru_stime),
           1024LL * use.ru_maxrss);
    fflush(stdout);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: measure RUNS COMMAND...\n", stderr);
        return 2;
    }
    for (long left = strtol(argv[1], NULL, 10); left > 0; left--) {
        if (run(argv + 2) != 0)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
