// Syntax trees of train blocks and optimizers.
#pragma once

#include "dsl/parse/ExpressionBuilder.h"

namespace npar::dsl {

class TrainBuilder : public ExpressionBuilder {
public:
  using ExpressionBuilder::ExpressionBuilder;

  ast::Train train(Grammar::TrainDeclarationContext *context);
  ast::Optimizer optimizer(Grammar::OptimizerDeclarationContext *context);

private:
  ast::ParameterRule freeze(Grammar::FreezeItemContext *context);
  ast::ParameterRule group(Grammar::GroupItemContext *context);
  ast::OptimizerState state(Grammar::StateItemContext *context);
  ast::OptimizerUpdate update(Grammar::UpdateItemContext *context);
  void patterns(Grammar::ParameterPatternsContext *context, ast::ParameterRule &rule);
};

} // namespace npar::dsl
