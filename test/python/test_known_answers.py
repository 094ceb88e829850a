# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the cases of known_answers.py on the interpreter, compiled with default
schedules, and compiled with forced tile sizes."""

import numpy as np
import pytest
from known_answers import CASES

from run_bundle import Bundle


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "cases.mlir"
    path.write_text("\n".join(case.source for case in CASES) + "\n")
    return path


def run_compiled(tool, module, *options, cases=CASES):
    bundle = module.with_suffix(".nfb")
    functions = [f"--function={case.function}" for case in cases]
    tool("neoflow-compile", module, *functions, *options, "-o", bundle)
    loaded = Bundle(bundle)
    for case in cases:
        case.check(loaded.call(case.function, case.inputs))


def test_interpreter(tool, module, tmp_path):
    expanded = tmp_path / "expanded.mlir"
    tool("neoflow-opt", module, "--neoflow-differentiate", "--inline", "-o", expanded)
    for case in CASES:
        files = []
        for number, value in enumerate(case.inputs):
            files += ["--input", tmp_path / f"input{number}.npy"]
            # The interpreter keeps half precision in files of f32.
            np.save(files[-1], value.astype(np.float32) if value.dtype == np.float16 else value)
        output = tmp_path / case.name
        tool("neoflow-interpret", expanded, "--function", case.function, *files, "--output-dir", output)
        case.check([np.load(output / f"result{i}.npy") for i in range(len(case.expected))])


def test_default_schedules(tool, module):
    run_compiled(tool, module)


def test_without_fusion(tool, module):
    run_compiled(tool, module, "--partition=none")


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("tile", [1, 2, 3, 5, 8])
def test_forced_tiles(tool, module, tile, axis):
    # Sixteen columns are a multiple of the lanes of every target and element type.
    width = (16, 16) if axis == 0 else (2, 2 * tile)
    # Combine regions keep the order of points, so lanes never lie along them.
    cases = [case for case in CASES if axis == 0 or "combine" not in case.source]
    run_compiled(
        tool,
        module,
        f"--schedule=vector_axis={axis},chunk={tile},mr={tile},m_tile={tile},nr={width[0]},n_tile={width[1]},k_tile={tile}",
        cases=cases,
    )
