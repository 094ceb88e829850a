# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# RUN: %python %s %neoflow_src
#
# Every rule of the layering check refuses what it should and lets the rest be.

import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(sys.argv[1], "utils", "check_layering.py")

# (file, its #include line, part of the message or None when it is allowed)
CASES = [
    ("lib/TargetInfo/A.cpp", "<vector>", None),
    ("lib/TargetInfo/A.cpp", "<zip.h>", "standard library only"),
    ("lib/Schedule/A.cpp", '"neoflow/TargetInfo/TargetInfo.h"', None),
    ("lib/Schedule/A.cpp", '"llvm/ADT/SmallVector.h"', "standard library only"),
    ("include/neoflow/TargetInfo/A.h", '"neoflow/Schedule/Schedule.h"', "of Schedule"),
    ("lib/Partition/A.cpp", '"neoflow/Schedule/Schedule.h"', "of Schedule"),
    ("lib/Runtime/CPU/A.cpp", '"neoflow/Runtime/ABI.h"', None),
    ("lib/Runtime/CPU/A.cpp", "<oneapi/tbb/task_arena.h>", None),
    ("lib/Runtime/CPU/A.cpp", '"mlir/IR/Builders.h"', "may not include mlir/"),
    ("include/neoflow/Runtime/A.h", "<llvm/ADT/StringRef.h>", "may not include llvm/"),
    ("lib/Runtime/A.cpp", '"neoflow/Index/Domain.h"', "of Index"),
    ("lib/Runtime/A.cpp", '"../Index/Private.h"', "of Index"),
    ("lib/CAPI/Runtime.cpp", '"mlir/IR/Builders.h"', "may not include mlir/"),
    ("lib/Index/A.cpp", '"mlir/Analysis/Presburger/IntegerRelation.h"', None),
    ("lib/Index/A.cpp", '"mlir/Dialect/Linalg/IR/Linalg.h"', "may not include mlir/Dialect/"),
    ("lib/Index/A.cpp", '"neoflow/Dialect/NeoFlow/IR/NeoFlow.h"', "of IR"),
    ("lib/Dialect/NeoFlow/IR/A.cpp", '"neoflow/Index/Domain.h"', None),
    ("lib/Dialect/NeoFlow/IR/A.cpp", '"neoflow/Dialect/NeoFlow/Transforms/Passes.h"', "of Transforms"),
    ("lib/Dialect/NeoFlow/IR/A.cpp", '"neoflow/Conversion/Passes.h"', "of Conversion"),
    ("lib/Dialect/NeoFlow/Transforms/A.cpp", '"neoflow/Dialect/NeoFlow/Analysis/A.h"', None),
    ("lib/Dialect/NeoFlow/Transforms/A.cpp", '"neoflow/Conversion/Passes.h"', "of Conversion"),
    ("lib/Dialect/NeoFlow/Transforms/A.cpp", '"neoflow/Pipelines/Phases.h"', "of Pipelines"),
    ("lib/Conversion/X/A.cpp", '"neoflow/Dialect/NeoFlow/Transforms/Passes.h"', "of Transforms"),
    ("lib/Conversion/X/A.cpp", '"neoflow/Conversion/Passes.h.inc"', None),
    ("lib/Conversion/X/A.cpp", '"neoflow/Runtime/ABI.h"', None),
    ("lib/Conversion/X/A.cpp", '"neoflow/Runtime/Session.h"', "of Runtime"),
    ("lib/Conversion/X/A.cpp", '"lld/Common/Driver.h"', "may not include lld/"),
    ("lib/Target/A.cpp", '"lld/Common/Driver.h"', None),
    ("lib/Target/A.cpp", '"neoflow/Pipelines/Phases.h"', "of Pipelines"),
    ("lib/Pipelines/A.cpp", '"neoflow/Conversion/Passes.h"', None),
    ("lib/Pipelines/A.cpp", '"neoflow/Compiler/Compiler.h"', "of Compiler"),
    ("lib/Compiler/A.cpp", '"neoflow/Pipelines/Phases.h"', None),
    ("lib/Compiler/A.cpp", '"../Index/Private.h"', "is private to Index"),
    ("tools/neoflow-opt/A.cpp", '"neoflow/Pipelines/Phases.h"', None),
    ("tools/neoflow-opt/A.cpp", '"neoflow/Runtime/Session.h"', "of Runtime"),
    ("tools/neoflow-run/A.cpp", '"neoflow/Runtime/Session.h"', None),
    ("tools/neoflow-run/A.cpp", '"llvm/Support/CommandLine.h"', "may not include llvm/"),
    ("tools/neoflow-bundle/A.cpp", '"neoflow/Compiler/Compiler.h"', "of Compiler"),
    ("tools/neoflow-run/A.cpp", '"../../test/Helper.h"', "is outside"),
    ("lib/Unheard/A.cpp", "<vector>", "no rule for this folder"),
]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run(root):
    return subprocess.run(
        [sys.executable, SCRIPT, "--root", root], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
    )


failures = 0
for path, header, expected in CASES:
    with tempfile.TemporaryDirectory() as root:
        write(os.path.join(root, "lib/Index/Private.h"), "")
        write(os.path.join(root, "test/Helper.h"), "")
        write(os.path.join(root, path), f"// A comment.\n#include {header}\n")
        result = run(root)
        if expected is None:
            right = result.returncode == 0 and result.stderr == ""
        else:
            line = 1 if "no rule" in expected else 2
            right = (
                result.returncode == 1
                and result.stderr.startswith(f"{path}:{line}: ")
                and expected in result.stderr
                and result.stderr.count("\n") == 1
            )
        if not right:
            failures += 1
            print(f"{path} with {header}: expected {expected!r}, exit status {result.returncode}:\n{result.stderr}")

with tempfile.TemporaryDirectory() as root:
    if run(root).returncode == 0:
        failures += 1
        print("an empty tree passed")
sys.exit(1 if failures else 0)
