// RUN: not neoflow-opt %s -neoflow-specialize=sizes=batch 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not neoflow-opt %s -neoflow-specialize=sizes=batch=x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not neoflow-opt %s -neoflow-specialize=sizes=batch=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// FORM: error: expected sizes of the form NAME=NUMBER, as in batch=64, but got 'batch'
// NUMBER: error: expected sizes of the form NAME=NUMBER, as in batch=64, but got 'batch=x'
// NEGATIVE: error: expected sizes of the form NAME=NUMBER, as in batch=64, but got 'batch=-1'
func.func @f(%x: tensor<?xf32> {neoflow.dims = ["batch"]}) {
  return
}
