// The element types of a plan: `compute bf16, gradients f32, reduce f32` and the exceptions of `keep`.
#pragma once

#include "dsl/Program.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// The fields of Plan with the same names.
struct Precision {
  ElementType compute = ElementType::F32;
  bool tf32 = false;
  std::optional<ElementType> gradients, reduce; ///< nothing unless `compute` is narrow
  bool hierarchical = false;
  Location hierarchicalAt = {};
  std::vector<Keep> keeps; ///< as the text has them, also where `compute` makes them meaningless
};

/// `compute` is the value of that setting, null when nothing gives it; `source` is null for one rank.
Precision readPrecision(const ast::Expression *compute, const ast::Plan *source, PlanText &text);

/// Returns whether a library may add sums between ranks in its own order: true for `reduce library`, false for `reduce ordered`. `reduce`
/// is the value of that setting.
bool readLibrary(const ast::Expression &reduce, PlanText &text);

/// Returns the order in which products of bf16 add: `products fastest`, `portable` or `pairs`. `products` is the value of that setting.
ProductOrder readProducts(const ast::Expression &products, PlanText &text);

/// Checks that the model has what the exceptions name. This is checked for every compute type, so that an exception without effect is found
/// at once.
void checkKeeps(const std::vector<Keep> &keeps, const Model &model, Reporter &reporter);

} // namespace npar::dsl
