# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a train step may do besides the update, against plain NumPy, after 5 updates."""

import numpy as np
import pytest
import safetensors

from run_bundle import Bundle
from test_train import MODEL, prepare, train

RATE = 0.05


def gradients(w, b, x, y):
    z = x @ w.T + b
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    p /= len(y)
    return [p.T @ x, p.sum(0)]


class Reference:
    """Sgd, momentum and adamw, one update at a time; options as in the command."""

    def __init__(self, parameters, optimizer="sgd", decay=0.0, clip_value=0, clip_norm=0, rate=lambda t: 1.0, average=0):
        self.p = [value.astype("f8") for value in parameters]
        self.m = [0 * value for value in self.p]
        self.v = [0 * value for value in self.p]
        self.average = None
        self.t = 0
        self.optimizer, self.decay, self.rate, self.share = optimizer, decay, rate, average
        self.clip_value, self.clip_norm = clip_value, clip_norm

    def update(self, g):
        if self.clip_value:
            g = [np.clip(value, -self.clip_value, self.clip_value) for value in g]
        if self.clip_norm:
            norm = np.sqrt(sum((value**2).sum() for value in g))
            g = [value * min(1, self.clip_norm / norm) for value in g]
        rate = RATE * self.rate(self.t)
        self.t += 1
        for i, value in enumerate(g):
            if self.optimizer == "sgd":
                direction = value
            elif self.optimizer == "momentum":
                direction = self.m[i] = 0.9 * self.m[i] + value
            else:
                self.m[i] = 0.9 * self.m[i] + 0.1 * value
                self.v[i] = 0.999 * self.v[i] + 0.001 * value**2
                mean, square = self.m[i] / (1 - 0.9**self.t), self.v[i] / (1 - 0.999**self.t)
                direction = mean / (np.sqrt(square) + 1e-8) + self.decay * self.p[i]
            self.p[i] = self.p[i] - rate * direction
        if self.share:
            old = self.average or self.p
            self.average = [self.share * a + (1 - self.share) * p for a, p in zip(old, self.p)]


def warm(n, schedule=lambda u: 1.0):
    return lambda t: min(1, (t + 1) / n if n else 1) * schedule(max(0, t - n))


