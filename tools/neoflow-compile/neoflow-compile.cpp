// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a module to a bundle.

#include "neoflow/Compiler/Compiler.h"
#include "neoflow/Compiler/Derivative.h"
#include "neoflow/InitAll.h"
#include "neoflow/TargetInfo/TargetInfo.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Pass.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>
#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;
using namespace neoflow;
namespace cl = llvm::cl;

static cl::OptionCategory category("neoflow-compile options");

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("MODEL.mlir"),
                                      cl::Required, cl::cat(category));
static cl::opt<std::string>
    outputFile("o",
               cl::desc("Where to write (default: the model's name with .nfb; "
                        "- for standard output of text)"),
               cl::value_desc("file"), cl::cat(category));
static cl::list<std::string> targetNames(
    "target", cl::desc("Devices to compile for (default: host, this machine)"),
    cl::value_desc("name[,name]"), cl::CommaSeparated, cl::cat(category));
static cl::list<std::string> specializations(
    "specialize",
    cl::desc("Sizes of named dimensions, as in batch=64 or batch=64,1; several "
             "dimensions are separated by semicolons"),
    cl::value_desc("dim=size[,size]"), cl::cat(category));
static cl::opt<int64_t> samples(
    "samples",
    cl::desc(
        "Samples of an epoch: its last batch gets a specialisation of its own"),
    cl::value_desc("n"), cl::init(0), cl::cat(category));
static cl::list<std::string>
    functions("function", cl::desc("Compile this function only (repeatable)"),
              cl::value_desc("name"), cl::cat(category));
static cl::list<std::string>
    wrt("wrt",
        cl::desc("For --emit=derivative: differentiate with respect to these "
                 "arguments only"),
        cl::value_desc("name[,name]"), cl::CommaSeparated, cl::cat(category));
static cl::opt<std::string> compileToPhase(
    "compile-to",
    cl::desc("Stop after a phase and print the module: input, differentiate, "
             "simplify, partition, schedule, lower"),
    cl::value_desc("phase"), cl::cat(category));
enum class Emit { mlir, derivative, llvm, obj, bundle };
static cl::opt<Emit> emit(
    "emit", cl::desc("What to write:"), cl::init(Emit::bundle),
    cl::values(
        clEnumValN(Emit::bundle, "bundle", "a bundle (default)"),
        clEnumValN(Emit::mlir, "mlir", "the scheduled kernels and programs"),
        clEnumValN(Emit::derivative, "derivative",
                   "functions and their derivatives, to read"),
        clEnumValN(Emit::llvm, "llvm", "optimised LLVM IR of the kernels"),
        clEnumValN(Emit::obj, "obj", "a shared object of the kernels")),
    cl::cat(category));
static cl::opt<unsigned>
    jobs("jobs",
         cl::desc("Threads that generate code (default: one per processor)"),
         cl::value_desc("n"), cl::init(0), cl::cat(category));
static cl::opt<bool>
    explainKernels("explain",
                   cl::desc("Print every kernel with its schedule, and stop"),
                   cl::cat(category));
static cl::opt<std::string>
    optimizer("optimizer",
              cl::desc("sgd, momentum, adam or adamw (default: the "
                       "model's, or sgd)"),
              cl::cat(category));
static cl::opt<double> learningRate(
    "learning-rate",
    cl::desc(
        "Default learning rate of the bundle (default: the model's, or 0.01)"),
    cl::cat(category));
static cl::opt<double> weightDecay("weight-decay",
                                   cl::desc("Weight decay (default 0)"),
                                   cl::init(0), cl::cat(category));
static cl::opt<double> momentum("momentum", cl::desc("Momentum (default 0.9)"),
                                cl::init(0.9), cl::cat(category));
static cl::opt<double> beta1("beta1",
                             cl::desc("Adam's decay of the mean (default 0.9)"),
                             cl::init(0.9), cl::cat(category));
static cl::opt<double>
    beta2("beta2", cl::desc("Adam's decay of the square (default 0.999)"),
          cl::init(0.999), cl::cat(category));
static cl::opt<double> epsilon("epsilon",
                               cl::desc("Adam's epsilon (default 1e-8)"),
                               cl::init(1e-8), cl::cat(category));
static cl::list<std::string> trainStep(
    "train-step",
    cl::desc("Options of the train step, as in clip-norm=1,average=0.99; see "
             "neoflow-opt --help for neoflow-build-train-step"),
    cl::value_desc("name=value[,...]"), cl::CommaSeparated, cl::cat(category));
