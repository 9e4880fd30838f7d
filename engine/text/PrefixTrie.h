// Finds the tokens that a text begins with.
#pragma once

#include "engine/text/Vocabulary.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace npar::engine {

/// Built once, then read by any number of threads.
class PrefixTrie {
public:
  /// `bytes`: all tokens together.
  explicit PrefixTrie(size_t bytes);
  void add(std::string_view token, int32_t value);

  static constexpr uint32_t none = UINT32_MAX;
  uint32_t root() const { return 0; }
  /// The node after one more byte; `none` if no token continues like this.
  uint32_t next(uint32_t node, uint8_t byte) const {
    uint64_t key = keyOf(node, byte);
    for (size_t slot = slotOf(key);; slot = (slot + 1) & mask)
      if (slots[slot].key == key)
        return slots[slot].node;
      else if (slots[slot].key == 0)
        return none;
  }
  /// The token that ends at a node; -1 if none does.
  int32_t value(uint32_t node) const { return values[node]; }

private:
  struct Slot {
    uint64_t key = 0; ///< 0 marks an empty slot
    uint32_t node = 0;
  };
  static uint64_t keyOf(uint32_t node, uint8_t byte) { return (uint64_t{node} << 8 | byte) + 1; }
  size_t slotOf(uint64_t key) const {
    uint64_t mixed = key * 0x9e3779b97f4a7c15U;
    return (mixed ^ mixed >> 32) & mask;
  }
  std::vector<Slot> slots; ///< open addressing, at most half full
  size_t mask;
  std::vector<int32_t> values = {-1};
};

/// The bytes of all tokens together. Refuses more than a trie should have, and a token longer than 4,096 bytes, which would make the search
/// at each place of a text too long.
Result<size_t> trieBytes(const Vocabulary &vocabulary);

} // namespace npar::engine
