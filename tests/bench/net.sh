#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# net.sh [--quick] [--launches N] [--repetitions N] [--network switch|trunk] [--markdown FILE] [--json FILE] [PAIR...]: builds with
# optimization into build-release/, then runs the six pairs on Open MPI over networks of namespaces with limited rates: as
# written, as Chimera fuses them, and as 'chimerac -O3' does it (net.py). Prints tables and a verdict; the figures
# are also in build-release/bench-net.json. About 20 minutes; --quick 4. Needs root, iproute2 and Open MPI, else exit status 77.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck disable=SC1091 # it is looked at by itself
. tests/bench/bench.inc
need_network
build_compiler
run python3 tests/bench/net.py build-release/chimerac --json build-release/bench-net.json "$@"
