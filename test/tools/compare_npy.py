# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares two .npy files: prints the largest error, fails if it is too large.

Elements agree when they are equal (infinities included), both NaN, or when
|a - b| <= atol + rtol * |b|, where b is the element of the second file.
"""

import argparse
import sys

import numpy as np


def compare(a, b, rtol, atol):
    """Returns (description, whether the arrays agree)."""
    if a.shape != b.shape:
        return f"shapes differ: {a.shape} and {b.shape}", False
    if a.size == 0:
        return "no elements", True
    if a.dtype.kind not in "fbiu" or b.dtype.kind not in "fbiu":
        return f"unsupported element types: {a.dtype} and {b.dtype}", False
    exact = a.dtype.kind != "f" and b.dtype.kind != "f" and rtol == 0 and atol == 0
    if exact:
        wrong = int(np.count_nonzero(a != b))
        return f"{wrong} of {a.size} elements differ", wrong == 0
    a = a.astype(np.float64)
    b = b.astype(np.float64)
    if (np.isnan(a) != np.isnan(b)).any():
        at = np.unravel_index(int(np.argmax(np.isnan(a) != np.isnan(b))), a.shape)
        return f"one is NaN at {tuple(map(int, at))}: {a[at]} and {b[at]}", False
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(a - b))
        bound = np.where(same, 0.0, atol + rtol * np.abs(b))
    # An infinity against anything else is never close, whatever rtol says.
    wrong = ~same & (~np.isfinite(error) | ~(error <= bound))
    at = np.unravel_index(int(np.argmax(np.where(wrong, np.inf, error))), a.shape)
    text = f"largest error {error[at]:.3g} at {tuple(map(int, at))}: {a[at]!r} and {b[at]!r}"
    if wrong.any():
        text += f"; {int(np.count_nonzero(wrong))} of {a.size} elements are off"
    return text, not wrong.any()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--rtol", type=float, default=0.0)
    parser.add_argument("--atol", type=float, default=0.0)
    options = parser.parse_args()
    text, agree = compare(np.load(options.a), np.load(options.b), options.rtol, options.atol)
    print(f"{'ok' if agree else 'FAILED'}: {options.a} {options.b}: {text}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
