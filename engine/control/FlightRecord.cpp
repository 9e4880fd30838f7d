// Writes the last events of each rank into a mapped file that outlives its process.
#include "engine/control/FlightRecord.h"

#include "engine/control/CutText.h"
#include "engine/files/Folders.h"
#include "engine/program/Classes.h"
#include "engine/program/Describe.h"
#include "engine/tables/Tables.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace npar::engine {

namespace {

template <typename Clock> int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

int64_t steadyNanoseconds() { return nanoseconds<std::chrono::steady_clock>(); }

FlightNodeKind kindOf(const StepNode &node) {
  if (!node.communicates())
    return FlightNodeKind::Compute;
  return node.kind == program::StepKind::Collective ? FlightNodeKind::Collective
         : node.kind == program::StepKind::Send     ? FlightNodeKind::Send
                                                    : FlightNodeKind::Receive;
}

/// Things that occur often, each kept once, in the order in which they came, with numbers from `first` on.
template <typename T> struct Numbered {
  uint32_t first = 0;
  uint32_t numberOf(const T &thing) {
    auto [at, fresh] = numbers.emplace(thing, first + static_cast<uint32_t>(things.size()));
    if (fresh)
      things.push_back(&at->first);
    return at->second;
  }
  std::map<T, uint32_t> numbers = {};
  std::vector<const T *> things = {};
};

std::string sourceOf(const program::Label &label) {
  const program::SourcePlace *place = label.source();
  return place ? place->file()->str() + ":" + std::to_string(place->line()) + ":" + std::to_string(place->column()) : "";
}

/// Appends a session: its names, its groups, and the nodes of its ranks. `rings`: by place of the rank in the graph.
void append(wire::FlightTablesT &to, const program::Program &program, const StepGraph &graph, const Operations &operations,
            uint32_t session, const std::vector<uint32_t> &rings) {
  Numbered<std::string> names{static_cast<uint32_t>(to.names.size())};
  Numbered<std::vector<int64_t>> groups{static_cast<uint32_t>(to.group_sizes.size())};
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const StepNode &node = graph.nodes[i];
    const program::RankClass &rankClass = *program.classes()->Get(program::classOf(program, node.rank));
    const program::Label *label = node.joins() ? nullptr : program.labels()->Get(node.label);
    uint32_t task = names.numberOf(program::describeTask(rankClass, node.task));
    uint32_t operation = names.numberOf(label ? label->text()->str() : "join"), source = names.numberOf(label ? sourceOf(*label) : "");
    uint32_t event = 0, group = 0;
    if (node.communicates()) {
      const Operation &posted = operations.at(i);
      event = posted.event, group = groups.numberOf({posted.members, posted.members + posted.memberCount});
    }
    to.nodes.emplace_back(task, operation, source, node.micro, event, group, rings[node.local], static_cast<uint16_t>(session),
                          kindOf(node));
  }
  for (const std::string *name : names.things)
    to.names.push_back(cutText(*name, longestFlightName));
  for (const std::vector<int64_t> *group : groups.things) {
    to.group_sizes.push_back(static_cast<uint32_t>(group->size()));
    to.members.insert(to.members.end(), group->begin(), group->end());
  }
  to.sessions.emplace_back(session, program.kind() != program::ProgramKind::Training);
}

} // namespace

Result<std::unique_ptr<FlightRecord>> FlightRecord::create(const FlightOptions &options) {
  auto failure = [&](const std::string &why) { return Status::badInput("cannot use the folder '" + options.folder + "': " + why); };
  if (options.temporary && ::mkdir(options.folder.c_str(), 0700) != 0 && errno != EEXIST)
    return failure(std::strerror(errno));
  if (Status status = options.temporary ? Status() : files::makeFolder(options.folder); !status.ok())
    return status;
  int folder = ::open(options.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (options.temporary ? O_NOFOLLOW : 0));
  if (folder < 0)
    return failure(std::strerror(errno));
  std::unique_ptr<FlightRecord> record(new FlightRecord(options, folder));
  struct stat info;
  if (options.temporary && (::fstat(folder, &info) != 0 || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0))
    return failure("it is not this user's alone");
  return record;
}

FlightRecord::~FlightRecord() {
  unmap();
  ::close(folder);
}

void FlightRecord::unmap() {
  if (memory)
    ::munmap(memory, size);
  memory = nullptr, rings = nullptr, live = nullptr;
}

std::string FlightRecord::name() const { return "process-" + std::to_string(options.process) + flightSuffix; }
std::string FlightRecord::path() const { return options.folder + "/" + name(); }

Status FlightRecord::open(const program::Program &program, const StepGraph &graph, const Operations &operations, uint32_t session) {
  std::lock_guard<std::mutex> lock(mutex);
  if (session >= mostSessions)
    return Status::badInput("flight record '" + path() + "' has no room for session " + std::to_string(session));
  Part part;
  wire::FlightTablesT next = written;
  std::vector<uint32_t> counts = nodeCounts;
  for (const LocalRank &local : graph.ranks) {
    auto known = std::find(next.ranks.begin(), next.ranks.end(), local.rank);
    part.rings.push_back(static_cast<uint32_t>(known - next.ranks.begin()));
    if (known == next.ranks.end())
      next.ranks.push_back(local.rank), counts.push_back(0);
    part.firstInFile.push_back(counts[part.rings.back()]);
  }
  part.firstNode.assign(graph.ranks.size(), 0);
  for (uint32_t i = static_cast<uint32_t>(graph.nodes.size()); i-- > 0;) {
    part.firstNode[graph.nodes[i].local] = i;
    ++counts[part.rings[graph.nodes[i].local]];
  }
  append(next, program, graph, operations, session, part.rings);
  if (Status status = replaceFile(next); !status.ok())
    return status;
  written = std::move(next), nodeCounts = std::move(counts);
  parts.resize(std::max<size_t>(parts.size(), session + 1));
  parts[session] = std::move(part);
  return {};
}

