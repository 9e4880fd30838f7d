// Checks a program's inputs, so that the engine can cut any batch of their shapes into the ranks' buffers without further checks.
#include "engine/program/BufferCheck.h"
#include "engine/program/Checks.h"
#include "engine/program/Ranks.h"
#include "engine/program/Words.h"

#include <set>

namespace npar::program {
namespace {

std::string checkLogical(const Program &program, const LogicalInput &input) {
  std::string name = "input '" + input.name()->str() + "'";
  if (!isKnown(input.type()) || !isInputType(input.type()))
    return name + " has an unsupported type: inputs are I32, U8 or F32";
  if (std::string wrong = checkShape(program, input, name); !wrong.empty())
    return wrong;
  if (input.classes() < 0)
    return name + " has " + std::to_string(input.classes()) + " classes";
  if (isFloating(input.type()) && (input.classes() || input.ignore() || input.role() != InputRole::Other))
    return name + " has floats, but also classes, an ignored value or a role in the stream of tokens";
  if (input.role() < InputRole::MIN || input.role() > InputRole::MAX)
    return name + " has an unknown role";
  return "";
}

/// True if values of an input may be kept in this type: integers in the type that kernels index with, floats in the type that the plan
/// computes in.
bool becomes(ElementType values, ElementType kept) {
  return isKnown(kept) && (isFloating(values) ? isFloating(kept) : kept == widened(values));
}

std::string checkPart(const Program &program, const RankClass &rankClass, const Input &input) {
  std::string name = "class '" + rankClass.name()->str() + "'";
  if (input.input() >= program.inputs()->size())
    return name + " keeps input " + number(input.input()) + " of " + number(program.inputs()->size());
  const LogicalInput &logical = *program.inputs()->Get(input.input());
  std::string which = name + ": input '" + logical.name()->str() + "'";
  if (!becomes(logical.type(), input.type()))
    return which + " is kept in a type that no value of it becomes";
  return checkPlace(program, rankClass, input, *logical.shape(), input.type(), which);
}

} // namespace

std::string checkInputs(const Program &program) {
  std::set<std::string> names;
  std::set<InputRole> roles;
  for (const LogicalInput *input : *program.inputs()) {
    std::string name = "input '" + input->name()->str() + "'";
    if (!names.insert(input->name()->str()).second)
      return name + " is twice in the program";
    if (std::string wrong = checkLogical(program, *input); !wrong.empty())
      return wrong;
    if (input->role() != InputRole::Other && !roles.insert(input->role()).second)
      return name + " is a second one that a stream of tokens feeds as " + wordOf(input->role());
  }
  auto share = static_cast<int64_t>(ranksAlong(program, *program.data_axes()));
  bool whole = program.micro() >= 1 && program.batch() >= 1 &&
               Wide(program.micro_count()) * static_cast<uint64_t>(share) * static_cast<uint64_t>(program.micro()) ==
                   static_cast<uint64_t>(program.batch());
  if (program.inputs()->size() > 0 && !whole)
    return "the program's batch of " + std::to_string(program.batch()) + " samples is not " + std::to_string(program.micro_count()) +
           " micro-batches x " + std::to_string(share) + " data-parallel ranks x " + std::to_string(program.micro()) + " samples";
  return "";
}

std::string checkInputs(const Program &program, const RankClass &rankClass) {
  std::set<uint32_t> kept;
  for (const Input *input : *rankClass.inputs()) {
    if (std::string wrong = checkPart(program, rankClass, *input); !wrong.empty())
      return wrong;
    if (!kept.insert(input->input()).second)
      return "class '" + rankClass.name()->str() + "' keeps input '" + program.inputs()->Get(input->input())->name()->str() + "' twice";
  }
  return "";
}

} // namespace npar::program
