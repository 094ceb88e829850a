// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers, lifetimes and launches of a partitioned function.

#include "Program.h"

#include "neoflow/Partition/MemoryPlan.h"
#include "neoflow/Runtime/ABI.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/SHA256.h"

using namespace neoflow;

int64_t neoflow::getBufferBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  return (tensor ? tensor.getNumElements() : 1) * ((bits + 7) / 8);
}

/// Whether `kernel` reads argument `position` only in computes without
/// reduction, at the indices themselves: such a kernel may write its result
/// over the argument.
static bool readsPointwise(KernelOp kernel, unsigned position) {
  BlockArgument argument = kernel.getBody().getArgument(position);
  for (Operation *user : argument.getUsers()) {
    auto compute = dyn_cast<ComputeOp>(user);
    if (!compute)
      return false;
    for (ReadOp read : compute.getBody().getOps<ReadOp>()) {
      if (compute.getBoundOperand(cast<BlockArgument>(read.getTensor())) !=
          argument)
        continue;
      std::optional<AffineMap> map = getSubscriptsOverIndices(read);
      if (compute.getKind() != ReductionKind::none || !map ||
          !map->isIdentity())
        return false;
    }
    if (llvm::is_contained(compute.getInits(), argument))
      return false;
  }
  return true;
}

namespace {

class ProgramBuilder {
public:
  ProgramBuilder(
      func::FuncOp function, ConstantMap &constants,
      function_ref<std::string(KernelOp)> addKernel,
      function_ref<FailureOr<std::string>(RankedTensorType)> createCopy)
      : function(function), constants(constants), addKernel(addKernel),
        createCopy(createCopy), symbols(function->getParentOfType<ModuleOp>()) {
  }

  FailureOr<Program> run();

private:
  int addBuffer(ProgramBuffer buffer) {
    program.buffers.push_back(std::move(buffer));
    return static_cast<int>(program.buffers.size()) - 1;
  }
  void bindResults();
  bool canUpdateInPlace(LaunchOp producer, BlockArgument argument, Type type);
  FailureOr<int> getBuffer(Value value);
  void placeArena();

  func::FuncOp function;
  ConstantMap &constants;
  function_ref<std::string(KernelOp)> addKernel;
  function_ref<FailureOr<std::string>(RankedTensorType)> createCopy;
  SymbolTable symbols;
  Program program;
  SmallVector<LaunchOp> launches;
  llvm::DenseMap<Operation *, int> timeOf;
  llvm::DenseMap<Value, int> bufferOf;
  /// Copies at the end: from a value to an argument's buffer.
  SmallVector<std::pair<Value, int>> copies;
};

} // namespace

/// The kernel that makes the new state must not read the old one other than
/// element by element, and nobody may read the old one later.
bool ProgramBuilder::canUpdateInPlace(LaunchOp producer, BlockArgument argument,
                                      Type type) {
  auto kernel = symbols.lookup<KernelOp>(producer.getCallee());
  for (Operation *user : argument.getUsers()) {
    auto launch = dyn_cast<LaunchOp>(user);
    if (!launch)
      return false; // Returned as it was: the old value must survive.
    if (timeOf.lookup(launch) > timeOf.lookup(producer))
      return false;
    if (launch != producer)
      continue;
    for (auto [i, operand] : llvm::enumerate(launch.getOperands()))
      if (operand == argument && !readsPointwise(kernel, i))
        return false;
  }
  return true;
}

void ProgramBuilder::bindResults() {
  auto terminator = cast<func::ReturnOp>(function.front().getTerminator());
  program.results.resize(terminator.getNumOperands());
  // States first: they decide where values live.
  for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
    auto state = function.getResultAttrOfType<IntegerAttr>(i, attr::kNewState);
    if (!state)
      continue;
    BlockArgument argument = function.getArgument(state.getInt());
    int buffer = program.arguments[state.getInt()];
    program.results[i] = buffer;
    if (value == argument)
      continue;
    auto producer = value.getDefiningOp<LaunchOp>();
    if (producer && !bufferOf.contains(value) &&
        canUpdateInPlace(producer, argument, value.getType()))
      bufferOf[value] = buffer;
    else
      copies.push_back({value, buffer});
  }
  for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
    if (function.getResultAttr(i, attr::kNewState))
      continue;
    int buffer = addBuffer({ProgramBuffer::result, static_cast<int>(i), 0, "",
                            getBufferBytes(value.getType())});
    program.results[i] = buffer;
    bufferOf[value] = buffer;
  }
}

