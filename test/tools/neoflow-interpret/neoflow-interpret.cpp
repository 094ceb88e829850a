// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a function with the reference interpreter, from .npy files to .npy
// files, or on random inputs.

#include "Interpreter.h"
#include "Npy.h"

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

#include <random>

using namespace neoflow;
using namespace neoflow::test;
namespace cl = llvm::cl;

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("FILE.mlir"),
                                      cl::init("-"));
static cl::opt<std::string> functionName("function", cl::desc("what to run"),
                                         cl::Required);
static cl::list<std::string>
    inputFiles("input", cl::desc("a .npy file for each argument, in order"));
static cl::opt<std::string>
    outputDir("output-dir", cl::desc("where result0.npy and so on go"));
static cl::opt<int64_t>
    randomInputs("random-inputs",
                 cl::desc("make inputs from this seed instead; they are "
                          "written as input0.npy and so on"));
static cl::opt<bool>
    integersOnly("integers",
                 cl::desc("random inputs are integers from -4 to 4, whose sums "
                          "and products are exact in every order"));

static bool fail(const llvm::Twine &why) {
  llvm::errs() << "neoflow-interpret: " << why << "\n";
  return false;
}

/// The file type for elements of `type`. Half precision is written as f32,
/// index as i64.
static NpyType getNpyType(Type type) {
  if (type.isF64())
    return NpyType::f64;
  if (isa<FloatType>(type))
    return NpyType::f32;
  if (type.isInteger(1))
    return NpyType::boolean;
  if (type.isInteger(8))
    return NpyType::i8;
  return type.isInteger(32) ? NpyType::i32 : NpyType::i64;
}

static bool write(const std::string &name, const Tensor &tensor) {
  NpyArray array;
  array.type = getNpyType(tensor.elementType);
  array.shape = tensor.shape;
  array.floats = tensor.floats;
  array.integers = tensor.integers;
  std::string error;
  return writeNpy(outputDir + "/" + name, array, error) || fail(error);
}

static bool read(const std::string &path, Type type, Tensor &tensor) {
  NpyArray array;
  std::string error;
  if (!readNpy(path, array, error))
    return fail(error);
  NpyType want = getNpyType(tensor.elementType = getElementTypeOrSelf(type));
  bool bytes = want == NpyType::i8 && array.type == NpyType::u8;
  if (array.type != want && !bytes)
    return fail(path + ": expected elements of type " + toString(want) +
                ", but got " + toString(array.type));
  tensor.shape = array.shape;
  tensor.floats = array.floats;
  tensor.integers = array.integers;
  if (bytes) // The same bits as a signed number.
    for (int64_t &value : tensor.integers)
      value = static_cast<int8_t>(value);
  return true;
}

/// Floats in [-1, 1) that f32 holds exactly, small integers, booleans.
static bool randomize(Type type, std::mt19937_64 &engine, Tensor &tensor) {
  tensor.elementType = getElementTypeOrSelf(type);
  if (auto shaped = dyn_cast<RankedTensorType>(type)) {
    if (!shaped.hasStaticShape())
      return fail("random inputs need static shapes; run neoflow-specialize");
    tensor.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
  }
  tensor.allocate();
  // The distributions of the standard library differ between libraries.
  for (double &value : tensor.floats)
    value = integersOnly ? double(int64_t(engine() % 9) - 4)
                         : std::ldexp(double(engine() >> 40), -23) - 1.0;
  for (int64_t &value : tensor.integers)
    value = tensor.elementType.isInteger(1) ? int64_t(engine() & 1)
            : integersOnly                  ? int64_t(engine() % 9) - 4
                                            : int64_t(engine() % 5);
  return true;
}

static bool run() {
  DialectRegistry registry;
  registry
      .insert<NeoFlowDialect, affine::AffineDialect, arith::ArithDialect,
              func::FuncDialect, math::MathDialect, tensor::TensorDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = parseSourceFile<ModuleOp>(inputFile, sources, &context);
  if (!module)
    return false;
  auto function = module->lookupSymbol<func::FuncOp>(functionName);
  if (!function)
    return fail("there is no function '" + functionName + "'");
  if (!outputDir.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(outputDir))
      return fail(outputDir + ": " + error.message());

  bool random = randomInputs.getNumOccurrences() > 0;
  if (random != inputFiles.empty() && function.getNumArguments() > 0)
    return fail("expected either --input or --random-inputs");
  if (!random && inputFiles.size() != function.getNumArguments())
    return fail("expected " + llvm::Twine(function.getNumArguments()) +
                " inputs, but got " + llvm::Twine(inputFiles.size()));
  std::vector<Tensor> inputs(function.getNumArguments());
  std::mt19937_64 engine(static_cast<uint64_t>(randomInputs));
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (random ? !randomize(type, engine, inputs[i])
               : !read(inputFiles[i], type, inputs[i]))
      return false;
    if (random && !outputDir.empty() &&
        !write("input" + std::to_string(i) + ".npy", inputs[i]))
      return false;
  }

  FailureOr<std::vector<Tensor>> results = interpret(function, inputs);
  if (failed(results))
    return false;
  for (auto [i, result] : llvm::enumerate(*results)) {
    if (!outputDir.empty()) {
      if (!write("result" + std::to_string(i) + ".npy", result))
        return false;
      continue;
    }
    llvm::outs() << "result " << i << ":";
    for (double value : result.floats)
      llvm::outs() << llvm::format(" %.9g", value);
    for (int64_t value : result.integers)
      llvm::outs() << " " << value;
    llvm::outs() << "\n";
  }
  return true;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv,
                              "runs a function with the interpreter\n");
  return run() ? 0 : 1;
}
