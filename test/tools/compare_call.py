# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls functions of a module through neoflow-run and compares with the interpreter.

usage: compare_call.py FILE.mlir DIRECTORY [--schedule=NAME=VALUE,...] FUNCTION[:integers|:RTOL] ...

Derivatives are expanded by neoflow-opt for the interpreter, and by the compiler for
neoflow-run, which is given the file itself. With `integers`, inputs are small
integers and results are compared for equality; otherwise RTOL, relative to the
largest element of a result, is the tolerance. With --schedule the file is compiled
once, with those parameters of schedules.
"""

import pathlib
import subprocess
import sys

import numpy as np


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")


def main():
    source, directory, *functions = sys.argv[1:]
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    expanded = directory / "expanded.mlir"
    run("neoflow-opt", source, "--neoflow-differentiate", "--inline", "-o", expanded)
    program = source
    if functions[0].startswith("--schedule="):
        program = directory / "forced.nfb"
        names = [entry.partition(":")[0] for entry in functions[1:]]
        run("neoflow-compile", source, functions.pop(0), *(f"--function={name}" for name in names), "-o", program)
    for seed, entry in enumerate(functions):
        function, _, kind = entry.partition(":")
        reference = directory / function
        integers = ["--integers"] if kind == "integers" else []
        run("neoflow-interpret", expanded, "--function", function, "--random-inputs", seed + 1, *integers, "--output-dir", reference)
        count = len(list(reference.glob("input*.npy")))
        inputs = [part for i in range(count) for part in ("--input", reference / f"input{i}.npy")]
        output = directory / f"{function}_compiled"
        run("neoflow-run", "call", program, "--function", function, *inputs, "--output-dir", output)
        results = sorted(reference.glob("result*.npy"))
        assert results, function
        for i in range(len(results)):
            expected = np.load(reference / f"result{i}.npy").astype("f8")
            actual = np.load(output / f"{i}.npy").astype("f8")
            assert actual.shape == expected.shape, f"{function}: {actual.shape} and {expected.shape}"
            error = np.abs(actual - expected).max() if actual.size else 0.0
            bound = 0.0 if integers else float(kind or 1e-5) * max(1.0, np.abs(expected).max())
            assert error <= bound, f"{function}, result {i}: largest error {error}, allowed {bound}"
        print(f"ok: {function}")


if __name__ == "__main__":
    main()
