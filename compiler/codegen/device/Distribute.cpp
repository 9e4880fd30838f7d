// Gives each thread its lane of every vector. The vector ops that loops/ makes are few: those that are not lane by lane are named here.
#include "compiler/codegen/device/Distribute.h"

#include "compiler/codegen/device/BlockSums.h"
#include "compiler/codegen/loops/Vector.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace npar::codegen {

namespace {
constexpr int64_t warpThreads = 32;

// Small blocks use more multiprocessors if there are few rows.
int64_t blockThreadsFor(int64_t extent) { return extent < 16384 ? 64 : 256; }

class Distribution {
public:
  Distribution(func::FuncOp function, int64_t extent)
      : function(function), loc(function.getLoc()), extent(extent), sums(BlockSums::find(function, extent)),
        blockThreads(sums ? sums.blockThreads() : blockThreadsFor(extent)), entry(OpBuilder::atBlockBegin(&function.front())) {}
  FailureOr<DeviceThreads> run();

private:
  void findTeam(ArrayRef<Operation *> ops);
  void placeThread();
  void walkRowsOfTeam();
  LogicalResult convert(Operation *op);
  LogicalResult convert(arith::ConstantOp op);
  LogicalResult convert(LLVM::ShuffleVectorOp op);
  LogicalResult convert(LLVM::LoadOp op);
  LogicalResult convert(LLVM::StoreOp op);
  LogicalResult convert(LLVM::BitcastOp op);
  LogicalResult convertTypes(Operation *op);
  Value exchange(OpBuilder &b, Value value, int64_t distance);
  Value exchangeWord(OpBuilder &b, Value word, int64_t distance);
  Value ofThisLane(OpBuilder &b, Value pointer, Type vector);

  /// The part of a vector type that one thread holds: one element. This also holds for the shorter vectors inside a lane tree.
  Type mapped(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? VectorType::get({1}, vector.getElementType()) : type;
  }
  void setType(Value value) { value.setType(mapped(value.getType())); }
  void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
  Value call(OpBuilder &b, StringRef intrinsic, Type type, ValueRange arguments) {
    return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(intrinsic), arguments).getResults();
  }
  Value word(OpBuilder &b, int64_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value))); }

  func::FuncOp function;
  Location loc;
  int64_t extent;
  BlockSums sums;
  int64_t blockThreads, team = 1; ///< team: threads of one, lanes of a vector
  OpBuilder entry;
  Value member, lane;      ///< i32, i64: the number of this thread in its team
  Value firstOfTeam, mask; ///< i32: where in the warp the team begins, and the bits of its threads
  Value worker;            ///< i64: the number of this thread's team in the block
  Value row, stride;       ///< i64: this team's first row, and the distance to its next one
};
} // namespace

void Distribution::findTeam(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    for (Type type : op->getResultTypes())
      if (auto vector = dyn_cast<VectorType>(type))
        team = std::max(team, vector.getNumElements());
}

void Distribution::placeThread() {
  OpBuilder &b = entry;
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto wide = [&](Value value) -> Value { return arith::ExtUIOp::create(b, loc, i64, value); };
  Value thread = call(b, "llvm.nvvm.read.ptx.sreg.tid.x", i32, {});
  Value block = call(b, "llvm.nvvm.read.ptx.sreg.ctaid.x", i32, {});
  Value blocks = call(b, "llvm.nvvm.read.ptx.sreg.nctaid.x", i32, {});
  member = arith::AndIOp::create(b, loc, thread, word(b, team - 1));
  lane = wide(member);
  Value rowsOfBlock = constantI64(b, loc, sums ? 1 : blockThreads / team);
  worker = wide(arith::DivUIOp::create(b, loc, thread, word(b, team)));
  row = arith::MulIOp::create(b, loc, wide(block), rowsOfBlock);
  if (!sums)
    row = arith::AddIOp::create(b, loc, row, worker);
  stride = arith::MulIOp::create(b, loc, wide(blocks), rowsOfBlock);
  Value inWarp = arith::AndIOp::create(b, loc, thread, word(b, warpThreads - 1));
  firstOfTeam = arith::SubIOp::create(b, loc, inWarp, member);
  mask = arith::ShLIOp::create(b, loc, word(b, (int64_t{1} << team) - 1), firstOfTeam);
}

