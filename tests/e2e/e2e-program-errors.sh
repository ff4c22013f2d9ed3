#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What emitted programs do when they are misused: a status and a message, never a hang.
# shellcheck source=tests/e2e/common.inc
. "$(dirname "$0")/common.inc"
mpi=openmpi
# shellcheck source=tests/e2e/mpi.inc
. "$CHIMERA_SOURCE_DIR/tests/e2e/mpi.inc"
build_runtime || bad "the runtime does not compile"
plan=$pairs/tp_pp.plan

# emit NAME PLAN OPTION...: NAME.c and NAME.h
emit() {
    name=$1 file=$2
    shift 2
    expect 0 "$name" "$CHIMERAC" -q "$@" -o "$name.c" "$file"
    expect 0 "$name: header" "$CHIMERAC" -q "$@" --emit=h -o "$name.h" "$file"
}
expect 0 "tp_pp" "$CHIMERAC" -q --driver -D seq=16 -o ok.c "$plan"
expect 0 "tp_pp" mpi_cc ok.c rt/*.o -lm -o ok
mpi_run 4 ./ok >out 2>err && bad "a wrong number of ranks is accepted"
says err "8"

# options FOUND ARGUMENT...: refused with status 2, and what was found is said
options() {
    found=$1
    shift
    expect 2 "options $*" mpi_run 8 ./ok "$@"
    says err "chimera-driver: $found"
}
options "unknown option '--no-such-option'" --no-such-option
options "unknown option '7'" 7
for wrong in 0 -1 abc 2x; do
    options "-r needs a whole number from 1 to 1000000, not '$wrong'" -r "$wrong"
done
options "-r needs a whole number from 1 to 1000000, and there is nothing after it" -r

# ---- the plan against itself
expect 0 "tp_pp" "$CHIMERAC" -q --driver -O0 -D seq=16 -o same.c "$plan"
expect 0 "tp_pp" mpi_cc same.c rt/*.o -lm -o same
expect 0 "one schedule" mpi_run 8 ./same -r 1
says out "x  same schedule"
expect 0 "two schedules" mpi_run 8 ./ok -r 1
! grep -q "same schedule" out || bad "two schedules are called one"

# ---- a NULL buffer
emit tp_pp "$plan" -D seq=16
cat >null.c <<'END'
#include "tp_pp.h"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    static float in[16 * 2048], out[16 * 2048];
    static char message[1024];
    int rank;
    tp_pp *plan;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int created = tp_pp_create(MPI_COMM_WORLD, &plan, message);
    int wrong = created ? 0 : tp_pp_run(plan, rank == 2 ? NULL : in, out);
    const char *text = created ? "" : tp_pp_message(plan);
    if (rank == 2 || wrong == 0)
        fprintf(stderr, "rank %d: %d '%s'\n", rank, wrong, text);
    int refused = created ? 0 : tp_pp_rerun(plan);
    if (!created && (refused != -9 || !strstr(tp_pp_message(plan), "rerun: no run before it")))
        fprintf(stderr, "rank %d: a rerun of nothing gives %d: %s\n", rank, refused, tp_pp_message(plan));
    int right = created ? 0 : tp_pp_run(plan, rank < 4 ? in : NULL, rank < 4 ? NULL : out);
    if (right)
        fprintf(stderr, "rank %d: NULL where nothing is held gives %d: %s\n", rank, right, tp_pp_message(plan));
    tp_pp_destroy(plan);
    MPI_Finalize();
    return created || !wrong || right || refused != -9;
}
END
expect 0 "null.c" mpi_cc null.c tp_pp.c rt/*.o -lm -o null
expect 0 "a NULL buffer" mpi_run 8 ./null
says err "rank 2: -3"
says err "'x'" || says err "x"

# ---- no communicator, no plan
cat >misuse.c <<'END'
#include "tp_pp.h"
#include <stdio.h>
#include <string.h>
static int failures, rank;
static void demand(const char *what, int status, int wanted, const char *message, const char *text)
{
    if (status == wanted && strstr(message, text))
        return;
    failures++;
    fprintf(stderr, "rank %d: %s: %d, not %d: '%s' has no '%s'\n", rank, what, status, wanted, message, text);
}
int main(int argc, char **argv)
{
    static float in[16 * 2048], out[16 * 2048];
    static char message[1024];
    tp_pp *plan;
    demand("before MPI_Init", tp_pp_create(MPI_COMM_WORLD, &plan, message), -11, message, "MPI is not initialized");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    demand("no communicator", tp_pp_create(MPI_COMM_NULL, &plan, message), -11, message, "MPI_COMM_NULL");
    demand("no plan", tp_pp_run(plan, in, out), -12, tp_pp_message(plan), "there is no plan");
    demand("no plan to run again", tp_pp_rerun(plan), -12, tp_pp_message(plan), "there is no plan");
    tp_pp_destroy(plan);
    if (tp_pp_create(MPI_COMM_WORLD, &plan, message) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    /* A rank has only one of the two here: a pointer to what it does not have is not looked at. */
    demand("in place", tp_pp_run(plan, in, in), 0, "", "");
    for (int i = 0; i < 16 * 2048; i++)
        in[i] = rank < 4 ? (float)(i % 1000 + rank) : -1;
    demand("again", tp_pp_rerun(plan), 0, "", "");
    for (int i = 0; i < 16 * 2048; i++)
        if (rank >= 4 && in[i] != (float)(4 * (i % 1000) + 6))
            demand("what a rerun reads and writes", (int)in[i], 4 * (i % 1000) + 6, "", "");
    tp_pp_destroy(plan);
    MPI_Finalize();
    return failures > 0;
}
END
expect 0 "misuse.c" mpi_cc misuse.c tp_pp.c rt/*.o -lm -o misuse
expect 0 "misuse" mpi_run 8 ./misuse

# ---- buffers that overlap on one rank are refused on all, and the plan stays good
cat >overlap.plan <<'END'
plan overlap;
mesh m (tp = 2);
tensor x : f32[seq = 8];
step {
  x0 = input x [seq] partial(tp);
  x1 = x0 -> [seq];
  output x1;
}
END
emit overlap overlap.plan
cat >inplace.c <<'END'
#include "overlap.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    static float memory[16];
    overlap *plan;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 16; i++)
        memory[i] = 1;
    if (overlap_create(MPI_COMM_WORLD, &plan, NULL))
        MPI_Abort(MPI_COMM_WORLD, 1);
    int status = overlap_run(plan, memory, rank == 1 ? memory + 7 : memory + 8);
    fprintf(stderr, "%d: %d: %s\n", rank, status, overlap_message(plan));
    int same = overlap_run(plan, memory, memory);
    int right = overlap_run(plan, memory, memory + 8);
    int wrong = status != -10 || same != -10 || right || memory[15] != 2 || memory[7] != 1;
    overlap_destroy(plan);
    MPI_Finalize();
    return wrong;
}
END
expect 0 "inplace.c" mpi_cc inplace.c overlap.c rt/*.o -lm -o inplace
expect 0 "buffers that overlap" mpi_run 2 ./inplace
says err "0: -10: enter: output 'x1' overlaps input 'x' on rank 1"
says err "1: -10: enter: output 'x1' overlaps input 'x' on rank 1"

# ---- calls after MPI_Finalize: refused with a message where MPI would end the program, and destroy frees its memory
cat >after.plan <<'END'
plan after;
mesh m (tp = 2);
tensor x : f32[seq = 4, h = 4];
step {
  x0 = input x [seq/tp, h];
  x1 = x0 -> [seq, h/tp];
  output x1;
}
END
emit after after.plan
cat >late.c <<'END'
#include "after.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    static float memory[16];
    static char message[1024];
    after *plan, *late;
    MPI_Init(&argc, &argv);
    if (after_create(MPI_COMM_WORLD, &plan, NULL) || after_run(plan, memory, memory + 8))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    int again = after_rerun(plan);
    fprintf(stderr, "%d: %s\n", again, after_message(plan));
    int run = after_run(plan, memory, memory + 8);
    fprintf(stderr, "%d: %s\n", run, after_message(plan));
    int made = after_create(MPI_COMM_WORLD, &late, message);
    fprintf(stderr, "%d: %s\n", made, message);
    after_destroy(plan);
    return again != -11 || run != -11 || made != -11;
}
END
expect 0 "late.c" mpi_cc late.c after.c rt/*.o -lm -o late
expect 0 "calls after MPI_Finalize" mpi_run 2 ./late
says err "-11: rerun: MPI is finalized"
says err "-11: enter: MPI is finalized"
says err "-11: create: plan 'after': MPI is finalized"

# ---- ranks that run different schedules
cat >two.c <<'END'
#include "tp_pp.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    static char message[1024];
    int rank;
    tp_pp *plan;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int status = tp_pp_create(MPI_COMM_WORLD, &plan, message);
    if (rank == 0)
        fprintf(stderr, "%d: %s\n", status, message);
    MPI_Finalize();
    return status != -2 || plan != NULL;
}
END
expect 0 "one" mpi_cc two.c tp_pp.c rt/*.o -lm -o one
expect 0 "another schedule" "$CHIMERAC" -q -O0 -D seq=16 -o tp_pp.c "$plan"
expect 0 "other" mpi_cc two.c tp_pp.c rt/*.o -lm -o other
expect 0 "two schedules" timeout 240 "$mpirun" --oversubscribe -n 7 ./one : -n 1 ./other
says err "not the same schedule on every rank: rank 7 "
says err "is the lowest of 1 that differs from rank 0"
finish
