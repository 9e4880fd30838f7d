// Checks what a program says of its inputs, so that the engine may cut any batch of their shapes into the ranks' buffers without asking.
#include "engine/program/Checks.h"
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"
#include "engine/program/Words.h"

#include <set>

namespace npar::program {
namespace {

using Wide = unsigned __int128;
constexpr uint64_t largest = uint64_t(1) << 59;

std::string number(uint64_t value) { return std::to_string(value); }

/// Whether the sizes are positive and their product stays below `largest`.
template <typename Sizes> bool isPossible(const Sizes &sizes) {
  Wide elements = 1;
  for (int64_t size : sizes)
    if (size <= 0 || (elements *= static_cast<uint64_t>(size)) > largest)
      return false;
  return true;
}

std::string checkLogical(const Program &program, const LogicalInput &input) {
  std::string name = "input '" + input.name()->str() + "'";
  bool integer = input.type() == ElementType::I32 || input.type() == ElementType::U8;
  if (!integer && input.type() != ElementType::F32)
    return name + " is of a type that no input has: I32, U8 and F32 exist";
  if (input.axes()->size() == 0 || input.axes()->size() != input.shape()->size() || !isPossible(*input.shape()))
    return name + " has an impossible shape";
  if (input.axes()->Get(0)->str() != "batch" || input.shape()->Get(0) != program.batch())
    return name + " does not begin with the batch of " + std::to_string(program.batch()) + " samples";
  if (input.classes() < 0)
    return name + " has " + std::to_string(input.classes()) + " classes";
  if (!integer && (input.classes() || input.ignore() || input.role() != InputRole::Other))
    return name + " is of floats, but has classes, an ignored value or a place in the stream of tokens";
  if (input.role() < InputRole::MIN || input.role() > InputRole::MAX)
    return name + " has an unknown role";
  return "";
}

/// Whether values of an input are kept so: integers as kernels index with, floats as the plan computes.
bool becomes(ElementType values, ElementType kept) {
  switch (kept) {
  case ElementType::I32:
    return values != ElementType::F32;
  case ElementType::F32:
  case ElementType::F64:
  case ElementType::BF16:
  case ElementType::F16:
    return values == ElementType::F32;
  case ElementType::U8:
    break;
  }
  return false;
}

/// The mesh axes of an input are in range, and none is named twice.
std::string checkAxes(const Program &program, const Input &input, const std::string &which) {
  std::set<uint32_t> seen;
  for (uint32_t axis : *input.mesh_axes()) {
    if (axis >= program.mesh()->size())
      return which + " names mesh axis " + number(axis) + " of " + number(program.mesh()->size());
    if (!seen.insert(axis).second)
      return which + " names mesh axis '" + program.mesh()->Get(axis)->name()->str() + "' twice";
  }
  return "";
}

/// `size` is the size of the dimension in one micro-batch.
std::string checkDimension(const Program &program, const Input &input, uint32_t index, int64_t size, const std::string &which) {
  const PieceDimension &dimension = *input.dimensions()->Get(index);
  std::string what = which + ": dimension " + number(index);
  uint64_t axes = input.mesh_axes()->size();
  if (dimension.first_axis() > axes || dimension.axis_count() > axes - dimension.first_axis())
    return what + " has mesh axes out of range";
  Wide parts = 1;
  for (uint32_t i = 0; i < dimension.axis_count(); ++i)
    parts *= program.mesh()->Get(input.mesh_axes()->Get(dimension.first_axis() + i))->size();
  if (dimension.global() != size || dimension.local() <= 0 ||
      parts * static_cast<uint64_t>(dimension.local()) < static_cast<uint64_t>(size))
    return what + " of size " + std::to_string(dimension.global()) + " kept as " + std::to_string(dimension.local()) + " on each of " +
           number(static_cast<uint64_t>(parts)) + " ranks does not cover the input's " + std::to_string(size);
  uint64_t chunks = 2 * uint64_t(input.zigzag()->Get(index));
  if (chunks && (index == 0 || static_cast<uint64_t>(size) % chunks != 0))
    return what + " of size " + std::to_string(size) + " lies in zigzag order of " + number(chunks) + " chunks, which do not divide it";
  return "";
}

std::string checkPart(const Program &program, const RankClass &rankClass, const Input &input) {
  std::string name = "class '" + rankClass.name()->str() + "'";
  if (input.input() >= program.inputs()->size())
    return name + " keeps input " + number(input.input()) + " of " + number(program.inputs()->size());
  const LogicalInput &logical = *program.inputs()->Get(input.input());
  std::string which = name + ": input '" + logical.name()->str() + "'";
  if (!becomes(logical.type(), input.type()))
    return which + " is kept in a type that no value of it becomes";
  if (std::string wrong = checkAxes(program, input, which); !wrong.empty())
    return wrong;
  if (input.dimensions()->size() != logical.shape()->size() || input.zigzag()->size() != logical.shape()->size())
    return which + " has " + number(input.dimensions()->size()) + " dimensions, the program's " + number(logical.shape()->size());
  std::vector<int64_t> local;
  for (uint32_t i = 0; i < input.dimensions()->size(); ++i) {
    int64_t size = i == 0 ? logical.shape()->Get(0) / program.micro_count() : logical.shape()->Get(i);
    if (std::string wrong = checkDimension(program, input, i, size, which); !wrong.empty())
      return wrong;
    local.push_back(input.dimensions()->Get(i)->local());
  }
  const PieceDimension &samples = *input.dimensions()->Get(0);
  bool shared = samples.axis_count() == program.data_axes()->size();
  for (uint32_t i = 0; shared && i < samples.axis_count(); ++i)
    shared = input.mesh_axes()->Get(samples.first_axis() + i) == program.data_axes()->Get(i);
  if (!shared || samples.local() != program.micro())
    return which + " keeps " + std::to_string(samples.local()) + " samples of a micro-batch, not the " + std::to_string(program.micro()) +
           " of a data-parallel rank";
  if (input.region() >= rankClass.regions()->size() || !isPossible(local))
    return which + " does not fit its region";
  const Region &region = *rankClass.regions()->Get(input.region());
  uint64_t bytes = elementsOf(input) * sizeOf(input.type());
  if (input.offset() > region.bytes() || bytes > region.bytes() - input.offset())
    return which + " of " + number(bytes) + " bytes does not fit its region";
  if (region.slots() != program.micro_count())
    return which + " lies in a region of " + number(region.slots()) + " slots, not one for each of " +
           std::to_string(program.micro_count()) + " micro-batches";
  return "";
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
