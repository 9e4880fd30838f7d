// Reads the mesh of a plan.
#include "dsl/plan/Mesh.h"

#include "dsl/Suggestions.h"

namespace npar::dsl {

const MeshAxis *findMesh(const std::vector<MeshAxis> &mesh, const std::string &name) {
  for (const MeshAxis &axis : mesh)
    if (axis.name == name)
      return &axis;
  return nullptr;
}

Helps meshHelps(const std::vector<MeshAxis> &mesh, const std::string &name) {
  std::vector<std::string> names;
  for (const MeshAxis &axis : mesh)
    names.push_back(axis.name);
  Helps helps = didYouMean(name, names);
  if (helps.empty())
    helps.push_back(names.empty() ? "declare it: `mesh " + name + " = 2`" : "the mesh has " + joined(names, "and"));
  return helps;
}

std::vector<MeshAxis> readMesh(const ast::Plan &source, PlanText &text) {
  Evaluator &evaluator = text.evaluator;
  Reporter &reporter = text.reporter;
  std::vector<MeshAxis> mesh;
  constexpr int64_t most = 1 << 20;
  int64_t world = 1;
  constexpr size_t mostAxes = 16;
  for (const ast::Item &item : source.mesh) {
    if (mesh.size() >= mostAxes) {
      reporter.error(Code::L3, item.name.location, "the mesh has more than " + std::to_string(mostAxes) + " axes");
      break;
    }
    const std::string &name = item.name.text;
    MeshAxis axis{name, 1, item.name.location};
    Location at = item.value ? item.value->location : item.name.location;
    try {
      if (const MeshAxis *old = findMesh(mesh, name)) {
        reporter.error(Code::L6, item.name.location, "mesh axis '" + name + "' is declared twice", old->location, "first declared here");
        continue;
      }
      if (name == "none")
        reporter.fail(Code::L4, item.name.location, "'none' cannot name a mesh axis: a rule `-> none` means no splitting");
      const std::string what = "the size of mesh axis '" + name + "'";
      if (const Setting *s = text.settings.find("mesh." + name)) {
        at = s->value->location;
        axis.size = evaluator.integer(*s->value, text.scope, what);
        Binding *constant = item.value ? nullptr : text.scope.find(name);
        auto *size = constant ? std::get_if<int64_t>(&constant->value) : nullptr;
        const Setting *other = size && *size != axis.size ? text.settings.find(name) : nullptr;
        if (other)
          reporter.fail(Code::M1, other->keyLocation,
                        "settings '" + name + "' = " + std::to_string(*size) + " and 'mesh." + name + "' = " + std::to_string(axis.size) +
                            " give mesh axis '" + name + "' two sizes",
                        {"leave one of them out"});
      } else if (item.value) {
        axis.size = evaluator.integer(*item.value, text.scope, what);
      } else {
        Binding *constant = text.scope.find(name);
        if (!constant)
          reporter.fail(Code::M1, item.name.location, "mesh axis '" + name + "' has no size and there is no constant '" + name + "'",
                        {"write `mesh " + name + " = ...`"});
        if (std::holds_alternative<Poison>(constant->value))
          throw Stop{};
        auto *size = std::get_if<int64_t>(&constant->value);
        if (!size)
          reporter.fail(Code::M1, item.name.location, what + " must be an integer, constant '" + name + "' is " + textOf(constant->value));
        axis.size = *size;
      }
      if (axis.size < 1)
        reporter.fail(Code::M1, at, what + " is " + std::to_string(axis.size) + ", the smallest is 1");
      if (__builtin_mul_overflow(world, axis.size, &world) || world > most) {
        world = 0; // reported once
        reporter.fail(Code::L3, at, "the mesh has more than " + std::to_string(most) + " ranks");
      }
    } catch (const Stop &) {
      axis.size = 1;
    }
    mesh.push_back(axis);
  }
  return mesh;
}

} // namespace npar::dsl
