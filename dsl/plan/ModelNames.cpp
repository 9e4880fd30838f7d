// Looks names up in a model and matches patterns of paths.
#include "dsl/plan/ModelNames.h"

#include <algorithm>

namespace npar::dsl {

const Axis *findAxis(const Model &model, const std::string &name) {
  for (const Axis &a : model.axes)
    if (a.name == name)
      return &a;
  return nullptr;
}

const ProductAxis *findProduct(const Model &model, const std::string &name) {
  for (const ProductAxis &p : model.products)
    if (p.name == name)
      return &p;
  return nullptr;
}

const Repeat *findRepeat(const Model &model, const std::string &label) {
  for (const Repeat &r : model.repeats)
    if (r.label == label)
      return &r;
  return nullptr;
}

bool matchesPath(const std::string &pattern, const std::string &path) {
  for (size_t p = 0, t = 0;;) {
    size_t wantedEnd = std::min(pattern.find('.', p), pattern.size()), givenEnd = std::min(path.find('.', t), path.size());
    bool any = pattern.compare(p, wantedEnd - p, "*") == 0;
    if (givenEnd == t || (!any && pattern.compare(p, wantedEnd - p, path, t, givenEnd - t) != 0))
      return false;
    if (wantedEnd == pattern.size())
      return true; // also all layers inside
    if (givenEnd == path.size())
      return false;
    p = wantedEnd + 1, t = givenEnd + 1;
  }
}

std::string starHelp(const Model &model) {
  std::string path;
  for (const Node &node : model.nodes)
    if (std::count(node.path.begin(), node.path.end(), '.') >= 2 && (path.empty() || node.path.size() < path.size()))
      path = node.path;
  return "'*' stands for one part of a path" + (path.empty() ? "" : " such as " + path);
}

} // namespace npar::dsl
