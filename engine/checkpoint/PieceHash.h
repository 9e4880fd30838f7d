// XXH3-128 of bytes that come one after the other.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

struct XXH3_state_s;

namespace npar::engine {

class PieceHash {
public:
  PieceHash();
  void add(const void *bytes, size_t size);
  /// Of all bytes so far, 32 hex digits.
  std::string text() const;

private:
  struct Free {
    void operator()(XXH3_state_s *state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state;
};

/// Of bytes that lie together.
std::string hashText(const void *bytes, size_t size);

} // namespace npar::engine
