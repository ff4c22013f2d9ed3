/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/topology.h"

const ChmTopology chm_default_topology = {
    .name = "one switch",
    .nlevels = 1,
    .level = {{.name = "switch", .kind = CHM_LEVEL_SWITCH, .bandwidth_bytes_per_s = 25e9}},
};
