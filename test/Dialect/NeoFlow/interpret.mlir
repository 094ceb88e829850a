// The interpreter as a program: files in, files out, random inputs.
//
// REQUIRES: numpy
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; np.save('%t/x.npy', np.arange(6, dtype=np.float32).reshape(2, 3)); np.save('%t/k.npy', np.array([2, 0], dtype=np.int64))"
// RUN: neoflow-interpret %s --function main --input %t/x.npy --input %t/k.npy | FileCheck %s
// RUN: neoflow-interpret %s --function main --input %t/x.npy --input %t/k.npy --output-dir %t/out
// RUN: %python -c "import numpy as np; a = np.load('%t/out/result0.npy'); b = np.load('%t/out/result1.npy'); c = np.load('%t/out/result2.npy'); print(a.dtype, a.tolist(), b.dtype, b.tolist(), c.dtype, c.tolist())" | FileCheck %s --check-prefix=FILES
// CHECK: result 0: 2 3
// CHECK-NEXT: result 1: 1 0
// CHECK-NEXT: result 2: 11
// FILES: float32 [2.0, 3.0] bool [True, False] float32 11.0

// Equal seeds give equal files; --integers gives small integers.
// RUN: neoflow-interpret %s --function main --random-inputs 1 --integers --output-dir %t/a
// RUN: neoflow-interpret %s --function main --input %t/a/input0.npy --input %t/a/input1.npy --output-dir %t/b
// RUN: neoflow-interpret %s --function main --random-inputs 1 --output-dir %t/c
// RUN: cmp %t/a/result0.npy %t/b/result0.npy
// RUN: %compare_npy %t/a/result2.npy %t/b/result2.npy | FileCheck %s --check-prefix=EQUAL
// RUN: not %compare_npy %t/a/input0.npy %t/c/input0.npy --rtol 1e-6 | FileCheck %s --check-prefix=UNEQUAL
// RUN: not %compare_npy %t/a/input0.npy %t/a/input1.npy | FileCheck %s --check-prefix=SHAPES
// RUN: %python -c "import numpy as np; a = np.load('%t/a/input0.npy'); assert (a == np.round(a)).all() and np.abs(a).max() <= 4 and (a != 0).any(), a"
// EQUAL: ok: {{.*}}: largest error 0 at ()
// UNEQUAL: FAILED: {{.*}}: largest error {{.*}} of 6 elements are off
// SHAPES: FAILED: {{.*}}: shapes differ: (2, 3) and (2,)

// NaN agrees with NaN only, an infinity with itself only.
// RUN: %python -c "import numpy as np; np.save('%t/n.npy', np.array([1, np.nan])); np.save('%t/m.npy', np.array([1, 1.])); np.save('%t/i.npy', np.array([1, np.inf]))"
// RUN: %compare_npy %t/n.npy %t/n.npy
// RUN: %compare_npy %t/i.npy %t/i.npy
// RUN: not %compare_npy %t/n.npy %t/m.npy --rtol 1 --atol 1e300 | FileCheck %s --check-prefix=NAN
// RUN: not %compare_npy %t/m.npy %t/i.npy --rtol 1 --atol 1e300
// RUN: not %compare_npy %t/i.npy %t/m.npy --rtol 1 --atol 1e300
// NAN: FAILED: {{.*}}: one is NaN at (1,): nan and 1.0

// What goes wrong is said.
// RUN: not neoflow-interpret %s --function none 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not neoflow-interpret %s --function main 2>&1 | FileCheck %s --check-prefix=INPUTS
// RUN: not neoflow-interpret %s --function main --input %t/x.npy 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not neoflow-interpret %s --function main --input %t/k.npy --input %t/k.npy 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not neoflow-interpret %s --function main --input %t/x.npy --input %t/none.npy 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not neoflow-interpret %s --function other --random-inputs 0 2>&1 | FileCheck %s --check-prefix=OTHER
// NONE: neoflow-interpret: there is no function 'none'
// INPUTS: neoflow-interpret: expected either --input or --random-inputs
// COUNT: neoflow-interpret: expected 2 inputs, but got 1
// TYPE: k.npy: expected elements of type <f4, but got <i8
// FILE: none.npy: cannot be read
// OTHER: interpret.mlir:[[# @LINE + 22]]:8: error: the interpreter does not support 'tensor.empty' here

func.func @main(%x: tensor<2x3xf32>, %k: tensor<2xi64>) -> (tensor<2xf32>, tensor<2xi1>, tensor<f16>) {
  %y = neoflow.compute (%i) from (%x: tensor<2x3xf32>, %k: tensor<2xi64>) -> tensor<2xf32> {
    %n = neoflow.read %k[%i] : tensor<2xi64>
    %c = arith.index_cast %n : i64 to index
    %a = neoflow.read %x[%i, %c] else -1.0 : tensor<2x3xf32>
    neoflow.yield %a : f32
  }
  %z = neoflow.compute (%i) or (%j = 2) from (%k: tensor<2xi64>) where (%j == %i) -> tensor<2xi1> {
    %n = neoflow.read %k[%j] : tensor<2xi64>
    %two = arith.constant 2 : i64
    %e = arith.cmpi eq, %n, %two : i64
    neoflow.yield %e : i1
  }
  %s = neoflow.compute () sum (%i = 2, %j = 3) from (%x: tensor<2x3xf32>) where (%i + %j >= 2) -> tensor<f16> {
    %a = neoflow.read %x[%i, %j] : tensor<2x3xf32>
    neoflow.yield %a : f32
  }
  return %y, %z, %s : tensor<2xf32>, tensor<2xi1>, tensor<f16>
}
func.func @other(%x: tensor<2xf32>) {
  %y = tensor.empty() : tensor<2xf32>
  return
}
