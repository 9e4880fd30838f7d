// Syntax trees of train blocks.
#pragma once

#include "dsl/parse/ExpressionBuilder.h"

namespace npar::dsl {

class TrainBuilder : public ExpressionBuilder {
public:
  using ExpressionBuilder::ExpressionBuilder;

  ast::Train train(Grammar::TrainDeclarationContext *context);

private:
  ast::ParameterRule freeze(Grammar::FreezeItemContext *context);
  ast::ParameterRule group(Grammar::GroupItemContext *context);
  void patterns(Grammar::ParameterPatternsContext *context, ast::ParameterRule &rule);
};

} // namespace npar::dsl
