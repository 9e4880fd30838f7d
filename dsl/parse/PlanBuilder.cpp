// Builds plans, one case for each kind of clause.
#include "dsl/parse/PlanBuilder.h"

namespace npar::dsl {

ast::Plan PlanBuilder::plan(Grammar::PlanDeclarationContext *context) {
  ast::Plan result;
  result.name = name(context->name(0));
  if (context->FOR())
    result.model = name(context->name(1));
  result.parameters = parameters(context->parameters());
  for (auto *each : context->planItem())
    item(each, result);
  return result;
}

void PlanBuilder::item(Grammar::PlanItemContext *item, ast::Plan &plan) {
  if (auto *mesh = item->meshItem()) {
    for (ast::Item &axis : axes(mesh->axisItem()))
      plan.mesh.push_back(std::move(axis));
  } else if (auto *place = item->placeItem()) {
    plan.places.push_back({at(place), {}, {}});
    for (auto *n : place->name())
      plan.places.back().order.push_back(name(n));
    if (auto *inside = place->inside())
      for (auto *n : inside->name())
        plan.places.back().inside.push_back(name(n));
  } else if (auto *split = item->splitItem()) {
    for (auto *r : split->placingRule())
      plan.rules.push_back(rule(r));
  } else if (auto *store = item->storeItem()) {
    for (auto *r : store->storeRule())
      plan.stores.push_back(storeRule(r));
  } else if (auto *recompute = item->recomputeItem()) {
    plan.recomputes.push_back(
        {at(recompute), recompute->EVERY() != nullptr, recompute->OP() != nullptr, expression(recompute->expression())});
  } else if (auto *compute = item->computeItem()) {
    plan.settings.push_back({{compute->COMPUTE()->getText(), at(compute->COMPUTE())}, expression(compute->expression())});
    for (auto *p : compute->precision())
      plan.precisions.push_back(
          {name(p->name()), expression(p->expression()),
           p->HIERARCHICAL() ? std::optional(ast::Name{p->HIERARCHICAL()->getText(), at(p->HIERARCHICAL())}) : std::nullopt});
  } else if (auto *keep = item->keepItem()) {
    plan.keeps.push_back({{}, expression(keep->expression())});
    for (auto *k : keep->kept())
      plan.keeps.back().what.push_back({k->STRING() != nullptr, k->STRING() ? textName(k->STRING()) : name(k)});
  } else if (auto *bucket = item->bucketItem()) {
    plan.buckets.push_back(quantity({bucket->BUCKET()->getText(), at(bucket->BUCKET())}, bucket->WORD()));
    if (!bucket->WORD())
      plan.buckets.back().unit = name(bucket->name()), plan.buckets.back().value = expression(bucket->unary());
  } else if (auto *experts = item->expertsItem()) {
    plan.expertBuffers.push_back({{experts->EXPERTS()->getText(), at(experts->EXPERTS())}, expression(experts->expression())});
  } else if (auto *condition = item->requireStatement()) {
    plan.requirements.push_back({expression(condition->expression()), unquote(condition->STRING())});
  } else if (auto *limits = item->limitItem()) {
    for (auto *l : limits->limit()) {
      auto names = l->name();
      plan.limits.push_back(quantity(name(names[0]), l->WORD()));
      if (l->WORD())
        continue;
      plan.limits.back().unit = names.size() > 1 ? name(names[1]) : ast::Name{"%", at(static_cast<Terminal *>(l->children.back()))};
      plan.limits.back().value = expression(l->unary());
    }
  } else {
    plan.settings.push_back({name(item->setting()->name()), expression(item->setting()->expression())});
  }
}

ast::StoreRule PlanBuilder::storeRule(Grammar::StoreRuleContext *context) {
  ast::StoreRule result;
  result.location = at(context);
  // The names before `->`, after it, and after `per`, in the order of the text.
  std::vector<ast::Name> *list = &result.what;
  for (auto *child : context->children) {
    if (auto *token = dynamic_cast<Terminal *>(child)) {
      if (token->getText() == "->")
        list = &result.mesh;
      if (token->getSymbol()->getType() == Grammar::PER)
        list = nullptr;
      if (token->getSymbol()->getType() == Grammar::STRING)
        result.folder = textName(token);
      if (token->getSymbol()->getType() == Grammar::NUMBER)
        result.share = {token->getText(), at(token)};
    } else if (auto *n = dynamic_cast<Grammar::NameContext *>(child)) {
      if (list)
        list->push_back(name(n));
      else
        result.per = name(n);
    }
  }
  if (context->expression())
    result.condition = expression(context->expression());
  return result;
}

ast::Rule PlanBuilder::rule(Grammar::PlacingRuleContext *context) {
  ast::Rule result;
  result.location = at(context);
  for (auto *axis : context->ruleAxis()) {
    auto names = axis->name();
    bool isPattern = axis->STRING() != nullptr;
    size_t modifier = isPattern ? 0 : 1;
    result.axes.push_back(
        {isPattern ? textName(axis->STRING()) : name(names[0]), names.size() > modifier ? name(names[modifier]) : ast::Name{}});
  }
  for (auto *n : context->name())
    result.mesh.push_back(name(n));
  if (auto *s = context->schedule()) {
    result.scheduleIsName = s->name() != nullptr;
    result.scheduleIsText = s->STRING() != nullptr;
    result.schedule = s->STRING() ? textName(s->STRING()) : s->WORD() ? ast::Name{s->WORD()->getText(), at(s->WORD())} : name(s->name());
    if (s->expression())
      result.chunks = expression(s->expression());
  }
  if (auto *limit = context->liveLimit())
    result.live = expression(limit->expression());
  if (context->list())
    result.stages = expression(context->list());
  for (auto *n : context->narrowing())
    result.narrowings.push_back({n->LAYER() != nullptr, n->LAYER() ? textName(n->STRING()) : name(n->name())});
  if (context->expression())
    result.condition = expression(context->expression());
  return result;
}

} // namespace npar::dsl
