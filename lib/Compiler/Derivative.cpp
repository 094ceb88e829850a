// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of values from the source, and derivatives as text.

#include "neoflow/Compiler/Derivative.h"

#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"
#include "neoflow/Dialect/NeoFlow/Utils/MathText.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/SourceMgr.h"

using namespace neoflow;

/// The identifier at `range`, "%x"; empty for a number.
static StringRef getIdentifier(SMRange range) {
  StringRef text(range.Start.getPointer(),
                 range.End.getPointer() - range.Start.getPointer());
  text.consume_front("%");
  return text.empty() || llvm::isDigit(text.front()) ? StringRef() : text;
}

static Location addName(StringRef name, Location loc) {
  return name.empty() ? loc
                      : Location(NameLoc::get(
                            StringAttr::get(loc.getContext(), name), loc));
}

OwningOpRef<ModuleOp> neoflow::parseSource(llvm::SourceMgr &sources,
                                           MLIRContext *context) {
  AsmParserState state;
  Block top;
  if (failed(parseAsmSourceFile(sources, &top, ParserConfig(context), &state)))
    return {};
  for (const AsmParserState::OperationDefinition &definition :
       state.getOpDefs())
    if (!definition.resultGroups.empty())
      definition.op->setLoc(
          addName(getIdentifier(definition.resultGroups.front().definition.loc),
                  definition.op->getLoc()));
  for (const AsmParserState::BlockDefinition &definition : state.getBlockDefs())
    for (auto [argument, name] :
         llvm::zip(definition.block->getArguments(), definition.arguments))
      argument.setLoc(addName(getIdentifier(name.loc), argument.getLoc()));
  // A file is a module, or what one holds.
  if (llvm::hasSingleElement(top))
    if (auto module = dyn_cast<ModuleOp>(top.front())) {
      module->remove();
      return OwningOpRef<ModuleOp>(module);
    }
  OwningOpRef<ModuleOp> module = ModuleOp::create(FileLineColLoc::get(
      context,
      sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier(),
      0, 0));
  module->getBody()->getOperations().splice(module->getBody()->begin(),
                                            top.getOperations());
  if (failed(verify(*module)))
    return {};
  return module;
}

/// Whether `argument` of `function` is differentiated: it has elements of a
/// float type, and is among those asked for when any are.
static bool isWanted(func::FuncOp function, unsigned argument,
                     ArrayRef<std::string> wrt) {
  auto tensor =
      dyn_cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return false;
  if (wrt.empty())
    return !function.getArgAttr(argument, attr::kNoGradient);
  return llvm::is_contained(
      wrt, getSourceName(function.getArgument(argument).getLoc()).str());
}

/// A function that returns the results of `function` and its gradients.
static LogicalResult createDerivative(func::FuncOp function,
                                      ArrayRef<std::string> wrt,
                                      SymbolTable &symbols) {
  OpBuilder builder(function.getContext());
  SmallVector<int64_t> positions;
  SmallVector<Type> inputs(function.getArgumentTypes()),
      results(function.getResultTypes());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (isWanted(function, i, wrt)) {
      positions.push_back(i);
      results.push_back(inputs[i]);
    }
  if (positions.empty())
    return function.emitError("'")
           << function.getName() << "' has no argument to differentiate with "
           << "respect to";
  SmallVector<Location> locations;
  for (BlockArgument argument : function.getArguments())
    locations.push_back(argument.getLoc());
  Operation *end = function.front().getTerminator();
  for (Value result : end->getOperands()) {
    if (!isa<FloatType>(getElementTypeOrSelf(result.getType())))
      continue;
    inputs.push_back(result.getType());
    StringRef name = getSourceName(result.getLoc());
    locations.push_back(
        addName(name.empty() ? "" : ("d" + name).str(), result.getLoc()));
  }
  auto derivative = func::FuncOp::create(
      function.getLoc(), (function.getName() + "_derivative").str(),
      builder.getFunctionType(inputs, results));
  symbols.insert(derivative, std::next(function->getIterator()));
  Block *body = derivative.addEntryBlock();
  for (auto [argument, loc] : llvm::zip(body->getArguments(), locations))
    argument.setLoc(loc);
  builder.setInsertionPointToEnd(body);
  ValueRange arguments(body->getArguments());
  auto vjp = VjpOp::create(builder, function.getLoc(), results,
                           FlatSymbolRefAttr::get(function),
                           arguments.take_front(function.getNumArguments()),
                           builder.getDenseI64ArrayAttr(positions),
                           arguments.drop_front(function.getNumArguments()));
  func::ReturnOp::create(builder, function.getLoc(), vjp.getResults());
  return success();
}

