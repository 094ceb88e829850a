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

/// A function whose launches are being added: once for the program itself, and
/// once for each scan that calls it.
struct Scope {
  explicit Scope(func::FuncOp function) : function(function) {
    for (auto [time, op] : llvm::enumerate(function.front()))
      timeOf[&op] = static_cast<int>(time);
  }

  func::FuncOp function;
  llvm::DenseMap<Operation *, int> timeOf;
  llvm::DenseMap<Value, int> bufferOf;
  /// Copies at the end: from a value to a buffer.
  SmallVector<std::pair<Value, int>> copies;
};

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
  int addArenaBuffer(Type type) {
    return addBuffer({ProgramBuffer::arena, 0, 0, "", getBufferBytes(type)});
  }
  void bindResults(Scope &scope);
  bool canUpdateInPlace(Scope &scope, Operation *producer,
                        BlockArgument argument);
  FailureOr<int> getBuffer(Scope &scope, Value value);
  LogicalResult addOperations(Scope &scope);
  LogicalResult addLaunch(Scope &scope, LaunchOp launch);
  LogicalResult addScan(Scope &scope, ScanOp scan);
  FailureOr<int> bindCarry(Scope &scope, ScanOp scan, Scope &step, unsigned i,
                           int loop);
  LogicalResult addCopy(Scope &scope, Value value, int buffer);
  void placeArena();

  func::FuncOp function;
  ConstantMap &constants;
  function_ref<std::string(KernelOp)> addKernel;
  function_ref<FailureOr<std::string>(RankedTensorType)> createCopy;
  SymbolTable symbols;
  Program program;
};

} // namespace

/// The kernel that makes the new state must not read the old one other than
/// element by element, and nobody may read the old one later.
bool ProgramBuilder::canUpdateInPlace(Scope &scope, Operation *producer,
                                      BlockArgument argument) {
  auto maker = dyn_cast_or_null<LaunchOp>(producer);
  if (!maker)
    return false;
  auto kernel = symbols.lookup<KernelOp>(maker.getCallee());
  for (Operation *user : argument.getUsers()) {
    auto launch = dyn_cast<LaunchOp>(user);
    if (!launch)
      return false; // Returned as it was: the old value must survive.
    if (scope.timeOf.lookup(launch) > scope.timeOf.lookup(maker))
      return false;
    if (launch != maker)
      continue;
    for (auto [i, operand] : llvm::enumerate(launch.getOperands()))
      if (operand == argument && !readsPointwise(kernel, i))
        return false;
  }
  return true;
}

void ProgramBuilder::bindResults(Scope &scope) {
  Operation *terminator = function.front().getTerminator();
  program.results.resize(terminator->getNumOperands());
  // States first: they decide where values live.
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto state = function.getResultAttrOfType<IntegerAttr>(i, attr::kNewState);
    if (!state)
      continue;
    BlockArgument argument = function.getArgument(state.getInt());
    int buffer = program.arguments[state.getInt()];
    program.results[i] = buffer;
    if (value == argument)
      continue;
    if (!scope.bufferOf.contains(value) &&
        canUpdateInPlace(scope, value.getDefiningOp(), argument))
      scope.bufferOf[value] = buffer;
    else
      scope.copies.push_back({value, buffer});
  }
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    if (function.getResultAttr(i, attr::kNewState))
      continue;
    int buffer = addBuffer({ProgramBuffer::result, static_cast<int>(i), 0, "",
                            getBufferBytes(value.getType())});
    program.results[i] = buffer;
    scope.bufferOf[value] = buffer;
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

FailureOr<int> ProgramBuilder::getBuffer(Scope &scope, Value value) {
  auto it = scope.bufferOf.find(value);
  if (it != scope.bufferOf.end())
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
    buffer = addArenaBuffer(value.getType());
  }
  scope.bufferOf[value] = buffer;
  return buffer;
}

/// The loops around launch `time`, outermost first.
static SmallVector<int> getLoopsAround(const Program &program, int time) {
  SmallVector<int> around;
  for (auto [i, loop] : llvm::enumerate(program.loops))
    if (loop.first <= time && time < loop.last)
      around.push_back(static_cast<int>(i));
  return around;
}

