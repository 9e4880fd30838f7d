// Adds up the pieces of parameters, gradient accumulators and optimizer states.
#include "engine/show/ParameterBytes.h"

#include "engine/program/Describe.h"
#include "engine/program/OwnedPieces.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"
#include "engine/show/ParameterShares.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::show {

using readable::TableRow;

using namespace npar::program;

std::string storedAs(const Variable &variable) {
  switch (variable.kind()) {
  case VariableKind::Parameter:
    return "parameters";
  case VariableKind::Accumulator:
    return variable.of() >= 0 ? "gradients" : "";
  case VariableKind::State:
    return variable.slot()->str();
  case VariableKind::Output:
    break;
  }
  return "";
}

namespace {

/// Adds a type to a list such as "F32+BF16", once.
void addType(std::string &types, ElementType type) {
  std::string word = EnumNameElementType(type);
  if (("+" + types + "+").find("+" + word + "+") == std::string::npos)
    types += (types.empty() ? "" : "+") + word;
}

double perParameter(const Program &program, uint64_t bytes) {
  return program.parameters() ? static_cast<double>(bytes) / static_cast<double>(program.parameters()) : 0;
}

} // namespace

std::vector<ParameterBytes> parameterBytesOf(const Program &program, const RankClass &rankClass) {
  std::vector<ParameterBytes> lines = {{"parameters", "", 0, 0}, {"gradients", "", 0, 0}};
  for (const Piece *piece : *rankClass.pieces()) {
    const Variable &variable = *program.variables()->Get(piece->variable());
    std::string name = storedAs(variable);
    if (name.empty())
      continue;
    auto line = std::find_if(lines.begin(), lines.end(), [&](const ParameterBytes &one) { return one.what == name; });
    if (line == lines.end())
      line = lines.insert(lines.end(), {name, "", 0, 0});
    line->bytes += piece->bytes();
    addType(line->type, variable.type());
  }
  for (ParameterBytes &line : lines)
    line.perParameter = perParameter(program, line.bytes);
  return lines;
}

ModelBytes modelBytesOf(const Program &program) {
  ModelBytes bytes;
  for (const Variable *variable : *program.variables())
    if (variable->kind() == VariableKind::Parameter) {
      bytes.weights += bytesOfWhole(*variable);
      addType(bytes.type, variable->type());
    }
  bytes.checkpoint = storedBytes(program);
  return bytes;
}

OrderedJson modelBytesJson(const Program &program) {
  ModelBytes bytes = modelBytesOf(program);
  return {{"type", bytes.type}, {"weight_bytes", bytes.weights}, {"checkpoint_bytes", bytes.checkpoint}};
}

std::string parameterBytesText(const Program &program) {
  std::string text = fmt::format("bytes per parameter on each rank, of {} parameters\n", program.parameters());
  for (const RankClass *rankClass : *program.classes()) {
    text += fmt::format("\n{} ({})\n", rankClass->name()->str(), describeRanks(program, *rankClass));
    uint64_t total = 0;
    auto row = [&](const std::string &what, const std::string &type, uint64_t bytes) {
      text += TableRow(2)
                  .left(what, 12)
                  .left(type, 8)
                  .right(fmt::format("{:.4f}", perParameter(program, bytes)), 10)
                  .right(fmt::format("{} bytes", bytes), 24)
                  .right(fmt::format("{:.3f} GB", static_cast<double>(bytes) / 1e9), 15)
                  .str();
    };
    for (const ParameterBytes &line : parameterBytesOf(program, *rankClass)) {
      row(line.what, line.type, line.bytes);
      total += line.bytes;
    }
    row("total", "", total);
    text += parameterSharesText(program, *rankClass);
  }
  ModelBytes whole = modelBytesOf(program);
  text += "\nthe whole model\n";
  auto row = [&](const std::string &what, const std::string &type, uint64_t bytes) {
    text += TableRow(2)
                .left(what, 12)
                .left(type, 8)
                .right(fmt::format("{} bytes", bytes), 34)
                .right(fmt::format("{:.3f} GB", static_cast<double>(bytes) / 1e9), 15)
                .right(readable::humanBytes(static_cast<double>(bytes)), 13)
                .str();
  };
  row("weights", whole.type, whole.weights);
  if (program.kind() == ProgramKind::Training)
    row("checkpoint", "", whole.checkpoint);
  return text;
}

OrderedJson parameterBytesJson(const Program &program, const RankClass &rankClass) {
  OrderedJson json = OrderedJson::object();
  uint64_t total = 0;
  auto entry = [&](const std::string &type, uint64_t bytes) {
    return OrderedJson{
        {"type", type}, {"bytes", bytes}, {"per_parameter", perParameter(program, bytes)}, {"gigabytes", static_cast<double>(bytes) / 1e9}};
  };
  for (const ParameterBytes &line : parameterBytesOf(program, rankClass)) {
    json[line.what] = entry(line.type, line.bytes);
    total += line.bytes;
  }
  json["total"] = entry("", total);
  return json;
}

} // namespace npar::show
