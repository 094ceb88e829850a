// REQUIRES: neoflow-compile
// RUN: rm -rf %t && mkdir %t

// Every phase prints a module that is valid input again.
// RUN: neoflow-compile %s --compile-to=input | FileCheck %s --check-prefix=INPUT
// RUN: neoflow-compile %s --compile-to=partition -o %t/partition.mlir
// RUN: FileCheck %s --check-prefix=PARTITION --input-file %t/partition.mlir
// RUN: neoflow-compile %t/partition.mlir --compile-to=schedule -o %t/schedule.mlir
// RUN: FileCheck %s --check-prefix=SCHEDULE --input-file %t/schedule.mlir
// RUN: neoflow-compile %t/schedule.mlir --compile-to=lower | FileCheck %s --check-prefix=LOWER
// RUN: neoflow-compile %t/schedule.mlir -o %t/schedule.nfb
// RUN: neoflow-compile %s -o %t/a.nfb
// RUN: unzip -p %t/a.nfb targets/host/kernels.so > %t/a.so
// RUN: unzip -p %t/schedule.nfb targets/host/kernels.so | cmp - %t/a.so
// INPUT: func.func @f(%{{.*}}: tensor<8x3xf32>
// PARTITION: neoflow.kernel @y_0({{.*}}) -> tensor<8x3xf32> attributes {key = "{{[0-9a-f]+}}", target = #neoflow.target<"host"
// PARTITION: neoflow.launch @y_0(
// SCHEDULE: neoflow.kernel @y_0({{.*}}schedule = #neoflow.schedule<elementwise
// LOWER: llvm.func @y_0({{.*}}neoflow.phases

// The same bytes every time, whatever the number of threads.
// RUN: neoflow-compile %s --jobs=1 -o %t/b.nfb
// RUN: cmp %t/a.nfb %t/b.nfb

// RUN: neoflow-compile %s --emit=mlir | FileCheck %s --check-prefix=SCHEDULE
// RUN: neoflow-compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: neoflow-compile %s --emit=obj -o %t/f.so
// RUN: cmp %t/f.so %t/a.so
// LLVM: define void @y_0(ptr {{.*}}, i64 %{{[0-9]+}}, i64 %{{[0-9]+}}, ptr

// RUN: neoflow-compile %s --explain | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: y_0: #neoflow.schedule<elementwise
// EXPLAIN-NEXT: 24 flop, 192 bytes, from options.mlir:[[#]]:10

// The bundle records options with their values, however they were written.
// RUN: neoflow-compile %s --specialize n=8 --schedule k_tile=3 -o %t/flags.nfb
// RUN: neoflow-bundle inspect %t/flags.nfb | FileCheck %s --check-prefix=FLAGS
// FLAGS: --specialize=n=8 --schedule=k_tile=3

// Several sizes of a dimension, and the last batch of 20 samples.
// RUN: neoflow-compile %s --specialize=n=8,6 --samples=20 -o %t/sizes.nfb
// RUN: unzip -p %t/sizes.nfb manifest.json | FileCheck %s --check-prefix=SIZES
// SIZES: "shape": [
// SIZES-NEXT: "n",
// SIZES: "function": "f",
// SIZES-NEXT: "dims": {
// SIZES-NEXT: "n": 8
// SIZES: "n": 6
// SIZES: "n": 4
// SIZES: "n": 2

// Several targets.
// RUN: neoflow-compile %s --target=host,x86-64-v3 -o %t/targets.nfb
// RUN: unzip -l %t/targets.nfb | FileCheck %s --check-prefix=TARGETS
// TARGETS: manifest.json
// TARGETS: module.mlir
// TARGETS: targets/host/kernels.so
// TARGETS: targets/host/kernels.mlir
// TARGETS: targets/x86-64-v3/kernels.so

// RUN: neoflow-compile %s --time-passes -o %t/time.nfb 2>&1 | FileCheck %s --check-prefix=TIME
// TIME: Execution time report
// TIME: SpecializePass
// TIME: LLVM code generation
// TIME: peak memory: {{[0-9]+}} MiB

// RUN: neoflow-compile --version | FileCheck %s --check-prefix=VERSION
// RUN: neoflow-compile --help | FileCheck %s --check-prefix=HELP
// VERSION: neoflow-compile 0.1.0 (build {{[0-9a-f]+}})
// HELP: OVERVIEW: Compiles a NeoFlow module to a bundle
// HELP: --target=<name[,name]>

module attributes {neoflow.default_dims = {n = 8}} {
  func.func @f(%x: tensor<?x3xf32> {neoflow.input = "x", neoflow.dims = ["n", ""]}) -> tensor<?x3xf32> {
    %zero = arith.constant 0 : index
    %n = tensor.dim %x, %zero : tensor<?x3xf32>
    %y = neoflow.compute (%i = %n, %j) from (%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
      %a = neoflow.read %x[%i, %j] : tensor<?x3xf32>
      %b = arith.addf %a, %a : f32
      neoflow.yield %b : f32
    }
    return %y : tensor<?x3xf32>
  }
}
