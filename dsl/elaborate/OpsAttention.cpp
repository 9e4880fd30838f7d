// Attention: which axes of its operands are heads, features and keys, and what is done to its scores.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>
#include <cmath>

namespace npar::dsl {
namespace {

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
    call.reporter.error(Code::A10, call.at,
                        "'attention' would take " + textOf(heads) + " for heads and " + textOf(rest) + " for features: product axis '" +
                            name + "' contains axes of both",
                        product.location, "'" + name + "' is " + textOf(product.factors),
                        {"for features alone declare an axis of its own: `axis " + name + " = 1 * ...`",
                         "or, if these are the heads, name the feature: `feature = " + call.nameOf(feature) + "`"});
    throw Stop{};
  }
}

/// The formals of `attention` by place, as the table below lists them.
enum AttentionFormal : size_t { Over = 3, Feature, Causal, Scale, Keys, Where, Bias, Cap, Dropout };

/// The keys of an attention: `keys` is the axis of k and v, `name` their axis in masks and biases; empty if these cannot refer to keys.
struct Looked {
  std::string keys, name;
  bool isOther = false;
};

/// Finds the keys. `keys = other` names the axis of another sequence, or a second name for the queries' own, which masks and biases use.
Looked keysOf(OperationCall &call, const std::string &seq, const AxisNames &ofKeys) {
  if (!call.has(Keys))
    return {seq, ""};
  std::string name = call.axis(Keys);
  call.refuseBatch(Keys, name);
  if (name == seq)
    call.reporter.fail(Code::A10, call.place(Keys), "'keys' must be another axis than '" + seq + "', which 'attention' is over",
                       {"declare an axis of the same size for the second name of the positions"});
  if (contains(ofKeys, name))
    return {name, name, true};
  if (call.graph.size(name) != call.graph.size(seq))
    call.reporter.fail(Code::A10, call.place(Keys),
                       "k has no axis '" + name + "', and as another name of '" + seq + "' it must have its size: '" + name + "' is " +
                           std::to_string(call.graph.size(name)) + ", '" + seq + "' is " + std::to_string(call.graph.size(seq)));
  return {seq, name};
}

/// A condition or a bias: over samples, heads, queries and keys, or some of them.
int changesScores(OperationCall &call, size_t i, const char *what, const AxisNames &rows, const Looked &looked) {
  int node = call.tensor(i);
  for (const std::string &axis : call.axesOf(node))
    if (!contains(rows, axis) && axis != looked.name) {
      AxisNames known = rows;
      if (!looked.name.empty())
        known.push_back(looked.name);
      Helps helps;
      if (looked.name.empty())
        helps.push_back("name the keys, keys = ..., and let it be over that axis");
      call.reporter.fail(Code::A10, call.place(i), std::string("axis '") + axis + "' of the " + what + " is none of " + textOf(known),
                         helps);
    }
  return node;
}

/// A condition of queries and of no keys hides all keys from some queries, whose results are 0: most often the keys were meant.
void warnOfHiddenQueries(OperationCall &call, int condition, const std::string &seq, const Looked &looked) {
  const AxisNames &axes = call.axesOf(condition);
  if (!contains(axes, seq) || contains(axes, looked.name))
    return;
  Helps helps;
  const std::string queries = call.nameOf(seq), keys = looked.name.empty() ? "" : call.nameOf(looked.name);
  if (looked.isOther)
    helps.push_back("for keys that are not seen let it be over '" + keys + "', which the keys are over");
  else if (keys.empty())
    helps.push_back("for keys that are not seen name them, keys = key, with an axis `key` of the size of '" + queries +
                    "', and let it be over that: rename(c, from = " + queries + ", to = key)");
  else
    helps.push_back("for keys that are not seen let it be over '" + keys + "': rename(c, from = " + queries + ", to = " + keys + ")");
  helps.push_back("if some queries are to see nothing, choose after it: where(c, attention(...), 0.0)");
  call.reporter.warning(call.place(Where),
                        "the condition is over the queries' axis '" + queries +
                            "' and not over the keys': it hides no key, but all of them from the queries where it is false",
                        helps);
}

