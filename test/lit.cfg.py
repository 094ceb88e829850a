# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How lit finds and runs NeoFlow's tests.

import os
import subprocess

import lit.formats
import lit.util

config.name = "NeoFlow"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".py"]
config.excludes = [
    "CMakeLists.txt",
    "Inputs",
    "lib",
    "lit.cfg.py",
    "lit.site.cfg.py",
    "python",  # pytest runs these
    "tools",
    "unittests",
]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.neoflow_binary_dir, "test")

tools_dir = os.path.join(config.neoflow_binary_dir, "bin")
path = [tools_dir]
if config.llvm_tools_dir:
    path.append(config.llvm_tools_dir)
config.environment["PATH"] = os.pathsep.join(path + [os.environ.get("PATH", "")])
# Neither may depend on what happens to be set where the tests run.
for name in ("NEOFLOW_CACHE_DIR", "NEOFLOW_NUM_THREADS", "MLIR_CRASH_REPRODUCER_DIRECTORY"):
    config.environment.pop(name, None)
if "address" in config.sanitize:
    # MLIR's libraries are not instrumented: containers and bump allocators that
    # cross the border look damaged, and the context is not always torn down.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0:detect_container_overflow=0:allow_user_poisoning=0"
for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "CUDA_VISIBLE_DEVICES"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# `lit -Dpython=...` runs the tests with another interpreter.
config.python = lit_config.params.get("python", config.python)
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%neoflow_src", config.neoflow_source_dir))
config.substitutions.append(("%neoflow_obj", config.neoflow_binary_dir))
config.substitutions.append(("%test_tools", os.path.join(config.test_source_root, "tools")))
config.substitutions.append(
    ("%compare_npy", config.python + " " + os.path.join(config.test_source_root, "tools", "compare_npy.py"))
)
for tool in ("neoflow-opt", "neoflow-compile", "neoflow-run", "neoflow-bundle", "neoflow-interpret"):
    config.substitutions.append(("%" + tool + r"\b", os.path.join(tools_dir, tool)))
    if os.path.exists(os.path.join(tools_dir, tool)):
        config.available_features.add(tool)


def runs(command):
    """Whether `command` starts and succeeds."""
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


if runs([config.python, "-c", "import numpy"]):
    config.available_features.add("numpy")
if runs(["nvidia-smi", "-L"]):
    config.available_features.add("cuda")
if not config.enable_compiler:
    config.excludes += ["Dialect", "Conversion", "Integration", "Pipelines", "Target", "Index"]
