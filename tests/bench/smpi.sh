#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# smpi.sh PLATFORM.xml NP PROG ARGS : run a program built with smpicc on a simulated platform with plain alpha-beta links.
# SMPI_SELECTOR (default ompi) picks the collectives; SMPI_EXTRA adds options; SMPI_SHARED=1 folds every malloc over 64 KiB.
set -eu
plat=$1 np=$2; shift 2
hf=$(mktemp); trap 'rm -f "$hf"' EXIT
for ((i = 0; i < np; i++)); do echo "n$i"; done >"$hf"
# not exec: the trap has to run. optim:Full, since with its lazy updates SimGrid lets a wire carry up to 3% more than its
# rate (64 MiB at 100 GB/s in 650 us). The factors of 1 switch off SMPI's own calibration (made for gigabit Ethernet and TCP),
# loopback: self-messages cost 10 GB/s without it; crosstraffic:0 the 5% it charges for acknowledgements, os/or/ois the per-message software cost.
# shellcheck disable=SC2086 # SMPI_EXTRA is a list of options
smpirun -np "$np" -hostfile "$hf" -platform "$plat" --log=root.thres:critical --cfg=smpi/simulate-computation:no \
    --cfg=smpi/bw-factor:0:1.0 --cfg=smpi/lat-factor:0:1.0 --cfg=network/crosstraffic:0 \
    --cfg=smpi/os:0:0:0 --cfg=smpi/or:0:0:0 --cfg=smpi/ois:0:0:0 --cfg=smpi/coll-selector:"${SMPI_SELECTOR:-ompi}" \
    --cfg=network/optim:Full --cfg=network/loopback-bw:500e9 --cfg=network/loopback-lat:1e-8 \
    ${SMPI_SHARED:+--cfg=smpi/auto-shared-malloc-thresh:65536} ${SMPI_EXTRA:-} "$@"
