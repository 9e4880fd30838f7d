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
  for (size_t i = 0; i < sizes.size(); ++i)
    backend.release(ranks[i].arena, sizes[i]);
}

Status Arenas::allocate(const Program &program, const std::vector<int64_t> &which, const std::vector<const Program *> &guests) {
  std::vector<uint64_t> needed, ofDevice(backend.devices());
  std::vector<size_t> ranksOf(ofDevice.size());
  for (int64_t rank : which) {
    uint64_t bytes = program.classes()->Get(classOf(program, rank))->arena_bytes();
    for (const Program *guest : guests)
      bytes = std::max(bytes, guest->classes()->Get(classOf(*guest, rank))->arena_bytes());
    size_t device = deviceOf(needed.size(), which.size());
    ofDevice[device] += bytes, ++ranksOf[device];
    needed.push_back(bytes);
  }
  for (size_t device = 0; device < ofDevice.size(); ++device)
    if (Status status = backend.fits(device, ofDevice[device]); !status.ok())
      return Status(status.code(), "the arenas of " + std::to_string(ranksOf[device]) + " rank" + (ranksOf[device] == 1 ? "" : "s") + ": " +
                                       status.message());
  uint64_t total = 0;
  for (int64_t rank : which) {
    uint64_t bytes = needed[ranks.size()];
    Result<DeviceAddress> arena = backend.allocateOn(deviceOf(ranks.size(), which.size()), bytes);
    if (!arena.ok())
      return Status(arena.status().code(), "rank " + std::to_string(rank) + ": " + arena.status().message() + "; " + std::to_string(total) +
                                               " bytes were allocated for " + std::to_string(ranks.size()) + " ranks before it");
    ranks.push_back({rank, *arena});
    sizes.push_back(bytes);
    total += bytes;
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
      bytes += sizes[end];
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
    uint64_t bytes = program.classes()->Get(classOf(program, rank))->arena_bytes();
    if (found == host.ranks.end() || host.sizes.size() != host.ranks.size() ||
        host.sizes[static_cast<size_t>(found - host.ranks.begin())] < bytes)
      return Status(Code::Internal, "rank " + std::to_string(rank) + " has no memory of " + std::to_string(bytes) + " bytes to share");
    ranks.push_back(*found);
  }
  return {};
}

std::string whyApart(const Program &a, const Program &b) {
  if (a.classes()->size() != b.classes()->size() || worldOf(a) != worldOf(b))
    return "their ranks differ";
  for (uint32_t i = 0; i < a.classes()->size(); ++i) {
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
      if (other == known.end() || other->second->offset() != piece->offset() || other->second->bytes() != piece->bytes())
        return "'" + name + "' is at another place";
    }
  }
  return "";
}

uint64_t highWaterMark(const Program &program, const RankClass &rankClass) {
  uint64_t mark = 0;
  auto bind = [&](uint64_t offset, uint64_t bytes) { mark = std::max(mark, (offset + bytes + 63) / 64 * 64); };
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
  return std::min(mark, rankClass.arena_bytes());
}

} // namespace npar::engine
