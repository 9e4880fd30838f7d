// Syntax trees of plans.
#pragma once

#include "dsl/parse/ExpressionBuilder.h"

namespace npar::dsl {

class PlanBuilder : public ExpressionBuilder {
public:
  using ExpressionBuilder::ExpressionBuilder;

  ast::Plan plan(Grammar::PlanDeclarationContext *context);

private:
  void item(Grammar::PlanItemContext *item, ast::Plan &plan);
  /// A number and a unit in one word, such as 25MB; only `what` when `word` is null.
  ast::Quantity quantity(ast::Name what, Terminal *word);
  ast::StoreRule storeRule(Grammar::StoreRuleContext *context);
  ast::Rule rule(Grammar::PlacingRuleContext *context);
};

} // namespace npar::dsl
