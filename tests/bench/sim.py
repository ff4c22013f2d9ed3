#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every example on every machine, simulated: as written, as Chimera fuses it, and ours.

    sim.py CHIMERAC [--quick | --large] [--own-only] [--jobs N] [--json FILE] [--markdown FILE] [--cache FOLDER] [PLAN...]

A cell is a plan, a machine, a number of ranks and a size. Its three forms are C from the same emitter, linked to the same
runtime: the plan at -O0, tests/bench/chimera/PLAN.ir at -O0, and the plan at -O3 for the machine. All end in the plan's own
layouts. smpirun runs them, unmodified, on a platform with the numbers of the machine's .topo file (platform.py); a time is
that of the slowest rank, after a warm-up. Simulated time is deterministic, so a result is kept under the hash of all that it
comes from, and looked up the next time. Exit status 1 when a run fails; a bar that is missed is told, and is no failure.
"""

import argparse
import hashlib
import json
import math
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
FORMS = ("written", "chimera", "ours")
NAMES = {"written": "as written", "chimera": "Chimera", "ours": "ours"}
SIZES = {"64 MiB": 64 << 20, "1 MiB": 1 << 20, "64 KiB": 64 << 10}
PAIRS = ("tp_sp", "tp_ep", "tp_pp", "pp_ep", "pp_sp", "sp_ep")
MULTI = ("moe_3d", "moe_4d")
MACHINES = ("switch", "torus_2d", "torus_3d", "mesh_2d", "nodes_of_4", "nvlink_nic", "nvlink_shared_nic", "pcie_box")

# ---- plans of other sizes

# Of a plan's tensors and params. 64 MiB is what the files say.
DIMS = {
    "64 MiB": {"hidden": 2048, "seq": 8192, "ffn": 8192},
    "1 MiB": {"hidden": 256, "seq": 1024, "ffn": 1024},
    "64 KiB": {"hidden": 64, "seq": 256, "ffn": 256},
}
SLOTS = {"64 MiB": 8192, "1 MiB": 1024, "64 KiB": 256}  # experts * slots


def set_numbers(text, words, numbers):
    """Text with 'NAME = ...' changed on the lines that begin with one of the words."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line.split(" ", 1)[0] in words:
            for name, number in numbers.items():
                lines[i] = re.sub(rf"\b{name} = \d+", f"{name} = {number}", lines[i])
    return "\n".join(lines)


