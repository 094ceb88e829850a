// RUN: neoflow-opt %s -canonicalize="test-convergence" -allow-unregistered-dialect | FileCheck %s

// An input that the body does not use goes, and so does what only it used.
// CHECK-LABEL: func.func @unused_input
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @unused_input(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: neoflow.compute (%i) from (%[[X]]: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: neoflow.read %[[X]][%i]
  %0 = neoflow.compute (%i) from (%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = neoflow.read %y[%i] : tensor<4xf32>
    %c = arith.negf %a : f32
    neoflow.yield %c : f32
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @repeated_input
func.func @repeated_input(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: neoflow.compute (%i, %j) from (%[[X:[a-z0-9]*]]: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: neoflow.read %[[X]][%i, %j]
  // CHECK-NEXT: neoflow.read %[[X]][%j, %i]
  %0 = neoflow.compute (%i, %j) from (%p = %x: tensor<4x4xf32>, %q = %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %a = neoflow.read %p[%i, %j] : tensor<4x4xf32>
    %b = neoflow.read %q[%j, %i] : tensor<4x4xf32>
    %c = arith.addf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %0 : tensor<4x4xf32>
}

// Index symbols of `where` keep their positions.
// CHECK-LABEL: func.func @symbols_of_where
func.func @symbols_of_where(%x: tensor<4xf32>, %y: tensor<4xf32>, %k: index, %l: index) -> tensor<4xf32> {
  // CHECK: from (%{{.*}}: tensor<4xf32>, %[[K:.*]]: index, %[[L:.*]]: index) where (%i - symbol(%[[L]]) >= 0) else 0.000000e+00
  %0 = neoflow.compute (%i) from (%y: tensor<4xf32>, %x: tensor<4xf32>, %k: index, %l: index) where (%i >= symbol(%l)) else 0.0 -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @constant_scalar
func.func @constant_scalar(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = arith.constant 2.0 : f32
  // CHECK: neoflow.compute (%i) from (%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[C:.*]] = arith.constant 2.000000e+00 : f32
  // CHECK: %[[A:.*]] = neoflow.read %[[X]][%i]
  // CHECK: arith.mulf %[[A]], %[[C]]
  %0 = neoflow.compute (%i) from (%x: tensor<4xf32>, %two: f32) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.mulf %a, %two : f32
    neoflow.yield %b : f32
  }
  return %0 : tensor<4xf32>
}

// A scalar that is not constant stays an input.
// CHECK-LABEL: func.func @scalar_argument
func.func @scalar_argument(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
  // CHECK: from (%{{.*}}: tensor<4xf32>, %{{.*}}: f32)
  %0 = neoflow.compute (%i) from (%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.mulf %a, %s : f32
    neoflow.yield %b : f32
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @splat
func.func @splat(%x: tensor<4xf32>) -> tensor<4xf32> {
  %ones = arith.constant dense<1.0> : tensor<4xf32>
  // CHECK: neoflow.compute (%i) from (%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: arith.constant 1.000000e+00 : f32
  // CHECK: neoflow.read %[[X]][%i]
  // CHECK-NOT: neoflow.read
  %0 = neoflow.compute (%i) from (%x: tensor<4xf32>, %ones: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = neoflow.read %ones[%i] : tensor<4xf32>
    %c = arith.addf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %0 : tensor<4xf32>
}

// The `else` value differs from the splat: some elements are not 1. Where they
// are equal, the read is constant although it leaves the tensor.
// CHECK-LABEL: func.func @splat_else
func.func @splat_else() -> (tensor<4xf32>, tensor<4xf32>) {
  %ones = arith.constant dense<1.0> : tensor<4xf32>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else 0.000000e+00
  %0 = neoflow.compute (%i) from (%ones: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %ones[%i - 1] else 0.0 : tensor<4xf32>
    neoflow.yield %a : f32
  }
  // CHECK-NOT: neoflow.read
  %1 = neoflow.compute (%i) from (%ones: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %ones[%i - 1] else 1.0 : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Tensors that are constant but not a splat, or of half precision, are read.
// CHECK-LABEL: func.func @constant_tensors
func.func @constant_tensors() -> (tensor<2xf32>, tensor<2xf16>) {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %h = arith.constant dense<1.0> : tensor<2xf16>
  // CHECK: neoflow.read %{{.*}}[-%i + 1] : tensor<2xf32>
  %0 = neoflow.compute (%i) from (%c: tensor<2xf32>) -> tensor<2xf32> {
    %a = neoflow.read %c[1 - %i] : tensor<2xf32>
    neoflow.yield %a : f32
  }
  // CHECK: neoflow.read %{{.*}}[-%i + 1] : tensor<2xf16>
  %1 = neoflow.compute (%i) from (%h: tensor<2xf16>) -> tensor<2xf16> {
    %a = neoflow.read %h[1 - %i] : tensor<2xf16>
    neoflow.yield %a : f32
  }
  return %0, %1 : tensor<2xf32>, tensor<2xf16>
}

// CHECK-LABEL: func.func @constant_domain
func.func @constant_domain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = arith.constant 2 : index
  // CHECK: from (%{{[a-z0-9]*}}: tensor<4xf32>) where (%i - 2 >= 0) else 0.000000e+00
  %0 = neoflow.compute (%i) from (%x: tensor<4xf32>, %two: index) where (%i >= symbol(%two)) else 0.0 -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return %0 : tensor<4xf32>
}

// A copy is its source, also through another copy.
// CHECK-LABEL: func.func @identity
// CHECK-SAME: (%[[X:.*]]: tensor<4x6xf32>)
// CHECK-NEXT: return %[[X]]
func.func @identity(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = neoflow.compute (%i, %j) from (%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4x6xf32>
    neoflow.yield %a : f32
  }
  %1 = neoflow.compute (%i, %j) from (%0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %a = neoflow.read %0[%i, (%j + 6) mod 6] : tensor<4x6xf32>
    neoflow.yield %a : f32
  }
  return %1 : tensor<4x6xf32>
}

// Not copies: a transpose, a slice, a masked copy, a reduction, a conversion.
// CHECK-LABEL: func.func @no_identity
func.func @no_identity(%x: tensor<4x4xf32>, %h: tensor<4xf16>)
    -> (tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-5: neoflow.compute
  %0 = neoflow.compute (%i, %j) from (%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %a = neoflow.read %x[%j, %i] : tensor<4x4xf32>
    neoflow.yield %a : f32
  }
  %1 = neoflow.compute (%i, %j) from (%x: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4x4xf32>
    neoflow.yield %a : f32
  }
  %2 = neoflow.compute (%i, %j) from (%x: tensor<4x4xf32>) where (%i >= %j) else 0.0 -> tensor<4x4xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4x4xf32>
    neoflow.yield %a : f32
  }
  %3 = neoflow.compute (%i, %j) sum (%k = 2) from (%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4x4xf32>
    neoflow.yield %a : f32
  }
  %4 = neoflow.compute (%i) from (%h: tensor<4xf16>) -> tensor<4xf32> {
    %a = neoflow.read %h[%i] : tensor<4xf16>
    neoflow.yield %a : f32
  }
  return %0, %1, %2, %3, %4 : tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @subscripts
func.func @subscripts(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: neoflow.read %{{.*}}[%i, %j] : tensor<4x6xf32>
  // CHECK: neoflow.read %{{.*}}[0, %j] : tensor<4x6xf32>
  // CHECK: neoflow.read %{{.*}}[%i - 1, %j] else 0.000000e+00 : tensor<4x6xf32>
  %0 = neoflow.compute (%i, %j) from (%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %a = neoflow.read %x[%i, (%j + 6) mod 6] else 0.0 : tensor<4x6xf32>
    %b = neoflow.read %x[%i floordiv 4, %j] : tensor<4x6xf32>
    %c = neoflow.read %x[%i - 1, %j] else 0.0 : tensor<4x6xf32>
    %d = arith.addf %a, %b : f32
    %e = arith.addf %d, %c : f32
    neoflow.yield %e : f32
  }
  return %0 : tensor<4x6xf32>
}

// An index that a subscript no longer depends on is no operand.
// CHECK-LABEL: func.func @operands
func.func @operands(%x: tensor<4xf32>) -> tensor<4x6xf32> {
  // CHECK: neoflow.read %{{.*}}[%i] : tensor<4xf32>
  %0 = "neoflow.compute"(%x) <{kinds = [#neoflow<kind none>], index_names = ["i", "j"], operandSegmentSizes = array<i32: 1, 0, 0>, reduction_extents = array<i64>}> ({
  ^bb0(%i: index, %j: index, %t: tensor<4xf32>):
    %a = "neoflow.read"(%t, %j, %i, %i) <{map = affine_map<(d0, d1, d2) -> (d1 * 2 - d2 + d0 - d0)>}> : (tensor<4xf32>, index, index, index) -> f32
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }, {}) : (tensor<4xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// A compute without users goes; it has no effects.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: return
func.func @dead(%x: tensor<4xf32>) {
  %0 = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.negf %a : f32
    neoflow.yield %b : f32
  }
  return
}

// A scheduled kernel stays as it is; without a schedule it is simplified, but
// keeps its copies: they are what it computes.
// CHECK-LABEL: neoflow.kernel @scheduled
// CHECK: from (%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
neoflow.kernel @scheduled(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
    attributes {schedule = #neoflow.schedule<elementwise, {chunk = 4, lanes = 1}, order = "ascending">} {
  %0 = neoflow.compute (%i) from (%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: neoflow.read %{{.*}}[%i mod 4] : tensor<4xf32>
    %a = neoflow.read %x[%i mod 4] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  neoflow.yield %0 : tensor<4xf32>
}

// CHECK-LABEL: neoflow.kernel @open
// CHECK: from (%{{[a-z0-9]*}}: tensor<4xf32>) ->
neoflow.kernel @open(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = neoflow.compute (%i) from (%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: neoflow.read %{{.*}}[%i] : tensor<4xf32>
    %a = neoflow.read %x[%i mod 4] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  neoflow.yield %0 : tensor<4xf32>
}
