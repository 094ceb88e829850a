func.func @strided(%x: tensor<6xf32>, %w: tensor<3xf32>) -> tensor<2xf32> {
  %y = neoflow.compute (%o) sum (%k = 3) from (%x: tensor<6xf32>, %w: tensor<3xf32>) -> tensor<2xf32> {
    %a = neoflow.read %x[%o * 2 + %k] : tensor<6xf32>
    %b = neoflow.read %w[%k] : tensor<3xf32>
    %c = arith.mulf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %y : tensor<2xf32>
}
