// Finds the axes among the operands of products.
#include "tools/lib/planner/search/OwnAxes.h"

#include "dsl/AxisSize.h"
#include "tools/lib/planner/search/BlockProducts.h"

#include <algorithm>
#include <set>

namespace npar::planner {
namespace {

using Axes = std::set<std::string>;

Axes axisSet(const dsl::Node &node) { return {node.type.axes.begin(), node.type.axes.end()}; }

/// The axes over which an operation loops, as its operands and its result show them.
Axes loopsOf(const dsl::Model &model, const dsl::Node &node) {
  Axes axes = axisSet(node);
  for (int operand : node.operands)
    axes.merge(axisSet(model.nodes[static_cast<size_t>(operand)]));
  return axes;
}

/// The axes of rows that are sent to the entries of an axis: a rank with a share of these has the rows for it.
Axes rowsOf(const dsl::Model &model, const std::string &axis) {
  Axes rows;
  for (const dsl::Node &node : model.nodes)
    if (node.op == "grouped" && std::get<std::string>(node.attributes.at("axis")) == axis)
      rows.insert(std::get<std::string>(node.attributes.at("row")));
  return rows;
}

/// An axis, or the factors of a product of axes.
Axes factorsOf(const dsl::Model &model, const std::string &name) {
  for (const dsl::ProductAxis &product : model.products)
    if (product.name == name)
      return {product.factors.begin(), product.factors.end()};
  return {name};
}

/// The axes, or their factors, that tensor parallelism splits by their names.
Axes namedAxes(const dsl::Model &model) {
  Axes named;
  for (const char *name : {"head", "hidden", "vocab"})
    named.merge(factorsOf(model, name));
  return named;
}

bool isIn(const dsl::Model &model, const dsl::Node &node) { return node.block >= 0 && node.block < model.blocks; }

/// Tells for each node whether it is a parameter or computed from parameters alone.
std::vector<bool> weightsOf(const dsl::Model &model) {
  std::vector<bool> weights;
  for (const dsl::Node &node : model.nodes)
    weights.push_back(node.op == "parameter" || (!node.operands.empty() && !axisSet(node).count("batch") &&
                                                 std::any_of(node.operands.begin(), node.operands.end(),
                                                             [&](int operand) { return weights[static_cast<size_t>(operand)]; })));
  return weights;
}

/// The axes that no rank can have a share of, or that are split in other ways.
Axes leftOut(const dsl::Model &model) {
  Axes out = {"batch", "seq"};
  out.merge(factorsOf(model, "embed"));
  out.merge(namedAxes(model));
  for (const dsl::Axis &axis : model.axes)
    if (axis.size == 1)
      out.insert(axis.name);
  for (const dsl::Node &node : model.nodes) {
    for (int index : node.operands)
      if (const dsl::Node &operand = model.nodes[static_cast<size_t>(index)];
          isIn(model, node) && operand.block != node.block && axisSet(operand).count("batch"))
        out.merge(axisSet(operand));
    if (node.op == "select" || node.op == "stack")
      out.insert(std::get<std::string>(node.attributes.at("axis")));
    if (node.op == "attention") {
      auto operand = [&](size_t place) { return axisSet(model.nodes[static_cast<size_t>(node.operands[place])]); };
      const std::string &feature = std::get<std::string>(node.attributes.at("feature"));
      Axes queries = operand(0), keys = operand(1), values = operand(2);
      out.insert(feature);
      for (const std::string &axis : queries)
        if (keys.count(axis) && !values.count(axis))
          out.insert(axis);
    }
  }
  return out;
}

/// The sums of axes that pieces are cut from or joined along. Ranks that split one gather it there.
Axes sumsOf(const dsl::Model &model) {
  Axes sums;
  for (const dsl::Node &node : model.nodes) {
    if (node.op != "part")
      continue;
    const dsl::Node &whole = model.nodes[static_cast<size_t>(node.operands[0])]; // the operand, with the axis under another name
    const auto &from = std::get<std::string>(whole.attributes.at("from")), &to = std::get<std::string>(node.attributes.at("to"));
    sums.insert(dsl::axisSize(model, from) > dsl::axisSize(model, to) ? from : to);
  }
  return sums;
}

/// Those of head, hidden and vocab that an operation without the axis has.
std::vector<std::string> othersThan(const dsl::Model &model, const std::string &axis) {
  Axes own = rowsOf(model, axis);
  own.insert(axis);
  std::vector<std::string> others;
  for (const char *name : {"head", "hidden", "vocab"}) {
    Axes factors = factorsOf(model, name);
    if (std::any_of(model.nodes.begin(), model.nodes.end(), [&](const dsl::Node &node) {
          Axes loops = loopsOf(model, node);
          return node.op != "parameter" && node.op != "input" &&
                 std::none_of(own.begin(), own.end(), [&](const std::string &one) { return loops.count(one) > 0; }) &&
                 std::any_of(factors.begin(), factors.end(), [&](const std::string &factor) { return loops.count(factor) > 0; });
        }))
      others.push_back(name);
  }
  return others;
}

} // namespace

std::vector<OwnAxis> ownAxesOf(const dsl::Program &program) {
  const dsl::Model &model = program.model;
  const Axes out = leftOut(model), named = namedAxes(model), sums = sumsOf(model);
  const std::vector<bool> weights = weightsOf(model);
  std::vector<std::pair<std::string, double>> found; // with the elements of the weights that have it
  for (const dsl::Node &node : model.nodes) {
    if (node.op != "einsum" || (model.blocks > 0 && !isIn(model, node)))
      continue;
    for (int index : node.operands) {
      const dsl::Node &weight = model.nodes[static_cast<size_t>(index)];
      if (!weights[static_cast<size_t>(index)])
        continue;
      double elements = 1;
      bool isNamed = false; // then another axis gives each rank a share of it, without gathering
      for (const std::string &axis : weight.type.axes) {
        elements *= static_cast<double>(dsl::axisSize(model, axis));
        isNamed |= named.count(axis) > 0;
      }
      for (const std::string &axis : weight.type.axes) {
        if (out.count(axis) || (isNamed && sums.count(axis)))
          continue;
        auto known = std::find_if(found.begin(), found.end(), [&](const auto &other) { return other.first == axis; });
        if (known == found.end())
          known = found.insert(found.end(), {axis, 0});
        known->second += elements;
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
  found.resize(std::min(found.size(), mostOwnAxes));
  std::vector<OwnAxis> own;
  for (const auto &[name, elements] : found)
    own.push_back({name, dsl::axisSize(model, name), othersThan(model, name)});
  return own;
}

} // namespace npar::planner
