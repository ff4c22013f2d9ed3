#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Random plans, emitted with --driver, over MPICH.
# shellcheck source=tests/e2e/common.inc
. "$(dirname "$0")/common.inc"
mpi=mpich
# shellcheck source=tests/e2e/mpi.inc
. "$CHIMERA_SOURCE_DIR/tests/e2e/mpi.inc"
run_random 12
finish
