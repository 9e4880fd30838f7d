// The loops of rank.square_sum and rank.bin_sums: sums of squares per block of consecutive elements in one written order, then of the
// blocks without rounding, so that the global norm depends neither on workers nor on the ranks among which blocks are dealt out.
#include "compiler/codegen/loops/SquareSum.h"

#include "compiler/codegen/loops/Narrow.h"
#include "compiler/codegen/loops/Vector.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace npar::codegen {

namespace {
// The number of lanes is the same for every element type, so that gradients of 16, 32 and 64 bits add up alike.
constexpr int64_t lanes = 16;
static_assert(rank::SquareSumOp::blockSize() % lanes == 0);

/// A kernel's function, open at its end.
struct Kernel {
  explicit Kernel(rank::KernelOp kernel)
      : loc(kernel.getLoc()), module(ModuleOp::create(loc)), b(OpBuilder::atBlockEnd(module->getBody())) {
    pointer = LLVM::LLVMPointerType::get(b.getContext());
    Type i64 = b.getI64Type();
    auto target = func::FuncOp::create(b, loc, kernel.getSymName(), b.getFunctionType({pointer, pointer, i64, i64}, {}));
    entry = target.addEntryBlock();
    b.setInsertionPointToStart(entry);
  }
  Value constant(int64_t value) { return constantI64(b, loc, value); }
  Value zero() { return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0.0)); }
  Value buffer(Value index) { return LLVM::LoadOp::create(b, loc, pointer, address(b, loc, entry->getArgument(0), pointer, index)); }
  Value buffer(unsigned index) { return buffer(constant(index)); }
  Value word(int64_t index) {
    return LLVM::LoadOp::create(b, loc, b.getI64Type(), address(b, loc, entry->getArgument(1), b.getI64Type(), constant(index)));
  }
  /// The address of constants that lie in the kernel's object.
  Value table(ArrayRef<int64_t> values) {
    OpBuilder top = OpBuilder::atBlockBegin(module->getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI64Type(), values.size());
    auto global = LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true, LLVM::Linkage::Private, "table", b.getI64TensorAttr(values));
    return LLVM::AddressOfOp::create(b, loc, global);
  }
  /// Carries `start` through the iterations; null when nothing is carried.
  Value loop(Value begin, Value end, int64_t step, Value start, llvm::function_ref<Value(Value index, Value carried)> body) {
    auto op = scf::ForOp::create(b, loc, begin, end, constant(step), start ? ValueRange(start) : ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    Value next = body(op.getInductionVar(), start ? op.getRegionIterArg(0) : Value());
    if (start)
      scf::YieldOp::create(b, loc, next);
    return start ? op.getResult(0) : Value();
  }

  Location loc;
  OwningOpRef<ModuleOp> module;
  OpBuilder b;
  Type pointer;
  Block *entry = nullptr;
};

template <typename Op> Op onlyOp(rank::KernelOp kernel) {
  auto ops = kernel.getBody().getOps<Op>();
  return ops.empty() ? Op() : *ops.begin();
}

unsigned numberOf(Value operand) { return cast<BlockArgument>(operand).getArgNumber(); }

