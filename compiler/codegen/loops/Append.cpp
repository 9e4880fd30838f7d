// The loops of nn.append: for each state (indices of the axes before `keys`) and each chunk of columns (indices of the axes after it), all
// rows in ascending order. The kept rows are first copied only if the result has a buffer of its own.
#include "compiler/codegen/loops/Append.h"

#include "compiler/codegen/loops/KernelFunction.h"
#include "compiler/codegen/loops/Narrow.h"
#include "compiler/codegen/loops/Vector.h"
#include "compiler/dialects/nn/ops/Along.h"

using namespace mlir;

namespace npar::codegen {
namespace {

/// [states, keys, columns] and [states, rows, columns]; positions: [states / statesPerPlace, rows].
struct Sizes {
  explicit Sizes(nn::AppendOp op) {
    auto type = cast<RankedTensorType>(op.getType());
    int64_t dim = nn::dimOf(type, op.getKeysAttr());
    keys = type.getDimSize(dim);
    rows = cast<RankedTensorType>(op.getRows().getType()).getDimSize(dim);
    for (int64_t i = 0; i < type.getRank(); ++i)
      (i < dim ? states : columns) *= i == dim ? 1 : type.getDimSize(i);
    statesPerPlace = states / (cast<RankedTensorType>(op.getPositions().getType()).getNumElements() / rows);
    lanes = lanesOf(type.getElementType());
    chunks = llvm::divideCeil(columns, lanes);
  }
  int64_t states = 1, keys, rows, columns = 1, statesPerPlace, lanes, chunks;
};

} // namespace

bool isAppend(rank::KernelOp kernel) { return bool(onlyOp<nn::AppendOp>(kernel)); }

int64_t appendExtent(rank::KernelOp kernel) {
  Sizes sizes(onlyOp<nn::AppendOp>(kernel));
  return sizes.states * sizes.chunks;
}

FailureOr<OwningOpRef<ModuleOp>> emitAppend(rank::KernelOp kernel) {
  nn::AppendOp op = onlyOp<nn::AppendOp>(kernel);
  for (Value value : op->getOperands())
    if (!isa<BlockArgument>(value))
      return kernel.emitOpError("computes an operand of 'nn.append'");
  Sizes sizes(op);
  Type element = storageType(cast<RankedTensorType>(op.getType()).getElementType());
  KernelFunction k(kernel);
  OpBuilder &b = k.b;
  Location loc = k.loc;
  auto constant = [&](int64_t value) { return k.constant(value); };
  auto add = [&](Value x, Value y) -> Value { return arith::AddIOp::create(b, loc, x, y); };
  auto mul = [&](Value x, int64_t y) -> Value { return arith::MulIOp::create(b, loc, x, constant(y)); };
  Value kept = k.buffer(numberOf(op.getKept())), rows = k.buffer(numberOf(op.getRows())), positions = k.buffer(numberOf(op.getPositions()));
  Value out = k.buffer(kernel.getBody().front().getNumArguments());
  auto loop = [&](Value begin, Value end, llvm::function_ref<void(Value)> body) {
    k.loop(begin, end, 1, {}, [&](Value index, Value) {
      body(index);
      return Value();
    });
  };
  auto onlyIf = [&](Value condition, llvm::function_ref<void()> body) {
    auto branch = scf::IfOp::create(b, loc, condition, false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  };
  loop(k.begin(), k.end(), [&](Value item) {
    Value state = arith::DivUIOp::create(b, loc, item, constant(sizes.chunks));
    Value column = mul(arith::RemUIOp::create(b, loc, item, constant(sizes.chunks)), sizes.lanes);
    Value mask;
    if (sizes.columns % sizes.lanes != 0)
      mask = maskBelow(b, loc, arith::SubIOp::create(b, loc, constant(sizes.columns), column), sizes.lanes);
    auto place = [&](Value base, int64_t count, Value row) {
      return address(b, loc, base, element, add(mul(add(mul(state, count), row), sizes.columns), column));
    };
    auto move = [&](Value from, Value to) { storeLanes(b, loc, loadLanes(b, loc, from, element, sizes.lanes, mask), to, mask); };
    Value differ = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), kept),
                                         LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), out));
    onlyIf(differ, [&] {
      loop(constant(0), constant(sizes.keys), [&](Value key) { move(place(kept, sizes.keys, key), place(out, sizes.keys, key)); });
    });
    Value places = mul(arith::DivUIOp::create(b, loc, state, constant(sizes.statesPerPlace)), sizes.rows);
    loop(constant(0), constant(sizes.rows), [&](Value row) {
      Value word = LLVM::LoadOp::create(b, loc, b.getI32Type(), address(b, loc, positions, b.getI32Type(), add(places, row)));
      Value key = arith::ExtSIOp::create(b, loc, b.getI64Type(), word);
      // One unsigned comparison tests both ends.
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, key, constant(sizes.keys));
      onlyIf(inside, [&] { move(place(rows, sizes.rows, row), place(out, sizes.keys, key)); });
    });
  });
  func::ReturnOp::create(b, loc);
  return std::move(k.module);
}

} // namespace npar::codegen
