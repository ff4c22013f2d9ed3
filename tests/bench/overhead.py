#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the runtime costs: emitted C beside hand-written MPI with the same operations.

    overhead.py CHIMERAC [--quick] [--ranks 4|8] [--network] [--launches N] [--json FILE] [--markdown FILE] [SCHEDULE...]

Each schedule is one program (forms_hand.c) that checks both forms, then runs them by turns: on local ranks, or with --network on the
rate-limited switch of net.py (root). Once with the runtime's own schedules beside rings by hand, once with
CHRT_COLLECTIVES=library beside MPI's collectives. A ratio is taken in each repetition, between neighbours; of a launch counts the
median, of all the median of the launches. Exit status 1 when a run fails or a result is wrong; a bar that is missed
is told, and is no failure.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys

import net
import sim

HERE = sim.HERE
# As emitted: the plan at -O0, or Chimera's form.
SCHEDULES = {"tp_sp_written": "all_reduce, slice", "tp_sp": "reduce_scatter", "tp_pp": "reduce_scatter, shift, all_gather",
             "pp_sp": "exchange, no copies", "pp_ep": "exchange, strided"}
FORMS = ("emitted", "hand", "emitted_entering", "hand_entering")
# Which is compared with which.
RATIOS = {"rerun": ("emitted", "hand"), "run": ("emitted_entering", "hand_entering")}
SIZES = {"64 KiB": ({"seq": 256, "hidden": 64, "slot": 128, "expert": 8}, 400),
         "1 MiB": ({"seq": 1024, "hidden": 256, "slot": 128, "expert": 8}, 120),
         "16 MiB": ({"seq": 2048, "hidden": 2048, "slot": 256, "expert": 8}, 12)}
BAR = 1.03
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}  # which containers do not allow


