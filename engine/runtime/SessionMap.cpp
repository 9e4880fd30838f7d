// Finds which session holds which rank, by exchange between all sessions of a program before anything runs.
#include "engine/runtime/SessionMap.h"

#include "engine/program/Ranks.h"

#include <cstring>

namespace npar::engine {

using program::LoadedProgram;

namespace {

constexpr size_t seedBegin = LoadedProgram::headerBytes, backendBegin = seedBegin + sizeof(uint64_t), backendBytes = 16,
                 ranksBegin = backendBegin + backendBytes;

/// A session's introduction: the program's header, which holds its hash, the seed, the backend's name, the ranks.
std::vector<uint8_t> introduce(const LoadedProgram &program, const std::vector<int64_t> &ranks, uint64_t seed, std::string backend) {
  std::vector<uint8_t> bytes(program.data().begin(), program.data().begin() + LoadedProgram::headerBytes);
  auto append = [&](const void *from, size_t size) {
    auto *begin = static_cast<const uint8_t *>(from);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  append(&seed, sizeof(seed));
  backend.resize(backendBytes - 1);
  append(backend.c_str(), backendBytes); // with its end
  append(ranks.data(), ranks.size() * sizeof(int64_t));
  return bytes;
}

/// Empty, or how two sessions are not of one training.
std::string differenceOf(const std::vector<uint8_t> &one, const std::vector<uint8_t> &other) {
  if (std::memcmp(one.data(), other.data(), LoadedProgram::headerBytes) != 0)
    return "another program than session 0";
  uint64_t seeds[2];
  std::memcpy(&seeds[0], &one[seedBegin], sizeof(uint64_t));
  std::memcpy(&seeds[1], &other[seedBegin], sizeof(uint64_t));
  if (seeds[0] != seeds[1])
    return "seed " + std::to_string(seeds[1]) + ", session 0 has " + std::to_string(seeds[0]);
  auto backendOf = [](const std::vector<uint8_t> &bytes) { return std::string(reinterpret_cast<const char *>(&bytes[backendBegin])); };
  std::string first = backendOf(one), own = backendOf(other);
  return first == own ? "" : "the backend '" + own + "', session 0 has '" + first + "': a training must use one kind of device";
}

} // namespace

Result<std::vector<uint32_t>> mapSessions(const LoadedProgram &program, const std::vector<int64_t> &ranks, uint64_t seed,
                                          const std::string &backend, Communicator &communicator, double timeoutSeconds) {
  auto world = static_cast<size_t>(program::worldOf(program.root()));
  std::vector<uint32_t> sessionOf(world, 0);
  if (ranks.size() == world)
    return sessionOf;
  Result<std::vector<std::vector<uint8_t>>> all = communicator.gather(introduce(program, ranks, seed, backend), timeoutSeconds);
  if (!all.ok())
    return all.status();
  std::vector<bool> held(world, false);
  for (uint32_t session = 0; session < all->size(); ++session) {
    const std::vector<uint8_t> &bytes = (*all)[session];
    if (std::string differs = differenceOf((*all)[0], bytes); !differs.empty())
      return Status::badInput("session " + std::to_string(session) + " has " + differs);
    for (size_t at = ranksBegin; at < bytes.size(); at += sizeof(int64_t)) {
      int64_t rank;
      std::memcpy(&rank, &bytes[at], sizeof(rank));
      auto place = static_cast<size_t>(rank);
      if (held[place])
        return Status::badInput("rank " + std::to_string(rank) + " is in session " + std::to_string(sessionOf[place]) + " and in session " +
                                std::to_string(session));
      held[place] = true, sessionOf[place] = session;
    }
  }
  for (size_t rank = 0; rank < world; ++rank)
    if (!held[rank])
      return Status::badInput("rank " + std::to_string(rank) +
                              (all->size() == 1 ? " is not in this session, whose communicator reaches no other"
                                                : " is in none of the " + std::to_string(all->size()) + " sessions"));
  return sessionOf;
}

} // namespace npar::engine
