// RUN: neoflow-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

//===----------------------------------------------------------------------===//
// Syntax of compute
//===----------------------------------------------------------------------===//

func.func @parallel_extent(%x: tensor<4xf32>) {
  // expected-error @+1 {{the extent of parallel index %i is given by the result type}}
  %y = neoflow.compute (%i = 4) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @unknown_kind(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a reduction kind (sum, prod, max, min, umax, umin, and, or, combine), but got 'mean'}}
  %y = neoflow.compute () [mean] (%i = 4) from (%x: tensor<4xf32>) -> tensor<f32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @kind_none(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a reduction kind (sum, prod, max, min, umax, umin, and, or, combine), but got 'none'}}
  %y = neoflow.compute () [none] (%i = 4) from (%x: tensor<4xf32>) -> tensor<f32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @reduction_extent_missing(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected '='}}
  %y = neoflow.compute () sum (%i) from (%x: tensor<4xf32>) -> tensor<f32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func private @pair() -> (tensor<4xf32>, tensor<4xf32>)
func.func @result_of_group() {
  %0:2 = func.call @pair() : () -> (tensor<4xf32>, tensor<4xf32>)
  // expected-error @+1 {{expected a name for %0#1, as in '%x = %0#1'}}
  %y = neoflow.compute (%i) from (%0#1: tensor<4xf32>) -> tensor<4xf32> {
    neoflow.yield
  }
  return
}

// -----

func.func @where_name(%x: tensor<4xf32>) {
  // expected-error @+1 {{%k is neither an index nor an index symbol}}
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) where (%k >= 0) else 0.0 -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @where_no_constraint(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected at least one constraint}}
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) where () else 0.0 -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @where_strict(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected '='}}
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) where (%i > 0) else 0.0 -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @negated_literal(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected floating point literal}}
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) where (%i >= 1) else -"a" -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @else_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected one 'else' value for each of the 1 results, but got 2}}
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) where (%i >= 1) else (0.0, 1.0) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @else_type(%x: tensor<4xi32>) {
  // expected-error @+1 {{'else' value 5.000000e-01 : f64 does not fit the type 'i32'}}
  %y = neoflow.compute (%i) from (%x: tensor<4xi32>) where (%i >= 1) else 0.5 -> tensor<4xi32> {
    %a = neoflow.read %x[%i] : tensor<4xi32>
    neoflow.yield %a : i32
  }
  return
}

// -----

func.func @identity_type(%x: tensor<4xi8>) {
  // expected-error @+1 {{'identity' value 300 : i64 does not fit the type 'i8'}}
  %y = neoflow.compute () combine (%i = 4) from (%x: tensor<4xi8>) identity 300 -> tensor<i8> {
    %a = neoflow.read %x[%i] : tensor<4xi8>
    neoflow.yield %a : i8
  } combine (%a: i8, %b: i8) {
    neoflow.yield %a : i8
  }
  return
}

// -----

func.func @minus_true(%x: tensor<4xi64>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xi64>) -> tensor<4xi64> {
    // expected-error @+1 {{expected a number after '-'}}
    %a = neoflow.read %x[%i] else -true : tensor<4xi64>
    neoflow.yield %a : i64
  }
  return
}

// -----

func.func @minus_minus(%x: tensor<4xi64>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xi64>) -> tensor<4xi64> {
    // expected-error @+1 {{expected a number after '-'}}
    %a = neoflow.read %x[%i] else - -1.0 : tensor<4xi64>
    neoflow.yield %a : i64
  }
  return
}

// -----

func.func @wide_literal(%x: tensor<4xi64>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xi64>) -> tensor<4xi64> {
    // expected-error @+1 {{expected an integer of 64 bits}}
    %a = neoflow.read %x[%i] else 9223372036854775808 : tensor<4xi64>
    neoflow.yield %a : i64
  }
  return
}

// -----

// One accumulator type for two identities.
func.func @acc_and_identity() {
  // expected-error @+1 {{'neoflow.compute' op expected one accumulator type for each of the 2 results, but got 1}}
  %y:2 = neoflow.compute () combine (%i = 3) identity (0.0, 0) acc (f32) -> (tensor<f32>, tensor<f32>) {
    %a = arith.constant 0.0 : f32
    neoflow.yield %a, %a : f32, f32
  } combine (%a: f32, %b: f32, %c: f32, %d: f32) {
    neoflow.yield %a, %b : f32, f32
  }
  return
}

// -----

