# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over time: values, gradients, memory and the size of the code, against the same network unrolled."""

import json

import numpy as np
import pytest

from run_bundle import Bundle

BATCH, INPUTS, HIDDEN = 4, 3, 16

# A cell with two carries of which one is also the output; gates i, f, o, g share one matrix.
LSTM = """
func.func private @cell(%h: tensor<BxHxT>, %c: tensor<BxHxT>, %x: tensor<BxIxT>, %w: tensor<JxGxT>)
    -> (tensor<BxHxT>, tensor<BxHxT>, tensor<BxHxT>) {
  %a = neoflow.compute (%n, %j) sum (%k = H) from (%h: tensor<BxHxT>, %w: tensor<JxGxT>) -> tensor<BxGxT> {
    %p = neoflow.read %h[%n, %k] : tensor<BxHxT>
    %q = neoflow.read %w[%k + I, %j] : tensor<JxGxT>
    %m = arith.mulf %p, %q : A
    neoflow.yield %m : A
  }
  %b = neoflow.compute (%n, %j) sum (%k = I) from (%x: tensor<BxIxT>, %w: tensor<JxGxT>) -> tensor<BxGxT> {
    %p = neoflow.read %x[%n, %k] : tensor<BxIxT>
    %q = neoflow.read %w[%k, %j] : tensor<JxGxT>
    %m = arith.mulf %p, %q : A
    neoflow.yield %m : A
  }
  %d = neoflow.compute (%n, %j) from (%a: tensor<BxGxT>, %b: tensor<BxGxT>, %c: tensor<BxHxT>) -> tensor<BxHxT> {
    %one = arith.constant 1.0 : A
    %i0 = neoflow.read %a[%n, %j] : tensor<BxGxT>
    %i1 = neoflow.read %b[%n, %j] : tensor<BxGxT>
    %f0 = neoflow.read %a[%n, %j + H] : tensor<BxGxT>
    %f1 = neoflow.read %b[%n, %j + H] : tensor<BxGxT>
    %g0 = neoflow.read %a[%n, %j + 3 * H] : tensor<BxGxT>
    %g1 = neoflow.read %b[%n, %j + 3 * H] : tensor<BxGxT>
    %old = neoflow.read %c[%n, %j] : tensor<BxHxT>
    %i2 = arith.addf %i0, %i1 : A
    %f2 = arith.addf %f0, %f1 : A
    %g2 = arith.addf %g0, %g1 : A
    %i3 = arith.negf %i2 : A
    %i4 = math.exp %i3 : A
    %i5 = arith.addf %i4, %one : A
    %f3 = arith.negf %f2 : A
    %f4 = math.exp %f3 : A
    %f5 = arith.addf %f4, %one : A
    %g = math.tanh %g2 : A
    %new = arith.divf %g, %i5 : A
    %kept = arith.divf %old, %f5 : A
    %r = arith.addf %new, %kept : A
    neoflow.yield %r : A
  }
  %e = neoflow.compute (%n, %j) from (%a: tensor<BxGxT>, %b: tensor<BxGxT>, %d: tensor<BxHxT>) -> tensor<BxHxT> {
    %one = arith.constant 1.0 : A
    %o0 = neoflow.read %a[%n, %j + 2 * H] : tensor<BxGxT>
    %o1 = neoflow.read %b[%n, %j + 2 * H] : tensor<BxGxT>
    %v = neoflow.read %d[%n, %j] : tensor<BxHxT>
    %o2 = arith.addf %o0, %o1 : A
    %o3 = arith.negf %o2 : A
    %o4 = math.exp %o3 : A
    %o5 = arith.addf %o4, %one : A
    %t = math.tanh %v : A
    %r = arith.divf %t, %o5 : A
    neoflow.yield %r : A
  }
  return %e, %d, %e : tensor<BxHxT>, tensor<BxHxT>, tensor<BxHxT>
}
func.func private @zeros() -> tensor<BxHxT> {
  %z = neoflow.compute (%n, %j) -> tensor<BxHxT> {
    %zero = arith.constant 0.0 : A
    neoflow.yield %zero : A
  }
  return %z : tensor<BxHxT>
}
func.func @energy(%xs: tensor<SxBxIxT>, %w: tensor<JxGxT>) -> tensor<T> {
  %z = call @zeros() : () -> tensor<BxHxT>
  %h, %c, %ys = neoflow.scan @cell OPTIONS carry(%z, %z) stacked(%xs) invariant(%w)
      : (tensor<BxHxT>, tensor<BxHxT>, tensor<SxBxIxT>, tensor<JxGxT>)
      -> (tensor<BxHxT>, tensor<BxHxT>, tensor<SxBxHxT>)
  %l = neoflow.compute () sum (%n = B, %j = H) from (%h: tensor<BxHxT>, %c: tensor<BxHxT>) -> tensor<T> {
    %p = neoflow.read %h[%n, %j] : tensor<BxHxT>
    %q = neoflow.read %c[%n, %j] : tensor<BxHxT>
    %m = arith.mulf %p, %q : A
    neoflow.yield %m : A
  }
  OUTPUTS
}
func.func @grad(%xs: tensor<SxBxIxT>, %w: tensor<JxGxT>) -> (tensor<T>, GRADIENT_TYPES) {
  %one = arith.constant dense<1.0> : tensor<T>
  %r:COUNT = neoflow.vjp @energy(%xs, %w) wrt [WRT] cotangents(%one)
      : (tensor<SxBxIxT>, tensor<JxGxT>, tensor<T>) -> (tensor<T>, GRADIENT_TYPES)
  return RESULTS : tensor<T>, GRADIENT_TYPES
}
"""
FINAL = "return %l : tensor<T>"
EVERY = """%m = neoflow.compute () sum (%s = S, %n = B, %j = H) from (%ys: tensor<SxBxHxT>, %l: tensor<T>) -> tensor<T> {
    %p = neoflow.read %ys[%s, %n, %j] : tensor<SxBxHxT>
    %q = arith.mulf %p, %p : A
    neoflow.yield %q : A
  }
  %t = neoflow.compute () from (%l: tensor<T>, %m: tensor<T>) -> tensor<T> {
    %p = neoflow.read %l[] : tensor<T>
    %q = neoflow.read %m[] : tensor<T>
    %r = arith.addf %p, %q : A
    neoflow.yield %r : A
  }
  return %t : tensor<T>"""


