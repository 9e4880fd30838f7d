// Counts the entries that ranks lack, by the distance of the rank that has them.
#include "compiler/dialects/dist/Reach.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

namespace npar::dist {

int64_t Reach::begin(int64_t member) const { return llvm::divideCeilSigned(member * step + first, spread); }

int64_t Reach::end(int64_t member) const { return llvm::divideFloorSigned(member * step + first + extent - 1, spread) + 1; }

llvm::SmallVector<Reach::Edge> Reach::edges() const {
  std::map<int64_t, int64_t> widths; // by shift
  for (int64_t receiver = 0; receiver < members; ++receiver) {
    int64_t from = std::max<int64_t>(begin(receiver), 0), to = std::min(end(receiver), entries);
    for (int64_t sender = from / shard; from < to && sender < members; ++sender) {
      int64_t width = std::min(to, (sender + 1) * shard) - from;
      if (sender != receiver) {
        int64_t &widest = widths[(receiver - sender + members) % members];
        widest = std::max(widest, width);
      }
      from += width;
    }
  }
  llvm::SmallVector<Edge> edges;
  for (auto [shift, width] : widths)
    edges.push_back({shift, width});
  return edges;
}

} // namespace npar::dist
