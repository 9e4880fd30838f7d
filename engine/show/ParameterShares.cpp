// Reads the mesh axes of the pieces, and joins what equal blocks have in common.
#include "engine/show/ParameterShares.h"

#include "engine/readable/TableRow.h"
#include "engine/show/CommonPath.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace npar::show {

using namespace npar::program;

namespace {

using Names = std::vector<std::string>;

template <typename Axes> Names namesOf(const Program &program, const Axes &axes) {
  Names names;
  for (uint32_t axis : axes)
    names.push_back(program.mesh()->Get(axis)->name()->str());
  return names;
}

std::string cellOf(const Names &names) { return names.empty() ? "-" : fmt::format("{}", fmt::join(names, ", ")); }

} // namespace

std::vector<ParameterShares> parameterSharesOf(const Program &program, const RankClass &rankClass) {
  std::map<int32_t, Names> optimizer; // by parameter
  for (const Piece *piece : *rankClass.pieces())
    if (const Variable &state = *program.variables()->Get(piece->variable()); state.kind() == VariableKind::State && state.of() >= 0)
      optimizer[state.of()] = namesOf(program, *piece->flat_axes());
  std::vector<ParameterShares> all;
  for (const Piece *piece : *rankClass.pieces()) {
    const Variable &parameter = *program.variables()->Get(piece->variable());
    if (parameter.kind() != VariableKind::Parameter)
      continue;
    ParameterShares one{blockPattern(parameter.name()->str()), 1, namesOf(program, *piece->mesh_axes()),
                        namesOf(program, *piece->flat_axes()), optimizer[static_cast<int32_t>(piece->variable())]};
    auto same = std::find_if(all.begin(), all.end(), [&](const ParameterShares &other) {
      return other.path == one.path && other.split == one.split && other.parameters == one.parameters && other.optimizer == one.optimizer;
    });
    if (same == all.end())
      all.push_back(std::move(one));
    else
      ++same->count;
  }
  return all;
}

std::string parameterSharesText(const Program &program, const RankClass &rankClass) {
  std::vector<ParameterShares> shares = parameterSharesOf(program, rankClass);
  size_t width = 10;
  for (const ParameterShares &one : shares)
    width = std::max(width, one.path.size() + 2);
  auto row = [&](const std::string &path, const std::string &count, const std::string &split, const std::string &parameters,
                 const std::string &optimizer) {
    return readable::TableRow(2).left(path, width).right(count, 8).text("  ").left(split, 16).left(parameters, 18).text(optimizer).str();
  };
  std::string text = row("", "tensors", "split over", "parameters over", "optimizer over");
  for (const ParameterShares &one : shares)
    text += row(one.path, std::to_string(one.count), cellOf(one.split), cellOf(one.parameters), cellOf(one.optimizer));
  return text;
}

OrderedJson parameterSharesJson(const Program &program, const RankClass &rankClass) {
  OrderedJson json = OrderedJson::array();
  for (const ParameterShares &one : parameterSharesOf(program, rankClass))
    json.push_back(
        {{"path", one.path}, {"count", one.count}, {"split", one.split}, {"parameters", one.parameters}, {"optimizer", one.optimizer}});
  return json;
}

} // namespace npar::show