/// Adds the operands after q, k and v and the attributes by which scores are changed.
void changeScores(OperationCall &call, const AxisNames &rows, const std::string &seq, const Looked &looked, std::vector<int> &operands,
                  std::map<std::string, Attribute> &attributes) {
  if (call.has(Bias)) {
    operands.push_back(changesScores(call, Bias, "bias", rows, looked));
    attributes["biased"] = true;
  }
  if (call.has(Where)) {
    int condition = changesScores(call, Where, "condition", rows, looked);
    if (!call.graph.isTruth(condition))
      call.reporter.fail(Code::A10, call.place(Where),
                         "argument 'where' of 'attention' must be a bool tensor, this is " + describedTensor(call.graph, condition),
                         {"a comparison makes one: " + std::string(call.graph.isFloat(condition) ? "x > 0" : "x != 0")});
    warnOfHiddenQueries(call, condition, seq, looked);
    operands.push_back(condition);
    attributes["masked"] = true;
  }
  if (call.has(Cap)) {
    double cap = call.number(Cap);
    if (!(cap > 0))
      call.reporter.fail(Code::A10, call.place(Cap), "the cap of scores must be above 0, this is " + textOf(cap));
    attributes["cap"] = cap;
  }
  if (!call.has(Dropout))
    return;
  double rate = call.number(Dropout);
  checkDropoutRate(call, Dropout, rate);
  std::string site = call.elaborator.site("attention");
  if (rate > 0) {
    attributes["dropout"] = rate;
    attributes["site"] = site;
  }
}

