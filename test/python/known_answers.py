# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators and gradients with answers worked out by hand.

Each case stands for a kind of mistake that comparable systems have made;
test_known_answers.py runs them.
"""

import numpy as np

NAN, INF = float("nan"), float("inf")
CASES = []


class Case:
    """`source` defines @NAME; `wrt` adds @NAME_vjp, its results and gradients."""

    def __init__(self, name, source, inputs, expected, wrt=None, dy=None, tolerance=1e-5):
        self.name, self.source, self.expected, self.tolerance = name, source.strip("\n"), expected, tolerance
        self.inputs = list(inputs)
        self.function = name
        if wrt is not None:
            head = source[source.index(f"@{name}(") :]
            arguments = head[head.index("(") + 1 : head.index(")")]
            types = [part.split(":")[1].strip() for part in arguments.split(", ")]
            names = [part.split(":")[0].strip() for part in arguments.split(", ")]
            result = head[head.index("->") + 2 : head.index("{")].strip()
            gradients = [types[i] for i in wrt]
            outs = ", ".join([result, *gradients])
            self.source += f"""
func.func @{name}_vjp({arguments}, %dy: {result}) -> ({outs}) {{
  %r:{1 + len(wrt)} = neoflow.vjp @{name}({", ".join(names)}) wrt {list(wrt)} cotangents(%dy)
      : ({", ".join([*types, result])}) -> ({outs})
  return {", ".join(f"%r#{i}" for i in range(1 + len(wrt)))} : {outs}
}}"""
            self.function = f"{name}_vjp"
            self.inputs.append(dy)

    def check(self, results):
        assert len(results) == len(self.expected)
        for result, expected in zip(results, self.expected):
            expected = np.asarray(expected)
            assert result.shape == expected.shape, self.name
            np.testing.assert_allclose(
                result.astype("f8"), expected, rtol=self.tolerance, atol=self.tolerance, err_msg=self.name
            )


def case(name, source, inputs, expected, **more):
    CASES.append(Case(name, source, inputs, expected, **more))


def f4(*values):
    return np.array(values, dtype=np.float32)


def iota(*shape, start=1, dtype=np.float32):
    return np.arange(start, start + np.prod(shape), dtype=dtype).reshape(shape)


case(
    "overlapping_max",
    """
func.func @overlapping_max(%x: tensor<5xf32>) -> tensor<4xf32> {
  %y = neoflow.compute (%o) max (%k = 2) from (%x: tensor<5xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%o + %k] : tensor<5xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<4xf32>
}""",
    [f4(5, 3, 1, 2, 5)],
    [[5, 3, 2, 5], [1, 2, 0, 3, 4]],
    wrt=[0],
    dy=f4(1, 2, 3, 4),
)

x = iota(4, 6)
x[1, 1] = 88
x -= 100
dx = np.zeros((4, 6))
dx[1, 1], dx[1, 5], dx[3, 5] = 4, 1, 1
case(
    "padded_max",
    """
