/* SPDX-License-Identifier: Apache-2.0
 *
 * ir/topology.h - the machine that a plan is for: nested levels of ranks, joined by wires. Data and checks only; what a
 * schedule costs on it is cost/'s business.
 *
 * Levels are inner first. A level joins units: single ranks at the first level, groups of the level below after that.
 * Two ranks talk over the lowest level whose groups hold both. On a switch level each rank has a wire of its own into
 * it, or each unit has one that its ranks share ('shared'); wires are full duplex. On a ring, mesh or torus level the
 * units are its points, and neighbours are joined by a wire; a message takes the shortest way, first along the last
 * dimension.
 */
#ifndef CHM_IR_TOPOLOGY_H
#define CHM_IR_TOPOLOGY_H

#include "ir/mesh.h"

#define CHM_MAX_LEVELS 8
#define CHM_MAX_GRID_DIMS 4

typedef enum ChmLevelKind { CHM_LEVEL_SWITCH, CHM_LEVEL_RING, CHM_LEVEL_MESH, CHM_LEVEL_TORUS } ChmLevelKind;

typedef struct ChmLevel {
    const char *name;
    ChmLevelKind kind;
    int32_t group_ranks; /* ranks of one group of this level; 0: all the rest (the last level) */
    ChmAxes axes;        /* given by axes: the ranks that differ in these and in those of the levels below; else 0 */
    int32_t grid_dims;   /* mesh, torus; 1 for a ring */
    int32_t grid[CHM_MAX_GRID_DIMS]; /* units along each dimension, last fastest */
    bool shared;
    double bandwidth_bytes_per_s; /* of one wire, each way */
    double latency_s;             /* of a message over this level */
    double message_s;             /* what a rank pays for each message it sends over this level */
    ChmSpan span;
} ChmLevel;

typedef struct ChmTopology {
    const char *name;
    int32_t nlevels;
    ChmLevel level[CHM_MAX_LEVELS];
    double reduce_bytes_per_s; /* of summing into a buffer; 0: free */
    ChmSpan span;
} ChmTopology;

extern const ChmTopology
    chm_default_topology; /* one switch, 25 GB/s, latency 0: a plan without a topology is judged by bytes */

/* The group of a rank at a level, numbered densely from 0: by rank for levels sized in ranks, else row-major over the
 * axes that the groups do not span. O(1) for levels sized in ranks, O(axes) for those by axes. The level functions want
 * a topology that fits the mesh. */
int32_t chm_topology_group(const ChmTopology *t, const ChmMesh *mesh, int32_t level, int32_t rank);
/* The lowest level whose group holds both; -1 for a rank and itself. */
int32_t chm_topology_level_between(const ChmTopology *t, const ChmMesh *mesh, int32_t a, int32_t b);
int32_t chm_topology_group_ranks(const ChmTopology *t, const ChmMesh *mesh, int32_t level); /* of one group */
/* The units that one group of the level joins, and the place of a rank's unit among them, in order of their first
 * ranks: the point of a grid, whose last dimension is the fastest. */
int32_t chm_topology_units(const ChmTopology *t, const ChmMesh *mesh, int32_t level);
int32_t chm_topology_unit(const ChmTopology *t, const ChmMesh *mesh, int32_t level, int32_t rank);

/* Fits the mesh? Each level sized in ranks must divide the mesh and be a multiple of the level below, groups must hold
 * whole groups of the level below, a grid must have as many points as its level has units, no axis may stand in two
 * levels, the last level alone must be without size: it holds all ranks. Reports into ctx->diags at the levels' spans.
 */
ChmStatus chm_topology_check(ChmCtx *ctx, const ChmTopology *t, const ChmMesh *mesh) CHM_MUST_USE;

/* The block in the notation that plans, topology files and IR text share; parses back to the same figures. */
void chm_topology_print(const ChmTopology *t, const ChmMesh *mesh, ChmOut *out);

extern const char *const chm_level_kinds[]; /* "switch", ...: by ChmLevelKind */

#endif