// The loop over [begin, end) takes the team's rows.
void Distribution::walkRowsOfTeam() {
  BlockArgument begin = function.getArgument(2), end = function.getArgument(3);
  function.walk([&](scf::ForOp loop) {
    if (loop.getLowerBound() == begin)
      loop.setStep(stride);
  });
  begin.replaceAllUsesWith(row);
  end.replaceAllUsesWith(constantI64(entry, loc, extent));
}

Value Distribution::ofThisLane(OpBuilder &b, Value pointer, Type vector) {
  return address(b, loc, pointer, cast<VectorType>(vector).getElementType(), lane);
}

// Lane numbers are the thread's; every other vector constant has equal lanes.
LogicalResult Distribution::convert(arith::ConstantOp op) {
  auto vector = dyn_cast<VectorType>(op.getType());
  if (!vector)
    return success();
  auto dense = cast<DenseElementsAttr>(op.getValue());
  if (dense.isSplat()) {
    op.setValueAttr(dense.resizeSplat(cast<VectorType>(mapped(vector))));
    setType(op.getResult());
    return success();
  }
  int64_t next = 0;
  if (!vector.getElementType().isInteger(64) || vector.getNumElements() != team ||
      !llvm::all_of(dense.getValues<APInt>(), [&](const APInt &number) { return number.getSExtValue() == next++; }))
    return op.emitOpError("internal error: a vector of unequal constants cannot be distributed over threads");
  OpBuilder b(op);
  replace(op, splat(b, loc, lane, 1));
  return success();
}

Value Distribution::exchangeWord(OpBuilder &b, Value value, int64_t distance) {
  Value arguments[] = {mask, value, word(b, distance), word(b, warpThreads - 1)};
  return call(b, "llvm.nvvm.shfl.sync.bfly.i32", b.getI32Type(), arguments);
}

// The value held by the partner thread, whose number in the team differs by `distance`, a power of two.
Value Distribution::exchange(OpBuilder &b, Value value, int64_t distance) {
  auto words = static_cast<int64_t>(getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth()) / 32;
  Type type = VectorType::get({words}, b.getI32Type());
  Value own = LLVM::BitcastOp::create(b, loc, type, value), other = LLVM::PoisonOp::create(b, loc, type);
  for (int64_t i = 0; i < words; ++i)
    other = LLVM::InsertElementOp::create(b, loc, type, other, exchangeWord(b, codegen::lane(b, loc, own, i), distance), word(b, i));
  return LLVM::BitcastOp::create(b, loc, value.getType(), other);
}

// The shuffle is either a splat of one scalar or takes half of a vector inside a lane tree. In the tree every half is held several times
// within the team; each thread combines its lane with its partner's in either order, which is correct because sums and maxima are
// commutative.
LogicalResult Distribution::convert(LLVM::ShuffleVectorOp op) {
  ArrayRef<int32_t> indices = op.getMask();
  auto size = static_cast<int64_t>(indices.size());
  OpBuilder b(op);
  if (size == team && llvm::all_of(indices, [](int32_t index) { return index == 0; })) {
    replace(op, op.getV1());
    return success();
  }
  bool half = op.getV1() == op.getV2() && (indices[0] == 0 || indices[0] == size);
  for (int64_t i = 0; i < size; ++i)
    half &= indices[i] == indices[0] + i;
  if (!half)
    return op.emitOpError("internal error: no exchange between threads does this");
  replace(op, indices[0] == 0 ? op.getV1() : exchange(b, op.getV1(), size));
  return success();
}

