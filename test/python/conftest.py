# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs NeoFlow's tools, which are found on PATH."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "tools"))


def run(*command, status=0):
    """Runs a command; returns what it wrote to standard output and error."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


@pytest.fixture
def tool():
    return run


@pytest.fixture(scope="session")
def models():
    return ROOT / "docs" / "models"
