// Adds axes, parameters and nodes to the model, with the checks that hold for all of them.
#include "dsl/elaborate/Graph.h"
#include "dsl/Nodes.h"

#include <algorithm>
#include <cctype>

namespace npar::dsl {

bool contains(const AxisNames &axes, const std::string &name) { return std::find(axes.begin(), axes.end(), name) != axes.end(); }

/// An axis as a reader knows it. `seq.slot.row`, which `dispatch` makes, has the rows of the choices over seq and slot.
static std::string readable(const std::string &axis) {
  constexpr std::string_view ending = ".row";
  if (axis.size() <= ending.size() || axis.compare(axis.size() - ending.size(), ending.size(), ending) != 0)
    return axis;
  std::string rows = axis.substr(0, axis.size() - ending.size());
  std::replace(rows.begin(), rows.end(), '.', '*');
  return "rows of " + rows;
}

std::string textOf(const AxisNames &axes) {
  std::string result = "[";
  for (const std::string &name : axes)
    result += (result.size() > 1 ? ", " : "") + readable(name);
  return result + "]";
}

void Graph::declareAxis(const std::string &name, int64_t size, Location at, bool countsSamples) {
  if (size < 1)
    reporter.fail(Code::A1, at, "axis '" + name + "' has size " + std::to_string(size) + ", the smallest is 1");
  if (size > INT32_MAX)
    reporter.fail(Code::A1, at, "axis '" + name + "' has size " + std::to_string(size) + ", the largest is " + std::to_string(INT32_MAX));
  for (const ProductAxis &product : model.products)
    if (product.name == name) {
      reporter.error(Code::A2, at, "axis '" + name + "' is an axis of its own here and " + textOf(product.factors) + " elsewhere",
                     product.location, "declared here", {"give one of them another name"});
      throw Stop{};
    }
  auto [it, fresh] = axisIndex.insert({name, model.axes.size()});
  if (fresh) {
    model.axes.push_back({name, size, at, countsSamples});
    return;
  }
  const Axis &before = model.axes[it->second];
  if (before.size == size)
    return;
  reporter.error(Code::A2, at,
                 "axis '" + name + "' has size " + std::to_string(size) + " here and " + std::to_string(before.size) + " elsewhere",
                 before.location, "declared with " + std::to_string(before.size) + " here", {"give one of them another name"});
  throw Stop{};
}

void Graph::declareProduct(const std::string &name, const AxisNames &factors, Location at) {
  int64_t size = 1;
  for (const std::string &factor : factors)
    if (__builtin_mul_overflow(size, this->size(factor), &size) || size > INT32_MAX)
      reporter.fail(Code::A1, at, "axis '" + name + "' is larger than " + std::to_string(INT32_MAX) + ", the largest size of an axis");
  auto conflict = [&](Location before, const std::string &is) {
    reporter.error(Code::A2, at, "axis '" + name + "' is " + textOf(factors) + " here and " + is + " elsewhere", before, "declared here",
                   {"give one of them another name"});
    throw Stop{};
  };
  if (auto found = axisIndex.find(name); found != axisIndex.end())
    conflict(model.axes[found->second].location, "an axis of its own");
  for (const ProductAxis &before : model.products)
    if (before.name == name) {
      if (before.factors != factors)
        conflict(before.location, textOf(before.factors));
      return;
    }
  model.products.push_back({name, factors, at});
}

AxisNames Graph::axisNames() const {
  AxisNames result;
  for (const Axis &axis : model.axes)
    result.push_back(axis.name);
  return result;
}

void Graph::checkType(Location at, const TensorType &type) {
  constexpr size_t mostAxes = 16;
  if (type.axes.size() > mostAxes)
    reporter.fail(Code::L3, at, "a tensor has " + std::to_string(type.axes.size()) + " axes, at most " + std::to_string(mostAxes));
  auto bytes = static_cast<int64_t>(sizeOf(widened(type.element)));
  for (size_t i = 0; i < type.axes.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      if (type.axes[i] == type.axes[j])
        reporter.fail(Code::A3, at, "axis '" + type.axes[i] + "' is used twice in a tensor: " + textOf(type.axes),
                      {"declare a second axis of the same size under another name"});
    if (__builtin_mul_overflow(bytes, size(type.axes[i]), &bytes)) {
      std::string sizes;
      for (const std::string &axis : type.axes)
        sizes += (sizes.empty() ? "" : " * ") + std::to_string(size(axis));
      reporter.fail(Code::L3, at,
                    "integer overflow: a tensor over " + textOf(type.axes) + " has " + sizes + " elements, its bytes are beyond 64 bits");
    }
  }
}

const ProductAxis &Graph::product(const std::string &name) const {
  return *std::find_if(model.products.begin(), model.products.end(), [&](const ProductAxis &p) { return p.name == name; });
}

int64_t Graph::sizeOfPart(const std::string &part) const {
  int64_t size = 1;
  for (const std::string &factor : factorsOf(part))
    size *= this->size(factor); // fits: the declaration was checked
  return size;
}

bool Graph::isWritten(const std::string &name, const AxisNames &axes) const {
  const AxisNames &factors = product(name).factors;
  return std::search(axes.begin(), axes.end(), factors.begin(), factors.end()) != axes.end();
}

size_t Graph::routingOf(int choice, const std::string &slot, const std::string &expert, const std::function<size_t(Routing)> &make) {
  for (size_t i = 0; i < routings.size(); ++i)
    if (routings[i].choice == choice && routings[i].slot == slot && routings[i].expert == expert)
      return i;
  return make({choice, slot, expert});
}

size_t Graph::declareRouting(Routing routing) {
  routings.push_back(std::move(routing));
  return routings.size() - 1;
}

std::optional<size_t> Graph::commonRouting(Location at, const std::vector<int> &operands, const TensorType &type) {
  std::optional<size_t> common;
  for (int operand : operands) {
    std::optional<size_t> found = routingOfRows(operand);
    if (!found || !contains(type.axes, routings[*found].row))
      continue;
    if (common && common != found)
      reporter.fail(Code::A11, at, "rows of two dispatches meet, which are sorted by different choices",
                    {"combine them before, or send both by one choice"});
    common = found;
  }
  if (common && contains(type.axes, routings[*common].expert))
    reporter.fail(Code::A11, at,
                  "rows that belong to entries of '" + routings[*common].expert + "' meet a tensor over '" + routings[*common].expert +
                      "' here",
                  {"operators such as + and *, and einsum, give each row its own entry"});
  return common;
}

int Graph::add(Location at, std::string op, std::vector<int> operands, TensorType type, std::map<std::string, Attribute> attributes,
               const AxisNames &declared) {
  constexpr size_t most = 1'000'000;
  if (model.nodes.size() >= most)
    reporter.abort(Code::L3, at, "the model has more than " + std::to_string(most) + " operations");
  checkType(at, type);
  rowRoutings.push_back(commonRouting(at, operands, type));
  AxisNames written;
  auto take = [&](const AxisNames &names) {
    for (const std::string &name : names)
      if (!contains(written, name) && isWritten(name, type.axes))
        written.push_back(name);
  };
  take(declared);
  for (int operand : operands)
    take(products[static_cast<size_t>(operand)]);
  products.push_back(std::move(written));
  addLateness(at, op, operands, type);
  if (unrounded && !isInteger(type.element))
    attributes.insert({unroundedNode, true});
  model.nodes.push_back({std::move(op), std::move(operands), std::move(type), std::move(attributes), path, block, at});
  return static_cast<int>(model.nodes.size() - 1);
}

void Graph::addLateness(Location at, const std::string &op, const std::vector<int> &operands, const TensorType &type) {
  auto hasBatch = [&](int node) { return contains(this->type(node).axes, "batch"); };
  bool follows = std::any_of(operands.begin(), operands.end(), [&](int node) { return isLate(node); });
  if (follows && (contains(type.axes, "batch") || std::any_of(operands.begin(), operands.end(), hasBatch)))
    reporter.fail(Code::N11, at, "a sum or mean over 'batch' meets values of single samples: it is known only after the last micro-batch",
                  {"only `update` and `log` can use it, after values of samples are summed over 'batch' too",
                   "with `samples = n`, each sample has the value of its group"});
  late.push_back(follows || (op == "sum" && !contains(type.axes, "batch") && std::any_of(operands.begin(), operands.end(), hasBatch)));
}

size_t Graph::declareParameter(Parameter parameter, AxisNames products) {
  checkType(parameter.location, parameter.type);
  if (parameter.path == "__metadata__") // of safetensors
    reporter.fail(Code::L4, parameter.location,
                  "no parameter can have the path '__metadata__': files with weights describe themselves there",
                  {"give it another name, or another path with `as`"});
  auto [known, fresh] = parameterIndex.insert({parameter.path, model.parameters.size()});
  if (!fresh) { // names in a scope differ, but `under` can lead to another one's paths
    reporter.error(Code::L6, parameter.location, (parameter.untrained ? "state '" : "parameter '") + parameter.path + "' is declared twice",
                   model.parameters[known->second].location, "first declared here",
                   {"give one of the layers another name, or another path with `as` or `under`"});
    throw Stop{};
  }
  model.parameters.push_back(std::move(parameter));
  parameterProducts.push_back(std::move(products));
  return model.parameters.size() - 1;
}

int Graph::use(size_t parameter, Location at) {
  const Parameter &p = model.parameters[parameter];
  return add(at, "parameter", {}, p.type, {{"name", p.path}}, parameterProducts[parameter]);
}

/// Checks that parameters with a tensor per index of an axis share no tensor name in files with other parameters.
static void checkTensorNames(const std::vector<Parameter> &parameters, Reporter &reporter) {
  std::map<std::string, const Parameter *> several; // by the name around the index
  auto refuse = [&](const Parameter &p, const std::string &around) {
    if (auto other = several.find(around); other != several.end() && other->second != &p)
      reporter.error(Code::L18, p.location, "'" + p.path + "' and '" + other->second->path + "' would have tensors of one name in files",
                     other->second->location, "the other one", {"give one of them another path with `as` or `under`"});
  };
  for (const Parameter &p : parameters)
    if (size_t open = p.path.find('{'); open != std::string::npos) {
      const std::string around = p.path.substr(0, open) + "{}" + p.path.substr(p.path.find('}', open) + 1);
      several.insert({around, &p});
      refuse(p, around);
    }
  constexpr size_t mostDigits = 9; // of an index
  for (const Parameter &p : parameters)
    for (size_t begin = 0; begin < p.path.size() && p.path.size() <= longestIndexed + mostDigits && !several.empty(); ++begin)
      for (size_t end = begin + 1; end <= begin + mostDigits && std::isdigit(static_cast<unsigned char>(p.path[end - 1])); ++end)
        refuse(p, p.path.substr(0, begin) + "{}" + p.path.substr(end));
}

std::vector<int *> Graph::roots() {
  std::vector<int *> result;
  auto add = [&](int &node) {
    if (node >= 0)
      result.push_back(&node);
  };
  for (Loss &loss : model.losses)
    add(loss.node), add(loss.condition);
  for (Metric &metric : model.metrics) {
    add(metric.condition);
    for (int &node : metric.nodes)
      add(node);
  }
  for (Prediction &prediction : model.predictions)
    add(prediction.node);
  for (StateUpdate &update : model.updates)
    add(update.node);
  for (LoggedValue &value : model.logged)
    add(value.node);
  return result;
}

void Graph::checkTrained(const std::vector<int> &place, const std::vector<bool> &used) const {
  for (size_t i = 0; i < place.size(); ++i)
    if (const Node &node = model.nodes[i]; place[i] == 0 && node.op == "parameter")
      if (const std::string &path = std::get<std::string>(node.attributes.at("name")); !used[parameterIndex.at(path)])
        reporter.error(Code::A16, node.location, "a metric or an output needs parameter '" + path + "', which no loss trains",
                       {"let a loss depend on it"});
}

std::vector<bool> Graph::usedParameters(const std::vector<int> &place, const std::vector<bool> &trained) const {
  std::vector<bool> used(model.parameters.size());
  for (size_t i = 0; i < place.size(); ++i)
    if (const Node &node = model.nodes[i]; place[i] == 0 && node.op == "parameter") {
      size_t parameter = parameterIndex.at(std::get<std::string>(node.attributes.at("name")));
      used[parameter] = used[parameter] || trained[i] || model.parameters[parameter].untrained;
    }
  for (const StateUpdate &update : model.updates)
    used[update.state] = true;
  for (size_t state : keptStates)
    used[state] = true;
  return used;
}

void Graph::finish(const std::vector<std::string> &unusedLayers, const std::function<bool(const std::string &)> &isKept) {
  std::vector<int> place(model.nodes.size(), -1); // first: 0 where needed; then: the new number
  std::vector<bool> trained(model.nodes.size());  // a loss needs it
  const std::vector<int *> roots = this->roots();
  for (int *root : roots)
    place[static_cast<size_t>(*root)] = 0;
  const std::string end = model.losses.empty() ? "an output" : "the loss";
  for (const Loss &loss : model.losses)
    trained[static_cast<size_t>(loss.node)] = true;
  for (int *root : roots) // nothing is trained: what is computed has its parameters from elsewhere
    trained[static_cast<size_t>(*root)] = trained[static_cast<size_t>(*root)] || model.losses.empty();
  for (size_t i = model.nodes.size(); i-- > 0;)
    if (place[i] == 0) {
      const Node &node = model.nodes[i];
      for (int operand : node.operands) {
        place[static_cast<size_t>(operand)] = 0;
        trained[static_cast<size_t>(operand)] = trained[static_cast<size_t>(operand)] || trained[i];
      }
    }
  std::vector<bool> used = usedParameters(place, trained);
  checkTrained(place, used);
  std::vector<Node> nodes;
  for (size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0) {
      if (const Node &node = model.nodes[i]; node.op == "input")
        reporter.warning(node.location,
                         "input '" + std::get<std::string>(node.attributes.at("name")) + "' does not reach " + end + ": it is not fed");
      continue;
    }
    place[i] = static_cast<int>(nodes.size());
    nodes.push_back(std::move(model.nodes[i]));
    for (int &operand : nodes.back().operands)
      operand = place[static_cast<size_t>(operand)];
  }
  model.nodes = std::move(nodes);
  for (int *root : roots)
    *root = place[static_cast<size_t>(*root)];

