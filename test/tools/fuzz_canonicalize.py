# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs mean the same before and after canonicalisation and CSE.

usage: fuzz_canonicalize.py FIRST_SEED COUNT DIRECTORY

Runs `neoflow-opt` and `neoflow-interpret` from PATH on one program for each
seed: computes over small tensors with reads at random affine subscripts,
domains, constant inputs and index symbols, repeated and unused inputs.
Integers only, so that results are compared for equality.
"""

import filecmp
import pathlib
import random
import subprocess
import sys

KINDS = ["none", "none", "sum", "max", "min", "umax", "or"]


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        # Values by name: their shapes.
        self.tensors = {"%x": (4, 3), "%y": (5,), "%z": (3, 3)}
        self.lines += ["%seven = arith.constant 7 : i32", "%two = arith.constant 2 : index"]
        self.lines += ["%splat = arith.constant dense<5> : tensor<4x3xi32>"]
        self.tensors["%splat"] = (4, 3)

    def subscript(self, names):
        choose = self.random.choice
        index = choose(names)
        other = choose(names)
        return choose(
            [
                index,
                index,
                f"{index} + {choose(range(3))}",
                f"{index} * {choose([1, 2, -1])} + {other} - {choose(range(3))}",
                f"({index} + {choose(range(6))}) mod {choose([2, 3, 4])}",
                f"({index} - {choose(range(4))}) floordiv {choose([1, 2, 3])}",
                f"({index} + {other}) ceildiv {choose([1, 2])}",
                str(choose(range(3))),
            ]
        )

    def where(self, indices, symbol):
        choose = self.random.choice
        index = choose(indices)
        bound = choose(range(4))
        if choose([True, False]):
            return f" where ({index} mod 2 == 0) or ({index} mod 2 == 1, {index} >= {bound})"
        limit = f"symbol({symbol})" if symbol and choose([True, False]) else str(bound)
        return f" where ({index} >= {limit})"

    def compute(self, number):
        choose = self.random.choice
        kind = choose(KINDS)
        shape = choose([(), (4,), (4, 3), (2, 3), (3, 4)])
        if kind == "none" and not shape:
            shape = (4, 3)
        parallel = [f"%i{n}" for n in range(len(shape))]
        reduction = {f"%r{n}": choose([1, 2, 3]) for n in range(choose([0, 1, 2]))} if kind != "none" else {}
        indices = parallel + list(reduction)
        bound, types = [], []
        for n in range(choose([1, 2, 3])):
            source = choose(list(self.tensors))
            bound.append((f"%in{n}", source))
            types.append("tensor<" + "x".join(map(str, self.tensors[source])) + "xi32>" if self.tensors[source] else "tensor<i32>")
        scalar = choose(["%s", "%seven"])
        symbol = choose(["%k", "%two"])
        inputs = ", ".join(f"{a} = {b}: {t}" for (a, b), t in zip(bound, types))
        inputs += f", %scalar = {scalar}: i32, %symbol = {symbol}: index"
        head = f"%v{number} = neoflow.compute ({', '.join(parallel)})"
        if kind != "none":
            head += f" {kind} (" + ", ".join(f"{r} = {e}" for r, e in reduction.items()) + ")"
        head += f" from ({inputs})"
        if indices and choose([True, False, False]):
            head += self.where(indices, "%symbol")
            if kind == "none":
                head += " else -9"
        result = "tensor<" + "".join(f"{e}x" for e in shape) + "i32>"
        body, values = [], []
        for n, ((name, source), type_) in enumerate(zip(bound, types)):
            names = (indices or ["0"]) + (["%symbol"] if choose([True, False, False]) else [])
            subscripts = ", ".join(self.subscript(names) for _ in self.tensors[source])
            if kind == "none" and self.tensors[source] == shape and choose([True, False]):
                subscripts = ", ".join(parallel)
            body.append(f"%a{n} = neoflow.read {name}[{subscripts}] else {choose([0, 5, -3])} : {type_}")
            values.append(f"%a{n}")
        if choose([True, False, False]):
            values.append("%scalar")
        value = values[0]
        for n, other in enumerate(values[1:]):
            if choose([True, True, False]):
                body.append(f"%b{n} = {choose(['arith.addi', 'arith.muli', 'arith.subi', 'arith.xori'])} {value}, {other} : i32")
                value = f"%b{n}"
        body.append(f"neoflow.yield {value} : i32")
        self.lines += [f"{head} -> {result} {{", *("  " + line for line in body), "}"]
        self.tensors[f"%v{number}"] = shape

    def text(self):
        for number in range(8):
            self.compute(number)
        names = [name for name in self.tensors if name.startswith("%v")]
        types = ["tensor<" + "".join(f"{e}x" for e in self.tensors[name]) + "i32>" for name in names]
        self.lines.append(f"return {', '.join(names)} : {', '.join(types)}")
        arguments = "%x: tensor<4x3xi32>, %y: tensor<5xi32>, %z: tensor<3x3xi32>, %s: i32, %k: index"
        return f"func.func @main({arguments}) -> ({', '.join(types)}) {{\n  " + "\n  ".join(self.lines) + "\n}\n"


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    directory = pathlib.Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    simpler = 0
    for seed in range(first, first + count):
        before, after = directory / f"{seed}.mlir", directory / f"{seed}.canonical.mlir"
        before.write_text(Program(seed).text())
        subprocess.run(["neoflow-opt", before, "-canonicalize", "-cse", "-o", after], check=True)
        simpler += before.read_text().count("neoflow.compute") > after.read_text().count("neoflow.compute")
        for name, source in (("a", before), ("b", after)):
            command = ["neoflow-interpret", source, "--function", "main", "--random-inputs", str(seed), "--integers"]
            subprocess.run([*command, "--output-dir", directory / name], check=True)
        for number in range(8):
            name = f"result{number}.npy"
            if not filecmp.cmp(directory / "a" / name, directory / "b" / name, shallow=False):
                print(f"fuzz: seed {seed}: result {number} differs; see {before} and {after}")
                return 1
    print(f"{count} programs agree; {simpler} have fewer computes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
