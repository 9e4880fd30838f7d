// Makes the one-rank program, and finds why another cannot be compared with it.
#include "tools/lib/verify/OneRank.h"

#include "engine/program/Precision.h"
#include "engine/program/Words.h"
#include "engine/runtime/BatchShape.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace npar::verify {

dsl::Program onOneRank(dsl::Program program) {
  const int64_t samples = program.plan.dataParallel * program.plan.micro;
  dsl::Plan plan;
  plan.micro = program.train.batch;
  plan.compute = program.plan.compute, plan.tf32 = program.plan.tf32;
  plan.location = program.plan.location;
  program.plan = plan;
  for (dsl::Axis &axis : program.model.axes)
    if (axis.countsSamples)
      axis.size = axis.size * program.train.batch / samples;
  return program;
}

std::string whyNotComparable(const program::Program &program, const program::Program &reference) {
  if (program.kind() != program::ProgramKind::Training)
    return "it is for " + std::string(program::wordOf(program.kind())) + ", and what is compared is training";
  if (!isWide(program.compute()))
    return "it computes in " + std::string(program::computeWord(program)) +
           ", and programs are compared in float64: compile it with --set compute=f64";
  auto numbers = [](const program::Program &one) {
    engine::BatchShape shape = engine::BatchShape::of(one);
    std::string text = fmt::format("batches of {} samples", shape.rows);
    for (const engine::InputShape &input : shape.inputs)
      text +=
          fmt::format(", {} {}{}", input.name, input.typeText(), input.isInteger() ? fmt::format(" below {}", input.range.classes) : "");
    return text;
  };
  if (numbers(program) != numbers(reference))
    return "it takes " + numbers(program) + ", the text says " + numbers(reference);
  // Sums of a step have other parts where stages of a pipeline add to them.
  auto isSum = [](const program::Variable &variable) {
    return variable.kind() == program::VariableKind::Accumulator && variable.name()->string_view().front() == '#';
  };
  std::map<std::string, std::string> expected, found;
  for (auto [one, names] : {std::pair(&program, &found), std::pair(&reference, &expected)})
    for (const program::Variable *variable : *one->variables())
      if (variable->kind() != program::VariableKind::Output && !isSum(*variable))
        (*names)[variable->name()->str()] = fmt::format("[{}]", fmt::join(*variable->shape(), ", "));
  auto shapeIn = [](const std::map<std::string, std::string> &shapes, const std::string &name) {
    auto found = shapes.find(name);
    return found == shapes.end() ? "missing" : found->second;
  };
  for (const auto &names : {expected, found})
    for (const auto &[name, shape] : names)
      if (shapeIn(found, name) != shapeIn(expected, name))
        return fmt::format("'{}' is {} there and {} in the text", name, shapeIn(found, name), shapeIn(expected, name));
  return {};
}

} // namespace npar::verify
