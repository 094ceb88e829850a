// RUN: neoflow-opt %s -verify-roundtrip -o /dev/null
// RUN: neoflow-opt %s | FileCheck %s
// RUN: neoflow-opt %s | neoflow-opt | FileCheck %s
// RUN: neoflow-opt %s -mlir-print-op-generic | neoflow-opt | FileCheck %s
// RUN: neoflow-opt %s -emit-bytecode | neoflow-opt | FileCheck %s

// The text is a fixed point of printing.
// RUN: neoflow-opt %s -o %t.1
// RUN: neoflow-opt %t.1 -o %t.2
// RUN: diff %t.1 %t.2

// CHECK-LABEL: func.func @conv(
// CHECK-SAME: %[[X:.*]]: tensor<8x16x32x32xf32>, %[[W:.*]]: tensor<32x16x3x3xf32>)
func.func @conv(%x: tensor<8x16x32x32xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<8x32x16x16xf32> {
  // CHECK: neoflow.compute (%n, %k, %p, %q) sum (%c = 16, %r = 3, %s = 3) from (%[[X]]: tensor<8x16x32x32xf32>, %[[W]]: tensor<32x16x3x3xf32>) -> tensor<8x32x16x16xf32> {
  // CHECK-NEXT: neoflow.read %[[X]][%n, %c, %p * 2 + %r - 1, %q * 2 + %s - 1] else 0.000000e+00 : tensor<8x16x32x32xf32>
  // CHECK-NEXT: neoflow.read %[[W]][%k, %c, %r, %s] : tensor<32x16x3x3xf32>
  %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 16, %r = 3, %s = 3)
      from (%x: tensor<8x16x32x32xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<8x32x16x16xf32> {
    %a = neoflow.read %x[%n, %c, %p * 2 + %r - 1, %q * 2 + %s - 1] else 0.0 : tensor<8x16x32x32xf32>
    %b = neoflow.read %w[%k, %c, %r, %s] : tensor<32x16x3x3xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<8x32x16x16xf32>
}

// CHECK-LABEL: func.func @no_inputs
func.func @no_inputs() -> tensor<4xi32> {
  // CHECK: neoflow.compute (%i) -> tensor<4xi32> {
  %y = neoflow.compute (%i) -> tensor<4xi32> {
    %v = arith.index_cast %i : index to i32
    neoflow.yield %v : i32
  }
  return %y : tensor<4xi32>
}

// CHECK-LABEL: func.func @rank0
func.func @rank0(%x: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: neoflow.compute () sum (%i = 4) from
  %y = neoflow.compute () sum (%i = 4) from (%x: tensor<4xf32>) -> tensor<f32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  // CHECK: neoflow.compute () from (%{{.*}}: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: neoflow.read %{{.*}}[] : tensor<f32>
  %z = neoflow.compute () from (%y: tensor<f32>) -> tensor<f32> {
    %a = neoflow.read %y[] : tensor<f32>
    %b = arith.negf %a : f32
    neoflow.yield %b : f32
  }
  return %y, %z : tensor<f32>, tensor<f32>
}

// An empty list of reduction indices is a reduction over one point.
// CHECK-LABEL: func.func @no_reduction_indices
func.func @no_reduction_indices(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: neoflow.compute (%i) max () from
  %y = neoflow.compute (%i) max () from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @kinds
func.func @kinds(%x: tensor<4x6xf32>, %k: tensor<4x6xi32>, %b: tensor<4x6xi1>) {
  // CHECK: neoflow.compute (%i) [sum, prod, max, min] (%j = 6) from ({{.*}}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:4 = neoflow.compute (%i) [sum, prod, max, min] (%j = 6) from (%x: tensor<4x6xf32>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = neoflow.read %x[%i, %j] : tensor<4x6xf32>
    neoflow.yield %a, %a, %a, %a : f32, f32, f32, f32
  }
  // CHECK: neoflow.compute (%i) [umax, umin, and, or, max] (%j = 6) from
  %1:5 = neoflow.compute (%i) [umax, umin, and, or, max] (%j = 6) from (%k: tensor<4x6xi32>, %b: tensor<4x6xi1>)
      -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi1>, tensor<4xi1>, tensor<4xi32>) {
    %a = neoflow.read %k[%i, %j] : tensor<4x6xi32>
    %c = neoflow.read %b[%i, %j] : tensor<4x6xi1>
    neoflow.yield %a, %a, %c, %c, %a : i32, i32, i1, i1, i32
  }
  // One kind for all results, and no reduction with several results.
  // CHECK: neoflow.compute (%i) and (%j = 6) from ({{.*}}) -> (tensor<4xi1>, tensor<4xi32>) {
  %2:2 = neoflow.compute (%i) and (%j = 6) from (%k: tensor<4x6xi32>, %b: tensor<4x6xi1>) -> (tensor<4xi1>, tensor<4xi32>) {
    %a = neoflow.read %k[%i, %j] : tensor<4x6xi32>
    %c = neoflow.read %b[%i, %j] : tensor<4x6xi1>
    neoflow.yield %c, %a : i1, i32
  }
  // CHECK: neoflow.compute (%i, %j) from ({{.*}}) -> (tensor<4x6xf32>, tensor<4x6xi1>) {
  %3:2 = neoflow.compute (%i, %j) from (%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi1>) {
    %a = neoflow.read %x[%i, %j] : tensor<4x6xf32>
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpf ogt, %a, %zero : f32
    neoflow.yield %a, %c : f32, i1
  }
  return
}

func.func private @pair() -> (tensor<4xf32>, tensor<4xf32>)

// A result of a group has no single name to shadow; it gets one inside.
// CHECK-LABEL: func.func @result_groups
func.func @result_groups() -> tensor<4xf32> {
  // CHECK: %[[G:.*]]:2 = call
  %0:2 = func.call @pair() : () -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: from (%[[L:.*]] = %[[G]]#0: tensor<4xf32>, %[[R:.*]] = %[[G]]#1: tensor<4xf32>)
  // CHECK-NEXT: neoflow.read %[[L]][%i]
  // CHECK-NEXT: neoflow.read %[[R]][%i]
  %1 = neoflow.compute (%i) from (%l = %0#0: tensor<4xf32>, %r = %0#1: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %l[%i] : tensor<4xf32>
    %b = neoflow.read %r[%i] : tensor<4xf32>
    %c = arith.mulf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %1 : tensor<4xf32>
}

// The same operand twice, and outer names that collide with names of indices
// and of values inside.
// CHECK-LABEL: func.func @shadowing
func.func @shadowing(%i: tensor<4x4xf32>, %a: tensor<4x4xf32>, %0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = neoflow.compute (%i, %j) from (%p = %i: tensor<4x4xf32>, %q = %i: tensor<4x4xf32>, %a: tensor<4x4xf32>, %0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %b = neoflow.read %p[%i, %j] : tensor<4x4xf32>
    %c = neoflow.read %q[%j, %i] : tensor<4x4xf32>
    %d = neoflow.read %a[%j, %i] : tensor<4x4xf32>
    %e = neoflow.read %0[%j, %i] : tensor<4x4xf32>
    %f = arith.addf %b, %c : f32
    %g = arith.addf %d, %e : f32
    %h = arith.addf %f, %g : f32
    neoflow.yield %h : f32
  }
  // Nothing but the order of operands tells these apart.
  // CHECK: %[[P:.*]] = neoflow.read %{{.*}}[%{{.*}}, %j]
  // CHECK-NEXT: %[[Q:.*]] = neoflow.read %{{.*}}[%j, %{{.*}}]
  // CHECK: arith.addf %[[P]], %[[Q]]
  %i_0 = neoflow.compute (%i, %i_0) from (%y: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %b = neoflow.read %y[%i, %i_0] : tensor<4x4xf32>
    %c = arith.negf %b : f32
    neoflow.yield %c : f32
  }
  // CHECK: neoflow.compute (%t, %i) from
  %n = neoflow.compute (%t, %i) from (%i_0: tensor<4x4xf32>, %a: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %b = neoflow.read %a[%i, %i] : tensor<4x4xf32>
    neoflow.yield %b : f32
  }
  return %n : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @domains
func.func @domains(%x: tensor<8x8xf32>, %k: index) -> (tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: where (%i - %j == 0) else 0.000000e+00 -> tensor<8x8xf32> {
  %0 = neoflow.compute (%i, %j) from (%x: tensor<8x8xf32>) where (%i == %j) else 0.0 -> tensor<8x8xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<8x8xf32>
    neoflow.yield %a : f32
  }
  // CHECK: where (%i - (%j + 1) >= 0, %j mod 2 == 0) or (%j - %i >= 0, %i floordiv 2 - 1 >= 0) -> tensor<8xf32> {
  %1 = neoflow.compute (%i) sum (%j = 8) from (%x: tensor<8x8xf32>)
      where (%i >= %j + 1, %j mod 2 == 0) or (%i <= %j, %i floordiv 2 >= 1) -> tensor<8xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<8x8xf32>
    neoflow.yield %a : f32
  }
  // Index symbols are inputs; where is how they restrict the domain.
  // CHECK: where (-(%j + 1) + symbol(%{{.*}}) >= 0) -> tensor<8xf32> {
  %2 = neoflow.compute (%i) max (%j = 8) from (%x: tensor<8x8xf32>, %k: index)
      where (%j + 1 <= symbol(%k)) -> tensor<8xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<8x8xf32>
    neoflow.yield %a : f32
  }
  // `where` makes a subscript safe that is not over the whole box.
  // CHECK: where (%i - 1 >= 0) else -1.000000e+00
  %3 = neoflow.compute (%i) from (%x: tensor<8x8xf32>) where (%i >= 1) else -1.0 -> tensor<8xf32> {
    %a = neoflow.read %x[%i - 1, 7] : tensor<8x8xf32>
    neoflow.yield %a : f32
  }
  return %0, %1, %3 : tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @literals
func.func @literals(%x: tensor<8xf32>, %h: tensor<8xf16>, %k: tensor<8xi8>, %b: tensor<8xi1>) {
  // CHECK: neoflow.read %{{.*}}[%i - 1] else -inf : tensor<8xf32>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else inf : tensor<8xf32>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else nan : tensor<8xf32>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else -1.500000e+00 : tensor<8xf32>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else 0.10000000149011612 : tensor<8xf16>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else -128 : tensor<8xi8>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else true : tensor<8xi1>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else false : tensor<8xi1>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else 3.000000e+00 : tensor<8xf32>
  %0:9 = neoflow.compute (%i) from (%x: tensor<8xf32>, %h: tensor<8xf16>, %k: tensor<8xi8>, %b: tensor<8xi1>)
      -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf16>, tensor<8xi8>, tensor<8xi1>, tensor<8xi1>, tensor<8xf32>) {
    %1 = neoflow.read %x[%i - 1] else -inf : tensor<8xf32>
    %2 = neoflow.read %x[%i - 1] else inf : tensor<8xf32>
    %3 = neoflow.read %x[%i - 1] else nan : tensor<8xf32>
    %4 = neoflow.read %x[%i - 1] else -1.5 : tensor<8xf32>
    %5 = neoflow.read %h[%i - 1] else 0.1 : tensor<8xf16>
    %6 = neoflow.read %k[%i - 1] else -128 : tensor<8xi8>
    %7 = neoflow.read %b[%i - 1] else true : tensor<8xi1>
    %8 = neoflow.read %b[%i - 1] else 0 : tensor<8xi1>
    %9 = neoflow.read %x[%i - 1] else 3 : tensor<8xf32>
    neoflow.yield %1, %2, %3, %4, %5, %6, %7, %8, %9 : f32, f32, f32, f32, f32, i8, i1, i1, f32
  }
  // CHECK: else (-inf, 0, true, 0.0999755859375) ->
  %1:4 = neoflow.compute (%i) from (%x: tensor<8xf32>) where (%i >= 4) else (-inf, 0, true, 0.1)
      -> (tensor<8xf32>, tensor<8xi64>, tensor<8xi1>, tensor<8xf16>) {
    %a = neoflow.read %x[%i] : tensor<8xf32>
    %k = arith.index_cast %i : index to i64
    %c = arith.cmpf ord, %a, %a : f32
    neoflow.yield %a, %k, %c, %a : f32, i64, i1, f32
  }
  return
}

// CHECK-LABEL: func.func @extreme_literals
func.func @extreme_literals(%k: tensor<8xi64>, %x: tensor<8xf64>) {
  // CHECK: neoflow.read %{{.*}}[%i - 1] else -9223372036854775808 : tensor<8xi64>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else 9223372036854775807 : tensor<8xi64>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else 4.94066{{.*}}e-324 : tensor<8xf64>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else -1.7976931348623157E+308 : tensor<8xf64>
  // CHECK: neoflow.read %{{.*}}[%i - 1] else -0.000000e+00 : tensor<8xf64>
  %0:5 = neoflow.compute (%i) from (%k: tensor<8xi64>, %x: tensor<8xf64>)
      -> (tensor<8xi64>, tensor<8xi64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) {
    %a = neoflow.read %k[%i - 1] else -9223372036854775808 : tensor<8xi64>
    %b = neoflow.read %k[%i - 1] else 9223372036854775807 : tensor<8xi64>
    %c = neoflow.read %x[%i - 1] else 4.9406564584124654e-324 : tensor<8xf64>
    %d = neoflow.read %x[%i - 1] else -1.7976931348623157e+308 : tensor<8xf64>
    %e = neoflow.read %x[%i - 1] else -0.0 : tensor<8xf64>
    neoflow.yield %a, %b, %c, %d, %e : i64, i64, f64, f64, f64
  }
  return
}

// Bodies of half precision compute and accumulate in f32; `acc` overrides.
// CHECK-LABEL: func.func @accumulators
func.func @accumulators(%h: tensor<4x8xbf16>, %f: tensor<4x8xf32>, %k: tensor<4x8xi8>) {
  // CHECK: -> tensor<4xbf16> {
  %0 = neoflow.compute (%i) sum (%j = 8) from (%h: tensor<4x8xbf16>) -> tensor<4xbf16> {
    %a = neoflow.read %h[%i, %j] : tensor<4x8xbf16>
    neoflow.yield %a : f32
  }
  // CHECK: acc (f64) -> tensor<4xf32> {
  %1 = neoflow.compute (%i) sum (%j = 8) from (%f: tensor<4x8xf32>) acc (f64) -> tensor<4xf32> {
    %a = neoflow.read %f[%i, %j] : tensor<4x8xf32>
    %b = arith.extf %a : f32 to f64
    neoflow.yield %b : f64
  }
  // CHECK: acc (i32, i8) -> (tensor<4xi8>, tensor<4xi8>) {
  %2:2 = neoflow.compute (%i) [sum, max] (%j = 8) from (%k: tensor<4x8xi8>) acc (i32, i8) -> (tensor<4xi8>, tensor<4xi8>) {
    %a = neoflow.read %k[%i, %j] : tensor<4x8xi8>
    %b = arith.extsi %a : i8 to i32
    neoflow.yield %b, %a : i32, i8
  }
  return
}

// CHECK-LABEL: func.func @ties_and_init
func.func @ties_and_init(%x: tensor<4x8xf32>, %s: tensor<4xf32>, %t: tensor<4xi32>) {
  // CHECK: neoflow.compute (%i) max (%j = 8) from ({{.*}}) ties first -> tensor<4xf32> {
  %0 = neoflow.compute (%i) max (%j = 8) from (%x: tensor<4x8xf32>) ties first -> tensor<4xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4x8xf32>
    neoflow.yield %a : f32
  }
  // The default is not printed.
  // CHECK: neoflow.compute (%i) min (%j = 8) from (%{{[a-z0-9]*}}: tensor<4x8xf32>) -> tensor<4xf32> {
  %1 = neoflow.compute (%i) min (%j = 8) from (%x: tensor<4x8xf32>) ties share -> tensor<4xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4x8xf32>
    neoflow.yield %a : f32
  }
  // CHECK: neoflow.compute (%i) sum (%j = 8) from ({{.*}}) init (%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xi32>) where (%i - %j >= 0) -> (tensor<4xf32>, tensor<4xi32>) {
  %2:2 = neoflow.compute (%i) sum (%j = 8) from (%x: tensor<4x8xf32>) init (%s, %t : tensor<4xf32>, tensor<4xi32>)
      where (%j <= %i) -> (tensor<4xf32>, tensor<4xi32>) {
    %a = neoflow.read %x[%i, %j] : tensor<4x8xf32>
    %one = arith.constant 1 : i32
    neoflow.yield %a, %one : f32, i32
  }
  return
}