/// Writes a new file and renames it over the old one, so that a reader always finds a complete file.
Status FlightRecord::replaceFile(wire::FlightTablesT &next) {
  if (next.nodes.size() > greatestFlightTables / sizeof(FlightNode))
    return Status::badInput("flight record '" + path() + "' has no room for " + std::to_string(next.nodes.size()) + " steps");
  next.process = options.process, next.processes = options.processes, next.pid = ::getpid();
  next.host = options.host.substr(0, longestFlightHost), next.ring_entries = flightRingEntries;
  next.steady_origin = steadyNanoseconds(), next.real_origin = nanoseconds<std::chrono::system_clock>();
  const std::vector<uint8_t> packed = tables::pack(next);
  const uint64_t ringsOffset = flightRingsOffset(packed.size());
  const size_t newSize = ringsOffset + next.ranks.size() * flightRingBytes;

  const std::string begun = name() + ".begun";
  auto failure = [&](int why) {
    ::unlinkat(folder, begun.c_str(), 0);
    return Status::badInput("cannot write flight record '" + path() + "': " + std::strerror(why));
  };
  ::unlinkat(folder, begun.c_str(), 0);
  int file = ::openat(folder, begun.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return failure(errno);
  // Room is taken now: a mapping without it would end the process at a full disk.
  int full = ::posix_fallocate(file, 0, static_cast<off_t>(newSize));
  void *mapped = full ? MAP_FAILED : ::mmap(nullptr, newSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int why = full ? full : errno;
  ::close(file);
  if (mapped == MAP_FAILED)
    return failure(why);
  auto *bytes = static_cast<uint8_t *>(mapped);

  std::memcpy(bytes + sizeof(FlightHeader), packed.data(), packed.size());
  auto *newLive = new (bytes + flightLiveOffset(packed.size())) FlightLive();
  newLive->aliveAt = steadyNanoseconds();
  for (size_t ring = 0; ring < next.ranks.size(); ++ring) {
    uint8_t *at = bytes + ringsOffset + ring * flightRingBytes;
    if (ring < written.ranks.size() && rings)
      std::memcpy(at, rings + ring * flightRingBytes, flightRingBytes);
    else
      (new (at) FlightRing())->rank = next.ranks[ring];
  }

  FlightHeader header{};
  std::memcpy(header.magic, flightMagic, sizeof(flightMagic));
  header.tablesBytes = packed.size(), header.hash = XXH3_64bits(packed.data(), packed.size());
  std::memcpy(bytes, &header, sizeof(header));
  if (::renameat(folder, begun.c_str(), folder, name().c_str()) != 0) {
    why = errno;
    ::munmap(mapped, newSize);
    return failure(why);
  }
  unmap();
  memory = bytes, size = newSize, live = newLive, rings = bytes + ringsOffset;
  return {};
}

void FlightRecord::write(const FlightNote &note) {
  const Part &part = parts[note.session];
  auto *ring = reinterpret_cast<FlightRing *>(rings + part.rings[note.local] * flightRingBytes);
  uint64_t at = ring->next.fetch_add(1, std::memory_order_relaxed);
  FlightEntry &entry = reinterpret_cast<FlightEntry *>(ring + 1)[at % flightRingEntries];
  entry.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  entry.clock = steadyNanoseconds();
  entry.round = note.round, entry.trainingStep = note.trainingStep;
  entry.node = note.node == noIndex ? noFlightNode : note.node - part.firstNode[note.local] + part.firstInFile[note.local];
  entry.session = static_cast<uint16_t>(note.session), entry.event = static_cast<uint16_t>(note.event);
  entry.number.store(at + 1, std::memory_order_release);
}

void FlightRecord::alive() {
  std::lock_guard<std::mutex> lock(mutex);
  if (live)
    live->aliveAt.store(steadyNanoseconds(), std::memory_order_relaxed);
}

void FlightRecord::verdict(FailureReport report) {
  std::string json = report.toJson();
  while (json.size() > FlightLive::verdictRoom && !report.waiting.empty()) {
    size_t kept = report.waiting.size() / 2;
    report.moreWaiting += static_cast<uint32_t>(report.waiting.size() - kept);
    report.waiting.resize(kept);
    json = report.toJson();
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (!live || json.size() > FlightLive::verdictRoom)
    return;
  std::memcpy(live->verdict, json.data(), json.size());
  live->verdictSize.store(static_cast<uint32_t>(json.size()), std::memory_order_release);
}

void FlightRecord::discard() {
  std::lock_guard<std::mutex> lock(mutex);
  if (live)
    live->ended = 1; // for a reader that has the file open
  unmap();
  parts.clear();
  ::unlinkat(folder, name().c_str(), 0);
  ::rmdir(options.folder.c_str());
}

std::string flightFolderOf(const std::string &token) {
  const char *folder = std::getenv("TMPDIR");
  return std::string(folder && *folder ? folder : "/tmp") + "/npar-flight-" + token;
}

} // namespace npar::engine
