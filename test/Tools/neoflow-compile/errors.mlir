// REQUIRES: neoflow-compile
// RUN: rm -rf %t && mkdir %t && split-file %s %t

// RUN: not neoflow-compile %t/good.mlir --target=host,pdp11 -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: unknown target 'pdp11'; known targets are host, {{.*}}x86-64-v3

// RUN: not neoflow-compile %t/good.mlir --compile-to=nowhere 2>&1 | FileCheck %s --check-prefix=PHASE
// PHASE: error: unknown phase 'nowhere'; phases are input, differentiate, simplify, partition, schedule, lower

// RUN: not neoflow-compile %t/good.mlir --function=g -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: error: there is no public function 'g'

// RUN: not neoflow-compile %t/good.mlir --specialize=n=0 -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not neoflow-compile %t/good.mlir --specialize=n=4 -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=DIM
// SIZE: error: expected '--specialize' to be like batch=64 with sizes of at least 1, but got 'n=0'
// DIM: error: no argument has a dimension called 'n'

// RUN: not neoflow-compile %t/good.mlir --partition=best -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=DECIDER
// DECIDER: error: unknown decider 'best'; known deciders are none, rules

// RUN: not neoflow-compile %t/missing.mlir -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: neoflow-compile: error: cannot open input file '{{.*}}missing.mlir': No such file or directory

// RUN: not neoflow-compile %t/good.mlir -o %t/no/such/folder/x.nfb 2>&1 | FileCheck %s --check-prefix=WRITE
// WRITE: neoflow-compile: error: cannot write '{{.*}}x.nfb': No such file or directory

// RUN: not neoflow-compile %t/empty.mlir -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: expected a public function to compile

// RUN: not neoflow-compile %t/syntax.mlir -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: syntax.mlir:2:3: error:

// RUN: not neoflow-compile %t/foreign.mlir -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: foreign.mlir:2:8: error: cannot be compiled: expected computes only, but got 'arith.addf'

// RUN: not neoflow-compile %t/scalar.mlir -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: scalar.mlir:1:1: error: cannot compile 'f': result 0 is a scalar 'f32'; make it a tensor of rank 0

// RUN: not neoflow-compile %t/dynamic.mlir -o %t/x.nfb 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// DYNAMIC: dynamic.mlir:{{.*}}: error:

// Mistakes in the command exit with 2, others with 1; nothing is left behind.
// RUN: sh -c 'neoflow-compile %t/good.mlir --no-such-flag; test $? -eq 2' 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: sh -c 'neoflow-compile %t/good.mlir --specialize=n; test $? -eq 2'
// RUN: sh -c 'neoflow-compile %t/empty.mlir -o %t/x.nfb; test $? -eq 1'
// RUN: ls %t | FileCheck %s --check-prefix=LEFT
// FLAG: Unknown command line argument '--no-such-flag'
// LEFT-NOT: nfb

//--- good.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- empty.mlir
module {}

//--- syntax.mlir
func.func @f() {
  retrun
}

//--- foreign.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- scalar.mlir
func.func @f(%x: f32) -> f32 {
  return %x : f32
}

//--- dynamic.mlir
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