func.func @padded_max(%x: tensor<4x6xf32>) -> tensor<2x3xf32> {
  %y = neoflow.compute (%h, %w) max (%r = 3, %s = 3) from (%x: tensor<4x6xf32>) -> tensor<2x3xf32> {
    %a = neoflow.read %x[%h * 2 + %r - 1, %w * 2 + %s - 1] else -inf : tensor<4x6xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<2x3xf32>
}""",
    [x],
    [[[-12, -12, -88], [-12, -12, -76]], dx],
    wrt=[0],
    dy=np.ones((2, 3), np.float32),
)

for ties, expected in (("share", [[0.5, 0, 0.5, 0], [1, 1, 0, 1]]), ("first", [[1, 0, 0, 0], [3, 0, 0, 0]])):
    case(
        f"ties_{ties}",
        f"""
func.func @ties_{ties}(%x: tensor<2x4xf32>) -> tensor<2xf32> {{
  %y = neoflow.compute (%i) max (%k = 4) from (%x: tensor<2x4xf32>) ties {ties} -> tensor<2xf32> {{
    %a = neoflow.read %x[%i, %k] : tensor<2x4xf32>
    neoflow.yield %a : f32
  }}
  return %y : tensor<2xf32>
}}""",
        [np.array([[7, 1, 7, 2], [4, 4, 3, 4]], np.float32)],
        [[7, 4], expected],
        wrt=[0],
        dy=f4(1, 3),
    )
    # The body is a square: elements that tie are no longer equal themselves.
    expected = np.array(expected) * 2 * np.array([[-7, 1, 7, 2], [4, -4, 3, 4]])
    case(
        f"ties_{ties}_of_squares",
        f"""
func.func @ties_{ties}_of_squares(%x: tensor<2x4xf32>) -> tensor<2xf32> {{
  %y = neoflow.compute (%i) max (%k = 4) from (%x: tensor<2x4xf32>) ties {ties} -> tensor<2xf32> {{
    %a = neoflow.read %x[%i, %k] : tensor<2x4xf32>
    %b = arith.mulf %a, %a : f32
    neoflow.yield %b : f32
  }}
  return %y : tensor<2xf32>
}}""",
        [np.array([[-7, 1, 7, 2], [4, -4, 3, 4]], np.float32)],
        [[49, 16], expected],
        wrt=[0],
        dy=f4(1, 3),
    )

case(
    "min_with_init",
    """
func.func @min_with_init(%x: tensor<3x2xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %y = neoflow.compute (%i) min (%k = 2) from (%x: tensor<3x2xf32>) init (%z: tensor<3xf32>) -> tensor<3xf32> {
    %a = neoflow.read %x[%i, %k] : tensor<3x2xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<3xf32>
}""",
    [np.array([[1, 2], [5, 4], [6, 6]], np.float32), f4(3, 3, 7)],
    [[1, 3, 6], [[1, 0], [0, 0], [1.5, 1.5]], [0, 2, 0]],
    wrt=[0, 1],
    dy=f4(1, 2, 3),
)

for name, shape, subscripts, size in (
    ("diagonal", (4, 4), "%i, %i", 4),
    ("antidiagonal", (4, 4), "%i, 3 - %i", 4),
    ("steep", (8, 4), "%i * 2, %i", 4),
):
    dx = np.zeros(shape)
    for i, d in enumerate((2, 3, 5, 7)):
        dx[{"diagonal": (i, i), "antidiagonal": (i, 3 - i), "steep": (2 * i, i)}[name]] = d
    x = iota(*shape)
    y = [x[tuple(index)] for index in np.argwhere(dx)[np.argsort(dx[dx != 0])]]
    case(
        name,
        f"""
func.func @{name}(%x: tensor<{shape[0]}x{shape[1]}xf32>) -> tensor<4xf32> {{
  %y = neoflow.compute (%i) from (%x: tensor<{shape[0]}x{shape[1]}xf32>) -> tensor<4xf32> {{
    %a = neoflow.read %x[{subscripts}] : tensor<{shape[0]}x{shape[1]}xf32>
    neoflow.yield %a : f32
  }}
  return %y : tensor<4xf32>
}}""",
        [x],
        [y, dx],
        wrt=[0],
        dy=f4(2, 3, 5, 7),
    )


def embedding(name, rows, width, count, inputs, expected, dy):
    case(
        name,
        f"""
func.func @{name}(%x: tensor<{rows}x{width}xf32>, %idx: tensor<{count}xi64>) -> tensor<{count}x{width}xf32> {{
  %y = neoflow.compute (%n, %d) from (%x: tensor<{rows}x{width}xf32>, %idx: tensor<{count}xi64>) -> tensor<{count}x{width}xf32> {{
    %i = neoflow.read %idx[%n] : tensor<{count}xi64>
    %row = arith.index_cast %i : i64 to index
    %a = neoflow.read %x[%row, %d] : tensor<{rows}x{width}xf32>
    neoflow.yield %a : f32
  }}
  return %y : tensor<{count}x{width}xf32>
}}""",
        inputs,
        expected,
        wrt=[0],
        dy=dy,
    )


x = iota(4, 2)
idx = np.array([2, 0, 2, 2])
embedding(
    "gather",
    4,
    2,
    4,
    [x, idx],
    [x[idx], [[2, 20], [0, 0], [8, 80], [0, 0]]],
    np.array([[1, 10], [2, 20], [3, 30], [4, 40]], np.float32),
)
embedding("gather_nothing", 4, 2, 0, [x, np.zeros(0, np.int64)], [np.zeros((0, 2)), np.zeros((4, 2))], np.zeros((0, 2), np.float32))
embedding("gather_twice", 1, 1, 2, [np.array([[0.1]], np.float32), np.array([0, 0])], [[[0.1], [0.1]], [[0.5]]], np.array([[0.2], [0.3]], np.float32))
case(
    "padding_index",
    """
func.func @padding_index(%x: tensor<3xf32>, %idx: tensor<4xi64>) -> tensor<4xf32> {
  %y = neoflow.compute (%n) from (%x: tensor<3xf32>, %idx: tensor<4xi64>) -> tensor<4xf32> {
    %i = neoflow.read %idx[%n] : tensor<4xi64>
    %row = arith.index_cast %i : i64 to index
    %a = neoflow.read %x[%row] else 0.0 : tensor<3xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<4xf32>
}""",
    [f4(5, 6, 7), np.array([1, -1, 3, 1])],
    [[6, 0, 0, 6], [0, 5, 0]],
    wrt=[0],
    dy=f4(1, 2, 3, 4),
)

case(
    "strided",
    """
func.func @strided(%x: tensor<6xf32>, %w: tensor<3xf32>) -> tensor<2xf32> {
  %y = neoflow.compute (%o) sum (%k = 3) from (%x: tensor<6xf32>, %w: tensor<3xf32>) -> tensor<2xf32> {
    %a = neoflow.read %x[%o * 2 + %k] : tensor<6xf32>
    %b = neoflow.read %w[%k] : tensor<3xf32>
    %c = arith.mulf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %y : tensor<2xf32>
}""",
    [iota(6), f4(1, 10, 100)],
    [[321, 543], [1, 10, 101, 10, 100, 0], [4, 6, 8]],
    wrt=[0, 1],
    dy=f4(1, 1),
)
case(
    "dilated",
    """
func.func @dilated(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %y = neoflow.compute (%n, %c) sum (%k = 2) from (%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %u = neoflow.read %a[%n, %k * 2 - 1] else 0.0 : tensor<2x2xf32>
    %v = neoflow.read %b[%c, %k] : tensor<2x2xf32>
    %w = arith.mulf %u, %v : f32
    neoflow.yield %w : f32
  }
  return %y : tensor<2x2xf32>
}""",
    [np.array([[7, 3], [3, 2]], np.float32), np.array([[3, 6], [4, 2]], np.float32)],
    [[[18, 6], [12, 4]], [[0, 8], [0, 8]], [[0, 5], [0, 5]]],
    wrt=[0, 1],
    dy=np.ones((2, 2), np.float32),
)
case(
    "grouped",
    """
func.func @grouped(%x: tensor<4x2xf32>, %w: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %y = neoflow.compute (%o, %p) sum (%c = 2) from (%x: tensor<4x2xf32>, %w: tensor<4x2xf32>) -> tensor<4x2xf32> {
    %u = neoflow.read %x[(%o floordiv 2) * 2 + %c, %p] : tensor<4x2xf32>
    %v = neoflow.read %w[%o, %c] : tensor<4x2xf32>
    %m = arith.mulf %u, %v : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<4x2xf32>
}""",
    [iota(4, 2), iota(4, 2)],
    [
        [[7, 10], [15, 22], [67, 78], [91, 106]],
        [[10, 14], [14, 20], [74, 86], [86, 100]],
        [[5, 11], [11, 25], [61, 83], [83, 113]],
    ],
    wrt=[0, 1],
    dy=iota(4, 2),
)
case(
    "transposed",
    """
func.func @transposed(%x: tensor<4xf32>, %w: tensor<1xf32>) -> tensor<6xf32> {
  %y = neoflow.compute (%q) from (%x: tensor<4xf32>, %w: tensor<1xf32>) where ((%q + 1) mod 2 == 0) else 0.0 -> tensor<6xf32> {
    %u = neoflow.read %x[(%q + 1) floordiv 2] else 0.0 : tensor<4xf32>
    %v = neoflow.read %w[0] : tensor<1xf32>
    %m = arith.mulf %u, %v : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<6xf32>
}""",
    [iota(4), f4(5)],
    [[0, 10, 0, 15, 0, 20], [0, 10, 20, 30], [40]],
    wrt=[0, 1],
    dy=iota(6),
)
case(
    "crop",
    """
func.func @crop(%x: tensor<5xf32>) -> tensor<3xf32> {
  %y = neoflow.compute (%i) from (%x: tensor<5xf32>) -> tensor<3xf32> {
    %a = neoflow.read %x[%i + 1] : tensor<5xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<3xf32>
}""",
    [iota(5)],
    [[2, 3, 4], [0, 1, 2, 3, 0]],
    wrt=[0],
    dy=f4(1, 2, 3),
)

case(
    "products",
    """
func.func @products(%x: tensor<3x2xf32>) -> tensor<3xf32> {
  %y = neoflow.compute (%i) prod (%k = 2) from (%x: tensor<3x2xf32>) -> tensor<3xf32> {
    %a = neoflow.read %x[%i, %k] : tensor<3x2xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<3xf32>
}""",
    [np.array([[2, 3], [0, 5], [0, 0]], np.float32)],
    [[6, 0, 0], [[3, 2], [50, 0], [0, 0]]],
    wrt=[0],
    dy=f4(1, 10, 100),
)
PRODUCT = """
func.func @{0}(%x: tensor<{1}xf32>) -> tensor<f32> {{
  %y = neoflow.compute () prod (%k = {1}) from (%x: tensor<{1}xf32>) -> tensor<f32> {{
    %a = neoflow.read %x[%k] : tensor<{1}xf32>
    neoflow.yield %a : f32
  }}
  return %y : tensor<f32>
}}"""
one = np.array(1, np.float32)
case("product_of_four", PRODUCT.format("product_of_four", 4), [f4(2, 0, 3, 4)], [0, [0, 24, 0, 0]], wrt=[0], dy=one)
case("product_with_zeros", PRODUCT.format("product_with_zeros", 3), [f4(0, 0, 3)], [0, [0, 0, 0]], wrt=[0], dy=one)
# The product of squares over two indices, with a where.
x = iota(2, 2, 3)
inside = np.array([[1, 1, 1], [1, 1, 0]], bool)
y = np.where(inside, x**2, 1).prod(axis=(1, 2))
case(
    "product_of_squares",
    """
func.func @product_of_squares(%x: tensor<2x2x3xf32>) -> tensor<2xf32> {
  %y = neoflow.compute (%i) prod (%j = 2, %k = 3) from (%x: tensor<2x2x3xf32>) where (%j + %k <= 2) -> tensor<2xf32> {
    %a = neoflow.read %x[%i, %j, %k] : tensor<2x2x3xf32>
    %b = arith.mulf %a, %a : f32
    neoflow.yield %b : f32
  }
  return %y : tensor<2xf32>
}""",
    [x],
    [y, np.where(inside, 2 * y[:, None, None] / x, 0)],
    wrt=[0],
    dy=f4(1, 1),
)
# Second order: row i of the Hessian of the product of (0, 0, 3).
hessian = np.array([[0, 3, 0], [3, 0, 0], [0, 0, 0]])
for row in range(3):
    name = f"hessian{row}"
    case(
        name,
        PRODUCT.format(f"{name}_product", 3)
        + f"""
func.func @{name}(%x: tensor<3xf32>) -> tensor<3xf32> {{
  %one = arith.constant dense<1.0> : tensor<f32>
  %y, %dx = neoflow.vjp @{name}_product(%x) wrt [0] cotangents(%one) : (tensor<3xf32>, tensor<f32>) -> (tensor<f32>, tensor<3xf32>)
  return %dx : tensor<3xf32>
}}""",
        [f4(0, 0, 3)],
        [[0, 0, 0], hessian[row]],
        wrt=[0],
        dy=np.eye(3, dtype=np.float32)[row],
    )

case(
    "untaken_sqrt",
    """
func.func @untaken_sqrt(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %one = arith.constant 1.0 : f32
    %c = arith.cmpf olt, %a, %one : f32
    %s = math.sqrt %a : f32
    %v = arith.select %c, %a, %s : f32
    neoflow.yield %v : f32
  }
  return %y : tensor<4xf32>
}""",
    [f4(0, 0.25, 1, 4)],
    [[0, 0.25, 1, 2], [1, 1, 0.5, 0.25]],
    wrt=[0],
    dy=f4(1, 1, 1, 1),
)
case(
    "distances",
    """
func.func @distances(%p: tensor<3x2xf32>) -> tensor<f32> {
  %s = neoflow.compute (%i, %j) sum (%d = 2) from (%p: tensor<3x2xf32>) -> tensor<3x3xf32> {
    %a = neoflow.read %p[%i, %d] : tensor<3x2xf32>
    %b = neoflow.read %p[%j, %d] : tensor<3x2xf32>
    %c = arith.subf %a, %b : f32
    %e = arith.mulf %c, %c : f32
    neoflow.yield %e : f32
  }
  %l = neoflow.compute () sum (%i = 3, %j = 3) from (%s: tensor<3x3xf32>) -> tensor<f32> {
    %a = neoflow.read %s[%i, %j] : tensor<3x3xf32>
    %r = math.sqrt %a : f32
    %other = arith.cmpi ne, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %v = arith.select %other, %r, %zero : f32
    neoflow.yield %v : f32
  }
  return %l : tensor<f32>
}""",
    [np.array([[0, 0], [3, 4], [6, 8]], np.float32)],
    [40, [[-2.4, -3.2], [0, 0], [2.4, 3.2]]],
    wrt=[0],
    dy=one,
)

LOG_SOFTMAX = """
func.func @{0}(%x: tensor<{1}xf32>) -> tensor<f32> {{
  %m = neoflow.compute () max (%k = {1}) from (%x: tensor<{1}xf32>) -> tensor<f32> {{
    %a = neoflow.read %x[%k] : tensor<{1}xf32>
    neoflow.yield %a : f32
  }}
  %t = neoflow.compute () sum (%k = {1}) from (%x: tensor<{1}xf32>, %m: tensor<f32>) -> tensor<f32> {{
    %a = neoflow.read %x[%k] : tensor<{1}xf32>
    %b = neoflow.read %m[] : tensor<f32>
    %c = arith.subf %a, %b : f32
    %e = math.exp %c : f32
    neoflow.yield %e : f32
  }}
  %l = neoflow.compute () from (%x: tensor<{1}xf32>, %m: tensor<f32>, %t: tensor<f32>) -> tensor<f32> {{
    %a = neoflow.read %x[{2}] : tensor<{1}xf32>
    %b = neoflow.read %m[] : tensor<f32>
    %s = neoflow.read %t[] : tensor<f32>
    %g = math.log %s : f32
    %c = arith.subf %a, %b : f32
    %d = arith.subf %g, %c : f32
    neoflow.yield %d : f32
  }}
  return %l : tensor<f32>
}}"""
case("far_softmax", LOG_SOFTMAX.format("far_softmax", 3, 0), [f4(1000, 1001, 1002)], [2.4076060, [-0.9099694, 0.2447285, 0.6652410]], wrt=[0], dy=one)
case("masked_softmax", LOG_SOFTMAX.format("masked_softmax", 3, 1), [f4(-INF, 0, 0)], [0.6931472, [0, -0.5, 0.5]], wrt=[0], dy=one)
for width in (1, 2, 3, 7, 31):
    row = np.cos(np.arange(width)).astype(np.float32)
    weights = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
    case(
        f"narrow_softmax{width}",
        LOG_SOFTMAX.format(f"narrow_softmax{width}", width, 0),
        [row],
        [-np.log(weights[0]), weights - (np.arange(width) == 0)],
        wrt=[0],
        dy=one,
    )

case(
    "scale",
    """
func.func @scale(%x: tensor<2xf32>, %s: tensor<1xf32>) -> tensor<f32> {
  %l = neoflow.compute () sum (%i = 2) from (%x: tensor<2xf32>, %s: tensor<1xf32>) -> tensor<f32> {
    %a = neoflow.read %x[%i] : tensor<2xf32>
    %b = neoflow.read %s[0] : tensor<1xf32>
    %c = arith.mulf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %l : tensor<f32>
}""",
    [f4(2, 2), f4(2)],
    [8, [2, 2], [4]],
    wrt=[0, 1],
    dy=one,
)
case(
    "remainder",
    """
func.func @remainder(%x: tensor<1xf32>, %w: tensor<2xf32>) -> tensor<f32> {
  %l = neoflow.compute () sum (%k = 2) from (%x: tensor<1xf32>, %w: tensor<2xf32>) -> tensor<f32> {
    %a = neoflow.read %x[0] : tensor<1xf32>
    %b = neoflow.read %w[%k] : tensor<2xf32>
    %c = arith.remf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %l : tensor<f32>
}""",
    [f4(5), f4(2, 2)],
    [2, [2], [-2, -2]],
    wrt=[0, 1],
    dy=one,
)
for kind, identity in (("sum", 0), ("prod", 1), ("max", -INF), ("min", INF)):
    case(
        f"empty_{kind}",
        f"""
func.func @empty_{kind}(%x: tensor<2x0xf32>) -> tensor<2xf32> {{
  %y = neoflow.compute (%i) {kind} (%k = 0) from (%x: tensor<2x0xf32>) -> tensor<2xf32> {{
    %a = neoflow.read %x[%i, %k] : tensor<2x0xf32>
    neoflow.yield %a : f32
  }}
  return %y : tensor<2xf32>
}}""",
        [np.zeros((2, 0), np.float32)],
        [[identity] * 2, np.zeros((2, 0))],
        wrt=[0],
        dy=f4(1, 1),
    )
shape = (2, 1, 3, 1, 2, 1, 2, 2)
x = iota(*shape, start=0)
case(
    "rank8",
    """
func.func @rank8(%x: tensor<2x1x3x1x2x1x2x2xf32>) -> tensor<2x1x3x1x2x1x2x2xf32> {
  %y = neoflow.compute (%a, %b, %c, %d, %e, %f, %g, %h) from (%x: tensor<2x1x3x1x2x1x2x2xf32>) -> tensor<2x1x3x1x2x1x2x2xf32> {
    %v = neoflow.read %x[1 - %a, 0 - %b, 2 - %c, 0 - %d, 1 - %e, 0 - %f, 1 - %g, 1 - %h] : tensor<2x1x3x1x2x1x2x2xf32>
    %w = arith.addf %v, %v : f32
    neoflow.yield %w : f32
  }
  return %y : tensor<2x1x3x1x2x1x2x2xf32>
}""",
    [x],
    [2 * x.reshape(-1)[::-1].reshape(shape), 2 * x.reshape(-1)[::-1].reshape(shape)],
    wrt=[0],
    dy=x,
)
# Four result dimensions and six summed ones: too many for a tensor of the elements.
x = np.cos(np.arange(64)).astype(np.float32).reshape(2, 2, 2, 2, 2, 2)
y = (x**3).max(axis=(2, 3, 4, 5))
case(
    "many_indices",
    """
func.func @many_indices(%x: tensor<2x2x2x2x2x2xf32>) -> tensor<1x1x1x2x2xf32> {
  %y = neoflow.compute (%u, %v, %w, %a, %b) max (%c = 2, %d = 2, %e = 2, %f = 2) from (%x: tensor<2x2x2x2x2x2xf32>) -> tensor<1x1x1x2x2xf32> {
    %p = neoflow.read %x[%a, %b, %c, %d, %e, %f] : tensor<2x2x2x2x2x2xf32>
    %q = arith.mulf %p, %p : f32
    %r = arith.mulf %q, %p : f32
    neoflow.yield %r : f32
  }
  return %y : tensor<1x1x1x2x2xf32>
}""",
    [x],
    [y.reshape(1, 1, 1, 2, 2), np.where(x**3 == y[..., None, None, None, None], 3 * x**2, 0)],
    wrt=[0],
    dy=np.ones((1, 1, 1, 2, 2), np.float32),
)
case(
    "negative_rows",
    """
func.func @negative_rows(%x: tensor<3x33xf32>) -> tensor<3xf32> {
  %y = neoflow.compute (%i) max (%j = 33) from (%x: tensor<3x33xf32>) -> tensor<3xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<3x33xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<3xf32>
}""",
    [-(5 + np.add.outer(np.arange(3), np.arange(33)) % 3).astype(np.float32)],
    [[-5, -5, -5]],
)
x = iota(2, 3)
case(
    "three_consumers",
    """
func.func @three_consumers(%x: tensor<2x3xf32>) -> tensor<f32> {
  %a = neoflow.compute (%i, %j) from (%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %u = neoflow.read %x[%i, %j] : tensor<2x3xf32>
    %v = arith.mulf %u, %u : f32
    neoflow.yield %v : f32
  }
  %b = neoflow.compute (%i) sum (%j = 3) from (%a: tensor<2x3xf32>) -> tensor<2xf32> {
    %u = neoflow.read %a[%i, %j] : tensor<2x3xf32>
    neoflow.yield %u : f32
  }
  %c = neoflow.compute (%j) max (%i = 2) from (%a: tensor<2x3xf32>) -> tensor<3xf32> {
    %u = neoflow.read %a[%i, %j] : tensor<2x3xf32>
    neoflow.yield %u : f32
  }
  %l = neoflow.compute () sum (%i = 2, %j = 3) from (%a: tensor<2x3xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>) -> tensor<f32> {
    %u = neoflow.read %a[%i, %j] : tensor<2x3xf32>
    %v = neoflow.read %b[%i] : tensor<2xf32>
    %w = neoflow.read %c[%j] : tensor<3xf32>
    %d = arith.divf %u, %v : f32
    %e = arith.addf %d, %w : f32
    neoflow.yield %e : f32
  }
  return %l : tensor<f32>
}""",
    [x],
    [156, [[0, 0, 0], [16, 20, 24]]],
    wrt=[0],
    dy=one,
)
case(
    "comparison_as_value",
    """
func.func @comparison_as_value(%x: tensor<4xf32>, %t: tensor<f32>) -> tensor<f32> {
  %l = neoflow.compute () sum (%i = 4) from (%x: tensor<4xf32>, %t: tensor<f32>) -> tensor<f32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = neoflow.read %t[] : tensor<f32>
    %c = arith.cmpf olt, %a, %b : f32
    %d = arith.uitofp %c : i1 to f32
    neoflow.yield %d : f32
  }
  return %l : tensor<f32>
}""",
    [iota(4), np.array(2.5, np.float32)],
    [2, [0] * 4, 0],
    wrt=[0, 1],
    dy=one,
)
# Where the product is rounded to half precision, elements are still compared as
# they were reduced: the shares of every row sum to its cotangent.
generator = np.random.default_rng(7)
a, b = (generator.standard_normal((3, 9)).astype(np.float16) for _ in range(2))
products = a.astype(np.float32) * b
chosen = products == products.max(axis=1, keepdims=True)
case(
    "half_max_of_products",
    """
func.func @half_max_of_products(%a: tensor<3x9xf16>, %b: tensor<3x9xf16>) -> tensor<3xf16> {
  %y = neoflow.compute (%i) max (%k = 9) from (%a: tensor<3x9xf16>, %b: tensor<3x9xf16>) -> tensor<3xf16> {
    %u = neoflow.read %a[%i, %k] : tensor<3x9xf16>
    %v = neoflow.read %b[%i, %k] : tensor<3x9xf16>
    %m = arith.mulf %u, %v : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<3xf16>
}""",
    [a, b],
    [products.max(axis=1), np.where(chosen, b, 0), np.where(chosen, a, 0)],
    wrt=[0, 1],
    dy=np.ones(3, np.float16),
    tolerance=1e-3,
)
case(
    "running_product",
    """
func.func @running_product(%x: tensor<37xf32>) -> tensor<37xf32> {
  %y = neoflow.compute (%i) prod (%k = 37) from (%x: tensor<37xf32>) where (%k <= %i) -> tensor<37xf32> {
    %a = neoflow.read %x[%k] : tensor<37xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<37xf32>
}""",
    [np.ones(37, np.float32)],
    [np.ones(37), 37 - np.arange(37)],
    wrt=[0],
    dy=np.ones(37, np.float32),
)
case(
    "scattered",
    """
func.func @scattered(%x: tensor<3xf32>, %idx: tensor<3xi64>, %d: tensor<2xf32>) -> tensor<2xf32> {
  %y = neoflow.scatter sum (%n = 3) from (%x: tensor<3xf32>, %idx: tensor<3xi64>) into (%d: tensor<2xf32>) {
    %i = neoflow.read %idx[%n] : tensor<3xi64>
    %at = arith.index_cast %i : i64 to index
    %a = neoflow.read %x[%n] : tensor<3xf32>
    %b = arith.mulf %a, %a : f32
    neoflow.yield %b at [%at] : f32
  }
  return %y : tensor<2xf32>
}""",
    [f4(2, 3, 4), np.array([1, 5, 1]), f4(10, 20)],
    [[10, 40], [4 * 7, 0, 8 * 7], [5, 7]],
    wrt=[0, 2],
    dy=f4(5, 7),
)
case(
    "own_rule",
    """
func.func @own_rule_backward(%x: tensor<2xf32>, %y: tensor<2xf32>, %dy: tensor<2xf32>) -> tensor<2xf32> {
  %g = neoflow.compute (%i) from (%dy: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
    %a = neoflow.read %dy[%i] : tensor<2xf32>
    %b = neoflow.read %y[%i] : tensor<2xf32>
    %c = arith.addf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %g : tensor<2xf32>
}
func.func @own_rule_forward(%x: tensor<2xf32>) -> tensor<2xf32> attributes {neoflow.gradient = @own_rule_backward} {
  %y = neoflow.compute (%i) from (%x: tensor<2xf32>) -> tensor<2xf32> {
    %a = neoflow.read %x[%i] : tensor<2xf32>
    %b = math.floor %a : f32
    neoflow.yield %b : f32
  }
  return %y : tensor<2xf32>
}
func.func @own_rule(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @own_rule_forward(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}""",
    [f4(2.5, 3.5)],
    [[2, 3], [12, 23]],
    wrt=[0],
    dy=f4(10, 20),
)
case(
    "two_results",
    """
func.func @two_results(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %s, %m = neoflow.compute (%i) [sum, max] (%k = 3) from (%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %a = neoflow.read %x[%i, %k] : tensor<2x3xf32>
    %b = arith.mulf %a, %a : f32
    neoflow.yield %a, %b : f32, f32
  }
  %y = neoflow.compute (%i) from (%s: tensor<2xf32>, %m: tensor<2xf32>) -> tensor<2xf32> {
    %a = neoflow.read %s[%i] : tensor<2xf32>
    %b = neoflow.read %m[%i] : tensor<2xf32>
    %c = arith.addf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %y : tensor<2xf32>
}""",
    [np.array([[1, 2, 3], [-4, 0, 1]], np.float32)],
    [[15, 13], [[1, 1, 7], [-7, 1, 1]]],
    wrt=[0],
    dy=f4(1, 1),
)

# Regions of one's own: the value and position of the largest element, a stable
# log-sum-exp as (largest, sum), and mean and variance by Welford's combination.
x = generator.standard_normal((3, 7)).astype(np.float32)
largest = x.argmax(axis=1)
case(
    "argmax",
    """
func.func @argmax(%x: tensor<3x7xf32>) -> tensor<3xf32> {
  %v, %at = neoflow.compute (%i) combine (%k = 7) from (%x: tensor<3x7xf32>) identity (-inf, -1) -> (tensor<3xf32>, tensor<3xi64>) {
    %a = neoflow.read %x[%i, %k] : tensor<3x7xf32>
    %e = arith.mulf %a, %a : f32
    %n = arith.index_cast %k : index to i64
    neoflow.yield %e, %n : f32, i64
  } combine (%p: f32, %m: i64, %q: f32, %n: i64) {
    %c = arith.cmpf oge, %p, %q : f32
    %v = arith.select %c, %p, %q : f32
    %l = arith.select %c, %m, %n : i64
    neoflow.yield %v, %l : f32, i64
  }
  %y = neoflow.compute (%i) from (%v: tensor<3xf32>, %at: tensor<3xi64>) -> tensor<3xf32> {
    %a = neoflow.read %v[%i] : tensor<3xf32>
    %n = neoflow.read %at[%i] : tensor<3xi64>
    %f = arith.sitofp %n : i64 to f32
    %s = arith.addf %a, %f : f32
    neoflow.yield %s : f32
  }
  return %y : tensor<3xf32>
}""",
    [x],
    [
        (x**2).max(axis=1) + (x**2).argmax(axis=1),
        np.where(np.arange(7) == (x**2).argmax(axis=1)[:, None], 2 * x, 0),
    ],
    wrt=[0],
    dy=f4(1, 1, 1),
)
inside = np.arange(7) <= 2 * np.arange(3)[:, None]
weights = np.where(inside, np.exp(x.astype("f8")), 0)
case(
    "log_sum_exp",
    """
func.func @log_sum_exp(%x: tensor<3x7xf32>) -> tensor<3xf32> {
  %m, %s = neoflow.compute (%i) combine (%k = 7) from (%x: tensor<3x7xf32>) where (%k <= %i * 2) identity (-1.0e30, 0.0) -> (tensor<3xf32>, tensor<3xf32>) {
    %a = neoflow.read %x[%i, %k] : tensor<3x7xf32>
    %one = arith.constant 1.0 : f32
    neoflow.yield %a, %one : f32, f32
  } combine (%m1: f32, %s1: f32, %m2: f32, %s2: f32) {
    %m = arith.maximumf %m1, %m2 : f32
    %d1 = arith.subf %m1, %m : f32
    %d2 = arith.subf %m2, %m : f32
    %e1 = math.exp %d1 : f32
    %e2 = math.exp %d2 : f32
    %t1 = arith.mulf %s1, %e1 : f32
    %t2 = arith.mulf %s2, %e2 : f32
    %s = arith.addf %t1, %t2 : f32
    neoflow.yield %m, %s : f32, f32
  }
  %y = neoflow.compute (%i) from (%m: tensor<3xf32>, %s: tensor<3xf32>) -> tensor<3xf32> {
    %a = neoflow.read %m[%i] : tensor<3xf32>
    %b = neoflow.read %s[%i] : tensor<3xf32>
    %l = math.log %b : f32
    %v = arith.addf %a, %l : f32
    neoflow.yield %v : f32
  }
  return %y : tensor<3xf32>
}""",
    [x],
    [np.log(weights.sum(axis=1)), weights / weights.sum(axis=1, keepdims=True) * np.array([[1], [2], [3]])],
    wrt=[0],
    dy=f4(1, 2, 3),
    tolerance=2e-5,
)
# A weighted mean of what comes behind: lanes outside the domain are zero over one.
values = np.arange(7, dtype=np.float32)
case(
    "mean_behind",
    """
func.func @mean_behind(%w: tensor<7xf32>, %x: tensor<7xf32>) -> tensor<7xf32> {
  %n, %m = neoflow.compute (%k) combine (%o = 7) from (%w: tensor<7xf32>, %x: tensor<7xf32>) where (%o - %k - 1 >= 0) identity (0.0, 0.0) -> (tensor<7xf32>, tensor<7xf32>) {
    %a = neoflow.read %w[%o] : tensor<7xf32>
    %b = neoflow.read %x[%o] : tensor<7xf32>
    neoflow.yield %a, %b : f32, f32
  } combine (%n1: f32, %m1: f32, %n2: f32, %m2: f32) {
    %one = arith.constant 1.0 : f32
    %n = arith.addf %n1, %n2 : f32
    %safe = arith.maximumf %n, %one : f32
    %share = arith.divf %n2, %safe : f32
    %d = arith.subf %m2, %m1 : f32
    %ds = arith.mulf %d, %share : f32
    %m = arith.addf %m1, %ds : f32
    neoflow.yield %n, %m : f32, f32
  }
  return %m : tensor<7xf32>
}""",
    [np.ones(7, np.float32), values],
    [[3.5, 4, 4.5, 5, 5.5, 6, 0], [sum(1 / (6 - k) for k in range(o)) for o in range(7)]],
    wrt=[1],
    dy=f4(1, 1, 1, 1, 1, 1, 1),
    tolerance=1e-5,
)
half = x.astype(np.float16)
centred = half.astype("f8") - half.astype("f8").mean(axis=1, keepdims=True)
case(
    "variance",
    """
func.func @variance(%x: tensor<3x7xf16>) -> tensor<3xf32> {
  %c, %m, %v = neoflow.compute (%i) combine (%k = 7) from (%x: tensor<3x7xf16>) identity (0.0, 0.0, 0.0) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %a = neoflow.read %x[%i, %k] : tensor<3x7xf16>
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    neoflow.yield %one, %a, %zero : f32, f32, f32
  } combine (%n1: f32, %m1: f32, %v1: f32, %n2: f32, %m2: f32, %v2: f32) {
    %one = arith.constant 1.0 : f32
    %n = arith.addf %n1, %n2 : f32
    %safe = arith.maximumf %n, %one : f32
    %r = arith.divf %n2, %safe : f32
    %d = arith.subf %m2, %m1 : f32
    %dr = arith.mulf %d, %r : f32
    %m = arith.addf %m1, %dr : f32
    %w = arith.mulf %n1, %dr : f32
    %dw = arith.mulf %d, %w : f32
    %v12 = arith.addf %v1, %v2 : f32
    %v = arith.addf %v12, %dw : f32
    neoflow.yield %n, %m, %v : f32, f32, f32
  }
  return %v : tensor<3xf32>
}""",
    [half],
    [(centred**2).sum(axis=1), 2 * centred],
    wrt=[0],
    dy=f4(1, 1, 1),
    tolerance=1e-3,
)
