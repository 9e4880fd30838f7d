// Edits the graph of an elaborated model.
#include "tools/lib/verify/TopChoices.h"

#include "dsl/NeededNodes.h"

#include <algorithm>
#include <utility>

namespace npar::verify {

namespace {

const std::string &textOf(const dsl::Node &node, const char *attribute) { return std::get<std::string>(node.attributes.at(attribute)); }

void writeOnly(dsl::Model &model) { model.metrics.clear(), model.predictions.clear(); }

bool hasSamples(const dsl::TensorType &type) { return std::find(type.axes.begin(), type.axes.end(), "batch") != type.axes.end(); }

/// The type of an evaluation's inputs and outputs.
dsl::TensorType withSamplesFirst(dsl::TensorType type) {
  auto batch = std::find(type.axes.begin(), type.axes.end(), "batch");
  std::rotate(type.axes.begin(), batch, batch + 1);
  return type;
}

int samplesFirst(dsl::Model &model, int number) {
  dsl::Node node = model.nodes[static_cast<size_t>(number)];
  dsl::TensorType type = withSamplesFirst(node.type);
  if (type == node.type)
    return number;
  node.op = "reorder", node.operands = {number}, node.attributes.clear(), node.type = std::move(type);
  model.nodes.push_back(std::move(node));
  return static_cast<int>(model.nodes.size()) - 1;
}

void write(dsl::Model &model, size_t number, int choices, int scores) {
  dsl::Location at = model.nodes[static_cast<size_t>(choices)].location;
  model.predictions.push_back({nameOfChoices(number), samplesFirst(model, choices), at});
  model.predictions.push_back({nameOfScores(number), samplesFirst(model, scores), at});
}

/// Inserts a node, and corrects the numbers of the nodes after it. The model has no metrics any more.
void insert(dsl::Model &model, int number, dsl::Node node) {
  auto correct = [&](int &one) { one += one >= number ? 1 : 0; };
  for (dsl::Node &each : model.nodes)
    std::for_each(each.operands.begin(), each.operands.end(), correct);
  for (dsl::Loss &loss : model.losses)
    correct(loss.node), correct(loss.condition);
  for (dsl::Prediction &prediction : model.predictions)
    correct(prediction.node);
  for (dsl::StateUpdate &update : model.updates)
    correct(update.node);
  for (dsl::LoggedValue &value : model.logged)
    correct(value.node);
  model.nodes.insert(model.nodes.begin() + number, std::move(node));
}

void replace(dsl::Model &model, const std::vector<TopChoice> &choices, bool writesOwn) {
  writeOnly(model);
  for (size_t i = choices.size(); i-- > 0;) { // from the last one on: numbers of those before it stay
    const int number = choices[i].node;
    const dsl::Node own = model.nodes[static_cast<size_t>(number)];
    dsl::Node input = own;
    input.op = "input", input.operands.clear(), input.attributes = {{"name", nameOfChoices(i)}}, input.type = withSamplesFirst(own.type);
    if (input.type == own.type) {
      model.nodes[static_cast<size_t>(number)] = input;
    } else {
      dsl::Node &user = model.nodes[static_cast<size_t>(number)];
      user.op = "reorder", user.operands = {number}, user.attributes.clear();
      insert(model, number, input);
      model.nodes[static_cast<size_t>(number) + 1].operands = {number}; // which `insert` has corrected as well
    }
    if (!writesOwn)
      continue;
    model.nodes.push_back(own);
    write(model, i, static_cast<int>(model.nodes.size()) - 1, choices[i].scores);
  }
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
  if (!hasSamples(node.type) || !hasSamples(scores.type))
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

void takeChoices(dsl::Model &model, const std::vector<TopChoice> &choices) { replace(model, choices, /*writesOwn=*/false); }

void takeAndWriteChoices(dsl::Model &model, const std::vector<TopChoice> &choices) { replace(model, choices, /*writesOwn=*/true); }

} // namespace npar::verify
