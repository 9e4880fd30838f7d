// Reads ranks, blocks and parts from a program's root.
#include "engine/show/Layout.h"

#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/ModelState.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"
#include "engine/show/ChunksOfParameters.h"
#include "engine/show/ParameterBytes.h"
#include "engine/show/RankList.h"
#include "engine/show/View.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace npar::show {

using namespace npar::program;

namespace {

std::string meshAxisName(const Program &program, uint32_t axis) { return program.mesh()->Get(axis)->name()->str(); }

void addOnce(std::vector<std::string> &names, const std::string &name) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    names.push_back(name);
}

/// Calls `visit(mesh axis, index of the dimension)` for the mesh axes that split dimensions of a piece or an input.
template <typename Cut, typename Visit> void eachSplit(const Cut &cut, Visit visit) {
  for (uint32_t d = 0; d < cut.dimensions()->size(); ++d) {
    const PieceDimension *dimension = cut.dimensions()->Get(d);
    for (uint32_t i = 0; i < dimension->axis_count(); ++i)
      visit(cut.mesh_axes()->Get(dimension->first_axis() + i), d);
  }
}

/// The kind of value that a variable stores of a parameter; empty for anything else.
std::string partOfParameter(const Variable &variable) {
  return variable.kind() == VariableKind::Parameter || variable.of() >= 0 ? storedAs(variable) : "";
}

/// True if the ranks have more of an accumulator than its piece, which is what the update reduces it to.
bool isReducedLater(const Program &program, const Piece &piece) {
  const Variable &variable = *program.variables()->Get(piece.variable());
  if (variable.kind() != VariableKind::Accumulator)
    return false;
  uint64_t elements = 1;
  for (const PieceDimension *dimension : *piece.dimensions())
    elements *= static_cast<uint64_t>(dimension->local());
  if (piece.flat_axes()->size() > 0)
    elements = flatShare(elements, ranksAlong(program, *piece.flat_axes()));
  constexpr uint64_t alignment = 64;
  return piece.bytes() > (elements * sizeOf(variable.type()) + alignment - 1) / alignment * alignment;
}

std::vector<DimensionLayout> dimensionsOf(const Program &program, const Piece &piece) {
  const Variable &variable = *program.variables()->Get(piece.variable());
  std::vector<DimensionLayout> dimensions;
  for (uint32_t d = 0; d < piece.dimensions()->size(); ++d) {
    const PieceDimension *dimension = piece.dimensions()->Get(d);
    dimensions.push_back({variable.axes()->Get(d)->str(), dimension->global(), dimension->local(), {}});
  }
  eachSplit(piece, [&](uint32_t axis, uint32_t d) { dimensions[d].over.push_back(meshAxisName(program, axis)); });
  return dimensions;
}

/// The share of a small gradient has room for all of it, so bytes tell nothing: it is reduced when others over the same axes are.
void findReducedLater(StageLayout &stage) {
  std::set<std::vector<uint32_t>> later;
  for (const ParameterLayout &parameter : stage.parameters)
    for (const StoredVariable &stored : parameter.stored)
      if (stored.reducedLater && !stored.shares.empty())
        later.insert(stored.shares);
  for (ParameterLayout &parameter : stage.parameters)
    for (StoredVariable &stored : parameter.stored)
      stored.reducedLater |= stored.what == "gradients" && later.count(stored.shares) != 0;
}

