// RUN: neoflow-opt %s -split-input-file -verify-diagnostics -neoflow-unroll-scans | FileCheck %s

// CHECK-LABEL: func.func @reversed
// CHECK-SAME: %[[H:.*]]: tensor<f32>, %[[XS:.*]]: tensor<6x4xf32>, %[[W:.*]]: tensor<f32>
// The last two rows come first.
// CHECK: neoflow.compute (%[[R:.*]], %[[C:.*]]) from (%[[XS]]: tensor<6x4xf32>) -> tensor<2x4xf32>
// CHECK: neoflow.read %{{.*}}[%[[R]] + 4, %[[C]]]
// CHECK: %[[A:.*]]:2 = call @cell(%[[H]], %{{.*}}, %[[W]])
// CHECK: neoflow.read %{{.*}}[%{{.*}} + 2, %{{.*}}]
// CHECK: %[[B:.*]]:2 = call @cell(%[[A]]#0, %{{.*}}, %[[W]])
// CHECK: %[[C:.*]]:2 = call @cell(%[[B]]#0, %{{.*}}, %[[W]])
// CHECK-NOT: neoflow.scan
// CHECK: return %[[C]]#0, %{{.*}} : tensor<f32>, tensor<3xf32>
func.func @reversed(%h: tensor<f32>, %xs: tensor<6x4xf32>, %w: tensor<f32>) -> (tensor<f32>, tensor<3xf32>) {
  %r:2 = neoflow.scan @cell steps 3 reverse carry(%h) stacked(%xs) invariant(%w)
      : (tensor<f32>, tensor<6x4xf32>, tensor<f32>) -> (tensor<f32>, tensor<3xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<3xf32>
}
func.func private @cell(tensor<f32>, tensor<2x4xf32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)

// -----

func.func private @same(tensor<f32>) -> tensor<f32>
func.func @dynamic(%xs: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'neoflow.scan' op expected static shapes to unroll; run neoflow-specialize first}}
  %a = neoflow.scan @same stacked(%xs) : (tensor<?xf32>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}
