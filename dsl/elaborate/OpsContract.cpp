// Operations that contract, rename or look up axes: einsum, project, rename, gather, attention.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>
#include <cmath>

namespace npar::dsl {
namespace {

/// `a`'s axes and then `b`'s, without the contracted ones.
Value contract(OperationCall &call, int a, int b, const AxisNames &over) {
  AxisNames axes = without(call.axesOf(a), over);
  for (const std::string &axis : without(call.axesOf(b), over))
    if (!contains(axes, axis))
      axes.push_back(axis);
  return call.add("einsum", {a, b}, axes);
}

Value einsum(OperationCall &call) {
  int a = call.tensor(0), b = call.tensor(1);
  AxisNames over = call.axes(2);
  for (const std::string &axis : over) {
    call.refuseBatch(2, axis);
    for (int node : {a, b})
      if (!contains(call.axesOf(node), axis))
        call.reporter.fail(call.place(2),
                           std::string("mismatched axes in 'einsum': ") + (node == a ? "the first" : "the second") +
                               " operand has no axis '" + axis + "' to contract over: " + textOf(call.axesOf(a)) + " and " +
                               textOf(call.axesOf(b)),
                           didYouMean(axis, call.axesOf(node)));
  }
  return contract(call, a, b, over);
}

/// Contracts all axes that both operands have.
Value project(OperationCall &call) {
  int x = call.tensor(0), weight = call.tensor(1);
  AxisNames over;
  for (const std::string &axis : call.axesOf(x))
    if (contains(call.axesOf(weight), axis))
      over.push_back(axis);
  if (over.empty())
    call.reporter.fail(call.at, "mismatched axes in 'project': the operands share none: " + textOf(call.axesOf(x)) + " and " +
                                    textOf(call.axesOf(weight)));
  for (const std::string &axis : over)
    call.refuseBatch(1, axis);
  return contract(call, x, weight, over);
}

/// The same tensor with another name for one of its axes, so that two positions of it can meet in one product.
Value rename(OperationCall &call) {
  int x = call.tensor(0);
  std::string from = call.axis(1), to = call.axis(2);
  call.requireAxis(1, from, x, "the operand");
  call.refuseBatch(2, to);
  AxisNames axes = call.axesOf(x);
  if (contains(axes, to))
    call.reporter.fail(call.place(2), "the operand of 'rename' has the axis '" + to + "' already: " + textOf(axes));
  if (call.graph.size(from) != call.graph.size(to))
    call.reporter.fail(call.place(2), "'rename' needs axes of one size: '" + from + "' is " + std::to_string(call.graph.size(from)) +
                                          ", '" + to + "' is " + std::to_string(call.graph.size(to)));
  *std::find(axes.begin(), axes.end(), from) = to;
  return TensorValue{call.graph.add(call.at, "rename", {x}, {call.graph.type(x).element, axes}, {{"from", from}, {"to", to}})};
}

Value gather(OperationCall &call) {
  int table = call.tensor(0), index = call.tensor(1);
  std::string over = call.axis(2);
  call.requireAxis(2, over, table, "the table");
  // An index that counts an axis is known: it must stay inside of the table.
  const Node &node = call.graph.model.nodes[static_cast<size_t>(index)];
  if (node.op == "index" && call.graph.size(node.type.axes[0]) > call.graph.size(over))
    call.reporter.fail(call.place(1), "index(" + node.type.axes[0] + ") reaches " + std::to_string(call.graph.size(node.type.axes[0]) - 1) +
                                          ", the table's axis '" + over + "' has size " + std::to_string(call.graph.size(over)));
  AxisNames axes = call.axesOf(index);
  if (contains(axes, over))
    call.reporter.fail(call.place(1), "the index has the axis '" + over + "', which it looks up: it is over " + textOf(axes),
                       {"rename its axis: rename(x, from = " + call.nameOf(over) + ", to = ...)"});
  for (const std::string &axis : without(call.axesOf(table), {over}))
    if (!contains(axes, axis)) // what both have is walked once
      axes.push_back(axis);
  return TensorValue{call.graph.add(call.at, "gather", {table, index}, {call.graph.type(table).element, axes}, {{"axis", over}})};
}

/// The axes of `from` that `other` has.
AxisNames shared(const AxisNames &from, const AxisNames &other) { return without(from, without(from, other)); }

/// Names alone tell heads from features, and a product axis is but its factors: refuses where one of them joins both and the operands
/// cannot have been meant so. `features`: what q and k are multiplied over.
void checkReading(OperationCall &call, int q, int k, int v, const AxisNames &heads, AxisNames features, const std::string &feature) {
  features.push_back(feature);
  AxisNames written = call.graph.productsOf(v);
  for (int node : {k, q})
    for (const std::string &name : call.graph.productsOf(node))
      if (!contains(written, name))
        written.push_back(name);
  for (const std::string &name : written) {
    const ProductAxis &product = call.graph.product(name);
    AxisNames joined = shared(product.factors, heads), rest = shared(product.factors, features);
    if (joined.empty() || rest.empty())
      continue;
    // All heads and the features in one axis, as `inner = head * feature`, is a projection that is cut into heads: unless of k and v
    // one is written so and the other one with the factors.
    auto hasFactors = [&](int node) {
      return without(product.factors, call.axesOf(node)).empty() && !contains(call.graph.productsOf(node), name);
    };
    if (joined.size() == heads.size() && hasFactors(k) == hasFactors(v))
      continue;
    call.reporter.error(call.at,
                        "'attention' would take " + textOf(heads) + " for heads and " + textOf(rest) + " for features: product axis '" +
                            name + "' joins some of both",
                        product.location, "'" + name + "' is " + textOf(product.factors),
                        {"for features alone declare an axis of its own: `axis " + name + " = 1 * ...`",
                         "or, if these are the heads, say so: `feature = " + call.nameOf(feature) + "`"});
    throw Stop{};
  }
}

/// softmax(scale * q k^T, masked) v over `over`; `key` is the second name of that axis, for the positions that are looked at. The names
/// tell what an axis is: heads are in q, k and v, groups of queries in q alone, what is contracted in q and k; `feature` is v's own.
Value attention(OperationCall &call) {
  int q = call.tensor(0), k = call.tensor(1), v = call.tensor(2);
  const AxisNames axes = call.axesOf(q), keys = call.axesOf(k), values = call.axesOf(v);
  std::string seq = "seq";
  if (call.has(3))
    call.requireAxis(3, seq = call.axis(3), q, "the query");
  else if (!contains(axes, seq))
    call.reporter.fail(call.at, "'attention' does not know over which axis: " + textOf(axes) + " has no axis 'seq'", {"write over = ..."});
  std::string feature = values.empty() ? "" : values.back();
  if (call.has(4))
    call.requireAxis(4, feature = call.axis(4), v, "the value");
  for (size_t i : {0, 1, 2}) {
    const AxisNames &given = i == 0 ? axes : i == 1 ? keys : values;
    const std::string letter(1, i == 0 ? 'q' : i == 1 ? 'k' : 'v');
    if (given.size() < 3 || given[0] != "batch" || given[1] != seq)
      call.reporter.fail(call.place(i), "'attention' needs " + letter + " over [batch, " + seq +
                                            ", heads ..., features ...], this is over " + textOf(given));
  }
  AxisNames contracted = without(shared(axes, keys), without(values, {feature}));
  AxisNames heads = without(values, {feature});
  if (AxisNames extra = without(keys, axes); !extra.empty())
    call.reporter.fail(call.place(1),
                       "axis '" + extra[0] + "' of k is missing in q: q is over " + textOf(axes) + ", k over " + textOf(keys));
  if (AxisNames extra = without(heads, keys); !extra.empty())
    call.reporter.fail(call.place(2),
                       "axis '" + extra[0] + "' of v is missing in k: k is over " + textOf(keys) + ", v over " + textOf(values),
                       {"v has the heads of k and one axis more, its feature"});
  if (contracted.empty() || feature == seq || feature == "batch")
    call.reporter.fail(call.place(0), "'attention' needs features that q and k share and v lacks, and a feature of v: q is over " +
                                          textOf(axes) + ", k over " + textOf(keys) + ", v over " + textOf(values));
  if (contains(axes, feature) && !contains(contracted, feature))
    call.reporter.fail(call.place(2), "the feature '" + feature + "' of v is an axis of q that k lacks: q is over " + textOf(axes) +
                                          ", k over " + textOf(keys));
  if (!call.has(4))
    checkReading(call, q, k, v, without(heads, {"batch", seq}), contracted, feature);
  const std::string key = seq + ".key"; // no axis of a text can be called so
  call.graph.declareAxis(key, call.graph.size(seq), call.at);
  AxisNames rows = without(axes, contracted), scores = without(rows, {seq}), out = rows;
  scores.insert(scores.end(), {seq, key});
  call.graph.checkType(call.at, call.graph.floating(scores));
  out.push_back(feature);
  double width = 1;
  for (const std::string &axis : contracted)
    width *= static_cast<double>(call.graph.size(axis));
  double scale = call.has(6) ? call.number(6) : 1 / std::sqrt(width);
  return call.add("attention", {q, k, v}, out,
                  {{"seq", seq}, {"key", key}, {"feature", feature}, {"causal", call.truth(5)}, {"scale", scale}});
}

} // namespace

std::vector<Operation> contractionOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  const NodeKind product{"einsum", 2};
  const OperationFormal over{"over", Formal::Axis};
  return {
      {"einsum", {{"a", Formal::Floats}, {"b", Formal::Floats}, {"over", Formal::Axes}}, einsum, {product}},
      {"project", {{"x", Formal::Floats}, {"weight", Formal::Floats}}, project, {product}},
      {"rename",
       {{"x", Formal::Tensor}, {"from", Formal::Axis}, {"to", Formal::Axis}},
       rename,
       {{"rename", 1, {{"from", Kind::Text}, {"to", Kind::Text}}}}},
      {"gather",
       {{"table", Formal::Tensor}, {"index", Formal::Indices}, over},
       gather,
       {{"gather", 2, {{"axis", Kind::Text}}, "embedding"}}},
      {"attention",
       {{"q", Formal::Floats},
        {"k", Formal::Floats},
        {"v", Formal::Floats},
        {"over", Formal::Axis, true},
        {"feature", Formal::Axis, true},
        {"causal", Formal::Truth, 0.0},
        {"scale", Formal::Number, true}}, // 1 / sqrt(features) unless given
       attention,
       {{"attention",
         3,
         {{"seq", Kind::Text}, {"key", Kind::Text}, {"feature", Kind::Text}, {"causal", Kind::Truth}, {"scale", Kind::Number}},
         "softmax"}}},
  };
}

} // namespace npar::dsl
