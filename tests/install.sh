#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# install.sh KIND...: installs the packages of packages.txt of these kinds (build, mpi, test) that are missing.
# Exit status 0: all are there, or this system has no apt (then the list is printed and the caller tries its luck);
# 1: some are missing and could not be installed.
set -u
cd "$(dirname "$0")/.." || exit 1

wanted=
for kind in "$@"; do
    wanted="$wanted $(sed 's/#.*//' packages.txt | awk -v kind="$kind" '$2 == kind { print $1 }' | tr '\n' ' ')"
done

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
    echo "No apt here. Needed, by their Debian names:$wanted"
    exit 0
fi

# Names of the wanted packages that are not installed, on one line.
missing() {
    for package in $wanted; do
        status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)
        [ "$status" = installed ] || printf ' %s' "$package"
    done
}

lacking=$(missing)
[ -n "$lacking" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "Missing packages; as root: apt-get install$lacking" >&2
        exit 1
    fi
    as_root=sudo
fi

apt() {
    echo "+ ${as_root:+$as_root }apt-get $*"
    log=$(mktemp) || return 1
    if $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1; then
        rm -f "$log"
    else
        tail -n 30 "$log" >&2
        rm -f "$log"
        return 1
    fi
}

# shellcheck disable=SC2086 # a list of names
apt update && apt install --no-install-recommends $lacking
lacking=$(missing)
if [ -n "$lacking" ]; then
    echo "Could not install:$lacking" >&2
    exit 1
fi
