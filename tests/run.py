#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests: one file = header + input + expected output, in comments of the file's own language.

    # RUN: chimerac -q --emit=ir --passes=cancel %s
    # WHAT: a gather whose result is only sliced again disappears
    ...input...
    # ---- stdout ----
    # ...expected output...

Keys, each '# KEY: value' before the first section:
  RUN    a command, split into words like a shell would, but run without one; several RUN lines run in order and
         their outputs are joined. The first word is chimerac, or one of the built-in 'cat FILE' and 'ls DIR'.
  WHAT   one line on what the test shows; required.
  EXIT   the exit status of the RUN line above it, when it is not 0.
  CHECK  'compiles': each C output (standard output, and *.c in %t) is compiled with warnings as errors.
In RUN lines: %s is this file's name, %t a fresh directory, %root the top of the tree, and the word %stdin is dropped
and makes the file standard input. Commands run in the file's folder, so diagnostics show its short name; the real
paths of %t and %root in outputs are shown as %t and %root.

Sections: '# ---- stdout ----' and '# ---- stderr ----'; a missing one means that nothing is printed there. Comparison
is exact. '# \\ no newline at end' as the last line of a section says just that. The tool reads the whole file,
expectation included, so a test that depends on the end of the input keeps that input in a file of its own, which has
no RUN line.

  run.py FILE|DIR...             run tests
  run.py --update FILE|DIR...    write what the tool prints now into the files (never when CI is set)
  run.py --roundtrip DIR         all good tests there: parse, print, parse, print; both texts must be the same
  run.py --manual FILE.md...     code blocks marked 'plan' or 'ir' must compile, 'plan bad' and 'ir bad' must not
"""

import argparse
import difflib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIMEOUT_S = 50
KEY = re.compile(r"^# ([A-Z]+): ?(.*)$")
SECTION = re.compile(r"^# ---- (stdout|stderr) ----$")
NO_NEWLINE = "\\ no newline at end"
MPICC_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I" + ROOT + "/runtime"]


class Failure(Exception):
    """A test did not pass; the text says why."""


class Run:
    """One RUN line."""

    def __init__(self, words):
        self.words = words
        self.exit = 0


class Test:
    """A parsed golden file."""

    def __init__(self, path):
        self.path = path
        self.runs = []
        self.what = None
        self.compiles = False
        self.head = []  # lines before the first section, as they are
        self.want = {"stdout": "", "stderr": ""}
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
            lines = f.read().split("\n")
        if lines[-1] == "":
            lines.pop()
        section, body = None, {"stdout": [], "stderr": []}
        for number, line in enumerate(lines, 1):
            start = SECTION.match(line)
            if start:
                section = start.group(1)
            elif section is None:
                self.head.append(line)
                self.read_key(number, line)
            elif line == "#" or line.startswith("# "):
                body[section].append(line[2:])
            else:
                raise Failure(f"{path}:{number}: after '# ---- {section} ----' every line starts with '# '")
        if not self.runs:
            raise Failure(f"{path}: no '# RUN:' line")
        if not self.what:
            raise Failure(f"{path}: no '# WHAT:' line")
        for name, expected in body.items():
            self.want[name] = from_lines(expected)

    def read_key(self, number, line):
        found = KEY.match(line)
        if not found:
            return
        key, value = found.groups()
        here = f"{self.path}:{number}"
        if key == "RUN":
            try:
                words = shlex.split(value)
            except ValueError as problem:
                raise Failure(f"{here}: RUN: {problem}") from None
            if not words or words[0] not in ("chimerac", "cat", "ls"):
                raise Failure(f"{here}: RUN starts with 'chimerac', 'cat' or 'ls'")
            self.runs.append(Run(words))
        elif key == "WHAT":
            self.what = value.strip()
        elif key == "EXIT":
            if not self.runs or not value.strip().isdigit():
                raise Failure(f"{here}: EXIT is a number and follows its RUN line")
            self.runs[-1].exit = int(value)
        elif key == "CHECK":
            if value.strip() != "compiles":
                raise Failure(f"{here}: the only CHECK is 'compiles'")
            self.compiles = True


def from_lines(lines):
    """The text that the lines of a section stand for."""
    if lines and lines[-1] == NO_NEWLINE:
        return "\n".join(lines[:-1])
    return "".join(line + "\n" for line in lines)


def to_section(name, text):
    """The lines of a section for a text."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines.append(NO_NEWLINE)
    return [f"# ---- {name} ----"] + [("# " + line) if line else "#" for line in lines]


