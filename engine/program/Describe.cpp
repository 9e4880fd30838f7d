// Rank arithmetic over the mesh, and the one wording of where a step is that all messages share.
#include "engine/program/Mesh.h"

#include <algorithm>

namespace npar::program {

int64_t worldOf(const Program &program) {
  int64_t world = 1;
  for (const MeshAxis *axis : *program.mesh())
    world *= axis->size();
  return world;
}

std::vector<int64_t> coordinatesOf(const Program &program, int64_t rank) {
  std::vector<int64_t> coordinates(program.mesh()->size());
  for (size_t axis = coordinates.size(); axis-- > 0;) {
    int64_t size = program.mesh()->Get(axis)->size();
    coordinates[axis] = rank % size;
    rank /= size;
  }
  return coordinates;
}

int64_t rankAt(const Program &program, const std::vector<int64_t> &coordinates) {
  int64_t rank = 0;
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    rank = rank * program.mesh()->Get(axis)->size() + coordinates[axis];
  return rank;
}

int64_t fixedCoordinate(const RankClass &rankClass, uint32_t axis) {
  for (const Coordinate *fixed : *rankClass.fixed())
    if (fixed->axis() == axis)
      return fixed->value();
  return -1;
}

static bool isMember(const RankClass &rankClass, const std::vector<int64_t> &coordinates) {
  for (const Coordinate *fixed : *rankClass.fixed())
    if (coordinates[fixed->axis()] != fixed->value())
      return false;
  return true;
}

uint32_t classOf(const Program &program, int64_t rank) {
  std::vector<int64_t> coordinates = coordinatesOf(program, rank);
  uint32_t index = 0;
  while (index < program.classes()->size() && !isMember(*program.classes()->Get(index), coordinates))
    ++index;
  return index;
}

std::vector<int64_t> ranksOf(const Program &program, const RankClass &rankClass) {
  std::vector<int64_t> ranks;
  for (int64_t rank = 0, world = worldOf(program); rank < world; ++rank)
    if (isMember(rankClass, coordinatesOf(program, rank)))
      ranks.push_back(rank);
  return ranks;
}

int64_t neighbourClass(const Program &program, const RankClass &rankClass, uint32_t axis, int64_t coordinate) {
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    bool same = true;
    for (const Coordinate *fixed : *program.classes()->Get(index)->fixed()) {
      int64_t wanted = fixed->axis() == axis ? coordinate : fixedCoordinate(rankClass, fixed->axis());
      same &= fixed->value() == wanted;
    }
    if (same)
      return index;
  }
  return -1;
}

std::vector<int64_t> groupOf(const Program &program, const Collective &collective, int64_t rank) {
  std::vector<int64_t> coordinates = coordinatesOf(program, rank);
  auto members = static_cast<int64_t>(ranksAlong(program, *collective.axes()));
  std::vector<int64_t> ranks;
  for (int64_t member = 0; member < members; ++member) {
    int64_t rest = member;
    for (size_t i = collective.axes()->size(); i-- > 0;) {
      uint32_t axis = collective.axes()->Get(i);
      coordinates[axis] = rest % program.mesh()->Get(axis)->size();
      rest /= program.mesh()->Get(axis)->size();
    }
    ranks.push_back(rankAt(program, coordinates));
  }
  return ranks;
}

bool runsPerMicro(Phase phase) { return phase != Phase::Prologue && phase != Phase::Update; }

uint64_t flatShare(uint64_t elements, uint64_t ranks) {
  uint64_t blocks = (elements + flatBlock - 1) / flatBlock;
  return (blocks + ranks - 1) / ranks * flatBlock;
}

uint64_t ranksAlong(const Program &program, const flatbuffers::Vector<uint32_t> &axes) {
  uint64_t ranks = 1;
  for (uint32_t axis : axes)
    ranks *= program.mesh()->Get(axis)->size();
  return ranks;
}

static int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const flatbuffers::Vector<uint32_t> &axes,
                           uint32_t first, uint32_t count) {
  int64_t member = 0;
  for (uint32_t i = first; i < first + count; ++i)
    member = member * program.mesh()->Get(axes.Get(i))->size() + coordinates[axes.Get(i)];
  return member;
}

int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const flatbuffers::Vector<uint32_t> &axes) {
  return memberAlong(program, coordinates, axes, 0, axes.size());
}

int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const Piece &piece, const PieceDimension &dimension) {
  return memberAlong(program, coordinates, *piece.mesh_axes(), dimension.first_axis(), dimension.axis_count());
}

uint64_t sizeOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::BF16:
  case ElementType::F16:
    return 2;
  case ElementType::U8:
    break;
  }
  return 1;
}

bool isMaster(const Variable &variable) {
  return variable.kind() == VariableKind::State && variable.of() >= 0 && variable.slot()->str() == "master";
}

int64_t masterOf(const Program &program, uint32_t parameter) {
  for (uint32_t i = 0; i < program.variables()->size(); ++i)
    if (isMaster(*program.variables()->Get(i)) && program.variables()->Get(i)->of() == static_cast<int32_t>(parameter))
      return i;
  return -1;
}

std::string describeTask(const RankClass &rankClass, uint32_t task) {
  const Task *instance = rankClass.tasks()->Get(task);
  const Fragment *fragment = rankClass.fragments()->Get(instance->fragment());
  std::string text = fragment->name()->str();
  if (runsPerMicro(fragment->phase()))
    text += ":" + std::to_string(instance->micro());
  return text;
}

std::string describeRanks(const Program &program, const RankClass &rankClass) {
  std::vector<int64_t> ranks = ranksOf(program, rankClass);
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0, runs = 0; i < ranks.size(); ++runs) {
    if (runs == 8)
      return text + ", ..., " + std::to_string(ranks.size()) + " in all";
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += (i ? ", " : "") + std::to_string(ranks[i]) + (last > i ? "-" + std::to_string(ranks[last]) : "");
    i = last + 1;
  }
  return text;
}

std::string describeExampleRank(const Program &program, const RankClass &rankClass) {
  std::vector<int64_t> coordinates(program.mesh()->size());
  std::string text;
  for (uint32_t axis = 0; axis < coordinates.size(); ++axis) {
    coordinates[axis] = std::max<int64_t>(0, fixedCoordinate(rankClass, axis));
    text += (axis ? ", " : " (") + program.mesh()->Get(axis)->name()->str() + " = " + std::to_string(coordinates[axis]);
  }
  return "rank " + std::to_string(rankAt(program, coordinates)) + text + (text.empty() ? "" : ")");
}

std::string describePlace(const Program &program, const RankClass &rankClass, uint32_t task, uint32_t step) {
  const Fragment *fragment = rankClass.fragments()->Get(rankClass.tasks()->Get(task)->fragment());
  const Label *label = program.labels()->Get(fragment->steps()->Get(step)->label());
  std::string text = "task " + describeTask(rankClass, task) + " step " + std::to_string(step) + " \"" + label->text()->str() + "\"";
  if (const SourcePlace *source = label->source())
    text += " at " + source->file()->str() + ":" + std::to_string(source->line()) + ":" + std::to_string(source->column());
  return text;
}

std::string describeStep(const Program &program, const RankClass &rankClass, uint32_t task, uint32_t step) {
  return rankClass.name()->str() + " (" + describeRanks(program, rankClass) + ") " + describePlace(program, rankClass, task, step);
}

} // namespace npar::program
