// The loops of rank.bin_sums for many threads: 56 bins by the 32 lanes of all teams of a block, where the processor has one loop over all
// block sums.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/device/BlockSums.h"
#include "compiler/codegen/device/OwnLoops.h"

#include "compiler/codegen/loops/SquareSum.h"

using namespace mlir;

namespace npar::codegen {

DeviceLoops emitBinRows(rank::KernelOp kernel) {
  constexpr int64_t lanes = 32;
  auto op = onlyOp<rank::BinSumsOp>(kernel);
  KernelFunction k(kernel);
  OpBuilder &b = k.b;
  Location loc = k.loc;
  Type f64 = b.getF64Type();
  int64_t buffers = kernel.getBody().getNumArguments();
  Value out = k.buffer(buffers), counts = k.table(blocksByBuffer(kernel, op));
  k.loop(k.begin(), k.end(), 1, Value(), [&](Value row, Value) {
    Value own = splat(b, loc, row, lanes), none = splat(b, loc, k.zero(), lanes);
    Value sums = k.loop(k.constant(0), k.constant(buffers), 1, none, [&](Value number, Value before) {
      Value blocks = k.buffer(number);
      Value count = LLVM::LoadOp::create(b, loc, b.getI64Type(), address(b, loc, counts, b.getI64Type(), number));
      return k.loop(k.constant(0), count, lanes, before, [&](Value first, Value sums) {
        // Lanes beyond the last block sum are 0 and change nothing.
        Value mask = maskBelow(b, loc, arith::SubIOp::create(b, loc, count, first), lanes);
        cutIntoBins(k, loadLanes(b, loc, address(b, loc, blocks, f64, first), f64, lanes, mask), [&](Value bin, Value chunk) {
          Value here = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, bin, own);
          sums = arith::AddFOp::create(b, loc, sums, arith::SelectOp::create(b, loc, here, chunk, none));
        });
        return sums;
      });
    });
    attributes::anyOrder.set(sums.getDefiningOp());
    auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, loc, x, y); };
    LLVM::StoreOp::create(b, loc, laneTree(b, loc, sums, add), address(b, loc, out, f64, row));
    return Value();
  });
  func::ReturnOp::create(b, loc);
  return {std::move(k.module), nn::SquareSumsOp::bins};
}

} // namespace npar::codegen
