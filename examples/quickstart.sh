#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# From a plan to a checked MPI program: installs what is missing, builds the compiler, compiles
# examples/pairs/tp_pp.plan, shows it before and after, and runs the emitted C on 8 local ranks.
set -eu
cd "$(dirname "$0")/.."

plan=examples/pairs/tp_pp.plan
sizes='-D seq=1024' # 8 MiB instead of 64, so that it takes seconds
out=build/quickstart

# show COMMAND: prints a command line and runs it.
show() {
    printf '\n+ %s\n' "$1"
    eval "$1"
}

# quietly COMMAND: the same, but its output is shown only when it fails.
quietly() {
    printf '\n+ %s\n' "$1"
    if ! eval "$1" >build/quickstart.log 2>&1; then
        cat build/quickstart.log >&2
        exit 1
    fi
}

sh tests/install.sh build || echo 'Going on with what is there.'
mkdir -p "$out"

quietly 'cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF'
quietly "cmake --build build -j $(nproc 2>/dev/null || echo 2)"

echo
echo '== The schedule as written =='
show "build/chimerac -q -O0 --emit=ir $sizes $plan"
echo
echo '== The optimized schedule =='
show "build/chimerac --emit=ir $sizes $plan"

# Open MPI by preference: it gives way when there are more ranks than cores.
sh tests/install.sh mpi || echo 'Going on without installing an MPI.'
mpicc='' mpirun=''
for suffix in .openmpi ''; do
    if [ -z "$mpicc" ] && command -v "mpicc$suffix" >/dev/null 2>&1 && command -v "mpirun$suffix" >/dev/null 2>&1; then
        mpicc=mpicc$suffix mpirun=mpirun$suffix
    fi
done

if [ -z "$mpicc" ]; then
    echo
    echo '== No MPI here: all 8 ranks in one process instead, every output checked =='
    show "build/chimerac run $sizes $plan"
    exit
fi

echo
echo '== Emitted C, run on 8 ranks: both schedules, every output compared =='
show "build/chimerac -q --driver $sizes $plan -o $out/tp_pp.c"
show "$mpicc -std=c11 -O2 -Iruntime $out/tp_pp.c runtime/*.c -lm -o $out/tp_pp"
flags=
case $("$mpirun" --version 2>&1) in
*'Open MPI'* | *OpenRTE*)
    flags=' --oversubscribe'
    [ "$(id -u)" -ne 0 ] || flags="$flags --allow-run-as-root"
    ;;
esac
printf '\n+ %s\n' "$mpirun$flags -n 8 $out/tp_pp -r 5"
status=0
# shellcheck disable=SC2086 # a list of flags
"$mpirun" $flags -n 8 "$out/tp_pp" -r 5 >"$out/tp_pp.log" || status=$?
cat "$out/tp_pp.log"
if [ "$status" -ne 0 ] || ! tail -n 1 "$out/tp_pp.log" | grep -q '^chimera-driver: ok '; then
    echo "quickstart.sh: the run failed (exit status $status)" >&2
    exit 1
fi
