// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a module in the LLVM dialect to machine code for a CPU target.

#ifndef NEOFLOW_TARGET_OBJECT_H
#define NEOFLOW_TARGET_OBJECT_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include <string>

namespace neoflow {

struct ObjectOptions {
  /// 0 to 3, as for -O.
  unsigned optLevel = 3;
};

/// `target` with "native" replaced by the processor and features of this
/// machine.
TargetAttr resolveTarget(TargetAttr target);

/// Lets modules of `context` be translated; call it before several threads do.
void registerTargetTranslations(mlir::MLIRContext &context);

/// The optimised LLVM IR of `module` as text. Emits what is wrong.
mlir::FailureOr<std::string> emitLLVMIR(mlir::ModuleOp module,
                                        TargetAttr target,
                                        const ObjectOptions &options);

/// A relocatable ELF object of `module`. Emits what is wrong.
mlir::FailureOr<std::string> emitObject(mlir::ModuleOp module,
                                        TargetAttr target,
                                        const ObjectOptions &options);

/// Links relocatable objects to a shared object, in process. `loc` is for
/// messages.
mlir::FailureOr<std::string>
linkSharedObject(llvm::ArrayRef<std::string> objects, mlir::Location loc);

} // namespace neoflow

#endif // NEOFLOW_TARGET_OBJECT_H