def source(steps, options="", outputs=EVERY, element="f64", wrt="0, 1"):
    accumulator = "f64" if element == "f64" else "f32"
    types = {"0": "tensor<SxBxIxT>", "1": "tensor<JxGxT>"}
    wanted = wrt.split(", ")
    text = LSTM.replace("OUTPUTS", outputs).replace("OPTIONS", options)
    text = text.replace("GRADIENT_TYPES", ", ".join(types[w] for w in wanted)).replace("WRT", wrt)
    text = text.replace("COUNT", str(len(wanted) + 1)).replace("RESULTS", ", ".join(f"%r#{i}" for i in range(len(wanted) + 1)))
    sizes = {"S": steps, "B": BATCH, "I": INPUTS, "H": HIDDEN, "J": INPUTS + HIDDEN, "G": 4 * HIDDEN}
    for name, size in sizes.items():
        for before, after in [("<", "x"), ("x", "x"), ("* ", ""), ("+ ", ""), ("= ", "")]:
            text = text.replace(f"{before}{name}{after}" if after else f"{before}{name}", f"{before}{size}{after}")
    return text.replace(": A", f": {accumulator}").replace("xT>", f"x{element}>").replace("<T>", f"<{element}>")


def build(tool, folder, text, *passes):
    file = folder / "model.mlir"
    file.write_text(text)
    if passes:
        tool("neoflow-opt", file, *passes, "-o", file)
    tool("neoflow-compile", file, "-o", folder / "model.nfb")
    tool("neoflow-bundle", "verify", folder / "model.nfb")
    return Bundle(folder / "model.nfb")


def program(bundle, function="grad"):
    return next(p for p in bundle.target["programs"] if p["function"] == function)


def data(steps, dtype="f8"):
    random = np.random.default_rng(5)
    xs = random.standard_normal((steps, BATCH, INPUTS)).astype(dtype)
    return xs, (0.5 * random.standard_normal((INPUTS + HIDDEN, 4 * HIDDEN))).astype(dtype)


def reference(xs, w):
    """The energy with every output, in NumPy."""
    h = c = np.zeros((BATCH, HIDDEN))
    total = 0.0
    for x in xs:
        z = np.concatenate([x, h], 1) @ w
        i, f, o = (1 / (1 + np.exp(-z[:, k * HIDDEN : (k + 1) * HIDDEN])) for k in range(3))
        c = f * c + i * np.tanh(z[:, 3 * HIDDEN :])
        h = o * np.tanh(c)
        total += (h**2).sum()
    return total + (h * c).sum()


def close(a, b, tolerance):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max()))


@pytest.mark.parametrize("options", ["", "checkpoint 4", "checkpoint 1", "checkpoint 100", "steps 13", "reverse", "reverse checkpoint 4"])
def test_gradient_matches_unrolled_and_differences(options, tool, tmp_path):
    inputs = data(13)
    energy, *gradients = build(tool, tmp_path, source(13, options)).call("grad", inputs)
    expected, *unrolled = build(tool, tmp_path, source(13, options), "--neoflow-unroll-scans").call("grad", inputs)
    close(energy, expected, 1e-12)
    for a, b in zip(gradients, unrolled):
        close(a, b, 1e-12)

    def value(xs, w):
        return reference(xs[::-1] if "reverse" in options else xs, w)

    close(energy, value(*inputs), 1e-12)
    random = np.random.default_rng(1)
    for position, gradient in enumerate(gradients):
        direction = random.standard_normal(gradient.shape)
        above, below = (
            value(*[a + sign * 1e-5 * direction if i == position else a for i, a in enumerate(inputs)]) for sign in (1, -1)
        )
        close((gradient * direction).sum(), (above - below) / 2e-5, 1e-8)


