# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# RUN: %python %s %neoflow_src
#
# Each rule of the header check refuses what it should.

import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(sys.argv[1], "utils", "check_headers.py")
LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"


def guarded(guard, body=""):
    return f"{LICENCE}\n#ifndef {guard}\n#define {guard}\n{body}\n#endif // {guard}\n"


GOOD = ("include/neoflow/Runtime/Good.h", guarded("NEOFLOW_RUNTIME_GOOD_H", "#include <string>"))

# (file, its text, part of the message or None when all is well)
CASES = [
    ("lib/Index/Private.h", guarded("NEOFLOW_LIB_INDEX_PRIVATE_H"), None),
    ("include/neoflow-c/Runtime.h", guarded("NEOFLOW_C_RUNTIME_H"), None),
    ("lib/Index/Private.h", guarded("NEOFLOW_INDEX_PRIVATE_H"), "'#ifndef NEOFLOW_LIB_INDEX_PRIVATE_H'"),
    ("lib/Index/Private.h", LICENCE + "#pragma once\n", "the include guard NEOFLOW_LIB_INDEX_PRIVATE_H"),
    ("lib/Index/A.cpp", "int a;\n", "as the first line"),
    ("lib/Index/A.cpp", "", "as the first line"),
    ("utils/a.sh", "#!/bin/sh\n" + LICENCE.replace("//", "#"), None),
    ("lib/Index/A.cpp", LICENCE + "\n" * 899, None),
    ("lib/Index/A.cpp", LICENCE + "\n" * 900, "901 lines; split the file"),
    (
        "include/neoflow/Runtime/Lacking.h",
        guarded("NEOFLOW_RUNTIME_LACKING_H", "inline std::string s;"),
        "does not compile alone as c++17",
    ),
    (
        "include/neoflow/Runtime/Compiled.h",
        guarded("NEOFLOW_RUNTIME_COMPILED_H", '#include "llvm/ADT/StringRef.h"'),
        "does not compile alone as c++17",
    ),
    ("include/neoflow/Runtime/ABI.h", guarded("NEOFLOW_RUNTIME_ABI_H", "class C;"), "does not compile alone as c11"),
]


def run(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files:
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return subprocess.run(
            [sys.executable, SCRIPT, "--root", root, "--cxx", "g++", "--cc", "gcc"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip


failures = 0
for path, text, expected in CASES:
    result = run([GOOD, (path, text)])
    if expected is None:
        right = result.returncode == 0 and result.stderr == ""
    else:
        right = result.returncode == 1 and result.stderr.startswith(path + ":") and expected in result.stderr
    if not right:
        failures += 1
        print(f"{path}: expected {expected!r}, exit status {result.returncode}:\n{result.stdout}{result.stderr}")
if run([]).returncode == 0:
    failures += 1
    print("an empty tree passed")
sys.exit(1 if failures else 0)
