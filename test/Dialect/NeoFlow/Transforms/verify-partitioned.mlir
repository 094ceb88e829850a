// RUN: neoflow-opt %s -split-input-file -verify-diagnostics -neoflow-verify-partitioned

neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {key = "1", target = #neoflow.target<"host", cpu = "x", features = "", {}>} {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  neoflow.yield %y : tensor<4xf32>
}
func.func private @external(tensor<4xf32>)
func.func @good() -> tensor<4xf32> {
  %x = arith.constant dense<1.0> : tensor<4xf32>
  %y = neoflow.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{'neoflow.kernel' op expected a key and a target; run neoflow-partition first}}
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  neoflow.yield %y : tensor<4xf32>
}

// -----

func.func @compute(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected launches only, but got 'neoflow.compute'; run neoflow-partition first}}
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return %y : tensor<4xf32>
}
