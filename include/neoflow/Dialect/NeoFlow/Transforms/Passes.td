// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that work on the neoflow dialect.

#ifndef NEOFLOW_DIALECT_NEOFLOW_TRANSFORMS_PASSES_TD
#define NEOFLOW_DIALECT_NEOFLOW_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SpecializePass : Pass<"neoflow-specialize", "::mlir::ModuleOp"> {
  let summary = "give named dimensions their sizes";
  let description = [{
    Replaces every dimension that `neoflow.dims` names by its size: from the
    `sizes` option, else from the module's `neoflow.default_dims`. Static shapes
    are then propagated through functions, calls and computes.

    On entry: any module. On exit: no dynamic shape is left in functions whose
    arguments name all their dynamic dimensions; `neoflow.dims` stays as a
    record of which dimensions were named. A named dimension without a size is
    an error that names it.
  }];
  let options = [
    ListOption<"sizes", "sizes", "std::string",
               "sizes of dimensions, as in batch=64">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SelectSchedulePass : Pass<"neoflow-select-schedule", "::neoflow::KernelOp"> {
  let summary = "attach the default schedule to a kernel";
  let description = [{
    Attaches a `#neoflow.schedule` to the kernel for its target. A kernel that
    carries a schedule keeps it, so that a person, a record or the tuner can
    decide otherwise.

    On entry: the kernel has a target and satisfies the contract of code
    generation (one result for each compute, static extents, identity reads of
    values of the kernel). On exit: it has a schedule. Nothing else changes.
  }];
  let options = [
    ListOption<"parameters", "parameters", "std::string",
               "values in place of the default ones, for the families that have "
               "a parameter of that name, as in k_tile=64">
  ];
}

def VerifySchedulePass : Pass<"neoflow-verify-schedule", "::neoflow::KernelOp"> {
  let summary = "refuse an illegal schedule, with the reason";
  let description = [{
    On exit: the schedule of the kernel is legal for its computes and target.
    Nothing changes.
  }];
}

def DifferentiatePass : Pass<"neoflow-differentiate", "::mlir::ModuleOp"> {
  let summary = "expand neoflow.vjp into functions of ordinary computes";
  let description = [{
    Every `neoflow.vjp` becomes a call of a generated function that returns the
    results of the callee, then the gradients. A gradient is one gather for each
    read (docs/Autodiff.md).

    On entry: static shapes. On exit: no `neoflow.vjp` is left. Forward
    functions do not change.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::math::MathDialect"
  ];
}

def UnrollScansPass : Pass<"neoflow-unroll-scans", "::mlir::ModuleOp"> {
  let summary = "replace every neoflow.scan by one call for each step";
  let description = [{
    On entry: static shapes. On exit: no `neoflow.scan` is left. Stacks are taken
    apart and put together by computes; `neoflow.scan`'s checkpoints are lost,
    since every value of every step is then a value of its own.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect"];
}

def SimplifyScansPass : Pass<"neoflow-simplify-scans", "::mlir::ModuleOp"> {
  let summary = "drop what scans carry, read or return for nothing";
  let description = [{
    Outputs that nobody uses, operands that no step reads and carries that serve
    nothing disappear, and so does what computes them; a carry that no step
    changes becomes an invariant. The function of a scan that changes is copied
    when others use it.
  }];
}

def FuseProducersPass : Pass<"neoflow-fuse-producers", "::mlir::func::FuncOp"> {
  let summary = "inline elementwise computes into the bodies that read them";
  let description = [{
    A compute without reduction and `where` disappears into its only reader when
    this does not multiply expensive work: the reader evaluates it at most twice
    for each element, or it is cheap. Pure reindexings and constants disappear
    into every reader. Computes that can be epilogues of a kernel stay, and so
    do readers with an `else` value.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
}

def PartitionPass : Pass<"neoflow-partition", "::mlir::ModuleOp"> {
  let summary = "group computes into kernels";
  let description = [{
    Every compute and scatter ends up in a `neoflow.kernel`, and functions become
    straight-line `neoflow.launch`es and `neoflow.scan`s. Kernels whose text is equal, names and
    locations aside, are one kernel.

    On entry: functions of one block with computes of static extents, scatters
    and constants; calls are inlined. On exit: no compute outside kernels, every
    result of a function is a value of its own, and every kernel satisfies the
    contract of code generation.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "the device that kernels are compiled for">,
    Option<"decider", "decider", "std::string", "\"rules\"",
           "how groups are decided: none or rules">
  ];
  let dependentDialects = ["::neoflow::NeoFlowDialect"];
}

def VerifyPartitionedPass : Pass<"neoflow-verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "refuse what partitioning should not leave";
  let description = [{
    On exit: functions hold launches and constants only; kernels have a key and a
    target and satisfy the contract of code generation. Nothing changes.
  }];
}

def BuildTrainStepPass : Pass<"neoflow-build-train-step", "::mlir::ModuleOp"> {
  let summary = "make @train_step and @evaluate from @loss";
  let description = [{
    `@train_step` takes what `@loss` takes, then the states of the optimiser (for
    each parameter, starting at zero), the step number when the optimiser needs
    it, and the learning rate. It returns what `@loss` returns, then the new
    value of every parameter and state, marked `neoflow.new_state`. The gradient
    is a `neoflow.vjp` of `@loss`, for neoflow-differentiate to expand.
    `@evaluate` returns the loss and the metrics.

    Gradients are divided by the loss scale, averaged over `accumulate` steps,
    clipped by value, clipped by norm, and given to the optimiser, in this order.
    See docs/Training.md for the formulas and the states.

    On entry: `@loss` with one `neoflow.loss` result and a `neoflow.param`
    argument, of static shapes. Parameters with `neoflow.no_gradient` are not
    trained.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"sgd\"",
           "sgd, momentum, adam or adamw">,
    Option<"weightDecay", "weight-decay", "double", "0.0",
           "factor of the parameter that is added to its gradient (adamw: "
           "subtracted from it, times the learning rate)">,
    Option<"momentum", "momentum", "double", "0.9",
           "share of the previous direction that momentum keeps">,
    Option<"beta1", "beta1", "double", "0.9", "decay of adam's mean">,
    Option<"beta2", "beta2", "double", "0.999", "decay of adam's square">,
    Option<"epsilon", "epsilon", "double", "1.0e-8",
           "what adam adds to the root of the square">,
    Option<"clipValue", "clip-value", "double", "0.0",
           "bound of the elements of gradients; 0 for none">,
    Option<"clipNorm", "clip-norm", "double", "0.0",
           "bound of the norm of all gradients together; 0 for none">,
    Option<"accumulate", "accumulate", "int64_t", "1",
           "steps whose gradients are averaged for one update">,
    Option<"schedule", "schedule", "std::string", "\"constant\"",
           "of the learning rate: constant, linear, cosine, step or "
           "inverse-sqrt">,
    Option<"warmup", "warmup", "int64_t", "0",
           "updates over which the learning rate rises to its value">,
    Option<"scheduleSteps", "schedule-steps", "int64_t", "0",
           "updates after which linear and cosine schedules are at zero">,
    Option<"scheduleEvery", "schedule-every", "int64_t", "0",
           "updates between the steps of a step schedule">,
    Option<"scheduleGamma", "schedule-gamma", "double", "0.1",
           "factor of a step of a step schedule">,
    Option<"average", "average", "double", "0.0",
           "decay of a moving average of the parameters; 0 for none">,
    Option<"lossScale", "loss-scale", "double", "1.0",
           "factor of the loss while it is differentiated">,
    Option<"masterWeights", "master-weights", "bool", "false",
           "keep parameters of half precision in f32 as well">,
    Option<"gradient", "gradient", "bool", "false",
           "make @gradient as well: what @loss returns, then the gradient of "
           "every trained parameter">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect"
  ];
}

#endif // NEOFLOW_DIALECT_NEOFLOW_TRANSFORMS_PASSES_TD
