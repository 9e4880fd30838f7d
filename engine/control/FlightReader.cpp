// Reads flight records.
#include "engine/control/FlightReader.h"

#include "engine/control/Bytes.h"
#include "engine/files/RangeFile.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <xxhash.h>

namespace npar::engine {

namespace {

constexpr uint64_t greatestFile = uint64_t{1} << 30, greatestTables = uint64_t{256} << 20; // bytes
constexpr uint32_t mostNames = 1 << 22, mostGroups = 1 << 20, mostMembers = 1 << 20, mostNodes = 1 << 24, mostRanks = 1 << 16,
                   mostSessions = 1024;

/// An entry as the file has it, in plain numbers.
struct PlainEntry {
  uint64_t number;
  int64_t clock, round, trainingStep;
  uint32_t node;
  uint16_t session, event;
};
static_assert(sizeof(PlainEntry) == sizeof(FlightEntry) && offsetof(PlainEntry, event) == offsetof(FlightEntry, event));

/// Reads part by part, so that what a header only claims takes no memory.
class Reading {
public:
  Reading(const std::string &path, const program::RangeFile &file) : path(path), file(file) {}

  Result<FlightLog> run() {
    for (auto part : {&Reading::readHeader, &Reading::readTables, &Reading::readLive, &Reading::readRings}) {
      std::string wrong = (this->*part)();
      if (!failed.ok())
        return failed;
      if (!wrong.empty())
        return Status::badInput("flight record '" + path + "' " + wrong);
    }
    return std::move(log);
  }

private:
  /// Bytes of the file; zeros and `failed` where they cannot be read.
  std::vector<uint8_t> read(uint64_t offset, size_t size) {
    std::vector<uint8_t> bytes(size);
    if (Status status = file.read(offset, size, bytes.data()); !status.ok() && failed.ok())
      failed = status;
    return bytes;
  }

  std::string readHeader() {
    uint64_t size = file.size();
    if (size < sizeof(header))
      return "is cut: " + std::to_string(size) + " bytes";
    std::memcpy(&header, read(0, sizeof(header)).data(), sizeof(header));
    if (std::memcmp(header.magic, flightMagic, sizeof(flightMagic)) != 0)
      return "is not a flight record, or its process ended while writing it";
    if (header.tablesBytes > greatestTables || header.ranks > mostRanks)
      return "is damaged: " + std::to_string(header.tablesBytes) + " bytes of tables and " + std::to_string(header.ranks) +
             " ranks are more than any has";
    if (header.tablesBytes > size - sizeof(header) || header.liveOffset < sizeof(header) + header.tablesBytes || header.liveOffset > size ||
        sizeof(FlightLive) > size - header.liveOffset || header.ringsOffset < header.liveOffset + sizeof(FlightLive) ||
        header.ringsOffset > size || header.ringEntries != flightRingEntries || header.ranks * flightRingBytes > size - header.ringsOffset)
      return "is truncated or damaged: its parts do not fit into its " + std::to_string(size) + " bytes";
    tables = read(sizeof(header), header.tablesBytes);
    XXH3_state_t *state = XXH3_createState();
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, &header, offsetof(FlightHeader, hash));
    XXH3_64bits_update(state, tables.data(), tables.size());
    bool whole = XXH3_64bits_digest(state) == header.hash;
    XXH3_freeState(state);
    if (!whole)
      return "is damaged: its hash does not match";
    log.process = header.process, log.processes = header.processes, log.pid = header.pid;
    log.host.assign(header.host, std::find(header.host, header.host + sizeof(header.host), '\0'));
    return "";
  }

  std::string readTables() {
    ByteReader from(tables.data(), tables.size());
    log.ranks.resize(from.count(mostRanks, sizeof(int64_t)));
    bool good = log.ranks.size() == header.ranks;
    for (FlightRank &rank : log.ranks)
      rank.rank = from.number<int64_t>();
    uint32_t sessions = from.count(mostSessions, sizeof(uint32_t));
    for (uint32_t i = 0; i < sessions && good && from.good(); ++i)
      good = readSession(from);
    return good && from.ended() ? "" : "is damaged: its tables do not fit together";
  }

  /// Its names, groups and nodes are appended to those of the sessions before.
  bool readSession(ByteReader &from) {
    auto session = from.number<uint32_t>();
    evaluates[session] = from.flag();
    const size_t firstName = log.names.size(), firstGroup = log.groups.size();
    log.names.resize(firstName + from.count(mostNames, sizeof(uint32_t)));
    for (size_t i = firstName; i < log.names.size(); ++i)
      log.names[i] = from.text(longestFlightName);
    log.groups.resize(firstGroup + from.count(mostGroups, sizeof(uint32_t)));
    for (size_t i = firstGroup; i < log.groups.size(); ++i) {
      log.groups[i].resize(from.count(mostMembers, sizeof(int64_t)));
      for (int64_t &rank : log.groups[i])
        rank = from.number<int64_t>();
    }
    uint32_t ranks = from.count(mostRanks, sizeof(int64_t));
    for (uint32_t i = 0; i < ranks && from.good(); ++i) {
      auto number = from.number<int64_t>();
      auto rank = std::find_if(log.ranks.begin(), log.ranks.end(), [&](const FlightRank &each) { return each.rank == number; });
      if (rank == log.ranks.end() || !readNodes(from, session, firstName, firstGroup, rank->nodes))
        return false;
    }
    return from.good();
  }

