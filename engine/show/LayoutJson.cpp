// Writes a Layout as JSON.
#include "engine/show/Layout.h"

#include "engine/json/Json.h"
#include "engine/program/Classes.h"
#include "engine/program/Ranks.h"
#include "engine/show/LayoutWords.h"

#include <algorithm>

namespace npar::show {

namespace {

/// All groups along these axes, by their lowest rank.
OrderedJson groupsJson(const Layout &layout, const std::vector<uint32_t> &axes) {
  OrderedJson groups = OrderedJson::array();
  for (int64_t rank = 0; rank < layout.world; ++rank) {
    std::vector<int64_t> coordinates = program::coordinatesOf(*layout.program, rank);
    if (std::all_of(axes.begin(), axes.end(), [&](uint32_t axis) { return coordinates[axis] == 0; }))
      groups.push_back(layout.groupOf(rank, axes));
  }
  return groups;
}

OrderedJson dimensionsJson(const ParameterLayout &parameter) {
  OrderedJson list = OrderedJson::array();
  for (const DimensionLayout &one : parameter.dimensions)
    list.push_back(OrderedJson{{"axis", one.axis}, {"size", one.size}, {"local", one.local}, {"over", one.over}});
  return list;
}

OrderedJson storedJson(const Layout &layout, const ParameterLayout &parameter) {
  OrderedJson list = OrderedJson::array();
  for (const StoredVariable &one : parameter.stored) {
    OrderedJson shares = OrderedJson::array();
    for (uint32_t axis : one.shares)
      shares.push_back(layout.axes[axis].name);
    list.push_back(OrderedJson{{"name", one.name},
                               {"what", one.what},
                               {"type", one.type},
                               {"bytes", one.bytes},
                               {"reduced_later", one.reducedLater},
                               {"shares_over", shares}});
  }
  return list;
}

OrderedJson stageJson(const Layout &layout, const StageLayout &stage) {
  OrderedJson parameters = OrderedJson::array(), chunks = OrderedJson::array();
  for (const ParameterLayout &one : stage.parameters)
    parameters.push_back(OrderedJson{{"name", one.name},
                                     {"dimensions", dimensionsJson(one)},
                                     {"chunks", one.chunks},
                                     {"stages", one.stages},
                                     {"tied", one.tied},
                                     {"frozen", one.frozen},
                                     {"state", one.state},
                                     {"stored", storedJson(layout, one)}});
  for (uint32_t chunk = 0; chunk < stage.chunks; ++chunk) {
    OrderedJson blocks = OrderedJson::array();
    for (const BlockRange &block : blocksOf(stage, chunk))
      blocks.push_back(block.text());
    chunks.push_back(OrderedJson{{"chunk", chunk}, {"blocks", blocks}});
  }
  return {{"stage", stage.stage},
          {"ranks", program::ranksOf(*layout.program, *layout.program->classes()->Get(stage.programClass))},
          {"chunks", chunks},
          {"parameters", parameters}};
}

OrderedJson piecesJson(const Layout &layout, int64_t rank) {
  OrderedJson list = OrderedJson::array();
  const StageLayout &stage = layout.stageOf(rank);
  const program::RankClass &rankClass = *layout.program->classes()->Get(stage.programClass);
  std::vector<int64_t> coordinates = program::coordinatesOf(*layout.program, rank);
  for (const ParameterLayout &parameter : stage.parameters)
    for (const StoredVariable &stored : parameter.stored) {
      program::OwnedPiece piece = program::keptPiece(*layout.program, coordinates, *stored.piece);
      list.push_back(OrderedJson{{"name", stored.name},
                                 {"what", stored.what},
                                 {"start", piece.start},
                                 {"shape", piece.shape},
                                 {"begin", piece.begin},
                                 {"end", piece.end},
                                 {"bytes", stored.bytes},
                                 {"owned", program::isStored(*layout.program, stored.piece->variable()) &&
                                               program::ownsPiece(*layout.program, coordinates, rankClass, *stored.piece)}});
    }
  return list;
}

} // namespace

OrderedJson layoutJson(const Layout &layout, std::optional<int64_t> only) {
  OrderedJson axes = OrderedJson::array(), ranks = OrderedJson::array(), stages = OrderedJson::array();
  for (uint32_t axis = 0; axis < layout.axes.size(); ++axis) {
    const AxisLayout &one = layout.axes[axis];
    axes.push_back(OrderedJson{{"axis", one.name},
                               {"size", one.size},
                               {"samples", one.samples},
                               {"stages", one.stages},
                               {"inputs", one.inputs},
                               {"parameters", one.parameters},
                               {"shares", one.shares},
                               {"groups", groupsJson(layout, {axis})}});
  }
  for (int64_t rank = 0; rank < layout.world; ++rank) {
    OrderedJson one{{"rank", rank}, {"stage", layout.stageOf(rank).stage}, {"coordinates", program::coordinatesOf(*layout.program, rank)}};
    if (!layout.hostOf.empty()) {
      one["host"] = layout.hostOf[static_cast<size_t>(rank)];
      one["local_rank"] = layout.localOf[static_cast<size_t>(rank)];
    }
    ranks.push_back(std::move(one));
  }
  for (const StageLayout &stage : layout.stages)
    stages.push_back(stageJson(layout, stage));
  OrderedJson json{{"axes", axes},
                   {"model_groups", groupsJson(layout, layout.modelAxes)},
                   {"replica_groups", groupsJson(layout, layout.replicaAxes)},
                   {"ranks", ranks},
                   {"stages", stages}};
  if (only)
    json["rank"] = OrderedJson{{"rank", *only}, {"pieces", piecesJson(layout, *only)}};
  return json;
}

} // namespace npar::show