// Lane l of a block adds its elements l, l + 16, ... in ascending order, then the lanes are added as a tree; a tail is a masked vector.
// Padding needs no mask: placing gives nn.square_sums operands whose padding is zero (place-mask-padding).
OwningOpRef<ModuleOp> emitBlocks(rank::KernelOp kernel, rank::SquareSumOp op, dist::MeshAttr mesh) {
  Kernel k(kernel);
  OpBuilder &b = k.b;
  Location loc = k.loc;
  auto type = cast<RankedTensorType>(op.getGradient().getType());
  Type element = type.getElementType();
  int64_t size = type.getNumElements(), block = rank::SquareSumOp::blockSize();
  Value gradient = k.buffer(numberOf(op.getGradient())), out = k.buffer(kernel.getBody().getNumArguments());

  // The first of the replicas counts: all their coordinates are 0.
  Value coordinates = k.constant(0);
  for (StringAttr axis : op.getReplicas().getAsRange<StringAttr>())
    coordinates = arith::OrIOp::create(b, loc, coordinates, k.word(3 + mesh.indexOf(axis)));
  Value owner = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, coordinates, k.constant(0));

  auto addSquares = [&](Value sums, Value index, Value mask) -> Value {
    Type stored = storageType(element);
    Value x = loadLanes(b, loc, address(b, loc, gradient, stored, index), stored, lanes, mask);
    if (stored != element)
      x = widen(b, loc, x, element);
    if (!element.isF64())
      x = arith::ExtFOp::create(b, loc, laneType(b.getF64Type(), lanes), x);
    return arith::AddFOp::create(b, loc, sums, arith::MulFOp::create(b, loc, x, x));
  };
  k.loop(k.entry->getArgument(2), k.entry->getArgument(3), 1, Value(), [&](Value index, Value) {
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
        // In blocks before the last no lane is on, and adding +0 to a sum of squares changes no bit.
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

/// 2^exponent as f64, for an exponent in the range of normal numbers.
Value powerOfTwo(Kernel &k, Value exponent) {
  Value bits = arith::AddIOp::create(k.b, k.loc, exponent, k.constant(1023));
  bits = arith::ShLIOp::create(k.b, k.loc, bits, k.constant(52));
  return arith::BitcastOp::create(k.b, k.loc, k.b.getF64Type(), bits);
}

// Adds a block sum to the bins: `sum` = chunk 0 + chunk 1 + ..., chunk i a multiple of the unit of bin `top` - i that is less than 2^24
// units. Multiplying by a power of two and cutting to an integer are exact, and four chunks reach below the last bit of `sum`, for the
// first has at least one of its 53. Only the top bin's chunk of a sum that is not finite is not cut.
void addToBins(Kernel &k, Value sum, Value bins) {
  using Sums = nn::SquareSumsOp;
  constexpr int64_t chunks = 4;
  static_assert((chunks - 1) * Sums::binBits + 1 >= 53 && Sums::lowestExponent + Sums::bins * Sums::binBits == 1024);
  OpBuilder &b = k.b;
  Location loc = k.loc;
  Type f64 = b.getF64Type(), i64 = b.getI64Type();
  Value bits = arith::BitcastOp::create(b, loc, i64, sum);
  Value exponent = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, k.constant(52)), k.constant(2047));
  Value finite = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, exponent, k.constant(2047));
  Value top = arith::SubIOp::create(b, loc, exponent, k.constant(1023 + Sums::lowestExponent));
  top = arith::DivSIOp::create(b, loc, top, k.constant(Sums::binBits));
  top = arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, top, k.constant(chunks - 1)), k.constant(Sums::bins - 1));
  Value rest = sum;
  for (int64_t i = 0; i < chunks; ++i) {
    Value bin = arith::SubIOp::create(b, loc, top, k.constant(i));
    Value unit =
        arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, bin, k.constant(Sums::binBits)), k.constant(Sums::lowestExponent));
    Value units = arith::MulFOp::create(b, loc, rest, powerOfTwo(k, arith::SubIOp::create(b, loc, k.constant(0), unit)));
    units = arith::SIToFPOp::create(b, loc, f64, arith::FPToSIOp::create(b, loc, i64, units));
    Value chunk = arith::MulFOp::create(b, loc, units, powerOfTwo(k, unit));
    rest = arith::SubFOp::create(b, loc, rest, chunk);
    if (i == 0) {
      chunk = arith::SelectOp::create(b, loc, finite, chunk, sum);
      rest = arith::SelectOp::create(b, loc, finite, rest, k.zero());
    }
    Value target = address(b, loc, bins, f64, bin);
    LLVM::StoreOp::create(b, loc, arith::AddFOp::create(b, loc, LLVM::LoadOp::create(b, loc, f64, target), chunk), target);
  }
}

// One loop over all gradients, however many there are: their numbers of blocks are data. (Code for each of hundreds of them took LLVM
// seconds, with the square of their number.) The additions are exact, so their order is free.
OwningOpRef<ModuleOp> emitBins(rank::KernelOp kernel, rank::BinSumsOp op) {
  Kernel k(kernel);
  OpBuilder &b = k.b;
  Location loc = k.loc;
  Type f64 = b.getF64Type();
  int64_t buffers = kernel.getBody().getNumArguments();
  SmallVector<int64_t> blocksOf(buffers, 0); // by buffer
  for (Value operand : op.getSums())
    blocksOf[numberOf(operand)] = cast<RankedTensorType>(operand.getType()).getNumElements();
  Value out = k.buffer(buffers), counts = k.table(blocksOf);
  k.loop(k.entry->getArgument(2), k.entry->getArgument(3), 1, Value(), [&](Value, Value) {
    k.loop(k.constant(0), k.constant(nn::SquareSumsOp::bins), 1, Value(), [&](Value bin, Value) {
      LLVM::StoreOp::create(b, loc, k.zero(), address(b, loc, out, f64, bin));
      return Value();
    });
    k.loop(k.constant(0), k.constant(buffers), 1, Value(), [&](Value number, Value) {
      Value blocks = k.buffer(number);
      Value count = LLVM::LoadOp::create(b, loc, b.getI64Type(), address(b, loc, counts, b.getI64Type(), number));
      k.loop(k.constant(0), count, 1, Value(), [&](Value index, Value) {
        addToBins(k, LLVM::LoadOp::create(b, loc, f64, address(b, loc, blocks, f64, index)), out);
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
