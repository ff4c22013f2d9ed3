#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# All tests: installs what is missing, builds into build-tests/, runs CTest, and ends with 'N passed, N failed'.
#
#   sh tests/run.sh [--preset NAME] [CTEST OPTION...]
#   sh tests/run.sh -R golden               only tests whose name matches
#   sh tests/run.sh --preset asan           another build: debug, asan or release of CMakePresets.json
set -u
cd "$(dirname "$0")/.." || exit 1

preset=tests
if [ "${1-}" = --preset ]; then
    preset=${2:?--preset needs a name}
    shift 2
fi
build=build-$preset
jobs=$(nproc 2>/dev/null || echo 2)

# give_up WHY: a run that never got to its tests.
give_up() {
    echo "run.sh: $1" >&2
    echo "0 passed, 1 failed"
    exit 1
}

sh tests/install.sh build mpi test || give_up "packages are missing"

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
echo "+ cmake --preset $preset"
cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; give_up "cmake failed"; }
sed -n '/left out/p' "$log"
echo "+ cmake --build $build -j $jobs"
cmake --build "$build" -j "$jobs" >"$log" 2>&1 || { cat "$log" >&2; give_up "the build failed"; }
grep -A 4 'warning:' "$log"

echo "+ ctest --test-dir $build -j $jobs $*"
junit=$PWD/$build/junit.xml
rm -f "$junit"
ctest --test-dir "$build" --output-on-failure --output-junit "$junit" -j "$jobs" "$@"
status=$?
[ -f "$junit" ] || give_up "ctest wrote no result"

# One <testcase name=... status="run|fail|notrun|disabled"> each; a skipped one says SKIP_RETURN_CODE.
awk '
    /<testcase / {
        name = $0; sub(/.* name="/, "", name); sub(/".*/, "", name)
        state = $0; sub(/.* status="/, "", state); sub(/".*/, "", state)
        if (state == "run") passed++
        else if (state == "fail") { failed++; failures = failures "\n  " name }
        else pending = name
    }
    /<skipped / && pending != "" {
        if ($0 ~ /SKIP_/) skipped = skipped " " pending
        else { failed++; failures = failures "\n  " pending " (not run)" }
        pending = ""
    }
    END {
        if (skipped != "") print "Skipped, for want of a tool:" skipped
        if (failures != "") print "Failed:" failures
        if (passed + failed == 0) print "No test ran."
        printf "%d passed, %d failed\n", passed, failed
        exit !(passed > 0 && failed == 0)
    }' "$junit" || exit 1
exit "$status"
