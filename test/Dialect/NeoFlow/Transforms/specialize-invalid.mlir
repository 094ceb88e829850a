// RUN: neoflow-opt %s -split-input-file -verify-diagnostics -neoflow-specialize=sizes=batch=4

func.func @size_missing(%b: tensor<?xf32> {neoflow.dims = ["batch"]},
    // expected-error @+1 {{dimension 'length' (dimension 1 of argument 1 of 'size_missing') has no size; give one with 'sizes=length=N' or in the module's 'neoflow.default_dims'}}
    %x: tensor<4x?xf32> {neoflow.dims = ["", "length"]}) {
  return
}

// -----

// expected-error @+1 {{no argument has a dimension called 'batch'; the named dimensions are n, length}}
module {
  func.func @unknown_dimension(%x: tensor<?x?xf32> {neoflow.dims = ["n", "length"]}) {
    return
  }
}

// -----

// expected-error @+1 {{no argument has a dimension called 'batch'}}
module {
  func.func @no_dimensions(%x: tensor<4xf32>) {
    return
  }
}

// -----

// expected-error @+1 {{dimension 'batch' is 8 already, but 'sizes' says 4}}
func.func @fixed_already(%x: tensor<8xf32> {neoflow.dims = ["batch"]}) {
  return
}

// -----

// expected-note @+1 {{the extent is computed here}}
func.func @stays_dynamic(%x: tensor<?xf32> {neoflow.dims = ["batch"]}, %n: index) {
  // expected-error @+1 {{'neoflow.compute' op the extent of index 'j' stays dynamic: it does not follow from the shapes of the function's arguments}}
  %y = neoflow.compute (%i) sum (%j = %n) from (%x: tensor<?xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%j] : tensor<?xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func private @unknown() -> tensor<?xf32>
func.func @result_dynamic(%x: tensor<?xf32> {neoflow.dims = ["batch"]}) {
  // expected-error @+1 {{'func.call' op the shape of the result stays dynamic: 'tensor<?xf32>'}}
  %y = func.call @unknown() : () -> tensor<?xf32>
  return
}

// -----

// expected-note @+1 {{the function is defined here}}
func.func private @callee(%x: tensor<?xf32>) {
  return
}
func.func @two_calls(%x: tensor<?xf32> {neoflow.dims = ["batch"]}, %y: tensor<5xf32>) {
  %z = tensor.cast %y : tensor<5xf32> to tensor<?xf32>
  func.call @callee(%x) : (tensor<?xf32>) -> ()
  // expected-error @+1 {{argument 0 of 'callee' is 'tensor<5xf32>' here, but 'tensor<4xf32>' by its own dimensions or by another call}}
  func.call @callee(%z) : (tensor<?xf32>) -> ()
  return
}

// -----

func.func @negative(%x: tensor<?xf32> {neoflow.dims = ["batch"]}) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.subi %n, %c9 : index
  // expected-error @+1 {{'neoflow.compute' op the extent of index 'i' is -5, which is negative}}
  %y = neoflow.compute (%i = %m) -> tensor<?xf32> {
    %a = arith.constant 0.0 : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @init(%x: tensor<?xf32> {neoflow.dims = ["batch"]}, %s: tensor<?xf32> {neoflow.dims = ["batch"]}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.addi %n, %n : index
  // expected-error @+1 {{'neoflow.compute' op expected an 'init' tensor of the shape of 'tensor<8xf32>', but got 'tensor<4xf32>'}}
  %y = neoflow.compute (%i = %m) sum () init (%s : tensor<?xf32>) -> tensor<?xf32> {
    %a = arith.constant 0.0 : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// Bounds are decided once the extents are known.
func.func @bounds(%x: tensor<?xf32> {neoflow.dims = ["batch"]}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %y = neoflow.compute (%i = %n) from (%x: tensor<?xf32>) -> tensor<?xf32> {
    // expected-error @+2 {{'neoflow.read' op subscript 0 is out of bounds: it takes values from 1 to 4, but dimension 0 of 'tensor<4xf32>' has extent 4}}
    // expected-note @+1 {{write 'else VALUE'}}
    %a = neoflow.read %x[%i + 1] : tensor<?xf32>
    neoflow.yield %a : f32
  }
  return
}
