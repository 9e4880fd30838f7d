// Builds statements, one case for each kind.
#include "dsl/parse/StatementBuilder.h"

#include <stdexcept>

namespace npar::dsl {

std::vector<ast::Statement> StatementBuilder::body(Grammar::BodyContext *context) {
  std::vector<ast::Statement> result;
  for (auto *s : context->statement())
    result.push_back(statement(static_cast<Context *>(s->children[0])));
  return result;
}

template <typename Declaration> void StatementBuilder::declareValues(Declaration *context, ast::Statement &s) {
  s.name = name(context->name());
  s.path = path(context->path());
  s.shape = expression(context->list());
  s.value = expression(context->expression());
}

ast::Statement StatementBuilder::statement(Context *context) {
  using ast::StatementKind;
  ast::Statement s;
  s.location = at(context);
  switch (context->getRuleIndex()) {
  case Grammar::RuleAxisStatement:
    s.kind = StatementKind::Axis;
    s.items = axes(static_cast<Grammar::AxisStatementContext *>(context)->axisItem());
    break;
  case Grammar::RuleInputStatement: {
    auto *c = static_cast<Grammar::InputStatementContext *>(context);
    s.kind = StatementKind::Input;
    auto names = c->name();
    for (size_t i = 0; i + 1 < names.size(); ++i)
      s.items.push_back({name(names[i]), nullptr});
    s.name = name(names.back());
    s.shape = expression(c->list());
    break;
  }
  case Grammar::RuleParamStatement:
    s.kind = StatementKind::Param;
    declareValues(static_cast<Grammar::ParamStatementContext *>(context), s);
    break;
  case Grammar::RuleStateStatement:
    s.kind = StatementKind::State;
    declareValues(static_cast<Grammar::StateStatementContext *>(context), s);
    break;
  case Grammar::RuleUpdateStatement: {
    auto *c = static_cast<Grammar::UpdateStatementContext *>(context);
    s.kind = StatementKind::Update;
    s.name = name(c->name());
    s.value = expression(c->expression());
    break;
  }
  case Grammar::RuleLogStatement: {
    auto *c = static_cast<Grammar::LogStatementContext *>(context);
    s.kind = StatementKind::Log;
    s.name = name(c->name());
    s.value = expression(c->expression());
    break;
  }
  case Grammar::RuleRepeatStatement: {
    auto *c = static_cast<Grammar::RepeatStatementContext *>(context);
    s.kind = StatementKind::Repeat;
    s.name = name(c->name(0));
    if (c->IN())
      s.index = name(c->name(1));
    s.path = path(c->path());
    s.value = expression(c->expression());
    s.body = body(c->body());
    break;
  }
  case Grammar::RuleIfStatement: {
    auto *c = static_cast<Grammar::IfStatementContext *>(context);
    s.kind = StatementKind::If;
    s.value = expression(c->expression());
    s.body = body(c->body(0));
    if (c->ELSE())
      s.otherwise = body(c->body(1));
    break;
  }
  case Grammar::RuleCheckpointStatement:
    s.kind = StatementKind::Checkpoint;
    for (auto *rule : static_cast<Grammar::CheckpointStatementContext *>(context)->checkpointRule())
      s.rules.push_back(checkpointRule(rule));
    break;
  case Grammar::RuleUnderStatement: {
    auto *c = static_cast<Grammar::UnderStatementContext *>(context);
    s.kind = StatementKind::Under;
    s.message = unquote(c->STRING());
    s.body = body(c->body());
    break;
  }
  case Grammar::RuleRequireStatement: {
    auto *c = static_cast<Grammar::RequireStatementContext *>(context);
    s.kind = StatementKind::Require;
    s.value = expression(c->expression());
    s.message = unquote(c->STRING());
    break;
  }
  case Grammar::RuleForwardStatement: {
    auto *c = static_cast<Grammar::ForwardStatementContext *>(context);
    s.kind = StatementKind::Forward;
    for (auto *n : c->name())
      s.items.push_back({name(n), nullptr});
    if (c->body())
      s.body = body(c->body());
    else
      s.value = expression(c->expression());
    break;
  }
  case Grammar::RuleAssignment: {
    auto *c = static_cast<Grammar::AssignmentContext *>(context);
    s.kind = StatementKind::Assign;
    s.name = name(c->name());
    s.path = path(c->path());
    s.value = expression(c->expression());
    break;
  }
  case Grammar::RuleLossStatement: {
    auto *c = static_cast<Grammar::LossStatementContext *>(context);
    s.kind = StatementKind::Loss;
    if (c->name())
      s.name = name(c->name());
    auto parts = c->expression(); // in the order of the text
    s.value = expression(parts[0]);
    if (c->WEIGHT())
      s.weight = expression(parts[1]);
    if (c->WHERE())
      s.condition = expression(parts.back());
    break;
  }
  case Grammar::RuleMetricStatement: {
    auto *c = static_cast<Grammar::MetricStatementContext *>(context);
    s.kind = StatementKind::Metric;
    s.name = name(c->name());
    s.value = expression(c->expression(0));
    if (c->WHERE())
      s.condition = expression(c->expression(1));
    break;
  }
  case Grammar::RuleOutputStatement: {
    auto *c = static_cast<Grammar::OutputStatementContext *>(context);
    s.kind = StatementKind::Output;
    s.name = name(c->name());
    if (c->expression())
      s.value = expression(c->expression());
    break;
  }
  case Grammar::RuleReturnStatement:
    s.kind = StatementKind::Return;
    s.value = expression(static_cast<Context *>(context->children[1]));
    break;
  default:
    throw std::logic_error("a statement of rule " + std::to_string(context->getRuleIndex()));
  }
  return s;
}

std::optional<ast::Name> StatementBuilder::path(Grammar::PathContext *context) {
  return context ? std::optional(textName(context->STRING())) : std::nullopt;
}

ast::CheckpointRule StatementBuilder::checkpointRule(Grammar::CheckpointRuleContext *context) {
  ast::CheckpointRule rule{name(context->name()), textName(context->STRING(0)), std::nullopt, nullptr};
  if (context->STRING().size() > 1)
    rule.target = textName(context->STRING(1));
  if (context->expression())
    rule.value = expression(context->expression());
  return rule;
}

} // namespace npar::dsl
