func.func @pool(%x: tensor<8x8xf16>, %g: tensor<8x8xf16>) -> tensor<4x4xf16> {
  %y = neoflow.compute (%p, %q) max (%r = 2, %s = 2) from (%x: tensor<8x8xf16>, %g: tensor<8x8xf16>) -> tensor<4x4xf16> {
    %a = neoflow.read %x[%p * 2 + %r, %q * 2 + %s] : tensor<8x8xf16>
    %b = neoflow.read %g[%p * 2 + %r, %q * 2 + %s] : tensor<8x8xf16>
    %c = arith.mulf %a, %b : f32
    neoflow.yield %c : f32
  }
  return %y : tensor<4x4xf16>
}
