#include "tools/api/library/ForwardPrograms.h"

#include "engine/program/Words.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <string>
#include <vector>

namespace npar::api {

using engine::Status;

namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes parametersOf(const program::Program &program) {
  Shapes shapes;
  for (const program::Variable *variable : *program.variables())
    if (variable->kind() == program::VariableKind::Parameter)
      shapes[variable->name()->str()].assign(variable->shape()->begin(), variable->shape()->end());
  return shapes;
}

} // namespace

Status checkForward(const program::Program &trainer, const program::Program &given, program::ProgramKind kind, const char *member) {
  if (given.kind() != kind)
    return Status::usage(fmt::format("{} is compiled for {}, not for {}: compile it with that kind", member, program::wordOf(given.kind()),
                                     program::wordOf(kind)));
  const Shapes here = parametersOf(given), there = parametersOf(trainer);
  auto shapeIn = [](const Shapes &shapes, const std::string &name) {
    auto found = shapes.find(name);
    return found == shapes.end() ? std::string("missing") : fmt::format("[{}]", fmt::join(found->second, ", "));
  };
  for (const Shapes *shapes : {&there, &here})
    for (const auto &[name, shape] : *shapes)
      if (std::string mine = shapeIn(here, name), theirs = shapeIn(there, name); mine != theirs)
        return Status::usage(
            fmt::format("{} has other parameters than the trainer's program: '{}' is {} there and {} in the trainer's; compile "
                        "both from the same model with the same settings",
                        member, name, mine, theirs));
  return {};
}

} // namespace npar::api
