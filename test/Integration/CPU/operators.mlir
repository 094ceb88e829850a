// Operators and their gradients, compiled, against the interpreter, end to end from
// neoflow-run call.
//
// REQUIRES: numpy, neoflow-run
// RUN: %python %test_tools/compare_call.py %s %t/0 strided:integers strided_gradient:integers dilated:integers dilated_gradient:integers grouped:integers grouped_gradient:integers depthwise:integers depthwise_gradient:integers
// RUN: %python %test_tools/compare_call.py %s %t/1 transposed:integers transposed_gradient:integers product:integers product_gradient:integers batched:integers batched_gradient:integers capsule:integers capsule_gradient:integers
// RUN: %python %test_tools/compare_call.py %s %t/2 shuffle:integers shuffle_gradient:integers pool:1e-6 pool_gradient:1e-6 density:2e-5 density_gradient:2e-5 prefix:integers prefix_gradient:integers
// RUN: %python %test_tools/compare_call.py %s %t/3 strided_f64:1e-13 strided_f64_gradient:1e-13 strided_f16:2e-3 strided_f16_gradient:2e-3

func.func @strided(%x: tensor<2x3x9x11xf32>, %w: tensor<5x3x3x3xf32>) -> tensor<2x5x5x6xf32> {
  %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 3, %r = 3, %s = 3) from (%x: tensor<2x3x9x11xf32>, %w: tensor<5x3x3x3xf32>) -> tensor<2x5x5x6xf32> {
    %a = neoflow.read %x[%n, %c, %p * 2 + %r - 1, %q * 2 + %s - 1] else 0.0 : tensor<2x3x9x11xf32>
    %b = neoflow.read %w[%k, %c, %r, %s] : tensor<5x3x3x3xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<2x5x5x6xf32>
}
func.func @strided_gradient(%x: tensor<2x3x9x11xf32>, %w: tensor<5x3x3x3xf32>, %dy: tensor<2x5x5x6xf32>) -> (tensor<2x5x5x6xf32>, tensor<2x3x9x11xf32>, tensor<5x3x3x3xf32>) {
  %y, %g0, %g1 = neoflow.vjp @strided(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<2x3x9x11xf32>, tensor<5x3x3x3xf32>, tensor<2x5x5x6xf32>) -> (tensor<2x5x5x6xf32>, tensor<2x3x9x11xf32>, tensor<5x3x3x3xf32>)
  return %y, %g0, %g1 : tensor<2x5x5x6xf32>, tensor<2x3x9x11xf32>, tensor<5x3x3x3xf32>
}

func.func @dilated(%x: tensor<1x2x13x13xf32>, %w: tensor<4x2x3x2xf32>) -> tensor<1x4x4x5xf32> {
  %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 2, %r = 3, %s = 2) from (%x: tensor<1x2x13x13xf32>, %w: tensor<4x2x3x2xf32>) -> tensor<1x4x4x5xf32> {
    %a = neoflow.read %x[%n, %c, %p * 3 + %r * 2 - 2, %q * 3 + %s * 3] else 0.0 : tensor<1x2x13x13xf32>
    %b = neoflow.read %w[%k, %c, %r, %s] : tensor<4x2x3x2xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<1x4x4x5xf32>
}
func.func @dilated_gradient(%x: tensor<1x2x13x13xf32>, %w: tensor<4x2x3x2xf32>, %dy: tensor<1x4x4x5xf32>) -> (tensor<1x4x4x5xf32>, tensor<1x2x13x13xf32>, tensor<4x2x3x2xf32>) {
  %y, %g0, %g1 = neoflow.vjp @dilated(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<1x2x13x13xf32>, tensor<4x2x3x2xf32>, tensor<1x4x4x5xf32>) -> (tensor<1x4x4x5xf32>, tensor<1x2x13x13xf32>, tensor<4x2x3x2xf32>)
  return %y, %g0, %g1 : tensor<1x4x4x5xf32>, tensor<1x2x13x13xf32>, tensor<4x2x3x2xf32>
}

