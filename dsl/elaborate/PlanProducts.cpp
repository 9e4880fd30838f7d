// Rules on product axes: each factor takes what it can of the mesh axes, which are cut into finer ones where a factor takes a part (P8).
//
//   axis head = kv_head * group, sizes 4 and 6; mesh dp = 2, tp = 8        head, hidden -> tp
//   mesh dp = 2, tp.0 = 4, tp.1 = 2                                        kv_head -> tp.0   group -> tp.1   hidden -> tp.0, tp.1
//
// The parts of a mesh axis stay next to each other, major to minor, so that ranks keep their numbers.
#include "dsl/elaborate/PlanElaborator.h"

#include <algorithm>
#include <numeric>

namespace npar::dsl {
namespace {

std::string sizesOf(const std::vector<int64_t> &bounds) {
  std::string text;
  for (size_t i = 1; i < bounds.size(); ++i)
    text += (i > 1 ? " * " : "") + std::to_string(bounds[i] / bounds[i - 1]);
  return text;
}

} // namespace

/// Factors in order, each as much as divides it; what is left over, when the product is padded, goes to the last.
std::vector<PlanElaborator::Share> PlanElaborator::shares(const Entry &entry, const ProductAxis &product, const Model &model) const {
  std::vector<Share> result;
  std::vector<int64_t> left;
  for (const std::string &factor : product.factors) {
    result.push_back({factor, {}});
    left.push_back(findAxis(model, factor)->size);
  }
  for (const std::string &name : entry.rule.mesh) {
    int64_t size = findMesh(name)->size, taken = 1;
    for (size_t i = 0; i < left.size(); ++i) {
      bool last = i + 1 == left.size();
      int64_t part = last ? size / taken : std::gcd(left[i], size / taken);
      if (part == 1)
        continue;
      result[i].pieces.push_back({name, taken, taken * part});
      left[i] /= std::gcd(left[i], part);
      taken *= part;
    }
  }
  return result;
}

void PlanElaborator::cutMesh(const Model &model) {
  std::map<std::string, std::vector<int64_t>> bounds; // of the parts of a mesh axis: 1, products of the major parts, its size
  std::map<std::string, Location> cutBy;
  for (const Entry &e : entries)
    if (const ProductAxis *product = e.enabled ? findProduct(model, e.rule.axis) : nullptr)
      for (const Share &share : shares(e, *product, model))
        for (const Piece &piece : share.pieces) {
          std::vector<int64_t> &all = bounds.insert({piece.mesh, {1, findMesh(piece.mesh)->size}}).first->second;
          std::vector<int64_t> merged = all;
          merged.insert(merged.end(), {piece.from, piece.to});
          std::sort(merged.begin(), merged.end());
          merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
          bool nested = true;
          for (size_t i = 1; i < merged.size(); ++i)
            nested = nested && merged[i] % merged[i - 1] == 0;
          if (nested) {
            all = merged;
            cutBy.insert({piece.mesh, e.rule.location});
            continue;
          }
          reporter.error(e.axisAt,
                         "axis '" + e.rule.axis + "' cuts mesh axis '" + piece.mesh + "' of size " + std::to_string(all.back()) +
                             " behind " + std::to_string(piece.to == all.back() ? piece.from : piece.to) +
                             ", another product axis cuts it as " + sizesOf(all),
                         cutBy[piece.mesh], "the other rule is here", {"give them mesh axes of their own"});
          return;
        }
  std::vector<MeshAxis> mesh;
  for (const MeshAxis &axis : plan.mesh) {
    auto found = bounds.find(axis.name);
    if (found == bounds.end() || found->second.size() <= 2) {
      mesh.push_back(axis);
      continue;
    }
    for (size_t i = 1; i < found->second.size(); ++i) {
      MeshAxis part{axis.name + "." + std::to_string(i - 1), found->second[i] / found->second[i - 1], axis.location};
      cuts[axis.name].push_back({part.name, found->second[i - 1], found->second[i]});
      mesh.push_back(part);
    }
  }
  fineMesh = std::move(mesh);
}

std::vector<std::string> PlanElaborator::fineNames(const std::vector<std::string> &mesh) const {
  std::vector<std::string> names;
  for (const std::string &name : mesh)
    if (auto found = cuts.find(name); found != cuts.end())
      for (const Piece &part : found->second)
        names.push_back(part.mesh);
    else
      names.push_back(name);
  return names;
}

void PlanElaborator::addRules(const Entry &entry, const Model &model) {
  const ProductAxis *product = findProduct(model, entry.rule.axis);
  if (!product || entry.rule.mesh.empty()) {
    for (const std::string &axis : product ? product->factors : std::vector<std::string>{entry.rule.axis}) {
      plan.rules.push_back(entry.rule);
      plan.rules.back().axis = axis;
      plan.rules.back().mesh = fineNames(entry.rule.mesh);
    }
    return;
  }
  bool any = false;
  for (const Share &share : shares(entry, *product, model)) {
    Rule rule = entry.rule;
    rule.axis = share.factor;
    rule.mesh.clear();
    for (const Piece &piece : share.pieces) {
      auto cut = cuts.find(piece.mesh);
      if (cut == cuts.end())
        rule.mesh.push_back(piece.mesh);
      else
        for (const Piece &part : cut->second)
          if (part.from >= piece.from && part.to <= piece.to)
            rule.mesh.push_back(part.mesh);
    }
    if (!rule.mesh.empty()) {
      plan.rules.push_back(rule);
      any = true;
    }
  }
  if (!any) { // over mesh axes of size 1
    plan.rules.push_back(entry.rule);
    plan.rules.back().axis = product->factors.front();
  }
}

} // namespace npar::dsl
