// RUN: neoflow-opt %s --pass-pipeline='builtin.module(neoflow.kernel(neoflow-select-schedule,neoflow-verify-schedule))' | FileCheck %s
// Parameters may be given; families that lack them do not mind.
// RUN: neoflow-opt %s --pass-pipeline='builtin.module(neoflow.kernel(neoflow-select-schedule{parameters=k_tile=64},neoflow-verify-schedule))' | FileCheck %s --check-prefix=FORCED
// RUN: not neoflow-opt %s --pass-pipeline='builtin.module(neoflow.kernel(neoflow-select-schedule{parameters=k_tile}))' 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: expected a schedule parameter as in 'k_tile=64', but got 'k_tile'

// Eight lanes and sixteen registers: a register tile of 6 x 16.
#avx2 = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {cores = 1, l1_bytes = 32768, l2_bytes = 524288, vector_bytes = 32, vector_registers = 16}>
// Sixteen lanes and 32 registers: 14 x 32 or 12 x 32, whichever pads less.
#avx512 = #neoflow.target<"x86-64-v4", cpu = "x86-64-v4", features = "", {cores = 1, l1_bytes = 32768, l2_bytes = 524288, vector_bytes = 64, vector_registers = 32}>

// CHECK: neoflow.kernel @gemm
// CHECK-SAME: schedule = #neoflow.schedule<contraction, {k_tile = 256, lanes = 8, m_tile = {{[0-9]+}}, mr = 6, n_tile = {{[0-9]+}}, nr = 16, vector_axis = 0}, order = "ascending">
neoflow.kernel @gemm(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {target = #avx2} {
  %c = neoflow.compute (%i, %j) sum (%k = 1024) from (%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %x = neoflow.read %a[%i, %k] : tensor<1024x1024xf32>
    %y = neoflow.read %b[%k, %j] : tensor<1024x1024xf32>
    %z = arith.mulf %x, %y : f32
    neoflow.yield %z : f32
  }
  neoflow.yield %c : tensor<1024x1024xf32>
}

// CHECK: neoflow.kernel @gemm512
// CHECK-SAME: mr = 12
// CHECK-SAME: nr = 32
neoflow.kernel @gemm512(%a: tensor<1152x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1152x1024xf32> attributes {target = #avx512} {
  %c = neoflow.compute (%i, %j) sum (%k = 1024) from (%a: tensor<1152x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1152x1024xf32> {
    %x = neoflow.read %a[%i, %k] : tensor<1152x1024xf32>
    %y = neoflow.read %b[%k, %j] : tensor<1024x1024xf32>
    %z = arith.mulf %x, %y : f32
    neoflow.yield %z : f32
  }
  neoflow.yield %c : tensor<1152x1024xf32>
}

// Contiguous along the reduction: lanes there, combined as a tree.
// CHECK: neoflow.kernel @rows
// CHECK-SAME: #neoflow.schedule<reduction, {{{.*}}lanes = 16, vector_axis = 1}, order = "lanes 16">
neoflow.kernel @rows(%x: tensor<64x100xf32>) -> tensor<64xf32> attributes {target = #avx2} {
  %y = neoflow.compute (%i) sum (%j = 100) from (%x: tensor<64x100xf32>) -> tensor<64xf32> {
    %v = neoflow.read %x[%i, %j] : tensor<64x100xf32>
    neoflow.yield %v : f32
  }
  neoflow.yield %y : tensor<64xf32>
}

// Contiguous along the result: an accumulator in every lane.
// CHECK: neoflow.kernel @columns
// CHECK-SAME: #neoflow.schedule<reduction, {{{.*}}lanes = 16, vector_axis = 0}, order = "ascending">
neoflow.kernel @columns(%x: tensor<100x64xf32>) -> tensor<64xf32> attributes {target = #avx2} {
  %y = neoflow.compute (%i) sum (%j = 100) from (%x: tensor<100x64xf32>) -> tensor<64xf32> {
    %v = neoflow.read %x[%j, %i] : tensor<100x64xf32>
    neoflow.yield %v : f32
  }
  neoflow.yield %y : tensor<64xf32>
}

// The weights of a 5 x 5 convolution of one channel: few results of long sums that
// lie along memory, so lanes along k.
// CHECK: neoflow.kernel @weights
// CHECK-SAME: #neoflow.schedule<contraction, {k_tile = 1024, lanes = 8, {{.*}}vector_axis = 1}, order = "lanes 8 tiles 1024">
// FORCED: neoflow.kernel @weights
// FORCED-SAME: #neoflow.schedule<contraction, {k_tile = 64, lanes = 8, {{.*}}vector_axis = 1}, order = "lanes 8 tiles 64">
neoflow.kernel @weights(%dy: tensor<64x6x28x28xf32>, %x: tensor<64x1x28x28xf32>) -> tensor<6x1x5x5xf32> attributes {target = #avx2} {
  %dw = neoflow.compute (%o, %c, %r, %s) sum (%n = 64, %p = 28, %q = 28) from (%dy: tensor<64x6x28x28xf32>, %x: tensor<64x1x28x28xf32>) -> tensor<6x1x5x5xf32> {
    %a = neoflow.read %dy[%n, %o, %p, %q] : tensor<64x6x28x28xf32>
    %b = neoflow.read %x[%n, %c, %p + %r - 2, %q + %s - 2] else 0.0 : tensor<64x1x28x28xf32>
    %v = arith.mulf %a, %b : f32
    neoflow.yield %v : f32
  }
  neoflow.yield %dw : tensor<6x1x5x5xf32>
}

// A schedule that is there already stays.
// CHECK: neoflow.kernel @kept
// CHECK-SAME: #neoflow.schedule<elementwise, {chunk = 3, lanes = 1}, order = "ascending">
neoflow.kernel @kept(%x: tensor<64xf32>) -> tensor<64xf32> attributes {target = #avx2, schedule = #neoflow.schedule<elementwise, {chunk = 3, lanes = 1}, order = "ascending">} {
  %y = neoflow.compute (%i) from (%x: tensor<64xf32>) -> tensor<64xf32> {
    %v = neoflow.read %x[%i] : tensor<64xf32>
    neoflow.yield %v : f32
  }
  neoflow.yield %y : tensor<64xf32>
}