  bool readNodes(ByteReader &from, uint32_t session, size_t firstName, size_t firstGroup, std::vector<FlightNode> &nodes) {
    constexpr size_t smallestNode = 4 * sizeof(uint32_t) + 1;
    uint32_t count = from.count(mostNodes, smallestNode);
    bool good = from.good();
    for (uint32_t i = 0; i < count && good; ++i) {
      FlightNode &node = nodes.emplace_back();
      node.session = session;
      for (uint32_t *name : {&node.task, &node.operation, &node.source}) {
        *name = from.number<uint32_t>();
        good &= *name < log.names.size() - firstName;
        *name += static_cast<uint32_t>(firstName);
      }
      node.micro = from.number<uint32_t>();
      auto kind = from.number<uint8_t>();
      good &= kind <= static_cast<uint8_t>(FlightNodeKind::Receive);
      node.kind = static_cast<FlightNodeKind>(kind);
      if (node.kind == FlightNodeKind::Compute)
        continue;
      node.event = from.number<uint32_t>();
      node.group = from.number<uint32_t>();
      good &= node.group < log.groups.size() - firstGroup;
      node.group += static_cast<uint32_t>(firstGroup);
      good = good && !log.groups[node.group].empty();
    }
    return good;
  }

  std::string readLive() {
    const std::vector<uint8_t> bytes = read(header.liveOffset, sizeof(FlightLive));
    const uint8_t *live = bytes.data();
    int64_t alive;
    uint32_t ended, verdictSize;
    std::memcpy(&alive, live + offsetof(FlightLive, aliveAt), sizeof(alive));
    std::memcpy(&ended, live + offsetof(FlightLive, ended), sizeof(ended));
    std::memcpy(&verdictSize, live + offsetof(FlightLive, verdictSize), sizeof(verdictSize));
    log.aliveAt = calendar(alive);
    log.ended = ended == 1;
    if (verdictSize <= FlightLive::verdictRoom)
      log.verdict.assign(reinterpret_cast<const char *>(live) + offsetof(FlightLive, verdict), verdictSize);
    return "";
  }

  std::string readRings() {
    for (size_t local = 0; local < log.ranks.size(); ++local) {
      FlightRank &rank = log.ranks[local];
      const std::vector<uint8_t> ring = read(header.ringsOffset + local * flightRingBytes, flightRingBytes);
      for (size_t i = 0; i < flightRingEntries; ++i) {
        PlainEntry entry;
        std::memcpy(&entry, ring.data() + sizeof(FlightRing) + i * sizeof(entry), sizeof(entry));
        bool known =
            entry.event <= static_cast<uint16_t>(FlightEvent::Failed) && (entry.node == noFlightNode || entry.node < rank.nodes.size());
        auto session = evaluates.find(entry.session);
        known &= session != evaluates.end();
        if (entry.number == 0 || (entry.number - 1) % flightRingEntries != i || !known)
          continue;
        rank.moments.push_back({entry.number, calendar(entry.clock), entry.round, entry.trainingStep, session->second, entry.node,
                                static_cast<FlightEvent>(entry.event)});
      }
      std::sort(rank.moments.begin(), rank.moments.end(), [](const auto &a, const auto &b) { return a.number < b.number; });
      rank.earlier = rank.moments.empty() ? 0 : rank.moments.front().number - 1;
    }
    return "";
  }

  /// Unsigned, so that no damaged clock overflows.
  int64_t calendar(int64_t steady) const {
    return static_cast<int64_t>(static_cast<uint64_t>(steady) - static_cast<uint64_t>(header.steadyOrigin) +
                                static_cast<uint64_t>(header.realOrigin));
  }

  const std::string &path;
  const program::RangeFile &file;
  std::vector<uint8_t> tables;
  Status failed;
  FlightHeader header{};
  FlightLog log;
  std::map<uint32_t, bool> evaluates; ///< by number of the session
};

} // namespace

Result<FlightLog> readFlight(const std::string &path) {
  Result<program::RangeFile> file = program::RangeFile::open(path, "flight record");
  if (!file.ok())
    return file.status();
  if (file->size() > greatestFile)
    return Status::badInput("flight record '" + path + "' has " + std::to_string(file->size()) + " bytes, none has more than " +
                            std::to_string(greatestFile));
  return Reading(path, *file).run();
}

} // namespace npar::engine
