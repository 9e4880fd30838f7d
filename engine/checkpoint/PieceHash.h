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
  /// The hash of all bytes so far, as 32 hex digits.
  std::string text() const;

private:
  struct Free {
    void operator()(XXH3_state_s *state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state;
};

/// The hash of contiguous bytes, as 32 hex digits.
std::string hashText(const void *bytes, size_t size);

} // namespace npar::engine
