#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Both commands of the README on a machine that has nothing: a minimal Debian by debootstrap, with this machine's apt
# sources, a clone of the committed tree in it, then examples/quickstart.sh and tests/run.sh, once more each to see
# that they are fast the second time. Root only; takes minutes; not run by CTest.
#
#   sh tests/fresh-machine.sh [--cache DIR] [--suite NAME] [--keep] [COMMAND...]
#     --cache DIR    keeps the base system there, as a tar file
#     --keep         does not remove the machine afterwards
#     COMMAND...     what to run in the clone instead, e.g. sh tests/install.sh build mpi test
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cache='' suite=bookworm keep=

while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2; shift 2 ;;
    --suite) suite=$2; shift 2 ;;
    --keep) keep=yes; shift ;;
    -*) echo "fresh-machine.sh: unknown option '$1'" >&2; exit 2 ;;
    *) break ;;
    esac
done
[ "$(id -u)" -eq 0 ] || { echo 'fresh-machine.sh: needs root' >&2; exit 2; }
command -v debootstrap >/dev/null || { echo 'fresh-machine.sh: needs debootstrap' >&2; exit 2; }

# The first Debian mirror in this machine's sources, in either of the two formats.
mirror() {
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sed -n 's/^URIs:[[:space:]]*\([^[:space:]]*\).*/\1/p' "$file"
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$file" ] || sed -n -E 's/^deb[[:space:]]+(\[[^]]*\][[:space:]]*)?([^[:space:]]*).*/\2/p' "$file"
    done
}
url=$(mirror | grep -v security | grep '/debian/*$' | head -n 1)
[ -n "$url" ] || { echo 'fresh-machine.sh: no Debian mirror in the apt sources' >&2; exit 1; }

machine=$(mktemp -d "${TMPDIR:-/tmp}/fresh-XXXXXX")
cleanup() {
    for place in dev/shm sys proc; do
        ! mountpoint -q "$machine/$place" || umount "$machine/$place" || umount -l "$machine/$place"
    done
    for place in dev/shm sys proc; do # never delete through a mount that is still there
        ! mountpoint -q "$machine/$place" || { echo "still mounted: $machine/$place" >&2; return; }
    done
    [ -n "$keep" ] || rm -rf --one-file-system "$machine"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

if [ -n "$cache" ] && [ -f "$cache/$suite.tar" ]; then
    echo "+ tar -xf $cache/$suite.tar"
    tar -C "$machine" --numeric-owner -xpf "$cache/$suite.tar"
else
    echo "+ debootstrap --variant=minbase $suite"
    debootstrap --variant=minbase "$suite" "$machine" "$url" >"$machine.log" 2>&1 ||
        { tail "$machine.log"; rm -f "$machine.log"; exit 1; }
    rm -f "$machine.log"
    if [ -n "$cache" ]; then
        mkdir -p "$cache"
        tar -C "$machine" --numeric-owner -cpf "$cache/$suite.tar.part" .
        mv "$cache/$suite.tar.part" "$cache/$suite.tar"
    fi
fi

chmod 755 "$machine" # the root folder of all its users

# Where packages and names come from on this machine.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || cp "$file" "$machine$file"
done
[ ! -f /etc/apt/sources.list.d/debian.sources ] || [ -f /etc/apt/sources.list ] || rm -f "$machine/etc/apt/sources.list"
for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
    if [ -f "$file" ] && grep -Eiq 'proxy|acquire' "$file"; then
        cp "$file" "$machine$file"
    fi
done
cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"

git clone -q "$root" "$machine/root/chimera"
mount -t proc proc "$machine/proc"
mount -t sysfs -o ro sysfs "$machine/sys"
mkdir -p "$machine/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$machine/dev/shm"

# inside COMMAND...: runs it in the clone, with a clean environment.
inside() {
    echo "== in the fresh machine: $*"
    start=$(date +%s)
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 CI=true \
        chroot "$machine" sh -c 'cd /root/chimera && exec "$@"' sh "$@" || return
    echo "== $(($(date +%s) - start)) s"
}

if [ $# -gt 0 ]; then
    inside "$@"
else
    inside sh examples/quickstart.sh
    inside sh examples/quickstart.sh
    inside sh tests/run.sh
    inside sh tests/run.sh
fi
echo 'fresh machine: ok'
