// Chooses the variables of each tier by share, and the times of copies from the machine's figures.
#include "compiler/passes/export/StoreInTiers.h"

#include "compiler/Coded.h"
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/memory/TierCopies.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace npar::compiler {
namespace {

using attributes::TierClause;

/// Variables that move together, in the order of the parameters that they belong to.
using Groups = std::map<uint32_t, std::vector<memory::VariableModel *>>;

Groups groupsOf(const TierClause &clause, const program::ProgramT &program, memory::ClassModel &model) {
  Groups groups;
  for (memory::VariableModel &variable : model.variables) {
    const program::VariableT &facts = *program.variables[variable.variable];
    bool isParameter = facts.kind == program::VariableKind::Parameter, isState = facts.kind == program::VariableKind::State && facts.of >= 0;
    if (clause.what == "parameters" ? isParameter : isState)
      groups[isParameter ? variable.variable : static_cast<uint32_t>(facts.of)].push_back(&variable);
  }
  return groups;
}

/// Moves the first groups whose bytes come closest to the share.
void move(const TierClause &clause, const Groups &groups) {
  auto bytesOf = [](const std::vector<memory::VariableModel *> &group) {
    double bytes = 0;
    for (const memory::VariableModel *variable : group)
      bytes += static_cast<double>(variable->bytes);
    return bytes;
  };
  double total = 0, moved = 0;
  for (const auto &[parameter, group] : groups)
    total += bytesOf(group);
  for (const auto &[parameter, group] : groups) {
    const double bytes = bytesOf(group);
    if (clause.share < 1 && moved + bytes / 2 > clause.share * total)
      break;
    moved += bytes;
    for (memory::VariableModel *variable : group)
      variable->tier = clause.tier;
  }
}

LogicalResult lacks(ModuleOp module, const TierClause &clause, const cost::Machine &machine, program::Tier tier) {
  std::string word = program::wordOf(tier);
  std::string figures = tier == program::Tier::Host ? "bandwidth 12 GB/s  latency 10 us  memory 60 GB/s" : "bandwidth 3 GB/s  latency 100 us";
  const Location place = clause.loc ? Location(clause.loc) : module.getLoc();
  InFlightDiagnostic error = emitError(place) << dsl::Code::M13;
  error << "machine '" << machine.name << "' has no figures of `tier " << word << "`, so that copies have no times";
  error.attachNote(place) << "help: give them in a file of the machine, such as `tier " << word << " { " << figures << " }`";
  return failure();
}

/// The slowest of the machines counts.
FailureOr<memory::TierCosts> costsOn(ModuleOp module, ArrayRef<cost::Machine> machines, ArrayRef<TierClause> clauses) {
  memory::TierCosts costs;
  for (const cost::Machine &machine : machines) {
    const bool isDevice = machine.kind == dsl::MachineKind::Device;
    for (const TierClause &clause : clauses) {
      if (isDevice && machine.hostTier.bandwidth <= 0)
        return lacks(module, clause, machine, program::Tier::Host);
      if (clause.tier == program::Tier::File && machine.fileTier.bandwidth <= 0)
        return lacks(module, clause, machine, program::Tier::File);
    }
    auto raise = [](double &cost, double value) { cost = std::max(cost, value); };
    raise(costs.hostLatency, isDevice ? machine.hostTier.latency : machine.launch);
    raise(costs.hostSecondsPerByte, 1 / (isDevice ? machine.hostTier.bandwidth : machine.move));
    if (isDevice)
      raise(costs.hostStepSecondsPerByte, 1 / machine.hostTier.memory);
    if (machine.fileTier.bandwidth > 0) {
      raise(costs.fileLatency, machine.fileTier.latency);
      raise(costs.fileSecondsPerByte, 1 / machine.fileTier.bandwidth);
    }
  }
  return costs;
}

} // namespace

LogicalResult storeInTiers(Tables &tables, ArrayRef<cost::Machine> machines, memory::ClassModel &model) {
  const SmallVector<TierClause> clauses = attributes::getTiers(tables.module);
  if (clauses.empty())
    return success();
  for (const TierClause &clause : clauses) {
    move(clause, groupsOf(clause, tables.program, model));
    if (clause.tier == program::Tier::File)
      tables.program.tier_folder = clause.folder.str();
  }
  FailureOr<memory::TierCosts> costs = costsOn(tables.module, machines, clauses);
  if (failed(costs))
    return failure();
  memory::addTierCopies(model, *costs, [&](const std::string &text, uint32_t like) {
    auto label = std::make_unique<program::LabelT>(*tables.program.labels[like]);
    label->text = text + label->text;
    tables.program.labels.push_back(std::move(label));
    return static_cast<uint32_t>(tables.program.labels.size()) - 1;
  });
  return success();
}

} // namespace npar::compiler
