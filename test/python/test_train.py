# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training through the tools, from files to checkpoints."""

import os
import random
import signal
import subprocess
import time

import numpy as np
import pytest
import safetensors

# A softmax regression, small enough to be repeated in NumPy.
MODEL = """
module attributes {neoflow.default_dims = {batch = 64}} {
func.func private @scores(%w: tensor<3x5xf32>, %b: tensor<3xf32>, %x: tensor<?x5xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x5xf32>
  %p = neoflow.compute (%n = %batch, %k) sum (%c = 5) from (%x: tensor<?x5xf32>, %w: tensor<3x5xf32>) -> tensor<?x3xf32> {
    %a = neoflow.read %x[%n, %c] : tensor<?x5xf32>
    %f = neoflow.read %w[%k, %c] : tensor<3x5xf32>
    %m = arith.mulf %a, %f : f32
    neoflow.yield %m : f32
  }
  %z = neoflow.compute (%n = %batch, %k) from (%p: tensor<?x3xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32> {
    %a = neoflow.read %p[%n, %k] : tensor<?x3xf32>
    %f = neoflow.read %b[%k] : tensor<3xf32>
    %v = arith.addf %a, %f : f32
    neoflow.yield %v : f32
  }
  return %z : tensor<?x3xf32>
}
func.func @predict(%w: tensor<3x5xf32> {neoflow.param = "w"}, %b: tensor<3xf32> {neoflow.param = "b"},
    %x: tensor<?x5xf32> {neoflow.input = "x", neoflow.dims = ["batch", ""]}) -> tensor<?x3xf32> {
  %z = func.call @scores(%w, %b, %x) : (tensor<3x5xf32>, tensor<3xf32>, tensor<?x5xf32>) -> tensor<?x3xf32>
  return %z : tensor<?x3xf32>
}
func.func @loss(%w: tensor<3x5xf32> {neoflow.param = "w"}, %b: tensor<3xf32> {neoflow.param = "b"},
    %x: tensor<?x5xf32> {neoflow.input = "x", neoflow.dims = ["batch", ""]},
    %y: tensor<?xi32> {neoflow.label = "y", neoflow.dims = ["batch"]}) -> (tensor<f32> {neoflow.loss}) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x5xf32>
  %z = func.call @scores(%w, %b, %x) : (tensor<3x5xf32>, tensor<3xf32>, tensor<?x5xf32>) -> tensor<?x3xf32>
  %t = neoflow.compute (%n = %batch) sum (%k = 3) from (%z: tensor<?x3xf32>) -> tensor<?xf32> {
    %a = neoflow.read %z[%n, %k] : tensor<?x3xf32>
    %e = math.exp %a : f32
    neoflow.yield %e : f32
  }
  %r = neoflow.compute (%n = %batch) sum (%k = 3) from (%z: tensor<?x3xf32>, %y: tensor<?xi32>) -> tensor<?xf32> {
    %a = neoflow.read %z[%n, %k] : tensor<?x3xf32>
    %label = neoflow.read %y[%n] : tensor<?xi32>
    %class = arith.index_cast %k : index to i32
    %is = arith.cmpi eq, %label, %class : i32
    %zero = arith.constant 0.0 : f32
    %v = arith.select %is, %a, %zero : f32
    neoflow.yield %v : f32
  }
  %loss = neoflow.compute () sum (%n = %batch) from (%t: tensor<?xf32>, %r: tensor<?xf32>, %batch: index) -> tensor<f32> {
    %s = neoflow.read %t[%n] : tensor<?xf32>
    %u = neoflow.read %r[%n] : tensor<?xf32>
    %l = math.log %s : f32
    %d = arith.subf %l, %u : f32
    %i = arith.index_cast %batch : index to i64
    %f = arith.sitofp %i : i64 to f32
    %v = arith.divf %d, %f : f32
    neoflow.yield %v : f32
  }
  return %loss : tensor<f32>
}
func.func @init(%seed: i64 {neoflow.seed}) -> (tensor<3x5xf32> {neoflow.param = "w"}, tensor<3xf32> {neoflow.param = "b"}) {
  %step = arith.constant 0 : i64
  %w = neoflow.compute (%i, %j) from (%seed: i64, %step: i64) -> tensor<3x5xf32> {
    %r = neoflow.random normal(%seed, %step) stream 0 [%i, %j] in [3, 5] : f32
    neoflow.yield %r : f32
  }
  %b = neoflow.compute (%i) -> tensor<3xf32> {
    %zero = arith.constant 0.0 : f32
    neoflow.yield %zero : f32
  }
  return %w, %b : tensor<3x5xf32>, tensor<3xf32>
}
}
"""


def prepare(tmp_path, tool, samples, *flags):
    """A model and its data in `tmp_path`; returns the data."""
    generator = np.random.default_rng(5)
    x = generator.integers(0, 9, (samples, 5)).astype("u1")
    y = generator.integers(0, 3, samples).astype("i8")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "model.mlir").write_text(MODEL)
    tool("neoflow-compile", tmp_path / "model.mlir", "-o", tmp_path / "model.nfb", *flags)
    return x.astype("f4"), y


