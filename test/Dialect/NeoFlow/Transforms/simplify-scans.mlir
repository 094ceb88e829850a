// RUN: neoflow-opt %s -split-input-file -neoflow-simplify-scans -symbol-dce | FileCheck %s

// Nobody reads the second output: it goes, and so does what only it needed. The
// copy that another scan uses stays as it was.
// CHECK-LABEL: func.func @unused_output
// CHECK: %[[Y:.*]] = neoflow.scan @cell_0 steps 5 stacked(%{{.*}}) : (tensor<5x3xf32>) -> tensor<5x3xf32>
// CHECK: return %[[Y]]
func.func @unused_output(%xs: tensor<5x3xf32>, %w: tensor<f32>) -> tensor<5x3xf32> {
  %y:2 = neoflow.scan @cell stacked(%xs) invariant(%w) : (tensor<5x3xf32>, tensor<f32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
  return %y#0 : tensor<5x3xf32>
}
// CHECK-LABEL: func.func @all_used
// CHECK: neoflow.scan @cell stacked(%{{.*}}) invariant(%{{.*}})
func.func @all_used(%xs: tensor<5x3xf32>, %w: tensor<f32>) -> (tensor<5x3xf32>, tensor<5x3xf32>) {
  %y:2 = neoflow.scan @cell stacked(%xs) invariant(%w) : (tensor<5x3xf32>, tensor<f32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
  return %y#0, %y#1 : tensor<5x3xf32>, tensor<5x3xf32>
}
// CHECK: func.func private @cell(%{{.*}}: tensor<3xf32>, %{{.*}}: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
// CHECK: func.func private @cell_0(%[[X:.*]]: tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: return %[[X]]
func.func private @cell(%x: tensor<3xf32>, %w: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %z = neoflow.compute (%i) from (%x: tensor<3xf32>, %w: tensor<f32>) -> tensor<3xf32> {
    %a = neoflow.read %x[%i] : tensor<3xf32>
    %b = neoflow.read %w[] : tensor<f32>
    %c = arith.mulf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %x, %z : tensor<3xf32>, tensor<3xf32>
}

// -----

// A carry that no step changes is an invariant, and its last value is its first;
// a carry that nothing reads goes.
// CHECK-LABEL: func.func @carries
// CHECK-SAME: %[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>, %[[C:.*]]: tensor<f32>
// CHECK: %[[R:.*]] = neoflow.scan @{{.*}} steps 4 reverse checkpoint 2 carry(%[[B]]) invariant(%[[A]])
// CHECK: return %[[A]], %[[R]]
func.func @carries(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %r:3 = neoflow.scan @cell steps 4 reverse checkpoint 2 carry(%a, %b, %c) : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}
// CHECK: func.func private @{{.*}}(%[[SUM:.*]]: tensor<f32>, %[[FIXED:.*]]: tensor<f32>) -> tensor<f32>
// CHECK: neoflow.compute () from (%[[FIXED]]: tensor<f32>, %[[SUM]]: tensor<f32>)
func.func private @cell(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %z = neoflow.compute () from (%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
    %p = neoflow.read %a[] : tensor<f32>
    %q = neoflow.read %b[] : tensor<f32>
    %s = arith.addf %p, %q : f32
    neoflow.yield %s : f32
  }
  return %a, %z, %z : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// What the inner scan returns for nothing is found after the outer one.
// CHECK-LABEL: func.func @nested
// CHECK-NOT: tensor<6xf32>) -> (tensor<f32>, tensor
// CHECK: func.func private @outer{{.*}}(%{{.*}}: tensor<f32>) -> tensor<f32>
// CHECK-NEXT: neoflow.scan @inner{{.*}} steps 3 carry(%{{.*}}) : (tensor<f32>) -> tensor<f32>
func.func @nested(%h: tensor<f32>) -> tensor<f32> {
  %r:2 = neoflow.scan @outer steps 2 carry(%h) : (tensor<f32>) -> (tensor<f32>, tensor<6xf32>)
  return %r#0 : tensor<f32>
}
func.func private @outer(%h: tensor<f32>) -> (tensor<f32>, tensor<3xf32>) {
  %r:2 = neoflow.scan @inner steps 3 carry(%h) : (tensor<f32>) -> (tensor<f32>, tensor<3xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<3xf32>
}
func.func private @inner(%h: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %z = neoflow.compute () from (%h: tensor<f32>) -> tensor<f32> {
    %a = neoflow.read %h[] : tensor<f32>
    %b = math.sin %a : f32
    neoflow.yield %b : f32
  }
  return %z, %h : tensor<f32>, tensor<f32>
}

// -----

// A scan that nobody reads goes, with its function.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: return
// CHECK-NOT: func.func
func.func @dead(%h: tensor<f32>) {
  %r = neoflow.scan @cell steps 2 carry(%h) : (tensor<f32>) -> tensor<f32>
  return
}
func.func private @cell(%h: tensor<f32>) -> tensor<f32> {
  return %h : tensor<f32>
}
