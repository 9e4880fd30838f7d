// Reads a `place` clause. The hosts are not known yet; whether the order fits them is checked when they are
// (engine/program/HostPlacement.h).
#include "dsl/plan/HostOrder.h"

#include "dsl/Suggestions.h"
#include "dsl/plan/Mesh.h"

#include <algorithm>

namespace npar::dsl {
namespace {

bool isPlaceWord(const std::string &name) { return name == "cluster" || name == "spread"; }

class HostOrderReader {
public:
  HostOrderReader(const std::vector<MeshAxis> &mesh, Reporter &reporter) : mesh(mesh), reporter(reporter) {}

  HostOrder read(const ast::Place &source) {
    HostOrder result;
    result.location = source.location;
    bool word = !source.order.empty() && isPlaceWord(source.order[0].text) && !findMesh(mesh, source.order[0].text);
    if (word)
      result.order = {source.order[0].text};
    else
      take(source.order, result.order);
    if (word && source.order.size() > 1)
      reporter.fail(Code::M8, source.order[1].location,
                    "'" + result.order[0] + "' orders all mesh axes: '" + source.order[1].text + "' cannot follow it",
                    {"write `place " + result.order[0] + "`, or mesh axes alone"});
    take(source.inside, result.inside);
    if (!word && !source.order.empty())
      checkComplete(source, result);
    return result;
  }

private:
  const std::vector<MeshAxis> &mesh;
  Reporter &reporter;
  std::vector<const ast::Name *> taken;

  void take(const std::vector<ast::Name> &names, std::vector<std::string> &list) {
    for (const ast::Name &name : names) {
      if (!findMesh(mesh, name.text) && isPlaceWord(name.text))
        reporter.fail(Code::M8, name.location, "'" + name.text + "' orders all mesh axes and must be the only word",
                      {"write `place " + name.text + "`, or mesh axes alone"});
      if (!findMesh(mesh, name.text)) {
        Helps helps = didYouMean(name.text, {"cluster", "spread"});
        reporter.fail(Code::M1, name.location, "unknown mesh axis '" + name.text + "'", helps.empty() ? meshHelps(mesh, name.text) : helps);
      }
      auto same = std::find_if(taken.begin(), taken.end(), [&](const ast::Name *other) { return other->text == name.text; });
      if (same != taken.end()) {
        reporter.error(Code::M8, name.location, "mesh axis '" + name.text + "' is given twice in 'place'", (*same)->location,
                       "first named here");
        throw Stop{};
      }
      taken.push_back(&name);
      list.push_back(name.text);
    }
  }

  /// An axis of size 1 can be left out: it does not affect the order, and users often set a mesh size to 1 for a trial.
  void checkComplete(const ast::Place &source, HostOrder &result) {
    for (const MeshAxis &axis : mesh) {
      if (std::any_of(taken.begin(), taken.end(), [&](const ast::Name *name) { return name->text == axis.name; }))
        continue;
      result.order.push_back(axis.name);
      if (axis.size > 1) {
        reporter.error(Code::M8, source.location, "'place' leaves out mesh axis '" + axis.name + "' of size " + std::to_string(axis.size),
                       axis.location, "declared here", {"name every axis, the slowest first, or write `place cluster` or `place spread`"});
        throw Stop{};
      }
    }
  }
};

} // namespace

std::optional<HostOrder> readHostOrder(const ast::Plan &source, const std::vector<MeshAxis> &mesh, Reporter &reporter) {
  if (source.places.empty())
    return std::nullopt;
  try {
    if (source.places.size() > 1) {
      reporter.error(Code::M8, source.places[1].location, "'place' is given twice", source.places[0].location, "first given here");
      return std::nullopt;
    }
    return HostOrderReader(mesh, reporter).read(source.places[0]);
  } catch (const Stop &) {
    return std::nullopt;
  }
}

} // namespace npar::dsl
