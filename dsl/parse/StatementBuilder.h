// Syntax trees of the bodies of models and layers.
#pragma once

#include "dsl/parse/ExpressionBuilder.h"

namespace npar::dsl {

class StatementBuilder : public ExpressionBuilder {
public:
  using ExpressionBuilder::ExpressionBuilder;

  std::vector<ast::Statement> body(Grammar::BodyContext *context);

private:
  ast::Statement statement(Context *context);
  /// The name, path, axes and initial value of a parameter or a state.
  template <typename Declaration> void declareValues(Declaration *context, ast::Statement &s);
  /// The text after `as`, if given.
  std::optional<ast::Name> path(Grammar::PathContext *context);
  ast::CheckpointRule checkpointRule(Grammar::CheckpointRuleContext *context);
};

} // namespace npar::dsl
