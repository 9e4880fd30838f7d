// The loops of nn.scatter_add for many threads. Every element has the order of additions that loops/ScatterAdd.cpp gives it, tokens in
// ascending order, but each chunk of a row of the table finds its tokens alone: 32 of them are compared at once, and the bits of the ones
// that name the row are walked from the lowest.
#include "compiler/codegen/device/OwnLoops.h"

#include "compiler/codegen/loops/KernelFunction.h"
#include "compiler/codegen/loops/Narrow.h"
#include "compiler/codegen/loops/ScatterAdd.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace npar::codegen {

namespace {
constexpr int64_t lanes = 32;

struct ScatterRows {
  ScatterRows(rank::KernelOp kernel, const ScatterTable &table) : table(table), k(kernel), b(k.b), loc(k.loc) {}
  void emit(rank::KernelOp kernel, dist::MeshAttr mesh);
  Value firstRow(dist::MeshAttr mesh);
  void walkRow(Value row);
  SmallVector<Value> addTokens(Value first, Value matches, ValueRange sums);
  Value place(Value base, Value row, int64_t part, Type element);

  ScatterTable table;
  KernelFunction k;
  OpBuilder &b;
  Location loc;
  Value shard, idx, dy, start, out, column;
  SmallVector<Value> masks;
};
} // namespace

Value ScatterRows::firstRow(dist::MeshAttr mesh) {
  dist::LayoutAttr layout = dist::layoutOf(table.op.getType());
  Value shard = k.member(mesh, layout ? layout.splitsOf(0) : ArrayRef<StringAttr>());
  return arith::MulIOp::create(b, loc, shard, k.constant(table.rows));
}

Value ScatterRows::place(Value base, Value row, int64_t part, Type element) {
  Value offset = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, row, k.constant(table.columns)), column);
  return address(b, loc, base, element, arith::AddIOp::create(b, loc, offset, k.constant(part * lanes)));
}

// `matches` has a bit for each token from `first` on that names the row.
SmallVector<Value> ScatterRows::addTokens(Value first, Value matches, ValueRange sums) {
  SmallVector<Value> start{matches};
  llvm::append_range(start, sums);
  SmallVector<Type> types = llvm::to_vector(ValueRange(start).getTypes());
  auto loop = scf::WhileOp::create(b, loc, types, start);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, SmallVector<Location>(types.size(), loc));
  Value none = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  Value left = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, before->getArgument(0), none);
  scf::ConditionOp::create(b, loc, left, before->getArguments());
  Block *after = b.createBlock(&loop.getAfter(), {}, types, SmallVector<Location>(types.size(), loc));
  Value bits = after->getArgument(0), one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
  Value lowest = LLVM::CountTrailingZerosOp::create(b, loc, b.getI32Type(), bits, /*is_zero_poison=*/true);
  Value token = arith::AddIOp::create(b, loc, first, arith::ExtUIOp::create(b, loc, b.getI64Type(), lowest));
  SmallVector<Value> next{arith::AndIOp::create(b, loc, bits, arith::SubIOp::create(b, loc, bits, one))};
  Type stored = storageType(table.added);
  for (int64_t p = 0; p < table.parts; ++p) {
    Value more = loadLanes(b, loc, place(dy, token, p, stored), stored, lanes, masks[p]);
    if (stored != table.added)
      more = widen(b, loc, more, table.added);
    next.push_back(arith::AddFOp::create(b, loc, after->getArgument(1 + p), more));
  }
  scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(loop.getResults().drop_front());
}

void ScatterRows::walkRow(Value row) {
  Type i32 = b.getI32Type();
  int64_t chunks = llvm::divideCeil(table.columns, table.width());
  Value tableRow = arith::DivUIOp::create(b, loc, row, k.constant(chunks));
  column = arith::MulIOp::create(b, loc, arith::RemUIOp::create(b, loc, row, k.constant(chunks)), k.constant(table.width()));
  masks.assign(table.parts, Value());
  if (table.columns % table.width() != 0)
    for (int64_t p = 0; p < table.parts; ++p)
      masks[p] = maskBelow(b, loc, arith::SubIOp::create(b, loc, k.constant(table.columns - p * lanes), column), lanes);
  Value wanted = arith::TruncIOp::create(b, loc, i32, arith::AddIOp::create(b, loc, tableRow, shard));
  SmallVector<Value> sums;
  for (int64_t p = 0; p < table.parts; ++p)
    sums.push_back(start ? loadLanes(b, loc, place(start, tableRow, p, table.element), table.element, lanes, masks[p])
                         : splat(b, loc, arith::ConstantOp::create(b, loc, b.getZeroAttr(table.element)), lanes));
  auto scan = scf::ForOp::create(b, loc, k.constant(0), k.constant(table.tokens), k.constant(lanes), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(scan.getBody());
    Value first = scan.getInductionVar();
    Value mask =
        table.tokens % lanes == 0 ? Value() : maskBelow(b, loc, arith::SubIOp::create(b, loc, k.constant(table.tokens), first), lanes);
    Value words = loadLanes(b, loc, address(b, loc, idx, i32, first), i32, lanes, mask);
    Value same = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, words, splat(b, loc, wanted, lanes));
    if (mask)
      same = arith::AndIOp::create(b, loc, same, mask);
    scf::YieldOp::create(b, loc, addTokens(first, LLVM::BitcastOp::create(b, loc, i32, same), scan.getRegionIterArgs()));
  }
  for (int64_t p = 0; p < table.parts; ++p)
    storeLanes(b, loc, scan.getResult(p), place(out, tableRow, p, table.element), masks[p]);
}

void ScatterRows::emit(rank::KernelOp kernel, dist::MeshAttr mesh) {
  idx = k.buffer(numberOf(table.op.getIdx())), dy = k.buffer(numberOf(table.op.getDy()));
  start = table.accumulator ? k.buffer(numberOf(table.accumulator)) : Value();
  out = k.buffer(kernel.getBody().getNumArguments());
  shard = firstRow(mesh);
  k.loop(k.begin(), k.end(), 1, Value(), [&](Value row, Value) {
    walkRow(row);
    return Value();
  });
  func::ReturnOp::create(b, loc);
}

FailureOr<DeviceLoops> emitScatterRows(rank::KernelOp kernel, dist::MeshAttr mesh) {
  ScatterTable table(kernel, lanes);
  if (failed(table.check(kernel)))
    return failure();
  ScatterRows rows(kernel, table);
  rows.emit(kernel, mesh);
  return DeviceLoops{std::move(rows.k.module), table.rows * static_cast<int64_t>(llvm::divideCeil(table.columns, table.width()))};
}

} // namespace npar::codegen
