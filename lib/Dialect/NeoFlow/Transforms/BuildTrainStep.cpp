// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds @train_step and @evaluate from @loss. Optimisers are computes.

#include "GradientTransforms.h"

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
  LogicalResult buildGradient(func::FuncOp loss);
  std::string checkOptions() const;
  RateSchedule getSchedule() const {
    return {schedule, warmup, scheduleSteps, scheduleEvery, scheduleGamma};
  }
  bool usesStep(const Optimizer &optimizer) const {
    return optimizer.usesStep() || !getSchedule().isConstant() ||
           accumulate > 1 || average > 0 || masterWeights;
  }
};

/// The positions of the states of one parameter among the arguments.
struct ParameterStates {
  unsigned first;
  std::optional<unsigned> master, sum, average;
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

/// The derivative of `scale` times the loss with respect to the arguments
/// `trained`.
static FailureOr<VjpOp> createDerivative(OpBuilder &builder, func::FuncOp loss,
                                         ValueRange arguments,
                                         ArrayRef<unsigned> trained,
                                         double scale) {
  FunctionType type = loss.getFunctionType();
  SmallVector<Value> cotangents;
  for (unsigned i = 0; i < loss.getNumResults(); ++i) {
    auto tensor = dyn_cast<RankedTensorType>(type.getResult(i));
    if (!tensor || !isa<FloatType>(tensor.getElementType()))
      continue;
    if (!tensor.hasStaticShape())
      return loss.emitError("expected result ")
             << i << " of '@loss' to have a static shape, but got " << tensor;
    double seed = loss.getResultAttr(i, attr::kLoss) ? scale : 0.0;
    cotangents.push_back(arith::ConstantOp::create(
        builder, loss.getLoc(),
        DenseElementsAttr::get(
            tensor, builder.getFloatAttr(tensor.getElementType(), seed))));
  }
  SmallVector<Type> types(type.getResults());
  SmallVector<int64_t> wrt;
  for (unsigned i : trained) {
    types.push_back(type.getInput(i));
    wrt.push_back(i);
  }
  return VjpOp::create(builder, loss.getLoc(), types, loss.getName(), arguments,
                       wrt, cotangents);
}

LogicalResult BuildTrainStepPass::buildGradient(func::FuncOp loss) {
  Signature signature;
  SmallVector<unsigned> trained;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    signature.addArgument(loss.getArgument(i).getType(), getArgAttrs(loss, i));
    if (isTrained(loss, i))
      trained.push_back(i);
  }
  for (unsigned i = 0; i < loss.getNumResults(); ++i)
    signature.addResult(loss.getFunctionType().getResult(i),
                        getResultAttrs(loss, i));
  for (unsigned i : trained)
    signature.addResult(loss.getArgument(i).getType(),
                        DictionaryAttr::get(loss.getContext()));
  func::FuncOp function = createFunction(loss, "gradient", signature);
  OpBuilder builder = OpBuilder::atBlockEnd(&function.front());
  FailureOr<VjpOp> vjp = createDerivative(
      builder, loss, function.getArguments(), trained, /*scale=*/1.0);
  if (failed(vjp))
    return failure();
  func::ReturnOp::create(builder, loss.getLoc(), vjp->getResults());
  return success();
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
  // States, tensors like the parameter.
  llvm::DenseMap<unsigned, ParameterStates> states;
  for (unsigned i : trained) {
    auto name = loss.getArgAttrOfType<StringAttr>(i, attr::kParam);
    auto type = cast<RankedTensorType>(loss.getArgument(i).getType());
    auto wide = type.clone(getComputeType(type.getElementType()));
    auto addState = [&](StringRef suffix, Type stateType) {
      return signature.addArgument(
          stateType,
          attrs.getDictionaryAttr(
              {named(attr::kState,
                     attrs.getStringAttr(name.getValue() + "." + suffix)),
               named(attr::kZeros, attrs.getUnitAttr())}));
    };
    ParameterStates &own = states[i];
    bool hasMaster = masterWeights && wide != type;
    own.first = signature.arguments.size();
    for (StringRef suffix : optimizer.getStateNames())
      addState(suffix, hasMaster ? wide : type);
    if (hasMaster)
      own.master = addState("master", wide);
    if (accumulate > 1)
      own.sum = addState("gradient_sum", wide);
    if (average > 0)
      own.average = addState("average", wide);
  }
  if (usesStep(optimizer) && !stepArgument)
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
    signature.addResult(signature.arguments[i], newState(i));
    const ParameterStates &own = states[i];
    unsigned next = own.first;
    auto addNewState = [&] {
      signature.addResult(signature.arguments[next], newState(next));
      ++next;
    };
    for (unsigned s = 0; s < optimizer.getStateNames().size(); ++s)
      addNewState();
    for (const auto &extra : {own.master, own.sum, own.average})
      if (extra)
        addNewState();
  }

  func::FuncOp step = createFunction(loss, "train_step", signature);
  OpBuilder builder = OpBuilder::atBlockEnd(&step.front());
  SmallVector<Value> arguments(
      step.getArguments().take_front(numLossArguments));
  FailureOr<VjpOp> derivative =
      createDerivative(builder, loss, arguments, trained, lossScale);
  if (failed(derivative))
    return failure();
  VjpOp vjp = *derivative;
  SmallVector<Value> results(vjp.getResults().take_front(loss.getNumResults()));
  OptimizerContext micro{builder, loc, step.getArgument(*rateArgument),
                         stepArgument ? step.getArgument(*stepArgument)
                                      : Value()};
  SmallVector<Value> gradients(
      vjp.getResults().drop_front(loss.getNumResults()));
  if (lossScale != 1.0 || accumulate > 1)
    for (Value &gradient : gradients)
      gradient = createScaled(micro, gradient, 1.0 / (lossScale * accumulate));
  SmallVector<Value> sums;
  if (accumulate > 1)
    for (auto [position, i] : llvm::enumerate(trained)) {
      Value before = step.getArgument(*states[i].sum);
      gradients[position] =
          createMap(micro, cast<RankedTensorType>(before.getType()),
                    {before, gradients[position]},
                    [](const FloatBuilder &f, ArrayRef<Value> v) {
                      return f.add(v[0], v[1]);
                    });
      sums.push_back(gradients[position]);
    }
  if (clipValue > 0)
    gradients = clipByValue(micro, gradients, clipValue);
  if (clipNorm > 0)
    gradients = clipByNorm(micro, gradients, clipNorm);

  // Updates are counted, not the steps that they are made of.
  OptimizerContext context = micro;
  if (accumulate > 1)
    context.step = createMap(
        micro, RankedTensorType::get({}, builder.getI64Type()), micro.step,
        [&](const FloatBuilder &f, ArrayRef<Value> v) -> Value {
          return arith::DivSIOp::create(
              f.builder, f.loc, v[0],
              arith::ConstantOp::create(
                  f.builder, f.loc, f.builder.getI64IntegerAttr(accumulate)));
        });
  if (!getSchedule().isConstant())
    context.learningRate = createScheduledRate(context, getSchedule());
  // Between updates everything stays as it is.
  auto whenUpdated = [&](Value after, Value before) {
    return accumulate > 1 ? createPeriodic(micro, accumulate, after, before)
                          : after;
  };
  std::unique_ptr<OptimizerStep> update = optimizer.begin(context);
  for (auto [position, i] : llvm::enumerate(trained)) {
    const ParameterStates &own = states[i];
    Value stored = step.getArgument(i);
    auto type = cast<RankedTensorType>(stored.getType());
    Value parameter = stored;
    if (own.master) {
      Value master = step.getArgument(*own.master);
      parameter = createFirstOr(micro, cast<RankedTensorType>(master.getType()),
                                stored, master);
    }
    SmallVector<Value> before{parameter};
    for (unsigned s = 0; s < optimizer.getStateNames().size(); ++s)
      before.push_back(step.getArgument(own.first + s));
    SmallVector<Value> after = update->apply(parameter, gradients[position],
                                             ArrayRef(before).drop_front());
    for (auto [next, previous] : llvm::zip(after, before))
      next = whenUpdated(next, previous);
    auto narrow = [&](Value value) {
      return createMap(context, type, value,
                       [](const FloatBuilder &f, ArrayRef<Value> v) {
                         return f.convert(v[0]);
                       });
    };
    results.push_back(own.master ? narrow(after[0]) : after[0]);
    llvm::append_range(results, ArrayRef(after).drop_front());
    if (own.master)
      results.push_back(after[0]);
    if (own.sum)
      results.push_back(createPeriodic(micro, accumulate,
                                       createScaled(micro, sums[position], 0.0),
                                       sums[position]));
    if (own.average) {
      Value previous = step.getArgument(*own.average);
      auto wide = cast<RankedTensorType>(previous.getType());
      Value moved =
          createMap(context, wide, {previous, after[0]},
                    [&](const FloatBuilder &f, ArrayRef<Value> v) {
                      return f.add(f.mul(f.c(average), v[0]),
                                   f.mul(f.c(1 - average), f.convert(v[1])));
                    });
      results.push_back(
          whenUpdated(createFirstOr(context, wide, after[0], moved), previous));
    }
  }
  func::ReturnOp::create(builder, loc, results);
  return success();
}

