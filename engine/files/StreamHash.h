// XXH3-128 of bytes that come one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct XXH3_state_s;

namespace npar::files {

class StreamHash {
public:
  StreamHash();
  void add(const void *bytes, size_t size);
  struct Digest {
    uint64_t low = 0, high = 0;
  };
  /// The hash of all bytes so far.
  Digest digest() const;
  /// The same as 32 hex digits.
  std::string text() const;
  /// Forgets all bytes.
  void reset();

private:
  struct Free {
    void operator()(XXH3_state_s *state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state;
};

/// The hash of contiguous bytes, as 32 hex digits.
std::string hashText(const void *bytes, size_t size);

} // namespace npar::files
