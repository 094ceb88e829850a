// RUN: neoflow-opt %s --pass-pipeline='builtin.module(neoflow.kernel(neoflow-select-schedule,neoflow-verify-schedule))' | FileCheck %s

// Eight lanes and sixteen registers: a register tile of 6 x 16.
#avx2 = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {cores = 1, l1_bytes = 32768, l2_bytes = 524288, vector_bytes = 32, vector_registers = 16}>
// Sixteen lanes and 32 registers: 14 x 32 or 12 x 32, whichever pads less.
#avx512 = #neoflow.target<"x86-64-v4", cpu = "x86-64-v4", features = "", {cores = 1, l1_bytes = 32768, l2_bytes = 524288, vector_bytes = 64, vector_registers = 32}>

// CHECK: neoflow.kernel @gemm
// CHECK-SAME: schedule = #neoflow.schedule<contraction, {k_tile = 256, lanes = 8, m_tile = {{[0-9]+}}, mr = 6, n_tile = {{[0-9]+}}, nr = 16}, order = "ascending">
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