/// Calls `use` for the buffer in memory behind `buffer`, with the outermost
/// loop in which the address moves, or -1.
static void forEachPlace(const Program &program, int buffer, int loop,
                         function_ref<void(int, int)> use) {
  const ProgramBuffer &entry = program.buffers[buffer];
  switch (entry.kind) {
  case ProgramBuffer::alternate:
    forEachPlace(program, entry.odd, entry.loop, use);
    [[fallthrough]];
  case ProgramBuffer::slice:
    return forEachPlace(program, entry.index, entry.loop, use);
  default:
    return use(buffer, loop);
  }
}

void ProgramBuilder::placeArena() {
  struct Uses {
    int first, last;
    /// The loops that all uses have in common, outermost first.
    SmallVector<int> loops;
    SmallVector<int> times;
  };
  llvm::MapVector<int, Uses> usesOf;
  for (int time = 0; time < static_cast<int>(program.launches.size()); ++time) {
    SmallVector<int> around = getLoopsAround(program, time);
    for (int buffer : program.launches[time].buffers)
      forEachPlace(program, buffer, -1, [&](int place, int loop) {
        if (program.buffers[place].kind != ProgramBuffer::arena)
          return;
        SmallVector<int> loops(around);
        if (loop >= 0)
          loops.truncate(llvm::find(loops, loop) - loops.begin());
        auto [it, inserted] = usesOf.insert({place, {time, time, loops, {}}});
        Uses &uses = it->second;
        uses.times.push_back(time);
        unsigned common = 0;
        while (common < std::min(uses.loops.size(), loops.size()) &&
               uses.loops[common] == loops[common])
          ++common;
        uses.loops.truncate(common);
      });
  }
  std::vector<partition::Lifetime> lives;
  for (auto &[buffer, uses] : usesOf) {
    // What is used in a loop and outside of it lives for all of the loop's
    // steps.
    for (int time : uses.times) {
      SmallVector<int> around = getLoopsAround(program, time);
      int first = time, last = time;
      if (around.size() > uses.loops.size()) {
        const ProgramLoop &loop = program.loops[around[uses.loops.size()]];
        first = loop.first;
        last = loop.last - 1;
      }
      uses.first = std::min(uses.first, first);
      uses.last = std::max(uses.last, last);
    }
    lives.push_back({program.buffers[buffer].bytes, uses.first, uses.last});
  }
  partition::MemoryPlan plan = partition::planMemory(lives, NEOFLOW_ALIGNMENT);
  for (auto [i, entry] : llvm::enumerate(usesOf))
    program.buffers[entry.first].offset = plan.offsets[i];
  program.arena = plan.arena;
  program.maxLive = plan.maxLive;
}

LogicalResult ProgramBuilder::addCopy(Scope &scope, Value value, int buffer) {
  FailureOr<int> source = getBuffer(scope, value);
  FailureOr<std::string> kernel =
      createCopy(cast<RankedTensorType>(value.getType()));
  if (failed(source) || failed(kernel))
    return failure();
  program.launches.push_back({*kernel, {*source, buffer}});
  return success();
}