func.func @grouped(%x: tensor<2x8x7x17xf32>, %w: tensor<12x2x3x3xf32>) -> tensor<2x12x5x15xf32> {
  %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 2, %r = 3, %s = 3) from (%x: tensor<2x8x7x17xf32>, %w: tensor<12x2x3x3xf32>) -> tensor<2x12x5x15xf32> {
    %a = neoflow.read %x[%n, (%k floordiv 3) * 2 + %c, %p + %r, %q + %s] : tensor<2x8x7x17xf32>
    %b = neoflow.read %w[%k, %c, %r, %s] : tensor<12x2x3x3xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<2x12x5x15xf32>
}
func.func @grouped_gradient(%x: tensor<2x8x7x17xf32>, %w: tensor<12x2x3x3xf32>, %dy: tensor<2x12x5x15xf32>) -> (tensor<2x12x5x15xf32>, tensor<2x8x7x17xf32>, tensor<12x2x3x3xf32>) {
  %y, %g0, %g1 = neoflow.vjp @grouped(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<2x8x7x17xf32>, tensor<12x2x3x3xf32>, tensor<2x12x5x15xf32>) -> (tensor<2x12x5x15xf32>, tensor<2x8x7x17xf32>, tensor<12x2x3x3xf32>)
  return %y, %g0, %g1 : tensor<2x12x5x15xf32>, tensor<2x8x7x17xf32>, tensor<12x2x3x3xf32>
}

