#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The six pairs on a real MPI over a rate-limited network: as written, as Chimera fuses them, and ours.

    net.py CHIMERAC [--quick] [--launches N] [--repetitions N] [--network NAME] [--json FILE] [--markdown FILE] [PAIR...]

A network is 8 namespaces on this machine (netlab.sh, which needs root), and has a topology beside it in net/. The three forms of a
pair, tensors of 16 MiB, are one program (forms.h): it checks that each gives what the plan says, then runs them by turns. A time is
that of the slowest rank; of a launch the median of the repetitions; of all the median of the launches. A ratio is taken
in each repetition, between neighbours, then as times are. Exit status 1 when a run fails or a result is wrong; a
bar that is missed is told, and is no failure.
"""

import argparse
import json
import os
import statistics
import sys

import sim

HERE = sim.HERE
FORMS, NAMES, PAIRS = sim.FORMS, sim.NAMES, sim.PAIRS
RANKS = 8
SIZE = {"seq": 2048, "slot": 256}  # 16 MiB
NETWORKS = {"switch": ("200mbit",), "trunk": ("200mbit", "100mbit")}  # of netlab.sh up
TITLES = {"switch": "One switch, 8 x 200 Mbit/s", "trunk": "Two nodes of 4 x 200 Mbit/s, one trunk of 100 Mbit/s"}

# ---- running


class Lab(sim.Bench):
    """Programs for Open MPI, and one network at a time."""

    cc = "mpicc.openmpi"

    def netlab(self, *arguments):
        return self.call([os.path.join(HERE, "netlab.sh"), *arguments])

    def up(self, network):
        code, out, err = self.netlab("up", RANKS, *NETWORKS[network])
        if code != 0:
            sys.exit(f"net.py: {out}{err}")

    def down(self):
        self.netlab("down")

    def unit(self, source, form):
        """An emitted unit as an object for forms_main."""
        self.must([self.cc, "-std=c11", "-O2", "-I", os.path.join(sim.ROOT, "runtime"), f"-Dmain={form}_main", "-c", source,
                   "-o", source[:-2] + ".o"])
        return source[:-2] + ".o"

    def link(self, program, main, objects):
        own = [o for o in self.runtime if os.path.basename(o) != "chrt_driver.o"]
        self.must([self.cc, "-std=c11", "-O2", "-I", os.path.join(sim.ROOT, "runtime"), "-I", HERE, os.path.join(HERE, "forms.c"),
                   os.path.join(HERE, main), *objects, *own, "-lm", "-o", program])

    def forms(self, called, verdict, names):
        """(times of each form, None) of a program that forms.h runs, or (None, what went wrong)."""
        code, out, err = called
        lines = [line.split() for line in out.splitlines()]
        times = {line[1]: [float(s) for s in line[2:]] for line in lines if line[:1] == ["form"]}
        if code != 0 or ["forms:", verdict] not in lines or set(times) != set(names):
            return None, (out + err)[-2000:] or f"exit status {code}"
        return times, None

    def build(self, cell):
        """The cell's program; fills in predictions and the schedule."""
        base = os.path.join(self.folder, f"{cell['plan']}-{cell['network']}")
        topology = ["--topology", os.path.join(HERE, "net", cell["network"] + ".topo")]
        inputs = {"ours": (os.path.join(sim.ROOT, "examples", "pairs", cell["plan"] + ".plan"), ".plan", "-O3"),
                  "chimera": (os.path.join(HERE, "chimera", cell["plan"] + ".ir"), ".ir", "-O0")}
        objects, ends = [], {}
        for form, (original, suffix, level) in inputs.items():
            with open(original, encoding="utf-8") as f:
                text = sim.set_numbers(f.read(), ("param", "tensor"), SIZE)
            # Both units are one program: their functions begin with the plan's name.
            path = f"{base}-{form}{suffix}"
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(f"plan {cell['plan']}", f"plan {cell['plan']}_{form}", 1))
            self.compile(path, level, topology, "c", f"{base}-{form}.c")
            objects.append(self.unit(f"{base}-{form}.c", form))
            facts = json.loads(self.compile(path, level, topology, "json", "-"))
            ends[form] = facts["outputs"]
            cell["predicted_s"][form] = facts["traffic"]["optimized"]["time_s"]
            if form == "ours":
                cell["predicted_s"]["written"] = facts["traffic"]["baseline"]["time_s"]
                cell["bound_s"] = facts["traffic"].get("bound_s")
                cell["ours"] = self.compile(path, level, topology, "ir", "-")
        if ends["ours"] != ends["chimera"]:
            sys.exit(f"net.py: {cell['plan']}: the forms end in other layouts: {ends}")
        self.link(base, "forms_net.c", objects)
        return base

    def launch(self, program, cell, repetitions):
        """Adds the launch's times to the cell; only the first checks results."""
        first = not cell["launches"]
        times, error = self.forms(self.netlab("run", program, "-r", repetitions, "-w", 1, *([] if first else ["--time-only"])),
                                  "ok" if first else "unchecked", FORMS)
        if error:
            cell["errors"].append(error)
        else:
            cell["launches"].append({"load": load(), "times_s": times})


def load():
    """Of the machine, over the last minute."""
    with open("/proc/loadavg", encoding="ascii") as f:
        return float(f.read().split()[0])


def measure(lab, cells, launches, repetitions):
    """Launches of a cell lie apart, so that what disturbs one does not disturb all."""
    programs = [lab.build(cell) for cell in cells]
    for _ in range(launches):
        for cell, program in zip(cells, programs):
            if not cell["errors"]:
                lab.launch(program, cell, repetitions)
                print(f"net.py: {cell['network']}, {cell['plan']}: launch {len(cell['launches'])}", file=sys.stderr)


