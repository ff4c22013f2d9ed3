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
expect 0 "tp_pp" "$CHIMERAC" -q --driver -D seq=16 -o ok.c "$plan"
expect 0 "tp_pp" mpi_cc ok.c rt/*.o -lm -o ok
mpi_run 4 ./ok >out 2>err && bad "a wrong number of ranks is accepted"
says err "8"
mpi_run 8 ./ok --no-such-option >out 2>err && bad "a wrong option is accepted"

# ---- a NULL buffer, and ranks that run different schedules
expect 0 "tp_pp" "$CHIMERAC" -q -D seq=16 -o tp_pp.c "$plan"
expect 0 "header" "$CHIMERAC" -q -D seq=16 --emit=h -o tp_pp.h "$plan"
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
    int right = created ? 0 : tp_pp_run(plan, rank < 4 ? in : NULL, rank < 4 ? NULL : out);
    if (right)
        fprintf(stderr, "rank %d: NULL where nothing is held gives %d: %s\n", rank, right, tp_pp_message(plan));
    tp_pp_destroy(plan);
    MPI_Finalize();
    return created || !wrong || right;
}
END
expect 0 "null.c" mpi_cc null.c tp_pp.c rt/*.o -lm -o null
expect 0 "a NULL buffer" mpi_run 8 ./null
says err "rank 2: -3"
says err "'x'" || says err "x"
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
says err "schedule"
finish
