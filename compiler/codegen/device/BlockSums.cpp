// Finds long sums, and rewrites them for a block: terms by all teams, additions by one.
#include "compiler/codegen/device/BlockSums.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/loops/Vector.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace npar::codegen {

namespace {
constexpr int64_t mostRows = 1024, leastTerms = 256; ///< bounds within which a block per row pays
constexpr int64_t sharedBytes = 32 * 1024;           ///< limit of shared memory for terms
constexpr int64_t mostTerms = 32, addedAtOnce = 32;  ///< terms of a chunk per thread; terms loaded to registers before adding
constexpr unsigned mostSums = 4;
constexpr unsigned sharedSpace = 3;

std::optional<int64_t> constantOf(Value value) {
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)))
    return std::nullopt;
  return number.getSExtValue();
}

/// The value that every iteration of a loop adds to its sum `number`; null if the loop does more than add to it.
Value termOf(scf::ForOp loop, unsigned number) {
  auto add = loop.getBody()->getTerminator()->getOperand(number).getDefiningOp<arith::AddFOp>();
  BlockArgument sum = loop.getRegionIterArg(number);
  bool isSum =
      add && add.getLhs() == sum && add.getRhs() != sum && sum.hasOneUse() && add->hasOneUse() && add->getBlock() == loop.getBody();
  return isSum ? add.getRhs() : Value();
}

