// RUN: neoflow-opt %s -split-input-file -neoflow-partition | FileCheck %s
// RUN: neoflow-opt %s -split-input-file -neoflow-partition=decider=none | FileCheck %s --check-prefix=NONE

// An epilogue joins its reduction; equal kernels are one.
// CHECK: neoflow.kernel @f_0(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<4xf32>) -> tensor<4x4xf32> attributes {key = "{{[0-9a-f]+}}", target = #neoflow.target<"host"
// CHECK: neoflow.compute
// CHECK: neoflow.compute
// CHECK: neoflow.yield %{{.*}} : tensor<4x4xf32>
// CHECK-NOT: neoflow.kernel
// CHECK-LABEL: func.func @f(
// CHECK-NEXT: %[[A:.*]] = neoflow.launch @f_0(%arg0, %arg1, %arg2)
// CHECK-NEXT: %[[B:.*]] = neoflow.launch @f_0(%arg0, %arg1, %arg3)
// CHECK-NEXT: return %[[A]], %[[B]]
// NONE-COUNT-2: neoflow.kernel
// NONE-COUNT-4: neoflow.launch
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %p = neoflow.compute (%i, %j) sum (%k = 8) from (%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
    %a = neoflow.read %x[%i, %k] : tensor<4x8xf32>
    %b = neoflow.read %w[%k, %j] : tensor<8x4xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  %q = neoflow.compute (%i, %j) from (%p: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<4x4xf32> {
    %a = neoflow.read %p[%i, %j] : tensor<4x4xf32>
    %e = neoflow.read %b[%j] : tensor<4xf32>
    %m = arith.addf %a, %e : f32
    neoflow.yield %m : f32
  }
  // Other names, the same text.
  %r = neoflow.compute (%n, %o) sum (%l = 8) from (%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
    %a = neoflow.read %x[%n, %l] : tensor<4x8xf32>
    %b = neoflow.read %w[%l, %o] : tensor<8x4xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  %s = neoflow.compute (%n, %o) from (%r: tensor<4x4xf32>, %c: tensor<4xf32>) -> tensor<4x4xf32> {
    %a = neoflow.read %r[%n, %o] : tensor<4x4xf32>
    %b = neoflow.read %c[%o] : tensor<4xf32>
    %m = arith.addf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %q, %s : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A = x + 1, B = sum A, C = A * B: A and C in one kernel would be a cycle.
// CHECK-LABEL: func.func @cycle(
// CHECK-COUNT-3: neoflow.launch
func.func @cycle(%x: tensor<5xf32>) -> tensor<5xf32> {
  %a = neoflow.compute (%i) from (%x: tensor<5xf32>) -> tensor<5xf32> {
    %one = arith.constant 1.0 : f32
    %v = neoflow.read %x[%i] : tensor<5xf32>
    %w = arith.addf %v, %one : f32
    neoflow.yield %w : f32
  }
  %b = neoflow.compute () sum (%i = 5) from (%a: tensor<5xf32>) -> tensor<f32> {
    %v = neoflow.read %a[%i] : tensor<5xf32>
    neoflow.yield %v : f32
  }
  %c = neoflow.compute (%i) from (%a: tensor<5xf32>, %b: tensor<f32>) -> tensor<5xf32> {
    %v = neoflow.read %a[%i] : tensor<5xf32>
    %w = neoflow.read %b[] : tensor<f32>
    %m = arith.mulf %v, %w : f32
    neoflow.yield %m : f32
  }
  return %c : tensor<5xf32>
}

// -----

// Every result is a value of its own, except a state that stays as it was.
// CHECK-LABEL: func.func @results(
// CHECK-NEXT: %[[A:.*]] = neoflow.launch @results_0(%arg0)
// CHECK-NEXT: %[[B:.*]] = neoflow.launch @results_0(%arg0)
// CHECK-NEXT: return %[[A]], %[[B]], %arg1
func.func @results(%x: tensor<4xf32>, %s: tensor<4xf32> {neoflow.state = "s"})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {neoflow.new_state = 1}) {
  return %x, %x, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Results of one compute that do not depend on each other are computed apart.
// CHECK: neoflow.kernel @several_0
// CHECK: neoflow.compute () max (%i = 4) {{.*}} -> tensor<f32>
// CHECK-NOT: math.exp
// CHECK: neoflow.kernel @several_1
// CHECK: neoflow.compute () sum (%i = 4) {{.*}} -> tensor<f32>
// CHECK: math.exp
func.func @several(%x: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
  %r:2 = neoflow.compute () [max, sum] (%i = 4) from (%x: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %e = math.exp %a : f32
    neoflow.yield %a, %e : f32, f32
  }
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}

// -----

// Who reads the old state runs first, so that the new one can be written over it.
// CHECK-LABEL: func.func @state(
// CHECK-NEXT: neoflow.launch @{{.*}}(%arg0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
// CHECK-NEXT: neoflow.launch @{{.*}} -> tensor<4xf32>
func.func @state(%w: tensor<4xf32> {neoflow.state = "w"}, %x: tensor<4xf32>) -> (tensor<4xf32> {neoflow.new_state = 0}, tensor<f32>) {
  %new = neoflow.compute (%i) from (%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %w[%i] : tensor<4xf32>
    %b = neoflow.read %x[%i] : tensor<4xf32>
    %c = arith.subf %a, %b : f32
    neoflow.yield %c : f32
  }
  %dot = neoflow.compute () sum (%i = 4) from (%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<f32> {
    %a = neoflow.read %w[%i] : tensor<4xf32>
    %b = neoflow.read %x[%i] : tensor<4xf32>
    %c = arith.mulf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %new, %dot : tensor<4xf32>, tensor<f32>
}

// -----

// What is partitioned stays; kernels written by hand get a key.
// CHECK: neoflow.kernel @double(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> attributes {key = "{{[0-9a-f]+}}", target
// CHECK-LABEL: func.func @again(
// CHECK-NEXT: neoflow.launch @double(%arg0)
neoflow.kernel @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.addf %a, %a : f32
    neoflow.yield %b : f32
  }
  neoflow.yield %y : tensor<4xf32>
}
func.func @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = neoflow.launch @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The name that the model gives.
// CHECK: neoflow.kernel @conv1_relu_0
func.func @named(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = arith.addf %a, %a : f32
    neoflow.yield %b : f32
  } loc("conv1.relu"("model.py":3:4))
  return %y : tensor<4xf32>
}
