// Edits the graph of an elaborated model.
#include "tools/lib/verify/TopChoices.h"

#include "dsl/NeededNodes.h"

#include <algorithm>
#include <utility>

namespace npar::verify {

namespace {

const std::string &textOf(const dsl::Node &node, const char *attribute) { return std::get<std::string>(node.attributes.at(attribute)); }

void writeOnly(dsl::Model &model) { model.metrics.clear(), model.predictions.clear(); }

void write(dsl::Model &model, size_t number, int choices, int scores) {
  dsl::Location at = model.nodes[static_cast<size_t>(choices)].location;
  model.predictions.push_back({nameOfChoices(number), choices, at});
  model.predictions.push_back({nameOfScores(number), scores, at});
}

} // namespace

// No name in a text begins with '#'.
std::string nameOfChoices(size_t number) { return "#choices." + std::to_string(number); }
std::string nameOfScores(size_t number) { return "#scores." + std::to_string(number); }

std::vector<TopChoice> topChoicesOf(const dsl::Model &model) {
  std::vector<int> losses;
  for (const dsl::Loss &loss : model.losses)
    losses.insert(losses.end(), {loss.node, loss.condition});
  const std::vector<bool> needed = dsl::neededFor(model, losses);
  std::vector<TopChoice> choices;
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    const dsl::Node &node = model.nodes[i];
    if (!needed[i] || node.op != "find")
      continue;
    const dsl::Node &order = model.nodes[static_cast<size_t>(node.operands[0])];
    if (order.op == "order" && !isInteger(model.nodes[static_cast<size_t>(order.operands[0])].type.element))
      choices.push_back({static_cast<int>(i), order.operands[0], textOf(node, "axis")});
  }
  return choices;
}

bool isWritten(const dsl::Model &model, const TopChoice &choice) {
  const dsl::Node &node = model.nodes[static_cast<size_t>(choice.node)];
  const dsl::Node &scores = model.nodes[static_cast<size_t>(choice.scores)];
  if (node.type.axes.empty() || node.type.axes.front() != "batch" || scores.type.axes.front() != "batch")
    return false;
  const std::vector<bool> needed = dsl::neededFor(model, {choice.node});
  for (size_t i = 0; i < needed.size(); ++i)
    if (const dsl::Node &one = model.nodes[i]; needed[i] && one.op == "rename" && textOf(one, "from") == "batch")
      return false;
  return true;
}

void writeChoices(dsl::Model &model, const std::vector<TopChoice> &choices) {
  writeOnly(model);
  for (size_t i = 0; i < choices.size(); ++i)
    write(model, i, choices[i].node, choices[i].scores);
}

void takeChoices(dsl::Model &model, const std::vector<TopChoice> &choices) {
  writeOnly(model);
  for (size_t i = 0; i < choices.size(); ++i) {
    const dsl::Node own = model.nodes[static_cast<size_t>(choices[i].node)];
    dsl::Node &taken = model.nodes[static_cast<size_t>(choices[i].node)];
    taken.op = "input", taken.operands.clear(), taken.attributes = {{"name", nameOfChoices(i)}};
    model.nodes.push_back(own);
    write(model, i, static_cast<int>(model.nodes.size()) - 1, choices[i].scores);
  }
}

} // namespace npar::verify
