#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every module includes only what its layer may use, and that the runtime stands alone.

    layers.py [ROOT]

The table is the one of compiler/CMakeLists.txt. Also checked: includes of ours name their folder ("ir/type.h"), name
files that exist, and no two hand-written C files of the compiler and the runtime share a name.
"""

import os
import re
import sys

ALL = ("base", "diag", "ir", "front", "cost", "check", "pass", "emit", "driver")
MAY_INCLUDE = {
    "base": (),
    "diag": ("base",),
    "ir": ("base", "diag"),
    "front": ("base", "diag", "ir"),
    "cost": ("base", "diag", "ir"),
    "check": ("base", "diag", "ir"),
    "pass": ("base", "diag", "ir", "cost", "check"),
    "emit": ("base", "diag", "ir", "cost", "check"),
    "driver": ALL,
}
GENERATED = {"front/plan.tab.h", "front/plan.lex.h", "ir/ir.tab.h", "ir/ir.lex.h"}
GRAMMAR_OF = {"plan": "front", "ir": "ir"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def c_files(top):
    """C sources, headers and grammars below a folder, in order."""
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".c", ".h", ".def", ".inc", ".l", ".y")):
                yield os.path.join(folder, name)


def includes(path):
    """(line number, quoted?, name) of each include."""
    with open(path, encoding="utf-8", errors="replace") as f:
        for number, line in enumerate(f, 1):
            found = INCLUDE.match(line)
            if found:
                yield number, found.group(1) == '"', found.group(2)


def check_include(root, module, quoted, name):
    """What is wrong with an include in a file of a module, or None."""
    folder = name.split("/")[0] if "/" in name else None
    if not quoted:
        return f"'{name}' is ours: use quotes" if folder in MAY_INCLUDE else None
    if folder is None:
        return f"'{name}' does not name its folder, such as \"{module}/{name}\""
    if folder not in MAY_INCLUDE:
        return f"'{name}' is in no module"
    if folder != module and folder not in MAY_INCLUDE[module]:
        return f"module '{module}' may not include '{name}'"
    if name not in GENERATED and not os.path.isfile(os.path.join(root, "compiler", name)):
        return f"no file 'compiler/{name}'"
    return None


def module_of(root, path):
    """The module a file belongs to; 'runtime' for the runtime."""
    parts = os.path.relpath(path, root).split(os.sep)
    if parts[0] == "grammar":
        return GRAMMAR_OF.get(os.path.splitext(parts[-1])[0])
    return "runtime" if parts[0] == "runtime" else parts[1]


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
    problems, seen, count = [], {}, 0
    for top in ("compiler", "grammar", "runtime"):
        for path in c_files(os.path.join(root, top)):
            count += 1
            short, base, module = os.path.relpath(path, root), os.path.basename(path), module_of(root, path)
            if base in seen:
                problems.append(f"{short}: has the name of {seen[base]}")
            seen[base] = short
            if module != "runtime" and module not in MAY_INCLUDE:
                problems.append(f"{short}: '{module}' is not a module of the layer table")
                continue
            for number, quoted, name in includes(path):
                if module != "runtime":
                    problem = check_include(root, module, quoted, name)
                elif os.path.isfile(os.path.join(root, "compiler", name)) or name.split("/")[0] in MAY_INCLUDE:
                    problem = f"the runtime may not include '{name}' of the compiler"
                elif quoted and not os.path.isfile(os.path.join(root, "runtime", name)):
                    problem = f"no file 'runtime/{name}'"
                else:
                    problem = None
                if problem:
                    problems.append(f"{short}:{number}: {problem}")
    for problem in problems:
        print(problem)
    print(f"{count} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
