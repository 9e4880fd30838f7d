// Finding operations, and what they share in checking their arguments.
#include "dsl/elaborate/Operation.h"
#include "dsl/Suggestions.h"
#include "dsl/Vocabulary.h"

#include <algorithm>

namespace npar::dsl {

const std::vector<Operation> &operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> result = elementwiseOperations();
    for (const auto &family :
         {integerOperations(), reductionOperations(), contractionOperations(), attentionOperations(), alongOperations(), expertOperations(),
          queueOperations(), windowOperations(), batchNormOperations(), groupNormOperations()})
      result.insert(result.end(), family.begin(), family.end());
    return result;
  }();
  return all;
}

static std::string signatureOf(const OperationFormal &formal) {
  if (!formal.optional)
    return formal.name;
  if (formal.kind == FormalKind::Number)
    return formal.name + " = " + textOf(formal.fallback);
  if (formal.kind == FormalKind::Truth)
    return formal.name + (formal.fallback != 0 ? " = true" : " = false");
  return formal.kind == FormalKind::Word ? formal.name + " = " + formal.words.front() : "[" + formal.name + "]";
}

std::vector<OperationSignature> operationSignatures() {
  std::vector<OperationSignature> signatures;
  for (const Operation &operation : operations()) {
    OperationSignature signature{operation.name, operation.name + "(", {}};
    for (const OperationFormal &formal : operation.formals) {
      signature.text += (signature.arguments.empty() ? "" : ", ") + signatureOf(formal);
      signature.arguments.push_back(formal.name);
    }
    signature.text += ")";
    signatures.push_back(std::move(signature));
  }
  return signatures;
}

const std::vector<NodeKind> &nodeKinds() {
  static const std::vector<NodeKind> all = [] {
    std::vector<NodeKind> result = {{"input", 0, {{"name", AttributeKind::Text}}},
                                    {"select", 1, {{"axis", AttributeKind::Text}, {"index", AttributeKind::Integer}}}};
    auto add = [&](const NodeKind &kind) {
      if (std::none_of(result.begin(), result.end(), [&](const NodeKind &known) { return known.name == kind.name; }))
        result.push_back(kind);
    };
    for (const NodeKind &kind :
         {node::add, node::sub, node::mul, node::div, node::scale, node::shift, node::fill, node::integer, node::compare})
      add(kind);
    for (const Operation &op : operations())
      for (const NodeKind &kind : op.makes)
        add(kind);
    for (const NodeKind &kind : {node::total, node::groupTotal}) // not in `makes`: prepare-totals replaces them before rules are read
      add(kind);
    return result;
  }();
  return all;
}

const NodeKind *findNodeKind(const std::string &name) {
  for (const NodeKind &kind : nodeKinds())
    if (kind.name == name)
      return &kind;
  return nullptr;
}

const Operation *findOperation(const std::string &name) {
  for (const Operation &op : operations())
    if (op.name == name)
      return &op;
  return nullptr;
}

AxisNames without(AxisNames axes, const AxisNames &removed) {
  axes.erase(std::remove_if(axes.begin(), axes.end(), [&](const std::string &a) { return contains(removed, a); }), axes.end());
  return axes;
}

bool sameAxes(const AxisNames &a, const AxisNames &b) { return a.size() == b.size() && without(a, b).empty(); }

int ordered(Graph &graph, Location at, int x, const AxisNames &axes) {
  const TensorType type = graph.type(x);
  return type.axes == axes ? x : graph.add(at, "reorder", {x}, type.over(axes));
}

OperationCall::OperationCall(ModelElaborator &elaborator, const Operation &operation, Location at, std::vector<const ast::Argument *> slots,
                             Scope &scope)
    : graph(elaborator.graph), reporter(elaborator.reporter), elaborator(elaborator), name(operation.name), at(at),
      formals(operation.formals), slots(std::move(slots)), scope(scope) {
  for (size_t i = 0; i < formals.size(); ++i)
    if (formals[i].optional && this->slots[i] && isNone(*this->slots[i]->value))
      this->slots[i] = nullptr;
}

