// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds @train_step and @evaluate from @loss. Optimisers are computes.

#include "Optimizers.h"

#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"

#include "mlir/IR/TypeUtilities.h"

namespace neoflow {
#define GEN_PASS_DEF_BUILDTRAINSTEPPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;

namespace {

/// A function under construction whose arguments and results carry roles.
struct Signature {
  SmallVector<Type> arguments, results;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;

  unsigned addArgument(Type type, DictionaryAttr attrs) {
    arguments.push_back(type);
    argumentAttrs.push_back(attrs);
    return arguments.size() - 1;
  }
  void addResult(Type type, DictionaryAttr attrs) {
    results.push_back(type);
    resultAttrs.push_back(attrs);
  }
};

struct BuildTrainStepPass
    : neoflow::impl::BuildTrainStepPassBase<BuildTrainStepPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult checkLoss(func::FuncOp loss);
  void buildEvaluate(func::FuncOp loss);
  LogicalResult buildTrainStep(func::FuncOp loss, const Optimizer &optimizer);
};

} // namespace

static DictionaryAttr getArgAttrs(func::FuncOp function, unsigned i) {
  DictionaryAttr attrs = function.getArgAttrDict(i);
  return attrs ? attrs : DictionaryAttr::get(function.getContext());
}

static DictionaryAttr getResultAttrs(func::FuncOp function, unsigned i) {
  DictionaryAttr attrs = function.getResultAttrDict(i);
  return attrs ? attrs : DictionaryAttr::get(function.getContext());
}

/// Whether a step trains argument `i`.
static bool isTrained(func::FuncOp loss, unsigned i) {
  return loss.getArgAttr(i, attr::kParam) &&
         !loss.getArgAttr(i, attr::kNoGradient);
}

LogicalResult BuildTrainStepPass::checkLoss(func::FuncOp loss) {
  unsigned losses = 0;
  for (unsigned i = 0; i < loss.getNumResults(); ++i)
    losses += loss.getResultAttr(i, attr::kLoss) != nullptr;
  if (losses != 1)
    return loss.emitError("expected one result of '@loss' with '")
           << attr::kLoss << "', but got " << losses;
  bool trains = false;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    if (!isTrained(loss, i))
      continue;
    trains = true;
    Type type = loss.getArgument(i).getType();
    if (!isa<FloatType>(getElementTypeOrSelf(type)))
      return emitError(loss.getArgument(i).getLoc(), "expected parameter ")
             << loss.getArgAttr(i, attr::kParam)
             << " to hold floating-point numbers, but got " << type
             << "; mark it neoflow.no_gradient to leave it as it is";
    if (!cast<RankedTensorType>(type).hasStaticShape())
      return emitError(loss.getArgument(i).getLoc(), "expected parameter ")
             << loss.getArgAttr(i, attr::kParam)
             << " to have a static shape, but got " << type;
  }
  if (!trains)
    return loss.emitError("expected an argument of '@loss' with '")
           << attr::kParam << "' to train";
  return success();
}

static func::FuncOp createFunction(func::FuncOp loss, StringRef name,
                                   const Signature &signature) {
  OpBuilder builder(loss.getContext());
  builder.setInsertionPointAfter(loss);
  auto function = func::FuncOp::create(
      builder, loss.getLoc(), name,
      builder.getFunctionType(signature.arguments, signature.results));
  function.setAllArgAttrs(signature.argumentAttrs);
  function.setAllResultAttrs(signature.resultAttrs);
  Block *entry = function.addEntryBlock();
  for (unsigned i = 0; i < loss.getNumArguments(); ++i)
    entry->getArgument(i).setLoc(loss.getArgument(i).getLoc());
  return function;
}

void BuildTrainStepPass::buildEvaluate(func::FuncOp loss) {
  Signature signature;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i)
    signature.addArgument(loss.getArgument(i).getType(), getArgAttrs(loss, i));
  SmallVector<unsigned> kept;
  for (unsigned i = 0; i < loss.getNumResults(); ++i) {
    if (!loss.getResultAttr(i, attr::kLoss) &&
        !loss.getResultAttr(i, attr::kMetric))
      continue;
    kept.push_back(i);
    signature.addResult(loss.getFunctionType().getResult(i),
                        getResultAttrs(loss, i));
  }
  func::FuncOp evaluate = createFunction(loss, "evaluate", signature);
  OpBuilder builder = OpBuilder::atBlockEnd(&evaluate.front());
  auto call = func::CallOp::create(builder, loss.getLoc(), loss,
                                   evaluate.getArguments());
  SmallVector<Value> results;
  for (unsigned i : kept)
    results.push_back(call.getResult(i));
  func::ReturnOp::create(builder, loss.getLoc(), results);
}

