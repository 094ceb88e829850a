# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a function that is a chain of N computes, for tests of scale."""

import sys


def main():
    count = int(sys.argv[1])
    write = sys.stdout.write
    write("func.func @chain(%t0: tensor<64x64xf32>, %w: tensor<64xf32>) -> tensor<64x64xf32> {\n")
    for i in range(count):
        write(
            f"  %t{i + 1} = neoflow.compute (%i, %j) from (%t{i}: tensor<64x64xf32>, %w: tensor<64xf32>) -> tensor<64x64xf32> {{\n"
            f"    %a = neoflow.read %t{i}[%i, %j] else 0.0 : tensor<64x64xf32>\n"
            f"    %b = neoflow.read %w[%j] : tensor<64xf32>\n"
            f"    %c = arith.constant {i}.0 : f32\n"
            "    %d = arith.mulf %a, %b : f32\n"
            "    %e = arith.addf %d, %c : f32\n"
            "    neoflow.yield %e : f32\n"
            "  }\n"
        )
    write(f"  return %t{count} : tensor<64x64xf32>\n}}\n")


if __name__ == "__main__":
    main()