bool OperationCall::isNone(const ast::Expression &value) const {
  if (value.kind != ast::ExpressionKind::Name)
    return false;
  const Binding *known = scope.find(value.text);
  return known ? std::holds_alternative<None>(known->value) : value.text == "none";
}

std::string OperationCall::described(size_t i) const { return "argument '" + formals[i].name + "' of '" + name + "'"; }

Value OperationCall::value(size_t i) { return elaborator.evaluate(*slots[i]->value, scope); }

int OperationCall::tensor(size_t i) {
  int node = elaborator.tensor(*slots[i]->value, scope, described(i));
  if (formals[i].kind == FormalKind::Tensor)
    return node;
  bool floats = formals[i].kind == FormalKind::Floats;
  const std::string describedKind = graph.isTruth(node) ? "bool" : "a float tensor";
  if (graph.isFloat(node) != floats || graph.isTruth(node))
    reporter.fail(Code::A6, place(i),
                  described(i) +
                      (floats ? " must be a float tensor, this is " + graph.integerName(node)
                              : " must be an i32 or u8 tensor, this is " + describedKind) +
                      " over " + textOf(axesOf(node)));
  return node;
}

AxisNames OperationCall::axes(size_t i) { return elaborator.axes(*slots[i]->value, scope, described(i)).names; }

std::vector<int> OperationCall::list(size_t i) {
  const ast::Expression &given = *slots[i]->value;
  if (given.kind != ast::ExpressionKind::List || given.items.empty())
    reporter.fail(Code::L13, place(i), described(i) + " must be a list of tensors", {"write [x, y]"});
  std::vector<int> nodes;
  for (const auto &item : given.items) {
    nodes.push_back(element(i, *item));
    if (!graph.isFloat(nodes.back()))
      reporter.fail(Code::A6, item->location,
                    "an element of " + described(i) + " must be a float tensor, this is " + graph.integerName(nodes.back()) + " over " +
                        textOf(axesOf(nodes.back())));
  }
  return nodes;
}

int OperationCall::element(size_t i, const ast::Expression &item) {
  return elaborator.tensor(item, scope, "an element of " + described(i));
}

std::string OperationCall::nameOf(const std::string &axis) const {
  std::string result;
  for (const std::string &word : scope.names())
    if (auto *value = std::get_if<AxisValue>(&scope.find(word)->value); value && !value->group && value->names[0] == axis)
      if (result.empty() || word == axis)
        result = word;
  return result.empty() ? axis : result;
}

std::string OperationCall::axis(size_t i) {
  AxisNames names = axes(i);
  if (names.size() != 1)
    reporter.fail(Code::A4, place(i), described(i) + " must be one axis, this is " + textOf(names));
  return names[0];
}

double OperationCall::number(size_t i) { return has(i) ? elaborator.number(*slots[i]->value, scope, described(i)) : formals[i].fallback; }

bool OperationCall::truth(size_t i) { return has(i) ? elaborator.truth(*slots[i]->value, scope, described(i)) : formals[i].fallback != 0; }

std::string OperationCall::word(size_t i) {
  const std::vector<std::string> &choices = formals[i].words;
  if (!has(i))
    return choices[0];
  Value v = value(i);
  auto *text = std::get_if<std::string>(&v);
  if (!text || std::find(choices.begin(), choices.end(), *text) == choices.end()) {
    std::vector<std::string> quoted;
    for (const std::string &choice : choices)
      quoted.push_back('"' + choice + '"');
    reporter.fail(Code::A6, place(i), described(i) + " must be " + joined(quoted) + ", this is " + textOf(v));
  }
  return *text;
}

void OperationCall::requireAxis(size_t i, const std::string &axis, int node, const std::string &what) {
  refuseBatch(i, axis);
  if (!contains(axesOf(node), axis))
    reporter.fail(Code::A4, place(i), what + " has no axis '" + axis + "', it is over " + textOf(axesOf(node)),
                  didYouMean(axis, axesOf(node)));
}

void OperationCall::refuseBatch(size_t i, const std::string &axis) {
  if (axis == "batch")
    reporter.fail(Code::A5, place(i), "'" + name + "' cannot use the axis 'batch': sequences must not depend on each other");
}

} // namespace npar::dsl
