// RUN: neoflow-opt %s -pass-pipeline='builtin.module(func.func(neoflow-fuse-producers,canonicalize))' | FileCheck %s

// Subscripts are composed.
// CHECK-LABEL: @transpose
func.func @transpose(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4xf32> {
  // CHECK-NOT: neoflow.compute (%i, %j)
  // CHECK: neoflow.compute (%n) sum (%k = 6)
  // CHECK: neoflow.read %{{.*}}[%n, %k] : tensor<4x6xf32>
  %t = neoflow.compute (%i, %j) from (%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
    %a = neoflow.read %x[%j, %i] : tensor<4x6xf32>
    neoflow.yield %a : f32
  }
  %r = neoflow.compute (%n) sum (%k = 6) from (%t: tensor<6x4xf32>, %y: tensor<6xf32>) -> tensor<4xf32> {
    %a = neoflow.read %t[%k, %n] : tensor<6x4xf32>
    %b = neoflow.read %y[%k] : tensor<6xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %r : tensor<4xf32>
}

// A reindexing disappears into every reader, with its `else`.
// CHECK-LABEL: @pad
func.func @pad(%x: tensor<4xf32>) -> (tensor<5xf32>, tensor<f32>) {
  // CHECK: neoflow.compute (%i) from
  // CHECK: neoflow.read %{{.*}}[%i - 1] else 7.000000e+00
  // CHECK: neoflow.compute () sum (%i = 6)
  // CHECK: neoflow.read %{{.*}}[%i - 1] else 7.000000e+00
  %p = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<6xf32> {
    %a = neoflow.read %x[%i - 1] else 7.0 : tensor<4xf32>
    neoflow.yield %a : f32
  }
  %d = neoflow.compute (%i) from (%p: tensor<6xf32>) -> tensor<5xf32> {
    %a = neoflow.read %p[%i] : tensor<6xf32>
    %b = neoflow.read %p[%i + 1] : tensor<6xf32>
    %c = arith.subf %b, %a : f32
    neoflow.yield %c : f32
  }
  %s = neoflow.compute () sum (%i = 6) from (%p: tensor<6xf32>) -> tensor<f32> {
    %a = neoflow.read %p[%i] : tensor<6xf32>
    neoflow.yield %a : f32
  }
  return %d, %s : tensor<5xf32>, tensor<f32>
}

// Reduced once, it is evaluated as often as before.
// CHECK-LABEL: @sum_of_exp
func.func @sum_of_exp(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // CHECK: neoflow.compute
  // CHECK-SAME: sum (%k = 8)
  // CHECK: math.exp
  // CHECK-NOT: neoflow.compute
  %e = neoflow.compute (%i, %j) from (%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4x8xf32>
    %b = math.exp %a : f32
    neoflow.yield %b : f32
  }
  %r = neoflow.compute (%n) sum (%k = 8) from (%e: tensor<4x8xf32>) -> tensor<4xf32> {
    %a = neoflow.read %e[%n, %k] : tensor<4x8xf32>
    neoflow.yield %a : f32
  }
  return %r : tensor<4xf32>
}

// In a product, every exponential would be evaluated eight times.
// CHECK-LABEL: @product_of_exp
func.func @product_of_exp(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  // CHECK: neoflow.compute
  // CHECK: math.exp
  // CHECK: neoflow.compute
  %e = neoflow.compute (%i, %j) from (%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4x8xf32>
    %b = math.exp %a : f32
    neoflow.yield %b : f32
  }
  %r = neoflow.compute (%n, %m) sum (%k = 8) from (%e: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
    %a = neoflow.read %e[%n, %k] : tensor<4x8xf32>
    %b = neoflow.read %w[%k, %m] : tensor<8x8xf32>
    %c = arith.mulf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %r : tensor<4x8xf32>
}

// A reader with `else` and a domain: both stay.
// CHECK-LABEL: @stays
func.func @stays(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  // CHECK-COUNT-4: neoflow.compute
  %p = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.addf %a, %a : f32
    neoflow.yield %b : f32
  }
  %q = neoflow.compute (%i) from (%p: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %p[%i - 1] else 0.0 : tensor<4xf32>
    neoflow.yield %a : f32
  }
  %w = neoflow.compute (%i) from (%x: tensor<4xf32>) where (%i >= 1) else 3.0 -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.addf %a, %a : f32
    neoflow.yield %b : f32
  }
  %v = neoflow.compute () sum (%i = 4) from (%w: tensor<4xf32>) -> tensor<f32> {
    %a = neoflow.read %w[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return %q, %v : tensor<4xf32>, tensor<f32>
}

// A few cheap operations may be repeated.
// CHECK-LABEL: @cheap
func.func @cheap(%x: tensor<4xf32>) -> tensor<f32> {
  // CHECK: neoflow.compute () sum (%i = 4, %j = 4)
  // CHECK-COUNT-3: arith.mulf
  %m = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.mulf %a, %a : f32
    neoflow.yield %b : f32
  }
  %s = neoflow.compute () sum (%i = 4, %j = 4) from (%m: tensor<4xf32>) -> tensor<f32> {
    %a = neoflow.read %m[%i] : tensor<4xf32>
    %b = neoflow.read %m[%j] : tensor<4xf32>
    %c = arith.mulf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %s : tensor<f32>
}

// Random numbers are those of the same position.
// CHECK-LABEL: @random
func.func @random(%s: i64) -> tensor<4xf32> {
  // CHECK: neoflow.compute (%j) sum (%i = 8)
  // CHECK: neoflow.random uniform(%{{.*}}, %{{.*}}) stream 1 [%i, %j] in [8, 4] : f32
  %r = neoflow.compute (%i, %j) from (%s: i64) -> tensor<8x4xf32> {
    %u = neoflow.random uniform(%s, %s) stream 1 [%i, %j] in [8, 4] : f32
    neoflow.yield %u : f32
  }
  %t = neoflow.compute (%j) sum (%i = 8) from (%r: tensor<8x4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %r[%i, %j] : tensor<8x4xf32>
    neoflow.yield %a : f32
  }
  return %t : tensor<4xf32>
}
