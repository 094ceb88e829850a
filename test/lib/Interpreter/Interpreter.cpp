// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions, kernels and calls, on an explicit stack.

#include "Interpreter.h"
#include "Comprehension.h"
#include "Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"

#include <memory>

using namespace neoflow;
using namespace neoflow::test;

int64_t Tensor::size() const {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

void Tensor::allocate() {
  if (isFloat())
    floats.assign(size(), 0.0);
  else
    integers.assign(size(), 0);
}

namespace {

using TensorRef = std::shared_ptr<const Tensor>;

/// How far a scan has come.
struct ScanProgress {
  int64_t step = 0;
  SmallVector<TensorRef> carries;
  std::vector<Tensor> outputs;
};

/// A function or kernel that is being executed.
struct Frame {
  /// The call, null for the outermost function.
  Operation *call;
  Block::iterator next;
  DenseMap<Value, TensorRef> values;
  /// Of the scan that this frame is at.
  ScanProgress scan;
};

class Interpreter {
public:
  explicit Interpreter(func::FuncOp function)
      : module(function->getParentOfType<ModuleOp>()) {}

  FailureOr<std::vector<Tensor>> run(func::FuncOp function,
                                     ArrayRef<Tensor> inputs);

private:
  LogicalResult enter(Operation *call, FunctionOpInterface callee,
                      ArrayRef<TensorRef> arguments);
  LogicalResult step(Operation *op);
  LogicalResult runConstant(arith::ConstantOp op);
  LogicalResult runDim(tensor::DimOp op);
  LogicalResult runScalar(Operation *op);
  LogicalResult leave(OperandRange results);
  LogicalResult startScan(ScanOp op);
  LogicalResult runScanStep(ScanOp op);
  LogicalResult endScanStep(ScanOp op, ArrayRef<TensorRef> results);

  TensorRef get(Value value) { return stack.back().values.lookup(value); }
  void set(Value value, Tensor tensor) {
    stack.back().values[value] =
        std::make_shared<const Tensor>(std::move(tensor));
  }
  SmallVector<const Tensor *> getOperands(Operation *op) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(get(operand).get());
    return operands;
  }

  ModuleOp module;
  SymbolTableCollection symbols;
  std::vector<Frame> stack;
  std::optional<std::vector<Tensor>> results;
};

/// Whether `tensor` may be passed as a value of `type`.
bool fits(const Tensor &tensor, Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (!shaped)
    return tensor.shape.empty() && tensor.elementType == type;
  if (tensor.elementType != shaped.getElementType() ||
      tensor.shape.size() != static_cast<size_t>(shaped.getRank()))
    return false;
  for (auto [have, want] : llvm::zip(tensor.shape, shaped.getShape()))
    if (!ShapedType::isDynamic(want) && have != want)
      return false;
  return true;
}

LogicalResult Interpreter::enter(Operation *call, FunctionOpInterface callee,
                                 ArrayRef<TensorRef> arguments) {
  if (callee.isExternal())
    return callee.emitError("the function has no body to interpret");
  if (!llvm::hasSingleElement(callee.getFunctionBody()))
    return callee.emitError("expected a function of one block");
  if (arguments.size() != callee.getNumArguments())
    return callee.emitError("expected ")
           << callee.getNumArguments() << " inputs, but got "
           << arguments.size();
  Block &block = callee.getFunctionBody().front();
  Frame frame{call, block.begin(), DenseMap<Value, TensorRef>(),
              ScanProgress()};
  for (auto [argument, tensor] : llvm::zip(block.getArguments(), arguments)) {
    if (!fits(*tensor, argument.getType())) {
      InFlightDiagnostic diagnostic = callee.emitError("expected input ")
                                      << argument.getArgNumber() << " to be "
                                      << argument.getType() << ", but got ";
      if (tensor->shape.empty())
        return diagnostic << tensor->elementType;
      return diagnostic << RankedTensorType::get(tensor->shape,
                                                 tensor->elementType);
    }
    frame.values[argument] = tensor;
  }
  stack.push_back(std::move(frame));
  return success();
}

LogicalResult Interpreter::runConstant(arith::ConstantOp op) {
  Tensor tensor;
  if (auto shaped = dyn_cast<RankedTensorType>(op.getType())) {
    auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!elements)
      return op.emitOpError("is a constant of a kind that the interpreter does "
                            "not support");
    tensor.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
    tensor.elementType = shaped.getElementType();
    tensor.allocate();
    for (auto [i, value] : llvm::enumerate(elements.getValues<Attribute>()))
      setElement(tensor, i, fromAttribute(value));
  } else {
    tensor.elementType = op.getType();
    tensor.allocate();
    setElement(tensor, 0, fromAttribute(op.getValue()));
  }
  set(op.getResult(), std::move(tensor));
  return success();
}