def test_half_precision_sums_in_single(tool, tmp_path):
    """600 steps: sums of gradients in half precision would be off by percents."""
    inputs = data(600, "f2")
    _, gradient = build(tool, tmp_path, source(600, "checkpoint 25", element="f16", wrt="1")).call("grad", inputs)
    _, exact = build(tool, tmp_path, source(600, wrt="1")).call("grad", [a.astype("f8") for a in inputs])
    assert gradient.dtype == np.float16
    assert np.abs(gradient - exact).max() <= 4e-3 * np.abs(exact).max()


def test_long_sequence_in_a_quarter_of_the_memory(tool, tmp_path):
    inputs = data(512)
    text = source(512, "checkpoint 32", FINAL, wrt="1")
    bundle = build(tool, tmp_path, text)
    energy, gradient = bundle.call("grad", inputs)
    unrolled = build(tool, tmp_path, text, "--neoflow-unroll-scans")
    expected, dw = unrolled.call("grad", inputs)
    close(energy, expected, 1e-12)
    close(gradient, dw, 1e-12)
    assert 4 * program(bundle)["arena"] < program(unrolled)["arena"]
    # The carries before all steps, of which 16 and 32 are there at once.
    everything = program(build(tool, tmp_path, source(512, "", FINAL, wrt="1")))
    carries = 2 * BATCH * HIDDEN * 8
    assert program(bundle)["arena"] < 64 * carries + 4 * gradient.nbytes
    assert everything["arena"] > 512 * carries


def test_code_does_not_grow_with_time(tool, tmp_path):
    programs = []
    for steps in (64, 4096):
        bundle = build(tool, tmp_path, source(steps, "checkpoint 32"))
        programs.append((len(bundle.target["kernels"]), [len(p["launches"]) for p in bundle.target["programs"]]))
    assert programs[0] == programs[1]


def test_second_derivative(tool, tmp_path):
    """Differences of gradients against the gradient of a gradient, both with checkpoints."""
    text = source(7, "checkpoint 3", wrt="1").replace(
        "func.func @grad",
        """func.func @second(%xs: tensor<7x4x3xf64>, %w: tensor<19x64xf64>, %v: tensor<19x64xf64>)
    -> (tensor<f64>, tensor<19x64xf64>, tensor<19x64xf64>) {
  %zero = arith.constant dense<0.0> : tensor<f64>
  %r:3 = neoflow.vjp @grad(%xs, %w) wrt [1] cotangents(%zero, %v)
      : (tensor<7x4x3xf64>, tensor<19x64xf64>, tensor<f64>, tensor<19x64xf64>)
      -> (tensor<f64>, tensor<19x64xf64>, tensor<19x64xf64>)
  return %r#0, %r#1, %r#2 : tensor<f64>, tensor<19x64xf64>, tensor<19x64xf64>
}
func.func @grad""",
    )
    bundle = build(tool, tmp_path, text)
    xs, w = data(7)
    v = np.random.default_rng(2).standard_normal(w.shape)
    product = bundle.call("second", [xs, w, v])[2]
    above, below = (bundle.call("grad", [xs, w + sign * 1e-5 * v])[1] for sign in (1, -1))
    close(product, (above - below) / 2e-5, 1e-7)


