#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# --emit=dot draws: a node for every op, an arrow for every operand, no complaint from Graphviz.
# shellcheck source=tests/e2e/common.inc
. "$(dirname "$0")/common.inc"
command -v dot >/dev/null 2>&1 || skip "no Graphviz"
for plan in "$pairs"/*.plan "$multi"/*.plan; do
    for level in 0 2 3; do
        name=$(basename "$plan" .plan)-O$level
        expect 0 "$name" "$CHIMERAC" -q -O$level --emit=dot -o "$name.dot" "$plan"
        expect 0 "$name: dot" dot -Tsvg "$name.dot" -o "$name.svg" && is_empty err
        ops=$("$CHIMERAC" -q -O$level --emit=ir "$plan" | grep -cE '^(%|output|wait)')
        nodes=$(grep -c 'class="node"' "$name.svg")
        edges=$(grep -c 'class="edge"' "$name.svg")
        [ "$nodes" -eq "$ops" ] || bad "$name: $nodes nodes for $ops ops"
        inputs=$("$CHIMERAC" -q -O$level --emit=ir "$plan" | grep -c '= input ')
        [ "$edges" -eq $((ops - inputs)) ] || bad "$name: $edges arrows"
    done
done
finish