LogicalResult Interpreter::runDim(tensor::DimOp op) {
  TensorRef source = get(op.getSource());
  int64_t dim = getScalar(*get(op.getIndex())).i;
  if (dim < 0 || dim >= static_cast<int64_t>(source->shape.size()))
    return op.emitOpError("has no dimension ") << dim;
  Tensor result;
  result.elementType = op.getType();
  result.integers = {source->shape[dim]};
  set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Interpreter::runScalar(Operation *op) {
  ScalarFunction function = getScalarFunction(op);
  if (!function)
    return op->emitError("the interpreter does not support '")
           << op->getName() << "' here";
  SmallVector<Scalar> operands;
  for (const Tensor *operand : getOperands(op))
    operands.push_back(getScalar(*operand));
  Scalar value;
  if (const char *why = function(op, operands, value))
    return op->emitOpError("cannot be evaluated: ") << why;
  Tensor result;
  result.elementType = op->getResult(0).getType();
  result.allocate();
  setElement(result, 0, value);
  set(op->getResult(0), std::move(result));
  return success();
}

/// The position in the stack of the slices that `op` visits at `step`.
static int64_t getSlice(ScanOp op, int64_t step) {
  return op.getReverse() ? op.getSteps() - 1 - step : step;
}

LogicalResult Interpreter::startScan(ScanOp op) {
  ScanProgress &scan = stack.back().scan;
  scan = ScanProgress();
  for (Value carry : op.getCarries())
    scan.carries.push_back(get(carry));
  for (Value output : op.getOutputs()) {
    auto type = cast<RankedTensorType>(output.getType());
    Tensor &tensor = scan.outputs.emplace_back();
    tensor.shape.assign(type.getShape().begin(), type.getShape().end());
    tensor.elementType = type.getElementType();
    tensor.allocate();
  }
  return runScanStep(op);
}

LogicalResult Interpreter::runScanStep(ScanOp op) {
  ScanProgress &scan = stack.back().scan;
  if (scan.step == op.getSteps()) {
    for (auto [result, carry] : llvm::zip(op.getLastCarries(), scan.carries))
      stack.back().values[result] = carry;
    for (auto [result, output] : llvm::zip(op.getOutputs(), scan.outputs))
      set(result, std::move(output));
    return success();
  }
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      op, op.getCalleeAttr());
  SmallVector<TensorRef> arguments(scan.carries);
  for (Value operand : op.getStacked()) {
    TensorRef whole = get(operand);
    auto type =
        cast<RankedTensorType>(callee.getArgumentTypes()[arguments.size()]);
    Tensor slice;
    slice.shape.assign(type.getShape().begin(), type.getShape().end());
    slice.elementType = type.getElementType();
    slice.allocate();
    int64_t offset = getSlice(op, scan.step) * slice.size();
    for (int64_t i = 0; i < slice.size(); ++i)
      setElement(slice, i, getElement(*whole, offset + i));
    arguments.push_back(std::make_shared<const Tensor>(std::move(slice)));
  }
  for (Value operand : op.getInvariants())
    arguments.push_back(get(operand));
  return enter(op, callee, arguments);
}

