#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the #include lines of include/, lib/ and tools/ with the table of who
may depend on whom (docs/Architecture.md). Prints FILE:LINE: and the rule for
every violation, and exits with 1 if there are any.

usage: check_layering.py [--root FOLDER]
"""

import argparse
import os
import re
import sys

COMPILER = "mlir/ mlir-c/ llvm/ llvm-c/ lld/ clang/ clang-c/".split()

# The standard library, which is all that the plain libraries may use.
STANDARD = set(
    """algorithm any array atomic bitset cassert cctype cerrno cfenv cfloat charconv chrono
    cinttypes climits clocale cmath codecvt complex condition_variable csetjmp csignal cstdarg
    cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution
    filesystem forward_list fstream functional future initializer_list iomanip ios iosfwd iostream
    istream iterator limits list locale map memory memory_resource mutex new numeric optional
    ostream queue random ratio regex scoped_allocator set shared_mutex sstream stack stdexcept
    streambuf string string_view strstream system_error thread tuple type_traits typeindex
    typeinfo unordered_map unordered_set utility valarray variant vector
    assert.h ctype.h errno.h float.h inttypes.h limits.h math.h stdarg.h stdbool.h stddef.h
    stdint.h stdio.h stdlib.h string.h time.h""".split()
)


class Layer:
    """What a folder may include: the layers of `uses`, and of other projects'
    headers what `plain` (the standard library and `system`, nothing else) and
    `forbidden` (prefixes) leave."""

    def __init__(self, uses="", plain=False, system="", forbidden=()):
        self.uses = set(uses.split())
        self.plain = plain
        self.system = set(system.split())
        self.forbidden = tuple(forbidden)


NO_LLD = ["lld/"]
# Runtime/ABI.h is a layer of its own: the one header that both sides share.
LAYERS = {
    "ABI": Layer(plain=True),
    # Asks the operating system what this machine is.
    "TargetInfo": Layer(plain=True, system="sched.h unistd.h"),
    "Schedule": Layer("TargetInfo", plain=True),
    "Cost": Layer("TargetInfo Schedule", plain=True),
    "Search": Layer("TargetInfo Schedule Cost", plain=True),
    "Partition": Layer(plain=True),
    "Runtime": Layer("ABI TargetInfo", forbidden=COMPILER),
    "RuntimeCAPI": Layer("Runtime ABI TargetInfo", forbidden=COMPILER),
    "Tuning": Layer("Runtime RuntimeCAPI ABI TargetInfo Schedule Cost Search", forbidden=COMPILER),
    "Support": Layer(forbidden=NO_LLD),
    "Index": Layer("Support", forbidden=NO_LLD + ["mlir/Dialect/"]),
    "IR": Layer("Index Support", forbidden=NO_LLD),
    "Utils": Layer("IR Index Support TargetInfo Schedule", forbidden=NO_LLD),
    "Analysis": Layer("IR Utils Index Support TargetInfo Schedule Cost", forbidden=NO_LLD),
    "Transforms": Layer(
        "IR Utils Analysis Index Support TargetInfo Schedule Cost Search Partition ABI", forbidden=NO_LLD
    ),
    "Conversion": Layer("IR Utils Analysis Index Support TargetInfo Schedule Cost ABI", forbidden=NO_LLD),
    # The only one that may use lld.
    "Target": Layer("IR Utils Support TargetInfo ABI"),
}
_COMPILER_PARTS = (
    "ABI TargetInfo Schedule Cost Search Partition Support Index IR Utils Analysis Transforms Conversion Target"
)
LAYERS["Pipelines"] = Layer(_COMPILER_PARTS, forbidden=NO_LLD)
LAYERS["InitAll"] = Layer(_COMPILER_PARTS + " Pipelines", forbidden=NO_LLD)
LAYERS["Compiler"] = Layer(_COMPILER_PARTS + " Pipelines InitAll", forbidden=NO_LLD)
LAYERS["CompilerCAPI"] = Layer(_COMPILER_PARTS + " Pipelines InitAll Compiler", forbidden=NO_LLD)
LAYERS["compiler tool"] = Layer(_COMPILER_PARTS + " Pipelines InitAll Compiler CompilerCAPI", forbidden=NO_LLD)
LAYERS["runtime tool"] = Layer(
    "Runtime RuntimeCAPI ABI TargetInfo Tuning Search Schedule Cost", forbidden=COMPILER
)
RUNTIME_TOOLS = {"neoflow-run", "neoflow-bundle"}


def layer_of(path):
    """The layer of a file below the root, None for a file that no rule covers.
    Generated headers are named as they are included."""
    parts = path.split("/")
    if parts[0] == "tools" and len(parts) > 2:
        return "runtime tool" if parts[1] in RUNTIME_TOOLS else "compiler tool"
    if parts[:2] == ["include", "neoflow-c"] or parts[:2] == ["lib", "CAPI"]:
        return "CompilerCAPI" if parts[-1].startswith("Compiler") else "RuntimeCAPI"
    if parts[0] == "lib":
        parts = parts[1:]
    elif parts[:2] == ["include", "neoflow"]:
        parts = parts[2:]
    else:
        return None
    if parts == ["Runtime", "ABI.h"]:
        return "ABI"
    if parts == ["InitAll.h"]:
        return "InitAll"
    if parts[0] == "Dialect" and len(parts) > 3:
        name = parts[2]  # Dialect/<dialect>/<layer>/...
    elif len(parts) > 1:
        name = parts[0]
    else:
        return None
    return name if name in LAYERS else None


INCLUDE = re.compile(r'^\s*#\s*(?:include|import)\s*([<"])([^>"]+)[>"]')


def includes(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1), match.group(2)


def resolve(root, path, name, quoted):
    """The path below the root of an own header, None for other projects' ones."""
    if name.startswith(("neoflow/", "neoflow-c/")):
        return "include/" + name
    if quoted:
        own = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if not own.startswith("..") and os.path.exists(os.path.join(root, own)):
            return own
    return None


