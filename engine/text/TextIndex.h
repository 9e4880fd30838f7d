// A hash table from texts to numbers that finds views without copying them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace npar::engine {

/// Built once, then read by any number of threads.
class TextIndex {
public:
  explicit TextIndex(size_t count = 0);
  /// False if the text is there already. The text must live as long as the index.
  bool add(std::string_view text, int32_t value);
  /// The value of a text; -1 if it is not there.
  int32_t find(std::string_view text) const;

private:
  struct Slot {
    std::string_view text;
    int32_t value = -1;
  };
  size_t slotOf(std::string_view text) const;
  std::vector<Slot> slots; ///< open addressing, at most half full
};

} // namespace npar::engine
