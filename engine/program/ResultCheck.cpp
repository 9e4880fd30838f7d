// Checks the kind of a program, and its results, so that the engine can read them without further checks.
#include "engine/program/BufferCheck.h"
#include "engine/program/Checks.h"
#include "engine/program/Classes.h"
#include "engine/program/Kept.h"
#include "engine/program/Words.h"

#include <algorithm>

namespace npar::program {
namespace {

/// A forward-only program holds parameters and has forwards, and one that generates states of what it keeps (Kept.h); nothing else.
std::string checkForwardOnly(const Program &program) {
  std::string kind = "a program for " + std::string(wordOf(program.kind()));
  for (const Variable *variable : *program.variables())
    if (variable->kind() != VariableKind::Parameter &&
        !(program.kind() == ProgramKind::Generation && variable->kind() == VariableKind::State &&
          variable->name()->str().rfind(keptPrefix, 0) == 0))
      return kind + " has '" + variable->name()->str() + "', a variable of kind " + wordOf(variable->kind());
  for (const RankClass *rankClass : *program.classes())
    for (const Task *task : *rankClass->tasks())
      if (const Fragment *fragment = rankClass->fragments()->Get(task->fragment()); fragment->phase() != Phase::Forward)
        return kind + " runs '" + fragment->name()->str() + "' of phase " + wordOf(fragment->phase()) + " in class '" +
               rankClass->name()->str() + "'";
  return "";
}

std::string checkBuffer(const Program &program, const RankClass &rankClass, const ResultBuffer &result) {
  std::string name = "class '" + rankClass.name()->str() + "'";
  if (result.result() >= program.results()->size())
    return name + " keeps result " + number(result.result()) + " of " + number(program.results()->size());
  const LogicalResult &logical = *program.results()->Get(result.result());
  std::string which = name + ": result '" + logical.name()->str() + "'";
  if (std::string wrong = checkPlace(program, rankClass, result, *logical.shape(), logical.type(), which); !wrong.empty())
    return wrong;
  for (uint32_t axis : *result.mesh_axes())
    if (fixedCoordinate(rankClass, axis) >= 0 && program.mesh()->Get(axis)->size() > 1)
      return which + " is split over mesh axis '" + program.mesh()->Get(axis)->name()->str() + "', which its class fixes";
  return "";
}

/// Result `index`, and that it is over the same axes as `first`; null with what is wrong.
const LogicalResult *resultOf(const Program &program, uint32_t index, const LogicalResult *first, const std::string &of,
                              std::string &wrong) {
  if (index >= program.results()->size()) {
    wrong = of + " takes result " + number(index) + " of " + number(program.results()->size());
    return nullptr;
  }
  const LogicalResult *result = program.results()->Get(index);
  auto same = [](const auto &a, const auto &b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
  if (first && !same(*first->shape(), *result->shape()))
    wrong = of + " takes results '" + first->name()->str() + "' and '" + result->name()->str() + "' of other shapes";
  return result;
}

std::string checkMeasure(const Program &program, const Measure &measure) {
  std::string name = "measure '" + measure.name()->str() + "'", wrong;
  if (measure.kind() < MeasureKind::MIN || measure.kind() > MeasureKind::MAX)
    return name + " has an unknown kind";
  uint32_t wanted = measure.kind() == MeasureKind::F1 || measure.kind() == MeasureKind::Correlation ? 2 : 1;
  if (measure.values()->size() != wanted)
    return name + " takes " + number(measure.values()->size()) + " results, not " + number(wanted);
  const LogicalResult *first = nullptr;
  for (uint32_t index : *measure.values())
    if (const LogicalResult *result = resultOf(program, index, first, name, wrong); !first)
      first = result;
  if (wrong.empty() && measure.counted() >= 0)
    resultOf(program, static_cast<uint32_t>(measure.counted()), first, name, wrong);
  return wrong;
}

std::string checkMeasures(const Program &program) {
  if (program.measures())
    for (const Measure *measure : *program.measures())
      if (std::string wrong = checkMeasure(program, *measure); !wrong.empty())
        return wrong;
  std::string wrong;
  if (program.predictions())
    for (const Prediction *prediction : *program.predictions())
      if (wrong.empty())
        resultOf(program, prediction->result(), nullptr, "prediction '" + prediction->name()->str() + "'", wrong);
  return wrong;
}

} // namespace

std::string checkResults(const Program &program) {
  if (program.kind() < ProgramKind::MIN || program.kind() > ProgramKind::MAX)
    return "unknown kind of program";
  if ((program.kind() == ProgramKind::Training) != (program.results()->size() == 0))
    return "a program for " + std::string(wordOf(program.kind())) + " with " + number(program.results()->size()) + " results";
  if (program.results()->size() > 0 && program.inputs()->size() == 0)
    return "a program with results but without inputs";
  std::set<std::string> names;
  for (const LogicalResult *result : *program.results()) {
    std::string name = "result '" + result->name()->str() + "'";
    if (!names.insert(result->name()->str()).second)
      return name + " is twice in the program";
    if (!isKnown(result->type()) || !isResultType(result->type()))
      return name + " has an unsupported type: results are floats or i32";
    if (std::string wrong = checkShape(program, *result, name); !wrong.empty())
      return wrong;
  }
  return checkMeasures(program);
}

std::string checkKeptResults(const Program &program) {
  if (program.kind() != ProgramKind::Training)
    if (std::string wrong = checkForwardOnly(program); !wrong.empty())
      return wrong;
  std::vector<const RankClass *> keepers(program.results()->size());
  for (const RankClass *rankClass : *program.classes())
    for (const ResultBuffer *result : *rankClass->results()) {
      if (std::string wrong = checkBuffer(program, *rankClass, *result); !wrong.empty())
        return wrong;
      const RankClass *&keeper = keepers[result->result()];
      if (keeper)
        return "result '" + program.results()->Get(result->result())->name()->str() + "' is kept by class '" + keeper->name()->str() +
               "' and by class '" + rankClass->name()->str() + "'";
      keeper = rankClass;
    }
  for (uint32_t index = 0; index < keepers.size(); ++index)
    if (!keepers[index])
      return "result '" + program.results()->Get(index)->name()->str() + "' is kept by no class";
  return "";
}

} // namespace npar::program
