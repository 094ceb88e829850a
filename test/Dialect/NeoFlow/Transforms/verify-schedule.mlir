// RUN: neoflow-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(neoflow.kernel(neoflow-verify-schedule))'

#cpu = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {vector_bytes = 32, vector_registers = 16}>
// expected-error @below {{expected a target and a schedule}}
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {target = #cpu} {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %v = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %v : f32
  }
  neoflow.yield %y : tensor<4xf32>
}

// -----

#cpu = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {vector_bytes = 32, vector_registers = 16}>
// expected-error @below {{has an illegal schedule: there is no family 'magic'}}
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {target = #cpu, schedule = #neoflow.schedule<magic, {lanes = 4}, order = "ascending">} {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %v = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %v : f32
  }
  neoflow.yield %y : tensor<4xf32>
}

// -----

#cpu = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {vector_bytes = 32, vector_registers = 16}>
// expected-error @below {{has an illegal schedule: the kernel is of the family 'elementwise', not 'reduction'}}
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {target = #cpu, schedule = #neoflow.schedule<reduction, {chunk = 4, lanes = 4, vector_axis = 0}, order = "ascending">} {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %v = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %v : f32
  }
  neoflow.yield %y : tensor<4xf32>
}

// -----

#cpu = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {vector_bytes = 32, vector_registers = 16}>
// expected-error @below {{has an illegal schedule: 'lanes' is 3, not a power of two up to 64}}
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {target = #cpu, schedule = #neoflow.schedule<elementwise, {chunk = 4, lanes = 3}, order = "ascending">} {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %v = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %v : f32
  }
  neoflow.yield %y : tensor<4xf32>
}

// -----

#cpu = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {vector_bytes = 32, vector_registers = 16}>
// expected-error @below {{has an illegal schedule: parameter 'chunk' is missing}}
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {target = #cpu, schedule = #neoflow.schedule<elementwise, {lanes = 4}, order = "ascending">} {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %v = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %v : f32
  }
  neoflow.yield %y : tensor<4xf32>
}

// -----

// A combine region takes its points in order.
#cpu = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {vector_bytes = 32, vector_registers = 16}>
// expected-error @below {{has an illegal schedule: a combine region takes its points in order, so that lanes cannot lie along the reduction}}
neoflow.kernel @k(%x: tensor<4x8xf32>) -> tensor<4xf32> attributes {target = #cpu, schedule = #neoflow.schedule<reduction, {chunk = 1, lanes = 8, vector_axis = 1}, order = "lanes 8">} {
  %y = neoflow.compute (%i) combine (%k = 8) from (%x: tensor<4x8xf32>) identity 0.0 -> tensor<4xf32> {
    %v = neoflow.read %x[%i, %k] : tensor<4x8xf32>
    neoflow.yield %v : f32
  } combine (%a: f32, %b: f32) {
    %c = arith.addf %a, %b : f32
    neoflow.yield %c : f32
  }
  neoflow.yield %y : tensor<4xf32>
}

// -----

// Several results without a reduction are refused by name, not by a crash; the
// partitioner splits them.
#cpu = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {vector_bytes = 32, vector_registers = 16}>
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {target = #cpu, schedule = #neoflow.schedule<elementwise, {lanes = 4}, order = "ascending">} {
  // expected-error @below {{expected several results only of a reduction that comes first in its kernel}}
  %y:2 = neoflow.compute (%i) from (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %v = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %v, %v : f32, f32
  }
  neoflow.yield %y#0 : tensor<4xf32>
}

// -----

#cpu = #neoflow.target<"x86-64-v3", cpu = "x86-64-v3", features = "", {vector_bytes = 32, vector_registers = 16}>
neoflow.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {target = #cpu, schedule = #neoflow.schedule<elementwise, {chunk = 4, lanes = 4}, order = "ascending">} {
  %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
    %v = neoflow.read %x[%i] : tensor<4xf32>
    neoflow.yield %v : f32
  }
  %z = neoflow.compute (%i) from (%y: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{expected to read a value of its kernel at the indices themselves}}
    %v = neoflow.read %y[-%i + 3] : tensor<4xf32>
    neoflow.yield %v : f32
  }
  neoflow.yield %z : tensor<4xf32>
}
