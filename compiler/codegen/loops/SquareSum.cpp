// The loops of rank.square_sum and rank.bin_sums: sums of squares per block of consecutive elements in one written order, then of the
// blocks without rounding, so that the global norm depends neither on workers nor on the ranks among which blocks are dealt out.
#include "compiler/codegen/loops/SquareSum.h"

#include "compiler/codegen/loops/KernelFunction.h"
#include "compiler/codegen/loops/Narrow.h"
#include "compiler/codegen/loops/Vector.h"

using namespace mlir;

namespace npar::codegen {

namespace {
// The same number of lanes for all element types, so that gradients of 16, 32 and 64 bits are added in the same order.
constexpr int64_t lanes = 16;
static_assert(rank::SquareSumOp::blockSize() % lanes == 0);

// Lane l of a block adds its elements l, l + 16, ... in ascending order, then the lanes are added as a tree; a tail is a masked vector.
// Padding needs no mask: placing gives nn.square_sums operands whose padding is zero (place-mask-padding).
OwningOpRef<ModuleOp> emitBlocks(rank::KernelOp kernel, rank::SquareSumOp op, dist::MeshAttr mesh) {
  KernelFunction k(kernel);
  OpBuilder &b = k.b;
  Location loc = k.loc;
  auto type = cast<RankedTensorType>(op.getGradients().front().getType());
  Type element = type.getElementType();
  int64_t size = type.getNumElements(), block = rank::SquareSumOp::blockSize();
  SmallVector<Value> gradients;
  for (Value gradient : op.getGradients())
    gradients.push_back(k.buffer(numberOf(gradient)));
  Value out = k.buffer(kernel.getBody().getNumArguments());

  // The first of the replicas counts: all their coordinates are 0.
  Value coordinates = k.constant(0);
  for (StringAttr axis : op.getReplicas().getAsRange<StringAttr>())
    coordinates = arith::OrIOp::create(b, loc, coordinates, k.word(3 + mesh.indexOf(axis)));
  Value owner = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, coordinates, k.constant(0));

  auto addSquares = [&](Value sums, Value index, Value mask) -> Value {
    Type stored = storageType(element);
    Value x;
    for (Value gradient : gradients) {
      Value more = loadLanes(b, loc, address(b, loc, gradient, stored, index), stored, lanes, mask);
      if (stored != element)
        more = widen(b, loc, more, element);
      x = x ? arith::AddFOp::create(b, loc, x, more).getResult() : more;
    }
    if (stored != element && gradients.size() > 1) // the sum is rounded once, as where it is stored
      x = widen(b, loc, narrow(b, loc, x, element), element);
    if (!element.isF64())
      x = arith::ExtFOp::create(b, loc, laneType(b.getF64Type(), lanes), x);
    return arith::AddFOp::create(b, loc, sums, arith::MulFOp::create(b, loc, x, x));
  };
  k.loop(k.begin(), k.end(), 1, Value(), [&](Value index, Value) {
    auto counted = scf::IfOp::create(b, loc, b.getF64Type(), owner, true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(counted.elseBlock());
      scf::YieldOp::create(b, loc, k.zero());
      b.setInsertionPointToStart(counted.thenBlock());
      Value begin = arith::MulIOp::create(b, loc, index, k.constant(block));
      Value end = arith::AddIOp::create(b, loc, begin, k.constant(block));
      end = arith::MinSIOp::create(b, loc, end, k.constant(size / lanes * lanes));
      Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(laneType(b.getF64Type(), lanes)));
      Value sums = k.loop(begin, end, lanes, none, [&](Value i, Value carried) { return addSquares(carried, i, Value()); });
      if (size % lanes != 0) {
        // Only the last block has active lanes in the tail; in the others +0 is added to a sum of squares, which changes no bit.
        Value tail = k.constant(size / lanes * lanes), left = k.constant(size % lanes);
        Value last = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index, k.constant(size / block));
        left = arith::SelectOp::create(b, loc, last, left, k.constant(0));
        sums = addSquares(sums, tail, maskBelow(b, loc, left, lanes));
      }
      auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, loc, x, y); };
      scf::YieldOp::create(b, loc, laneTree(b, loc, sums, add));
    }
    LLVM::StoreOp::create(b, loc, counted.getResult(0), address(b, loc, out, b.getF64Type(), index));
    return Value();
  });
  func::ReturnOp::create(b, loc);
  return std::move(k.module);
}

