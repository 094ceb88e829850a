// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM code generation and linking for CPU targets.

#include "neoflow/Target/Object.h"

#include "neoflow/Runtime/ABI.h"

#include "lld/Common/Driver.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

LLD_HAS_DRIVER(elf)

using namespace neoflow;

TargetAttr neoflow::resolveTarget(TargetAttr target) {
  if (target.getCpu() != "native")
    return target;
  std::string features;
  for (const auto &entry : llvm::sys::getHostCPUFeatures()) {
    if (!features.empty())
      features += ",";
    features += (entry.second ? "+" : "-") + entry.first().str();
  }
  // Registers are used in their full width.
  features += ",-prefer-256-bit,-prefer-128-bit";
  return TargetAttr::get(target.getContext(), target.getName(),
                         llvm::sys::getHostCPUName(), features,
                         target.getParameters());
}

static FailureOr<std::unique_ptr<llvm::TargetMachine>>
createMachine(Location loc, TargetAttr target, unsigned optLevel) {
  static bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) {
    emitError(loc) << "cannot generate code for " << triple.str() << ": "
                   << error;
    return failure();
  }
  target = resolveTarget(target);
  llvm::TargetOptions options;
  auto level = static_cast<llvm::CodeGenOptLevel>(std::min(optLevel, 3u));
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, target.getCpu(), target.getFeatures(), options, llvm::Reloc::PIC_,
      std::nullopt, level));
  if (!machine) {
    emitError(loc) << "cannot generate code for the processor '"
                   << target.getCpu() << "'";
    return failure();
  }
  return machine;
}

void neoflow::registerTargetTranslations(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
}

/// Hides from instruction selection that a divisor is one in some lanes. With
/// AVX-512, LLVM 22 moves a division into the select of its divisor, and takes
/// the quotient of two lanes that are known to be zero for zero: `0 / max(0,
/// 1)` gives NaN where a lane is constant.
static void hideUnitDivisors(llvm::Module &module) {
  using namespace llvm::PatternMatch;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      llvm::Value *divisor;
      if (!instruction.getType()->isVectorTy() ||
          !match(&instruction, m_FDiv(m_Value(), m_Value(divisor))) ||
          !match(divisor,
                 m_CombineOr(m_Select(m_Value(), m_FPOne(), m_Value()),
                             m_Select(m_Value(), m_Value(), m_FPOne()))))
        continue;
      llvm::IRBuilder<> builder(&instruction);
      instruction.setOperand(
          1, builder.CreateArithmeticFence(divisor, divisor->getType()));
    }
}

/// Translates and optimises `module`.
static FailureOr<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, llvm::LLVMContext &context,
          llvm::TargetMachine &machine, unsigned optLevel) {
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "kernels");
  if (!llvmModule) {
    module.emitError("cannot be translated to LLVM IR");
    return failure();
  }
  llvmModule->setTargetTriple(machine.getTargetTriple());
  llvmModule->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *llvmModule) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // Loops are vectorised by the schedule; what is scalar is so for a reason.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  static const llvm::OptimizationLevel kLevels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel level = kLevels[std::min(optLevel, 3u)];
  llvm::ModulePassManager passes =
      optLevel == 0 ? builder.buildO0DefaultPipeline(level)
                    : builder.buildPerModuleDefaultPipeline(level);
  passes.run(*llvmModule, modules);
  if (machine.getMCSubtargetInfo()->checkFeatures("+avx512vl"))
    hideUnitDivisors(*llvmModule);
  return llvmModule;
}

FailureOr<std::string> neoflow::emitLLVMIR(ModuleOp module, TargetAttr target,
                                           const ObjectOptions &options) {
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine =
      createMachine(module.getLoc(), target, options.optLevel);
  if (failed(machine))
    return failure();
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> llvmModule =
      translate(module, context, **machine, options.optLevel);
  if (failed(llvmModule))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  (*llvmModule)->print(os, nullptr);
  return text;
}

