// Every rank's arena: exactly the planned bytes, and how many of them the program really binds.
#include "engine/runtime/Arenas.h"

#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <map>

namespace npar::engine {

using namespace program;

Arenas::~Arenas() {
  for (size_t i = 0; i < sizes.size(); ++i) {
    backend.release(ranks[i].arena, sizes[i][static_cast<size_t>(Tier::Device)]);
    for (Tier tier : {Tier::Host, Tier::File})
      if (uint64_t bytes = sizes[i][static_cast<size_t>(tier)])
        backend.releaseIn(tier, tier == Tier::Host ? ranks[i].host : ranks[i].file, bytes);
  }
}

namespace {

/// The bytes of the rank's class in each tier.
TierBytes bytesOfRank(const Program &program, int64_t rank) { return tierBytesOf(*program.classes()->Get(classOf(program, rank))); }

} // namespace

Status Arenas::allocate(const Program &program, const std::vector<int64_t> &which, const std::vector<const Program *> &guests) {
  std::vector<TierBytes> needed;
  std::vector<uint64_t> ofDevice(backend.devices());
  std::vector<size_t> ranksOf(ofDevice.size());
  for (int64_t rank : which) {
    TierBytes bytes = bytesOfRank(program, rank);
    for (const Program *guest : guests)
      for (size_t tier = 0; tier < tierCount; ++tier)
        bytes[tier] = std::max(bytes[tier], bytesOfRank(*guest, rank)[tier]);
    size_t device = deviceOf(needed.size(), which.size());
    ofDevice[device] += bytes[static_cast<size_t>(Tier::Device)], ++ranksOf[device];
    needed.push_back(bytes);
  }
  for (size_t device = 0; device < ofDevice.size(); ++device)
    if (Status status = backend.fits(device, ofDevice[device]); !status.ok())
      return Status(status.code(), "the arenas of " + std::to_string(ranksOf[device]) + " rank" + (ranksOf[device] == 1 ? "" : "s") + ": " +
                                       status.message());
  uint64_t total = 0;
  for (int64_t rank : which) {
    const size_t device = deviceOf(ranks.size(), which.size());
    const TierBytes needs = needed[ranks.size()];
    const uint64_t bytes = needs[static_cast<size_t>(Tier::Device)];
    Result<DeviceAddress> arena = backend.allocateOn(device, bytes);
    if (!arena.ok())
      return Status(arena.status().code(), "rank " + std::to_string(rank) + ": " + arena.status().message() + "; " + std::to_string(total) +
                                               " bytes were allocated for " + std::to_string(ranks.size()) + " ranks before it");
    ranks.push_back({rank, *arena, {}, {}, bytesOfRank(program, rank)});
    sizes.push_back({bytes, 0, 0});
    total += bytes;
    for (Tier tier : {Tier::Host, Tier::File})
      if (uint64_t room = needs[static_cast<size_t>(tier)]) {
        std::string folder = program.tier_folder() ? program.tier_folder()->str() : "";
        Result<DeviceAddress> memory = backend.allocateIn(tier, device, room, folder);
        if (!memory.ok())
          return Status(memory.status().code(), "rank " + std::to_string(rank) + ": " + memory.status().message());
        (tier == Tier::Host ? ranks.back().host : ranks.back().file) = *memory;
        sizes.back()[static_cast<size_t>(tier)] = room;
      }
  }
  return {};
}

std::vector<size_t> Arenas::devicesOf(size_t count) const {
  std::vector<size_t> devices(count);
  for (size_t place = 0; place < count; ++place)
    devices[place] = deviceOf(place, count);
  return devices;
}

std::string Arenas::placement() const {
  std::string text;
  for (size_t first = 0; first < ranks.size();) {
    size_t device = deviceOf(first, ranks.size()), end = first;
    uint64_t bytes = 0;
    for (; end < ranks.size() && deviceOf(end, ranks.size()) == device; ++end)
      bytes += sizes[end][static_cast<size_t>(Tier::Device)];
    std::string begin = std::to_string(ranks[first].rank), last = std::to_string(ranks[end - 1].rank);
    text += text.empty() ? "" : ", ";
    text += end - first == 1 ? "rank " + begin : "ranks " + begin + " to " + last;
    text += (first == 0 ? (end - first == 1 ? " is on " : " are on ") : " on ") + backend.deviceName(device);
    text += " (" + std::to_string(bytes) + " bytes)";
    first = end;
  }
  return text;
}

Status Arenas::share(const Arenas &host, const Program &program, const std::vector<int64_t> &which) {
  for (int64_t rank : which) {
    auto found = std::find_if(host.ranks.begin(), host.ranks.end(), [&](const LocalRank &each) { return each.rank == rank; });
    const TierBytes bytes = bytesOfRank(program, rank);
    bool fits = found != host.ranks.end() && host.sizes.size() == host.ranks.size();
    for (size_t tier = 0; tier < tierCount && fits; ++tier)
      fits = host.sizes[static_cast<size_t>(found - host.ranks.begin())][tier] >= bytes[tier];
    if (!fits)
      return Status(Code::Internal, "rank " + std::to_string(rank) + " has no memory of " + std::to_string(bytes[0]) + " bytes to share");
    ranks.push_back(*found);
    ranks.back().bytes = bytes;
  }
  return {};
}

std::string whyApart(const Program &a, const Program &b) {
  if (a.classes()->size() != b.classes()->size() || worldOf(a) != worldOf(b))
    return "their ranks differ";
  for (uint32_t i = 0; i < a.classes()->size(); ++i) {
    const TierBytes bytesOfA = tierBytesOf(*a.classes()->Get(i)), bytesOfB = tierBytesOf(*b.classes()->Get(i));
    auto isElsewhere = [&](const Piece &one, const Piece &other) {
      TierPlace first = tierAt(bytesOfA, one.offset()), second = tierAt(bytesOfB, other.offset());
      return first.tier != second.tier || first.offset != second.offset;
    };
    std::map<std::string, const Piece *> known;
    auto kept = [](const Program &program, const Piece &piece) {
      const Variable &variable = *program.variables()->Get(piece.variable());
      return variable.kind() == VariableKind::Parameter || variable.kind() == VariableKind::State ? variable.name()->str() : std::string();
    };
    for (const Piece *piece : *a.classes()->Get(i)->pieces())
      known[kept(a, *piece)] = piece;
    for (const Piece *piece : *b.classes()->Get(i)->pieces()) {
      std::string name = kept(b, *piece);
      auto other = known.find(name);
      bool isState = b.variables()->Get(piece->variable())->kind() == VariableKind::State;
      if (name.empty() || (isState && other != known.end() && other->second->bytes() != piece->bytes()))
        continue;
      if (other == known.end() || isElsewhere(*other->second, *piece) || other->second->bytes() != piece->bytes())
        return "'" + name + "' is at another place";
    }
  }
  return "";
}

TierBytes highWaterMark(const Program &program, const RankClass &rankClass) {
  const TierBytes bytes = tierBytesOf(rankClass);
  TierBytes marks = {};
  auto bind = [&](uint64_t offset, uint64_t length) {
    const TierPlace place = tierAt(bytes, offset);
    uint64_t &mark = marks[static_cast<size_t>(place.tier)];
    mark = std::max(mark, std::min((place.offset + length + 63) / 64 * 64, bytes[static_cast<size_t>(place.tier)]));
  };
  for (const Task *task : *rankClass.tasks())
    for (const Operand *operand : *rankClass.fragments()->Get(task->fragment())->operands())
      bind(rankClass.bases()->Get(task->first_base() + operand->region()) + operand->offset(), operand->bytes());
  for (const Piece *piece : *rankClass.pieces())
    bind(piece->offset(), piece->bytes());
  for (const Input *input : *rankClass.inputs()) {
    const Region *region = rankClass.regions()->Get(input->region());
    uint64_t last = region->offset() + region->bytes() * static_cast<uint64_t>(std::max<int64_t>(program.micro_count(), 1) - 1);
    bind(last + input->offset(), elementsOf(*input) * sizeOf(input->type()));
  }
  for (const Output *output : *rankClass.outputs())
    bind(output->offset(), 8);
  return marks;
}

} // namespace npar::engine