COUNTER = """
func.func private @step(%t: tensor<i64>, %s: tensor<f32>, %x: tensor<2x3xf32>) -> (tensor<i64>, tensor<f32>, tensor<2x3xf32>, tensor<i64>) {
  %next = neoflow.compute () from (%t: tensor<i64>) -> tensor<i64> {
    %one = arith.constant 1 : i64
    %a = neoflow.read %t[] : tensor<i64>
    %b = arith.addi %a, %one : i64
    neoflow.yield %b : i64
  }
  %sum = neoflow.compute () from (%s: tensor<f32>, %x: tensor<2x3xf32>) -> tensor<f32> {
    %a = neoflow.read %s[] : tensor<f32>
    %b = neoflow.read %x[1, 2] : tensor<2x3xf32>
    %c = arith.addf %a, %b : f32
    neoflow.yield %c : f32
  }
  %y = neoflow.compute (%i, %j) from (%x: tensor<2x3xf32>, %t: tensor<i64>) -> tensor<2x3xf32> {
    %a = neoflow.read %x[1 - %i, %j] : tensor<2x3xf32>
    %b = neoflow.read %t[] : tensor<i64>
    %c = arith.sitofp %b : i64 to f32
    %d = arith.mulf %a, %c : f32
    neoflow.yield %d : f32
  }
  return %next, %sum, %y, %t : tensor<i64>, tensor<f32>, tensor<2x3xf32>, tensor<i64>
}
func.func @run(%s: tensor<f32>, %xs: tensor<SIZEx3xf32>) -> (tensor<i64>, tensor<f32>, tensor<SIZEx3xf32>, tensor<STEPSxi64>) {
  %t = arith.constant dense<10> : tensor<i64>
  %a, %b, %c, %d = neoflow.scan @step steps STEPS carry(%t, %s) stacked(%xs)
      : (tensor<i64>, tensor<f32>, tensor<SIZEx3xf32>) -> (tensor<i64>, tensor<f32>, tensor<SIZEx3xf32>, tensor<STEPSxi64>)
  return %a, %b, %c, %d : tensor<i64>, tensor<f32>, tensor<SIZEx3xf32>, tensor<STEPSxi64>
}
"""


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps", [1, 4, 5])
def test_integer_carries_and_slices_of_several_rows(steps, reverse, tool, tmp_path):
    text = COUNTER.replace("SIZE", str(2 * steps)).replace("STEPS", str(steps))
    if reverse:
        text = text.replace(f"steps {steps}", f"steps {steps} reverse")
    bundle = build(tool, tmp_path, text)
    xs = np.random.default_rng(0).integers(-9, 9, (2 * steps, 3)).astype("f4")
    count, total, ys, counts = bundle.call("run", [np.array(3, "f4"), xs])
    order = np.arange(steps)[::-1] if reverse else np.arange(steps)
    assert count == 10 + steps
    assert total == 3 + sum(xs[2 * t + 1, 2] for t in range(steps))
    for place, t in enumerate(order):
        assert counts[t] == 10 + place
        np.testing.assert_array_equal(ys[2 * t : 2 * t + 2], xs[2 * t : 2 * t + 2][::-1] * (10 + place))


def test_no_steps(tool, tmp_path):
    text = COUNTER.replace("SIZE", "0").replace("STEPS", "0").replace("tensor<2x3xf32>", "tensor<3xf32>")
    text = text.replace("[1, 2]", "[2]").replace("(%i, %j) from (%x", "(%j) from (%x").replace("[1 - %i, %j]", "[%j]")
    bundle = build(tool, tmp_path, text)
    count, total, ys, counts = bundle.call("run", [np.array(3, "f4"), np.zeros((0, 3), "f4")])
    assert (count, total, ys.shape, counts.shape) == (10, 3, (0, 3), (0,))


def test_runtime_runs_loops(tool, tmp_path):
    """The runtime itself, not only the reader in Python, on one and on two threads."""
    inputs = data(13)
    expected = build(tool, tmp_path, source(13, "checkpoint 4")).call("grad", inputs)
    for number, array in enumerate(inputs):
        np.save(tmp_path / f"input{number}.npy", array)
    for threads in ("1", "2"):
        tool("neoflow-run", "call", tmp_path / "model.nfb", "--function=grad", "--threads", threads, "--output-dir", tmp_path,
             "--input", tmp_path / "input0.npy", "--input", tmp_path / "input1.npy")  # fmt: skip
        for number, array in enumerate(expected):
            np.testing.assert_array_equal(np.load(tmp_path / f"{number}.npy"), array)


def test_symbolic_time_and_bench(tool, tmp_path):
    text = COUNTER.replace("SIZEx3xf32", "?x3xf32").replace("STEPSxi64", "?xi64").replace("steps STEPS ", "")
    text = text.replace("tensor<2x3xf32>", "tensor<3xf32>").replace("[1, 2]", "[2]").replace("(%i, %j) from (%x", "(%j) from (%x")
    text = text.replace("[1 - %i, %j]", "[%j]").replace("%xs: tensor<?x3xf32>", '%xs: tensor<?x3xf32> {neoflow.dims = ["time", ""]}')
    file = tmp_path / "model.mlir"
    file.write_text(text)
    tool("neoflow-compile", file, "--specialize=time=6", "-o", tmp_path / "model.nfb")
    count, _, ys, _ = Bundle(tmp_path / "model.nfb").call("run", [np.array(3, "f4"), np.ones((6, 3), "f4")])
    assert count == 16 and ys[5, 0] == 15
    report = json.loads(tool("neoflow-run", "bench", tmp_path / "model.nfb", "--function=run", "--json")[0])
    executions = [kernel["executions"] for kernel in report["functions"][0]["kernels"]]
    assert max(executions) == 6 and min(executions) == 1