StageLayout stageLayoutOf(const Program &program, uint32_t index) {
  const RankClass &rankClass = *program.classes()->Get(index);
  StageLayout stage;
  stage.stage = rankClass.stage(), stage.programClass = index;
  std::vector<int64_t> ranks = ranksOf(program, rankClass);
  stage.firstRank = ranks.front(), stage.ranks = ranksText(runsOf(ranks));
  for (const Coordinate *coordinate : *rankClass.fixed())
    stage.coordinates +=
        fmt::format("{}{} = {}", stage.coordinates.empty() ? "" : ", ", meshAxisName(program, coordinate->axis()), coordinate->value());
  for (const Fragment *fragment : *rankClass.fragments())
    stage.chunks = std::max(stage.chunks, fragment->chunk() + 1);
  std::vector<std::vector<uint32_t>> chunks = chunksOfParameters(program, rankClass);
  std::map<uint32_t, size_t> places; // by variable of a parameter
  for (uint32_t i = 0; i < rankClass.pieces()->size(); ++i) {
    const Piece &piece = *rankClass.pieces()->Get(i);
    const Variable &variable = *program.variables()->Get(piece.variable());
    if (variable.kind() != VariableKind::Parameter)
      continue;
    places[piece.variable()] = stage.parameters.size();
    ParameterLayout parameter;
    parameter.name = variable.name()->str(), parameter.dimensions = dimensionsOf(program, piece);
    parameter.chunks = chunks[i], parameter.frozen = variable.frozen(), parameter.state = isModelState(variable);
    stage.parameters.push_back(std::move(parameter));
  }
  for (const Piece *piece : *rankClass.pieces()) {
    const Variable &variable = *program.variables()->Get(piece->variable());
    std::string what = partOfParameter(variable);
    auto place = places.find(variable.kind() == VariableKind::Parameter ? piece->variable() : static_cast<uint32_t>(variable.of()));
    if (what.empty() || place == places.end())
      continue;
    StoredVariable stored{
        variable.name()->str(), what, EnumNameElementType(variable.type()), piece->bytes(), isReducedLater(program, *piece), {}, piece};
    stored.shares.assign(piece->flat_axes()->begin(), piece->flat_axes()->end());
    std::vector<StoredVariable> &all = stage.parameters[place->second].stored;
    // Accumulators come last in a class, and before the states here.
    auto isState = [](const StoredVariable &one) { return one.isPartOf("optimizer"); };
    all.insert(what == "gradients" ? std::find_if(all.begin(), all.end(), isState) : all.end(), std::move(stored));
  }
  findReducedLater(stage);
  return stage;
}

/// Notes which mesh axes divide the storage of parameters, gradients and the optimizer's state.
void findShares(Layout &layout) {
  for (const char *what : {"parameters", "gradients", "optimizer"})
    for (const StageLayout &stage : layout.stages)
      for (const ParameterLayout &parameter : stage.parameters)
        for (const StoredVariable &stored : parameter.stored)
          if (stored.isPartOf(what) && !stored.reducedLater)
            for (uint32_t axis : stored.shares)
              addOnce(layout.axes[axis].shares, what);
}

/// Marks parameters that several stages have, or that the model's text uses more than once.
void findTied(const Program &program, std::vector<StageLayout> &stages) {
  std::map<std::string, std::set<uint32_t>> where;
  for (const StageLayout &stage : stages)
    for (const ParameterLayout &parameter : stage.parameters)
      where[parameter.name].insert(stage.stage);
  std::set<std::string> usedAgain;
  for (const Variable *variable : *program.variables())
    if (variable->kind() == VariableKind::Accumulator && variable->of() >= 0 && variable->use() > 0)
      usedAgain.insert(program.variables()->Get(static_cast<uint32_t>(variable->of()))->name()->str());
  for (StageLayout &stage : stages)
    for (ParameterLayout &parameter : stage.parameters) {
      const std::set<uint32_t> &all = where[parameter.name];
      parameter.stages.assign(all.begin(), all.end());
      parameter.tied = all.size() > 1 || usedAgain.count(parameter.name) != 0;
    }
}

std::vector<AxisLayout> axesOf(const Program &program) {
  std::vector<AxisLayout> axes;
  for (const MeshAxis *axis : *program.mesh()) {
    axes.emplace_back();
    axes.back().name = axis->name()->str(), axes.back().size = axis->size();
  }
  for (uint32_t axis : *program.data_axes())
    axes[axis].samples = true;
  for (const RankClass *rankClass : *program.classes()) {
    for (const Coordinate *coordinate : *rankClass->fixed())
      axes[coordinate->axis()].stages = true;
    for (const Input *input : *rankClass->inputs())
      eachSplit(*input, [&](uint32_t axis, uint32_t d) {
        if (d > 0)
          addOnce(axes[axis].inputs, program.inputs()->Get(input->input())->axes()->Get(d)->str());
      });
    for (const Piece *piece : *rankClass->pieces()) {
      const Variable &variable = *program.variables()->Get(piece->variable());
      if (variable.kind() == VariableKind::Parameter)
        eachSplit(*piece, [&](uint32_t axis, uint32_t d) { addOnce(axes[axis].parameters, variable.axes()->Get(d)->str()); });
    }
  }
  return axes;
}

/// Path and number of a parameter's block: {"h", 3} of `h.3.attn.weight`; {name, -1} if it is in none.
std::pair<std::string, int64_t> blockOf(const std::string &name) {
  for (size_t begin = 0; begin < name.size();) {
    size_t end = std::min(name.find('.', begin), name.size());
    std::string part = name.substr(begin, end - begin);
    if (begin > 0 && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos)
      return {name.substr(0, begin - 1), std::stoll(part)};
    begin = end + 1;
  }
  return {name, -1};
}

} // namespace

