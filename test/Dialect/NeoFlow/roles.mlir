// RUN: split-file %s %t
// RUN: neoflow-opt %t/valid.mlir -verify-roundtrip | FileCheck %t/valid.mlir
// RUN: neoflow-opt %t/invalid.mlir -split-input-file -verify-diagnostics

//--- valid.mlir

// CHECK: module attributes {neoflow.default_dims = {batch = 64 : i64}}
module attributes {neoflow.default_dims = {batch = 64}} {
  // CHECK: func.func @loss
  // CHECK-SAME: {neoflow.param = "w"}
  // CHECK-SAME: {neoflow.state = "mean"}
  // CHECK-SAME: {neoflow.dims = ["batch", ""], neoflow.input = "x"}
  // CHECK-SAME: {neoflow.label = "y", neoflow.no_gradient}
  // CHECK-SAME: i64 {neoflow.seed}
  // CHECK-SAME: i64 {neoflow.step}
  // CHECK-SAME: f32 {neoflow.learning_rate}
  // CHECK-SAME: {neoflow.loss}
  // CHECK-SAME: {neoflow.metric = "accuracy"}
  // CHECK-SAME: {neoflow.new_state = 1 : i64}
  // CHECK-SAME: neoflow.gradient = @rule
  func.func @loss(%w: tensor<4xf32> {neoflow.param = "w"}, %m: tensor<4xf32> {neoflow.state = "mean"},
                  %x: tensor<?x4xf32> {neoflow.input = "x", neoflow.dims = ["batch", ""]},
                  %y: tensor<4xi64> {neoflow.label = "y", neoflow.no_gradient},
                  %s: i64 {neoflow.seed}, %t: i64 {neoflow.step}, %l: f32 {neoflow.learning_rate})
      -> (tensor<f32> {neoflow.loss}, tensor<f32> {neoflow.metric = "accuracy"}, tensor<4xf32> {neoflow.new_state = 1})
      attributes {neoflow.gradient = @rule} {
    %0 = arith.constant dense<0.0> : tensor<f32>
    return %0, %0, %m : tensor<f32>, tensor<f32>, tensor<4xf32>
  }
  // CHECK: func.func @init{{.*}} -> (tensor<4xf32> {neoflow.param = "w"}, tensor<4xf32> {neoflow.state = "mean"})
  func.func @init(%s: i64 {neoflow.seed}) -> (tensor<4xf32> {neoflow.param = "w"}, tensor<4xf32> {neoflow.state = "mean"}) {
    %0 = arith.constant dense<0.0> : tensor<4xf32>
    return %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @rule()
}

//--- invalid.mlir

// role_c1
// expected-error @+1 {{expected 'neoflow.param' to hold a name, as in 'neoflow.param = "x"', but got unit}}
func.func private @name(tensor<4xf32> {neoflow.param})

// -----

// role_c1
// expected-error @+1 {{expected 'neoflow.label' to hold a name, as in 'neoflow.label = "x"', but got ""}}
func.func private @empty_name(tensor<4xf32> {neoflow.label = ""})

// -----

// role_c1
// expected-error @+1 {{expected 'neoflow.state' to hold a name, as in 'neoflow.state = "x"', but got 1 : i64}}
func.func private @result_name() -> (tensor<4xf32> {neoflow.state = 1})

// -----

// role_c2
// expected-error @+1 {{expected argument 0 with 'neoflow.input' to be a tensor, but got 'f32'}}
func.func private @scalar_input(f32 {neoflow.input = "x"})

// -----

// role_c3
// expected-error @+1 {{expected argument 0 with 'neoflow.seed' to be an i64, but got 'i32'}}
func.func private @seed(i32 {neoflow.seed})

// -----

// role_c3
// expected-error @+1 {{expected argument 1 with 'neoflow.step' to be an i64, but got 'tensor<i64>'}}
func.func private @step(i64 {neoflow.seed}, tensor<i64> {neoflow.step})

// -----

// role_c4
// expected-error @+1 {{expected argument 0 with 'neoflow.learning_rate' to be a floating-point scalar, but got 'tensor<f32>'}}
func.func private @rate(tensor<f32> {neoflow.learning_rate})

// -----

// role_c5
// expected-error @+1 {{expected 'neoflow.dims' of argument 0 to list one name for each dimension of a tensor}}
func.func private @dims_rank(tensor<?x4xf32> {neoflow.dims = ["batch"]})

// -----

// role_c5
// expected-error @+1 {{expected 'neoflow.dims' of argument 0 to list one name for each dimension of a tensor}}
func.func private @dims_scalar(f32 {neoflow.dims = []})

// -----

// role_c5
// expected-error @+1 {{expected 'neoflow.dims' of argument 0 to name its dynamic dimension 0}}
func.func private @dims_unnamed(tensor<?x4xf32> {neoflow.dims = ["", "features"]})

// -----

// role_c5
// expected-error @+1 {{expected 'neoflow.dims' of argument 0 to give dimension 1 a string}}
func.func private @dims_kind(tensor<?x4xf32> {neoflow.dims = ["batch", 4]})

// -----

// role_c6
// expected-error @+1 {{expected result 0 with 'neoflow.loss' to be a floating-point tensor of rank 0, but got 'tensor<1xf32>'}}
func.func private @loss() -> (tensor<1xf32> {neoflow.loss})

// -----

// role_c6
// expected-error @+1 {{expected result 0 with 'neoflow.metric' to be a floating-point tensor of rank 0, but got 'tensor<i64>'}}
func.func private @metric() -> (tensor<i64> {neoflow.metric = "hits"})

// -----

// role_c1
// expected-error @+1 {{expected 'neoflow.metric' to hold a name, as in 'neoflow.metric = "x"', but got unit}}
func.func private @metric_name() -> (tensor<f32> {neoflow.metric})

// -----

// role_c7
// expected-error @+1 {{expected 'neoflow.new_state' of result 0 to name an argument of its type, 'tensor<4xf32>'}}
func.func private @new_state(tensor<5xf32>) -> (tensor<4xf32> {neoflow.new_state = 0})

// -----

// role_c7
// expected-error @+1 {{expected 'neoflow.new_state' of result 0 to name an argument of its type, 'tensor<4xf32>'}}
func.func private @new_state_range(tensor<4xf32>) -> (tensor<4xf32> {neoflow.new_state = 1})

// -----

// role_c8
// expected-error @+1 {{expected 'neoflow.default_dims' on a module, giving sizes to dimensions, as in 'neoflow.default_dims = {batch = 64}'}}
module attributes {neoflow.default_dims = {batch = -1}} {}

// -----

// role_c8
// expected-error @+1 {{expected 'neoflow.default_dims' on a module}}
func.func private @default_dims() attributes {neoflow.default_dims = {batch = 64}}

// -----

// role_c9
// expected-error @+1 {{expected 'neoflow.gradient' to name a function, on a function}}
func.func private @gradient() attributes {neoflow.gradient = "rule"}

// -----

// role_c10
// expected-error @+1 {{unknown attribute 'neoflow.parameter' on an argument}}
func.func private @unknown_argument(tensor<4xf32> {neoflow.parameter = "w"})

// -----

// role_c10
// expected-error @+1 {{unknown attribute 'neoflow.input' on a result}}
func.func private @unknown_result() -> (tensor<4xf32> {neoflow.input = "x"})

// -----

// role_c11
// expected-error @+1 {{expected 'neoflow.optimizer' on a module, as in 'neoflow.optimizer = "adam"'}}
module attributes {neoflow.optimizer = 3} {}

// -----

// role_c11
// expected-error @+1 {{expected 'neoflow.learning_rate' on a module, as in 'neoflow.learning_rate = 0.001'}}
module attributes {neoflow.learning_rate = 1} {}

// -----

module attributes {neoflow.optimizer = "adam", neoflow.learning_rate = 0.001} {}

// -----

// role_c12
// expected-error @+1 {{expected 'neoflow.materialize' without a value, on a neoflow.compute}}
func.func private @materialized() attributes {neoflow.materialize}

// -----

// role_c13
// expected-error @+1 {{expected arguments to have names of their own, but 0 and 2 are both called "w"; a tensor that is used twice is one argument}}
func.func private @tied(tensor<4xf32> {neoflow.param = "w"}, tensor<4xf32> {neoflow.param = "v"}, tensor<4xf32> {neoflow.state = "w"})
