# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of random programs match differences of the programs, and second
derivatives match differences of gradients.

usage: fuzz_gradients.py FIRST_SEED COUNT DIRECTORY

Each program is a chain of 1 to 12 computes in f64 over all reductions, windows,
domains, gathers, broadcasts and scalar functions. Derivatives along a random
direction are compared with central differences of two steps; where those disagree
with each other a kink is near and nothing is compared. Programs are compiled with
`neoflow-compile` from PATH, twenty to a module, and run in this process.
"""

import pathlib
import random
import subprocess
import sys

import numpy as np

from run_bundle import Bundle

UNARY = {
    "tanh": ["%r = math.tanh %a : f64"],
    "sin": ["%r = math.sin %a : f64"],
    "erf": ["%r = math.erf %a : f64"],
    "atan": ["%r = math.atan %a : f64"],
    "abs": ["%r = math.absf %a : f64"],
    "square": ["%r = arith.mulf %a, %a : f64"],
    "bell": ["%s = arith.mulf %a, %a : f64", "%n = arith.negf %s : f64", "%r = math.exp %n : f64"],
    "norm": ["%c = arith.constant 0.5 : f64", "%s = arith.mulf %a, %a : f64", "%t = arith.addf %s, %c : f64", "%r = math.sqrt %t : f64"],
    "log": ["%s = arith.mulf %a, %a : f64", "%r = math.log1p %s : f64"],
    "power": ["%c = arith.constant 1.5 : f64", "%s = math.absf %a : f64", "%r = math.powf %s, %c : f64"],
    "leaky": [
        "%z = arith.constant 0.0 : f64", "%g = arith.constant 0.1 : f64", "%p = arith.cmpf ogt, %a, %z : f64",
        "%l = arith.mulf %a, %g : f64", "%r = arith.select %p, %a, %l : f64",
    ],
    "guarded": [
        "%z = arith.constant 0.0 : f64", "%p = arith.cmpf ogt, %a, %z : f64", "%q = math.sqrt %a : f64",
        "%r = arith.select %p, %q, %a : f64",
    ],
    "floor": ["%f = math.floor %a : f64", "%r = arith.subf %a, %f : f64"],
}  # fmt: skip
BINARY = {
    "add": ["%r = arith.addf %a, %b : f64"],
    "sub": ["%r = arith.subf %a, %b : f64"],
    "mul": ["%r = arith.mulf %a, %b : f64"],
    "div": ["%c = arith.constant 1.0 : f64", "%s = arith.mulf %b, %b : f64", "%t = arith.addf %s, %c : f64", "%r = arith.divf %a, %t : f64"],
    "max": ["%r = arith.maximumf %a, %b : f64"],
    "min": ["%r = arith.minimumf %a, %b : f64"],
    "atan2": ["%c = arith.constant 1.5 : f64", "%s = math.absf %b : f64", "%t = arith.addf %s, %c : f64", "%r = math.atan2 %a, %t : f64"],
    "fma": ["%r = math.fma %a, %b, %a : f64"],
}  # fmt: skip
LOG_SUM = [
    "%m = arith.maximumf %m1, %m2 : f64", "%d1 = arith.subf %m1, %m : f64", "%d2 = arith.subf %m2, %m : f64",
    "%e1 = math.exp %d1 : f64", "%e2 = math.exp %d2 : f64", "%t1 = arith.mulf %s1, %e1 : f64",
    "%t2 = arith.mulf %s2, %e2 : f64", "%s = arith.addf %t1, %t2 : f64", "neoflow.yield %m, %s : f64, f64",
]  # fmt: skip


def tensor(shape, element="f64"):
    return "tensor<" + "".join(f"{extent}x" for extent in shape) + element + ">"


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.name = f"p{seed}"
        a, b = self.random.randint(1, 5), self.random.randint(1, 6)
        self.inputs = {"%x": (a, b), "%y": (b,)}
        self.rows = self.random.randint(1, 4)
        self.values = dict(self.inputs)
        self.lines = []
        for _ in range(self.random.randint(1, 12)):
            self.random.choice([self.elementwise, self.elementwise, self.reduce, self.reduce, self.product, self.gather, self.combine])()

    def emit(self, shape, head, bound, body, tail=()):
        name = f"%v{len(self.lines)}"
        inputs = ", ".join(f"%in{n} = {source}: {type}" for n, (source, type) in enumerate(bound))
        self.lines.append("\n    ".join([f"{name} = neoflow.compute {head.format(bound=inputs)} -> {tensor(shape)} {{", *body, *tail]) + "\n  }")
        self.values[name] = shape

    def pick(self, rank=None):
        names = [name for name, shape in self.values.items() if rank is None or len(shape) == rank]
        return self.random.choice(names[-4:]) if names else None

    def typed(self, name):
        return (name, tensor(self.values[name]))

    def scalar(self, count):
        """Body lines from %a0, %a1 to %r."""
        choose = self.random.choice
        if count == 1:
            lines = UNARY[choose(sorted(UNARY))]
            return [line.replace("%a", "%a0") for line in lines]
        lines = [line.replace("%a", "%a0").replace("%b", "%a1") for line in BINARY[choose(sorted(BINARY))]]
        if self.random.random() < 0.5:
            inner = [line.replace("%r", "%u") for line in lines]
            outer = [line.replace("%a", "%u") for line in UNARY[choose(["tanh", "sin", "bell", "leaky", "square"])]]
            rename = {f"%{c}": f"%{c}o" for c in "cdfglnpqstz"}
            for old, new in rename.items():
                outer = [line.replace(f"{old} ", f"{new} ").replace(f"{old},", f"{new},") for line in outer]
            return inner + outer
        return lines

    def elementwise(self):
        source = self.pick()
        shape = self.values[source]
        indices = [f"%i{n}" for n in range(len(shape))]
        subscripts, otherwise = list(indices), ""
        if shape and self.random.random() < 0.3:
            axis = self.random.randrange(len(shape))
            subscripts[axis] = self.random.choice([f"{indices[axis]} + 1", f"{indices[axis]} - 1", f"{shape[axis] - 1} - {indices[axis]}", f"{indices[axis]} floordiv 2"])
            otherwise = " else 0.5"
        bound, body = [self.typed(source)], [f"%a0 = neoflow.read %in0[{', '.join(subscripts)}]{otherwise} : {tensor(shape)}"]
        if self.random.random() < 0.6:
            other = self.random.choice([name for name, have in self.values.items() if have == shape or (len(shape) == 2 and have == shape[1:])])
            bound.append(self.typed(other))
            body.append(f"%a1 = neoflow.read %in1[{', '.join(indices[len(shape) - len(self.values[other]):])}] : {tensor(self.values[other])}")
        self.emit(shape, f"({', '.join(indices)}) from ({{bound}})", bound, body + self.scalar(len(bound)), ["neoflow.yield %r : f64"])

    def reduce(self):
        source = self.pick(2) or self.pick(1)
        shape = self.values[source]
        kind = self.random.choice(["sum", "max", "min", "prod"])
        ties = self.random.choice(["", "", " ties first"]) if kind in ("max", "min") else ""
        parallel = [f"%i{n}" for n in range(len(shape) - 1)]
        extent = shape[-1]
        where = ""
        if self.random.random() < 0.3:
            where = f" where ({parallel[0]} + %k <= {self.random.randint(0, extent)})" if parallel else f" where (%k mod 2 == {self.random.randint(0, 1)})"
        bare = self.random.random() < 0.4
        body = [f"%a0 = neoflow.read %in0[{', '.join(parallel + ['%k'])}] : {tensor(shape)}"]
        body += [] if bare else self.scalar(1)
        value = "%a0" if bare else "%r"
        if where and kind in ("max", "min"):
            where = ""
        self.emit(shape[:-1], f"({', '.join(parallel)}) {kind} (%k = {extent}) from ({{bound}}){where}{ties}", [self.typed(source)], body, [f"neoflow.yield {value} : f64"])

    def product(self):
        left = self.pick(2)
        a, b = self.values[left]
        right = self.random.choice([name for name, shape in self.values.items() if len(shape) == 2])
        c, d = self.values[right]
        k = min(b, d)
        body = [
            f"%a0 = neoflow.read %in0[%i, %k] : {tensor((a, b))}",
            f"%a1 = neoflow.read %in1[%j, %k] : {tensor((c, d))}",
            "%r = arith.mulf %a0, %a1 : f64",
        ]
        self.emit((a, c), f"(%i, %j) sum (%k = {k}) from ({{bound}})", [self.typed(left), self.typed(right)], body, ["neoflow.yield %r : f64"])

    def gather(self):
        source = self.pick(2)
        shape = self.values[source]
        otherwise = self.random.choice([" else 0.25", ""])
        body = [
            f"%row = neoflow.read %in1[%i] : {tensor((self.rows,), 'i64')}",
            f"%extent = arith.constant {shape[0]} : i64",
            "%inside = arith.remui %row, %extent : i64",
            f"%at = arith.index_cast {'%row' if otherwise else '%inside'} : i64 to index",
            f"%a0 = neoflow.read %in0[%at, %j]{otherwise} : {tensor(shape)}",
            *self.scalar(1),
        ]
        self.emit((self.rows, shape[1]), "(%i, %j) from ({bound})", [self.typed(source), ("%rows", tensor((self.rows,), "i64"))], body, ["neoflow.yield %r : f64"])

    def combine(self):
        source = self.pick(2)
        shape = self.values[source]
        name = f"%v{len(self.lines)}"
        self.lines.append(
            f"{name}, {name}_s = neoflow.compute (%i) combine (%k = {shape[1]}) from (%in = {source}: {tensor(shape)}) identity (-1.0e30, 0.0) -> ({tensor(shape[:1])}, {tensor(shape[:1])}) {{\n"
            f"    %a = neoflow.read %in[%i, %k] : {tensor(shape)}\n    %one = arith.constant 1.0 : f64\n    neoflow.yield %a, %one : f64, f64\n"
            "  } combine (%m1: f64, %s1: f64, %m2: f64, %s2: f64) {\n    " + "\n    ".join(LOG_SUM) + "\n  }"
        )
        self.values[f"{name}_s"] = shape[:1]

    def text(self):
        """@NAME, its gradient @NAME_g and the gradient of that, @NAME_h."""
        arguments = ", ".join(f"{name}: {tensor(shape)}" for name, shape in self.inputs.items())
        arguments += f", %rows: {tensor((self.rows,), 'i64')}"
        names = ", ".join(part.split(":")[0] for part in arguments.split(", "))
        types = ", ".join(part.split(": ")[1] for part in arguments.split(", "))
        out = list(self.values)[-1]
        result = tensor(self.values[out])
        grads = ", ".join(tensor(shape) for shape in self.inputs.values())
        return f"""
