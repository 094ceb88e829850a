# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a function of a bundle, from nothing but docs/BundleFormat.md.

usage: run_bundle.py BUNDLE FUNCTION OUTPUT_DIR [INPUT.npy ...]

A second implementation of the format, so that what the compiler writes is
checked without the runtime. Memory that holds no value is full of NaN.
"""

import ctypes
import json
import pathlib
import sys
import tempfile
import zipfile

import numpy as np

TYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i1": "?", "i8": "i1", "i32": "i4", "i64": "i8"}


def read_safetensors(data):
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    body = data[8 + size :]
    return {name: body[slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


def aligned(size):
    """Memory on a multiple of 64 bytes, full of ones: NaN in every float type."""
    block = np.full(size + 64, 0xFF, dtype=np.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + size]


class Bundle:
    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            self.manifest = json.loads(archive.read("manifest.json"))
            target = self.manifest["targets"][0]
            # The loader wants a file; it may go once it is loaded.
            with tempfile.NamedTemporaryFile(suffix=".so") as file:
                file.write(archive.read(target["artifact"]))
                file.flush()
                ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
                self.library = ctypes.CDLL(file.name)
            names = archive.namelist()
            constants = archive.read("constants.safetensors") if "constants.safetensors" in names else None
        self.target = target
        self.constants = read_safetensors(constants) if constants else {}

    def shapes(self, values, dims):
        return [tuple(dims.get(extent, extent) for extent in value["shape"]) for value in values]

    def unroll(self, program, memory, first, last, loop):
        """The launches in the order of their execution; slices and alternates are moved in between."""
        loops = program["loops"]
        while first < last:
            while loop < len(loops) and loops[loop]["first"] < first:
                loop += 1
            if loop == len(loops) or loops[loop]["first"] > first or loops[loop]["last"] > last:
                yield program["launches"][first]
                first += 1
                continue
            for step in range(loops[loop]["steps"]):
                for number, buffer in enumerate(program["buffers"]):
                    if buffer.get("loop") != loop:
                        continue
                    if buffer["kind"] == "alternate":
                        memory[number] = memory[buffer["odd" if step % 2 else "of"]]
                    else:
                        position = loops[loop]["steps"] - 1 - step if buffer["reverse"] else step
                        whole = memory[buffer["of"]].reshape(-1).view(np.uint8)
                        memory[number] = whole[position * buffer["bytes"] : (position + 1) * buffer["bytes"]]
                    assert memory[number].nbytes == buffer["bytes"], buffer
                yield from self.unroll(program, memory, loops[loop]["first"], loops[loop]["last"], loop + 1)
            first = loops[loop]["last"]
            loop += 1

    def call(self, name, inputs):
        """The results; new states are in copies of the arguments they replace."""
        function = next(f for f in self.manifest["functions"] if f["name"] == name)
        for program in self.target["programs"]:
            shapes = self.shapes(function["arguments"], program["dims"])
            if program["function"] == name and shapes == [np.shape(a) for a in inputs]:
                break
        else:
            raise ValueError(f"no program of {name} fits these shapes")
        arguments = [np.array(a, order="C") for a in inputs]
        results = [
            np.full(shape, 0, dtype=TYPES[value["type"]])
            for value, shape in zip(function["results"], self.shapes(function["results"], program["dims"]))
        ]
        arena = aligned(max(1, program["arena"]))
        memory = []
        for buffer in program["buffers"]:
            if buffer["kind"] in ("slice", "alternate"):
                memory.append(None)
                continue
            if buffer["kind"] == "argument":
                memory.append(arguments[buffer["index"]])
            elif buffer["kind"] == "result":
                memory.append(results[buffer["index"]])
            elif buffer["kind"] == "arena":
                assert buffer["offset"] % 64 == 0
                memory.append(arena[buffer["offset"] : buffer["offset"] + buffer["bytes"]])
            else:
                memory.append(np.frombuffer(self.constants[buffer["name"]], dtype=np.uint8).copy())
            assert memory[-1].nbytes == buffer["bytes"], buffer
        assert program["max_live"] <= program["arena"]
        for launch in self.unroll(program, memory, 0, len(program["launches"]), 0):
            kernel = self.target["kernels"][launch["kernel"]]
            pointers = (ctypes.c_void_p * len(launch["buffers"]))(*[memory[b].ctypes.data for b in launch["buffers"]])
            for phase in kernel["phases"]:
                entry = getattr(self.library, phase["symbol"])
                entry.restype = None
                # Each workgroup on its own, the last one first.
                for group in reversed(range(phase["workgroups"])):
                    workspace = aligned(kernel["workspace"])
                    entry(pointers, ctypes.c_int64(group), ctypes.c_int64(group + 1), ctypes.c_void_p(workspace.ctypes.data))
        return [memory[b] for b in program["results"]]


def main():
    bundle, function, output, *files = sys.argv[1:]
    results = Bundle(bundle).call(function, [np.load(file) for file in files])
    directory = pathlib.Path(output)
    directory.mkdir(parents=True, exist_ok=True)
    for number, result in enumerate(results):
        np.save(directory / f"result{number}.npy", result)


if __name__ == "__main__":
    main()
