#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# net.sh [--quick] [--launches N] [--repetitions N] [--network switch|trunk] [--markdown FILE] [--json FILE] [PAIR...]: builds with
# optimization into build-release/, then runs the six pairs on Open MPI over networks of namespaces with limited rates: as
# written, as Chimera fuses them, and as 'chimerac -O3' does it (net.py). Prints tables and a verdict; the figures
# are also in build-release/bench-net.json. About 12 minutes; --quick 3. Needs root, iproute2 and Open MPI, else exit status 77.
set -u
cd "$(dirname "$0")/../.." || exit 1
log=$(mktemp) || exit 1
NETLAB_ID=chimera-net$$
NETLAB_STATE=$(mktemp -u) || exit 1
export NETLAB_ID NETLAB_STATE
python=
# shellcheck disable=SC2317 # called by the trap
# Whatever ends this script, the network goes; python is a child in the background, so that a signal is not kept waiting.
clean_up() {
    trap '' INT TERM
    if [ -n "$python" ]; then
        kill -TERM "$python" 2>/dev/null
        wait "$python" 2>/dev/null
    fi
    tests/bench/netlab.sh down
    rm -f "$log"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
why=$(tests/bench/netlab.sh probe) || {
    echo "net.sh: skipped, $why"
    exit 77
}
jobs=$(nproc 2>/dev/null || echo 2)
{ cmake --preset release -DBUILD_TESTING=OFF && cmake --build build-release --target chimerac -j "$jobs"; } >"$log" 2>&1 ||
    { cat "$log" >&2; exit 1; }
python3 tests/bench/net.py build-release/chimerac --json build-release/bench-net.json "$@" &
python=$!
wait "$python"
status=$?
python=
exit "$status"
