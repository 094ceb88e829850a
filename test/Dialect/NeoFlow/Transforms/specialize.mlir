// RUN: neoflow-opt %s -neoflow-specialize | FileCheck %s --check-prefixes=CHECK,DEFAULT
// RUN: neoflow-opt %s -neoflow-specialize=sizes=batch=64,classes=10 | FileCheck %s --check-prefixes=CHECK,OPTION
// RUN: neoflow-opt %s -neoflow-specialize=sizes=batch=64 -neoflow-specialize=sizes=batch=64 | FileCheck %s --check-prefixes=CHECK,AGAIN
// RUN: neoflow-opt %s -neoflow-specialize=sizes=batch=0 | FileCheck %s --check-prefix=EMPTY

// CHECK-NOT: ?
// EMPTY: tensor<0x4xf32>
module attributes {neoflow.default_dims = {batch = 2, classes = 5}} {
  // The types of a function without names come from its calls; this one is
  // called before the caller's own shapes are known.
  // CHECK-LABEL: func.func private @activation(
  // DEFAULT-SAME: %[[X:.*]]: tensor<2x5xf32>) -> tensor<2x5xf32>
  // OPTION-SAME: %[[X:.*]]: tensor<64x10xf32>) -> tensor<64x10xf32>
  // AGAIN-SAME: %[[X:.*]]: tensor<64x5xf32>) -> tensor<64x5xf32>
  func.func private @activation(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tensor.dim %x, %c0 : tensor<?x?xf32>
    %k = tensor.dim %x, %c1 : tensor<?x?xf32>
    // CHECK-NOT: tensor.dim
    // OPTION: neoflow.compute (%i, %j) from (%{{.*}}: tensor<64x10xf32>) -> tensor<64x10xf32> {
    // OPTION-NEXT: neoflow.read %{{.*}}[%i, %j] : tensor<64x10xf32>
    %y = neoflow.compute (%i = %n, %j = %k) from (%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %a = neoflow.read %x[%i, %j] : tensor<?x?xf32>
      %b = math.tanh %a : f32
      neoflow.yield %b : f32
    }
    return %y : tensor<?x?xf32>
  }

  // Parallel and reduction extents, an extent computed from others, init.
  // The names stay as a record.
  // CHECK-LABEL: func.func @model(
  // OPTION-SAME: tensor<64x4xf32> {neoflow.dims = ["batch", ""], neoflow.input = "x"}
  // OPTION-SAME: tensor<4x10xf32> {neoflow.dims = ["", "classes"], neoflow.param = "w"}
  // OPTION-SAME: -> (tensor<64x10xf32>, tensor<f32>, tensor<640xf32>)
  func.func @model(%x: tensor<?x4xf32> {neoflow.input = "x", neoflow.dims = ["batch", ""]},
                   %w: tensor<4x?xf32> {neoflow.param = "w", neoflow.dims = ["", "classes"]})
      -> (tensor<?x?xf32>, tensor<f32>, tensor<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tensor.dim %x, %c0 : tensor<?x4xf32>
    %k = tensor.dim %w, %c1 : tensor<4x?xf32>
    // OPTION: neoflow.compute (%i, %j) sum (%c = 4) from ({{.*}}) -> tensor<64x10xf32>
    %y = neoflow.compute (%i = %n, %j = %k) sum (%c = 4) from (%x: tensor<?x4xf32>, %w: tensor<4x?xf32>) -> tensor<?x?xf32> {
      %a = neoflow.read %x[%i, %c] : tensor<?x4xf32>
      %b = neoflow.read %w[%c, %j] : tensor<4x?xf32>
      %d = arith.mulf %a, %b : f32
      neoflow.yield %d : f32
    }
    // OPTION: call @activation(%{{.*}}) : (tensor<64x10xf32>) -> tensor<64x10xf32>
    %z = func.call @activation(%y) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %s = neoflow.stop_gradient %z : tensor<?x?xf32>
    // OPTION: neoflow.compute () sum (%i = 64, %j = 10) from (%{{.*}}: tensor<64x10xf32>) -> tensor<f32>
    %l = neoflow.compute () sum (%i = %n, %j = %k) from (%s: tensor<?x?xf32>) -> tensor<f32> {
      %a = neoflow.read %s[%i, %j] : tensor<?x?xf32>
      neoflow.yield %a : f32
    }
    %nk = arith.muli %n, %k : index
    %q = tensor.cast %z : tensor<?x?xf32> to tensor<?x?xf32>
    // OPTION: from (%{{.*}}: tensor<64x10xf32>) -> tensor<640xf32>
    %f = neoflow.compute (%i = %nk) from (%q: tensor<?x?xf32>) -> tensor<?xf32> {
      %a = neoflow.read %q[%i floordiv 64, %i mod 5] else 0.0 : tensor<?x?xf32>
      neoflow.yield %a : f32
    }
    return %z, %l, %f : tensor<?x?xf32>, tensor<f32>, tensor<?xf32>
  }

