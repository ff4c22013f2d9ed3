#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# compile.sh [--runs N] [EXAMPLE...]: builds with optimization into build-release/, then measures how long every example
# and a plan for 16,384 ranks take to compile and how much memory (compile.py). The figures are also in build-release/bench-compile.json.
# Not a test: another load on the machine shows in it.
set -u
cd "$(dirname "$0")/../.." || exit 1
jobs=$(nproc 2>/dev/null || echo 2)
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
{
    cmake --preset release -DBUILD_TESTING=OFF && cmake --build build-release --target chimerac -j "$jobs" &&
        ${CC:-cc} -std=c11 -O2 -o build-release/measure tests/bench/measure.c
} >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
python3 tests/bench/compile.py build-release/measure build-release/chimerac --json build-release/bench-compile.json "$@"
