#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Random plans, emitted with --driver, over Open MPI.
# shellcheck source=tests/e2e/common.inc
. "$(dirname "$0")/common.inc"
mpi=openmpi
# shellcheck source=tests/e2e/mpi.inc
. "$CHIMERA_SOURCE_DIR/tests/e2e/mpi.inc"
run_random 24
finish