// One loop over all gradients, however many there are: their numbers of blocks are data. (Code for each of hundreds of them took LLVM
// seconds, with the square of their number.) The additions are exact, so their order is free.
OwningOpRef<ModuleOp> emitBins(rank::KernelOp kernel, rank::BinSumsOp op) {
  KernelFunction k(kernel);
  OpBuilder &b = k.b;
  Location loc = k.loc;
  Type f64 = b.getF64Type();
  int64_t buffers = kernel.getBody().getNumArguments();
  Value out = k.buffer(buffers), counts = k.table(blocksByBuffer(kernel, op));
  k.loop(k.begin(), k.end(), 1, Value(), [&](Value, Value) {
    k.loop(k.constant(0), k.constant(nn::SquareSumsOp::bins), 1, Value(), [&](Value bin, Value) {
      LLVM::StoreOp::create(b, loc, k.zero(), address(b, loc, out, f64, bin));
      return Value();
    });
    k.loop(k.constant(0), k.constant(buffers), 1, Value(), [&](Value number, Value) {
      Value blocks = k.buffer(number);
      Value count = LLVM::LoadOp::create(b, loc, b.getI64Type(), address(b, loc, counts, b.getI64Type(), number));
      k.loop(k.constant(0), count, 1, Value(), [&](Value index, Value) {
        cutIntoBins(k, LLVM::LoadOp::create(b, loc, f64, address(b, loc, blocks, f64, index)), [&](Value bin, Value chunk) {
          Value target = address(b, loc, out, f64, bin);
          LLVM::StoreOp::create(b, loc, arith::AddFOp::create(b, loc, LLVM::LoadOp::create(b, loc, f64, target), chunk), target);
        });
        return Value();
      });
      return Value();
    });
    return Value();
  });
  func::ReturnOp::create(b, loc);
  return std::move(k.module);
}
} // namespace

// Multiplying by a power of two and cutting to an integer are exact, and four chunks reach below the last bit of `sum`, for the first has
// at least one of its 53. Only the top bin's chunk of a sum that is not finite is not cut.
void cutIntoBins(KernelFunction &k, Value sum, llvm::function_ref<void(Value bin, Value chunk)> visit) {
  using Sums = nn::SquareSumsOp;
  constexpr int64_t chunks = 4;
  static_assert((chunks - 1) * Sums::binBits + 1 >= 53 && Sums::lowestExponent + Sums::bins * Sums::binBits == 1024);
  OpBuilder &b = k.b;
  Location loc = k.loc;
  auto vector = dyn_cast<VectorType>(sum.getType());
  auto shaped = [&](Type element) { return vector ? Type(vector.clone(element)) : element; };
  auto all = [&](Value scalar) { return vector ? splat(b, loc, scalar, vector.getNumElements()) : scalar; };
  auto integer = [&](int64_t value) { return all(k.constant(value)); };
  Type f64 = shaped(b.getF64Type()), i64 = shaped(b.getI64Type());
  auto powerOfTwo = [&](Value exponent) -> Value { // in the range of normal numbers
    Value bits = arith::AddIOp::create(b, loc, exponent, integer(1023));
    return arith::BitcastOp::create(b, loc, f64, arith::ShLIOp::create(b, loc, bits, integer(52)));
  };
  Value bits = arith::BitcastOp::create(b, loc, i64, sum);
  Value exponent = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, integer(52)), integer(2047));
  Value finite = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, exponent, integer(2047));
  Value top = arith::SubIOp::create(b, loc, exponent, integer(1023 + Sums::lowestExponent));
  top = arith::DivSIOp::create(b, loc, top, integer(Sums::binBits));
  top = arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, top, integer(chunks - 1)), integer(Sums::bins - 1));
  Value rest = sum;
  for (int64_t i = 0; i < chunks; ++i) {
    Value bin = arith::SubIOp::create(b, loc, top, integer(i));
    Value unit = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, bin, integer(Sums::binBits)), integer(Sums::lowestExponent));
    Value units = arith::MulFOp::create(b, loc, rest, powerOfTwo(arith::SubIOp::create(b, loc, integer(0), unit)));
    units = arith::SIToFPOp::create(b, loc, f64, arith::FPToSIOp::create(b, loc, i64, units));
    Value chunk = arith::MulFOp::create(b, loc, units, powerOfTwo(unit));
    rest = arith::SubFOp::create(b, loc, rest, chunk);
    if (i == 0) {
      chunk = arith::SelectOp::create(b, loc, finite, chunk, sum);
      rest = arith::SelectOp::create(b, loc, finite, rest, all(k.zero()));
    }
    visit(bin, chunk);
  }
}

SmallVector<int64_t> blocksByBuffer(rank::KernelOp kernel, rank::BinSumsOp op) {
  SmallVector<int64_t> blocks(kernel.getBody().getNumArguments(), 0);
  for (Value operand : op.getSums())
    blocks[numberOf(operand)] = cast<RankedTensorType>(operand.getType()).getNumElements();
  return blocks;
}

bool isSquareSum(rank::KernelOp kernel) { return onlyOp<rank::SquareSumOp>(kernel) || onlyOp<rank::BinSumsOp>(kernel); }

int64_t squareSumExtent(rank::KernelOp kernel) {
  auto op = onlyOp<rank::SquareSumOp>(kernel);
  return op ? cast<RankedTensorType>(op.getType()).getNumElements() : 1;
}

OwningOpRef<ModuleOp> emitSquareSum(rank::KernelOp kernel, dist::MeshAttr mesh) {
  if (auto op = onlyOp<rank::SquareSumOp>(kernel))
    return emitBlocks(kernel, op, mesh);
  return emitBins(kernel, onlyOp<rank::BinSumsOp>(kernel));
}

} // namespace npar::codegen
