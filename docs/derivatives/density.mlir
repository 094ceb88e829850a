func.func @density(%x: tensor<1000xf32>, %z: tensor<2000xf32>) -> tensor<1000xf32> {
  %y = neoflow.compute (%i) sum (%j = 2000) from (%x: tensor<1000xf32>, %z: tensor<2000xf32>) -> tensor<1000xf32> {
    %a = neoflow.read %x[%i] : tensor<1000xf32>
    %b = neoflow.read %z[%j] : tensor<2000xf32>
    %half = arith.constant -0.5 : f32
    %d = arith.subf %a, %b : f32
    %d2 = arith.mulf %d, %d : f32
    %e = arith.mulf %d2, %half : f32
    %k = math.exp %e : f32
    neoflow.yield %k : f32
  }
  return %y : tensor<1000xf32>
}