func.func @depthwise(%x: tensor<2x20x9x9xf32>, %w: tensor<20x3x3xf32>) -> tensor<2x20x9x9xf32> {
  %y = neoflow.compute (%n, %c, %p, %q) sum (%r = 3, %s = 3) from (%x: tensor<2x20x9x9xf32>, %w: tensor<20x3x3xf32>) -> tensor<2x20x9x9xf32> {
    %a = neoflow.read %x[%n, %c, %p + %r - 1, %q + %s - 1] else 0.0 : tensor<2x20x9x9xf32>
    %b = neoflow.read %w[%c, %r, %s] : tensor<20x3x3xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<2x20x9x9xf32>
}
func.func @depthwise_gradient(%x: tensor<2x20x9x9xf32>, %w: tensor<20x3x3xf32>, %dy: tensor<2x20x9x9xf32>) -> (tensor<2x20x9x9xf32>, tensor<2x20x9x9xf32>, tensor<20x3x3xf32>) {
  %y, %g0, %g1 = neoflow.vjp @depthwise(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<2x20x9x9xf32>, tensor<20x3x3xf32>, tensor<2x20x9x9xf32>) -> (tensor<2x20x9x9xf32>, tensor<2x20x9x9xf32>, tensor<20x3x3xf32>)
  return %y, %g0, %g1 : tensor<2x20x9x9xf32>, tensor<2x20x9x9xf32>, tensor<20x3x3xf32>
}

func.func @transposed(%x: tensor<2x3x5x6xf32>, %w: tensor<3x4x3x3xf32>) -> tensor<2x4x11x13xf32> {
  %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 3, %r = 3, %s = 3) from (%x: tensor<2x3x5x6xf32>, %w: tensor<3x4x3x3xf32>) where ((%p - %r) mod 2 == 0, (%q - %s) mod 2 == 0) -> tensor<2x4x11x13xf32> {
    %a = neoflow.read %x[%n, %c, (%p - %r) floordiv 2, (%q - %s) floordiv 2] else 0.0 : tensor<2x3x5x6xf32>
    %b = neoflow.read %w[%c, %k, %r, %s] : tensor<3x4x3x3xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<2x4x11x13xf32>
}
func.func @transposed_gradient(%x: tensor<2x3x5x6xf32>, %w: tensor<3x4x3x3xf32>, %dy: tensor<2x4x11x13xf32>) -> (tensor<2x4x11x13xf32>, tensor<2x3x5x6xf32>, tensor<3x4x3x3xf32>) {
  %y, %g0, %g1 = neoflow.vjp @transposed(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<2x3x5x6xf32>, tensor<3x4x3x3xf32>, tensor<2x4x11x13xf32>) -> (tensor<2x4x11x13xf32>, tensor<2x3x5x6xf32>, tensor<3x4x3x3xf32>)
  return %y, %g0, %g1 : tensor<2x4x11x13xf32>, tensor<2x3x5x6xf32>, tensor<3x4x3x3xf32>
}

func.func @product(%x: tensor<37x29xf32>, %w: tensor<29x41xf32>) -> tensor<37x41xf32> {
  %y = neoflow.compute (%i, %j) sum (%k = 29) from (%x: tensor<37x29xf32>, %w: tensor<29x41xf32>) -> tensor<37x41xf32> {
    %a = neoflow.read %x[%i, %k] : tensor<37x29xf32>
    %b = neoflow.read %w[%k, %j] : tensor<29x41xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<37x41xf32>
}
func.func @product_gradient(%x: tensor<37x29xf32>, %w: tensor<29x41xf32>, %dy: tensor<37x41xf32>) -> (tensor<37x41xf32>, tensor<37x29xf32>, tensor<29x41xf32>) {
  %y, %g0, %g1 = neoflow.vjp @product(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<37x29xf32>, tensor<29x41xf32>, tensor<37x41xf32>) -> (tensor<37x41xf32>, tensor<37x29xf32>, tensor<29x41xf32>)
  return %y, %g0, %g1 : tensor<37x41xf32>, tensor<37x29xf32>, tensor<29x41xf32>
}

func.func @batched(%x: tensor<3x5x6xf32>, %w: tensor<3x7x6xf32>) -> tensor<3x5x7xf32> {
  %y = neoflow.compute (%g, %i, %j) sum (%k = 6) from (%x: tensor<3x5x6xf32>, %w: tensor<3x7x6xf32>) -> tensor<3x5x7xf32> {
    %a = neoflow.read %x[%g, %i, %k] : tensor<3x5x6xf32>
    %b = neoflow.read %w[%g, %j, %k] : tensor<3x7x6xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<3x5x7xf32>
}
func.func @batched_gradient(%x: tensor<3x5x6xf32>, %w: tensor<3x7x6xf32>, %dy: tensor<3x5x7xf32>) -> (tensor<3x5x7xf32>, tensor<3x5x6xf32>, tensor<3x7x6xf32>) {
  %y, %g0, %g1 = neoflow.vjp @batched(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<3x5x6xf32>, tensor<3x7x6xf32>, tensor<3x5x7xf32>) -> (tensor<3x5x7xf32>, tensor<3x5x6xf32>, tensor<3x7x6xf32>)
  return %y, %g0, %g1 : tensor<3x5x7xf32>, tensor<3x5x6xf32>, tensor<3x7x6xf32>
}

func.func @capsule(%x: tensor<2x6x6x3x2x2xf32>, %w: tensor<3x3x3x4x2x2xf32>) -> tensor<2x4x4x4x2x2xf32> {
  %y = neoflow.compute (%n, %p, %q, %o, %i, %j) sum (%r = 3, %s = 3, %c = 3, %k = 2) from (%x: tensor<2x6x6x3x2x2xf32>, %w: tensor<3x3x3x4x2x2xf32>) -> tensor<2x4x4x4x2x2xf32> {
    %a = neoflow.read %x[%n, %p + %r, %q + %s, %c, %i, %k] : tensor<2x6x6x3x2x2xf32>
    %b = neoflow.read %w[%r, %s, %c, %o, %k, %j] : tensor<3x3x3x4x2x2xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<2x4x4x4x2x2xf32>
}
func.func @capsule_gradient(%x: tensor<2x6x6x3x2x2xf32>, %w: tensor<3x3x3x4x2x2xf32>, %dy: tensor<2x4x4x4x2x2xf32>) -> (tensor<2x4x4x4x2x2xf32>, tensor<2x6x6x3x2x2xf32>, tensor<3x3x3x4x2x2xf32>) {
  %y, %g0, %g1 = neoflow.vjp @capsule(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<2x6x6x3x2x2xf32>, tensor<3x3x3x4x2x2xf32>, tensor<2x4x4x4x2x2xf32>) -> (tensor<2x4x4x4x2x2xf32>, tensor<2x6x6x3x2x2xf32>, tensor<3x3x3x4x2x2xf32>)
  return %y, %g0, %g1 : tensor<2x4x4x4x2x2xf32>, tensor<2x6x6x3x2x2xf32>, tensor<3x3x3x4x2x2xf32>
}

func.func @shuffle(%x: tensor<2x12x5xf32>) -> tensor<2x12x5xf32> {
  %y = neoflow.compute (%n, %c, %p) from (%x: tensor<2x12x5xf32>) -> tensor<2x12x5xf32> {
    %a = neoflow.read %x[%n, (%c mod 3) * 4 + %c floordiv 3, 4 - %p] : tensor<2x12x5xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<2x12x5xf32>
}
func.func @shuffle_gradient(%x: tensor<2x12x5xf32>, %dy: tensor<2x12x5xf32>) -> (tensor<2x12x5xf32>, tensor<2x12x5xf32>) {
  %y, %g0 = neoflow.vjp @shuffle(%x) wrt [0] cotangents(%dy)
      : (tensor<2x12x5xf32>, tensor<2x12x5xf32>) -> (tensor<2x12x5xf32>, tensor<2x12x5xf32>)
  return %y, %g0 : tensor<2x12x5xf32>, tensor<2x12x5xf32>
}

func.func @pool(%x: tensor<2x3x9x9xf32>) -> tensor<2x3x5x5xf32> {
  %y = neoflow.compute (%n, %c, %p, %q) max (%r = 3, %s = 3) from (%x: tensor<2x3x9x9xf32>) -> tensor<2x3x5x5xf32> {
    %a = neoflow.read %x[%n, %c, %p * 2 + %r - 1, %q * 2 + %s - 1] else -inf : tensor<2x3x9x9xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<2x3x5x5xf32>
}
func.func @pool_gradient(%x: tensor<2x3x9x9xf32>, %dy: tensor<2x3x5x5xf32>) -> (tensor<2x3x5x5xf32>, tensor<2x3x9x9xf32>) {
  %y, %g0 = neoflow.vjp @pool(%x) wrt [0] cotangents(%dy)
      : (tensor<2x3x9x9xf32>, tensor<2x3x5x5xf32>) -> (tensor<2x3x5x5xf32>, tensor<2x3x9x9xf32>)
  return %y, %g0 : tensor<2x3x5x5xf32>, tensor<2x3x9x9xf32>
}

func.func @density(%x: tensor<19xf32>, %z: tensor<23xf32>) -> tensor<19xf32> {
  %y = neoflow.compute (%i) sum (%j = 23) from (%x: tensor<19xf32>, %z: tensor<23xf32>) -> tensor<19xf32> {
    %a = neoflow.read %x[%i] : tensor<19xf32>
    %b = neoflow.read %z[%j] : tensor<23xf32>
    %d = arith.subf %a, %b : f32
    %s = arith.mulf %d, %d : f32
    %h = arith.constant -0.5 : f32
    %e = arith.mulf %s, %h : f32
    %v = math.exp %e : f32
    neoflow.yield %v : f32
  }
  return %y : tensor<19xf32>
}
func.func @density_gradient(%x: tensor<19xf32>, %z: tensor<23xf32>, %dy: tensor<19xf32>) -> (tensor<19xf32>, tensor<19xf32>, tensor<23xf32>) {
  %y, %g0, %g1 = neoflow.vjp @density(%x, %z) wrt [0, 1] cotangents(%dy)
      : (tensor<19xf32>, tensor<23xf32>, tensor<19xf32>) -> (tensor<19xf32>, tensor<19xf32>, tensor<23xf32>)
  return %y, %g0, %g1 : tensor<19xf32>, tensor<19xf32>, tensor<23xf32>
}

func.func @prefix(%x: tensor<6x40xf32>) -> tensor<6x40xf32> {
  %y = neoflow.compute (%i, %j) sum (%k = 40) from (%x: tensor<6x40xf32>) where (%j - %k >= 0) -> tensor<6x40xf32> {
    %a = neoflow.read %x[%i, %k] : tensor<6x40xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<6x40xf32>
}
func.func @prefix_gradient(%x: tensor<6x40xf32>, %dy: tensor<6x40xf32>) -> (tensor<6x40xf32>, tensor<6x40xf32>) {
  %y, %g0 = neoflow.vjp @prefix(%x) wrt [0] cotangents(%dy)
      : (tensor<6x40xf32>, tensor<6x40xf32>) -> (tensor<6x40xf32>, tensor<6x40xf32>)
  return %y, %g0 : tensor<6x40xf32>, tensor<6x40xf32>
}

func.func @strided_f64(%x: tensor<2x3x9x11xf64>, %w: tensor<5x3x3x3xf64>) -> tensor<2x5x5x6xf64> {
  %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 3, %r = 3, %s = 3) from (%x: tensor<2x3x9x11xf64>, %w: tensor<5x3x3x3xf64>) -> tensor<2x5x5x6xf64> {
    %a = neoflow.read %x[%n, %c, %p * 2 + %r - 1, %q * 2 + %s - 1] else 0.0 : tensor<2x3x9x11xf64>
    %b = neoflow.read %w[%k, %c, %r, %s] : tensor<5x3x3x3xf64>
    %m = arith.mulf %a, %b : f64
    neoflow.yield %m : f64
  }
  return %y : tensor<2x5x5x6xf64>
}
func.func @strided_f64_gradient(%x: tensor<2x3x9x11xf64>, %w: tensor<5x3x3x3xf64>, %dy: tensor<2x5x5x6xf64>) -> (tensor<2x5x5x6xf64>, tensor<2x3x9x11xf64>, tensor<5x3x3x3xf64>) {
  %y, %g0, %g1 = neoflow.vjp @strided_f64(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<2x3x9x11xf64>, tensor<5x3x3x3xf64>, tensor<2x5x5x6xf64>) -> (tensor<2x5x5x6xf64>, tensor<2x3x9x11xf64>, tensor<5x3x3x3xf64>)
  return %y, %g0, %g1 : tensor<2x5x5x6xf64>, tensor<2x3x9x11xf64>, tensor<5x3x3x3xf64>
}

func.func @strided_f16(%x: tensor<2x3x9x11xf16>, %w: tensor<5x3x3x3xf16>) -> tensor<2x5x5x6xf16> {
  %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 3, %r = 3, %s = 3) from (%x: tensor<2x3x9x11xf16>, %w: tensor<5x3x3x3xf16>) -> tensor<2x5x5x6xf16> {
    %a = neoflow.read %x[%n, %c, %p * 2 + %r - 1, %q * 2 + %s - 1] else 0.0 : tensor<2x3x9x11xf16>
    %b = neoflow.read %w[%k, %c, %r, %s] : tensor<5x3x3x3xf16>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<2x5x5x6xf16>
}
func.func @strided_f16_gradient(%x: tensor<2x3x9x11xf16>, %w: tensor<5x3x3x3xf16>, %dy: tensor<2x5x5x6xf16>) -> (tensor<2x5x5x6xf16>, tensor<2x3x9x11xf16>, tensor<5x3x3x3xf16>) {
  %y, %g0, %g1 = neoflow.vjp @strided_f16(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<2x3x9x11xf16>, tensor<5x3x3x3xf16>, tensor<2x5x5x6xf16>) -> (tensor<2x5x5x6xf16>, tensor<2x3x9x11xf16>, tensor<5x3x3x3xf16>)
  return %y, %g0, %g1 : tensor<2x5x5x6xf16>, tensor<2x3x9x11xf16>, tensor<5x3x3x3xf16>
}
