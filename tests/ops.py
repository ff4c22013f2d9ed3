#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what names the ops outside of the compiler's C names those of compiler/ir/ops.def, and no others.

    ops.py [ROOT]

These are the JSON schema, the step codes of the runtime, and the table of the IR manual. An op with chunks (N in its
syntax) is a chain of others: it has no code of its own, and does not stand in a body.
"""

import json
import os
import re
import sys

ROW = re.compile(r'^CHM_OP\((\w+),\s*(\w+),\s*(\w+),\s*"([^"]*)"', re.M)
NOT_OPS = {"COPY"}  # codes of the runtime that no op has: an output that is an input


def read(root, *path):
    with open(os.path.join(root, *path), encoding="utf-8") as f:
        return f.read()


def difference(where, named, ops):
    """Complaints about names that are missing or too many."""
    for name in sorted(ops - named):
        yield f"{where} lacks '{name}' of ops.def"
    for name in sorted(named - ops):
        yield f"{where} names '{name}', which is not in ops.def"


def op_lists(node):
    """The lists of ops in a schema: each is the enum of a property 'op'."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "op" and isinstance(value, dict) and "enum" in value:
                yield set(value["enum"])
            yield from op_lists(value)
    elif isinstance(node, list):
        for value in node:
            yield from op_lists(value)


def step_codes(header):
    """The codes of the runtime's enum of steps, which begins with CHRT_ALL_REDUCE."""
    body = re.search(r"\{\s*CHRT_ALL_REDUCE\b.*?\}", header, re.S)
    text = re.sub(r"/\*.*?\*/", "", body.group(0), flags=re.S) if body else ""
    return set(re.findall(r"\bCHRT_(\w+)", text)) - NOT_OPS


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    rows = ROW.findall(read(root, "compiler", "ir", "ops.def"))
    every = {name for _, name, _, _ in rows}
    layout = [row for row in rows if row[2] == "LAYOUT"]
    steps = [row for row in layout if "N" not in row[3].split()]

    problems = [] if steps else ["no ops found in compiler/ir/ops.def"]
    lists = list(op_lists(json.loads(read(root, "compiler", "emit", "chimera.schema.json"))))
    if not any(every & named == every for named in lists):
        problems += ["chimera.schema.json: no list of ops has all of them"]
    for named in lists:
        ops = every if "output" in named else {name for _, name, _, _ in steps}
        problems += difference("chimera.schema.json", named, ops)
    problems += difference("the enum of steps of runtime/chrt.h", step_codes(read(root, "runtime", "chrt.h")),
                           {code for code, _, _, _ in steps})
    manual = set(re.findall(r"^\| `(\w+) %v\b", read(root, "grammar", "ir.md"), re.M))
    problems += difference("the table of grammar/ir.md", manual, {name for _, name, _, _ in layout})

    for problem in problems:
        print(problem)
    print(f"{len(rows)} ops, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
