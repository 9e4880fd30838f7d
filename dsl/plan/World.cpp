// Finds the axis that is `rest` by reading the mesh with two values of that name.
#include "dsl/plan/World.h"

#include "dsl/Suggestions.h"
#include "dsl/plan/Mesh.h"
#include "engine/status/OptionNames.h"

#include <algorithm>

namespace npar::dsl {
namespace {

using engine::nameOf;
using engine::Option;

constexpr int64_t mostRanks = 1 << 20; // of a mesh

/// The mesh under a value of `rest`; empty if the text has errors then, which are not reported here.
std::vector<MeshAxis> meshWith(int64_t rest, const ast::Plan &source, Sources &sources, PlanText &text) {
  Diagnostics unsaid(sources);
  Reporter reporter(unsaid);
  Evaluator evaluator(reporter);
  PlanText trial{evaluator, text.settings, reporter};
  trial.scope.bind(restName, rest, source.name.location);
  bindConstants(evaluator, source.parameters, text.settings, trial.scope, "");
  std::vector<MeshAxis> mesh = readMesh(source, trial);
  return unsaid.hasErrors() ? std::vector<MeshAxis>() : mesh;
}

int64_t ranksOf(const std::vector<MeshAxis> &mesh) {
  int64_t ranks = 1;
  for (const MeshAxis &axis : mesh)
    ranks *= axis.size;
  return ranks;
}

/// "dp = 4, tp = 2", without the axis `but`.
std::string sizesText(const std::vector<MeshAxis> &mesh, const std::string &but = "") {
  std::string sizes;
  for (const MeshAxis &axis : mesh)
    if (axis.name != but)
      sizes += (sizes.empty() ? "" : ", ") + axis.name + " = " + std::to_string(axis.size);
  return sizes;
}

std::string readAs(int64_t world) {
  const std::string value = std::to_string(world);
  return engine::optionsAreMembers ? nameOf(Option::Setting, "world=" + value) : "--world " + value;
}

struct World {
  int64_t size = 0; ///< 0: unknown
  Location at;      ///< of the setting
  bool isSet = false;
};

World worldOf(int64_t known, PlanText &text) {
  const Setting *s = text.settings.find("world");
  if (!s)
    return {known, {}, false};
  World world{text.evaluator.integer(*s->value, text.scope, "the number of ranks"), s->value->location, true};
  if (world.size < 1 || world.size > mostRanks)
    text.reporter.fail(Code::M2, world.at,
                       "the number of ranks is " + std::to_string(world.size) + ", it must be 1 to " + std::to_string(mostRanks));
  return world;
}

void bindFrom(const ast::Plan &source, int64_t known, Sources &sources, PlanText &text) {
  const std::vector<MeshAxis> one = meshWith(1, source, sources, text), two = meshWith(2, source, sources, text);
  if (one.empty() || one.size() != two.size()) { // reading the mesh reports why
    text.scope.bind(restName, int64_t{1}, source.name.location);
    return;
  }
  std::vector<const MeshAxis *> left;
  for (size_t i = 0; i < one.size(); ++i)
    if (one[i].size != two[i].size)
      left.push_back(&one[i]);
  if (left.empty()) { // a default that a setting replaces is evaluated all the same
    auto isRest = [](const ast::Item &item) {
      return item.value && item.value->kind == ast::ExpressionKind::Name && item.value->text == restName;
    };
    if (std::any_of(source.parameters.begin(), source.parameters.end(), isRest))
      text.scope.bind(restName, int64_t{1}, source.name.location);
    return;
  }
  const World world = worldOf(known, text);
  text.scope.bind(restName, Poison{}, source.name.location);
  const MeshAxis &axis = *left.front();
  if (left.size() > 1)
    text.reporter.fail(Code::M2, left[1]->location,
                       "the sizes of mesh axes '" + axis.name + "' and '" + left[1]->name + "' depend on `rest`, which one axis can be",
                       {"give all other axes a size"});
  if (world.size == 0)
    text.reporter.fail(
        Code::M2, axis.location,
        "mesh axis '" + axis.name + "' takes the rest of the ranks, and their number is not known" +
            (one.size() > 1 ? " (" + sizesText(one, axis.name) + ")" : ""),
        {"give it, such as " + readAs(2 * ranksOf(one)) + ", or a size: " + nameOf(Option::Setting, "mesh." + axis.name + "=2")});
  const int64_t others = ranksOf(one), rest = world.size / others;
  const Location at = world.isSet ? world.at : axis.location;
  if (world.size % others != 0) {
    const int64_t below = world.size - world.size % others;
    text.reporter.fail(
        Code::M2, at,
        std::to_string(world.size) + " ranks are not divisible by " + std::to_string(others) + " (" + sizesText(one, axis.name) +
            "), so no rest is left for mesh axis '" + axis.name + "'",
        {"the nearest numbers of ranks are " + (below > 0 ? std::to_string(below) + " and " : "") + std::to_string(below + others)});
  }
  const std::vector<MeshAxis> mesh = meshWith(rest, source, sources, text);
  if (!mesh.empty() && ranksOf(mesh) != world.size)
    text.reporter.fail(Code::M2, axis.location,
                       "with rest = " + std::to_string(rest) + " the mesh has " + std::to_string(ranksOf(mesh)) + " ranks (" +
                           sizesText(mesh) + "), not " + std::to_string(world.size),
                       {"let the size of mesh axis '" + axis.name + "' be `rest` itself"});
  text.scope.bind(restName, rest, axis.location);
}

} // namespace

void bindRest(const ast::Plan &source, int64_t known, Sources &sources, PlanText &text) {
  auto hasName = [](const ast::Item &item) { return item.name.text == restName; };
  if (std::any_of(source.parameters.begin(), source.parameters.end(), hasName))
    return; // the plan's own constant
  try {
    bindFrom(source, known, sources, text);
  } catch (const Stop &) {
    text.scope.bind(restName, Poison{}, source.name.location); // an error was reported
  }
}

void checkWorld(const std::vector<MeshAxis> &mesh, bool isSound, PlanText &text) {
  if (!text.settings.find("world") || !isSound)
    return;
  try {
    const World world = worldOf(0, text);
    if (ranksOf(mesh) == world.size)
      return;
    Helps helps;
    if (!mesh.empty())
      helps.push_back("let the size of one mesh axis be `rest`: " + nameOf(Option::Setting, "mesh." + mesh.front().name + "=rest"));
    text.reporter.error(Code::M2, world.at,
                        "the mesh has " + counted(ranksOf(mesh), "rank") + " (" + sizesText(mesh) + "), not " + std::to_string(world.size),
                        helps);
  } catch (const Stop &) {
  }
}

} // namespace npar::dsl