func.func @unknown_ties(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 'share' or 'first', but got 'last'}}
  %y = neoflow.compute () max (%i = 4) from (%x: tensor<4xf32>) ties last -> tensor<f32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @duplicate_names(%x: tensor<4xf32>) {
  // expected-error @+2 {{region entry argument '%i' is already in use}}
  // expected-note @+1 {{previously referenced here}}
  %y = neoflow.compute (%i, %i) from (%x: tensor<4xf32>) -> tensor<4x4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @isolated(%x: tensor<4xf32>, %s: f32) {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    // expected-error @+1 {{use of undeclared SSA value name}}
    %b = arith.addf %a, %s : f32
    neoflow.yield %b : f32
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// comprehension
//===----------------------------------------------------------------------===//

// comprehension_c1
func.func @block_arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.compute' op expected 2 block arguments (indices, then inputs), but got 1}}
  %y = neoflow.compute () from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = arith.constant 0.0 : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c1
func.func @index_argument(%x: f32) {
  // expected-error @+1 {{'neoflow.compute' op expected block argument 0 to be an index, but got 'f32'}}
  %y = "neoflow.compute"(%x) <{kinds = [#neoflow<kind none>], operandSegmentSizes = array<i32: 1, 0, 0>, reduction_extents = array<i64>}> ({
  ^bb0(%i: f32, %a: f32):
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }, {}) : (f32) -> tensor<4xf32>
  return
}

// -----

// comprehension_c1
func.func @input_argument(%x: f32) {
  // expected-error @+1 {{'neoflow.compute' op expected block argument 1 to have the type of its input, 'f32', but got 'f64'}}
  %y = "neoflow.compute"(%x) <{kinds = [#neoflow<kind none>], operandSegmentSizes = array<i32: 1, 0, 0>, reduction_extents = array<i64>}> ({
  ^bb0(%i: index, %a: f64):
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f64) -> ()
  }, {}) : (f32) -> tensor<4xf64>
  return
}

// -----

// comprehension_c2
func.func @input_type(%x: tensor<4xi16>) {
  // expected-error @+1 {{'neoflow.compute' op expected inputs to be ranked tensors or scalars of f16, bf16, f32, f64, i1, i8, i32 or i64, or index symbols, but got 'tensor<4xi16>'}}
  %y = neoflow.compute (%i) from (%x: tensor<4xi16>) -> tensor<4xf32> {
    %a = arith.constant 0.0 : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c2
func.func @input_scalar(%x: complex<f32>) {
  // expected-error @+1 {{or index symbols, but got 'complex<f32>'}}
  %y = neoflow.compute (%i) from (%x: complex<f32>) -> tensor<4xf32> {
    %a = arith.constant 0.0 : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c3
func.func @negative_extent(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.compute' op expected extents of at least 0, but got -2}}
  %y = neoflow.compute () sum (%i = -2) from (%x: tensor<4xf32>) -> tensor<f32> {
    %a = arith.constant 0.0 : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c4
func.func @index_names() {
  // expected-error @+1 {{'neoflow.compute' op expected 1 index names, but got 2}}
  %y = "neoflow.compute"() <{kinds = [#neoflow<kind none>], index_names = ["i", "j"], operandSegmentSizes = array<i32: 0, 0, 0>, reduction_extents = array<i64>}> ({
  ^bb0(%i: index):
    %a = arith.constant 0.0 : f32
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }, {}) : () -> tensor<4xf32>
  return
}

// -----

// comprehension_c5
func.func @where_empty() {
  // expected-error @+1 {{'neoflow.compute' op expected 'where' to hold at least one set}}
  %y = "neoflow.compute"() <{kinds = [#neoflow<kind none>], where = [], otherwise = [0.0 : f32], operandSegmentSizes = array<i32: 0, 0, 0>, reduction_extents = array<i64>}> ({
  ^bb0(%i: index):
    %a = arith.constant 0.0 : f32
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }, {}) : () -> tensor<4xf32>
  return
}

// -----

// comprehension_c5
func.func @where_dims() {
  // expected-error @+1 {{'neoflow.compute' op expected 'where' to hold integer sets over 1 indices and 0 symbols}}
  %y = "neoflow.compute"() <{kinds = [#neoflow<kind none>], where = [affine_set<(d0, d1) : (d0 - d1 >= 0)>], otherwise = [0.0 : f32], operandSegmentSizes = array<i32: 0, 0, 0>, reduction_extents = array<i64>}> ({
  ^bb0(%i: index):
    %a = arith.constant 0.0 : f32
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }, {}) : () -> tensor<4xf32>
  return
}

// -----

// comprehension_c5
func.func @where_not_affine(%x: tensor<4xf32>, %k: index) {
  // expected-error @+1 {{'neoflow.compute' op expected affine constraints in 'where', with floordiv, ceildiv and mod by positive constants}}
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>, %k: index) where (%i floordiv symbol(%k) >= 0) else 0.0 -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c6
func.func @where_overlap(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.compute' op expected the sets of 'where' to be disjoint}}
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) where (%i >= 1) or (%i <= 1) else 0.0 -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c7
func.func private @f(f32) -> f32
func.func @body_op(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.compute' op expected only reads, random numbers, arith, math and affine.apply in the body, but got 'func.call'}}
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    %b = func.call @f(%a) : (f32) -> f32
    neoflow.yield %b : f32
  }
  return
}

// -----

// comprehension_c8
func.func @body_scalar(%x: tensor<4xf32>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = neoflow.read %x[%i] : tensor<4xf32>
    // expected-error @+1 {{'arith.addf' op expected a scalar result in the body of 'neoflow.compute', but got 'tensor<4xf32>'}}
    %b = arith.addf %x, %x : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c9
func.func @map_dims(%x: tensor<4xf32>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.read' op expected a map over 1 dimensions and no symbols}}
    %a = "neoflow.read"(%x, %i) <{map = affine_map<(d0, d1) -> (d0)>}> : (tensor<4xf32>, index) -> f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c9
func.func @map_symbols(%seed: i64) {
  %y = neoflow.compute (%i) from (%seed: i64) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.random' op expected a map over 1 dimensions and no symbols}}
    %a = "neoflow.random"(%seed, %seed, %i) <{distribution = #neoflow<distribution uniform>, stream = 0 : i64, map = affine_map<()[s0] -> (s0)>, shape = array<i64: 4>}> : (i64, i64, index) -> f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c10
func.func @negative_divisor(%x: tensor<4xf32>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.read' op expected affine subscripts with floordiv, ceildiv and mod by positive constants}}
    %a = neoflow.read %x[%i floordiv -2] else 0.0 : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c10
func.func @semi_affine(%x: tensor<4xf32>, %k: index) {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>, %k: index) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.read' op expected affine subscripts with floordiv, ceildiv and mod by positive constants}}
    %a = neoflow.read %x[%i * symbol(%k)] else 0.0 : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

// comprehension_c10
func.func @scatter_subscripts(%z: tensor<4xf32>) {
  %y = neoflow.scatter sum (%i = 4) into (%z: tensor<4xf32>) {
    %a = arith.constant 1.0 : f32
    // expected-error @+1 {{'neoflow.yield' op expected affine subscripts with floordiv, ceildiv and mod by positive constants}}
    neoflow.yield %a at [%i floordiv -1] : f32
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// compute
//===----------------------------------------------------------------------===//

// compute_c1
func.func @no_results() {
  // expected-error @+1 {{'neoflow.compute' op expected at least one result}}
  "neoflow.compute"() <{kinds = [], operandSegmentSizes = array<i32: 0, 0, 0>, reduction_extents = array<i64>}> ({
    "neoflow.yield"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  }, {}) : () -> ()
  return
}

// -----

// compute_c1
func.func @rank() {
  // expected-error @+1 {{'neoflow.compute' op expected results of rank 8 at most, but got rank 9}}
  %y = neoflow.compute (%a, %b, %c, %d, %e, %f, %g, %h, %i) -> tensor<1x1x1x1x1x1x1x1x1xf32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c2
func.func @shapes() {
  // expected-error @+1 {{'neoflow.compute' op expected all results to have the same shape, but got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %y:2 = neoflow.compute (%i) -> (tensor<4xf32>, tensor<5xf32>) {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v, %v : f32, f32
  }
  return
}

// -----

// compute_c3
func.func @element_type() {
  // expected-error @+1 {{'neoflow.compute' op expected elements of f16, bf16, f32, f64, i1, i8, i32 or i64, but got 'i16'}}
  %y = neoflow.compute (%i) -> tensor<4xi16> {
    %v = arith.constant 0 : i16
    neoflow.yield %v : i16
  }
  return
}

// -----

// compute_c4
func.func @dynamic_extents() {
  // expected-error @+1 {{'neoflow.compute' op expected 1 dynamic extents, but got 0}}
  %y = neoflow.compute (%i) -> tensor<?xf32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c4
func.func @needless_extents(%n: index) {
  // expected-error @+1 {{'neoflow.compute' op expected 0 dynamic extents, but got 1}}
  %y = neoflow.compute (%i = %n) -> tensor<4xf32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c5
func.func @kind_count() {
  // expected-error @+1 {{'neoflow.compute' op expected one reduction kind for each of the 3 results, but got 2}}
  %y:3 = neoflow.compute () [sum, max] (%i = 4) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v, %v, %v : f32, f32, f32
  }
  return
}

// -----

// compute_c6
func.func @no_kind() {
  // expected-error @+1 {{'neoflow.compute' op expected a reduction kind for result 0, since there are reduction indices}}
  %y = "neoflow.compute"() <{kinds = [#neoflow<kind none>], operandSegmentSizes = array<i32: 0, 0, 0>, reduction_extents = array<i64: 4>}> ({
  ^bb0(%i: index, %j: index):
    %a = arith.constant 0.0 : f32
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }, {}) : () -> tensor<4xf32>
  return
}

// -----

// compute_c7
func.func @combine_for_some() {
  // expected-error @+1 {{'neoflow.compute' op expected 'combine' for all results or for none}}
  %y:2 = neoflow.compute () [combine, sum] (%i = 4) identity (0.0, 0.0) -> (tensor<f32>, tensor<f32>) {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v, %v : f32, f32
  } combine (%a: f32, %b: f32, %c: f32, %d: f32) {
    neoflow.yield %a, %b : f32, f32
  }
  return
}

// -----

// compute_c7
func.func @combine_region_missing() {
  // expected-error @+1 {{'neoflow.compute' op expected a combine region}}
  %y = neoflow.compute () combine (%i = 4) identity 0.0 -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c7
func.func @combine_region_needless() {
  // expected-error @+1 {{'neoflow.compute' op expected no combine region without the kind 'combine'}}
  %y = neoflow.compute () sum (%i = 4) -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  } combine (%a: f32, %b: f32) {
    neoflow.yield %a : f32
  }
  return
}

// -----

// compute_c7
func.func @identity_missing() {
  // expected-error @+1 {{'neoflow.compute' op expected 'identity' values for 'combine'}}
  %y = neoflow.compute () combine (%i = 4) -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  } combine (%a: f32, %b: f32) {
    neoflow.yield %a : f32
  }
  return
}

// -----

// compute_c7
func.func @identity_needless() {
  // expected-error @+1 {{'neoflow.compute' op expected no 'identity' without the kind 'combine'}}
  %y = neoflow.compute () sum (%i = 4) identity 0.0 -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c7
func.func @identity_count() {
  // expected-error @+1 {{'neoflow.compute' op expected one 'identity' value for each of the 1 results, but got 2}}
  %y = "neoflow.compute"() <{kinds = [#neoflow<kind combine>], identity = [0.0 : f32, 0.0 : f32], operandSegmentSizes = array<i32: 0, 0, 0>, reduction_extents = array<i64: 4>}> ({
  ^bb0(%i: index):
    %a = arith.constant 0.0 : f32
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }) : () -> tensor<f32>
  return
}

// -----

// compute_c8
func.func @acc_count() {
  // expected-error @+1 {{'neoflow.compute' op expected one accumulator type for each of the 1 results, but got 2}}
  %y = neoflow.compute () sum (%i = 4) acc (f32, f32) -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c8
func.func @acc_kind() {
  // expected-error @+1 {{'neoflow.compute' op expected an accumulator of the kind of 'i32' and at least as wide, but got 'f32'}}
  %y = neoflow.compute () sum (%i = 4) acc (f32) -> tensor<i32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c8
func.func @acc_narrow() {
  // expected-error @+1 {{'neoflow.compute' op expected an accumulator of the kind of 'f64' and at least as wide, but got 'f32'}}
  %y = neoflow.compute () sum (%i = 4) acc (f32) -> tensor<f64> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c8
func.func @acc_half() {
  // expected-error @+1 {{'neoflow.compute' op expected an accumulator of f32 or wider, but got 'f16'}}
  %y = neoflow.compute () sum (%i = 4) acc (f16) -> tensor<f16> {
    %v = arith.constant 0.0 : f16
    neoflow.yield %v : f16
  }
  return
}

// -----

// compute_c9
func.func @logical_float() {
  // expected-error @+1 {{'neoflow.compute' op expected an integer accumulator for 'and', but got 'f32'}}
  %y = neoflow.compute () and (%i = 4) -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c9
func.func @unsigned_float() {
  // expected-error @+1 {{'neoflow.compute' op expected an integer accumulator for 'umin', but got 'f32'}}
  %y = neoflow.compute () umin (%i = 4) -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c10
func.func @sum_of_booleans(%x: tensor<4xi1>) {
  // expected-error @+1 {{'neoflow.compute' op expected 'and' or 'or' for i1, but got 'sum'; cast the elements to i32 to count them}}
  %y = neoflow.compute () sum (%i = 4) from (%x: tensor<4xi1>) -> tensor<i1> {
    %v = neoflow.read %x[%i] : tensor<4xi1>
    neoflow.yield %v : i1
  }
  return
}

// -----

// compute_c11
func.func @sum_of_bytes(%x: tensor<4xi8>) {
  // expected-error @+1 {{'neoflow.compute' op expected an accumulator of i32 or wider for a 'sum' of i8, which overflows; write 'acc (i32)'}}
  %y = neoflow.compute () sum (%i = 4) from (%x: tensor<4xi8>) -> tensor<i8> {
    %v = neoflow.read %x[%i] : tensor<4xi8>
    neoflow.yield %v : i8
  }
  return
}

// -----

// compute_c12
func.func @init_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.compute' op expected 'init' tensors of the result types}}
  %y = neoflow.compute () sum (%i = 4) init (%x : tensor<4xf32>) -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c12
func.func @init_needless(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.compute' op expected no 'init' without a reduction}}
  %y = neoflow.compute (%i) init (%x : tensor<4xf32>) -> tensor<4xf32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c13
func.func @else_missing() {
  // expected-error @+1 {{'neoflow.compute' op expected an 'else' value for the elements outside 'where'}}
  %y = neoflow.compute (%i) where (%i >= 1) -> tensor<4xf32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c13
func.func @else_needless() {
  // expected-error @+1 {{'neoflow.compute' op expected 'else' only with 'where' and without a reduction}}
  %y = neoflow.compute (%i) sum (%j = 4) where (%j >= 1) else 0.0 -> tensor<4xf32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c13
func.func @else_value() {
  // expected-error @+1 {{'neoflow.compute' op expected 'else' values of the element types}}
  %y = "neoflow.compute"() <{kinds = [#neoflow<kind none>], where = [affine_set<(d0) : (d0 - 1 >= 0)>], otherwise = [0.0 : f64], operandSegmentSizes = array<i32: 0, 0, 0>, reduction_extents = array<i64>}> ({
  ^bb0(%i: index):
    %a = arith.constant 0.0 : f32
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }, {}) : () -> tensor<4xf32>
  return
}

// -----

// compute_c13
func.func @identity_value() {
  // expected-error @+1 {{'neoflow.compute' op expected 'identity' values of the accumulator types}}
  %y = "neoflow.compute"() <{kinds = [#neoflow<kind combine>], identity = [0.0 : f64], operandSegmentSizes = array<i32: 0, 0, 0>, reduction_extents = array<i64: 4>}> ({
  ^bb0(%i: index):
    %a = arith.constant 0.0 : f32
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "neoflow.yield"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> ()
  }) : () -> tensor<f32>
  return
}

// -----

// compute_c14
func.func @yield_at() {
  // expected-error @+1 {{'neoflow.compute' op expected the body to end with 'neoflow.yield' without 'at'}}
  %y = neoflow.compute (%i) -> tensor<4xf32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v at [%i] : f32
  }
  return
}

// -----

// compute_c14
func.func @yield_count() {
  %y = neoflow.compute (%i) -> tensor<4xf32> {
    %v = arith.constant 0.0 : f32
    // expected-error @+1 {{'neoflow.yield' op expected 1 values, one for each result, but got 2}}
    neoflow.yield %v, %v : f32, f32
  }
  return
}

// -----

// compute_c14
func.func @yield_type() {
  %y = neoflow.compute (%i) -> tensor<4xf16> {
    %v = arith.constant 0.0 : f16
    // expected-error @+1 {{'neoflow.yield' op expected value 0 to have the accumulator type 'f32', but got 'f16'}}
    neoflow.yield %v : f16
  }
  return
}

// -----

// compute_c14
func.func @combine_yield() {
  %y = neoflow.compute () combine (%i = 4) identity 0.0 -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  } combine (%a: f32, %b: f32) {
    // expected-error @+1 {{'neoflow.yield' op expected 1 values, one for each result, but got 2}}
    neoflow.yield %a, %b : f32, f32
  }
  return
}

// -----

// compute_c15
func.func @combine_blocks() {
  // expected-error @+1 {{'neoflow.compute' op expected a combine region of one block}}
  %y = neoflow.compute () combine (%i = 4) identity 0.0 -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  } combine (%a: f32, %b: f32) {
    neoflow.yield %a : f32
  ^bb1:
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  }
  return
}

// -----

// compute_c15
func.func @combine_arguments() {
  // expected-error @+1 {{'neoflow.compute' op expected the combine region to take 1 accumulators and 1 values, but got 3 arguments}}
  %y = neoflow.compute () combine (%i = 4) identity 0.0 -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  } combine (%a: f32, %b: f32, %c: f32) {
    neoflow.yield %a : f32
  }
  return
}

// -----

// compute_c15
func.func @combine_argument_type() {
  // expected-error @+1 {{'neoflow.compute' op expected argument 1 of the combine region to be 'f32', but got 'f64'}}
  %y = neoflow.compute () combine (%i = 4) identity 0.0 -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  } combine (%a: f32, %b: f64) {
    neoflow.yield %a : f32
  }
  return
}

// -----

// compute_c15
func.func @combine_random() {
  %y = neoflow.compute () combine (%i = 4) identity 0.0 -> tensor<f32> {
    %v = arith.constant 0.0 : f32
    neoflow.yield %v : f32
  } combine (%a: f32, %b: f32) {
    %s = arith.constant 0 : i64
    // expected-error @+1 {{'neoflow.random' op cannot stand in a combine region}}
    %u = neoflow.random uniform(%s, %s) stream 0 [] in [] : f32
    neoflow.yield %u : f32
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// read
//===----------------------------------------------------------------------===//

func.func @read_tensor_type(%x: tensor<4xf32>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{expected a ranked tensor type, but got 'f32'}}
    %a = neoflow.read %x[%i] : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @read_else_literal(%x: tensor<4xi8>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xi8>) -> tensor<4xi8> {
    // expected-error @+1 {{'else' value 200 : i64 does not fit the type 'i8'}}
    %a = neoflow.read %x[%i] else 200 : tensor<4xi8>
    neoflow.yield %a : i8
  }
  return
}

// -----

func.func @read_outside(%x: tensor<4xf32>, %i: index) {
  // expected-error @+1 {{'neoflow.read' op expects parent op to be one of 'neoflow.compute, neoflow.scatter'}}
  %a = neoflow.read %x[%i] else 0.0 : tensor<4xf32>
  return
}

// -----

// read_c1
func.func @read_rank(%x: tensor<4x4xf32>) {
  %y = neoflow.compute (%i) from (%x: tensor<4x4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.read' op expected 2 subscripts for 'tensor<4x4xf32>', but got 1}}
    %a = neoflow.read %x[%i] : tensor<4x4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

// read_c2
func.func @read_result(%x: tensor<4xf16>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xf16>) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.read' op expected the result type 'f32', but got 'f16'}}
    %a = "neoflow.read"(%x, %i) <{map = affine_map<(d0) -> (d0)>}> : (tensor<4xf16>, index) -> f16
    %b = arith.extf %a : f16 to f32
    neoflow.yield %b : f32
  }
  return
}

// -----

// read_c2
func.func @read_else(%x: tensor<4xf32>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.read' op expected the 'else' value to be 'f32', but got 'f64'}}
    %a = "neoflow.read"(%x, %i) <{map = affine_map<(d0) -> (d0)>, otherwise = 0.0 : f64}> : (tensor<4xf32>, index) -> f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// read_c3
func.func @read_unbound() {
  %y = neoflow.compute (%i) -> tensor<4xf32> {
    %x = arith.constant dense<0.0> : tensor<4xf32>
    // expected-error @+1 {{'neoflow.read' op expected a tensor bound by 'from'}}
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

// read_c4
func.func @read_bounds(%x: tensor<4x6xf32>) {
  %y = neoflow.compute (%i) sum (%j = 3) from (%x: tensor<4x6xf32>) -> tensor<4xf32> {
    // expected-error @+2 {{'neoflow.read' op subscript 1 is out of bounds: it takes values from -1 to 7, but dimension 1 of 'tensor<4x6xf32>' has extent 6}}
    // expected-note @+1 {{write 'else VALUE' after the subscripts to read VALUE outside the tensor, or restrict the domain with 'where'}}
    %a = neoflow.read %x[%i, %i * 2 + %j - 1] : tensor<4x6xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

// read_c4, over a domain that is too large by one
func.func @read_bounds_where(%x: tensor<4xf32>) {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) where (%i <= 4) else 0.0 -> tensor<8xf32> {
    // expected-error @+2 {{'neoflow.read' op subscript 0 is out of bounds: it takes values from 0 to 4, but dimension 0 of 'tensor<4xf32>' has extent 4}}
    // expected-note @+1 {{write 'else VALUE'}}
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a : f32
  }
  return
}

// -----

// read_c4, in a scatter
func.func @read_bounds_scatter(%x: tensor<4xf32>, %z: tensor<8xf32>) {
  %y = neoflow.scatter sum (%i = 8) from (%x: tensor<4xf32>) into (%z: tensor<8xf32>) {
    // expected-error @+2 {{'neoflow.read' op subscript 0 is out of bounds: it takes values from 0 to 7}}
    // expected-note @+1 {{write 'else VALUE'}}
    %a = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %a at [%i] : f32
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// random
//===----------------------------------------------------------------------===//

func.func @distribution(%s: i64) {
  %y = neoflow.compute (%i) from (%s: i64) -> tensor<4xf32> {
    // expected-error @+1 {{expected 'uniform' or 'normal', but got 'gaussian'}}
    %a = neoflow.random gaussian(%s, %s) stream 0 [%i] in [4] : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

func.func @random_type(%s: i64) {
  %y = neoflow.compute (%i) from (%s: i64) -> tensor<4xf16> {
    // expected-error @+1 {{'neoflow.random' op result #0 must be 32-bit float or 64-bit float, but got 'f16'}}
    %a = neoflow.random uniform(%s, %s) stream 0 [%i] in [4] : f16
    neoflow.yield %a : f16
  }
  return
}

// -----

// random_c1
func.func @random_rank(%s: i64) {
  %y = neoflow.compute (%i) from (%s: i64) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.random' op expected 2 subscripts, one for each extent, but got 1}}
    %a = neoflow.random uniform(%s, %s) stream 0 [%i] in [4, 4] : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// random_c2
func.func @random_extent(%s: i64) {
  %y = neoflow.compute (%i) from (%s: i64) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.random' op expected extents of at least 0, but got -4}}
    %a = neoflow.random uniform(%s, %s) stream 0 [%i] in [-4] : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// random_c3
func.func @random_subscript(%s: i64) {
  %y = neoflow.compute (%i) from (%s: i64) -> tensor<4xf32> {
    %k = arith.addi %i, %i : index
    // expected-error @+1 {{'neoflow.random' op expected subscripts of indices and index symbols only}}
    %a = neoflow.random uniform(%s, %s) stream 0 [%k] in [4] : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// random_c4
func.func @random_stream(%s: i64) {
  %y = neoflow.compute (%i) from (%s: i64) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.random' op expected a stream from 0 to 4294967295, but got -1}}
    %a = neoflow.random uniform(%s, %s) stream -1 [%i] in [4] : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// random_c4
func.func @random_stream_wide(%s: i64) {
  %y = neoflow.compute (%i) from (%s: i64) -> tensor<4xf32> {
    // expected-error @+1 {{'neoflow.random' op expected a stream from 0 to 4294967295, but got 4294967296}}
    %a = neoflow.random uniform(%s, %s) stream 4294967296 [%i] in [4] : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

func.func @scatter_keyword(%z: tensor<4xf32>) {
  // expected-error @+1 {{expected 'sum', 'max' or 'min', but got 'mean'}}
  %y = neoflow.scatter mean (%i = 4) into (%z: tensor<4xf32>) {
    %a = arith.constant 1.0 : f32
    neoflow.yield %a at [%i] : f32
  }
  return
}

// -----

// scatter_c1
func.func @scatter_kind(%z: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scatter' op expected the kind 'sum', 'max' or 'min', but got 'prod'}}
  %y = neoflow.scatter prod (%i = 4) into (%z: tensor<4xf32>) {
    %a = arith.constant 1.0 : f32
    neoflow.yield %a at [%i] : f32
  }
  return
}

// -----

// scatter_c2
func.func @scatter_result(%z: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scatter' op expected the result to have the type of the destination, 'tensor<4xf32>', but got 'tensor<5xf32>'}}
  %y = "neoflow.scatter"(%z) <{index_extents = array<i64: 4>, kind = #neoflow<kind sum>}> ({
  ^bb0(%i: index):
    %a = arith.constant 0.0 : f32
    "neoflow.yield"(%a, %i) <{map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1>}> : (f32, index) -> ()
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// scatter_c2
func.func @scatter_dynamic(%z: tensor<?xf32>) {
  // expected-error @+1 {{'neoflow.scatter' op expected a destination of static shape and elements of f16, bf16, f32, f64, i1, i8, i32 or i64, but got 'tensor<?xf32>'}}
  %y = neoflow.scatter sum (%i = 4) into (%z: tensor<?xf32>) {
    %a = arith.constant 1.0 : f32
    neoflow.yield %a at [%i] : f32
  }
  return
}

// -----

// scatter_c3
func.func @scatter_yield(%z: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scatter' op expected the body to end with 'neoflow.yield' of one value and its subscripts, 'at [...]'}}
  %y = neoflow.scatter sum (%i = 4) into (%z: tensor<4xf32>) {
    %a = arith.constant 1.0 : f32
    neoflow.yield %a : f32
  }
  return
}

// -----

// scatter_c3
func.func @scatter_rank(%z: tensor<4x4xf32>) {
  %y = neoflow.scatter sum (%i = 4) into (%z: tensor<4x4xf32>) {
    %a = arith.constant 1.0 : f32
    // expected-error @+1 {{'neoflow.yield' op expected 2 subscripts for 'tensor<4x4xf32>', but got 1}}
    neoflow.yield %a at [%i] : f32
  }
  return
}

// -----

// scatter_c3
func.func @scatter_value(%z: tensor<4xf16>) {
  %y = neoflow.scatter sum (%i = 4) into (%z: tensor<4xf16>) {
    %a = arith.constant 1.0 : f16
    // expected-error @+1 {{'neoflow.yield' op expected a value of 'f32', but got 'f16'}}
    neoflow.yield %a at [%i] : f16
  }
  return
}

// -----

// comprehension_c6, in a scatter
func.func @scatter_where(%z: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scatter' op expected the sets of 'where' to be disjoint}}
  %y = neoflow.scatter sum (%i = 4) into (%z: tensor<4xf32>) where (%i >= 0) or (%i >= 3) {
    %a = arith.constant 1.0 : f32
    neoflow.yield %a at [%i] : f32
  }
  return
}

// -----

func.func @yield_outside() {
  // expected-error @+1 {{'neoflow.yield' op expects parent op to be one of 'neoflow.compute, neoflow.scatter, neoflow.kernel'}}
  neoflow.yield
}

// -----

//===----------------------------------------------------------------------===//
// vjp
//===----------------------------------------------------------------------===//

// vjp_c1
func.func @vjp_callee(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.vjp' op expected a function, but 'nowhere' is none}}
  %0:2 = neoflow.vjp @nowhere(%x) wrt [0] cotangents(%x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// vjp_c2
// expected-note @+1 {{the function is defined here}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func @vjp_arguments(%x: tensor<5xf32>, %dy: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.vjp' op expected arguments of the types of 'f', '(tensor<4xf32>) -> tensor<4xf32>'}}
  %0:2 = neoflow.vjp @f(%x) wrt [0] cotangents(%dy) : (tensor<5xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

// vjp_c3
func.func private @f(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @vjp_wrt(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.vjp' op expected 'wrt' to list argument positions below 2 in ascending order, but got 0}}
  %0:3 = neoflow.vjp @f(%x, %x) wrt [1, 0] cotangents(%x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// vjp_c3
func.func private @f(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @vjp_wrt_range(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.vjp' op expected 'wrt' to list argument positions below 2 in ascending order, but got 2}}
  %0:2 = neoflow.vjp @f(%x, %x) wrt [2] cotangents(%x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// vjp_c3
// expected-note @+1 {{the argument is declared here; integers have no derivative}}
func.func @f(%k: tensor<4xi32>) -> tensor<f32> {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
func.func @vjp_integer(%k: tensor<4xi32>, %dy: tensor<f32>) {
  // expected-error @+1 {{'neoflow.vjp' op cannot differentiate with respect to argument 0 of 'f': its elements are 'i32'}}
  %0:2 = neoflow.vjp @f(%k) wrt [0] cotangents(%dy) : (tensor<4xi32>, tensor<f32>) -> (tensor<f32>, tensor<4xi32>)
  return
}

// -----

// vjp_c4
func.func private @f(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>)
func.func @vjp_cotangents(%x: tensor<4xf32>, %k: tensor<4xi32>) {
  // expected-error @+1 {{'neoflow.vjp' op expected 1 cotangents with the types of the floating-point results of 'f', '(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>)'}}
  %0:3 = neoflow.vjp @f(%x) wrt [0] cotangents(%x, %k) : (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>)
  return
}

// -----

// vjp_c5
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func @vjp_results(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.vjp' op expected the results of 'f', then one gradient for each entry of 'wrt'}}
  %0 = neoflow.vjp @f(%x) wrt [0] cotangents(%x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// kernel, launch, attributes
//===----------------------------------------------------------------------===//

// kernel_c1
// expected-error @+1 {{'neoflow.kernel' op expected results of static tensor types, but got 'tensor<?xf32>'}}
neoflow.kernel @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  neoflow.yield %x : tensor<?xf32>
}

// -----

// kernel_c2
neoflow.kernel @ops(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'arith.addf' op cannot stand in a kernel, which holds computes and scatters only}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  neoflow.yield %0 : tensor<4xf32>
}

// -----

// kernel_c3
// expected-error @+1 {{'neoflow.kernel' op expected the body to yield the results of the kernel}}
neoflow.kernel @results(%x: tensor<4xf32>) -> tensor<5xf32> {
  neoflow.yield %x : tensor<4xf32>
}

// -----

// kernel_c3
// expected-error @+1 {{'neoflow.kernel' op expected the body to yield the results of the kernel}}
neoflow.kernel @at(%x: tensor<4xf32>) -> tensor<4xf32> {
  neoflow.yield %x at [] : tensor<4xf32>
}

// -----

// launch_c1
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func @launch_function(%x: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.launch' op expected a kernel, but 'f' is none}}
  %0 = neoflow.launch @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// launch_c2
// expected-note @+1 {{the kernel is defined here}}
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  neoflow.yield %x : tensor<4xf32>
}
func.func @launch_types(%x: tensor<5xf32>) {
  // expected-error @+1 {{'neoflow.launch' op expected operands and results of the type of 'k', '(tensor<4xf32>) -> tensor<4xf32>'}}
  %0 = neoflow.launch @k(%x) : (tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{expected parameter 'lanes' to be an i64, but got 8 : i32}}
"test.op"() {schedule = #neoflow.schedule<elementwise, {lanes = 8 : i32}, order = "ascending">} : () -> ()

// -----

// expected-error @+1 {{expected parameter 'cores' to be an i64, but got "two"}}
"test.op"() {target = #neoflow.target<"host", cpu = "x", features = "", {cores = "two"}>} : () -> ()

// -----

// scan_c1
func.func @scan_unknown(%h: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op expected a function, but 'cell' is none}}
  %0 = neoflow.scan @cell steps 2 carry(%h) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// scan_c2
func.func private @cell(tensor<4xf32>) -> tensor<4xf32>
func.func @scan_no_steps(%h: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op expected 'steps' of at least 0, or a stacked operand whose leading extent counts the steps}}
  %0 = neoflow.scan @cell carry(%h) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// scan_c2
func.func private @cell(tensor<4xf32>) -> tensor<4xf32>
func.func @scan_negative_steps(%h: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op expected 'steps' of at least 0}}
  %0 = neoflow.scan @cell steps -1 carry(%h) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// scan_c2
func.func private @cell(tensor<f32>) -> tensor<f32>
func.func @scan_scalar_stack(%x: tensor<f32>) {
  // expected-error @+1 {{'neoflow.scan' op expected 'steps' of at least 0, or a stacked operand}}
  %0 = neoflow.scan @cell stacked(%x) : (tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// scan_c2
func.func private @cell(tensor<4xf32>) -> tensor<4xf32>
func.func @scan_checkpoint(%h: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op expected 'checkpoint' of at least 1, but got 0}}
  %0 = neoflow.scan @cell steps 2 checkpoint 0 carry(%h) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// scan_c3
// expected-note @+1 {{the function is defined here}}
func.func private @cell(tensor<4xf32>) -> tensor<4xf32>
func.func @scan_arity(%h: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op expected 'cell' to take 1 carries, 0 slices and 1 invariants, and to return 1 carries and 0 outputs, but it is '(tensor<4xf32>) -> tensor<4xf32>'}}
  %0 = neoflow.scan @cell steps 2 carry(%h) invariant(%h) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// scan_c3
func.func private @cell()
func.func @scan_nothing() {
  // expected-error @+1 {{'neoflow.scan' op expected a carry or an output}}
  neoflow.scan @cell steps 2 : () -> ()
  return
}

// -----

// scan_c4
// expected-note @+1 {{the function is defined here}}
func.func private @cell(tensor<4xf32>) -> tensor<5xf32>
func.func @scan_carry(%h: tensor<4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op carry 0 is 'tensor<4xf32>' at first, but 'tensor<5xf32>' later}}
  %0 = neoflow.scan @cell steps 2 carry(%h) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// scan_c5
// expected-note @+1 {{the function is defined here}}
func.func private @cell(tensor<4xf32>) -> tensor<f32>
func.func @scan_slice(%x: tensor<7x4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op stacked operand 0 is 'tensor<7x4xf32>', which has no slice 'tensor<4xf32>' for each of 6 steps}}
  %0 = neoflow.scan @cell steps 6 stacked(%x) : (tensor<7x4xf32>) -> tensor<6xf32>
  return
}

// -----

// scan_c5
// expected-note @+1 {{the function is defined here}}
func.func private @cell(tensor<2x4xf32>) -> tensor<f32>
func.func @scan_uneven(%x: tensor<7x4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op stacked operand 0 is 'tensor<7x4xf32>', which has no slice 'tensor<2x4xf32>' for each of 3 steps}}
  %0 = neoflow.scan @cell steps 3 stacked(%x) : (tensor<7x4xf32>) -> tensor<3xf32>
  return
}

// -----

// scan_c6
// expected-note @+1 {{the function is defined here}}
func.func private @cell(tensor<4xf32>, tensor<3xf32>) -> tensor<f32>
func.func @scan_invariant(%x: tensor<6x4xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{'neoflow.scan' op invariant 0 is 'tensor<2xf32>', but 'cell' takes 'tensor<3xf32>'}}
  %0 = neoflow.scan @cell stacked(%x) invariant(%w) : (tensor<6x4xf32>, tensor<2xf32>) -> tensor<6xf32>
  return
}

// -----

// scan_c7
// expected-note @+1 {{the function is defined here}}
func.func private @cell(tensor<4xf32>) -> tensor<2xf32>
func.func @scan_output(%x: tensor<6x4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op output 0 is 'tensor<6x3xf32>', which is no stack of 6 times 'tensor<2xf32>'}}
  %0 = neoflow.scan @cell stacked(%x) : (tensor<6x4xf32>) -> tensor<6x3xf32>
  return
}

// -----

// scan_c7
// expected-note @+1 {{the function is defined here}}
func.func private @cell(tensor<4xf32>) -> tensor<f32>
func.func @scan_output_of_no_rank(%x: tensor<6x4xf32>) {
  // expected-error @+1 {{'neoflow.scan' op output 0 is 'tensor<f32>', which is no stack of 6 times 'tensor<f32>'}}
  %0 = neoflow.scan @cell stacked(%x) : (tensor<6x4xf32>) -> tensor<f32>
  return
}

// -----

// scan_c8
// expected-note @+1 {{the function is defined here}}
func.func private @middle(%h: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @cell(%h) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @cell(%h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'neoflow.scan' op 'middle' comes to this scan again, which would never end}}
  %0 = neoflow.scan @middle steps 2 carry(%h) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
