// Builds train blocks: settings, and rules for parameters in their order.
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
