// Goes through the ranks in the order of places and notes the kinds of hosts that each stage gets.
#include "compiler/passes/schedule/StageMachines.h"

#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/dist/ModuleMachine.h"
#include "dsl/machine/Hosts.h"
#include "engine/program/HostPlacement.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace npar::compiler {

static program::PlacedMesh placedMesh(ModuleOp module, dist::MeshAttr mesh, StringAttr pipeline) {
  SmallVector<StringAttr> batch;
  for (dist::RuleAttr rule : attributes::rules.get(module))
    if (rule.getAxis() == "batch")
      llvm::append_range(batch, rule.getMesh());
  program::PlacedMesh placed;
  for (auto [name, size] : llvm::zip(mesh.getNames(), mesh.getSizes())) {
    program::AxisRole role = llvm::is_contained(batch, name) ? program::AxisRole::Batch
                             : name == pipeline              ? program::AxisRole::Pipeline
                                                             : program::AxisRole::Other;
    placed.push_back({name.str(), size, role});
  }
  return placed;
}

static program::PlaceWords placeWords(const std::optional<attributes::PlaceClause> &clause) {
  program::PlaceWords words;
  words.source = "place";
  if (clause)
    words.order = clause->order, words.inside = clause->inside;
  return words;
}

FailureOr<StageMachines> StageMachines::of(ModuleOp module, StringAttr axis, int64_t stages) {
  StageMachines result;
  dist::MeshAttr mesh = dist::meshOf(module);
  const cost::Machine machine = dist::machineOf(module);
  result.ofStage.assign(static_cast<size_t>(stages), 0);
  if (!dsl::isUneven(machine)) {
    result.distinct = {{machine}};
    return result;
  }
  program::PlacedMesh placed = placedMesh(module, mesh, axis);
  std::optional<attributes::PlaceClause> clause = attributes::getPlace(module);
  engine::Result<program::PlaceOrder> order = program::placeOrder(placed, placeWords(clause));
  if (!order.ok()) {
    LocationAttr at = clause ? clause->loc : LocationAttr();
    return emitError(at ? Location(at) : module.getLoc(), order.status().message()), failure();
  }

  int64_t place = axis ? mesh.indexOf(axis) : -1, stride = 1;
  for (size_t after = static_cast<size_t>(place) + 1; place >= 0 && after < placed.size(); ++after)
    stride *= placed[after].size;
  std::vector<std::set<size_t>> kinds(static_cast<size_t>(stages));
  int64_t index = 0;
  for (int64_t rank : program::ranksInOrder(placed, *order)) {
    int64_t stage = place >= 0 ? rank / stride % placed[static_cast<size_t>(place)].size : 0;
    kinds[static_cast<size_t>(stage)].insert(dsl::kindOfHost(machine, dsl::placeAt(machine, index++).host));
  }
  std::vector<std::set<size_t>> known;
  for (size_t stage = 0; stage < kinds.size(); ++stage) {
    auto same = std::find(known.begin(), known.end(), kinds[stage]);
    result.ofStage[stage] = static_cast<size_t>(same - known.begin());
    if (same != known.end())
      continue;
    known.push_back(kinds[stage]);
    std::vector<cost::Machine> &set = result.distinct.emplace_back();
    for (size_t kind : kinds[stage]) {
      set.push_back(dsl::machineOfKind(machine, kind));
      if (kinds[stage].size() > 1)
        set.back().links = machine.links;
    }
  }
  return result;
}

} // namespace npar::compiler
