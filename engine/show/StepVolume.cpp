// Counts the elements of collectives that add up gradients or gather parameters.
#include "engine/show/StepVolume.h"

#include "engine/json/Json.h"
#include "engine/program/Classes.h"
#include "engine/program/ModelState.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace npar::show {

using namespace npar::program;

namespace {

/// Mesh axes whose ranks have samples, or parts of samples, of their own.
std::set<uint32_t> sampleAxes(const Program &program, const RankClass &rankClass) {
  std::set<uint32_t> axes(program.data_axes()->begin(), program.data_axes()->end());
  for (const Input *input : *rankClass.inputs())
    axes.insert(input->mesh_axes()->begin(), input->mesh_axes()->end());
  for (const Coordinate *fixed : *rankClass.fixed()) // ranks along it exchange messages (`central`), which are no collectives
    axes.erase(fixed->axis());
  return axes;
}

/// Elements that a member sends, as the mean of all members where their shares differ.
double sentElements(const Collective &collective, uint64_t members) {
  double rows = static_cast<double>(collective.outer() * collective.inner());
  double whole = collective.whole() != 0 ? static_cast<double>(collective.whole()) * rows : 0;
  double count = static_cast<double>(collective.count()), n = static_cast<double>(members);
  switch (collective.kind()) {
  case CollectiveKind::AllReduce:
    return 2 * count * (n - 1) / n;
  case CollectiveKind::ReduceScatter:
    return (whole != 0 ? whole : count) * (n - 1) / n;
  case CollectiveKind::AllGather:
    return (whole != 0 ? whole : count * n) * (n - 1) / n;
  case CollectiveKind::AllToAll:
    return count * (n - 1) / n;
  case CollectiveKind::Permute:
    return n > 1 ? count : 0;
  }
  return 0;
}

/// Purpose of a collective.
enum class Purpose { Gradients, Parameters, Others };

Purpose purposeOf(const Collective &collective) {
  switch (collective.cause() ? collective.cause()->kind() : CauseKind::None) {
  case CauseKind::Accumulated:
  case CauseKind::StoresShare:
  case CauseKind::UpdatesShare:
    return Purpose::Gradients;
  case CauseKind::UpdatedInShares:
  case CauseKind::StoredInShares:
    return Purpose::Parameters;
  case CauseKind::None:
  case CauseKind::SumsOverSplit:
  case CauseKind::ReducesSplit:
  case CauseKind::AddsOwned:
  case CauseKind::WantsSplit:
  case CauseKind::WantsWhole:
  case CauseKind::WantsOrder:
  case CauseKind::PassesRound:
    break;
  }
  return Purpose::Others;
}

/// Parameters of the class, and what an all-reduce of the gradients of those that are trained sends.
void countParameters(const Program &program, const RankClass &rankClass, const std::set<uint32_t> &samples, StepVolume &volume) {
  for (const Piece *piece : *rankClass.pieces()) {
    const Variable &variable = *program.variables()->Get(piece->variable());
    if (variable.kind() != VariableKind::Parameter || isModelState(variable))
      continue;
    uint64_t elements = 1, ranks = 1;
    for (const PieceDimension *dimension : *piece->dimensions())
      elements *= static_cast<uint64_t>(dimension->local());
    for (uint32_t axis : samples)
      if (std::find(piece->mesh_axes()->begin(), piece->mesh_axes()->end(), axis) == piece->mesh_axes()->end())
        ranks *= program.mesh()->Get(axis)->size();
    volume.parameters += elements;
    if (!variable.frozen())
      volume.plain += 2 * static_cast<double>(elements) * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  }
}

} // namespace

StepVolume stepVolumeOf(const Program &program, const RankClass &rankClass) {
  StepVolume volume;
  std::set<uint32_t> samples = sampleAxes(program, rankClass);
  countParameters(program, rankClass, samples, volume);
  std::vector<uint64_t> times(rankClass.fragments()->size());
  for (const Task *task : *rankClass.tasks())
    ++times[task->fragment()];
  for (uint32_t index = 0; index < times.size(); ++index)
    for (const Step *step : *rankClass.fragments()->Get(index)->steps())
      for (uint32_t part = 0; step->kind() == StepKind::Collective && part < partsOf(*step); ++part) {
        const Collective &collective = *program.collectives()->Get(step->payload() + part);
        if (std::none_of(collective.axes()->begin(), collective.axes()->end(), [&](uint32_t axis) { return samples.count(axis) != 0; }))
          continue;
        double sent = static_cast<double>(times[index]) * sentElements(collective, ranksAlong(program, *collective.axes()));
        switch (purposeOf(collective)) {
        case Purpose::Gradients:
          volume.gradients += sent;
          break;
        case Purpose::Parameters:
          volume.gathered += sent;
          break;
        case Purpose::Others:
          break;
        }
      }
  return volume;
}

std::string volumeText(const StepVolume &volume) {
  if (volume.plain == 0)
    return "";
  return fmt::format("volume      {:.2f} x its parameters: gradients {:.2f}, parameters {:.2f}; {:.2f} x plain data parallelism",
                     volume.times(volume.sent()), volume.times(volume.gradients), volume.times(volume.gathered),
                     volume.sent() / volume.plain);
}

OrderedJson volumeJson(const StepVolume &volume) {
  return {{"parameters", volume.parameters},
          {"times", volume.times(volume.sent())},
          {"gradient_times", volume.times(volume.gradients)},
          {"parameter_times", volume.times(volume.gathered)},
          {"plain_times", volume.times(volume.plain)},
          {"to_plain", volume.plain == 0 ? 0 : volume.sent() / volume.plain}};
}

} // namespace npar::show
