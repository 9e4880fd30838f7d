// Wraps the library's state and words its result.
#include "engine/files/StreamHash.h"

#include <cstdio>
#include <new>
#include <xxhash.h>

namespace npar::files {

StreamHash::StreamHash() : state(XXH3_createState()) {
  if (!state)
    throw std::bad_alloc(); // as any other allocation
  XXH3_128bits_reset(state.get());
}

void StreamHash::Free::operator()(XXH3_state_s *state) const { XXH3_freeState(state); }

void StreamHash::add(const void *bytes, size_t size) { XXH3_128bits_update(state.get(), bytes, size); }

StreamHash::Digest StreamHash::digest() const {
  XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return {hash.low64, hash.high64};
}

void StreamHash::reset() { XXH3_128bits_reset(state.get()); }

std::string StreamHash::text() const {
  Digest hash = digest();
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

std::string hashText(const void *bytes, size_t size) {
  StreamHash hash;
  hash.add(bytes, size);
  return hash.text();
}

} // namespace npar::files
