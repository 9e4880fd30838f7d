// The element types of a plan: `compute bf16, gradients f32, reduce f32` and the exceptions of `keep`.
#pragma once

#include "dsl/Program.h"
#include "dsl/plan/PlanText.h"

namespace npar::dsl {

/// The fields of Plan with the same names.
struct Precision {
  ElementType compute = ElementType::F32;
  bool tf32 = false;
  std::optional<ElementType> gradients, reduce; ///< nothing unless `compute` is a 16-bit type
  bool hierarchical = false;
  Location hierarchicalAt = {};
  std::vector<Keep> keeps; ///< as the text has them, also where `compute` makes them meaningless
};

/// `compute` is the value of that setting, null when nothing gives it; `source` is null for one rank.
Precision readPrecision(const ast::Expression *compute, const ast::Plan *source, PlanText &text);

/// Whether sums between ranks may be added by a library in its own order: `reduce library`, or `reduce ordered`. `reduce` is the value of
/// that setting.
bool readLibrary(const ast::Expression &reduce, PlanText &text);

/// Whether the model has what the exceptions name. It is asked whatever the plan computes in, so that an exception that means nothing is
/// found at once.
void checkKeeps(const std::vector<Keep> &keeps, const Model &model, Reporter &reporter);

/// Whether a type has 16 bits: only then do exceptions and the types of gradients and reductions have a meaning.
bool isHalf(ElementType type);

} // namespace npar::dsl