CASES = {
    "clip-value=0.1": dict(clip_value=0.1),
    "clip-norm=0.5": dict(clip_norm=0.5),
    "warmup=4": dict(rate=warm(4)),
    "schedule=linear,schedule-steps=8": dict(rate=warm(0, lambda u: 1 - u / 8)),
    "schedule=linear,schedule-steps=3": dict(rate=warm(0, lambda u: max(0, 1 - u / 3))),
    "schedule=cosine,schedule-steps=6,warmup=2": dict(rate=warm(2, lambda u: (1 + np.cos(np.pi * u / 4)) / 2)),
    "schedule=step,schedule-every=2,schedule-gamma=0.5": dict(rate=warm(0, lambda u: 0.5 ** (u // 2))),
    "schedule=inverse-sqrt": dict(rate=lambda t: 1 / np.sqrt(t + 1)),
    "schedule=inverse-sqrt,warmup=2": dict(rate=lambda t: min(1, (t + 1) / 2) / np.sqrt(max(1, (t + 1) / 2))),
    "average=0.7": dict(average=0.7),
    "loss-scale=1024": dict(),
    "loss-scale=1024,clip-norm=0.5": dict(clip_norm=0.5),
    "clip-norm=0.3,schedule=cosine,schedule-steps=9,average=0.6": dict(
        clip_norm=0.3, rate=warm(0, lambda u: (1 + np.cos(np.pi * u / 9)) / 2), average=0.6
    ),
}


def run(tool, tmp_path, flags, samples, steps):
    x, y = prepare(tmp_path, tool, samples, *flags)
    tool(*train(tmp_path, "--steps", "0", "--checkpoint", tmp_path / "start.safetensors"))
    tool(*train(tmp_path, "--steps", steps, "--no-shuffle", "--checkpoint", tmp_path / "end.safetensors"))
    start, _ = safetensors.load(tmp_path / "start.safetensors")
    end, _ = safetensors.load(tmp_path / "end.safetensors")
    return x.astype("f8"), y, start, end


def close(actual, expected, tolerance=1e-5):
    assert np.abs(actual - expected).max() <= tolerance * max(1, np.abs(expected).max())


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adamw"])
@pytest.mark.parametrize("options", CASES)
def test_alone_and_together(tool, tmp_path, options, optimizer):
    flags = [f"--train-step={options}", f"--optimizer={optimizer}"]
    decay = 0.1 if optimizer == "adamw" else 0.0
    x, y, start, end = run(tool, tmp_path, [*flags, f"--weight-decay={decay}"], 320, 5)
    reference = Reference([start["w"], start["b"]], optimizer, decay, **CASES[options])
    for i in range(5):
        batch = slice(64 * i, 64 * i + 64)
        reference.update(gradients(*reference.p, x[batch], y[batch]))
    close(end["w"], reference.p[0])
    close(end["b"], reference.p[1])
    if reference.share:
        close(end["w.average"], reference.average[0])
        close(end["b.average"], reference.average[1])


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adamw"])
def test_accumulation_equals_the_large_batch(tool, tmp_path, optimizer):
    """Four steps of 16 samples and one of 64 give one update, with clipping and
    warm-up counting updates."""
    flags = ["--specialize=batch=16", "--train-step=accumulate=4,clip-norm=0.5,warmup=4", f"--optimizer={optimizer}"]
    x, y, start, end = run(tool, tmp_path, flags, 320, 18)
    reference = Reference([start["w"], start["b"]], optimizer, clip_norm=0.5, rate=warm(4))
    # Eighteen steps are four updates; the last two steps only accumulate.
    for i in range(4):
        batch = slice(64 * i, 64 * i + 64)
        reference.update(gradients(*reference.p, x[batch], y[batch]))
    close(end["w"], reference.p[0])
    close(end["b"], reference.p[1])
    rest = [gradients(*reference.p, x[16 * i : 16 * i + 16], y[16 * i : 16 * i + 16]) for i in (16, 17)]
    close(end["w.gradient_sum"], (rest[0][0] + rest[1][0]) / 4)


def test_master_weights_keep_small_updates(tool, tmp_path):
    """Updates below the spacing of f16 are lost without a copy in f32."""
    half = MODEL.replace("tensor<3x5xf32>", "tensor<3x5xf16>")
    ends = {}
    for name, flags in (("plain", []), ("master", ["--train-step=master-weights=true,loss-scale=256"])):
        folder = tmp_path / name
        folder.mkdir()
        x, y = prepare(folder, tool, 320)
        (folder / "model.mlir").write_text(half)
        tool("neoflow-compile", folder / "model.mlir", "-o", folder / "model.nfb", *flags)
        tiny = ["0.00001" if part == "0.05" else part for part in train(folder, "--no-shuffle")]
        tool(*tiny, "--steps", "0", "--checkpoint", folder / "start.safetensors")
        tool(*tiny, "--steps", "5", "--checkpoint", folder / "end.safetensors")
        start, _ = safetensors.load(folder / "start.safetensors")
        ends[name], _ = safetensors.load(folder / "end.safetensors")
    # All but elements near zero, whose neighbours are closer, stay where they are.
    assert np.count_nonzero(ends["plain"]["w"] != start["w"]) <= 2
    moved = np.abs(ends["master"]["w.master"] - start["w"].astype("f4"))
    assert 0 < moved.max() < 1e-3
    w, b = start["w"].astype("f8"), start["b"].astype("f8")
    for i in range(5):
        batch = slice(64 * i, 64 * i + 64)
        # The forward pass sees the rounded weights.
        g = gradients(w.astype("f2").astype("f8"), b, x[batch].astype("f8"), y[batch])
        w, b = w - 1e-5 * g[0], b - 1e-5 * g[1]
    close(ends["master"]["w.master"], w, 1e-6)
    assert np.array_equal(ends["master"]["w"], ends["master"]["w.master"].astype("f2"))


def test_gradient_alone(tool, tmp_path):
    x, y = prepare(tmp_path, tool, 64, "--emit-grad")
    generator = np.random.default_rng(3)
    w, b = generator.standard_normal((3, 5)).astype("f4"), generator.standard_normal(3).astype("f4")
    loss, *actual = Bundle(tmp_path / "model.nfb").call("gradient", [w, b, x, y.astype("i4")])
    assert loss.shape == ()
    for one, expected in zip(actual, gradients(w.astype("f8"), b.astype("f8"), x.astype("f8"), y), strict=True):
        close(one, expected)


@pytest.mark.parametrize(
    "options, message",
    [
        ("clip-value=-1", "expected 'clip-value' to be at least 0"),
        ("clip-norm=-1", "expected 'clip-norm' to be at least 0"),
        ("accumulate=0", "expected 'accumulate' to be at least 1"),
        ("average=1", "expected 'average' to be at least 0 and less than 1"),
        ("loss-scale=0", "expected 'loss-scale' to be positive"),
        ("warmup=-1", "expected 'warmup' to be at least 0, but got -1"),
        ("schedule=often", "unknown schedule 'often'; known are constant, linear, cosine, step, inverse-sqrt"),
        ("schedule=linear", "expected 'schedule-steps' to be more than 'warmup' for the schedule 'linear', but got 0"),
        ("schedule=step", "expected 'schedule-every' to be at least 1 for the schedule 'step', but got 0"),
        ("schedule=step,schedule-every=1,schedule-gamma=0", "expected 'schedule-gamma' to be positive"),
        ("colour=blue", "no such option colour"),
    ],
)
def test_refuses_wrong_options(tool, tmp_path, options, message):
    (tmp_path / "model.mlir").write_text(MODEL)
    _, errors = tool("neoflow-compile", tmp_path / "model.mlir", "-o", tmp_path / "m.nfb", f"--train-step={options}", status=1)
    assert message in errors
    assert not (tmp_path / "m.nfb").exists()