LogicalResult ProgramBuilder::addLaunch(Scope &scope, LaunchOp launch) {
  ProgramLaunch entry;
  entry.kernel = addKernel(symbols.lookup<KernelOp>(launch.getCallee()));
  auto bind = [&](Value value) {
    FailureOr<int> buffer = getBuffer(scope, value);
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
  return success();
}

/// Gives carry `i` its place: one buffer when a step updates it in place, and
/// otherwise two that take turns. Returns the one that the first step reads.
FailureOr<int> ProgramBuilder::bindCarry(Scope &scope, ScanOp scan, Scope &step,
                                         unsigned i, int loop) {
  FailureOr<int> last = getBuffer(scope, scan.getResult(i));
  if (failed(last))
    return failure();
  BlockArgument argument = step.function.getArgument(i);
  Value next = step.function.front().getTerminator()->getOperand(i);
  if (canUpdateInPlace(step, next.getDefiningOp(), argument)) {
    step.bufferOf[argument] = step.bufferOf[next] = *last;
    return *last;
  }
  int other = addArenaBuffer(argument.getType());
  // The last step writes the result.
  bool isEven = scan.getSteps() % 2 == 0;
  int even = isEven ? *last : other, odd = isEven ? other : *last;
  int64_t bytes = getBufferBytes(argument.getType());
  auto alternate = [&](int first, int second) {
    ProgramBuffer buffer{ProgramBuffer::alternate, first, 0, "", bytes};
    buffer.loop = loop;
    buffer.odd = second;
    return addBuffer(buffer);
  };
  step.bufferOf[argument] = alternate(even, odd);
  step.bufferOf[next] = alternate(odd, even);
  return even;
}

LogicalResult ProgramBuilder::addScan(Scope &scope, ScanOp scan) {
  auto callee = symbols.lookup<func::FuncOp>(scan.getCallee());
  Scope step(callee);
  int loop = static_cast<int>(program.loops.size());
  program.loops.push_back({0, 0, scan.getSteps()});
  for (unsigned i = 0; i < scan.getNumCarries(); ++i) {
    FailureOr<int> first = bindCarry(scope, scan, step, i, loop);
    if (failed(first) || failed(addCopy(scope, scan.getCarries()[i], *first)))
      return failure();
  }
  auto addSlice = [&](Value stack, Type type) -> FailureOr<int> {
    FailureOr<int> whole = getBuffer(scope, stack);
    if (failed(whole))
      return failure();
    int64_t bytes = getBufferBytes(type);
    ProgramBuffer slice{ProgramBuffer::slice, *whole, 0, "", bytes};
    slice.loop = loop;
    slice.reverse = scan.getReverse();
    return addBuffer(slice);
  };
  unsigned position = scan.getNumCarries();
  for (Value stack : scan.getStacked()) {
    BlockArgument argument = callee.getArgument(position++);
    FailureOr<int> slice = addSlice(stack, argument.getType());
    if (failed(slice))
      return failure();
    step.bufferOf[argument] = *slice;
  }
  for (Value invariant : scan.getInvariants()) {
    FailureOr<int> buffer = getBuffer(scope, invariant);
    if (failed(buffer))
      return failure();
    step.bufferOf[callee.getArgument(position++)] = *buffer;
  }
  for (auto [stack, value] :
       llvm::zip(scan.getOutputs(),
                 callee.front().getTerminator()->getOperands().drop_front(
                     scan.getNumCarries()))) {
    FailureOr<int> slice = addSlice(stack, value.getType());
    if (failed(slice))
      return failure();
    step.bufferOf[value] = *slice;
  }
  program.loops[loop].first = static_cast<int>(program.launches.size());
  if (failed(addOperations(step)))
    return failure();
  program.loops[loop].last = static_cast<int>(program.launches.size());
  return success();
}

LogicalResult ProgramBuilder::addOperations(Scope &scope) {
  for (Operation &op : scope.function.front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (auto scan = dyn_cast<ScanOp>(op)) {
      if (failed(addScan(scope, scan)))
        return failure();
    } else if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (failed(addLaunch(scope, launch)))
        return failure();
    } else {
      return op.emitError("cannot stand in a program, which holds launches and "
                          "scans only");
    }
  }
  for (auto [value, buffer] : scope.copies)
    if (failed(addCopy(scope, value, buffer)))
      return failure();
  return success();
}

FailureOr<Program> ProgramBuilder::run() {
  Scope scope(function);
  for (BlockArgument argument : function.getArguments()) {
    int buffer = addBuffer({ProgramBuffer::argument,
                            static_cast<int>(argument.getArgNumber()), 0, "",
                            getBufferBytes(argument.getType())});
    program.arguments.push_back(buffer);
    scope.bufferOf[argument] = buffer;
  }
  bindResults(scope);
  if (failed(addOperations(scope)))
    return failure();
  placeArena();
  return program;
}

FailureOr<Program> neoflow::buildProgram(
    func::FuncOp function, ConstantMap &constants,
    function_ref<std::string(KernelOp)> addKernel,
    function_ref<FailureOr<std::string>(RankedTensorType)> createCopy) {
  return ProgramBuilder(function, constants, addKernel, createCopy).run();
}
