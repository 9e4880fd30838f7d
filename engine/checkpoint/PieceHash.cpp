// Wraps the library's state and words its result.
#include "engine/checkpoint/PieceHash.h"

#include <cstdio>
#include <new>
#include <xxhash.h>

namespace npar::engine {

PieceHash::PieceHash() : state(XXH3_createState()) {
  if (!state)
    throw std::bad_alloc(); // as any other allocation
  XXH3_128bits_reset(state.get());
}

void PieceHash::Free::operator()(XXH3_state_s *state) const { XXH3_freeState(state); }

void PieceHash::add(const void *bytes, size_t size) { XXH3_128bits_update(state.get(), bytes, size); }

std::string PieceHash::text() const {
  XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

std::string hashText(const void *bytes, size_t size) {
  PieceHash hash;
  hash.add(bytes, size);
  return hash.text();
}

} // namespace npar::engine
