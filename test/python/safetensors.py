# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a safetensors file: arrays by name, and the metadata."""

import json

import numpy as np

TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "i1", "I32": "<i4", "I64": "<i8", "BOOL": "?", "U8": "u1"}


def load(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = data[8 + size + begin : 8 + size + end]
        arrays[name] = np.frombuffer(raw, TYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays, metadata
