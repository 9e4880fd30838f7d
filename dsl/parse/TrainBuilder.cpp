// Builds train blocks (settings, and rules for parameters in their order) and optimizers.
#include "dsl/parse/TrainBuilder.h"

namespace npar::dsl {

ast::Train TrainBuilder::train(Grammar::TrainDeclarationContext *context) {
  ast::Train result{name(context->name(0)), name(context->name(1)), parameters(context->parameters()), {}, {}};
  for (auto *item : context->trainItem()) {
    if (auto *frozen = item->freezeItem())
      result.rules.push_back(freeze(frozen));
    else if (auto *changed = item->groupItem())
      result.rules.push_back(group(changed));
    else
      result.settings.push_back({name(item->setting()->name()), expression(item->setting()->expression())});
  }
  return result;
}

ast::ParameterRule TrainBuilder::freeze(Grammar::FreezeItemContext *context) {
  ast::ParameterRule rule;
  rule.location = at(context);
  rule.freeze = true;
  patterns(context->parameterPatterns(), rule);
  if (context->IF())
    rule.condition = expression(context->expression());
  return rule;
}

ast::ParameterRule TrainBuilder::group(Grammar::GroupItemContext *context) {
  ast::ParameterRule rule;
  rule.location = at(context);
  patterns(context->parameterPatterns(), rule);
  if (context->path())
    rule.group = textName(context->path()->STRING());
  if (context->IF())
    rule.condition = expression(context->expression());
  for (auto *change : context->groupChange())
    rule.changes.push_back({name(change->name()), change->product() != nullptr,
                            expression(change->product() ? static_cast<Context *>(change->product()) : change->expression())});
  return rule;
}

ast::Optimizer TrainBuilder::optimizer(Grammar::OptimizerDeclarationContext *context) {
  ast::Optimizer result{name(context->name()), parameters(context->parameters()), {}, {}, {}};
  for (auto *item : context->optimizerItem()) {
    if (auto *declared = item->stateItem())
      result.states.push_back(state(declared));
    else if (auto *required = item->requireStatement())
      result.requirements.push_back({expression(required->expression()), unquote(required->STRING())});
    else
      result.updates.push_back(update(item->updateItem()));
  }
  return result;
}

ast::OptimizerState TrainBuilder::state(Grammar::StateItemContext *context) {
  ast::OptimizerState result;
  for (auto *each : context->stateName()) {
    result.names.push_back(name(each->name()));
    result.paths.push_back(each->path() ? std::optional(textName(each->path()->STRING())) : std::nullopt);
  }
  if (context->list())
    result.shape = expression(context->list());
  result.initial = expression(context->expression());
  return result;
}

ast::OptimizerUpdate TrainBuilder::update(Grammar::UpdateItemContext *context) {
  ast::OptimizerUpdate result{at(context->UPDATE()), {}, {}};
  std::vector<Grammar::NameContext *> names = context->name();
  std::vector<Grammar::ExpressionContext *> values = context->expression();
  size_t formals = names.size() - values.size();
  for (size_t i = 0; i < names.size(); ++i)
    if (i < formals)
      result.values.push_back(name(names[i]));
    else
      result.lines.push_back({name(names[i]), expression(values[i - formals])});
  return result;
}

void TrainBuilder::patterns(Grammar::ParameterPatternsContext *context, ast::ParameterRule &rule) {
  bool excepted = false;
  for (auto *child : context->children) {
    auto *terminal = dynamic_cast<antlr4::tree::TerminalNode *>(child);
    if (terminal == context->EXCEPT())
      excepted = true;
    else if (terminal->getSymbol()->getType() == Grammar::STRING)
      (excepted ? rule.except : rule.patterns).push_back(textName(terminal));
  }
}

} // namespace npar::dsl