func.func @{self.name}({arguments}) -> {result} {{
  {(chr(10) + '  ').join(self.lines)}
  return {out} : {result}
}}
func.func @{self.name}_g({arguments}, %dy: {result}) -> ({grads}) {{
  %r:3 = neoflow.vjp @{self.name}({names}) wrt [0, 1] cotangents(%dy) : ({types}, {result}) -> ({result}, {grads})
  return %r#1, %r#2 : {grads}
}}
func.func @{self.name}_h({arguments}, %dy: {result}, %u: {tensor(self.inputs['%x'])}, %w: {tensor(self.inputs['%y'])}) -> ({grads}) {{
  %r:4 = neoflow.vjp @{self.name}_g({names}, %dy) wrt [0, 1] cotangents(%u, %w) : ({types}, {result}, {grads}) -> ({grads}, {grads})
  return %r#2, %r#3 : {grads}
}}
"""


def difference(f, x, v):
    """The derivative of `f` along `v`; nothing near a kink."""
    slopes = []
    for h in (1e-5, 3e-6):
        slopes.append((f([a + h * b for a, b in zip(x, v)]) - f([a - h * b for a, b in zip(x, v)])) / (2 * h))
    scale = max(1.0, abs(slopes[0]))
    return slopes[1] if abs(slopes[0] - slopes[1]) <= 1e-6 * scale else None


def dot(a, b):
    return sum(float((x * y).sum()) for x, y in zip(a, b))


def check(bundle, program, generator):
    """How many comparisons of two were made, and how many were not of zeros; raises
    where one fails."""
    shapes = list(program.inputs.values())
    x = [generator.standard_normal(shape) for shape in shapes]
    v = [generator.standard_normal(shape) for shape in shapes]
    u = [generator.standard_normal(shape) for shape in shapes]
    rows = generator.integers(0, 7, program.rows)
    shape = program.values[list(program.values)[-1]]
    dy = np.asarray(generator.standard_normal(shape))
    made = moved = 0

    def value(at):
        (y,) = bundle.call(program.name, [*at, rows])
        return dot([y], [dy])

    def slope(at):
        return dot(bundle.call(f"{program.name}_g", [*at, rows, dy]), u)

    for f, gradient in (
        (value, lambda: bundle.call(f"{program.name}_g", [*x, rows, dy])),
        (slope, lambda: bundle.call(f"{program.name}_h", [*x, rows, dy, *u])),
    ):
        g = gradient()
        if not all(np.isfinite(part).all() for part in g):
            raise AssertionError(f"{program.name}: not finite: {g}\n{program.text()}")
        expected = difference(f, x, v)
        if expected is None:
            continue
        actual = dot(g, v)
        if abs(actual - expected) > 2e-6 * max(1.0, abs(expected)):
            raise AssertionError(f"{program.name}: {actual}, but differences give {expected}\n{program.text()}")
        made += 1
        moved += expected != 0
    return made, moved


def main():
    first, count, directory = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    compared = moved = 0
    for start in range(first, first + count, 20):
        programs = [Program(seed) for seed in range(start, min(start + 20, first + count))]
        source, bundle = directory / f"{start}.mlir", directory / f"{start}.nfb"
        source.write_text("".join(program.text() for program in programs))
        done = subprocess.run(["neoflow-compile", str(source), "-o", str(bundle)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{source}: {done.stderr[:3000]}")
        loaded = Bundle(bundle)
        for program in programs:
            made, nonzero = check(loaded, program, np.random.default_rng(program.random.randrange(1 << 30)))
            compared += made
            moved += nonzero
    print(f"{count} programs agree; of {2 * count} comparisons {2 * count - compared} were near a kink and {moved} of slopes that are not zero")
    assert compared >= 1.8 * count and moved >= count, "too little was compared"


if __name__ == "__main__":
    main()