/// The tensor that the constant `attribute` of `type` stands for; nothing when
/// its elements are not at hand.
static DenseElementsAttr getDense(Attribute attribute, Type type) {
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute))
    return dense;
  if (isa<FloatAttr, IntegerAttr>(attribute))
    return DenseElementsAttr::get(RankedTensorType::get({}, type), attribute);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    bool isSplat;
    if (blob && DenseElementsAttr::isValidRawBuffer(resource.getType(),
                                                    blob->getData(), isSplat))
      return DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                                 blob->getData());
  }
  return {};
}

FailureOr<int> ProgramBuilder::getBuffer(Value value) {
  auto it = bufferOf.find(value);
  if (it != bufferOf.end())
    return it->second;
  int buffer;
  Attribute attribute;
  if (matchPattern(value, m_Constant(&attribute))) {
    DenseElementsAttr constant = getDense(attribute, value.getType());
    if (!constant || !isSupportedElementType(constant.getElementType()))
      return value.getDefiningOp()->emitError(
                 "expected a dense constant of numbers, but got ")
             << attribute;
    // The name follows from the content, so that equal constants are one.
    llvm::SHA256 hash;
    std::string type;
    llvm::raw_string_ostream(type) << constant.getType();
    hash.update(type);
    ArrayRef<char> bytes = constant.getRawData();
    hash.update(StringRef(bytes.data(), bytes.size()));
    hash.update(constant.isSplat() ? "splat" : "");
    std::string name =
        "c" + llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 16);
    constants.insert({name, constant});
    buffer = addBuffer(
        {ProgramBuffer::constant, 0, 0, name, getBufferBytes(value.getType())});
  } else {
    buffer = addBuffer(
        {ProgramBuffer::arena, 0, 0, "", getBufferBytes(value.getType())});
  }
  bufferOf[value] = buffer;
  return buffer;
}

void ProgramBuilder::placeArena() {
  std::vector<int> ids;
  std::vector<partition::Lifetime> lives;
  std::map<int, size_t> lifeOf;
  for (auto [time, launch] : llvm::enumerate(program.launches)) {
    for (int buffer : launch.buffers) {
      if (program.buffers[buffer].kind != ProgramBuffer::arena)
        continue;
      auto [it, inserted] = lifeOf.insert({buffer, lives.size()});
      int now = static_cast<int>(time);
      if (inserted) {
        ids.push_back(buffer);
        lives.push_back({program.buffers[buffer].bytes, now, now});
      }
      lives[it->second].last = now;
    }
  }
  partition::MemoryPlan plan = partition::planMemory(lives, NEOFLOW_ALIGNMENT);
  for (size_t i = 0; i < ids.size(); ++i)
    program.buffers[ids[i]].offset = plan.offsets[i];
  program.arena = plan.arena;
  program.maxLive = plan.maxLive;
}

FailureOr<Program> ProgramBuilder::run() {
  for (Operation &op : function.front().without_terminator()) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      timeOf[launch] = static_cast<int>(launches.size());
      launches.push_back(launch);
    } else if (!op.hasTrait<OpTrait::ConstantLike>()) {
      op.emitError("cannot stand in a program, which holds launches only");
      return failure();
    }
  }
  for (BlockArgument argument : function.getArguments()) {
    int buffer = addBuffer({ProgramBuffer::argument,
                            static_cast<int>(argument.getArgNumber()), 0, "",
                            getBufferBytes(argument.getType())});
    program.arguments.push_back(buffer);
    bufferOf[argument] = buffer;
  }
  bindResults();
  for (LaunchOp launch : launches) {
    ProgramLaunch entry;
    entry.kernel = addKernel(symbols.lookup<KernelOp>(launch.getCallee()));
    auto bind = [&](Value value) {
      FailureOr<int> buffer = getBuffer(value);
      if (succeeded(buffer))
        entry.buffers.push_back(*buffer);
      return LogicalResult(buffer);
    };
    for (Value operand : launch.getOperands())
      if (failed(bind(operand)))
        return failure();
    for (Value result : launch.getResults())
      if (failed(bind(result)))
        return failure();
    program.launches.push_back(std::move(entry));
  }
  for (auto [value, buffer] : copies) {
    FailureOr<int> source = getBuffer(value);
    FailureOr<std::string> kernel =
        createCopy(cast<RankedTensorType>(value.getType()));
    if (failed(source) || failed(kernel))
      return failure();
    program.launches.push_back({*kernel, {*source, buffer}});
  }
  placeArena();
  return program;
}

FailureOr<Program> neoflow::buildProgram(
    func::FuncOp function, ConstantMap &constants,
    function_ref<std::string(KernelOp)> addKernel,
    function_ref<FailureOr<std::string>(RankedTensorType)> createCopy) {
  return ProgramBuilder(function, constants, addKernel, createCopy).run();
}
