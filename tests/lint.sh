#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lint.sh format|cppcheck|tidy|clang|shell BUILD_DIR: one check of all hand-written C or shell.
# The versions are those of Debian 12; others judge otherwise, so they are left out (exit status 77).
set -u
tool=${1:?what to run}
build=$(cd "${2:?build directory}" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
jobs=$(nproc 2>/dev/null || echo 2)

# want PROGRAM VERSION: leaves with 77 unless this version of the program is there.
want() {
    command -v "$1" >/dev/null 2>&1 || { echo "no $1 here"; exit 77; }
    "$1" --version | grep -Eq "(version:? |Cppcheck )$2(\.|\$)" || { echo "$1 is not version $2"; exit 77; }
}

# Hand-written C, one path a line; $1 is a pattern for the names.
sources() {
    for top in compiler runtime tests; do
        [ ! -d "$top" ] || find "$top" -name "$1" -type f
    done | LC_ALL=C sort
}

# each PROGRAM...: runs it on the paths that it reads, two dozen at a time.
each() {
    tr '\n' '\0' | xargs -0 -r -n 24 "$@"
}

# tidy FILE: clang-tidy on a file, unless it passed before with all headers and settings as they are.
tidy() {
    sum=$( (cat .clang-tidy tests/.clang-tidy; sources '*.h' | each cat; echo "$1"; cat "$1") | sha256sum)
    sum=${sum%% *}
    [ ! -f "$build/lint/$sum" ] || return 0
    if clang-tidy --quiet -p "$build" "$1" >"$build/lint/$sum.log" 2>&1; then
        rm -f "$build/lint/$sum.log"
        : >"$build/lint/$sum"
    else
        grep -Ev 'warnings (generated|treated as errors)|^Suppressed|^Use -header-filter' "$build/lint/$sum.log"
        rm -f "$build/lint/$sum.log"
        return 1
    fi
}

mkdir -p "$build/lint"
case $tool in
format)
    want clang-format 14
    sources '*.[ch]' | each clang-format --dry-run -Werror --style=file
    ;;
cppcheck)
    want cppcheck 2
    tops=
    for top in compiler runtime tests; do
        [ -z "$(find "$top" -name '*.c' 2>/dev/null)" ] || tops="$tops $top"
    done
    [ -n "$tops" ] || exit 0
    mkdir -p "$build/lint/cppcheck"
    # shellcheck disable=SC2086 # a list of folders
    cppcheck --quiet --enable=warning,style,performance,portability --std=c11 --platform=unix64 --inline-suppr \
        --suppressions-list=tests/cppcheck.supp --error-exitcode=1 --cppcheck-build-dir="$build/lint/cppcheck" \
        -j "$jobs" -D__GNUC__=12 -Icompiler -Iruntime -Itests $tops
    ;;
tidy)
    want clang-tidy 14
    # Only files that the build knows: the others have no flags.
    sources '*.c' | while IFS= read -r file; do
        ! grep -qF "/$file\"" "$build/compile_commands.json" || printf '%s\n' "$file"
    done | tr '\n' '\0' | xargs -0 -r -n 1 -P "$jobs" sh tests/lint.sh tidy-one "$build"
    ;;
tidy-one)
    tidy "${3:?file}"
    ;;
clang)
    want clang 14
    cmake -S . -B "$build/lint/clang" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Release -DCHIMERA_WERROR=ON \
        >"$build/lint/clang.log" 2>&1 || { cat "$build/lint/clang.log"; exit 1; }
    cmake --build "$build/lint/clang" -j "$jobs" \
        >"$build/lint/clang.log" 2>&1 || { cat "$build/lint/clang.log"; exit 1; }
    ;;
shell)
    want shellcheck 0
    find tests examples .ci \( -name '*.sh' -o -name run \) -type f | each shellcheck
    ;;
*)
    echo "lint.sh: unknown check '$tool'" >&2
    exit 2
    ;;
esac
