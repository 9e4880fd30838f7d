// An iterator that counts: the events of nlohmann's scanner carry no position.
#pragma once

#include <cstddef>
#include <iterator>

namespace npar::engine {

/// Stores in `reached` how far the scanner has read: one byte past a string or a bracket, up to two bytes past other tokens.
struct CountedText {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;
  const char *at;
  const char **reached;
  reference operator*() const { return *at; }
  CountedText &operator++() {
    *reached = ++at;
    return *this;
  }
  bool operator==(const CountedText &other) const { return at == other.at; }
  bool operator!=(const CountedText &other) const { return at != other.at; }
};

} // namespace npar::engine
