/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD shim for oversubscribed MPICH (ch4:ucx, which never yields while it waits): after YIELD_POLLS (default 20)
 * calls of ucp_worker_progress in a row that moved nothing, give the core away: a sleep of YIELD_NS (default 20000; 0:
 * sched_yield; 5000 and less only spin). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
static unsigned (*real)(void *);
static long ns = 20000, polls = 20;
unsigned ucp_worker_progress(void *w)
{
    static __thread long idle;
    if (!real) {
        const char *e = getenv("YIELD_NS"), *p = getenv("YIELD_POLLS");
        if (e)
            ns = atol(e);
        if (p)
            polls = atol(p);
        prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
        real = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    unsigned n = real(w);
    if (n)
        idle = 0;
    else if (++idle >= polls) {
        idle = 0;
        if (ns > 0) {
            struct timespec t = {0, ns};
            nanosleep(&t, 0);
        } else
            sched_yield();
    }
    return n;
}