FailureOr<std::string> neoflow::emitObject(ModuleOp module, TargetAttr target,
                                           const ObjectOptions &options) {
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine =
      createMachine(module.getLoc(), target, options.optLevel);
  if (failed(machine))
    return failure();
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> llvmModule =
      translate(module, context, **machine, options.optLevel);
  if (failed(llvmModule))
    return failure();
  llvm::SmallVector<char> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager codegen;
  if ((*machine)->addPassesToEmitFile(codegen, os, nullptr,
                                      llvm::CodeGenFileType::ObjectFile)) {
    module.emitError("the target cannot emit object files");
    return failure();
  }
  codegen.run(**llvmModule);
  return std::string(bytes.begin(), bytes.end());
}

/// An object that holds nothing but the ABI's version.
static FailureOr<std::string> emitVersionObject(Location loc) {
  MLIRContext *mlirContext = loc.getContext();
  TargetAttr generic = TargetAttr::get(mlirContext, "x86-64", "x86-64", "",
                                       DictionaryAttr::get(mlirContext));
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine =
      createMachine(loc, generic, 0);
  if (failed(machine))
    return failure();
  llvm::LLVMContext context;
  llvm::Module module("version", context);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  llvm::Type *i32 = llvm::Type::getInt32Ty(context);
  new llvm::GlobalVariable(module, i32, /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage,
                           llvm::ConstantInt::get(i32, NEOFLOW_ABI_VERSION),
                           NEOFLOW_ABI_VERSION_SYMBOL);
  llvm::SmallVector<char> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager codegen;
  (*machine)->addPassesToEmitFile(codegen, os, nullptr,
                                  llvm::CodeGenFileType::ObjectFile);
  codegen.run(module);
  return std::string(bytes.begin(), bytes.end());
}

FailureOr<std::string>
neoflow::linkSharedObject(llvm::ArrayRef<std::string> objects, Location loc) {
  FailureOr<std::string> version = emitVersionObject(loc);
  if (failed(version))
    return failure();
  // lld works on files; they live in a private folder until it is done.
  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("neoflow-link", folder)) {
    emitError(loc) << "cannot create a temporary folder: " << error.message();
    return failure();
  }
  struct Cleanup {
    StringRef folder;
    ~Cleanup() { llvm::sys::fs::remove_directories(folder); }
  } cleanup{folder};
  SmallVector<std::string> paths;
  auto write = [&](const std::string &bytes) -> LogicalResult {
    paths.push_back((folder + "/" + std::to_string(paths.size()) + ".o").str());
    std::error_code error;
    llvm::raw_fd_ostream os(paths.back(), error);
    if (!error) {
      os << bytes;
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error)
      return emitError(loc)
             << "cannot write " << paths.back() << ": " << error.message();
    return success();
  };
  for (const std::string &object : objects)
    if (failed(write(object)))
      return failure();
  if (failed(write(*version)))
    return failure();
  std::string output = (folder + "/kernels.so").str();
  // Symbols of the C math library are found when the object is loaded: the
  // runtime links it.
  SmallVector<const char *> arguments = {
      "ld.lld",           "-shared", "--build-id=none",
      "--hash-style=gnu", "-z",      "now",
      "--strip-all",      "-o",      output.c_str()};
  for (const std::string &path : paths)
    arguments.push_back(path.c_str());
  std::string messages;
  llvm::raw_string_ostream os(messages);
  lld::Result result =
      lld::lldMain(arguments, os, os, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) {
    emitError(loc) << "cannot link the kernels: "
                   << StringRef(messages).rtrim();
    return failure();
  }
  auto buffer = llvm::MemoryBuffer::getFile(output);
  if (!buffer) {
    emitError(loc) << "cannot read " << output << ": "
                   << buffer.getError().message();
    return failure();
  }
  return (*buffer)->getBuffer().str();
}
