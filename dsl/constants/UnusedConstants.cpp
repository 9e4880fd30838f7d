// Collects the words of a declaration's text; what a condition keeps from being evaluated is named all the same.
#include "dsl/constants/UnusedConstants.h"

#include <set>

namespace npar::dsl {
namespace {

class Words {
public:
  void expression(const ast::ExpressionPtr &e) {
    if (!e)
      return;
    if (e->kind == ast::ExpressionKind::Name)
      words.insert(e->text);
    for (const ast::ExpressionPtr &item : e->items)
      expression(item);
    for (const ast::Suffix &suffix : e->suffixes)
      for (const ast::Argument &argument : suffix.arguments)
        expression(argument.value);
  }

  /// Records the words in braces.
  void path(const std::string &text) {
    for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1))
      words.insert(text.substr(open + 1, text.find('}', open) - open - 1));
  }

  /// `axis vocab` and `mesh dp` take the constant of that name.
  void items(const std::vector<ast::Item> &list) {
    for (const ast::Item &item : list) {
      if (!item.value)
        words.insert(item.name.text);
      expression(item.value);
    }
  }

  void statements(const std::vector<ast::Statement> &list) {
    for (const ast::Statement &s : list) {
      items(s.items);
      expression(s.shape);
      expression(s.value);
      path(s.path ? s.path->text : s.kind == ast::StatementKind::Under ? s.message : "");
      statements(s.body);
      statements(s.otherwise);
    }
  }

  void settings(const std::vector<ast::Setting> &list) {
    for (const ast::Setting &s : list)
      expression(s.value);
  }

  void rules(const std::vector<ast::ParameterRule> &list) {
    for (const ast::ParameterRule &rule : list) {
      expression(rule.condition);
      for (const ast::GroupChange &change : rule.changes)
        expression(change.value);
    }
  }

  void plan(const ast::Plan &p) {
    items(p.mesh);
    settings(p.settings);
    for (const ast::Rule &r : p.rules) {
      if (r.schedule && r.scheduleIsName)
        words.insert(r.schedule->text);
      for (const ast::ExpressionPtr *e : {&r.chunks, &r.live, &r.stages, &r.condition})
        expression(*e);
    }
    for (const ast::StoreRule &r : p.stores)
      expression(r.condition);
    for (const ast::Recompute &r : p.recomputes)
      expression(r.value);
    for (const ast::Precision &each : p.precisions)
      expression(each.value);
    for (const ast::Keep &k : p.keeps)
      expression(k.type);
    settings(p.expertBuffers);
    for (const auto *list : {&p.buckets, &p.limits})
      for (const ast::Quantity &q : *list)
        expression(q.value);
    for (const ast::Requirement &r : p.requirements)
      expression(r.condition);
  }

  void data(const ast::Data &d) {
    for (const ast::DataSource &source : d.sources) {
      for (const ast::DataFile &file : source.files)
        expression(file.weight);
      for (const ast::DataFeed &feed : source.feeds)
        expression(feed.value), expression(feed.below);
    }
    for (const ast::DataSteps &each : d.steps)
      for (const ast::ExpressionPtr &step : each.steps)
        expression(step);
    for (const ast::DataSplit &split : d.splits) {
      for (const ast::ExpressionPtr &share : split.shares)
        expression(share);
      expression(split.seed);
    }
    for (const ast::DataOrder &order : d.orders)
      expression(order.seed);
  }

  void optimizer(const ast::Optimizer &o) {
    for (const ast::OptimizerUpdate &update : o.updates)
      items(update.lines);
    for (const ast::OptimizerState &state : o.states)
      expression(state.initial);
  }

  /// The constants that neither the text nor the defaults of other constants use.
  std::vector<ast::Name> missing(const std::vector<ast::Item> &constants) {
    for (const ast::Item &constant : constants)
      expression(constant.value);
    std::vector<ast::Name> result;
    for (const ast::Item &constant : constants)
      if (!words.count(constant.name.text))
        result.push_back(constant.name);
    return result;
  }

private:
  std::set<std::string> words;
};

} // namespace

std::vector<ast::Name> unusedConstants(const ast::Block &model) {
  Words words;
  words.statements(model.body);
  return words.missing(model.parameters);
}

std::vector<ast::Name> unusedConstants(const ast::Train &train) {
  Words words;
  words.settings(train.settings);
  words.rules(train.rules);
  return words.missing(train.parameters);
}

std::vector<ast::Name> unusedConstants(const ast::Optimizer &optimizer) {
  Words words;
  words.optimizer(optimizer);
  return words.missing(optimizer.parameters);
}

std::vector<ast::Name> unusedConstants(const ast::Plan &plan) {
  Words words;
  words.plan(plan);
  return words.missing(plan.parameters);
}

std::vector<ast::Name> unusedConstants(const ast::Data &data) {
  Words words;
  words.data(data);
  return words.missing(data.parameters);
}

} // namespace npar::dsl