  // CHECK-LABEL: func.func @gradient(
  func.func @gradient(%x: tensor<?x4xf32> {neoflow.dims = ["batch", ""]}, %w: tensor<4x?xf32> {neoflow.dims = ["", "classes"]}) -> tensor<4x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tensor.dim %x, %c0 : tensor<?x4xf32>
    %k = tensor.dim %w, %c1 : tensor<4x?xf32>
    %nk = arith.muli %n, %k : index
    %one = arith.constant dense<1.0> : tensor<f32>
    %dz = neoflow.compute (%i = %n, %j = %k) -> tensor<?x?xf32> {
      %a = arith.constant 0.0 : f32
      neoflow.yield %a : f32
    }
    %df = neoflow.compute (%i = %nk) -> tensor<?xf32> {
      %a = arith.constant 0.0 : f32
      neoflow.yield %a : f32
    }
    // OPTION: neoflow.vjp @model({{.*}}) wrt [1] cotangents({{.*}}) : (tensor<64x4xf32>, tensor<4x10xf32>, tensor<64x10xf32>, tensor<f32>, tensor<640xf32>) -> (tensor<64x10xf32>, tensor<f32>, tensor<640xf32>, tensor<4x10xf32>)
    // OPTION: return %{{.*}} : tensor<4x10xf32>
    %r:4 = neoflow.vjp @model(%x, %w) wrt [1] cotangents(%dz, %one, %df)
        : (tensor<?x4xf32>, tensor<4x?xf32>, tensor<?x?xf32>, tensor<f32>, tensor<?xf32>)
        -> (tensor<?x?xf32>, tensor<f32>, tensor<?xf32>, tensor<4x?xf32>)
    return %r#3 : tensor<4x?xf32>
  }

  // A rule of differentiation takes the types of what it differentiates.
  // CHECK-LABEL: func.func private @norm_rule(
  // OPTION-SAME: tensor<64xf32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>) -> tensor<64xf32>
  func.func private @norm_rule(%x: tensor<?xf32>, %y: tensor<f32>, %dy: tensor<f32>) -> tensor<?xf32> {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %x, %c0 : tensor<?xf32>
    %dx = neoflow.compute (%i = %n) from (%x: tensor<?xf32>, %dy: tensor<f32>) -> tensor<?xf32> {
      %a = neoflow.read %x[%i] : tensor<?xf32>
      %b = neoflow.read %dy[] : tensor<f32>
      %c = arith.mulf %a, %b : f32
      neoflow.yield %c : f32
    }
    return %dx : tensor<?xf32>
  }
  // CHECK-LABEL: func.func @norm(
  func.func @norm(%x: tensor<?xf32> {neoflow.dims = ["batch"]}) -> tensor<f32> attributes {neoflow.gradient = @norm_rule} {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %x, %c0 : tensor<?xf32>
    %y = neoflow.compute () sum (%i = %n) from (%x: tensor<?xf32>) -> tensor<f32> {
      %a = neoflow.read %x[%i] : tensor<?xf32>
      neoflow.yield %a : f32
    }
    return %y : tensor<f32>
  }
  // A scatter has static extents; its inputs may be dynamic.
  // CHECK-LABEL: func.func @scatter(
  func.func @scatter(%x: tensor<?xf32> {neoflow.dims = ["batch"]}, %z: tensor<4xf32>) -> tensor<4xf32> {
    // OPTION: neoflow.scatter sum (%i = 2) from (%{{.*}}: tensor<64xf32>)
    %y = neoflow.scatter sum (%i = 2) from (%x: tensor<?xf32>) into (%z: tensor<4xf32>) {
      %a = neoflow.read %x[%i] else 0.0 : tensor<?xf32>
      neoflow.yield %a at [%i] : f32
    }
    return %y : tensor<4xf32>
  }
}
