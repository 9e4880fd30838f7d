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

Result<size_t> trieBytes(const Vocabulary &vocabulary) {
  constexpr size_t most = size_t{16} << 20, longest = 4096;
  size_t bytes = 0;
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.text(id).size() > longest)
      return Status::badInput("the token with id " + std::to_string(id) + " has " + std::to_string(vocabulary.text(id).size()) +
                              " bytes, more than " + std::to_string(longest));
    bytes += vocabulary.text(id).size();
  }
  if (bytes > most)
    return Status::badInput("its tokens have " + std::to_string(bytes) + " bytes together, more than " + std::to_string(most));
  return bytes;
}

} // namespace npar::engine