LogicalResult BuildTrainStepPass::buildTrainStep(func::FuncOp loss,
                                                 const Optimizer &optimizer) {
  Builder attrs(loss.getContext());
  Location loc = loss.getLoc();
  auto named = [&](StringRef attribute, Attribute value) {
    return attrs.getNamedAttr(attribute, value);
  };
  auto newState = [&](unsigned argument) {
    return attrs.getDictionaryAttr(
        named(attr::kNewState, attrs.getI64IntegerAttr(argument)));
  };
  Signature signature;
  unsigned numLossArguments = loss.getNumArguments();
  SmallVector<unsigned> trained;
  std::optional<unsigned> stepArgument, rateArgument;
  for (unsigned i = 0; i < numLossArguments; ++i) {
    signature.addArgument(loss.getArgument(i).getType(), getArgAttrs(loss, i));
    if (isTrained(loss, i))
      trained.push_back(i);
    if (loss.getArgAttr(i, attr::kStep))
      stepArgument = i;
    if (loss.getArgAttr(i, attr::kLearningRate))
      rateArgument = i;
  }
  // States of the optimiser, one tensor like the parameter for each.
  llvm::DenseMap<unsigned, unsigned> firstState;
  for (unsigned i : trained) {
    firstState[i] = signature.arguments.size();
    auto name = loss.getArgAttrOfType<StringAttr>(i, attr::kParam);
    for (StringRef suffix : optimizer.getStateNames())
      signature.addArgument(
          loss.getArgument(i).getType(),
          attrs.getDictionaryAttr(
              {named(attr::kState,
                     attrs.getStringAttr(name.getValue() + "." + suffix)),
               named(attr::kZeros, attrs.getUnitAttr())}));
  }
  if (optimizer.usesStep() && !stepArgument)
    stepArgument = signature.addArgument(
        attrs.getI64Type(),
        attrs.getDictionaryAttr(named(attr::kStep, attrs.getUnitAttr())));
  if (!rateArgument)
    rateArgument = signature.addArgument(
        attrs.getF32Type(), attrs.getDictionaryAttr(named(
                                attr::kLearningRate, attrs.getUnitAttr())));

  // Results: the loss and its companions, then every new state.
  FunctionType lossType = loss.getFunctionType();
  for (unsigned i = 0; i < loss.getNumResults(); ++i)
    signature.addResult(lossType.getResult(i), getResultAttrs(loss, i));
  for (unsigned i : trained) {
    Type type = loss.getArgument(i).getType();
    signature.addResult(type, newState(i));
    for (unsigned s = 0; s < optimizer.getStateNames().size(); ++s)
      signature.addResult(type, newState(firstState[i] + s));
  }

  func::FuncOp step = createFunction(loss, "train_step", signature);
  OpBuilder builder = OpBuilder::atBlockEnd(&step.front());
  SmallVector<Value> arguments(
      step.getArguments().take_front(numLossArguments));
  SmallVector<Value> cotangents;
  for (unsigned i = 0; i < loss.getNumResults(); ++i) {
    auto tensor = dyn_cast<RankedTensorType>(lossType.getResult(i));
    if (!tensor || !isa<FloatType>(tensor.getElementType()))
      continue;
    if (!tensor.hasStaticShape())
      return loss.emitError("expected result ")
             << i << " of '@loss' to have a static shape, but got " << tensor;
    double seed = loss.getResultAttr(i, attr::kLoss) ? 1.0 : 0.0;
    cotangents.push_back(arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            tensor, builder.getFloatAttr(tensor.getElementType(), seed))));
  }
  SmallVector<Type> vjpTypes(lossType.getResults());
  SmallVector<int64_t> wrt;
  for (unsigned i : trained) {
    vjpTypes.push_back(loss.getArgument(i).getType());
    wrt.push_back(i);
  }
  auto vjp = VjpOp::create(builder, loc, vjpTypes, loss.getName(), arguments,
                           wrt, cotangents);
  SmallVector<Value> results(vjp.getResults().take_front(loss.getNumResults()));
  OptimizerContext context{builder, loc, step.getArgument(*rateArgument),
                           stepArgument ? step.getArgument(*stepArgument)
                                        : Value()};
  std::unique_ptr<OptimizerStep> update = optimizer.begin(context);
  for (auto [position, i] : llvm::enumerate(trained)) {
    SmallVector<Value> states;
    for (unsigned s = 0; s < optimizer.getStateNames().size(); ++s)
      states.push_back(step.getArgument(firstState[i] + s));
    llvm::append_range(
        results,
        update->apply(step.getArgument(i),
                      vjp.getResult(loss.getNumResults() + position), states));
  }
  func::ReturnOp::create(builder, loc, results);
  return success();
}

void BuildTrainStepPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto loss = module.lookupSymbol<func::FuncOp>("loss");
  if (!loss) {
    module.emitError("expected a function '@loss' to train");
    return signalPassFailure();
  }
  for (StringRef name : {"train_step", "evaluate"})
    if (Operation *other = module.lookupSymbol(name)) {
      other->emitError("'@") << name << "' is there already";
      return signalPassFailure();
    }
  OptimizerOptions settings{weightDecay, momentum, beta1, beta2, epsilon};
  std::unique_ptr<Optimizer> chosen = createOptimizer(optimizer, settings);
  if (!chosen) {
    module.emitError("unknown optimizer '")
        << optimizer << "'; known are sgd, momentum, adam, adamw";
    return signalPassFailure();
  }
  if (failed(checkLoss(loss)) || failed(buildTrainStep(loss, *chosen)))
    return signalPassFailure();
  buildEvaluate(loss);
}
