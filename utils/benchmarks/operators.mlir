// Operators whose default schedules are measured in docs/Performance.md.
//
//   neoflow-compile utils/benchmarks/operators.mlir -o operators.nfb
//   neoflow-run bench operators.nfb --threads 1

func.func @gemm_1024(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %y = neoflow.compute (%i, %j) sum (%k = 1024)
      from (%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %a = neoflow.read %x[%i, %k] : tensor<1024x1024xf32>
    %b = neoflow.read %w[%k, %j] : tensor<1024x1024xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<1024x1024xf32>
}

func.func @gemm_32x2048x512(%x: tensor<32x512xf32>, %w: tensor<512x2048xf32>) -> tensor<32x2048xf32> {
  %y = neoflow.compute (%i, %j) sum (%k = 512)
      from (%x: tensor<32x512xf32>, %w: tensor<512x2048xf32>) -> tensor<32x2048xf32> {
    %a = neoflow.read %x[%i, %k] : tensor<32x512xf32>
    %b = neoflow.read %w[%k, %j] : tensor<512x2048xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<32x2048xf32>
}

// 3 x 3, 64 to 64 channels at 56 x 56, batch 8, NCHW, padding 1.
func.func @conv3x3(%x: tensor<8x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<8x64x56x56xf32> {
  %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 64, %r = 3, %s = 3)
      from (%x: tensor<8x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<8x64x56x56xf32> {
    %a = neoflow.read %x[%n, %c, %p + %r - 1, %q + %s - 1] else 0.0 : tensor<8x64x56x56xf32>
    %b = neoflow.read %w[%k, %c, %r, %s] : tensor<64x64x3x3xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<8x64x56x56xf32>
}

// The input and weight gradients of the convolution.
func.func @conv3x3_gradient(%x: tensor<8x64x56x56xf32>, %w: tensor<64x64x3x3xf32>, %dy: tensor<8x64x56x56xf32>)
    -> (tensor<8x64x56x56xf32>, tensor<64x64x3x3xf32>) {
  %y, %dx, %dw = neoflow.vjp @conv3x3(%x, %w) wrt [0, 1] cotangents(%dy)
      : (tensor<8x64x56x56xf32>, tensor<64x64x3x3xf32>, tensor<8x64x56x56xf32>)
        -> (tensor<8x64x56x56xf32>, tensor<8x64x56x56xf32>, tensor<64x64x3x3xf32>)
  return %dx, %dw : tensor<8x64x56x56xf32>, tensor<64x64x3x3xf32>
}

// The 9 x 9 convolution of stride 2 of the capsule network of the literature.
func.func @conv9x9_stride2(%x: tensor<16x256x20x20xf32>, %w: tensor<256x256x9x9xf32>) -> tensor<16x256x6x6xf32> {
  %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 256, %r = 9, %s = 9)
      from (%x: tensor<16x256x20x20xf32>, %w: tensor<256x256x9x9xf32>) -> tensor<16x256x6x6xf32> {
    %a = neoflow.read %x[%n, %c, %p * 2 + %r, %q * 2 + %s] : tensor<16x256x20x20xf32>
    %b = neoflow.read %w[%k, %c, %r, %s] : tensor<256x256x9x9xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<16x256x6x6xf32>
}

// Matrix capsules: 16 to 16 capsules with 4 x 4 poses, 3 x 3 window, batch 8.
func.func @matrix_capsule(%x: tensor<8x14x14x16x4x4xf32>, %w: tensor<3x3x16x16x4x4xf32>) -> tensor<8x12x12x16x4x4xf32> {
  %y = neoflow.compute (%n, %p, %q, %o, %i, %j) sum (%r = 3, %s = 3, %c = 16, %k = 4)
      from (%x: tensor<8x14x14x16x4x4xf32>, %w: tensor<3x3x16x16x4x4xf32>) -> tensor<8x12x12x16x4x4xf32> {
    %a = neoflow.read %x[%n, %p + %r, %q + %s, %c, %i, %k] : tensor<8x14x14x16x4x4xf32>
    %b = neoflow.read %w[%r, %s, %c, %o, %k, %j] : tensor<3x3x16x16x4x4xf32>
    %m = arith.mulf %a, %b : f32
    neoflow.yield %m : f32
  }
  return %y : tensor<8x12x12x16x4x4xf32>
}

func.func @gelu(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %y = neoflow.compute (%i, %j) from (%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
    %a = neoflow.read %x[%i, %j] : tensor<4096x1024xf32>
    %s = arith.constant 0.70710678 : f32
    %h = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %t = arith.mulf %a, %s : f32
    %e = math.erf %t : f32
    %f = arith.addf %e, %one : f32
    %g = arith.mulf %a, %f : f32
    %v = arith.mulf %g, %h : f32
    neoflow.yield %v : f32
  }
  return %y : tensor<4096x1024xf32>
}