def resized(text, cell):
    """A plan or its IR for the cell's ranks and size: the last axis of the mesh takes the ranks, and experts follow."""
    axes = re.search(r"^mesh \w+ \((.*)\)", text, re.M).group(1)
    axes = {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", axes)}
    last = list(axes)[-1]
    factor = cell["ranks"] // math.prod(axes.values())
    experts = re.search(r"\bexpert = (\d+)", text)
    numbers = dict(DIMS[cell["size"]])
    if experts:
        numbers["expert"] = int(experts.group(1)) * factor
        numbers["slot"] = SLOTS[cell["size"]] // numbers["expert"]
    text = set_numbers(text, ("mesh",), {last: axes[last] * factor})
    return set_numbers(text, ("param", "tensor"), numbers)


# ---- machines


def machine_numbers(name, ranks):
    """What the file's params must be for so many ranks."""
    if name in ("torus_2d", "mesh_2d"):
        return {"rows": ranks // 4, "columns": 4}
    if name == "torus_3d":
        return {"layers": ranks // 4}
    if name.startswith("nvlink") and ranks < 16:
        return {"node": 4}
    return {}


def platform_arguments(topology, ranks):
    """Of platform.py, for the topology of --emit=json."""
    levels = topology["levels"]
    rates = [f"{level['bandwidth_bytes_per_s']:.0f}Bps" for level in levels]
    lats = [level["latency_s"] for level in levels]
    if len(levels) == 1 and levels[0]["kind"] == "switch":
        return ["star", ranks, rates[0], f"{lats[0] / 2:.12g}s"]
    if len(levels) == 1:
        grid = list(reversed(levels[0]["grid"]))  # here the first is the fastest
        kind = {("torus", 2): "torus", ("torus", 3): "torus3", ("mesh", 2): "mesh"}[levels[0]["kind"], len(grid)]
        return [kind, *grid, rates[0], f"{lats[0]:.12g}s"]
    if len(levels) != 2 or any(level["kind"] != "switch" for level in levels):
        sys.exit("sim.py: no platform for such a topology")
    per = levels[0]["group_ranks"]
    shared = levels[1]["shared"]
    outside = (lats[1] - lats[0]) / 2 if shared else lats[1] / 2
    return ["two-level" if shared else "nic", ranks // per, per, *rates, f"{max(outside, 0):.12g}s", f"{lats[0] / 2:.12g}s"]


# ---- running


class Bench:
    """The tools, and the folder where results are kept."""

    cc = "smpicc"

    def __init__(self, chimerac, folder):
        self.chimerac = chimerac
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.runtime = self.build_runtime()
        listed = self.must([chimerac, "--list-passes"])
        self.passes = re.search(r"^-O3 (\S+)", listed, re.M).group(1).split(",")

    def call(self, command, **more):
        done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)
        return done.returncode, done.stdout, done.stderr

    def must(self, command, **more):
        code, out, err = self.call(command, **more)
        if code != 0:
            sys.exit(f"{os.path.basename(sys.argv[0])}: {' '.join(map(str, command))} failed:\n{out}{err}")
        return out

    def build_runtime(self):
        """The runtime as objects, and the hash of its sources."""
        digest, objects, folder = hashlib.sha256(), [], os.path.join(ROOT, "runtime")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as f:
                digest.update(f.read())
            if name.endswith(".c"):
                objects.append(os.path.join(self.folder, name[:-2] + ".o"))
                self.must([self.cc, "-std=c11", "-O2", "-I", folder, "-c", os.path.join(folder, name), "-o", objects[-1]])
        self.runtime_hash = digest.hexdigest()
        return objects

    def compile(self, path, level, machine, kind, output):
        return self.must([self.chimerac, "-q", level, *machine, f"--emit={kind}", *(["--driver"] if kind == "c" else []),
                          "-o", output, path])

    def simulate(self, source, platform, ranks, library):
        """(baseline, optimized) seconds of an emitted driver."""
        digest = hashlib.sha256(self.runtime_hash.encode())
        for path in (source, platform, os.path.join(HERE, "smpi.sh")):
            with open(path, "rb") as f:
                digest.update(f.read())
        digest.update(b"library" if library else b"own")
        kept = os.path.join(self.folder, digest.hexdigest()[:32] + ".result")
        if not os.path.exists(kept):
            program = source[:-2]
            self.must([self.cc, "-std=c11", "-O2", "-I", os.path.join(ROOT, "runtime"), source, *self.runtime, "-lm", "-o", program])
            env = dict(os.environ, CHRT_COLLECTIVES="library" if library else "own")
            code, out, err = self.call([os.path.join(HERE, "smpi.sh"), platform, ranks, program, "-r", 1, "--time-only"], env=env)
            os.remove(program)
            # A deadlock exits 0, so the driver's own last line counts.
            found = re.search(r"chimera-driver: unchecked .*baseline_s=(\S+) optimized_s=(\S+)", out)
            if code != 0 or not found:
                return None, (out + err)[-2000:]
            with open(kept + ".new", "w", encoding="utf-8") as f:
                f.write(f"{found.group(1)} {found.group(2)}\n")
            os.replace(kept + ".new", kept)
        with open(kept, encoding="utf-8") as f:
            return tuple(map(float, f.read().split())), None

    def run(self, cell):
        """The cell with its figures."""
        label = f"{cell['plan']}-{cell['machine']}-{cell['ranks']}-{cell['size'].replace(' ', '')}"
        base = os.path.join(self.folder, label)
        with open(os.path.join(ROOT, "examples", "topologies", cell["machine"] + ".topo"), encoding="utf-8") as f:
            text = set_numbers(f.read(), ("param",), machine_numbers(cell["machine"], cell["ranks"]))
        with open(f"{base}.topo", "w", encoding="utf-8") as f:
            f.write(text)
        machine = ["--topology", f"{base}.topo"]
        folder = "multi" if cell["plan"] in MULTI else "pairs"
        inputs = {"ours": (os.path.join(ROOT, "examples", folder, cell["plan"] + ".plan"), f"{base}.plan", "-O3"),
                  "chimera": (os.path.join(HERE, "chimera", cell["plan"] + ".ir"), f"{base}-chimera.ir", "-O0")}
        cell.update(predicted_s={}, own_s={}, library_s={}, errors=[])
        ends = {}
        for form, (original, path, level) in inputs.items():
            with open(original, encoding="utf-8") as f:
                text = resized(f.read(), cell)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            source = f"{base}-{form}.c"
            self.compile(path, level, machine, "c", source)
            facts = json.loads(self.compile(path, level, machine, "json", "-"))
            ends[form] = facts["outputs"]
            cell["predicted_s"][form] = facts["traffic"]["optimized"]["time_s"]
            if form == "ours":
                cell["predicted_s"]["written"] = facts["traffic"]["baseline"]["time_s"]
                cell["bound_s"] = facts["traffic"].get("bound_s")
                platform = f"{base}.xml"
                with open(platform, "w", encoding="utf-8") as f:
                    f.write(self.must([sys.executable, os.path.join(HERE, "platform.py"),
                                       *platform_arguments(facts["topology"], cell["ranks"])]))
                cell["ours"] = self.compile(path, level, machine, "ir", "-")
        if ends["ours"] != ends["chimera"]:
            sys.exit(f"sim.py: {label}: the forms end in other layouts: {ends}")
        for form in inputs:
            for library in (False, True) if cell["library"] else (False,):
                times, error = self.simulate(f"{base}-{form}.c", platform, cell["ranks"], library)
                key = "library_s" if library else "own_s"
                if error:
                    cell["errors"].append(f"{form}, {key}: {error}")
                    continue
                cell[key][form] = times[1]
                if form == "ours":
                    cell[key]["written"] = times[0]
        if cell["plan"] in MULTI:  # their tensors are independent of one another
            self.run_apart(cell, base, machine, platform)
        return cell


    def run_apart(self, cell, base, machine, platform):
        """What starting early gains: the figures of -O3 without the pass 'schedule'."""
        source = f"{base}-apart.c"
        passes = f"--passes={','.join(p for p in self.passes if p != 'schedule')}"
        self.compile(f"{base}.plan", passes, machine, "c", source)
        facts = json.loads(self.compile(f"{base}.plan", passes, machine, "json", "-"))
        cell["predicted_s"]["apart"] = facts["traffic"]["optimized"]["time_s"]
        times, error = self.simulate(source, platform, cell["ranks"], False)
        if error:
            cell["errors"].append(f"apart: {error}")
        else:
            cell["own_s"]["apart"] = times[1]


# ---- what is run


def matrix(plans, quick, own_only, large):
    """Cells in order of the tables."""
    cells = []

    def add(plan, machine, ranks, size):
        library = not own_only and (not quick or machine == "switch") and ranks < 256
        cells.append({"plan": plan, "machine": machine, "ranks": ranks, "size": size, "library": library})

    for size in ("64 MiB", "64 KiB") if quick else SIZES:
        for machine in ("switch", "torus_2d", "nodes_of_4", "nvlink_shared_nic") if quick else MACHINES:
            for plan in plans:
                add(plan, machine, 16 if plan in MULTI else 8, size)
    if not quick:
        for size in SIZES:
            for machine in ("torus_2d", "mesh_2d"):
                for plan in plans:
                    if plan in PAIRS:
                        add(plan, machine, 16, size)
        for ranks in (32, 64, 256) if large else (32, 64):
            for size in {32: tuple(SIZES), 64: ("1 MiB", "64 KiB"), 256: ("64 KiB",)}[ranks]:
                for machine in ("switch", "nvlink_nic", "nvlink_shared_nic")[: 1 if ranks == 256 else 3]:
                    for plan in plans:
                        if plan in ("tp_sp", "tp_pp"):
                            add(plan, machine, ranks, size)
    return cells


# ---- the bars

TOLERANCE = 1.02
ONE_LEVEL = ("switch", "torus_2d", "torus_3d", "mesh_2d")
FIGURES = (("tp_pp", "switch", 1.44e-3), ("pp_sp", "switch", 1.34e-3), ("pp_sp", "nodes_of_4", 0.84e-3),
           ("tp_pp", "nodes_of_4", 0.74e-3))


def name_of(cell):
    return f"{cell['plan']}, {cell['machine']}, {cell['ranks']} ranks, {cell['size']}"


def mean(ratios):
    """Geometric; 0 of nothing."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0


def orders(cell, key):
    """(agreeing, differing) pairs of forms that differ by more than 10% in simulated time."""
    agree = differ = 0
    for a, b in (("written", "chimera"), ("written", "ours"), ("chimera", "ours")):
        x, y = cell[key].get(a), cell[key].get(b)
        if x and y and max(x, y) > 1.1 * min(x, y):
            differ += 1
            agree += (x < y) == (cell["predicted_s"][a] < cell["predicted_s"][b])
    return agree, differ


def ratio(cell, form, key="own_s"):
    return cell[key][form] / cell[key]["ours"]


def bar(text, ok, misses=()):
    yield f"- **{'met' if ok else 'MISSED'}**: {text}"
    for miss in misses:
        yield f"  - {miss}"


def verdict(cells):
    """Lines of Markdown: every bar, and the cells that miss it."""
    whole = [c for c in cells if not c["errors"]]
    if len(whole) < len(cells):
        yield from bar(f"every run ends: {len(cells) - len(whole)} do not", False, [f"{name_of(c)}: {c['errors'][0].splitlines()[-1]}" for c in cells if c["errors"]])
    for form in ("written", "chimera"):
        slow = [c for c in whole if ratio(c, form) < 1 / TOLERANCE]
        yield from bar(f"no cell slower than {NAMES[form]} beyond 2%: {len(whole) - len(slow)} of {len(whole)}", not slow,
                       [f"{name_of(c)}: {1 / ratio(c, form):.3f} of {NAMES[form]}; predicted "
                        f"{c['predicted_s']['ours'] / c['predicted_s'][form]:.3f}" for c in slow])
    big = [c for c in whole if c["size"] == "64 MiB"]
    for text, some, least in (("one-level", [c for c in big if c["machine"] in ONE_LEVEL], 1.1),
                              ("two-level", [c for c in big if c["machine"] not in ONE_LEVEL], 1.25)):
        m = mean([ratio(c, "chimera") for c in some])
        yield from bar(f"geometric mean over Chimera at 64 MiB, {text} machines: {m:.2f}, at least {least}", m >= least)
    m = mean([ratio(c, "written") for c in big])
    yield from bar(f"geometric mean over as written at 64 MiB: {m:.2f}, at least 1.8", m >= 1.8)
    m = mean([ratio(c, "written") for c in whole])
    yield f"- geometric means over all sizes: {m:.2f} over as written, {mean([ratio(c, 'chimera') for c in whole]):.2f} over Chimera"
    far = [c for c in big if c["machine"] == "switch" and c["bound_s"] and c["own_s"]["ours"] > 1.1 * c["bound_s"]]
    yield from bar("bandwidth-bound cells (64 MiB) on the switch within 10% of the bound", not far,
                   [f"{name_of(c)}: {c['own_s']['ours'] / c['bound_s']:.2f} of the bound" for c in far])
    below = [c for c in whole if c["bound_s"] and min(c["own_s"].values()) < 0.995 * c["bound_s"]]
    yield from bar("nothing is quicker than the bound", not below, [name_of(c) for c in below])
    agree, differ = map(sum, zip(*[orders(c, "own_s") for c in whole])) if whole else (0, 0)
    wrong = [c for c in whole if orders(c, "own_s")[0] < orders(c, "own_s")[1]]
    yield from bar(f"predicted order of the forms, where simulated times differ by over 10%: right for {agree} of {differ} pairs, "
                   f"at least 95%", agree >= 0.95 * differ,
                   [f"{name_of(c)}: predicted / simulated, us: " + ", ".join(
                       f"{NAMES[f]} {1e6 * c['predicted_s'][f]:.4g} / {1e6 * c['own_s'][f]:.4g}" for f in FORMS) for c in wrong])
    for plan, machine, most in FIGURES:
        for c in whole:
            if (c["plan"], c["machine"], c["ranks"], c["size"]) == (plan, machine, 8, "64 MiB"):
                yield from bar(f"{name_of(c)}: {1e3 * c['own_s']['ours']:.3g} ms, at most 1.05 * {1e3 * most:.3g} ms",
                               c["own_s"]["ours"] <= 1.05 * most)


# ---- tables


def time_text(s):
    if s is None:
        return "–"
    return f"{1e3 * s:.3g} ms" if s >= 0.99995e-3 else f"{1e6 * s:.3g} us"


def table(cells):
    """Markdown, one row a cell."""
    yield ("| plan | machine | ranks | as written | Chimera | ours | predicted: as written, Chimera, ours | bound | ours / bound "
           "| over as written | over Chimera | library: as written, Chimera, ours |")
    yield "|---|---|---:|---:|---:|---:|---|---:|---:|---:|---:|---|"
    for c in cells:
        own, library = c["own_s"], c["library_s"]
        row = [c["plan"], c["machine"], str(c["ranks"])]
        row += [time_text(own.get(form)) for form in FORMS]
        row.append(", ".join(time_text(c["predicted_s"][form]) for form in FORMS))
        row.append(time_text(c["bound_s"]))
        row.append(f"{own['ours'] / c['bound_s']:.2f}" if c["bound_s"] and "ours" in own else "–")
        row += [f"{own[form] / own['ours']:.2f}" if form in own and "ours" in own else "–" for form in ("written", "chimera")]
        row.append(", ".join(time_text(library.get(form)) for form in FORMS))
        yield "| " + " | ".join(row) + " |"


def early_table(cells):
    """Markdown, one row a plan and machine; empty where no plan has tensors that are independent."""
    some = [c for c in cells if "apart" in c["own_s"]]
    sizes = [size for size in SIZES if any(c["size"] == size for c in some)]
    if not some:
        return
    yield from ("", "### What starting early gains", "")
    yield "| plan | machine | " + " | ".join(f"{size}: without, with | gain, predicted" for size in sizes) + " |"
    yield "|---|---|" + "---|---|" * len(sizes)
    for plan, machine in dict.fromkeys((c["plan"], c["machine"]) for c in some):
        row = [plan, machine]
        for c in (c for size in sizes for c in some if (c["plan"], c["machine"], c["size"]) == (plan, machine, size)):
            own, predicted = c["own_s"], c["predicted_s"]
            row.append(f"{time_text(own['apart'])}, {time_text(own['ours'])}")
            row.append(f"{own['apart'] / own['ours']:.2f}, {predicted['apart'] / predicted['ours']:.2f}" if " = start " in c["ours"] else "kept")
        yield "| " + " | ".join(row) + " |"


def report(cells):
    yield "### Verdict"
    yield ""
    yield from verdict(cells)
    for size in SIZES:
        some = [c for c in cells if c["size"] == size]
        if some:
            yield from ("", f"### {size}", "")
            yield from table(some)
    yield from early_table(cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chimerac")
    parser.add_argument("plan", nargs="*", default=[*PAIRS, *MULTI])
    parser.add_argument("--quick", action="store_true", help="64 MiB and 64 KiB, 8 or 16 ranks, four machines; library on the switch only")
    parser.add_argument("--large", action="store_true", help="256 ranks too, with the runtime's own collectives: a quarter of an hour for each cell")
    parser.add_argument("--own-only", action="store_true", help="leave out the runs with library collectives")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at a time (2); a large one takes some gigabytes")
    parser.add_argument("--json", help="write the figures to this file too")
    parser.add_argument("--markdown", help="write the tables to this file too")
    parser.add_argument("--cache", help="folder of kept results", default=os.path.join(ROOT, "build-release", "bench-sim"))
    parser.add_argument("--from", dest="figures", metavar="FILE", help="run nothing: tables of the figures of an earlier --json")
    args = parser.parse_intermixed_args()
    if args.figures:
        with open(args.figures, encoding="utf-8") as f:
            cells = json.load(f)["cells"]
    else:
        bench = Bench(os.path.abspath(args.chimerac), args.cache)
        with ThreadPoolExecutor(args.jobs) as pool:
            cells = list(pool.map(bench.run, matrix(args.plan, args.quick, args.own_only, args.large)))
    text = "\n".join(report(cells)) + "\n"
    sys.stdout.write(text)
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as f:
            f.write(text)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"cells": cells}, f, indent=2)
            f.write("\n")
    return 1 if any(c["errors"] for c in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