// CHECK-LABEL: func.func @argmax
func.func @argmax(%x: tensor<4x8xf32>) -> tensor<4xi64> {
  // CHECK: neoflow.compute (%i) combine (%j = 8) from ({{.*}}) identity (-inf, -1) -> (tensor<4xf32>, tensor<4xi64>) {
  // CHECK: } combine (%{{.*}}: f32, %{{.*}}: i64, %{{.*}}: f32, %{{.*}}: i64) {
  %0:2 = neoflow.compute (%i) combine (%j = 8) from (%x: tensor<4x8xf32>) identity (-inf, -1) -> (tensor<4xf32>, tensor<4xi64>) {
    %a = neoflow.read %x[%i, %j] : tensor<4x8xf32>
    %k = arith.index_cast %j : index to i64
    neoflow.yield %a, %k : f32, i64
  } combine (%va: f32, %ka: i64, %vb: f32, %kb: i64) {
    %more = arith.cmpf ogt, %vb, %va : f32
    %v = arith.select %more, %vb, %va : f32
    %k = arith.select %more, %kb, %ka : i64
    neoflow.yield %v, %k : f32, i64
  }
  // CHECK: neoflow.compute (%i) combine (%j = 8) from ({{.*}}) identity 0.000000e+00 -> tensor<4xf32> {
  %1 = neoflow.compute (%i) combine (%j = 8) from (%x: tensor<4x8xf32>) identity 0.0 -> tensor<4xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4x8xf32>
    neoflow.yield %a : f32
  } combine (%a: f32, %b: f32) {
    %c = arith.addf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %0#1 : tensor<4xi64>
}

// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<?x?xf32> {neoflow.dims = ["batch", "features"]}) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[N:.*]] = tensor.dim
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  // CHECK: %[[M:.*]] = tensor.dim
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  // CHECK: neoflow.compute (%i = %[[N]], %l = %[[M]]) sum (%j = %[[M]], %k = 3) from
  %y = neoflow.compute (%i = %n, %l = %m) sum (%j = %m, %k = 3) from (%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<?x?xf32>
    neoflow.yield %a : f32
  }
  // Some extents dynamic, some not.
  // CHECK: neoflow.compute (%i = %[[N]], %j) from ({{.*}}) -> tensor<?x4xf32> {
  %z = neoflow.compute (%i = %n, %j) from (%x: tensor<?x?xf32>) -> tensor<?x4xf32> {
    %a = neoflow.read %x[%i, %j] else 0.0 : tensor<?x?xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @symbols
func.func @symbols(%x: tensor<16xf32>, %shift: index, %scale: f32) -> tensor<8xf32> {
  // CHECK: from (%[[X:.*]]: tensor<16xf32>, %[[S:.*]]: index, %[[F:.*]]: f32)
  // CHECK: neoflow.read %[[X]][%i + %[[S]]] else 0.000000e+00
  %y = neoflow.compute (%i) from (%x: tensor<16xf32>, %shift: index, %scale: f32) -> tensor<8xf32> {
    %a = neoflow.read %x[%i + %shift] else 0.0 : tensor<16xf32>
    %b = arith.mulf %a, %scale : f32
    neoflow.yield %b : f32
  }
  return %y : tensor<8xf32>
}

// CHECK-LABEL: func.func @subscripts
func.func @subscripts(%x: tensor<16xf32>, %k: tensor<4xi64>) {
  // CHECK: neoflow.read %{{.*}}[%i floordiv 2 + 3] : tensor<16xf32>
  // CHECK: neoflow.read %{{.*}}[%i ceildiv 2] : tensor<16xf32>
  // CHECK: neoflow.read %{{.*}}[(%i * 5) mod 16] : tensor<16xf32>
  // CHECK: neoflow.read %{{.*}}[-%i + 15] : tensor<16xf32>
  // CHECK: neoflow.read %{{.*}}[7] : tensor<16xf32>
  %y = neoflow.compute (%i) from (%x: tensor<16xf32>) -> tensor<16xf32> {
    %a = neoflow.read %x[%i floordiv 2 + 3] : tensor<16xf32>
    %b = neoflow.read %x[%i ceildiv 2] : tensor<16xf32>
    %c = neoflow.read %x[(%i * 5) mod 16] : tensor<16xf32>
    %d = neoflow.read %x[15 - %i] : tensor<16xf32>
    %e = neoflow.read %x[7] : tensor<16xf32>
    %f = arith.addf %a, %b : f32
    %g = arith.addf %c, %d : f32
    %h = arith.addf %f, %g : f32
    %j = arith.addf %h, %e : f32
    neoflow.yield %j : f32
  }
  %w = neoflow.compute (%i, %j) from (%x: tensor<16xf32>) -> tensor<16x16xf32> {
    %a = neoflow.read %x[%i] : tensor<16xf32>
    neoflow.yield %a : f32
  }
  %v = neoflow.compute (%i) from (%w: tensor<16x16xf32>) -> tensor<16xf32> {
    // CHECK: neoflow.read %{{.*}}[%i, %i] {note} : tensor<16x16xf32>
    %a = neoflow.read %w[%i, %i] {note} : tensor<16x16xf32>
    neoflow.yield %a : f32
  }
  // Data-dependent: a gather. affine.apply is index arithmetic in the body.
  // CHECK: %[[R:.*]] = arith.index_cast
  // CHECK: %[[T:.*]] = affine.apply
  // CHECK: neoflow.read %{{.*}}[%[[R]]] : tensor<16xf32>
  // CHECK: neoflow.read %{{.*}}[%[[T]] + %i] else 0.000000e+00 : tensor<16xf32>
  %z = neoflow.compute (%i) from (%x: tensor<16xf32>, %k: tensor<4xi64>) -> tensor<4xf32> {
    %n = neoflow.read %k[%i] : tensor<4xi64>
    %row = arith.index_cast %n : i64 to index
    %t = affine.apply affine_map<(d0) -> (d0 * 2)>(%row)
    %a = neoflow.read %x[%row] : tensor<16xf32>
    %b = neoflow.read %x[%t + %i] else 0.0 : tensor<16xf32>
    %c = arith.addf %a, %b : f32
    neoflow.yield %c : f32
  }
  return
}

// CHECK-LABEL: func.func @random
func.func @random(%seed: i64, %step: i64) -> (tensor<8x16xf32>, tensor<8xf64>) {
  // CHECK: neoflow.random uniform(%[[SEED:.*]], %[[STEP:.*]]) stream 3 [%n, %c] in [8, 16] : f32
  // CHECK: neoflow.random normal(%[[SEED]], %[[STEP]]) stream 4294967295 [%n * 16 + %c] in [128] : f32
  %u = neoflow.compute (%n, %c) from (%seed: i64, %step: i64) -> tensor<8x16xf32> {
    %a = neoflow.random uniform(%seed, %step) stream 3 [%n, %c] in [8, 16] : f32
    %b = neoflow.random normal(%seed, %step) stream 4294967295 [%n * 16 + %c] in [128] : f32
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  // CHECK: neoflow.random normal(%{{.*}}, %{{.*}}) stream 0 [] in [] : f64
  %v = neoflow.compute (%n) from (%seed: i64, %step: i64) -> tensor<8xf64> {
    %a = neoflow.random normal(%seed, %step) stream 0 [] in [] : f64
    neoflow.yield %a : f64
  }
  return %u, %v : tensor<8x16xf32>, tensor<8xf64>
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%dy: tensor<4x2xf32>, %idx: tensor<4xi64>, %zero: tensor<5x2xf32>) -> tensor<5x2xf32> {
  // CHECK: neoflow.scatter sum (%n = 4, %d = 2) from (%{{.*}}: tensor<4x2xf32>, %{{.*}}: tensor<4xi64>) into (%[[Z:.*]]: tensor<5x2xf32>) {
  // CHECK: neoflow.yield %{{.*}} at [%{{.*}}, %d] : f32
  %dx = neoflow.scatter sum (%n = 4, %d = 2)
      from (%dy: tensor<4x2xf32>, %idx: tensor<4xi64>) into (%zero: tensor<5x2xf32>) {
    %i = neoflow.read %idx[%n] : tensor<4xi64>
    %row = arith.index_cast %i : i64 to index
    %v = neoflow.read %dy[%n, %d] : tensor<4x2xf32>
    neoflow.yield %v at [%row, %d] : f32
  }
  // CHECK: neoflow.scatter max (%n = 4) into (%{{.*}}: tensor<5x2xf32>) where (%n - 1 >= 0) or (%n == 0) attributes {tag = 1 : i64} {
  // CHECK: neoflow.yield %{{.*}} at [%n + 1, 0] : f32
  %m = neoflow.scatter max (%n = 4) into (%dx: tensor<5x2xf32>) where (%n >= 1) or (%n == 0) attributes {tag = 1 : i64} {
    %one = arith.constant 1.0 : f32
    neoflow.yield %one at [%n + 1, 0] : f32
  }
  return %m : tensor<5x2xf32>
}

// CHECK-LABEL: func.func @attributes
func.func @attributes(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: from ({{.*}}) attributes {tag = "kept"} -> tensor<4xf32> {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) attributes {tag = "kept"} -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.negf %a : f32
    neoflow.yield %b : f32
  }
  // CHECK: neoflow.stop_gradient %{{.*}} : tensor<4xf32>
  %z = neoflow.stop_gradient %y : tensor<4xf32>
  return %z : tensor<4xf32>
}

func.func private @layer(tensor<4xf32>, tensor<8xf32>, i64) -> (tensor<4xf32>, tensor<4xi32>)

// CHECK-LABEL: func.func @vjp
func.func @vjp(%x: tensor<4xf32>, %w: tensor<8xf32>, %k: i64, %dy: tensor<4xf32>) {
  // CHECK: neoflow.vjp @layer(%{{.*}}, %{{.*}}, %{{.*}}) wrt [0, 1] cotangents(%{{.*}}) : (tensor<4xf32>, tensor<8xf32>, i64, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<8xf32>)
  %0:4 = neoflow.vjp @layer(%x, %w, %k) wrt [0, 1] cotangents(%dy)
      : (tensor<4xf32>, tensor<8xf32>, i64, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<8xf32>)
  // CHECK: wrt []
  %1:2 = neoflow.vjp @layer(%x, %w, %k) wrt [] cotangents(%dy)
      : (tensor<4xf32>, tensor<8xf32>, i64, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>)
  return
}

// CHECK-LABEL: neoflow.kernel @scale(
// CHECK-SAME: %{{.*}}: tensor<4xf32>, %{{.*}}: f32) -> (tensor<4xf32>, tensor<f32>)
// CHECK-SAME: key = "00ff"
// CHECK-SAME: schedule = #neoflow.schedule<elementwise, {chunk = 4096, lanes = 8}, order = "ascending">
// CHECK-SAME: target = #neoflow.target<"host", cpu = "znver3", features = "+avx2,+fma", {cores = 2 : i64, vector_bytes = 32 : i64}>
neoflow.kernel @scale(%x: tensor<4xf32>, %s: f32) -> (tensor<4xf32>, tensor<f32>) attributes {
    key = "00ff",
    schedule = #neoflow.schedule<elementwise, {chunk = 4096, lanes = 8}, order = "ascending">,
    target = #neoflow.target<"host", cpu = "znver3", features = "+avx2,+fma", {cores = 2, vector_bytes = 32}>} {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.mulf %a, %s : f32
    neoflow.yield %b : f32
  }
  %z = neoflow.compute () sum (%i = 4) from (%y: tensor<4xf32>) -> tensor<f32> {
    %a = neoflow.read %y[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  // CHECK: neoflow.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<f32>
  neoflow.yield %y, %z : tensor<4xf32>, tensor<f32>
}

// CHECK: neoflow.kernel private @nothing() {
neoflow.kernel private @nothing() {
  // CHECK-NEXT: neoflow.yield
  neoflow.yield
}

// CHECK-LABEL: func.func @program
func.func @program(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
  // CHECK: neoflow.launch @scale(%{{.*}}, %{{.*}}) : (tensor<4xf32>, f32) -> (tensor<4xf32>, tensor<f32>)
  %y:2 = neoflow.launch @scale(%x, %s) : (tensor<4xf32>, f32) -> (tensor<4xf32>, tensor<f32>)
  // CHECK: neoflow.launch @nothing() : () -> ()
  neoflow.launch @nothing() : () -> ()
  return %y#0 : tensor<4xf32>
}

func.func private @cell(%h: tensor<4xf32>, %x: tensor<3xf32>, %row: tensor<2x5xf32>, %w: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3xf32>, tensor<2x5xf32>) {
  return %h, %x, %row : tensor<4xf32>, tensor<3xf32>, tensor<2x5xf32>
}

// CHECK-LABEL: func.func @scan
func.func @scan(%h: tensor<4xf32>, %xs: tensor<6x3xf32>, %rows: tensor<12x5xf32>, %w: tensor<3x4xf32>) {
  // CHECK: neoflow.scan @cell carry(%{{.*}}) stacked(%{{.*}}, %{{.*}}) invariant(%{{.*}}) : (tensor<4xf32>, tensor<6x3xf32>, tensor<12x5xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<6x3xf32>, tensor<12x5xf32>)
  %a:3 = neoflow.scan @cell carry(%h) stacked(%xs, %rows) invariant(%w)
      : (tensor<4xf32>, tensor<6x3xf32>, tensor<12x5xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<6x3xf32>, tensor<12x5xf32>)
  // CHECK: neoflow.scan @cell steps 6 reverse checkpoint 2 carry(
  %b:3 = neoflow.scan @cell steps 6 reverse checkpoint 2 carry(%h) stacked(%xs, %rows) invariant(%w)
      : (tensor<4xf32>, tensor<6x3xf32>, tensor<12x5xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<6x3xf32>, tensor<12x5xf32>)
  // CHECK: neoflow.scan @noise steps 3 : () -> tensor<3xf32>
  %c = neoflow.scan @noise steps 3 : () -> tensor<3xf32>
  return
}

func.func private @noise() -> tensor<f32>

// CHECK-LABEL: func.func @dynamic_time
func.func @dynamic_time(%xs: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: neoflow.scan @same stacked(%{{.*}}) : (tensor<?xf32>) -> tensor<?xf32>
  %a = neoflow.scan @same stacked(%xs) : (tensor<?xf32>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}

func.func private @same(tensor<f32>) -> tensor<f32>
