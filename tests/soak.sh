#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The random tests at length; they are not part of tests/run.sh.
#
#   sh tests/soak.sh [PLANS [MPI_PLANS [SEED]]]
#
# PLANS (20000) random plans from SEED (2000: those before it are in every test run) through the whole compiler, shared
# out among the cores; then MPI_PLANS (200) of them over Open MPI, and half as many over MPICH. A plan that fails is
# printed with the command that repeats it.
set -u
cd "$(dirname "$0")/.." || exit 1
plans=${1:-20000}
mpi_plans=${2:-200}
seed=${3:-2000}
build=$PWD/build-tests
jobs=$(nproc 2>/dev/null || echo 2)
failures=0

sh tests/install.sh build mpi test || exit 1
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
echo "+ cmake --preset tests && cmake --build $build -j $jobs"
if ! cmake --preset tests >"$logs/build" 2>&1 || ! cmake --build "$build" -j "$jobs" >>"$logs/build" 2>&1; then
    cat "$logs/build" >&2
    exit 1
fi

# ---- whole compiler: one process a core, each with seeds of its own
pids=
trap 'kill $pids; exit 1' INT TERM # what runs in the background does not hear of an interrupt
job=0
while [ "$job" -lt "$jobs" ]; do
    first=$((plans * job / jobs))
    count=$((plans * (job + 1) / jobs - first))
    echo "+ test_random --count $count --seed $((seed + first)) &"
    "$build/tests/test_random" --count "$count" --seed "$((seed + first))" >"$logs/$job" 2>&1 &
    pids="$pids $!"
    job=$((job + 1))
done
for pid in $pids; do
    wait "$pid" || failures=$((failures + 1))
done
trap - INT TERM
job=0
while [ "$job" -lt "$jobs" ]; do
    cat "$logs/$job"
    job=$((job + 1))
done

# ---- over MPI
export CHIMERAC="$build/chimerac" CHIMERA_SOURCE_DIR="$PWD" CHIMERA_BINARY_DIR="$build" CHIMERA_SEED="$seed"
for mpi in openmpi mpich; do
    CHIMERA_PLANS=$mpi_plans
    [ "$mpi" = openmpi ] || CHIMERA_PLANS=$((mpi_plans / 2))
    [ "$CHIMERA_PLANS" -gt 0 ] || continue
    export CHIMERA_PLANS
    echo "+ e2e-random-$mpi.sh, $CHIMERA_PLANS plans"
    sh "tests/e2e/e2e-random-$mpi.sh"
    status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || failures=$((failures + 1))
done

if [ "$failures" -gt 0 ]; then
    echo "soak: FAILED"
    exit 1
fi
echo "soak: ok"