LogicalResult Distribution::convert(LLVM::LoadOp op) {
  OpBuilder b(op);
  if (isa<VectorType>(op.getType())) {
    op.getAddrMutable().assign(ofThisLane(b, op.getAddr(), op.getType()));
    setType(op.getResult());
  } else if (isa<LLVM::LLVMPointerType>(op.getType())) {
    // Buffers are in global memory; saying so spares every access a check of the address space.
    b.setInsertionPointAfter(op);
    Value global = LLVM::AddrSpaceCastOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext(), 1), op.getResult());
    Value generic = LLVM::AddrSpaceCastOp::create(b, loc, op.getType(), global);
    op.getResult().replaceAllUsesExcept(generic, global.getDefiningOp());
  }
  return success();
}

// One thread stores a scalar, after all threads of the team have read the old contents of that memory.
LogicalResult Distribution::convert(LLVM::StoreOp op) {
  OpBuilder b(op);
  Type type = op.getValue().getType();
  if (isa<VectorType>(type)) {
    op.getAddrMutable().assign(ofThisLane(b, op.getAddr(), type));
  } else if (team > 1) {
    LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr("llvm.nvvm.bar.warp.sync"), ValueRange(mask));
    Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, member, word(b, 0));
    auto branch = scf::IfOp::create(b, loc, first, false);
    op->moveBefore(branch.thenBlock()->getTerminator());
  }
  return success();
}

// Conditions of all lanes as the bits of an integer: the team's votes.
LogicalResult Distribution::convert(LLVM::BitcastOp op) {
  auto from = dyn_cast<VectorType>(op.getArg().getType());
  if (!from || !from.getElementType().isInteger(1) || !op.getType().isInteger(32))
    return convertTypes(op);
  OpBuilder b(op);
  Value arguments[] = {mask, codegen::lane(b, loc, op.getArg(), 0)};
  Value votes = call(b, "llvm.nvvm.vote.ballot.sync", b.getI32Type(), arguments);
  replace(op, arith::ShRUIOp::create(b, loc, votes, firstOfTeam));
  return success();
}

LogicalResult Distribution::convertTypes(Operation *op) {
  for (Value result : op->getResults())
    setType(result);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        setType(argument);
  return success();
}

LogicalResult Distribution::convert(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return convert(constant);
  if (auto shuffle = dyn_cast<LLVM::ShuffleVectorOp>(op))
    return convert(shuffle);
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return convert(load);
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    return convert(store);
  if (auto bitcast = dyn_cast<LLVM::BitcastOp>(op))
    return convert(bitcast);
  OpBuilder b(op);
  if (auto load = dyn_cast<LLVM::MaskedLoadOp>(op))
    load.getDataMutable().assign(ofThisLane(b, load.getData(), load.getType()));
  if (auto store = dyn_cast<LLVM::MaskedStoreOp>(op))
    store.getDataMutable().assign(ofThisLane(b, store.getData(), store.getValue().getType()));
  return convertTypes(op);
}

FailureOr<DeviceThreads> Distribution::run() {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function.getOperation())
      ops.push_back(op);
  });
  findTeam(ops);
  if (team > warpThreads || !llvm::isPowerOf2_64(team))
    return function.emitError("internal error: vectors of ") << team << " lanes do not fit a warp";
  placeThread();
  for (Operation *op : ops)
    if (failed(convert(op)))
      return failure();
  walkRowsOfTeam();
  if (sums)
    sums.rewrite(function, {blockThreads, team, worker, lane});
  return DeviceThreads{blockThreads, sums ? 1 : blockThreads / team};
}

static func::FuncOp kernelOf(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  return *llvm::find_if(functions, [](func::FuncOp function) { return !function.isDeclaration(); });
}

FailureOr<DeviceThreads> distributeLanes(ModuleOp module, int64_t extent) { return Distribution(kernelOf(module), extent).run(); }

bool callsLibrary(ModuleOp module) {
  return kernelOf(module)
      .walk([](Operation *op) {
        bool isMath = op->getName().getDialectNamespace() == "math";
        bool inPlace = isa<math::FmaOp, math::SqrtOp, math::AbsFOp, math::CopySignOp>(op);
        return isa<func::CallOp>(op) || (isMath && !inPlace) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace npar::codegen