/// The name of a value in a body: that of the value that it was copied from,
/// and none for what a gradient added.
static StringRef getInnerName(Location loc) {
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getInnerName(call.getCallee());
  auto named = dyn_cast<NameLoc>(loc);
  if (!named)
    return {};
  StringRef inner = getInnerName(named.getChildLoc());
  if (named.getName() == "gradient")
    return inner;
  return getSourceName(named.getChildLoc()).empty() ? named.getName().getValue()
                                                    : StringRef();
}

/// Leaves locations that are names or nothing: inlining hides names behind call
/// sites, and indices have names of their own.
static void simplifyNames(ModuleOp module) {
  Location unknown = UnknownLoc::get(module.getContext());
  module->walk([&](Operation *op) {
    bool isBody = isa_and_nonnull<ComputeOp, ScatterOp>(op->getParentOp());
    op->setLoc(addName(isBody ? getInnerName(op->getLoc())
                              : getSourceName(op->getLoc()),
                       unknown));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(
              isa<ComputeOp, ScatterOp>(op)
                  ? unknown
                  : addName(getSourceName(argument.getLoc()), unknown));
  });
}

/// Puts what they say, in mathematical notation, above computes and scatters.
static std::string addMathText(ModuleOp module, StringRef text,
                               AsmState &state) {
  auto nameOf = [&](Value value) {
    std::string name;
    llvm::raw_string_ostream os(name);
    value.printAsOperand(os, state);
    return StringRef(name).ltrim('%').split(':').first.str();
  };
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ComputeOp, ScatterOp>(op))
      ops.push_back(op);
  });
  std::string result;
  auto op = ops.begin();
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    StringRef statement = line.ltrim();
    std::string indent(line.size() - statement.size(), ' ');
    StringRef rest = statement.split(" = ").second;
    if (rest.starts_with("neoflow.compute") ||
        rest.starts_with("neoflow.scatter"))
      for (const std::string &math : getMathText(*op++, nameOf))
        result += indent + "// " + math + "\n";
    result += line.str() + "\n";
  }
  return result;
}

FailureOr<std::string>
neoflow::printDerivative(ModuleOp module, ArrayRef<std::string> functions,
                         ArrayRef<std::string> wrt,
                         const PipelineOptions &options) {
  MLIRContext *context = module.getContext();
  auto run = [&](function_ref<LogicalResult(PassManager &)> addPasses) {
    PassManager manager(context);
    return success(succeeded(addPasses(manager)) &&
                   succeeded(manager.run(module)));
  };
  if (failed(run([&](PassManager &manager) {
        return buildPhase(manager, Phase::input, options);
      })))
    return failure();
  SmallVector<func::FuncOp> wanted;
  for (auto function : module.getOps<func::FuncOp>())
    if (functions.empty()
            ? function.isPublic() && !function.isExternal()
            : llvm::is_contained(functions, function.getName().str()))
      wanted.push_back(function);
  for (const std::string &name : functions)
    if (llvm::none_of(wanted,
                      [&](func::FuncOp f) { return f.getName() == name; }))
      return module.emitError("there is no function '") << name << "'";
  for (const std::string &name : wrt)
    if (llvm::none_of(wanted, [&](func::FuncOp f) {
          return llvm::any_of(llvm::seq(f.getNumArguments()),
                              [&](unsigned i) { return isWanted(f, i, name); });
        }))
      return module.emitError("no function has an argument '")
             << name << "' of floating-point elements";
  SymbolTable symbols(module);
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!llvm::is_contained(wanted, function))
      function.setPrivate();
    else if (failed(createDerivative(function, wrt, symbols)))
      return failure();
  }
  if (failed(run([&](PassManager &manager) {
        manager.addPass(createDifferentiatePass());
        return buildPhase(manager, Phase::simplify, options);
      })))
    return failure();
  simplifyNames(module);
  OpPrintingFlags flags;
  flags.printNameLocAsPrefix();
  AsmState state(module, flags);
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, state);
  return addMathText(module, text, state);
}
