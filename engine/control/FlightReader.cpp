// Reads flight records.
#include "engine/control/FlightReader.h"

#include "engine/files/RangeFile.h"
#include "engine/tables/Tables.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <xxhash.h>

namespace npar::engine {

namespace {

constexpr uint64_t greatestFile = uint64_t{1} << 30; // bytes
constexpr uint32_t mostFlightNames = 1 << 22, mostFlightGroups = 1 << 20, mostFlightMembers = 1 << 20, mostFlightRanks = 1 << 16,
                   mostFlightSessions = 1024;

/// Reads part by part, so that what a header only claims takes no memory.
class Reading {
public:
  Reading(const std::string &path, const files::RangeFile &file) : path(path), file(file) {}

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
    std::vector<uint8_t> part(size);
    if (Status status = file.read(offset, size, part.data()); !status.ok() && failed.ok())
      failed = status;
    return part;
  }

  std::string doNotFit() const {
    return "is truncated or damaged: its parts do not fit into its " + std::to_string(file.size()) + " bytes";
  }

  std::string readHeader() {
    FlightHeader header;
    uint64_t size = file.size();
    if (size < sizeof(header))
      return "is cut: " + std::to_string(size) + " bytes";
    std::memcpy(&header, read(0, sizeof(header)).data(), sizeof(header));
    if (std::memcmp(header.magic, flightMagic, sizeof(flightMagic)) != 0)
      return "is not a flight record, or its process ended while writing it";
    if (header.tablesBytes > greatestFlightTables)
      return "is damaged: " + std::to_string(header.tablesBytes) + " bytes of tables are more than any has";
    liveOffset = flightLiveOffset(header.tablesBytes), ringsOffset = flightRingsOffset(header.tablesBytes);
    if (ringsOffset > size)
      return doNotFit();
    bytes = read(sizeof(header), header.tablesBytes);
    return XXH3_64bits(bytes.data(), bytes.size()) == header.hash ? "" : "is damaged: its hash does not match";
  }

  std::string readTables() {
    const std::string apart = "is damaged: its tables do not fit together";
    from = tables::read<wire::FlightTables>(bytes);
    if (!from || from->ranks()->size() > mostFlightRanks || from->sessions()->size() > mostFlightSessions ||
        from->names()->size() > mostFlightNames || from->group_sizes()->size() > mostFlightGroups ||
        from->host()->size() > longestFlightHost)
      return apart;
    if (from->ring_entries() != flightRingEntries || from->ranks()->size() * flightRingBytes > file.size() - ringsOffset)
      return doNotFit();
    log.process = from->process(), log.processes = from->processes(), log.pid = from->pid(), log.host = from->host()->str();
    for (const flatbuffers::String *name : *from->names()) {
      if (name->size() > longestFlightName)
        return apart;
      log.names.push_back(name->str());
    }
    const auto &members = *from->members();
    uint32_t next = 0;
    for (uint32_t size : *from->group_sizes()) {
      if (size == 0 || size > mostFlightMembers || size > members.size() - next)
        return apart;
      log.groups.emplace_back(members.begin() + next, members.begin() + (next + size));
      next += size;
    }
    for (const wire::FlightSession *session : *from->sessions())
      evaluates[session->number()] = session->evaluates();
    log.ranks.resize(from->ranks()->size());
    for (uint32_t i = 0; i < log.ranks.size(); ++i)
      log.ranks[i].rank = from->ranks()->Get(i);
    for (const FlightNode *node : *from->nodes()) {
      bool groups = node->kind() == FlightNodeKind::Compute || node->group() < log.groups.size();
      if (std::max({node->task(), node->operation(), node->source()}) >= log.names.size() || !groups || !tables::isAmong(node->kind()) ||
          node->rank() >= log.ranks.size())
        return apart;
      log.ranks[node->rank()].nodes.push_back(*node);
    }
    return "";
  }

  std::string readLive() {
    const std::vector<uint8_t> part = read(liveOffset, sizeof(FlightLive));
    const uint8_t *live = part.data();
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
      const std::vector<uint8_t> ring = read(ringsOffset + local * flightRingBytes, flightRingBytes);
      for (size_t i = 0; i < flightRingEntries; ++i) {
        PlainFlightEntry entry;
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
    return static_cast<int64_t>(static_cast<uint64_t>(steady) - static_cast<uint64_t>(from->steady_origin()) +
                                static_cast<uint64_t>(from->real_origin()));
  }

  const std::string &path;
  const files::RangeFile &file;
  Status failed;
  std::vector<uint8_t> bytes; ///< the tables
  const wire::FlightTables *from = nullptr;
  uint64_t liveOffset = 0, ringsOffset = 0;
  FlightLog log;
  std::map<uint32_t, bool> evaluates; ///< by number of the session
};

} // namespace

Result<FlightLog> readFlight(const std::string &path) {
  Result<files::RangeFile> file = files::RangeFile::open(path, "flight record");
  if (!file.ok())
    return file.status();
  if (file->size() > greatestFile)
    return Status::badInput("flight record '" + path + "' has " + std::to_string(file->size()) + " bytes, none has more than " +
                            std::to_string(greatestFile));
  return Reading(path, *file).run();
}

} // namespace npar::engine
