#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of compiling every example, against the bars.

    compile.py MEASURE CHIMERAC [--runs N] [--json FILE] [EXAMPLE...]

A run is one process, 'chimerac -q -o /dev/null EXAMPLE', from fork to exit (measure.c). Of its N runs an example has
the median of the wall-clock times and the largest resident set. Prints a Markdown table; exit status 1 when a bar is
missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

BAR_S = 0.050
BAR_BYTES = 32 << 20
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def examples():
    """Every plan below examples/, in order."""
    found = []
    for folder, _, names in os.walk(os.path.join(ROOT, "examples")):
        found += [os.path.join(folder, name) for name in names if name.endswith(".plan")]
    return sorted(found)


def measure(measurer, chimerac, path, runs):
    """The figures of one example. The first run, which warms the caches, does not count."""
    command = [measurer, str(runs + 1), chimerac, "-q", "-o", os.devnull, path]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"compile.py: chimerac failed on {path}")
    walls, cpus, sizes = zip(*(map(float, line.split()) for line in done.stdout.splitlines()[1:]))
    figures = {
        "example": os.path.relpath(path, ROOT),
        "wall_s": statistics.median(walls),
        "wall_worst_s": max(walls),
        "cpu_s": statistics.median(cpus),
        "peak_bytes": int(max(sizes)),
    }
    figures["ok"] = figures["wall_s"] <= BAR_S and figures["peak_bytes"] <= BAR_BYTES
    return figures


def table(rows):
    """Markdown."""
    yield "| example | median, ms | worst, ms | processor, ms | peak, MiB | within |"
    yield "|---|---:|---:|---:|---:|---|"
    for r in rows:
        times = [f"{1e3 * r[key]:.1f}" for key in ("wall_s", "wall_worst_s", "cpu_s")]
        yield f"| {r['example']} | {' | '.join(times)} | {r['peak_bytes'] / (1 << 20):.1f} | {'yes' if r['ok'] else 'NO'} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", help="the program of measure.c")
    parser.add_argument("chimerac")
    parser.add_argument("example", nargs="*")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--json", help="write the figures to this file too")
    args = parser.parse_args()
    rows = [measure(args.measure, args.chimerac, path, args.runs) for path in args.example or examples()]
    print("\n".join(table(rows)))
    print(f"\nBars: {1e3 * BAR_S:.0f} ms, {BAR_BYTES >> 20} MiB. Runs of each: {args.runs}.")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"bar_s": BAR_S, "bar_bytes": BAR_BYTES, "runs": args.runs, "examples": rows}, f, indent=2)
            f.write("\n")
    return 0 if rows and all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
