// Builds data blocks, one case for each kind of clause.
#include "dsl/parse/DataBuilder.h"

namespace npar::dsl {

ast::Data DataBuilder::data(Grammar::DataDeclarationContext *context) {
  ast::Data result{name(context->name(0)), name(context->name(1)), parameters(context->parameters()), {}, {}, {}, {}, {}};
  for (auto *item : context->dataItem()) {
    if (auto *from = item->dataSource()) {
      result.sources.push_back(source(from));
    } else if (auto *steps = item->dataSteps()) {
      result.steps.push_back({name(steps->name()), {}});
      for (auto *each : steps->expression())
        result.steps.back().steps.push_back(expression(each));
    } else if (auto *split = item->dataSplit()) {
      result.splits.push_back({at(split), {}, nullptr});
      auto values = split->expression();
      for (size_t i = 0; i < values.size(); ++i) // the seed is the last of them
        (split->SEED() && i + 1 == values.size() ? result.splits.back().seed : result.splits.back().shares.emplace_back()) =
            expression(values[i]);
    } else if (auto *last = item->dataLast()) {
      result.lasts.push_back(name(last->name()));
    } else {
      auto *order = item->dataOrder();
      result.orders.push_back({name(order->name()), order->SEED() ? expression(order->expression()) : nullptr});
    }
  }
  return result;
}

ast::DataSource DataBuilder::source(Grammar::DataSourceContext *context) {
  ast::DataSource result{name(context->name()), {}, {}};
  for (auto *each : context->dataFile())
    result.files.push_back(dataFile(each));
  for (auto *each : context->dataFeed())
    result.feeds.push_back(feed(each));
  return result;
}

ast::DataFile DataBuilder::dataFile(Grammar::DataFileContext *context) {
  ast::DataFile result{textName(context->STRING(0)), std::nullopt, std::nullopt, nullptr};
  if (context->AS())
    result.format = name(context->name());
  if (context->LENGTHS())
    result.lengths = textName(context->STRING(1));
  if (context->WEIGHT())
    result.weight = expression(context->unary());
  return result;
}

ast::DataFeed DataBuilder::feed(Grammar::DataFeedContext *context) {
  ast::DataFeed result{name(context->name()), nullptr, nullptr};
  auto values = context->expression();
  if (context->BELOW()) {
    result.below = expression(values.back());
    values.pop_back();
  }
  if (!values.empty())
    result.value = expression(values[0]);
  return result;
}

} // namespace npar::dsl
