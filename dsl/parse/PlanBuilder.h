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
  ast::StoreRule storeRule(Grammar::StoreRuleContext *context);
  ast::Rule rule(Grammar::PlacingRuleContext *context);
};

} // namespace npar::dsl