std::string BuildTrainStepPass::checkOptions() const {
  auto expect = [](StringRef name, StringRef what) {
    return ("expected '" + name + "' to be " + what).str();
  };
  if (!(clipValue >= 0))
    return expect("clip-value", "at least 0");
  if (!(clipNorm >= 0))
    return expect("clip-norm", "at least 0");
  if (accumulate < 1)
    return expect("accumulate", "at least 1");
  if (!(average >= 0 && average < 1))
    return expect("average", "at least 0 and less than 1");
  if (!(lossScale > 0))
    return expect("loss-scale", "positive");
  return getSchedule().verify();
}

void BuildTrainStepPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto loss = module.lookupSymbol<func::FuncOp>("loss");
  if (!loss) {
    module.emitError("expected a function '@loss' to train");
    return signalPassFailure();
  }
  for (StringRef name : {"train_step", "evaluate", "gradient"})
    if (Operation *other = module.lookupSymbol(name);
        other && (gradient || name != "gradient")) {
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
  if (std::string wrong = checkOptions(); !wrong.empty()) {
    module.emitError(wrong);
    return signalPassFailure();
  }
  if (failed(checkLoss(loss)) || failed(buildTrainStep(loss, *chosen)) ||
      (gradient && failed(buildGradient(loss))))
    return signalPassFailure();
  buildEvaluate(loss);
}