/// softmax(scale * q k^T, changed and masked) v over `over`. `key` is the name of the positions that are attended to: a second name of
/// `over` or, with `keys`, of the keys' axis. The names decide the role of an axis: heads are in q, k and v, groups of queries in q alone,
/// contracted axes in q and k; `feature` is only in v.
Value attention(OperationCall &call) {
  int q = call.tensor(0), k = call.tensor(1), v = call.tensor(2);
  AxisNames axes = call.axesOf(q), keys = call.axesOf(k), values = call.axesOf(v);
  std::string seq = "seq";
  if (call.has(Over))
    call.requireAxis(Over, seq = call.axis(Over), q, "the query");
  else if (!contains(axes, seq))
    call.reporter.fail(Code::A10, call.at, "'attention' does not know over which axis: " + textOf(axes) + " has no axis 'seq'",
                       {"write over = ..."});
  Looked looked = keysOf(call, seq, keys);
  for (size_t i : {0, 1, 2}) {
    const AxisNames &given = i == 0 ? axes : i == 1 ? keys : values;
    const std::string letter(1, i == 0 ? 'q' : i == 1 ? 'k' : 'v'), &along = i == 0 ? seq : looked.keys;
    if (given.size() < 3 || !contains(given, "batch") || !contains(given, along)) {
      Helps helps;
      if (i > 0 && given.size() >= 3 && given[0] == "batch" && !contains(given, seq) && !call.has(Keys))
        helps.push_back("for the keys of another sequence write keys = " + call.nameOf(given[1]));
      call.reporter.fail(
          Code::A10, call.place(i),
          "'attention' needs " + letter + " over [batch, " + along + ", heads ..., features ...], this is over " + textOf(given), helps);
    }
  }
  // The feature of v is its last axis, `batch` and the keys' aside.
  std::string feature = without(values, {"batch", looked.keys}).back();
  if (call.has(Feature))
    call.requireAxis(Feature, feature = call.axis(Feature), v, "the value");
  // The kernels expect samples first and then the sequence.
  auto inOrder = [&](int node, const std::string &along) {
    AxisNames order = without(call.axesOf(node), {"batch", along});
    order.insert(order.begin(), {"batch", along});
    return ordered(call.graph, call.at, node, order);
  };
  q = inOrder(q, seq), k = inOrder(k, looked.keys), v = inOrder(v, looked.keys);
  axes = call.axesOf(q), keys = call.axesOf(k), values = call.axesOf(v);
  if (contains(axes, looked.name))
    call.reporter.fail(Code::A10, call.place(Keys),
                       "axis '" + looked.name + "' of the keys is an axis of q, too: q is over " + textOf(axes));
  if (looked.isOther && call.truth(Causal))
    call.reporter.fail(Code::A10, call.place(Causal), "'causal' needs the keys of the same sequence, these are over '" + looked.keys + "'",
                       {"write a condition instead: where = index(" + call.nameOf(looked.keys) + ") <= index(" + call.nameOf(seq) + ")"});
  AxisNames contracted = without(shared(axes, keys), without(values, {feature}));
  AxisNames heads = without(values, {feature});
  if (AxisNames extra = without(keys, axes); !extra.empty() && extra[0] != looked.keys)
    call.reporter.fail(Code::A10, call.place(1),
                       "axis '" + extra[0] + "' of k is missing in q: q is over " + textOf(axes) + ", k over " + textOf(keys));
  if (AxisNames extra = without(heads, keys); !extra.empty())
    call.reporter.fail(Code::A10, call.place(2),
                       "axis '" + extra[0] + "' of v is missing in k: k is over " + textOf(keys) + ", v over " + textOf(values),
                       {"v has the heads of k and one axis more, its feature"});
  if (contracted.empty() || feature == looked.keys || feature == "batch")
    call.reporter.fail(Code::A10, call.place(0),
                       "'attention' needs features that q and k share and v lacks, and a feature of v: q is over " + textOf(axes) +
                           ", k over " + textOf(keys) + ", v over " + textOf(values));
  if (contains(axes, feature) && !contains(contracted, feature))
    call.reporter.fail(Code::A10, call.place(2),
                       "the feature '" + feature + "' of v is an axis of q that k lacks: q is over " + textOf(axes) + ", k over " +
                           textOf(keys));
  if (!call.has(Feature))
    checkReading(call, q, k, v, without(heads, {"batch", looked.keys}), contracted, feature);
  // No axis of a text can be called so.
  const std::string key = looked.isOther || looked.name.empty() ? looked.keys + ".key" : looked.name;
  if (key != looked.name)
    call.graph.declareAxis(key, call.graph.size(looked.keys), call.at);
  AxisNames rows = without(axes, contracted), scores = without(rows, {seq}), out = rows;
  scores.insert(scores.end(), {seq, key});
  call.graph.checkType(call.at, call.graph.floating(scores));
  out.push_back(feature);
  double width = 1;
  for (const std::string &axis : contracted)
    width *= static_cast<double>(call.graph.size(axis));
  std::vector<int> operands = {q, k, v};
  std::map<std::string, Attribute> attributes = {{"seq", seq},
                                                 {"key", key},
                                                 {"feature", feature},
                                                 {"causal", call.truth(Causal)},
                                                 {"scale", call.has(Scale) ? call.number(Scale) : 1 / std::sqrt(width)}};
  if (looked.isOther) {
    attributes["keys"] = looked.keys;
    attributes["key_count"] = call.graph.size(looked.keys);
  }
  changeScores(call, rows, seq, looked, operands, attributes);
  return call.add("attention", std::move(operands), out, std::move(attributes));
}

} // namespace

std::vector<Operation> attentionOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  return {
      {"attention",
       {{"q", Formal::Floats},
        {"k", Formal::Floats},
        {"v", Formal::Floats},
        {"over", Formal::Axis, true},
        {"feature", Formal::Axis, true},
        {"causal", Formal::Truth, 0.0},
        {"scale", Formal::Number, true}, // 1 / sqrt(features) unless given
        {"keys", Formal::Axis, true},
        {"where", Formal::Tensor, true},
        {"bias", Formal::Floats, true},
        {"cap", Formal::Number, true},
        {"dropout", Formal::Number, true}},
       attention,
       {{"attention",
         NodeKind::anyNumber,
         {{"seq", Kind::Text},
          {"key", Kind::Text},
          {"feature", Kind::Text},
          {"causal", Kind::Truth},
          {"scale", Kind::Number},
          {"keys", Kind::Text, true},
          {"key_count", Kind::Integer, true},
          {"biased", Kind::Truth, true},
          {"masked", Kind::Truth, true},
          {"cap", Kind::Number, true},
          {"dropout", Kind::Number, true},
          {"site", Kind::Text, true}},
         "softmax"},
        node::reorder}},
  };
}

} // namespace npar::dsl
