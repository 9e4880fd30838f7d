// Computes only rows that exist: of each piece those before the greatest end of its entries (rank.existing).
#include "compiler/codegen/loops/Emitter.h"
#include "compiler/codegen/loops/Narrow.h"

using namespace mlir;

namespace npar::codegen {

// The greatest end is found once for rows of the same piece that follow each other.
void Emitter::enterExistingRow(scf::ForOp rows) {
  OpBuilder &b = at[RowScope];
  rank::ExistingAttr existing = nest.existing;
  BlockArgument ends = source.getArguments().back();
  auto type = cast<RankedTensorType>(ends.getType());
  auto constant = [&](int64_t value) { return constantI64(b, loc(), value); };
  auto indexOf = [&](StringAttr axis) { return nest.loopOf(axis) < 0 ? constant(0) : loopIndex[nest.loopOf(axis)]; };

  int64_t pieces = 1, entries = 1, step = 1, stride = 1, places = existing.getPlaces();
  if (int loop = nest.loopOf(existing.getRow()); loop >= 0)
    pieces = nest.loops[loop].size / places;
  int64_t numbers = pieces;
  Value row = indexOf(existing.getRow()), piece = constant(0), place = row;
  if (pieces > 1) {
    piece = arith::DivUIOp::create(b, loc(), row, constant(places));
    place = arith::RemUIOp::create(b, loc(), row, constant(places));
  }
  // Where the ends of the piece begin, which another piece without entries may share, and a number of its own. The last pieces may have
  // fewer entries, or none.
  Value first = constant(0), number = piece, count;
  for (int64_t dim = type.getRank() - 1; dim >= 0; stride *= type.getDimSize(dim), --dim) {
    auto axis = cast<StringAttr>(existing.getEnds()[dim]);
    Value index;
    if (axis == existing.getEntry()) {
      int64_t size = type.getDimSize(dim);
      entries = llvm::divideCeil(size, pieces), step = stride;
      index = arith::MulIOp::create(b, loc(), piece, constant(entries));
      Value left = arith::MaxSIOp::create(b, loc(), arith::SubIOp::create(b, loc(), constant(size), index), constant(0));
      count = arith::MinSIOp::create(b, loc(), left, constant(entries));
    } else {
      index = indexOf(axis);
      number = arith::AddIOp::create(b, loc(), number, arith::MulIOp::create(b, loc(), index, constant(numbers)));
      numbers *= type.getDimSize(dim);
    }
    first = arith::AddIOp::create(b, loc(), first, arith::MulIOp::create(b, loc(), index, constant(stride)));
  }

  Value isOther = arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::ne, number, rows.getRegionIterArg(0));
  auto found = scf::IfOp::create(b, loc(), b.getI64Type(), isOther, /*withElseRegion=*/true);
  {
    OpBuilder inside = OpBuilder::atBlockBegin(found.thenBlock());
    Type i32 = b.getI32Type();
    Value zero = constantI64(inside, loc(), 0);
    auto loop = scf::ForOp::create(inside, loc(), zero, count, constantI64(inside, loc(), 1), zero);
    OpBuilder body = OpBuilder::atBlockBegin(loop.getBody());
    Value offset = arith::MulIOp::create(body, loc(), loop.getInductionVar(), constantI64(body, loc(), step));
    offset = arith::AddIOp::create(body, loc(), first, offset);
    Value end = LLVM::LoadOp::create(body, loc(), i32, address(body, loc(), pointers[ends], i32, offset));
    end = arith::ExtSIOp::create(body, loc(), b.getI64Type(), end);
    scf::YieldOp::create(body, loc(), arith::MaxSIOp::create(body, loc(), loop.getRegionIterArg(0), end).getResult());
    scf::YieldOp::create(inside, loc(), loop.getResult(0));
    OpBuilder otherwise = OpBuilder::atBlockBegin(found.elseBlock());
    scf::YieldOp::create(otherwise, loc(), rows.getRegionIterArg(1));
  }
  rows.getBody()->getTerminator()->setOperands({number, found.getResult(0)});
  Value exists = arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::slt, place, found.getResult(0));
  auto branch = scf::IfOp::create(b, loc(), exists, existing.getClears());
  if (existing.getClears()) {
    at[RowScope] = OpBuilder::atBlockTerminator(branch.elseBlock());
    clearRow();
  }
  at[RowScope] = OpBuilder::atBlockTerminator(branch.thenBlock());
}

// Stores zeros in all results of the row.
void Emitter::clearRow() {
  auto zero = [&](const Output &output) {
    Lane lane;
    Type element = storageType(cast<RankedTensorType>(output.value.getType()).getElementType());
    lane.parts.push_back(arith::ConstantOp::create(at[CallScope], loc(), at[CallScope].getZeroAttr(element)));
    store(lane, output);
  };
  auto isInside = [&](const Output &output) { return info(output.value).inner && !info(output.value).reduces; };
  SmallVector<SmallVector<Value>> none;
  if (llvm::any_of(outputs, isInside))
    walkInside(none, [&] { llvm::for_each(llvm::make_filter_range(outputs, isInside), zero); });
  at[InnerScope] = at[RowScope];
  parts = 1;
  for (const Output &output : outputs)
    if (!isInside(output))
      zero(output);
}

} // namespace npar::codegen
