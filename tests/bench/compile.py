#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of compiling every example and a plan for 16,384 ranks, against the bars.

    compile.py MEASURE CHIMERAC [--runs N] [--json FILE] [EXAMPLE...]

A run is one process, 'chimerac -q -o /dev/null EXAMPLE', from fork to exit (measure.c). Of its N runs an example has
the median of the wall-clock times and the largest resident set. The plan for 16,384 ranks (large_plan.py; left out where
examples are named) is compiled at -O3, has bars of its own (the time is the processor's), and one on the size of the C: at -O0 that of the same plan on
128 ranks, but for the numbers in it, and at -O3 no more than twice that. Prints a Markdown table; exit status 1 when a
bar is missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

BAR_S = 0.050
BAR_BYTES = 32 << 20
LARGE_BAR_S = 0.100
LARGE_BAR_BYTES = 64 << 20
NUMBERS = 1.02  # longer numbers of a larger mesh
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def examples():
    """Every plan below examples/, in order."""
    found = []
    for folder, _, names in os.walk(os.path.join(ROOT, "examples")):
        found += [os.path.join(folder, name) for name in names if name.endswith(".plan")]
    return sorted(found)


def measure(measurer, chimerac, name, path, options=(), runs=11, bar_s=BAR_S, bar_bytes=BAR_BYTES,
            judged="wall_s"):
    """The figures of one example. The first run, which warms the caches, does not count."""
    command = [measurer, str(runs + 1), chimerac, "-q", *options, "-o", os.devnull, path]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"compile.py: chimerac failed on {path}")
    walls, cpus, sizes = zip(*(map(float, line.split()) for line in done.stdout.splitlines()[1:]))
    figures = {
        "example": name,
        "wall_s": statistics.median(walls),
        "wall_worst_s": max(walls),
        "cpu_s": statistics.median(cpus),
        "peak_bytes": int(max(sizes)),
    }
    figures["ok"] = figures[judged] <= bar_s and figures["peak_bytes"] <= bar_bytes
    return figures


def measure_large(measurer, chimerac, runs, folder):
    """The figures of the plan for 16,384 ranks, and of the C that it becomes."""
    paths = {}
    for size, options in (("large", []), ("small", ["--small"])):
        paths[size] = os.path.join(folder, size + ".plan")
        with open(paths[size], "w", encoding="utf-8") as f:
            subprocess.run([sys.executable, os.path.join(HERE, "large_plan.py"), *options], stdout=f, check=True)

    def emitted_bytes(size, level):
        return len(subprocess.run([chimerac, "-q", level, paths[size]], stdout=subprocess.PIPE, check=True).stdout)

    figures = measure(measurer, chimerac, "16,384 ranks, -O3", paths["large"], ["-O3"], min(runs, 5), LARGE_BAR_S,
                      LARGE_BAR_BYTES, "cpu_s")
    small, plain, best = emitted_bytes("small", "-O0"), emitted_bytes("large", "-O0"), emitted_bytes("large", "-O3")
    figures |= {"emitted_O0_bytes": plain, "emitted_O0_128_ranks_bytes": small, "emitted_O3_bytes": best}
    figures["ok"] = figures["ok"] and plain <= NUMBERS * small and best <= 2 * small
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
    rows = [
        measure(args.measure, args.chimerac, os.path.relpath(path, ROOT), path, runs=args.runs)
        for path in args.example or examples()
    ]
    if not args.example:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure_large(args.measure, args.chimerac, args.runs, folder))
    print("\n".join(table(rows)))
    print(f"\nBars: {1e3 * BAR_S:.0f} ms, {BAR_BYTES >> 20} MiB. Runs of each: {args.runs}.")
    if not args.example:
        large = rows[-1]
        print(f"16,384 ranks: {1e3 * LARGE_BAR_S:.0f} ms of processor time, {LARGE_BAR_BYTES >> 20} MiB; the C has {large['emitted_O0_bytes']} "
              f"bytes at -O0, {large['emitted_O0_128_ranks_bytes']} on 128 ranks, and {large['emitted_O3_bytes']} at -O3.")
    if args.json:
        bars = {"bar_s": BAR_S, "bar_bytes": BAR_BYTES, "large_bar_s": LARGE_BAR_S, "large_bar_bytes": LARGE_BAR_BYTES}
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({**bars, "runs": args.runs, "examples": rows}, f, indent=2)
            f.write("\n")
    return 0 if rows and all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
