// The arithmetic of windows on one rank. Position p of rank i, with M positions, is number (i * M + p) * stride - before + k * dilation for
// entry k of the window, an entry of x if `spread` divides it. So a rank's numbers begin at i * M * stride + a constant, and there is a
// number for each entry of its piece.
#include "compiler/passes/place/LocalWindows.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {

namespace {

/// Windows over the entries that a rank needs.
struct LocalAxis {
  dist::Reach reach;
  int64_t before, spread; ///< of the windows over the reached entries

  LocalAxis(nn::WindowsOp windows, unsigned i, int64_t entries, int64_t positions, int64_t members, int64_t shard) {
    int64_t local = llvm::divideCeilSigned(positions, members), stride = windows.getStride()[i];
    int64_t span = (nn::sizeOf(windows.getType(), windows.byAt(i)) - 1) * windows.getDilation()[i];
    int64_t least = std::min<int64_t>(span, 0), most = std::max<int64_t>(span, 0);
    before = windows.getBefore()[i], spread = windows.getSpread()[i];
    int64_t used = llvm::divideFloorSigned((positions - 1) * stride + most - before, spread) + 1;
    reach = {members,        std::clamp<int64_t>(used, 0, entries),   shard, local * stride,
             least - before, (local - 1) * stride + most - least + 1, spread};
    if (local * stride % spread != 0) { // entries have other places among the numbers on each rank: the piece has all numbers
      before = least, spread = 1;
      return;
    }
    int64_t first = reach.begin(0);
    reach.extent = std::max<int64_t>(reach.end(0) - first, 1);
    reach.step /= spread, reach.first = first, reach.spread = 1;
    before += first * spread;
  }
};

} // namespace

bool isExchanged(nn::WindowsOp windows, unsigned i, int64_t entries, int64_t positions, int64_t members) {
  int64_t shard = llvm::divideCeilSigned(entries, members), sent = 0;
  for (const dist::Reach::Edge &edge : LocalAxis(windows, i, entries, positions, members, shard).reach.edges())
    sent += edge.width;
  return sent < (members - 1) * shard;
}

dist::HaloOp makeLocal(nn::WindowsOp windows, unsigned i, ArrayRef<StringAttr> splits, dist::CauseAttr cause) {
  Value x = windows.getX();
  dist::MeshAttr mesh = dist::meshOf(windows);
  StringAttr over = windows.overAt(i);
  LayoutAttr layout = dist::layoutOf(x), result = dist::layoutOf(windows.getType());
  int64_t dim = layout.dimOf(over), members = mesh.sizeOf(splits);
  LocalAxis axis(windows, i, layout.getSizes()[dim], result.getSizes()[result.dimOf(windows.toAt(i))], members,
                 nn::sizeOf(x.getType(), over));
  SmallVector<int64_t> before(windows.getBefore()), spread(windows.getSpread());
  before[i] = axis.before, spread[i] = axis.spread;
  OpBuilder builder(windows);
  dist::HaloOp halo;
  if (!layout.splitsOf(dim).empty() && !layout.isPadded(dim, mesh) && axis.reach.isOwn()) {
    before[i] -= axis.reach.first * axis.spread;
  } else {
    auto type = dist::nearType(cast<RankedTensorType>(x.getType()), over, ".near", splits, axis.reach.extent, mesh);
    halo = dist::HaloOp::create(builder, windows.getLoc(), type, x, ValueRange(), over.getValue(),
                                dist::stringArray(windows.getContext(), splits), axis.reach.step, axis.reach.first, axis.reach.entries,
                                axis.reach.spread, windows.getFill(), cause);
    if (auto at = nn::getAt(windows))
      nn::setAt(halo, at);
    SmallVector<StringAttr> overs(windows.getOver().getAsRange<StringAttr>());
    overs[i] = dist::layoutOf(type).getNames()[dim];
    windows.getXMutable().assign(halo);
    windows.setOverAttr(dist::stringArray(windows.getContext(), overs));
  }
  windows.setBefore(before);
  windows.setSpread(spread);
  windows.setLocal(true);
  return halo;
}

} // namespace npar::place
