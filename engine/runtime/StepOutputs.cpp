// Reads outputs from arenas and gathers those of other sessions.
#include "engine/runtime/StepOutputs.h"

#include "engine/comm/StepMark.h"
#include "engine/program/Classes.h"
#include "engine/program/ProgramHash.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace npar::engine {

using namespace program;

std::vector<std::string> namedLosses(const Program &program) {
  constexpr std::string_view prefix = "#out.loss.";
  std::vector<std::string> names;
  for (const Variable *variable : *program.variables())
    if (std::string name = variable->name()->str(); variable->kind() == VariableKind::Output && name.compare(0, prefix.size(), prefix) == 0)
      names.push_back(name.substr(prefix.size()));
  return names;
}

std::vector<std::string> loggedNames(const Program &program) {
  constexpr std::string_view prefix = "#out.log.";
  std::vector<std::string> names;
  for (const Variable *variable : *program.variables()) {
    std::string name = variable->name()->str();
    if (variable->kind() != VariableKind::Output || name.compare(0, prefix.size(), prefix) != 0)
      continue;
    name = name.substr(prefix.size());
    if (variable->shape()->size() == 0)
      names.push_back(name);
    else
      for (int64_t i = 0; i < variable->shape()->Get(0); ++i)
        names.push_back(name + "." + std::to_string(i));
  }
  return names;
}

namespace {

enum OutputIndex { Loss, GradNorm, Rate, LossScale, ValidTokens, FirstGroup };

/// Names in the order of OutputIndex, then the norms of the groups, then for each of `losses` its value and its count, then `logged`.
std::vector<std::string> outputNames(const Program &program, const std::vector<std::string> &losses,
                                     const std::vector<std::string> &logged) {
  std::vector<std::string> names = {"loss", "grad_norm", "lr", "loss_scale", "valid_tokens"};
  for (uint32_t group = 0; program.groups() && group < program.groups()->size(); ++group)
    names.push_back("grad_norm." + std::to_string(group));
  for (const std::string &loss : losses)
    for (const char *what : {"loss.", "counted."})
      names.push_back(what + loss);
  for (const std::string &name : logged)
    names.push_back("log." + name);
  return names;
}

} // namespace

StepOutputs::StepOutputs(const LoadedProgram &loaded, const std::vector<LocalRank> &ranks, Backend &backend, GatherBytes gather)
    : loaded(loaded), backend(backend), gather(std::move(gather)), losses(namedLosses(loaded.root())), logged(loggedNames(loaded.root())) {
  for (const std::string &name : outputNames(loaded.root(), losses, logged))
    places.push_back(backend.computes() ? find(name, ranks) : Place());
}

StepOutputs::Place StepOutputs::find(const std::string &name, const std::vector<LocalRank> &ranks) const {
  const Program &program = loaded.root();
  for (int64_t rank = 0; rank < worldOf(program); ++rank)
    for (const Output *output : *program.classes()->Get(classOf(program, rank))->outputs())
      if (output->name()->str() == name) {
        for (const LocalRank &local : ranks)
          if (local.rank == rank)
            return {rank, local.at(output->offset())};
        return {};
      }
  return {};
}

Result<StepResult> StepOutputs::read(int64_t step, const std::function<std::vector<uint8_t>(int64_t)> &note) const {
  std::vector<ReportedOutput> reported(places.size());
  for (size_t i = 0; i < places.size(); ++i)
    if (reported[i].rank = places[i].rank; places[i].rank >= 0)
      backend.copyOut(&reported[i].value, places[i].memory, sizeof(double));
  if (Status status = waitUntilDone(backend); !status.ok())
    return status;
  std::vector<std::vector<uint8_t>> notes = {note ? note(step) : std::vector<uint8_t>()};
  if (gather)
    if (Status status = gatherAll(step, reported, notes); !status.ok())
      return status;
  for (ReportedOutput &output : reported)
    if (std::isnan(output.value)) // which sign it has depends on the processor and means nothing
      output.value = std::numeric_limits<double>::quiet_NaN();
  StepResult result = {reported[Loss].value, reported[GradNorm].value, reported[Rate].value, reported[LossScale].value,
                       !std::isfinite(reported[GradNorm].value)};
  result.notes = std::move(notes);
  if (reported[ValidTokens].rank >= 0)
    result.validTokens = static_cast<int64_t>(reported[ValidTokens].value);
  size_t next = FirstGroup;
  while (next < reported.size() - 2 * losses.size() - logged.size())
    result.groupNorms.push_back(reported[next++].value);
  for (const std::string &name : losses) {
    const ReportedOutput &value = reported[next++], &counted = reported[next++];
    result.losses.push_back({name, value.value});
    if (counted.rank >= 0)
      result.losses.back().counted = static_cast<int64_t>(counted.value);
  }
  while (next < reported.size())
    result.logged.push_back(reported[next++].value);
  return result;
}

Status StepOutputs::gatherAll(int64_t step, std::vector<ReportedOutput> &reported, std::vector<std::vector<uint8_t>> &notes) const {
  const StepMark mark = {hashOf(loaded), step};
  const size_t size = sizeof(mark) + reported.size() * sizeof(ReportedOutput);
  std::vector<uint8_t> own(size + notes[0].size());
  std::memcpy(own.data(), &mark, sizeof(mark));
  if (!reported.empty()) // else both pointers are null, which memcpy does not allow
    std::memcpy(own.data() + sizeof(mark), reported.data(), size - sizeof(mark));
  std::copy(notes[0].begin(), notes[0].end(), own.begin() + static_cast<std::ptrdiff_t>(size));
  Result<std::vector<std::vector<uint8_t>>> all = gather(own);
  if (!all.ok())
    return all.status();
  notes.clear();
  StepMark first, other; // where devices carry the data by themselves nothing else says in which step the others are
  std::vector<ReportedOutput> theirs(reported.size());
  for (const std::vector<uint8_t> &session : *all) {
    if (session.size() < size)
      return Status(Code::Internal, "sessions perform different operations");
    std::memcpy(notes.empty() ? &first : &other, session.data(), sizeof(StepMark));
    if (std::string differs = differenceOf(0, first, static_cast<uint32_t>(notes.size()), notes.empty() ? first : other); !differs.empty())
      return Status::runFailed(differs);
    if (!theirs.empty())
      std::memcpy(theirs.data(), session.data() + sizeof(StepMark), size - sizeof(StepMark));
    notes.emplace_back(session.begin() + static_cast<std::ptrdiff_t>(size), session.end());
    for (size_t i = 0; i < reported.size(); ++i)
      if (theirs[i].rank >= 0 && (reported[i].rank < 0 || theirs[i].rank < reported[i].rank))
        reported[i] = theirs[i];
  }
  return {};
}

} // namespace npar::engine
