#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# sim.sh [--quick] [--own-only] [--jobs N] [--markdown FILE] [--json FILE] [PLAN...]: builds with optimization into build-release/, then
# runs every example on every machine of examples/topologies/ under SimGrid: as written, as Chimera fuses it, and as
# 'chimerac -O3' does it (sim.py). Prints tables and a verdict; the figures are also in build-release/bench-sim.json.
# --quick takes under three minutes. Simulated times do not depend on the load of this machine.
set -u
cd "$(dirname "$0")/../.." || exit 1
if ! command -v smpicc >/dev/null || ! command -v smpirun >/dev/null; then
    echo "sim.sh: skipped, SimGrid (smpicc, smpirun) is not installed"
    exit 0
fi
jobs=$(nproc 2>/dev/null || echo 2)
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
{ cmake --preset release -DBUILD_TESTING=OFF && cmake --build build-release --target chimerac -j "$jobs"; } >"$log" 2>&1 ||
    { cat "$log" >&2; exit 1; }
python3 tests/bench/sim.py build-release/chimerac --json build-release/bench-sim.json "$@"
