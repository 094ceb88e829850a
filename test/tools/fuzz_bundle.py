# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs mean the same compiled as interpreted, however partitioned.

usage: fuzz_bundle.py FIRST_SEED COUNT DIRECTORY

Each program is a graph of 30 nodes: elementwise computes with residual paths
and several consumers, reductions over different axes, matrix products,
transposes, broadcasts, windows, domains, scatters, constants, states that are
replaced, arguments that are returned. Values are small integers in f32, so that
results are compared for equality. Runs `neoflow-compile` and
`neoflow-interpret` from PATH.
"""

import pathlib
import random
import subprocess
import sys

import numpy as np

from run_bundle import Bundle


def tensor(shape):
    return "tensor<" + "".join(f"{extent}x" for extent in shape) + "f32>"


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        choose = self.random.choice
        a, b = choose([1, 3, 4, 8, 17]), choose([2, 3, 8, 16, 19])
        self.a, self.b = a, b
        self.shapes = [(a, b), (b, a), (a, a), (a,), (b,), ()]
        self.lines = []
        self.count = 0
        self.arguments = [("%x", (a, b)), ("%y", (b, a)), ("%p", (a,)), ("%s", (a, b)), ("%t", (a, b))]
        self.values = dict(self.arguments)
        self.lines.append("%k = arith.constant dense<" + self.dense((a, b)) + f"> : {tensor((a, b))}")
        self.values["%k"] = (a, b)

    def dense(self, shape):
        if not shape:
            return f"{self.random.randint(-3, 3)}.0"
        return "[" + ", ".join(self.dense(shape[1:]) for _ in range(shape[0])) + "]"

    def pick(self, shape=None):
        names = [name for name, other in self.values.items() if shape is None or other == shape]
        # Recent values more often, so that graphs are deep.
        return self.random.choice(names[-8:] if self.random.random() < 0.7 else names) if names else None

    def emit(self, shape, head, inputs, body, value):
        name = f"%v{self.count}"
        self.count += 1
        bound = ", ".join(f"%in{n} = {source}: {tensor(self.values[source])}" for n, source in enumerate(inputs))
        lines = [f"{name} = neoflow.compute {head.format(bound=bound)} -> {tensor(shape)} {{"]
        lines += ["  " + line for line in body]
        lines += [f"  neoflow.yield {value} : f32", "}"]
        self.lines += lines
        self.values[name] = shape

    def read(self, n, source, subscripts, otherwise=False):
        other = " else 2.0" if otherwise else ""
        return f"%a{n} = neoflow.read %in{n}[{', '.join(subscripts)}]{other} : {tensor(self.values[source])}"

    def elementwise(self):
        shape = self.values[self.pick()]
        indices = [f"%i{n}" for n in range(len(shape))]
        inputs, body, value = [], [], None
        for n in range(self.random.randint(1, 3)):
            source = self.pick(shape)
            subscripts, otherwise = indices, False
            way = self.random.random()
            if way < 0.15 and len(shape) == 2 and self.pick(shape[::-1]):
                source, subscripts = self.pick(shape[::-1]), indices[::-1]
            elif way < 0.3 and shape and self.pick(shape[:1]):
                source, subscripts = self.pick(shape[:1]), indices[:1]
            elif way < 0.4 and shape:
                subscripts, otherwise = [f"{indices[0]} + {self.random.randint(-1, 1)}"] + indices[1:], True
            inputs.append(source)
            body.append(self.read(n, source, subscripts, otherwise))
            if value is None:
                value = f"%a{n}"
            else:
                op = self.random.choice(["addf", "subf", "mulf", "maximumf", "minimumf"])
                body.append(f"%b{n} = arith.{op} {value}, %a{n} : f32")
                value = f"%b{n}"
        body += [
            "%low = arith.constant -8.0 : f32",
            "%high = arith.constant 8.0 : f32",
            f"%c0 = arith.maximumf {value}, %low : f32",
            "%c1 = arith.minimumf %c0, %high : f32",
        ]
        head = f"({', '.join(indices)}) from ({{bound}})"
        if shape and self.random.random() < 0.15:
            head += " where (%i0 >= 1) else -5.0"
        self.emit(shape, head, inputs, body, "%c1")

    def reindex(self):
        source = self.pick()
        shape = self.values[source]
        if len(shape) == 2:
            self.emit(shape[::-1], "(%i, %j) from ({bound})", [source], [self.read(0, source, ["%j", "%i"])], "%a0")
        elif len(shape) == 1:
            target = next(s for s in self.shapes if len(s) == 2 and s[0] == shape[0])
            self.emit(target, "(%i, %j) from ({bound})", [source], [self.read(0, source, ["%i"])], "%a0")

    def reduction(self):
        source = self.pick()
        shape = self.values[source]
        kind = self.random.choice(["sum", "sum", "max", "min"])
        if len(shape) == 2:
            axis = self.random.randint(0, 1)
            subscripts = ["%r", "%i"] if axis == 0 else ["%i", "%r"]
            head = f"(%i) {kind} (%r = {shape[axis]}) from ({{bound}})"
            self.emit((shape[1 - axis],), head, [source], [self.read(0, source, subscripts)], "%a0")
        elif len(shape) == 1:
            head = f"() {kind} (%r = {shape[0]}) from ({{bound}})"
            self.emit((), head, [source], [self.read(0, source, ["%r"])], "%a0")

    def product(self):
        left, right = self.pick((self.a, self.b)), self.pick((self.b, self.a))
        body = [self.read(0, left, ["%i", "%r"]), self.read(1, right, ["%r", "%j"]), "%m = arith.mulf %a0, %a1 : f32"]
        head = f"(%i, %j) sum (%r = {self.b}) from ({{bound}})"
        self.emit((self.a, self.a), head, [left, right], body, "%m")

    def scatter(self):
        source, target = self.pick((self.a, self.b)), self.pick((self.a, self.b))
        name = f"%v{self.count}"
        self.count += 1
        type_ = tensor((self.a, self.b))
        self.lines += [
            f"{name} = neoflow.scatter sum (%i = {self.a}, %j = {self.b}) from (%in0 = {source}: {type_}) into ({target}: {type_}) {{",
            "  " + self.read(0, source, ["%i", "%j"]),
            f"  neoflow.yield %a0 at [%i floordiv 2, %j + 1] : f32",
            "}",
        ]
        self.values[name] = (self.a, self.b)

    def text(self):
        makers = [self.elementwise] * 6 + [self.reindex, self.reduction, self.product]
        while self.count < 30:
            self.random.choice(makers if self.random.random() > 0.03 else [self.scatter])()
        computed = [name for name in self.values if name.startswith("%v")]
        returned = self.random.sample(computed, 8) + [computed[-1]]
        returned += [self.random.choice(returned), "%x"]
        results = [tensor(self.values[name]) for name in returned]
        # The states are replaced: by a value, by each other, by themselves.
        for position, name in ((3, "%s"), (4, "%t")):
            value = self.random.choice([self.pick((self.a, self.b)) or "%s", self.pick((self.a, self.b)) or "%s", "%s", "%t"])
            returned.append(value)
            results.append(f"{tensor((self.a, self.b))} {{neoflow.new_state = {position}}}")
        arguments = []
        for name, shape in self.arguments:
            role = f' {{neoflow.state = "{name[1:]}"}}' if name in ("%s", "%t") else ""
            arguments.append(f"{name}: {tensor(shape)}{role}")
        types = ", ".join(tensor(self.values[name]) for name in returned)
        self.lines.append(f"return {', '.join(returned)} : {types}")
        head = f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n  "
        return head + "\n  ".join(self.lines) + "\n}\n"


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    directory = pathlib.Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    launches = {"none": 0, "rules": 0}
    for seed in range(first, first + count):
        source = directory / f"{seed}.mlir"
        program = Program(seed)
        source.write_text(program.text())
        generator = np.random.default_rng(seed)
        inputs = [generator.integers(-4, 5, size=shape).astype(np.float32) for _, shape in program.arguments]
        command = ["neoflow-interpret", source, "--function", "main", "--output-dir", directory]
        for number, array in enumerate(inputs):
            np.save(directory / f"input{number}.npy", array)
            command += ["--input", directory / f"input{number}.npy"]
        subprocess.run(command, check=True)
        expected = [np.load(directory / f"result{number}.npy") for number in range(13)]
        for decider in launches:
            bundle = directory / f"{seed}.{decider}.nfb"
            subprocess.run(["neoflow-compile", source, "-O1", f"--partition={decider}", "-o", bundle], check=True)
            loaded = Bundle(bundle)
            launches[decider] += len(loaded.target["programs"][0]["launches"])
            for number, (a, b) in enumerate(zip(loaded.call("main", inputs), expected)):
                if not np.array_equal(a.reshape(b.shape), b):
                    print(f"fuzz: seed {seed}: result {number} differs with --partition={decider}; see {source}")
                    return 1
    print(f"{count} programs agree; {launches['none']} launches without fusion, {launches['rules']} with it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