static cl::opt<bool>
    emitGrad("emit-grad",
             cl::desc("Compile @gradient too: the results of @loss, then the "
                      "gradient of every trained parameter"),
             cl::cat(category));
static cl::opt<std::string>
    decider("partition", cl::desc("How kernels are formed: rules or none"),
            cl::init("rules"), cl::cat(category));
static cl::list<std::string> scheduleParameters(
    "schedule",
    cl::desc("Parameters of schedules in place of the default ones, for the "
             "families that have them"),
    cl::value_desc("name=value[,...]"), cl::CommaSeparated, cl::cat(category));
static cl::opt<char>
    optLevel("O",
             cl::desc("Optimisation level of LLVM, -O0 to -O3 (default -O3)"),
             cl::Prefix, cl::init('3'), cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "neoflow-compile: error: " << message << "\n";
  return 1;
}

/// "batch=64,1" and "batch=64;time=35" to all combinations of sizes.
static bool
parseSpecializations(std::vector<std::map<std::string, int64_t>> &result,
                     std::string &error) {
  for (llvm::StringRef text : specializations) {
    std::vector<std::map<std::string, int64_t>> combined(1);
    llvm::SmallVector<llvm::StringRef> dims;
    text.split(dims, ';');
    for (llvm::StringRef dim : dims) {
      auto [name, sizes] = dim.split('=');
      llvm::SmallVector<llvm::StringRef> values;
      sizes.split(values, ',');
      std::vector<std::map<std::string, int64_t>> next;
      for (llvm::StringRef value : values) {
        int64_t size;
        if (name.empty() || value.getAsInteger(10, size) || size < 1) {
          error = ("expected '--specialize' to be like batch=64 with sizes of "
                   "at least 1, but got '" +
                   text + "'")
                      .str();
          return false;
        }
        for (std::map<std::string, int64_t> entry : combined) {
          entry[name.str()] = size;
          next.push_back(entry);
        }
      }
      combined = next;
    }
    result.insert(result.end(), combined.begin(), combined.end());
  }
  return true;
}

/// The file that is being written, removed on Ctrl-C.
static char partialFile[4096];

static void removePartial(int signal) {
  if (partialFile[0])
    unlink(partialFile);
  _exit(128 + signal);
}

/// Writes beside the target and renames, so that no partial file is ever seen.
static bool writeFile(const std::string &path, llvm::StringRef bytes,
                      std::string &error) {
  if (path == "-") {
    llvm::outs() << bytes;
    llvm::outs().flush();
    return true;
  }
  std::string aside = path + ".partial-" + std::to_string(getpid());
  strncpy(partialFile, aside.c_str(), sizeof(partialFile) - 1);
  std::error_code code;
  {
    llvm::raw_fd_ostream os(aside, code);
    if (!code) {
      os << bytes;
      os.close();
      code = os.error();
      os.clear_error();
    }
  }
  if (!code)
    code = llvm::sys::fs::rename(aside, path);
  if (code) {
    llvm::sys::fs::remove(aside);
    error = "cannot write '" + path + "': " + code.message();
  }
  partialFile[0] = 0;
  return !code;
}

/// A progress line on terminals once compiling has taken two seconds.
struct Progress {
  bool visible = llvm::sys::Process::StandardErrIsDisplayed();
  bool shown = false;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();

  void operator()(int done, int total) {
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    if (!visible || seconds < 2)
      return;
    shown = true;
    llvm::errs() << "\rcompiling " << done << "/" << total << ", "
                 << static_cast<int>(seconds * (total - done) / done)
                 << " s left  ";
  }
  ~Progress() {
    if (shown)
      llvm::errs() << "\r\033[K";
  }
};

