// Edges are in one hash table.
#include "engine/text/PrefixTrie.h"

#include <string>

namespace npar::engine {

PrefixTrie::PrefixTrie(size_t bytes) {
  size_t size = 2;
  while (size < 2 * bytes)
    size *= 2;
  slots.resize(size);
  mask = size - 1;
}

void PrefixTrie::add(std::string_view token, int32_t value) {
  uint32_t node = root();
  for (char c : token) {
    uint64_t key = keyOf(node, static_cast<uint8_t>(c));
    size_t slot = slotOf(key);
    while (slots[slot].key != 0 && slots[slot].key != key)
      slot = (slot + 1) & mask;
    if (slots[slot].key == 0) {
      slots[slot] = {key, static_cast<uint32_t>(values.size())};
      values.push_back(-1);
    }
    node = slots[slot].node;
  }
  values[node] = value;
}

Status checkTrieBytes(size_t bytes) {
  constexpr size_t most = size_t{16} << 20;
  if (bytes <= most)
    return {};
  return Status::badInput("its tokens have " + std::to_string(bytes) + " bytes together, more than " + std::to_string(most));
}

} // namespace npar::engine
