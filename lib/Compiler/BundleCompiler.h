// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a module for one target: the kernels of all specialisations, the
// programs that launch them, and their description for the manifest.

#ifndef NEOFLOW_LIB_COMPILER_BUNDLECOMPILER_H
#define NEOFLOW_LIB_COMPILER_BUNDLECOMPILER_H

#include "Program.h"

#include "neoflow/Compiler/Compiler.h"

#include <nlohmann/json.hpp>

#include <set>

namespace neoflow {

using Dims = std::map<std::string, int64_t>;

/// A function compiled for given sizes of its dimensions.
struct CompiledProgram {
  std::string function;
  Dims dims;
  Program program;
};

class BundleCompiler {
public:
  /// `target` is the name of a known target.
  BundleCompiler(mlir::ModuleOp module, const CompileOptions &options,
                 std::string target)
      : module(module), options(options), target(std::move(target)),
        context(module.getContext()) {}

  /// Partitions and schedules. Emits what is wrong.
  mlir::LogicalResult compileKernels();
  /// The shared object of all kernels, after compileKernels.
  mlir::FailureOr<std::string> generateObject();
  /// Optimised LLVM IR of all kernels, after compileKernels.
  mlir::FailureOr<std::string> generateLLVMIR();

  mlir::ModuleOp getKernels() { return *kernels; }
  const ConstantMap &getConstants() const { return constants; }
  /// Sizes of the first specialisation.
  const Dims &getMainDims() const { return mainDims; }
  const nlohmann::ordered_json &getFunctions() const { return functionList; }
  /// The target's entry in the manifest, after generateObject.
  nlohmann::ordered_json describeTarget();

private:
  Dims getDefaultDims();
  std::string getBatchDim();
  mlir::LogicalResult
  specialize(const Dims &dims,
             llvm::function_ref<bool(llvm::StringRef)> isWanted);
  mlir::LogicalResult addPrograms(mlir::ModuleOp partitioned, const Dims &dims);
  std::string addKernel(KernelOp kernel);
  mlir::FailureOr<std::string> createCopyKernel(mlir::RankedTensorType type);
  mlir::LogicalResult runPasses(mlir::ModuleOp target,
                                llvm::ArrayRef<Phase> phases, const Dims &dims);
  mlir::LogicalResult lower(mlir::ModuleOp part);
  nlohmann::ordered_json describeFunction(mlir::func::FuncOp function);
  nlohmann::ordered_json describeKernels();
  nlohmann::ordered_json describePrograms();
  void step() {
    ++done;
    if (options.progress)
      options.progress(done, std::max(done, total));
  }

  mlir::ModuleOp module;
  const CompileOptions &options;
  std::string target;
  mlir::MLIRContext *context;
  mlir::OwningOpRef<mlir::ModuleOp> kernels;
  std::map<std::string, std::string> kernelOfKey;
  std::set<std::string> kernelNames;
  std::vector<CompiledProgram> programs;
  std::map<std::string, int64_t> workspace, workgroups;
  std::map<std::string, int> kernelIndex;
  nlohmann::ordered_json functionList = nlohmann::ordered_json::array();
  std::set<std::string> described;
  ConstantMap constants;
  Dims mainDims;
  int done = 0, total = 0;
};

/// Options of neoflow-build-train-step: what the module asks for, unless the
/// command says otherwise.
std::string getTrainStepOptions(mlir::ModuleOp module,
                                const CompileOptions &options);

/// Adds every place in a source file that `loc` mentions, in order.
void collectPlaces(mlir::Location loc, std::vector<std::string> &places);

} // namespace neoflow

#endif // NEOFLOW_LIB_COMPILER_BUNDLECOMPILER_H
