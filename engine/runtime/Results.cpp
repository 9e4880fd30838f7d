// Copies requested elements from the ranks that keep them to their places in the logical tensor.
#include "engine/runtime/Results.h"

#include "engine/numbers/Convert.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

using namespace program;

Results::Results(const Program &program, const std::vector<LocalRank> &ranks, Backend &backend, GatherBytes gather)
    : program(program), ranks(ranks), backend(backend), gather(std::move(gather)) {}

/// The rank's buffer of a result; null where its class keeps none, or where it is another rank of the class that is read: one at coordinate
/// 0 of the mesh axes that split nothing.
static const ResultBuffer *bufferOf(const Program &program, int64_t rank, uint32_t result) {
  std::vector<int64_t> coordinates = coordinatesOf(program, rank);
  const RankClass &rankClass = *program.classes()->Get(classOf(program, rank));
  for (const ResultBuffer *buffer : *rankClass.results()) {
    if (buffer->result() != result)
      continue;
    for (uint32_t axis = 0; axis < program.mesh()->size(); ++axis) {
      bool splits = std::find(buffer->mesh_axes()->begin(), buffer->mesh_axes()->end(), axis) != buffer->mesh_axes()->end();
      if (coordinates[axis] > 0 && !splits && fixedCoordinate(rankClass, axis) < 0)
        return nullptr;
    }
    return buffer;
  }
  return nullptr;
}

template <typename Visit> void Results::forEachPiece(int64_t rank, uint32_t result, uint64_t first, uint64_t count, Visit visit) const {
  const ResultBuffer *buffer = bufferOf(program, rank, result);
  if (!buffer)
    return;
  const LogicalResult &logical = *program.results()->Get(result);
  std::vector<int64_t> coordinates = coordinatesOf(program, rank), parts;
  for (const PieceDimension *dimension : *buffer->dimensions())
    parts.push_back(memberAlong(program, coordinates, *buffer->mesh_axes(), dimension->first_axis(), dimension->axis_count()));
  uint64_t size = 1, bytes = sizeOf(logical.type());
  for (uint32_t i = 1; i < logical.shape()->size(); ++i)
    size *= static_cast<uint64_t>(logical.shape()->Get(i));
  const Region &region = *program.classes()->Get(classOf(program, rank))->regions()->Get(buffer->region());
  std::vector<SampleRun> runs = runsOfSample(*buffer->dimensions(), *buffer->zigzag(), parts);
  auto samples = static_cast<uint64_t>(buffer->dimensions()->Get(0)->local()), share = ranksAlong(program, *program.data_axes());
  for (uint64_t micro = 0; micro < region.slots(); ++micro) {
    uint64_t place = region.offset() + micro * region.bytes() + buffer->offset();
    for (uint64_t i = 0; i < samples; ++i) {
      uint64_t sample = ((micro * share + static_cast<uint64_t>(parts[0])) * samples + i) * size;
      for (const SampleRun &run : runs) {
        uint64_t begin = std::max(sample + run.first, first), end = std::min(sample + run.first + run.count, first + count);
        if (!run.beyond && begin < end)
          visit(begin - first, place + (begin - sample - run.first) * bytes, end - begin);
        place += run.count * bytes;
      }
    }
  }
}

/// Appends for each rank of this session with requested elements: the rank, and its elements in the order of its pieces.
Status Results::copyOwn(uint32_t result, uint64_t first, uint64_t count, std::vector<uint8_t> &bytes) const {
  uint64_t size = sizeOf(program.results()->Get(result)->type());
  struct Copy {
    DeviceAddress from;
    uint64_t to, bytes;
  };
  std::vector<Copy> copies;
  for (const LocalRank &local : ranks) {
    size_t begin = bytes.size(), before = copies.size();
    uint64_t end = begin + sizeof(local.rank);
    forEachPiece(local.rank, result, first, count, [&](uint64_t, uint64_t place, uint64_t elements) {
      copies.push_back({local.at(place), end, elements * size});
      end += elements * size;
    });
    if (copies.size() == before)
      continue;
    bytes.resize(end);
    std::memcpy(&bytes[begin], &local.rank, sizeof(local.rank));
  }
  for (const Copy &copy : copies)
    backend.copyOut(&bytes[copy.to], copy.from, copy.bytes);
  return waitUntilDone(backend);
}

Result<std::vector<double>> Results::read(const std::string &name, uint64_t first, uint64_t count) const {
  uint32_t result = 0;
  while (result < program.results()->size() && program.results()->Get(result)->name()->str() != name)
    ++result;
  if (result == program.results()->size())
    return Status::badInput("the program has no result '" + name + "'");
  const LogicalResult &logical = *program.results()->Get(result);
  uint64_t elements = 1;
  for (int64_t extent : *logical.shape())
    elements *= static_cast<uint64_t>(extent);
  if (first > elements || count > elements - first)
    return Status::badInput("result '" + name + "' has " + std::to_string(elements) + " elements; " + std::to_string(count) + " from " +
                            std::to_string(first) + " on were asked for");
  std::vector<std::vector<uint8_t>> all(1);
  if (Status status = copyOwn(result, first, count, all[0]); !status.ok())
    return status;
  if (gather) {
    Result<std::vector<std::vector<uint8_t>>> gathered = gather(all[0]);
    if (!gathered.ok())
      return gathered.status();
    all = std::move(*gathered);
  }
  std::vector<double> values(count);
  uint64_t covered = 0;
  for (const std::vector<uint8_t> &session : all)
    for (size_t at = 0; at < session.size();) {
      int64_t rank;
      std::memcpy(&rank, &session[at], sizeof(rank));
      at += sizeof(rank);
      forEachPiece(rank, result, first, count, [&](uint64_t to, uint64_t, uint64_t piece) {
        withType(logical.type(), [&](auto stored) { convert<double, decltype(stored)>(&values[to], &session[at], piece); });
        at += piece * sizeOf(logical.type());
        covered += piece;
      });
    }
  if (covered != count)
    return Status(Code::Internal,
                  "the ranks keep " + std::to_string(covered) + " of " + std::to_string(count) + " elements of result '" + name + "'");
  return values;
}

} // namespace npar::engine