def train(tmp_path, *flags):
    return [
        "neoflow-run", "train", tmp_path / "model.nfb", "--input", f"x={tmp_path / 'x.npy'}",
        "--label", f"y={tmp_path / 'y.npy'}", "--learning-rate", "0.05", *flags,
    ]  # fmt: skip


def softmax_step(w, b, x, y, rate):
    z = x @ w.T + b
    p = np.exp(z)
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    p /= len(y)
    return w - rate * p.T @ x, b - rate * p.sum(0)


def test_epoch_of_130_samples_is_64_64_and_2(tmp_path, tool):
    x, y = prepare(tmp_path, tool, 130, "--samples=130")
    tool(*train(tmp_path, "--steps", "0", "--checkpoint", tmp_path / "start.safetensors"))
    tool(*train(tmp_path, "--epochs", "1", "--no-shuffle", "--checkpoint", tmp_path / "end.safetensors"))
    start, _ = safetensors.load(tmp_path / "start.safetensors")
    end, _ = safetensors.load(tmp_path / "end.safetensors")
    w, b = start["w"].astype("f8"), start["b"].astype("f8")
    for begin, stop in ((0, 64), (64, 128), (128, 130)):
        w, b = softmax_step(w, b, x[begin:stop].astype("f8"), y[begin:stop], 0.05)
    assert np.abs(end["w"] - w).max() < 2e-5
    assert np.abs(end["b"] - b).max() < 2e-5
    assert np.abs(end["w"] - start["w"]).max() > 1e-3


def test_equal_seeds_give_equal_checkpoints(tmp_path, tool):
    prepare(tmp_path, tool, 640)
    for name in ("a", "b"):
        tool(*train(tmp_path, "--epochs", "3", "--seed", "9", "--checkpoint", tmp_path / f"{name}.safetensors"))
    tool(*train(tmp_path, "--epochs", "3", "--seed", "8", "--checkpoint", tmp_path / "c.safetensors"))
    a, b, c = ((tmp_path / f"{name}.safetensors").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_killed_and_resumed_is_undisturbed(tmp_path, tool):
    prepare(tmp_path, tool, 6400)
    whole = tmp_path / "whole.safetensors"
    tool(*train(tmp_path, "--epochs", "40", "--seed", "4", "--checkpoint", whole))
    chooser = random.Random(11)
    for attempt in range(4):
        part = tmp_path / f"part{attempt}.safetensors"
        command = train(tmp_path, "--epochs", "40", "--seed", "4", "--checkpoint", part, "--checkpoint-every", "20")
        process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chooser.uniform(0.02, 0.4))
        process.send_signal(signal.SIGKILL)
        process.wait()
        resume = ["--resume"] if part.exists() else []
        tool(*command, *resume)
        assert part.read_bytes() == whole.read_bytes()
        leftovers = [name for name in os.listdir(tmp_path) if name.startswith(part.name) and name != part.name]
        # A file that was being written when the process died may stay, and is
        # never taken for a checkpoint.
        assert all(name != part.name for name in leftovers)


def test_interrupt_leaves_a_checkpoint(tmp_path, tool):
    prepare(tmp_path, tool, 6400)
    checkpoint = tmp_path / "c.safetensors"
    command = train(tmp_path, "--epochs", "100000", "--checkpoint", checkpoint)
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert process.wait(timeout=20) == 130
    assert time.monotonic() - begin < 5
    arrays, _ = safetensors.load(checkpoint)
    assert np.isfinite(arrays["w"]).all()


def test_runs_where_llvm_is_hidden(tmp_path, tool):
    """Training and calling a bundle need none of LLVM's libraries."""
    x, _ = prepare(tmp_path, tool, 128)
    np.save(tmp_path / "w.npy", np.eye(3, 5, dtype="f4"))
    np.save(tmp_path / "b.npy", np.zeros(3, dtype="f4"))
    np.save(tmp_path / "batch.npy", x[:64])
    # A mount of nothing over the folder, for these commands alone.
    hidden = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/lib/llvm-22 && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine does not let a process hide a folder from itself")
    assert subprocess.run([*hidden, "test", "-e", "/usr/lib/llvm-22/lib"]).returncode != 0
    tool(*hidden, *train(tmp_path, "--epochs", "2", "--checkpoint", tmp_path / "c.safetensors"))
    tool(
        *hidden, "neoflow-run", "call", tmp_path / "model.nfb", "--function", "predict",
        "--input", tmp_path / "w.npy", "--input", tmp_path / "b.npy", "--input", tmp_path / "batch.npy",
        "--output-dir", tmp_path / "out",
    )  # fmt: skip
    assert np.array_equal(np.load(tmp_path / "out" / "0.npy"), x[:64, :3])
