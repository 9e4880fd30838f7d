// A linked list of symbols and a heap of candidates; a candidate whose symbols have changed since is passed over.
#include "engine/text/Merges.h"

#include <algorithm>

namespace npar::engine {
namespace {

uint64_t pairOf(int32_t left, int32_t right) { return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right); }

} // namespace

MergeTable::MergeTable(size_t count) {
  size_t size = 2;
  while (size < 2 * count)
    size *= 2;
  slots.resize(size);
}

size_t MergeTable::slotOf(uint64_t pair) const {
  uint64_t mixed = pair * 0x9e3779b97f4a7c15U;
  size_t slot = (mixed ^ mixed >> 32) & (slots.size() - 1);
  while (slots[slot].merge.rank >= 0 && slots[slot].pair != pair)
    slot = (slot + 1) & (slots.size() - 1);
  return slot;
}

bool MergeTable::add(int32_t left, int32_t right, Merge merge) {
  Slot &slot = slots[slotOf(pairOf(left, right))];
  if (slot.merge.rank >= 0)
    return false;
  slot = {pairOf(left, right), merge};
  return true;
}

MergeTable::Merge MergeTable::find(int32_t left, int32_t right) const { return slots[slotOf(pairOf(left, right))].merge; }

void WordMerger::propose(int32_t position) {
  const Symbol &symbol = symbols[static_cast<size_t>(position)];
  if (symbol.after < 0)
    return;
  int32_t right = symbols[static_cast<size_t>(symbol.after)].token;
  MergeTable::Merge merge = table.find(symbol.token, right);
  if (merge.rank < 0)
    return;
  heap.push_back({merge.rank, position, merge.token, symbol.token, right});
}

void WordMerger::join(const Candidate &candidate) {
  Symbol &left = symbols[static_cast<size_t>(candidate.position)];
  Symbol &right = symbols[static_cast<size_t>(left.after)];
  left.token = candidate.token;
  left.after = right.after;
  right.token = -1;
  if (left.after >= 0)
    symbols[static_cast<size_t>(left.after)].before = candidate.position;
}

void WordMerger::merge(std::vector<int32_t> &tokens) {
  auto later = [](const Candidate &a, const Candidate &b) { return a.rank != b.rank ? a.rank > b.rank : a.position > b.position; };
  int32_t count = static_cast<int32_t>(tokens.size());
  symbols.clear(), heap.clear();
  for (int32_t i = 0; i < count; ++i)
    symbols.push_back({tokens[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  for (int32_t i = 0; i < count; ++i)
    propose(i);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Candidate candidate = heap.back();
    heap.pop_back();
    const Symbol &symbol = symbols[static_cast<size_t>(candidate.position)];
    bool stands =
        symbol.token == candidate.left && symbol.after >= 0 && symbols[static_cast<size_t>(symbol.after)].token == candidate.right;
    if (!stands)
      continue;
    join(candidate);
    for (int32_t position : {symbol.before, candidate.position})
      if (size_t before = heap.size(); position >= 0) {
        propose(position);
        if (heap.size() > before)
          std::push_heap(heap.begin(), heap.end(), later);
      }
  }
  tokens.clear();
  for (const Symbol &symbol : symbols)
    if (symbol.token >= 0)
      tokens.push_back(symbol.token);
}

} // namespace npar::engine