/// Sums in the written order, over rows from 0 on.
bool isOrdered(scf::ForOp loop) {
  std::optional<int64_t> first = constantOf(loop.getLowerBound()), end = constantOf(loop.getUpperBound()),
                         step = constantOf(loop.getStep());
  if (!first || *first != 0 || !end || *end < leastTerms || !step || *step != 1 || loop.getNumResults() == 0 ||
      loop.getNumResults() > mostSums)
    return false;
  Type type = loop.getResult(0).getType();
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (!isa<VectorType>(type) || loop.getResult(i).getType() != type || !termOf(loop, i))
      return false;
  return !loop.getBody()
              ->walk([](Operation *op) {
                bool stores = isa<LLVM::StoreOp, LLVM::MaskedStoreOp, LLVM::CallIntrinsicOp>(op);
                return stores || op->getNumRegions() > 0 ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

bool stores(Operation *op) {
  return op
      ->walk([](Operation *inside) {
        return isa<LLVM::StoreOp, LLVM::MaskedStoreOp>(inside) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The rewriting of a function.
struct Rewriter {
  Rewriter(func::FuncOp function, const BlockThreads &block)
      : function(function), block(block), loc(function.getLoc()), teams(block.count / block.team) {}
  Value index(OpBuilder &b, int64_t value) { return constantI64(b, loc, value); }
  Value plus(OpBuilder &b, Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value times(OpBuilder &b, Value x, int64_t y) { return arith::MulIOp::create(b, loc, x, index(b, y)); }
  void barrier(OpBuilder &b) {
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"), ValueRange(zero));
  }
  /// Allocates shared memory of the block for `vectors` vectors, each with one element per thread of a team.
  Value shared(OpBuilder &b, Type element, int64_t vectors);
  /// The address of this thread's lane of the vector number `vector` in `memory`.
  Value place(OpBuilder &b, Value memory, Type element, Value vector) {
    Value offset = plus(b, times(b, vector, block.team), block.lane);
    return LLVM::GEPOp::create(b, loc, memory.getType(), element, memory, ArrayRef<LLVM::GEPArg>{offset});
  }
  Value load(OpBuilder &b, Value memory, Type element, Value vector) {
    return LLVM::LoadOp::create(b, loc, element, place(b, memory, element, vector));
  }
  void inOrder(scf::ForOp loop);
  void inAnyOrder(scf::ForOp loop);
  void storeOnce();

  func::FuncOp function;
  const BlockThreads &block;
  Location loc;
  int64_t teams, memories = 0; ///< memories: how many were taken
};
} // namespace

BlockSums BlockSums::find(func::FuncOp function, int64_t extent) {
  scf::ForOp rows;
  for (auto loop : function.front().getOps<scf::ForOp>())
    if (loop.getLowerBound() == function.getArgument(2))
      rows = loop;
  BlockSums found;
  if (!rows || extent > mostRows)
    return found;
  for (Operation &op : rows.getBody()->without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    bool isOther = loop ? found || !(attributes::anyOrder.isOn(loop) || isOrdered(loop)) : op.getNumRegions() > 0;
    if (isOther || (stores(&op) && !found))
      return {};
    if (loop)
      found.loop = loop;
  }
  return found;
}

int64_t BlockSums::blockThreads() const { return attributes::anyOrder.isOn(loop) ? 1024 : 256; }

Value Rewriter::shared(OpBuilder &b, Type element, int64_t vectors) {
  OpBuilder top = OpBuilder::atBlockBegin(cast<ModuleOp>(function->getParentOp()).getBody());
  auto type = LLVM::LLVMArrayType::get(element, static_cast<unsigned>(vectors * block.team));
  auto global = LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, "shared" + std::to_string(memories++),
                                       Attribute(), /*alignment=*/16, sharedSpace);
  return LLVM::AddressOfOp::create(b, loc, global);
}

void Rewriter::inOrder(scf::ForOp loop) {
  auto sums = static_cast<int64_t>(loop.getNumResults());
  auto vector = cast<VectorType>(loop.getResult(0).getType()); // of one lane
  Type element = vector.getElementType();
  int64_t rows = *constantOf(loop.getUpperBound()), bytes = static_cast<int64_t>(element.getIntOrFloatBitWidth()) / 8;
  int64_t own = mostTerms; // rows of a team in a chunk
  while (own > 1 && (sums * own > mostTerms || sums * own * block.count * bytes > sharedBytes))
    own /= 2;
  int64_t chunk = own * teams, chunks = (rows + chunk - 1) / chunk;
  OpBuilder b(loop);
  Value terms = shared(b, element, sums * chunk), totals = shared(b, element, sums);
  Value none = arith::ConstantOp::create(b, loc, b.getFloatAttr(element, -0.0)), last = index(b, rows - 1);

  // Computes this thread's terms of the chunk that starts at row `first`: one term per row and sum.
  auto compute = [&](OpBuilder &b, Value first) {
    SmallVector<Value> values;
    for (int64_t i = 0; i < own; ++i) {
      Value row = plus(b, plus(b, first, index(b, i * teams)), block.worker);
      bool isWhole = rows % chunk == 0;
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), isWhole && chunks == 1 ? row : arith::MinSIOp::create(b, loc, row, last).getResult());
      for (Operation &op : loop.getBody()->without_terminator())
        if (!llvm::is_contained(loop.getBody()->getTerminator()->getOperands(), op.getNumResults() == 1 ? op.getResult(0) : Value()))
          b.clone(op, mapping);
      for (int64_t s = 0; s < sums; ++s) {
        Value term = lane(b, loc, mapping.lookupOrDefault(termOf(loop, static_cast<unsigned>(s))), 0);
        if (!isWhole) {
          Value isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, row, last);
          term = arith::SelectOp::create(b, loc, isThere, term, none);
        }
        values.push_back(term);
      }
    }
    return values;
  };
  auto leave = [&](OpBuilder &b, ArrayRef<Value> values) {
    for (int64_t i = 0; i < own; ++i)
      for (int64_t s = 0; s < sums; ++s) {
        Value at = plus(b, index(b, s * chunk + i * teams), block.worker);
        LLVM::StoreOp::create(b, loc, values[static_cast<size_t>(i * sums + s)], place(b, terms, element, at));
      }
  };

  leave(b, compute(b, index(b, 0)));
  barrier(b);
  // The team of a sum's number has that sum; the others carry something.
  Value start = lane(b, loc, loop.getInitArgs()[0], 0);
  for (int64_t s = 1; s < sums; ++s) {
    Value isIts = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, block.worker, index(b, s));
    start = arith::SelectOp::create(b, loc, isIts, lane(b, loc, loop.getInitArgs()[static_cast<size_t>(s)], 0), start);
  }
  Value adds = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, block.worker, index(b, sums));
  auto walk = scf::ForOp::create(b, loc, index(b, 0), index(b, chunks), index(b, 1), ValueRange(start));
  {
    OpBuilder b = OpBuilder::atBlockBegin(walk.getBody());
    SmallVector<Value> next = compute(b, times(b, plus(b, walk.getInductionVar(), index(b, 1)), chunk));
    auto branch = scf::IfOp::create(b, loc, TypeRange(element), adds, /*withElseRegion=*/true);
    {
      OpBuilder b = branch.getThenBodyBuilder();
      Value first = times(b, block.worker, chunk);
      int64_t group = std::min(addedAtOnce, chunk);
      auto add = scf::ForOp::create(b, loc, index(b, 0), index(b, chunk), index(b, group), ValueRange(walk.getRegionIterArg(0)));
      OpBuilder inside = OpBuilder::atBlockBegin(add.getBody());
      SmallVector<Value> values;
      for (int64_t i = 0; i < group; ++i)
        values.push_back(load(inside, terms, element, plus(inside, plus(inside, first, add.getInductionVar()), index(inside, i))));
      Value sum = add.getRegionIterArg(0);
      for (Value value : values)
        sum = arith::AddFOp::create(inside, loc, sum, value);
      scf::YieldOp::create(inside, loc, sum);
      scf::YieldOp::create(b, loc, add.getResult(0));
    }
    OpBuilder other = branch.getElseBodyBuilder();
    scf::YieldOp::create(other, loc, walk.getRegionIterArg(0));
    barrier(b);
    leave(b, next);
    barrier(b);
    scf::YieldOp::create(b, loc, branch.getResult(0));
  }
  auto tell = scf::IfOp::create(b, loc, adds, /*withElseRegion=*/false);
  {
    OpBuilder b = tell.getThenBodyBuilder();
    LLVM::StoreOp::create(b, loc, walk.getResult(0), place(b, totals, element, block.worker));
  }
  barrier(b);
  for (int64_t s = 0; s < sums; ++s)
    loop.getResult(static_cast<unsigned>(s)).replaceAllUsesWith(splat(b, loc, load(b, totals, element, index(b, s)), 1));
  loop.erase();
}

