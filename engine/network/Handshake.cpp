// Messages of fixed size, each read only when all of it has come.
#include "engine/network/Handshake.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace npar::engine {

namespace {

constexpr uint32_t magic = 0x4850524e; // "NRPH"
constexpr uint16_t version = 1;

uint64_t numberOf(const std::string &name) { // FNV-1a, the same on every machine
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

template <typename T> T read(const std::vector<uint8_t> &bytes) {
  T value;
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <typename T> void append(std::string &to, const T &value) { to.append(reinterpret_cast<const char *>(&value), sizeof(T)); }

} // namespace

Handshake::Handshake(const HandshakeTerms &own, bool connects, uint32_t peer, uint16_t port)
    : own(&own), connects(connects), acceptor(peer), port(port), nonces{} {
  static_assert(sizeof(Hello) == 40 && sizeof(Claim) == 56 && sizeof(Answer) == 48, "no byte of a message is left to chance");
  fillWithRandom(nonces[connects ? 0 : 1].data(), nonces[0].size());
  if (connects)
    put(Hello{magic, version, 1, own.key != nullptr, nonces[0]});
}

template <typename T> void Handshake::put(const T &value) {
  auto *begin = reinterpret_cast<const uint8_t *>(&value);
  out.insert(out.end(), begin, begin + sizeof(T));
}

std::vector<uint8_t> Handshake::take() { return std::exchange(out, {}); }

void Handshake::end(State state, std::string why) {
  now = state, reason = std::move(why), step = Step::Over;
  expect(0);
}

void Handshake::hear(const uint8_t *bytes, size_t size) {
  came.insert(came.end(), bytes, bytes + std::min(size, wants()));
  if (came.size() < expected || now != State::Running)
    return;
  switch (step) {
  case Step::Hello:
    return hearHello();
  case Step::Claim:
    return hearClaim();
  case Step::Answer:
    return hearAnswer();
  case Step::Over:
    return;
  }
}

void Handshake::hearHello() {
  auto hello = read<Hello>(came);
  if (hello.magic != magic || hello.connects > 1 || hello.proves > 1 || (hello.connects == 1) == connects)
    return end(State::Stranger, "it is no process of npar");
  if (hello.version != version)
    return end(State::Stranger,
               "it speaks version " + std::to_string(hello.version) + " of the handshake, this process version " + std::to_string(version));
  nonces[connects ? 1 : 0] = hello.nonce;
  if (!connects)
    put(Hello{magic, version, 0, own->key != nullptr, nonces[1]}); // also to one that is refused: it then knows why
  if ((hello.proves == 1) != (own->key != nullptr))
    return end(State::Refused,
               hello.proves ? "it has a job secret, but this process has none" : "it has no job secret, but this process has one");
  if (!connects) {
    step = Step::Claim;
    return expect(sizeof(Claim));
  }
  put(Claim{numberOf(own->job), own->process, own->processes, port, 0, prove(statement(true, own->process, own->processes, port))});
  step = Step::Answer;
  expect(sizeof(Answer));
}

void Handshake::hearClaim() {
  theirs = read<Claim>(came);
  if (theirs.job != numberOf(own->job))
    return answer(Verdict::OtherJob);
  if (!accepts(theirs.proof, statement(true, theirs.process, theirs.processes, theirs.port)))
    return answer(Verdict::SecretsDiffer);
  if (theirs.processes != own->processes)
    return answer(Verdict::CountsDiffer);
  if (theirs.process >= own->processes || theirs.process == own->process || theirs.port > UINT16_MAX)
    return end(State::Stranger, "it is no other process of this job");
  end(State::Claimed);
}

void Handshake::answer(Verdict verdict) {
  auto number = static_cast<uint32_t>(verdict);
  given = verdict;
  put(Answer{number, own->process, own->processes, 0, prove(statement(false, theirs.process, own->processes, number))});
  switch (verdict) {
  case Verdict::Welcome:
    return end(State::Done);
  case Verdict::OtherJob:
    return end(State::Stranger, "it belongs to another job");
  case Verdict::SecretsDiffer:
    return end(State::Refused, "its job secret differs");
  case Verdict::CountsDiffer:
    return end(State::Refused, "it is one of " + std::to_string(theirs.processes) + " processes");
  case Verdict::Taken:
    return end(State::Refused, "another process has come with its number");
  case Verdict::OtherUser:
    return end(State::Refused, "it belongs to another user of this host, and there is no job secret");
  }
}

void Handshake::hearAnswer() {
  auto answer = read<Answer>(came);
  switch (answer.verdict) {
  case static_cast<uint32_t>(Verdict::Welcome):
    if (answer.process != acceptor || answer.processes != own->processes ||
        !accepts(answer.proof, statement(false, own->process, answer.processes, answer.verdict)))
      return end(State::Stranger, "it does not prove that it knows the job secret");
    return end(State::Done);
  case static_cast<uint32_t>(Verdict::OtherJob):
    return end(State::Stranger, "it belongs to another job");
  case static_cast<uint32_t>(Verdict::SecretsDiffer):
    return end(State::Refused, "its job secret differs from that of this process: set the same NPAR_JOB_SECRET (or "
                               "NPAR_JOB_SECRET_FILE) on every host");
  case static_cast<uint32_t>(Verdict::CountsDiffer):
    return end(State::Refused, "it is one of " + std::to_string(answer.processes) + " processes, and this process one of " +
                                   std::to_string(own->processes));
  case static_cast<uint32_t>(Verdict::Taken):
    return end(State::Refused, "another process has already connected as process " + std::to_string(own->process) + " before");
  case static_cast<uint32_t>(Verdict::OtherUser):
    return end(State::Refused, "it belongs to another user of this host, and there is no job secret");
  default:
    return end(State::Stranger, "it is no process of npar");
  }
}

std::string Handshake::statement(bool connects, uint32_t connecting, uint32_t processes, uint32_t last) const {
  std::string all = connects ? "npar process connects" : "npar process accepts ";
  append(all, uint64_t{own->job.size()});
  all += own->job;
  for (uint32_t number : {connecting, acceptor, processes, last})
    append(all, number);
  append(all, nonces[0]);
  append(all, nonces[1]);
  return all;
}

} // namespace npar::engine
