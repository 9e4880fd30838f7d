// A stranger sends arbitrary bytes in place of a process: neither side may accept them as a proof, and no message may wait for more bytes
// than it has. Bytes: whether there is a secret, which side hears, then what it hears.
#include "tests/fuzz/FuzzTargets.h"

#include "engine/network/Handshake.h"

#include <algorithm>

namespace npar::fuzz {

using namespace engine;

void fuzzHandshake(const uint8_t *bytes, size_t size) {
  if (size < 1)
    return;
  bool secret = bytes[0] & 1, connects = bytes[0] & 2;
  HandshakeTerms terms{"a job", connects ? 1u : 0u, 3, secret ? std::make_shared<JobKey>("0123456789abcdef", 16) : nullptr};
  Handshake handshake = connects ? Handshake::connecting(terms, 0, 4711) : Handshake::accepting(terms);
  for (size_t at = 1; at < size && handshake.wants() > 0;) {
    size_t heard = std::min<size_t>({size - at, handshake.wants(), size_t{1} + bytes[0] / 4});
    handshake.hear(bytes + at, heard);
    at += heard;
    if (handshake.state() == Handshake::State::Claimed)
      handshake.answer(Handshake::Verdict::Welcome);
    check(handshake.wants() <= 64 && handshake.take().size() <= 128);
  }
  Handshake::State state = handshake.state();
  check(!secret || (state != Handshake::State::Done && state != Handshake::State::Claimed));
  check((state == Handshake::State::Running || state == Handshake::State::Done) == handshake.why().empty());
}

} // namespace npar::fuzz
