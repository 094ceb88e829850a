// The text keeps names, is the same every time, and is a module again.
// RUN: neoflow-compile %s --emit=derivative -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: neoflow-compile %s --emit=derivative | diff - %t.mlir
// RUN: neoflow-opt %t.mlir -o /dev/null
// RUN: neoflow-compile %t.mlir --emit=derivative --function=gather | FileCheck %s --check-prefix=GATHER

// RUN: neoflow-compile %s --emit=derivative --function=gather --wrt=table | FileCheck %s --check-prefix=GATHER
// RUN: not neoflow-compile %s --emit=derivative --function=gather --wrt=scale 2>&1 | FileCheck %s --check-prefix=NONAME
// RUN: not neoflow-compile %s --emit=derivative --function=lookup 2>&1 | FileCheck %s --check-prefix=NOFUNCTION
// RUN: not neoflow-compile %s --emit=derivative --function=count 2>&1 | FileCheck %s --check-prefix=NOTHING

// NONAME: error: no function has an argument 'scale' of floating-point elements
// NOFUNCTION: error: there is no function 'lookup'
// NOTHING: derivative.mlir:[[#@LINE+1]]:1: error: 'count' has no argument to differentiate with respect to
func.func private @count(%n: tensor<4xi64>) -> tensor<4xi64> {
  return %n : tensor<4xi64>
}

// GATHER: func.func @gather_derivative{{(_0)?}}(%table: tensor<5x2xf32>, %rows: tensor<4xi64>, %dy: tensor<4x2xf32>)
// GATHER: // y[n, d] = table[rows[n], d]
// GATHER: // dtable_0 = dtable; for (n < 4, d < 2) dtable_0[rows[n], d] = sum with dy[n, d]
// GATHER: %dtable_0 = neoflow.scatter sum (%n = 4, %d = 2)
// CHECK-LABEL: func.func @gather(
func.func @gather(%table: tensor<5x2xf32>, %rows: tensor<4xi64>) -> tensor<4x2xf32> {
  %y = neoflow.compute (%n, %d) from (%table: tensor<5x2xf32>, %rows: tensor<4xi64>) -> tensor<4x2xf32> {
    %i = neoflow.read %rows[%n] : tensor<4xi64>
    %row = arith.index_cast %i : i64 to index
    %v = neoflow.read %table[%row, %d] : tensor<5x2xf32>
    neoflow.yield %v : f32
  }
  return %y : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @notation
// CHECK: // a[i] = if x[i] > 0 then (x[i + 1] else -inf) else x[6 - i] / (u0 * u0)
// CHECK-NEXT: //     where i >= 1 and i <= 4 or i = 6, else 0
// CHECK-NEXT: //     with u0 = exp(-x[i]) - (x[0] - 1e-07)
// CHECK-NEXT: %a = neoflow.compute
// CHECK: // b = x0 and max(k < 7) abs(a[k floordiv 2 + k mod 2])
// CHECK: // c[i] = min(a[i], pow(b, uniform[i])) * (if i = 3 or i < 2 and b != 0.5 then 1 else i)
func.func @notation(%x: tensor<7xf32>, %x0: tensor<f32>, %seed: i64, %step: i64) -> tensor<7xf32> {
  %a = neoflow.compute (%i) from (%x: tensor<7xf32>) where (%i - 1 >= 0, 4 - %i >= 0) or (%i - 6 == 0) else 0.0 -> tensor<7xf32> {
    %v = neoflow.read %x[%i] : tensor<7xf32>
    %r = neoflow.read %x[6 - %i] : tensor<7xf32>
    %s = neoflow.read %x[%i + 1] else -inf : tensor<7xf32>
    %zero = arith.constant 0.0 : f32
    %tiny = arith.constant 1.0e-7 : f32
    %p = arith.cmpf ogt, %v, %zero : f32
    %m = arith.negf %v : f32
    %e = math.exp %m : f32
    %t = neoflow.read %x[0] : tensor<7xf32>
    %d = arith.subf %t, %tiny : f32
    %f = arith.subf %e, %d : f32
    %g = arith.mulf %f, %f : f32
    %h = arith.divf %r, %g : f32
    %o = arith.select %p, %s, %h : f32
    neoflow.yield %o : f32
  }
  %b = neoflow.compute () max (%k = 7) from (%a: tensor<7xf32>) init (%x0: tensor<f32>) -> tensor<f32> {
    %v = neoflow.read %a[%k floordiv 2 + %k mod 2] : tensor<7xf32>
    %w = math.absf %v : f32
    neoflow.yield %w : f32
  }
  %c = neoflow.compute (%i) from (%a: tensor<7xf32>, %b: tensor<f32>, %seed: i64, %step: i64) -> tensor<7xf32> {
    %v = neoflow.read %a[%i] : tensor<7xf32>
    %w = neoflow.read %b[] : tensor<f32>
    %u = neoflow.random uniform(%seed, %step) stream 0 [%i] in [7] : f32
    %p = math.powf %w, %u : f32
    %m = arith.minimumf %v, %p : f32
    %two = arith.constant 2 : index
    %three = arith.constant 3 : index
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %q = arith.cmpi eq, %i, %three : index
    %l = arith.cmpi slt, %i, %two : index
    %n = arith.cmpf une, %w, %half : f32
    %ln = arith.andi %l, %n : i1
    %or = arith.ori %q, %ln : i1
    %int = arith.index_cast %i : index to i64
    %float = arith.sitofp %int : i64 to f32
    %s = arith.select %or, %one, %float : f32
    %r = arith.mulf %m, %s : f32
    neoflow.yield %r : f32
  }
  return %c : tensor<7xf32>
}