def call(words, cwd, stdin=None):
    """(status, stdout, stderr) of a command; no shell, the C locale, bounded time."""
    environment = dict(os.environ, LC_ALL="C")
    try:
        done = subprocess.run(words, cwd=cwd, env=environment, stdin=stdin or subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"no end after {TIMEOUT_S} s: {shlex.join(words)}") from None
    except OSError as problem:
        raise Failure(f"cannot run {words[0]}: {problem.strerror}") from None
    out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise Failure(f"killed by {name}: {shlex.join(words)}\n{err}")
    return done.returncode, out, err


def builtin(words, cwd):
    """cat FILE and ls DIR, so that a test can look at what -o wrote."""
    path = os.path.join(cwd, words[1]) if len(words) == 2 else None
    try:
        if path is None:
            raise Failure(f"'{words[0]}' takes one argument")
        if words[0] == "ls":
            return "".join(name + "\n" for name in sorted(os.listdir(path)))
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
            return f.read()
    except OSError as problem:
        raise Failure(f"{words[0]} {words[1]}: {problem.strerror}") from None


def execute(test, chimerac):
    """Runs all RUN lines; the joined stdout and stderr. Raises Failure on a wrong exit status."""
    folder, name = os.path.split(os.path.abspath(test.path))
    joined = {"stdout": "", "stderr": ""}
    with tempfile.TemporaryDirectory(prefix="golden-") as temp:
        values = {"%s": name, "%t": temp, "%root": ROOT}
        for run in test.runs:
            words = [re.sub(r"%(root|s|t)\b", lambda m: values[m.group(0)], w) for w in run.words if w != "%stdin"]
            if words[0] != "chimerac":
                joined["stdout"] += builtin(words, folder).replace(temp, "%t").replace(ROOT, "%root")
                continue
            with open(test.path if "%stdin" in run.words else os.devnull, "rb") as stdin:
                status, out, err = call([chimerac] + words[1:], folder, stdin)
            if status != run.exit:
                raise Failure(f"exit status {status}, not {run.exit}: {shlex.join(run.words)}\n{out}{err}")
            if test.compiles and out:
                compile_c(out, temp)
            joined["stdout"] += out.replace(temp, "%t").replace(ROOT, "%root")
            joined["stderr"] += err.replace(temp, "%t").replace(ROOT, "%root")
        if test.compiles:
            for made in sorted(os.listdir(temp)):
                if made.endswith(".c"):
                    compile_c(builtin(["cat", made], temp), temp)
    return joined


def compile_c(text, temp):
    """Compiles emitted C against the real runtime header."""
    mpicc = os.environ.get("MPICC") or shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    if not mpicc:
        if in_ci():
            raise Failure("'CHECK: compiles' needs mpicc")
        print("note: no mpicc, so 'CHECK: compiles' is left out")
        return
    path = os.path.join(temp, "emitted.check.c")
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
        f.write(text)
    status, out, err = call([mpicc] + MPICC_FLAGS + [path], temp)
    os.remove(path)
    if status != 0:
        raise Failure("the emitted C does not compile without warnings:\n" + out + err)


def in_ci():
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def bless_command(options, path):
    words = ["python3", os.path.relpath(__file__), "--chimerac", options.chimerac, "--update", path]
    return " ".join(shlex.quote(w) for w in words)


def check(path, options):
    """Runs one test; raises Failure with a diff and the command that accepts it."""
    test = Test(path)
    got = execute(test, options.chimerac)
    report = ""
    for name in ("stdout", "stderr"):
        if got[name] == test.want[name]:
            continue
        want, have = (to_section(name, text)[1:] for text in (test.want[name], got[name]))
        lines = difflib.unified_diff([w[2:] for w in want], [h[2:] for h in have],
                                     f"{name} expected", f"{name} now", lineterm="")
        report += "".join(line + "\n" for line in lines)
    if report:
        raise Failure(f"{test.what}\n{report}If the new output is right, accept it with\n"
                      f"  {bless_command(options, path)}")


def update(path, options):
    """Writes the present output into the file, until writing it changes nothing any more."""
    for _ in range(3):
        test = Test(path)
        got = execute(test, options.chimerac)
        lines = test.head + to_section("stdout", got["stdout"])
        if got["stderr"]:
            lines += to_section("stderr", got["stderr"])
        text = "".join(line + "\n" for line in lines)
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
            before = f.read()
        if text == before:
            return
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
            f.write(text)
        print(f"updated {path}")
    raise Failure("the output depends on the expectation; keep the input in a file of its own")


