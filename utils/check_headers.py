#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the form of source files: the licence line comes first, include guards
follow the path, no file is too long, and every public header of the runtime
compiles on its own with nothing but include/ to look in.

Prints FILE:LINE: and the problem, and exits with 1 if there are any. Long files
that are still within the limit get a warning.

usage: check_headers.py [--root FOLDER] [--cxx COMPILER] [--cc COMPILER]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
SUFFIXES = (".h", ".hpp", ".c", ".cpp", ".td", ".py", ".sh")
FOLDERS = ("include", "lib", "tools", "test", "utils", "python")
WARN_LINES = 600
MAX_LINES = 900


def files_below(root):
    for top in FOLDERS:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f != "__pycache__")
            for file in sorted(files):
                if file.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, file), root)


def guard_of(path):
    """include/neoflow/A/B.h is guarded by NEOFLOW_A_B_H, lib/A/B.h by NEOFLOW_LIB_A_B_H."""
    parts = path.split("/")
    if parts[0] == "include":
        parts = parts[1:]
    if parts[0] != "neoflow" and not parts[0].startswith("neoflow-"):
        parts = ["neoflow"] + parts
    return re.sub(r"[^A-Z0-9]", "_", "/".join(parts).upper())


def check_text(path, text):
    """Problems and warnings of one file, as (line, message)."""
    problems, warnings = [], []
    lines = text.splitlines()
    first = 1 if lines and lines[0].startswith("#!") else 0
    comment = "# " if path.endswith((".py", ".sh")) else "// "
    if len(lines) <= first or lines[first].rstrip() not in (comment + LICENCE, f"/* {LICENCE} */"):
        problems.append((first + 1, f"expected '{comment}{LICENCE}' as the first line"))
    if len(lines) > MAX_LINES:
        problems.append((MAX_LINES, f"{len(lines)} lines; split the file, the limit is {MAX_LINES}"))
    elif len(lines) > WARN_LINES:
        warnings.append((WARN_LINES, f"{len(lines)} lines; consider splitting the file"))
    if path.endswith((".h", ".hpp")):
        problems += check_guard(path, lines)
    return problems, warnings


def check_guard(path, lines):
    expected = guard_of(path)
    directives = [(n, line.split()) for n, line in enumerate(lines, 1) if line.startswith("#")]
    if not directives or directives[0][1][:1] != ["#ifndef"]:
        return [(directives[0][0] if directives else 1, f"expected the include guard {expected}")]
    problems = []
    for (number, words), directive in zip(directives, ("#ifndef", "#define")):
        if words != [directive, expected]:
            problems.append((number, f"expected '{directive} {expected}', but found '{' '.join(words)}'"))
    if len(directives) < 3 or directives[-1][1] != ["#endif", "//", expected]:
        problems.append((directives[-1][0], f"expected '#endif // {expected}' last"))
    return problems


def public_runtime_headers(root):
    folder = os.path.join(root, "include/neoflow/Runtime")
    if os.path.isdir(folder):
        for file in sorted(os.listdir(folder)):
            if file.endswith(".h"):
                yield "include/neoflow/Runtime/" + file
    if os.path.exists(os.path.join(root, "include/neoflow-c/Runtime.h")):
        yield "include/neoflow-c/Runtime.h"


def is_c(path):
    return path.endswith("/ABI.h") or path.startswith("include/neoflow-c/")


def compile_alone(root, path, compiler, standard, language):
    """The compiler's messages if the header, included twice, does not compile."""
    name = path[len("include/") :]
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "alone." + ("c" if language == "c" else "cpp"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(f'#include "{name}"\n#include "{name}"\n')
        command = [compiler, "-x", language, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
        result = subprocess.run(
            command + ["-I", os.path.join(root, "include"), source],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
    return None if result.returncode == 0 else result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--cxx", default="c++", help="the C++ compiler (default: c++)")
    parser.add_argument("--cc", default="cc", help="the C compiler (default: cc)")
    args = parser.parse_args()

    failed = 0
    count = 0
    for path in files_below(args.root):
        count += 1
        with open(os.path.join(args.root, path), encoding="utf-8") as file:
            problems, warnings = check_text(path, file.read())
        for number, message in problems:
            print(f"{path}:{number}: {message}", file=sys.stderr)
        for number, message in warnings:
            print(f"{path}:{number}: warning: {message}")
        failed += len(problems)
    headers = 0
    for path in public_runtime_headers(args.root):
        headers += 1
        languages = [(args.cxx, "c++17", "c++")]
        if is_c(path):
            languages.append((args.cc, "c11", "c"))
        for compiler, standard, language in languages:
            messages = compile_alone(args.root, path, compiler, standard, language)
            if messages is not None:
                print(f"{path}:1: does not compile alone as {standard}\n{messages}", file=sys.stderr)
                failed += 1
    if count == 0 or headers == 0:
        print("error: found no source file, or no public header of the runtime", file=sys.stderr)
        return 1
    print(f"headers: {count} files, {headers} compiled alone, {failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
