// Two processes prove to each other that they belong to one job, before any other byte. This part has no sockets: bytes in, bytes out.
#pragma once

#include "engine/network/JobSecret.h"

#include <optional>
#include <vector>

namespace npar::engine {

/// The job, number and key of one process.
struct HandshakeTerms {
  std::string job; ///< tells jobs apart: the same in all processes
  uint32_t process = 0, processes = 1;
  JobKeyPointer key; ///< null: nothing is proved; then the other end must be a socket of this user (PeerUser.h)
};

/// One side of:
///
///   both      magic, version, side, whether there is a key, 32 random bytes
///   connects  number of the job, process, processes, port, proof        the claim
///   accepts   verdict, process, processes, proof                        the answer
///
/// A proof is an HMAC-SHA256 over the side that makes it, the job's name, both processes, their number, the port or the verdict, and the
/// random bytes of both sides. So it proves the key to this connection alone: one that was recorded, or that comes back from the side it
/// was sent to, or was made for another process, is wrong. The side that connects proves itself first; each sends nothing else before the
/// other has proved itself. The connection is neither encrypted nor signed afterwards.
class Handshake {
public:
  enum class State {
    Running,
    Claimed,  ///< accepts: the claim is proved; to be answered
    Done,     ///< both sides are proved
    Refused,  ///< the other side belongs to this job as far as it says, and one of both refuses: `why`
    Stranger, ///< the other side is no process of this job: `why`
  };
  enum class Verdict : uint32_t { Welcome, OtherJob, SecretsDiffer, CountsDiffer, Taken, OtherUser };
  struct Claim {
    uint64_t job;
    uint32_t process, processes, port, zero;
    Proof proof;
  };

  /// The side that connects with process `peer`, and is itself reached at `port` (0: nowhere). The terms must outlive it.
  static Handshake connecting(const HandshakeTerms &own, uint32_t peer, uint16_t port) { return {own, true, peer, port}; }
  static Handshake accepting(const HandshakeTerms &own) { return {own, false, own.process, 0}; }

  State state() const { return now; }
  /// Bytes that are still to come of the message that is expected; 0: none is.
  size_t wants() const { return expected - came.size(); }
  /// Takes received bytes, at most `wants()`.
  void hear(const uint8_t *bytes, size_t size);
  /// Takes the bytes to send.
  std::vector<uint8_t> take();
  /// Accepts: the claim of the other side, once it is Claimed.
  const Claim &claim() const { return theirs; }
  /// Accepts: answers a claim.
  void answer(Verdict verdict);
  /// Explains Refused and Stranger; "it" is the other side. Never holds a secret.
  const std::string &why() const { return reason; }
  /// Accepts: the verdict that was sent; nothing before a claim.
  std::optional<Verdict> verdict() const { return given; }

private:
  struct Hello {
    uint32_t magic;
    uint16_t version;
    uint8_t connects, proves;
    std::array<uint8_t, 32> nonce;
  };
  struct Answer {
    uint32_t verdict, process, processes, zero;
    Proof proof;
  };
  Handshake(const HandshakeTerms &own, bool connects, uint32_t peer, uint16_t port);
  template <typename T> void put(const T &value);
  void expect(size_t bytes) { expected = bytes, came.clear(); }
  void end(State state, std::string why = "");
  void hearHello();
  void hearClaim();
  void hearAnswer();
  /// Returns the statement that a side proves; `last` is the port of a claim or the verdict of an answer.
  std::string statement(bool connects, uint32_t connecting, uint32_t processes, uint32_t last) const;
  Proof prove(const std::string &statement) const { return own->key ? own->key->prove(statement) : Proof{}; }
  bool accepts(const Proof &proof, const std::string &statement) const { return !own->key || own->key->accepts(proof, statement); }

  const HandshakeTerms *own;
  bool connects;
  uint32_t acceptor; ///< the process that accepts
  uint16_t port;
  std::array<uint8_t, 32> nonces[2]; ///< nonces of the side that connects, and of the one that accepts
  enum class Step { Hello, Claim, Answer, Over } step = Step::Hello;
  State now = State::Running;
  size_t expected = sizeof(Hello);
  std::vector<uint8_t> came, out;
  Claim theirs{};
  std::optional<Verdict> given;
  std::string reason;
};

} // namespace npar::engine