def reprint(chimerac, text, temp):
    """What the tool prints for IR text."""
    path = os.path.join(temp, "again.ir")
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
        f.write(text)
    status, out, err = call([chimerac, "-q", "-O0", "--emit=ir", "again.ir"], temp)
    if status != 0:
        raise Failure(f"the printed IR is not accepted (exit {status}):\n{err}\n{text}")
    return out


def roundtrip(path, options):
    """Every module that this test prints, and its input as read, prints the same again."""
    test = Test(path)
    folder, name = os.path.split(os.path.abspath(path))
    if any(run.exit != 0 for run in test.runs):
        return
    printed = []
    with tempfile.TemporaryDirectory(prefix="golden-") as temp:
        for run in test.runs:
            words = run.words
            if words[0] != "chimerac" or "%s" not in words or "run" in words:
                continue
            given = [w for i, w in enumerate(words) if w.startswith(("-D", "--topology"))
                     or (i > 0 and words[i - 1] in ("-D", "--topology"))]
            given = [re.sub(r"%root\b", lambda _: ROOT, w) for w in given]
            status, out, err = call([options.chimerac, "-q", "-O0", "--emit=ir"] + given + [name], folder)
            if status != 0:
                raise Failure(f"-O0 --emit=ir: exit status {status}\n{err}")
            printed.append(out)
            mixed = [w for w in words if w.startswith(("--print-", "--list-", "--help", "--version", "-o"))]
            if "--emit=ir" in words and not mixed:
                plain = [re.sub(r"%root\b", lambda _: ROOT, w).replace("%s", name) for w in words[1:]]
                printed.append(call([options.chimerac] + plain, folder)[1])
        for first in printed:
            second = reprint(options.chimerac, first, temp)
            if first != second:
                lines = difflib.unified_diff(first.split("\n"), second.split("\n"), "printed", "printed again",
                                             lineterm="")
                raise Failure("\n".join(lines))


def manual(path, options):
    """Runs the code blocks of a Markdown file."""
    with open(path, encoding="utf-8") as f:
        blocks = re.finditer(r"^```(plan|ir)( bad)?[ ]*\n(.*?)^```[ ]*$", f.read(), re.M | re.S)
        blocks = [(m.string.count("\n", 0, m.start()) + 1, m.group(1), m.group(2) is None, m.group(3)) for m in blocks]
    with tempfile.TemporaryDirectory(prefix="golden-") as temp:
        for line, language, good, text in blocks:
            name = "example." + language
            with open(os.path.join(temp, name), "w", encoding="utf-8", newline="") as f:
                f.write(text)
            status, _, err = call([options.chimerac, "-q", "--emit=ir", name], temp)
            if status != (0 if good else 1):
                raise Failure(f"line {line}: exit status {status}, not {0 if good else 1}\n{err}{text}")
    print(f"{path}: {len(blocks)} examples")


def collect(paths):
    """Test files: as given, or all with a RUN line below a folder."""
    files = []
    for path in paths:
        if not os.path.isdir(path):
            files.append(path)
            continue
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                full = os.path.join(folder, name)
                if name.endswith((".plan", ".ir")):
                    with open(full, "rb") as f:
                        if any(line.startswith(b"# RUN:") for line in f):
                            files.append(full)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    for flag, help_text in (("update", "accept the present output"), ("roundtrip", "print, parse, print again"),
                            ("manual", "run the examples of Markdown files")):
        mode.add_argument("--" + flag, action="store_true", help=help_text)
    parser.add_argument("--chimerac", default=os.environ.get("CHIMERAC") or os.path.join(ROOT, "build", "chimerac"))
    parser.add_argument("paths", nargs="+", metavar="FILE|DIR")
    options = parser.parse_args()
    if options.update and in_ci():
        sys.exit("run.py: expectations are not updated in CI")
    options.chimerac = os.path.abspath(options.chimerac)
    act = update if options.update else roundtrip if options.roundtrip else manual if options.manual else check
    files = options.paths if options.manual else collect(options.paths)
    failed = 0
    sys.stdout.reconfigure(errors="backslashreplace")
    for path in files:
        try:
            act(path, options)
        except Failure as why:
            failed += 1
            print(f"FAIL {path}\n{why}\n")
        except OSError as problem:
            failed += 1
            print(f"FAIL {path}: {problem.strerror}\n")
    if len(files) != 1:
        print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
