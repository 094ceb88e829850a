// Every phase is a pipeline of neoflow-opt.
//
// RUN: neoflow-opt %s --neoflow-phase-input=sizes=batch=3 --neoflow-phase-differentiate --neoflow-phase-simplify --neoflow-phase-partition=target=x86-64-v3 --neoflow-phase-schedule | FileCheck %s

// CHECK: neoflow.kernel @gradient_0
// CHECK-SAME: schedule = #neoflow.schedule<
// CHECK: func.func @gradient
// CHECK: neoflow.launch @gradient_0

func.func private @square(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %y = neoflow.compute (%i = %n) from (%x: tensor<?xf32>) -> tensor<?xf32> {
    %a = neoflow.read %x[%i] : tensor<?xf32>
    %b = arith.mulf %a, %a : f32
    neoflow.yield %b : f32
  }
  return %y : tensor<?xf32>
}
func.func @gradient(%x: tensor<?xf32> {neoflow.dims = ["batch"]}, %dy: tensor<?xf32> {neoflow.dims = ["batch"]}) -> tensor<?xf32> {
  %y, %dx = neoflow.vjp @square(%x) wrt [0] cotangents(%dy) : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  return %dx : tensor<?xf32>
}
