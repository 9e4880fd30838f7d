// Deals mesh axes out to the factors of product axes.
#include "dsl/plan/ProductRules.h"

#include "dsl/plan/Mesh.h"
#include "dsl/plan/ModelNames.h"

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

/// The factors take in order, each as much as divides it; what is left over, when the product is padded, goes to the last.
std::vector<ProductRules::Share> ProductRules::shares(const PlanRule &entry, const ProductAxis &product) const {
  std::vector<Share> result;
  std::vector<int64_t> left;
  for (const std::string &factor : product.factors) {
    result.push_back({factor, {}});
    left.push_back(findAxis(model, factor)->size);
  }
  for (const std::string &name : entry.rule.mesh) {
    int64_t size = findMesh(mesh, name)->size, taken = 1;
    for (size_t i = 0; i < left.size(); ++i) {
      bool last = i + 1 == left.size();
      int64_t part = last ? size / taken : std::gcd(left[i], size / taken);
      if (part == 1)
        continue;
      result[i].parts.push_back({name, taken, taken * part});
      left[i] /= std::gcd(left[i], part);
      taken *= part;
    }
  }
  return result;
}

ProductRules::ProductRules(const std::vector<PlanRule> &rules, const std::vector<MeshAxis> &mesh, const Model &model, Reporter &reporter)
    : mesh(mesh), model(model) {
  std::map<std::string, std::vector<int64_t>> bounds; // of the parts of a mesh axis: 1, products of the major parts, its size
  std::map<std::string, Location> cutBy;
  for (const PlanRule &e : rules)
    if (const ProductAxis *product = e.enabled ? findProduct(model, e.rule.axis) : nullptr)
      for (const Share &share : shares(e, *product))
        for (const Part &piece : share.parts) {
          std::vector<int64_t> &all = bounds.insert({piece.mesh, {1, findMesh(mesh, piece.mesh)->size}}).first->second;
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
          reporter.error(Code::P8, e.axisAt,
                         "axis '" + e.rule.axis + "' cuts mesh axis '" + piece.mesh + "' of size " + std::to_string(all.back()) +
                             " after " + std::to_string(piece.to == all.back() ? piece.from : piece.to) +
                             ", another product axis cuts it as " + sizesOf(all),
                         cutBy[piece.mesh], "the other rule is here", {"give them mesh axes of their own"});
          return;
        }
  for (const MeshAxis &axis : mesh) {
    auto found = bounds.find(axis.name);
    if (found == bounds.end() || found->second.size() <= 2) {
      fine.push_back(axis);
      continue;
    }
    for (size_t i = 1; i < found->second.size(); ++i) {
      MeshAxis part{axis.name + "." + std::to_string(i - 1), found->second[i] / found->second[i - 1], axis.location};
      cuts[axis.name].push_back({part.name, found->second[i - 1], found->second[i]});
      fine.push_back(part);
    }
  }
}

std::vector<std::string> ProductRules::fineNames(const std::vector<std::string> &names) const {
  std::vector<std::string> result;
  for (const std::string &name : names)
    if (auto found = cuts.find(name); found != cuts.end())
      for (const Part &part : found->second)
        result.push_back(part.mesh);
    else
      result.push_back(name);
  return result;
}

std::vector<Rule> ProductRules::rulesOf(const PlanRule &entry) const {
  std::vector<Rule> result;
  const ProductAxis *product = findProduct(model, entry.rule.axis);
  if (!product || entry.rule.mesh.empty()) {
    for (const std::string &axis : product ? product->factors : std::vector<std::string>{entry.rule.axis}) {
      result.push_back(entry.rule);
      result.back().axis = axis;
      result.back().mesh = fineNames(entry.rule.mesh);
    }
    return result;
  }
  for (const Share &share : shares(entry, *product)) {
    Rule rule = entry.rule;
    rule.axis = share.factor;
    rule.mesh.clear();
    for (const Part &piece : share.parts) {
      auto cut = cuts.find(piece.mesh);
      if (cut == cuts.end())
        rule.mesh.push_back(piece.mesh);
      else
        for (const Part &part : cut->second)
          if (part.from >= piece.from && part.to <= piece.to)
            rule.mesh.push_back(part.mesh);
    }
    if (!rule.mesh.empty())
      result.push_back(rule);
  }
  if (result.empty()) { // over mesh axes of size 1
    result.push_back(entry.rule);
    result.back().axis = product->factors.front();
  }
  return result;
}

} // namespace npar::dsl