/// The options among `arguments` that change the result, as `--name=value`.
static std::vector<std::string>
getRecordedFlags(llvm::ArrayRef<char *> arguments) {
  std::vector<std::string> flags;
  auto &known = cl::getRegisteredOptions();
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef flag(arguments[i]);
    if (!flag.starts_with("-") || flag == "-")
      continue;
    auto [name, value] = flag.ltrim('-').split('=');
    std::string text = flag.str();
    auto option = known.find(name);
    bool takesNext =
        option != known.end() && !flag.contains('=') &&
        option->second->getValueExpectedFlag() == cl::ValueRequired;
    if (takesNext && i + 1 < arguments.size())
      text += "=" + std::string(arguments[++i]);
    if (name != "o" && name != "jobs" && name != "time-passes")
      flags.push_back(text);
  }
  return flags;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg("neoflow-compile crashed; please report this with the "
                        "module that caused it\n");
  // LLVM registers --time-passes itself; here it times every stage.
  cl::Option *timing = cl::getRegisteredOptions()["time-passes"];
  timing->addCategory(category);
  timing->setDescription("Print the time of each pass and the peak memory");
  timing->setHiddenFlag(cl::NotHidden);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "neoflow-compile " << getVersion() << " (build " << getBuildId()
       << ")\n";
  });
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "Compiles a NeoFlow module to a bundle that neoflow-run trains and "
          "calls\n",
          &llvm::errs()))
    return 2;
  signal(SIGINT, removePartial);
  signal(SIGTERM, removePartial);

  CompileOptions options;
  if (!targetNames.empty())
    options.targets = targetNames;
  options.jobs = jobs;
  options.samples = samples;
  options.functions = functions;
  if (learningRate.getNumOccurrences())
    options.learningRate = learningRate;
  options.optimizer = optimizer;
  options.decider = decider;
  options.scheduleParameters = scheduleParameters;
  // LLVM's pass managers change its flag.
  const bool isTimed = llvm::TimePassesIsEnabled;
  DefaultTimingManager timingManager;
  timingManager.setEnabled(isTimed);
  TimingScope timingScope = timingManager.getRootScope();
  if (isTimed)
    options.timing = &timingScope;
  options.source = inputFile;
  if (optLevel < '0' || optLevel > '3') {
    fail("expected -O0, -O1, -O2 or -O3");
    return 2;
  }
  options.optLevel = optLevel - '0';
  std::string error;
  if (!parseSpecializations(options.specializations, error)) {
    fail(error);
    return 2;
  }
  llvm::raw_string_ostream(options.trainStepOptions)
      << "weight-decay=" << weightDecay << " momentum=" << momentum
      << " beta1=" << beta1 << " beta2=" << beta2 << " epsilon=" << epsilon
      << (emitGrad ? " gradient=true " : " ") << llvm::join(trainStep, " ");
  std::optional<Phase> phase;
  if (!compileToPhase.empty() && !(phase = getPhase(compileToPhase))) {
    std::string names;
    for (const PhaseInfo &info : getPhases())
      names += std::string(names.empty() ? "" : ", ") + info.name;
    fail("unknown phase '" + compileToPhase + "'; phases are " + names);
    return 2;
  }
  options.flags = getRecordedFlags(llvm::ArrayRef(argv, argc).drop_front());

  DialectRegistry registry;
  neoflow::registerAllDialects(registry);
  neoflow::registerAllPasses();
  MLIRContext context(registry);
  context.allowUnregisteredDialects(false);
  context.printOpOnDiagnostic(false);
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      openInputFile(inputFile, &message);
  if (!buffer)
    return fail(message);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSource(sources, &context);
  if (!module)
    return 1;

  std::string output = outputFile;
  if (emit == Emit::mlir && !phase)
    phase = Phase::schedule;
  FailureOr<std::string> result;
  if (phase || explainKernels || emit == Emit::llvm ||
      emit == Emit::derivative) {
    if (output.empty())
      output = "-";
    if (emit == Emit::derivative) {
      PipelineOptions pipeline;
      if (!options.specializations.empty())
        pipeline.dims = options.specializations.front();
      result = printDerivative(*module, options.functions, wrt, pipeline);
    } else if (explainKernels) {
      result = explain(*module, options);
    } else if (phase) {
      if (failed(compileTo(*module, *phase, options)))
        return 1;
      result = std::string();
      llvm::raw_string_ostream os(*result);
      module->print(os);
      os << "\n";
    } else {
      result = compileObject(*module, options, /*asLLVMIR=*/true);
    }
  } else {
    StringRef extension = emit == Emit::obj ? ".so" : ".nfb";
    if (output.empty())
      output = (llvm::sys::path::stem(inputFile) + extension).str();
    if (output == "-" && llvm::sys::Process::StandardOutIsDisplayed())
      return fail("the output is binary: give a file with -o");
    Progress progress;
    options.progress = [&](int done, int total) { progress(done, total); };
    result = emit == Emit::obj
                 ? compileObject(*module, options, /*asLLVMIR=*/false)
                 : compileBundle(*module, options);
  }
  if (failed(result))
    return 1;
  const std::string &text = *result;
  if (!writeFile(output, text, error))
    return fail(error);
  if (isTimed) {
    timingScope.stop();
    timingManager.print();
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    llvm::errs() << "peak memory: " << usage.ru_maxrss / 1024 << " MiB\n";
  }
  return 0;
}