# ---- figures


def spread(values):
    """Median, least, most of the launches' medians."""
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def summarise(cell):
    launches = [launch["times_s"] for launch in cell["launches"]]
    cell["time_s"] = {form: spread([statistics.median(t[form]) for t in launches]) for form in FORMS}
    cell["ratio"] = {form: spread([statistics.median(x / y for x, y in zip(t[form], t["ours"])) for t in launches])
                     for form in ("written", "chimera")}


# ---- the bars

BARS = {("tp_sp", "switch"): 1.88, ("tp_ep", "switch"): 1.63, ("tp_pp", "switch"): 2.0, ("pp_ep", "switch"): 1.64,
        ("pp_sp", "switch"): 1.64, ("sp_ep", "switch"): 2.70, ("pp_sp", "trunk"): 3.3}
TOLERANCE = 1.06


def verdict(cells):
    whole = [c for c in cells if not c["errors"]]
    if len(whole) < len(cells):
        yield from sim.bar(f"every run ends, and ends right: {len(cells) - len(whole)} do not", False,
                           [f"{c['plan']}, {c['network']}: {c['errors'][0].splitlines()[-1]}" for c in cells if c["errors"]])
    for c in whole:
        least = BARS.get((c["plan"], c["network"]))
        if least:
            got = c["ratio"]["written"]["median"]
            yield from sim.bar(f"{c['plan']}, {c['network']}: {got:.2f} over as written, at least {least}", got >= least)
    for form in ("chimera", "written"):
        slow = [c for c in whole if c["ratio"][form]["median"] < 1 / TOLERANCE]
        yield from sim.bar(f"no pair slower than {NAMES[form]} beyond 6%: {len(whole) - len(slow)} of {len(whole)}", not slow,
                           [f"{c['plan']}, {c['network']}: {1 / c['ratio'][form]['median']:.3f} of {NAMES[form]}" for c in slow])


# ---- tables


def shown(s, digits):
    return f"{s['median']:.{digits}f} ({s['least']:.{digits}f} – {s['most']:.{digits}f})"


def table(cells):
    """Markdown, one row a pair."""
    yield "| plan | as written, s | Chimera, s | ours, s | predicted: as written, Chimera, ours, s | bound, s | over as written | over Chimera |"
    yield "|---|---:|---:|---:|---|---:|---:|---:|"
    for c in cells:
        row = [c["plan"], *(shown(c["time_s"][form], 3) for form in FORMS)]
        row.append(", ".join(f"{c['predicted_s'][form]:.3f}" for form in FORMS))
        row.append(f"{c['bound_s']:.3f}" if c["bound_s"] else "–")
        row += [shown(c["ratio"][form], 2) for form in ("written", "chimera")]
        yield "| " + " | ".join(row) + " |"


def report(cells):
    yield from ("### Verdict", "")
    yield from verdict(cells)
    for network in NETWORKS:
        some = [c for c in cells if c["network"] == network and not c["errors"]]
        if some:
            yield from ("", f"### {TITLES[network]}", "")
            yield from table(some)
            yield from ("", circumstances([launch for c in some for launch in c["launches"]], len(some[0]["launches"])))


def circumstances(launches, each):
    loads = [launch["load"] for launch in launches]
    return f"Launches: {each}. Load of the machine: {min(loads):.1f} to {max(loads):.1f} on {os.cpu_count()} processors."


# ---- command line


def add_outputs(parser):
    parser.add_argument("--json", help="write the figures to this file too")
    parser.add_argument("--markdown", help="write the tables to this file too")
    parser.add_argument("--from", dest="figures", metavar="FILE", help="run nothing: tables of the figures of an earlier --json")


def read_cells(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)["cells"]


def write_outputs(args, cells, text):
    """The exit status."""
    sys.stdout.write(text)
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            f.write(text)
    if args.json and args.json != args.figures:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"cells": cells}, f, indent=2)
            f.write("\n")
    return 1 if any(c["errors"] for c in cells) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chimerac")
    parser.add_argument("pair", nargs="*", default=[*PAIRS])
    parser.add_argument("--quick", action="store_true", help="one launch of three repetitions")
    parser.add_argument("--launches", type=int, help="launches of each pair (3)")
    parser.add_argument("--repetitions", type=int, help="timed repetitions in a launch (5)")
    parser.add_argument("--network", choices=NETWORKS, action="append", help="only this one")
    parser.add_argument("--folder", help="where programs are built", default=os.path.join(sim.ROOT, "build-release", "bench-net"))
    add_outputs(parser)
    args = parser.parse_intermixed_args()
    unknown = [pair for pair in args.pair if pair not in PAIRS]
    if unknown:
        parser.error(f"no pair '{unknown[0]}'; there are {', '.join(PAIRS)}")
    if args.figures:
        cells = read_cells(args.figures)
    else:
        lab, cells = Lab(os.path.abspath(args.chimerac), args.folder), []
        for network in args.network or NETWORKS:
            some = [{"plan": pair, "network": network, "predicted_s": {}, "launches": [], "errors": []} for pair in args.pair]
            cells += some
            try:
                lab.up(network)
                measure(lab, some, args.launches or (1 if args.quick else 3), args.repetitions or (3 if args.quick else 5))
            finally:
                lab.down()
        for cell in cells:
            if not cell["errors"]:
                summarise(cell)
    return write_outputs(args, cells, "\n".join(report(cells)) + "\n")


if __name__ == "__main__":
    sys.exit(main())