def sized(text, size, ranks, name):
    """The plan or IR for so many ranks and bytes, under the name."""
    numbers = dict(SIZES[size][0])
    if "expert" in text:
        numbers["hidden"] = numbers["seq"] * numbers["hidden"] // (numbers["expert"] * numbers["slot"])
    text = sim.set_numbers(text, ("param", "tensor"), numbers)
    last = {"tp": ranks if "mesh cluster (tp" in text else ranks // 2, "sp": ranks // 2, "ep": ranks // 2}
    text = sim.set_numbers(text, ("mesh",), last)
    lines = [f"plan {name}{';' if line.endswith(';') else ''}" if line.startswith("plan ") else line for line in text.split("\n")]
    return "\n".join(lines)


class Bench(net.Lab):
    def build(self, cell):
        name, base = cell["schedule"], os.path.join(self.folder, f"{cell['schedule']}-{cell['size'].replace(' ', '')}")
        if name.endswith("_written"):
            original, path = os.path.join(sim.ROOT, "examples", "pairs", name[: -len("_written")] + ".plan"), base + ".plan"
        else:
            original, path = os.path.join(HERE, "chimera", name + ".ir"), base + ".ir"
        with open(original, encoding="utf-8") as f:
            text = sized(f.read(), cell["size"], cell["ranks"], name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        self.compile(path, "-O0", [], "c", base + ".c")
        self.link(base, "forms_hand.c", [self.unit(base + ".c", "emitted")])
        return base

    def launch(self, program, cell, library, repetitions):
        env = dict(os.environ, CHRT_COLLECTIVES="library" if library else "own", **OPEN_MPI)
        command = [program, "-r", repetitions, "-w", 2]
        if cell["network"]:
            command = [os.path.join(HERE, "netlab.sh"), "run", *command]
        else:
            command = ["mpirun.openmpi", "--bind-to", "none", "-n", cell["ranks"], *command]
        try:
            times, error = self.forms(self.call(command, env=env, timeout=600), "ok", FORMS)
        except subprocess.TimeoutExpired:
            times, error = None, "no end within 10 minutes"
        if error:
            cell["errors"].append(error)
            return
        kind = "library" if library else "own"
        cell["launches"].setdefault(kind, []).append({"load": net.load(), "times_s": times})


def summarise(cell):
    for kind, launches in cell["launches"].items():
        times = [launch["times_s"] for launch in launches]
        cell[kind] = {"time_s": {form: net.spread([statistics.median(t[form]) for t in times]) for form in FORMS},
                      "ratio": {name: net.spread([statistics.median(x / y for x, y in zip(t[ours], t[hand])) for t in times])
                                for name, (ours, hand) in RATIOS.items()}}


def verdict(cells):
    whole = [c for c in cells if not c["errors"]]
    if len(whole) < len(cells):
        yield from sim.bar(f"every run ends, and ends right: {len(cells) - len(whole)} do not", False,
                           [f"{c['schedule']}, {c['size']}: {c['errors'][0].splitlines()[-1]}" for c in cells if c["errors"]])
    for name, text in (("rerun", "a rerun within 3% of the hand-written program"),
                       ("run", "a run within 3% of the hand-written program behind a small all_reduce")):
        for size in SIZES:
            some = [(c, kind, c[kind]["ratio"][name]["median"]) for c in whole if c["size"] == size for kind in c["launches"]]
            slow = [(c, kind, r) for c, kind, r in some if r > BAR]
            if some:
                yield from sim.bar(f"{size}: {text}: {len(some) - len(slow)} of {len(some)}; "
                                   f"all together {sim.mean([r for _, _, r in some]):.3f}", not slow,
                                   [f"{c['schedule']}, {kind}: {r:.3f}" for c, kind, r in slow])


def table(cells):
    """Markdown, one row a schedule and size."""
    yield "| schedule | tensor | collectives | rerun, ms | by hand, ms | rerun / by hand | run / by hand behind an all_reduce |"
    yield "|---|---:|---|---:|---:|---:|---:|"
    for c in cells:
        for kind in c["launches"]:
            time, ratio = c[kind]["time_s"], c[kind]["ratio"]
            row = [f"{c['schedule']}: {SCHEDULES[c['schedule']]}", c["size"], kind]
            row += [f"{1e3 * time[form]['median']:.3g}" for form in ("emitted", "hand")]
            row += [net.shown(ratio[name], 3) for name in RATIOS]
            yield "| " + " | ".join(row) + " |"


def report(cells):
    yield from ("### Verdict", "")
    yield from verdict(cells)
    whole = [c for c in cells if not c["errors"]]
    if whole:
        where = "8 x 200 Mbit/s, one switch" if whole[0]["network"] else f"{whole[0]['ranks']} local ranks"
        yield from ("", f"### {where}", "")
        yield from table(whole)
        yield from ("", net.circumstances([launch for c in whole for some in c["launches"].values() for launch in some],
                                          len(next(iter(whole[0]["launches"].values())))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chimerac")
    parser.add_argument("schedule", nargs="*", default=[*SCHEDULES])
    parser.add_argument("--quick", action="store_true", help="one launch of a quarter of the repetitions")
    parser.add_argument("--launches", type=int, help="launches of each program (3)")
    parser.add_argument("--ranks", type=int, choices=(4, 8), default=8, help="local ranks (8)")
    parser.add_argument("--network", action="store_true", help="8 ranks on the rate-limited switch")
    parser.add_argument("--size", choices=SIZES, action="append", help="only this one; on the network 1 and 16 MiB")
    parser.add_argument("--folder", help="where programs are built", default=os.path.join(sim.ROOT, "build-release", "bench-overhead"))
    net.add_outputs(parser)
    args = parser.parse_intermixed_args()
    unknown = [name for name in args.schedule if name not in SCHEDULES]
    if unknown:
        parser.error(f"no schedule '{unknown[0]}'; there are {', '.join(SCHEDULES)}")
    if args.figures:
        cells = net.read_cells(args.figures)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is ended too
        bench = Bench(os.path.abspath(args.chimerac), args.folder)
        cells = [{"schedule": name, "size": size, "ranks": 8 if args.network else args.ranks, "network": args.network, "launches": {},
                  "errors": []}
                 for size in args.size or list(SIZES)[args.network:] for name in args.schedule]
        try:
            if args.network:
                bench.up("switch")
            programs = [bench.build(cell) for cell in cells]
            for _ in range(args.launches or (1 if args.quick else 3)):
                for cell, program in zip(cells, programs):
                    repetitions = 6 if args.network else SIZES[cell["size"]][1] // (4 if args.quick else 1)
                    for library in (False, True):
                        if not cell["errors"]:
                            bench.launch(program, cell, library, repetitions)
        finally:
            if args.network:
                bench.down()
        for cell in cells:
            if not cell["errors"]:
                summarise(cell)
    return net.write_outputs(args, cells, "\n".join(report(cells)) + "\n")


if __name__ == "__main__":
    sys.exit(main())