// The innermost loops share out their iterations; the teams' sums are added up where the outermost loop ends.
void Rewriter::inAnyOrder(scf::ForOp loop) {
  scf::ForOp innermost = loop;
  loop.walk([&](scf::ForOp inside) { innermost = inside.getBody()->getOps<scf::ForOp>().empty() ? inside : innermost; });
  OpBuilder b(innermost);
  int64_t step = *constantOf(innermost.getStep());
  innermost.setLowerBound(plus(b, innermost.getLowerBound(), times(b, block.worker, step)));
  innermost.setStep(index(b, step * teams));
  b.setInsertionPointAfter(loop);
  Type element = cast<VectorType>(loop.getResult(0).getType()).getElementType();
  Value memory = shared(b, element, teams), total;
  Value own = lane(b, loc, loop.getResult(0), 0);
  SmallPtrSet<Operation *, 1> used{own.getDefiningOp()};
  LLVM::StoreOp::create(b, loc, own, place(b, memory, element, block.worker));
  barrier(b);
  for (int64_t i = 0; i < teams; ++i) {
    Value value = load(b, memory, element, index(b, i));
    total = total ? arith::AddFOp::create(b, loc, total, value).getResult() : value;
  }
  barrier(b); // the sums of the next row reuse this memory
  loop.getResult(0).replaceAllUsesExcept(splat(b, loc, total, 1), used);
}

void Rewriter::storeOnce() {
  SmallVector<Operation *> found;
  function.walk([&](Operation *op) {
    auto store = dyn_cast<LLVM::StoreOp>(op);
    bool isShared = store && cast<LLVM::LLVMPointerType>(store.getAddr().getType()).getAddressSpace() == sharedSpace;
    if (!isShared && isa<LLVM::StoreOp, LLVM::MaskedStoreOp>(op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    OpBuilder b(op);
    Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, block.worker, index(b, 0));
    auto branch = scf::IfOp::create(b, loc, first, /*withElseRegion=*/false);
    op->moveBefore(branch.thenBlock()->getTerminator());
  }
}

void BlockSums::rewrite(func::FuncOp function, const BlockThreads &block) {
  Rewriter rewriter(function, block);
  if (attributes::anyOrder.isOn(loop))
    rewriter.inAnyOrder(loop);
  else
    rewriter.inOrder(loop);
  rewriter.storeOnce();
}

} // namespace npar::codegen