LogicalResult Interpreter::endScanStep(ScanOp op, ArrayRef<TensorRef> results) {
  ScanProgress &scan = stack.back().scan;
  unsigned numCarries = op.getNumCarries();
  scan.carries.assign(results.begin(), results.begin() + numCarries);
  for (auto [whole, slice] :
       llvm::zip(scan.outputs, results.drop_front(numCarries))) {
    int64_t offset = getSlice(op, scan.step) * slice->size();
    for (int64_t i = 0; i < slice->size(); ++i)
      setElement(whole, offset + i, getElement(*slice, i));
  }
  ++scan.step;
  return runScanStep(op);
}

LogicalResult Interpreter::leave(OperandRange operands) {
  SmallVector<TensorRef> values;
  for (Value operand : operands)
    values.push_back(get(operand));
  Operation *call = stack.back().call;
  stack.pop_back();
  if (auto scan = dyn_cast_or_null<ScanOp>(call))
    return endScanStep(scan, values);
  if (call) {
    for (auto [result, value] : llvm::zip(call->getResults(), values))
      stack.back().values[result] = value;
    return success();
  }
  results.emplace();
  for (const TensorRef &value : values)
    results->push_back(*value);
  return success();
}

LogicalResult Interpreter::step(Operation *op) {
  if (auto compute = dyn_cast<ComputeOp>(op)) {
    FailureOr<std::vector<Tensor>> tensors =
        evaluateCompute(compute, getOperands(op));
    if (failed(tensors))
      return failure();
    for (auto [result, tensor] : llvm::zip(op->getResults(), *tensors))
      set(result, std::move(tensor));
    return success();
  }
  if (auto scatter = dyn_cast<ScatterOp>(op)) {
    FailureOr<Tensor> tensor = evaluateScatter(scatter, getOperands(op));
    if (failed(tensor))
      return failure();
    set(op->getResult(0), std::move(*tensor));
    return success();
  }
  if (isa<StopGradientOp, tensor::CastOp>(op)) {
    TensorRef source = get(op->getOperand(0));
    if (!fits(*source, op->getResult(0).getType()))
      return op->emitOpError("casts a tensor of another shape");
    stack.back().values[op->getResult(0)] = source;
    return success();
  }
  if (isa<func::CallOp, LaunchOp>(op)) {
    auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
        op, op->getAttrOfType<FlatSymbolRefAttr>("callee"));
    if (!callee)
      return op->emitOpError("calls nothing");
    if (stack.size() > 10000)
      return op->emitOpError("recursion is too deep");
    SmallVector<TensorRef> arguments;
    for (Value operand : op->getOperands())
      arguments.push_back(get(operand));
    return enter(op, callee, arguments);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return runConstant(constant);
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return runDim(dim);
  if (auto scan = dyn_cast<ScanOp>(op))
    return startScan(scan);
  if (isa<func::ReturnOp>(op))
    return leave(op->getOperands());
  if (auto yield = dyn_cast<YieldOp>(op))
    return leave(yield.getValues());
  if (isa<VjpOp>(op))
    return op->emitOpError("cannot be interpreted; run neoflow-differentiate "
                           "first");
  return runScalar(op);
}

FailureOr<std::vector<Tensor>> Interpreter::run(func::FuncOp function,
                                                ArrayRef<Tensor> inputs) {
  SmallVector<TensorRef> arguments;
  for (const Tensor &input : inputs)
    arguments.push_back(std::make_shared<const Tensor>(input));
  if (failed(enter(nullptr, function, arguments)))
    return failure();
  while (!results) {
    Operation &op = *stack.back().next++;
    if (failed(step(&op)))
      return failure();
  }
  return std::move(*results);
}

} // namespace

FailureOr<std::vector<Tensor>>
neoflow::test::interpret(func::FuncOp function, ArrayRef<Tensor> inputs) {
  return Interpreter(function).run(function, inputs);
}
