#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a plan of the size of large clusters: 16,384 ranks, five axes, three levels, 100 arrows.

    large_plan.py [--small]       --small: the same plan on 128 ranks, to compare what is emitted

A mixture-of-experts transformer: at each stage activations go from sequence to tensor parallelism and back, to the
experts and back, and on to the next stage; gradients are summed over the data parallel ranks, and the weights come back.
"""

import argparse

LARGE = {"pp": 8, "dp": 32, "ep": 4, "cp": 4, "tp": 4}
SMALL = {"pp": 8, "dp": 2, "ep": 2, "cp": 2, "tp": 2}
STAGES = 8  # that have a tensor each
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
plan large;
mesh cluster ({axes});
{tensors}
topology cluster_of_nodes {{
  level node (cp, tp) {{ bandwidth = 300 GB/s; latency = 1 us; }}
  level rail (ep) {{ bandwidth = 50 GB/s; latency = 2 us; }}
  level fabric {{ bandwidth = 25 GB/s; latency = 5 us; shared; }}
  reduce = 1000 GB/s;
}}
"""
ACTIVATION = "bf16[batch = 1024, seq = 8192, hidden = 8192]"
GRADIENT = "f32[in = 8192, out = 28672]"

ATTENTION = "[batch/dp/ep, seq, hidden/tp/cp] at(pp={s})"
SEQUENCE = "[batch/dp/ep, seq/cp/tp, hidden] at(pp={s})"
WHOLE = "[batch/dp/ep, seq/cp, hidden] at(pp={s})"
SUMS = "[batch/dp/ep, seq/cp, hidden] partial(tp) at(pp={s})"
EXPERTS = "[batch/dp, seq/cp/tp, hidden/ep] at(pp={s})"
NEXT = "[batch/dp/ep, seq/cp, hidden] at(pp={t})"
LAYER = [SEQUENCE, ATTENTION, SEQUENCE, WHOLE, SEQUENCE, EXPERTS, SEQUENCE, ATTENTION, WHOLE, NEXT]


def activations(tensor, stage, after):
    """The statements of a layer: sums to begin with, and what the backward pass needs is kept."""
    yield f"  {tensor}_0 = input {tensor} {SUMS.format(s=stage)};"
    for i, layout in enumerate(LAYER):
        yield f"  {tensor}_{i + 1} = {tensor}_{i} -> {layout.format(s=stage, t=after)};"
        if layout in (ATTENTION, EXPERTS, NEXT):
            yield f"  output {tensor}_{i + 1};"


def gradients(tensor, stage):
    """Sums over the data parallel ranks, the optimizer's share of them, and the weights that come back."""
    yield f"  {tensor}_0 = input {tensor} [in/ep, out/tp] partial(dp, cp) at(pp={stage});"
    for i, layout in enumerate(["[in/ep, out/tp] partial(dp)", "[in/ep, out/tp]", "[in/ep/dp, out/tp]",
                                "[in/ep/dp, out/tp/cp]", "[in/ep, out/tp]"]):
        yield f"  {tensor}_{i + 1} = {tensor}_{i} -> {layout} at(pp={stage});"
    yield f"  output {tensor}_4;"
    yield f"  output {tensor}_5;"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    mesh = SMALL if parser.parse_args().small else LARGE
    tensors = [f"tensor act{s} : {ACTIVATION};" for s in range(STAGES)] + [
        f"tensor grad{s} : {GRADIENT};" for s in range(0, STAGES, 2)
    ]
    axes = ", ".join(f"{axis} = {size}" for axis, size in mesh.items())
    print(HEAD.format(axes=axes, tensors="\n".join(tensors)))
    statements = [line for s in range(STAGES) for line in activations(f"act{s}", s, (s + 1) % STAGES)]
    statements += [line for s in range(0, STAGES, 2) for line in gradients(f"grad{s}", s)]
    print("step {", *statements, "}", sep="\n")


if __name__ == "__main__":
    main()
