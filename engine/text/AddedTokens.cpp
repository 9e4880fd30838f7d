// Finds the leftmost, then longest added token.
#include "engine/text/AddedTokens.h"

#include <algorithm>

namespace npar::engine {

void TokenTrie::add(const std::string &token, int32_t id) {
  uint32_t node = 0;
  for (char c : token) {
    uint64_t edge = uint64_t{node} << 8 | static_cast<uint8_t>(c);
    auto [found, fresh] = edges.emplace(edge, static_cast<uint32_t>(ids.size()));
    if (fresh)
      ids.push_back(-1);
    node = found->second;
  }
  ids[node] = id;
  begins[static_cast<uint8_t>(token.front())] = true;
  most = std::max(most, token.size());
}

bool TokenTrie::find(std::string_view text, size_t from, size_t until, Span &span, int32_t &id) const {
  if (empty())
    return false;
  for (size_t begin = from; begin < until; ++begin) {
    if (!begins[static_cast<uint8_t>(text[begin])])
      continue;
    uint32_t node = 0;
    id = -1;
    for (size_t at = begin; at < text.size(); ++at) {
      auto edge = edges.find(uint64_t{node} << 8 | static_cast<uint8_t>(text[at]));
      if (edge == edges.end())
        break;
      node = edge->second;
      if (ids[node] >= 0)
        id = ids[node], span = {begin, at + 1};
    }
    if (id >= 0)
      return true;
  }
  return false;
}

bool AddedTokenScan::next(std::string_view text, size_t from, bool goesOn, Span &span, int32_t &id, size_t &decided) {
  // A token that begins this close to the end may turn out to be longer, or overlap one of the first kind.
  size_t reach = std::max(tokens.first.longest(), tokens.second.longest());
  auto less = [](size_t size, size_t margin) { return size > margin ? size - margin : 0; };
  size_t untilFirst = goesOn ? less(text.size(), reach) : text.size();
  decided = goesOn ? less(text.size(), 2 * reach) : text.size();
  if (aheadId >= 0 && ahead.begin < from)
    aheadId = -1;
  if (aheadId < 0 && std::max(from, searched) < untilFirst) {
    if (!tokens.first.find(text, std::max(from, searched), untilFirst, ahead, aheadId))
      aheadId = -1;
    searched = aheadId >= 0 ? ahead.end : untilFirst;
  }
  size_t end = aheadId >= 0 ? ahead.begin : text.size(), until = aheadId >= 0 ? ahead.begin : decided;
  if (from < until && tokens.second.find(text.substr(0, end), from, until, span, id))
    return true;
  if (aheadId < 0)
    return false;
  span = ahead, id = aheadId, aheadId = -1;
  return true;
}

void AddedTokenScan::shift(size_t bytes) {
  searched = searched > bytes ? searched - bytes : 0;
  ahead = {ahead.begin - std::min(bytes, ahead.begin), ahead.end - std::min(bytes, ahead.end)};
}

} // namespace npar::engine