def check_include(root, path, layer, quoted, name):
    """What is wrong with an #include, or None."""
    rule = LAYERS[layer]
    target = resolve(root, path, name, quoted)
    if target is None:
        if rule.plain and name not in STANDARD | rule.system:
            return f"{layer} may use the standard library only, but includes {name}"
        for prefix in rule.forbidden:
            if name.startswith(prefix):
                return f"{layer} may not include {prefix}, but includes {name}"
        return None
    if target.split("/")[0] not in ("include", "lib", "tools"):
        return f"{name} is outside include/, lib/ and tools/"
    other = layer_of(target)
    if other is None:
        return f"no rule for {target}"
    if other != layer and other not in rule.uses:
        allowed = ", ".join(sorted(rule.uses)) or "no other layer"
        return f"{layer} may include {allowed}, but includes {name} of {other}"
    if other == layer:
        return None
    if target.startswith(("lib/", "tools/")):
        return f"{name} is private to {other}"
    return None


def check(root):
    """Every violation, and how many files were read."""
    problems = []
    count = 0
    for top in ("include", "lib", "tools"):
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for file in sorted(files):
                if not file.endswith((".h", ".hpp", ".c", ".cpp", ".inc")):
                    continue
                path = os.path.relpath(os.path.join(folder, file), root)
                count += 1
                layer = layer_of(path)
                if layer is None:
                    problems.append(f"{path}:1: no rule for this folder; add it to utils/check_layering.py")
                    continue
                for number, quote, name in includes(os.path.join(root, path)):
                    problem = check_include(root, path, layer, quote == '"', name)
                    if problem:
                        problems.append(f"{path}:{number}: {problem}")
    return problems, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    problems, count = check(parser.parse_args().root)
    for problem in problems:
        print(problem, file=sys.stderr)
    if count == 0:
        print("error: found no source file", file=sys.stderr)
        return 1
    print(f"layering: {count} files, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