bool StoredVariable::isPartOf(const std::string &group) const {
  return what == group || (group == "optimizer" && what != "parameters" && what != "gradients");
}

uint64_t ParameterLayout::bytesOf(const std::string &what) const {
  uint64_t bytes = 0;
  for (const StoredVariable &one : stored)
    bytes += one.isPartOf(what) ? one.bytes : 0;
  return bytes;
}

uint64_t ParameterLayout::elements() const {
  uint64_t elements = 1;
  for (const DimensionLayout &dimension : dimensions)
    elements *= static_cast<uint64_t>(dimension.size);
  return elements;
}

std::vector<int64_t> Layout::groupOf(int64_t rank, const std::vector<uint32_t> &axes) const {
  std::vector<std::vector<int64_t>> all = {coordinatesOf(*program, rank)};
  for (uint32_t axis : axes) {
    std::vector<std::vector<int64_t>> more;
    for (std::vector<int64_t> &one : all)
      for (one[axis] = 0; one[axis] < program->mesh()->Get(axis)->size(); ++one[axis])
        more.push_back(one);
    all.swap(more);
  }
  std::vector<int64_t> ranks;
  for (const std::vector<int64_t> &one : all)
    ranks.push_back(rankAt(*program, one));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::string Layout::coordinatesText(int64_t rank) const {
  std::vector<int64_t> coordinates = coordinatesOf(*program, rank);
  std::string text;
  for (size_t axis = 0; axis < axes.size(); ++axis)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", axes[axis].name, coordinates[axis]);
  return text;
}

const StageLayout &Layout::stageOf(int64_t rank) const { return stages[program::classOf(*program, rank)]; }

Layout layoutOf(const Program &program, const std::vector<std::vector<int64_t>> &places) {
  Layout layout;
  layout.program = &program;
  layout.title = fmt::format("{} under plan {}", program.model()->str(), program.plan()->str());
  layout.world = worldOf(program);
  layout.axes = axesOf(program);
  for (uint32_t axis = 0; axis < layout.axes.size(); ++axis)
    (layout.axes[axis].stages || !layout.axes[axis].parameters.empty() ? layout.modelAxes : layout.replicaAxes).push_back(axis);
  for (uint32_t index = 0; index < program.classes()->size(); ++index)
    layout.stages.push_back(stageLayoutOf(program, index));
  findTied(program, layout.stages);
  findShares(layout);
  if (!places.empty())
    layout.hostOf.resize(static_cast<size_t>(layout.world)), layout.localOf.resize(static_cast<size_t>(layout.world));
  for (size_t host = 0; host < places.size(); ++host)
    for (size_t local = 0; local < places[host].size(); ++local) {
      layout.hostOf[static_cast<size_t>(places[host][local])] = static_cast<int64_t>(host);
      layout.localOf[static_cast<size_t>(places[host][local])] = static_cast<int64_t>(local);
    }
  return layout;
}

std::string BlockRange::text() const {
  return first < 0 ? path : first == last ? fmt::format("{}.{}", path, first) : fmt::format("{}.{}-{}", path, first, last);
}

std::vector<BlockRange> blocksOf(const StageLayout &stage, uint32_t chunk) {
  std::vector<BlockRange> blocks;
  std::map<std::pair<std::string, int64_t>, size_t> known;
  for (const ParameterLayout &parameter : stage.parameters) {
    bool isHere = std::find(parameter.chunks.begin(), parameter.chunks.end(), chunk) != parameter.chunks.end();
    if (!isHere && !(parameter.chunks.empty() && chunk == 0))
      continue;
    std::pair<std::string, int64_t> key = blockOf(parameter.name);
    auto [place, isNew] = known.try_emplace(key, blocks.size());
    if (isNew)
      blocks.push_back({key.first, key.second, key.second, {}});
    blocks[place->second].parameters.push_back(&parameter);
  }
  std::vector<BlockRange> joined;
  for (BlockRange &block : blocks) {
    if (!joined.empty() && block.first >= 0 && joined.back().path == block.path && joined.back().last + 1 == block.first) {
      BlockRange &range = joined.back();
      size_t each = range.parameters.size() / static_cast<size_t>(range.last - range.first + 1);
      if (each == block.parameters.size()) {
        range.last = block.last;
        range.parameters.insert(range.parameters.end(), block.parameters.begin(), block.parameters.end());
        continue;
      }
    }
    joined.push_back(std::move(block));
  }
  return joined;
}

} // namespace npar::show
