// RUN: neoflow-opt %s -split-input-file -verify-diagnostics -neoflow-partition

func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot be compiled: expected computes only, but got 'arith.addf'}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @vjp(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+2 {{cannot be compiled: expected computes only, but got 'neoflow.vjp'}}
  // expected-note @+1 {{run neoflow-differentiate first}}
  %0:2 = neoflow.vjp @g(%x) wrt [0] cotangents(%x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#1 : tensor<4xf32>
}

// -----

// expected-error @+1 {{cannot compile 'scalar': result 0 is a scalar 'f32'; make it a tensor of rank 0}}
func.func @scalar(%x: f32) -> f32 {
  return %x : f32
}

// -----

// expected-error @+1 {{expected a function of one block}}
func.func @blocks(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<4xf32>
^b:
  return %x : tensor<4xf32>
}

// -----

func.func @dynamic(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  // expected-error @+1 {{expected static extents; run neoflow-specialize first}}
  %0 = neoflow.compute (%i = %n) from (%x: tensor<?xf32>) -> tensor<?xf32> {
    %a = neoflow.read %x[%i] else 0.0 : tensor<?xf32>
    neoflow.yield %a : f32
  }
  return %0 : tensor<?xf32>
}

// -----

// expected-error @+1 {{expected the target 'host', but got 'toaster'}}
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {target = #neoflow.target<"toaster", cpu = "x", features = "", {}>} {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  neoflow.yield %y : tensor<4xf32>
}
