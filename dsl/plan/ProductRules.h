// Rules on product axes: each factor takes what it can of the mesh axes, which are cut into finer ones where a factor takes a part
// (RULES.md#P8).
//
//   axis head = kv_head * group, sizes 4 and 6; mesh dp = 2, tp = 8        head, hidden -> tp
//   mesh dp = 2, tp.0 = 4, tp.1 = 2                                        kv_head -> tp.0   group -> tp.1   hidden -> tp.0, tp.1
//
// The parts of a mesh axis stay next to each other, major to minor, so that ranks keep their numbers.
#pragma once

#include "dsl/constants/Reporter.h"
#include "dsl/plan/PlanRule.h"

namespace npar::dsl {

class ProductRules {
public:
  /// Cuts the mesh axes that the rules on product axes take in parts. Reports rules that cut one in ways that do not fit together.
  ProductRules(const std::vector<PlanRule> &rules, const std::vector<MeshAxis> &mesh, const Model &model, Reporter &reporter);

  /// The mesh with the parts in place of the axes that were cut.
  const std::vector<MeshAxis> &fineMesh() const { return fine; }
  /// The parts in place of the mesh axes that were cut.
  std::vector<std::string> fineNames(const std::vector<std::string> &names) const;
  /// The rule over the cut mesh; that of a product axis as one rule per factor.
  std::vector<Rule> rulesOf(const PlanRule &rule) const;

private:
  /// A part of a mesh axis by the products of the sizes before it and up to it: of 8 = 4 * 2 the parts are (1, 4) and (4, 8).
  struct Part {
    std::string mesh;
    int64_t from = 1, to = 1;
  };
  /// The parts of mesh axes that split one factor of a product axis.
  struct Share {
    std::string factor;
    std::vector<Part> parts;
  };

  std::vector<Share> shares(const PlanRule &rule, const ProductAxis &product) const;

  const std::vector<MeshAxis> &mesh;
  const Model &model;
  std::map<std::string, std::vector<Part>> cuts; ///< by mesh axis; those that are not cut have no entry
  std::vector<MeshAxis> fine;
};

} // namespace npar::dsl
