# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of whole models, compiled in double precision, against differences."""

import numpy as np
import pytest
from run_bundle import Bundle


def double(text):
    """The model in f64, labels and the learning rate aside."""
    return text.replace("f32", "f64")


@pytest.mark.parametrize("model, batch", [("lenet5", 3), ("capsnet", 2)])
def test_gradient_matches_differences(model, batch, models, tool, tmp_path):
    source = tmp_path / f"{model}.mlir"
    source.write_text(double((models / f"{model}.mlir").read_text()))
    # One step of gradient descent at rate 1 subtracts the gradient itself.
    tool("neoflow-compile", source, "--optimizer=sgd", f"--specialize=batch={batch}", "-o", tmp_path / "model.nfb")
    bundle = Bundle(tmp_path / "model.nfb")
    functions = {f["name"]: f for f in bundle.manifest["functions"]}
    random = np.random.default_rng(7)
    names = [r["name"] for r in functions["init"]["results"]]
    parameters = dict(zip(names, bundle.call("init", [np.array(3, "i8")])))
    images = random.integers(0, 256, (batch, 28, 28)).astype("f8")
    labels = random.integers(0, 10, batch).astype("i4")

    def arguments(function, values):
        kinds = {"input": images, "label": labels, "learning_rate": np.array(1, "f4")}
        return [values[a["name"]] if a["role"] == "param" else kinds[a["role"]] for a in function["arguments"]]

    def loss(values):
        return float(bundle.call("evaluate", arguments(functions["evaluate"], values))[0])

    step = functions["train_step"]
    results = bundle.call("train_step", arguments(step, parameters))
    gradient = {
        r["name"]: parameters[r["name"]] - value for r, value in zip(step["results"], results) if r["role"] == "new_state"
    }
    assert sorted(gradient) == sorted(names)
    for name in names:
        direction = random.standard_normal(parameters[name].shape)
        direction /= np.linalg.norm(direction)
        h = 1e-5
        above = loss({**parameters, name: parameters[name] + h * direction})
        below = loss({**parameters, name: parameters[name] - h * direction})
        expected = (above - below) / (2 * h)
        actual = float((gradient[name] * direction).sum())
        scale = max(abs(expected), np.linalg.norm(gradient[name]) / np.sqrt(direction.size))
        assert abs(actual - expected) <= 2e-6 * scale + 1e-11, f"{name}: {actual} and {expected}"


@pytest.mark.parametrize(
    "change",
    [
        # Routing frozen: the couplings of the last round take no part in it.
        ("%a = neoflow.read %agreement2[%n, %i, %j] : tensor<?x288x10xf32>\n    %v = math.exp %a", "%a = arith.constant 0.0 : f32\n    %v = math.exp %a"),
        # The convolution of stride 2 reads one corner only.
        ("%conv1[%n, %c, %p * 2 + %r, %q * 2 + %s]", "%conv1[%n, %c, %r, %s]"),
    ],
    ids=["routing", "stride"],
)
def test_capsule_network_uses_its_parts(change, models, tool, tmp_path):
    """Freezing the routing or dropping the strides changes the loss curve."""
    text = (models / "capsnet.mlir").read_text()
    assert change[0] in text
    curves = []
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (4, 28, 28)).astype("f4")
    labels = np.arange(4, dtype="i4")
    for version in (text, text.replace(change[0], change[1])):
        source = tmp_path / "model.mlir"
        source.write_text(version)
        tool("neoflow-compile", source, "--optimizer=sgd", "--specialize=batch=4", "-o", tmp_path / "model.nfb")
        bundle = Bundle(tmp_path / "model.nfb")
        functions = {f["name"]: f for f in bundle.manifest["functions"]}
        names = [r["name"] for r in functions["init"]["results"]]
        values = dict(zip(names, bundle.call("init", [np.array(3, "i8")])))
        curve = []
        for _ in range(4):
            kinds = {"input": images, "label": labels, "learning_rate": np.array(0.1, "f4")}
            results = bundle.call(
                "train_step",
                [values[a["name"]] if a["role"] == "param" else kinds[a["role"]] for a in functions["train_step"]["arguments"]],
            )
            for r, value in zip(functions["train_step"]["results"], results):
                if r["role"] == "loss":
                    curve.append(float(value))
                elif r["role"] == "new_state":
                    values[r["name"]] = value
        curves.append(np.array(curve))
    assert np.isfinite(curves).all()
    assert np.abs(curves[0] - curves[1]).max() > 1e-4