  std::vector<Parameter> kept;
  std::vector<size_t> numbers(used.size()); // new ones
  for (size_t i = 0; i < used.size(); ++i) {
    Parameter &p = model.parameters[i];
    bool reported =
        std::any_of(unusedLayers.begin(), unusedLayers.end(), [&](const std::string &layer) { return p.path.rfind(layer + ".", 0) == 0; });
    numbers[i] = kept.size();
    if (used[i] || isKept(p.path))
      kept.push_back(std::move(p));
    else if (!reported)
      reporter.warning(p.location,
                       (p.untrained ? "state '" : "parameter '") + p.path + "' does not reach " + end + " and is left out of the model");
  }
  model.parameters = std::move(kept);
  for (StateUpdate &update : model.updates)
    update.state = numbers[update.state];
  checkTensorNames(model.parameters, reporter);
  // The path of a parameter prefixes those of its gradients and optimizer state, so no other parameter can have such a path.
  for (const Parameter &p : model.parameters)
    for (size_t point = p.path.rfind('.'); point != std::string::npos && point > 0; point = p.path.rfind('.', point - 1))
      if (auto above = parameterIndex.find(p.path.substr(0, point)); above != parameterIndex.end() && used[above->second])
        reporter.error(Code::L18, p.location, "parameter '" + p.path + "' lies below another one, '" + p.path.substr(0, point) + "'",
                       {"give one of them another path with `as` or `under`"});
}

} // namespace npar::dsl
