#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# overhead.sh [--quick] [--ranks 4|8] [--size '64 KiB'|'1 MiB'|'16 MiB'] [--launches N] [--markdown FILE] [--json FILE] [SCHEDULE...]:
# builds with optimization into build-release/, then runs emitted C and hand-written MPI with the same operations by turns on
# local ranks of Open MPI (overhead.py). Prints tables and a verdict; the figures are also in build-release/bench-overhead.json.
# overhead.sh --network ...: the same on the rate-limited switch of net.sh, for which it needs root and iproute2.
# Exit status 77 where something is missing.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck disable=SC1091 # it is looked at by itself
. tests/bench/bench.inc
if ! command -v mpicc.openmpi >/dev/null 2>&1; then
    echo "overhead.sh: skipped, needs Open MPI"
    exit 77
fi
case " $* " in *" --network "*) need_network ;; esac
build_compiler
run python3 tests/bench/overhead.py build-release/chimerac --json build-release/bench-overhead.json "$@"
