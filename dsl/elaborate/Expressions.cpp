// Evaluates names, calls, selections and arithmetic inside models.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace npar::dsl {

/// Indices of an axis that one is selected from: the gradient joins as many pieces, and twice as many take four times as long.
static constexpr int64_t mostSelected = 16384;

Value ModelElaborator::use(const Value &value, Location at) {
  if (auto *parameter = std::get_if<ParameterValue>(&value))
    return TensorValue{graph.use(parameter->index, at)};
  return value;
}

/// Advice on how to write an operation that PyTorch and JAX name differently; null if the word is not known.
static const char *writtenHere(const std::string &word) {
  static const std::map<std::string, const char *> forms = {
      {"matmul", "write `project(x, w)`, which contracts all axes that both have, or `einsum(x, y, over = a)`"},
      {"bmm", "write `einsum(x, y, over = a)`: axes that both have and that are not in `over` stay"},
      {"dot", "write `einsum(x, y, over = a)`"},
      {"linear", "write `up = Linear(from, to)`, then up(x), with `import \"Linear\"`"},
      {"transpose", "axes have names, so their order does not matter: leave it out"},
      {"permute", "axes have names, so their order does not matter: leave it out"},
      {"reshape", "declare a product axis: `axis both = head * feature` is two axes and one"},
      {"view", "declare a product axis: `axis both = head * feature` is two axes and one"},
      {"flatten", "declare a product axis: `axis both = head * feature` is two axes and one"},
      {"squeeze", "axes have names, so those of size 1 are not needed: leave it out"},
      {"unsqueeze", "axes have names, and operations broadcast by name: leave it out"},
      {"expand", "operations broadcast by name: leave it out"},
      {"broadcast_to", "operations broadcast by name: leave it out"},
      {"cat", "declare a sum, `axis both = a + b`, and write `concat([x, y], along = both)`"},
      {"concatenate", "declare a sum, `axis both = a + b`, and write `concat([x, y], along = both)`"},
      {"split", "declare a sum, `axis both = a + b`, and write x[both = a]"},
      {"chunk", "declare a sum, `axis both = a + b`, and write x[both = a]"},
      {"mse", "write `squared_error(x, y)`"},
      {"mse_loss", "write `squared_error(x, y)`"},
      {"mean_squared_error", "write `squared_error(x, y)`"},
      {"mae", "write `abs(x - y)`"},
      {"l1_loss", "write `abs(x - y)`"},
      {"bce", "write `binary_cross_entropy(logits, targets)`, which contains the sigmoid"},
      {"bce_loss", "write `binary_cross_entropy(logits, targets)`, which contains the sigmoid"},
      {"binary_cross_entropy_with_logits", "write `binary_cross_entropy(logits, targets)`"},
      {"softmax_cross_entropy", "write `cross_entropy(logits, targets, over = a)`"},
      {"nll_loss", "write `cross_entropy(logits, targets, over = a)`"},
      {"log_softmax", "write `x - logsumexp(x, over = a)`"},
      {"scaled_dot_product_attention", "write `attention(q, k, v, over = seq, causal = true)`"},
      {"swish", "write `silu(x)`"},
      {"rsqrt", "write `1 / sqrt(x)`"},
      {"pow", "multiply x by itself, or write `exp(n * log(x))` for x > 0"},
      {"square", "write `x * x`"},
      {"clamp", "write `where(x > most, most, where(x < least, least, x))`"},
      {"clip", "write `where(x > most, most, where(x < least, least, x))`"},
      {"relu6", "write `where(x > 6, 6.0, relu(x))`"},
      {"elu", "write `where(x > 0, x, exp(x) - 1)`"},
      {"glu", "project x twice and multiply: `up(x) * sigmoid(gate(x))`"},
      {"logsigmoid", "write `-where(x < -20, -x, log(1 + exp(-x)))`"},
      {"maximum", "write `where(x > y, x, y)`"},
      {"minimum", "write `where(x < y, x, y)`"},
      {"masked_fill", "write `where(mask, value, x)`"},
      {"log1p", "write `log(1 + x)`"},
      {"expm1", "write `exp(x) - 1`"},
      {"normalize", "write `x / sqrt(sum(x * x, over = a))`"},
      {"leaky_relu", "write `where(x > 0, x, 0.01 * x)`"},
      {"softplus", "write `where(x > 20, x, log(1 + exp(x)))`"},
      {"arange", "write `index(a)`"},
      {"topk", "write `top_k(x, along = slot, over = a)`"},
      {"scatter", "write `sum(x * one_hot(i, over = a), over = b)`"},
      {"detach", "write `stop_gradient(x)`"},
      {"var", "write `y = x - mean(x, over = a)`, then `mean(y * y, over = a)`, which divides by n"},
      {"std", "write `y = x - mean(x, over = a)`, then `sqrt(mean(y * y, over = a))`, which divides by n"},
      {"norm", "write `sqrt(sum(x * x, over = a))`"},
      {"conv1d", "write `einsum(windows(x, over = seq, to = place, by = tap), weight, over = [channel, tap])`"},
      {"conv2d", "write `conv = Conv(...)`, then conv(x), with `import \"Conv\"`; or an einsum of `windows(...)`"},
      {"conv_transpose2d", "write an einsum of `windows(..., spread = stride, dilation = -1)`"},
      {"max_pool2d", "write `pool = MaxPool(...)`, then pool(x), with `import \"MaxPool\"`; or a max of `windows(...)`"},
      {"avg_pool2d", "write `pool = AveragePool(...)`, then pool(x), with `import \"AveragePool\"`; or a mean of `windows(...)`"},
      {"unfold", "write `windows(x, over = a, to = place, by = tap)`"},
      {"batchnorm1d", "write `norm = BatchNorm(channel, [batch], samples = n)`, then norm(x), with `import \"BatchNorm\"`"},
      {"batchnorm2d", "write `norm = BatchNorm(channel, [batch, row, column], samples = n)`, then norm(x), with `import \"BatchNorm\"`"},
  };
  std::string lower;
  for (unsigned char letter : word)
    lower += static_cast<char>(std::tolower(letter));
  auto found = forms.find(lower);
  return found == forms.end() ? nullptr : found->second;
}

void ModelElaborator::unknown(const std::string &what, const ast::Expression &name, Scope &scope) {
  Helps helps = declaredLater({name.text, name.location});
  std::vector<std::string> result = scope.names();
  for (SourceFile *f : Library::reach(file))
    for (const ast::Block &layer : f->tree->layers)
      result.push_back(layer.name.text);
  for (const Operation &op : operations())
    result.push_back(op.name);
  result.insert(result.end(), constantFunctions().begin(), constantFunctions().end());
  if (std::string import = Library::importFor(*file, name.text); helps.empty() && !import.empty())
    helps.push_back(Help::withLine("a file of the standard library has it: add `import \"" + import + "\"`", "import \"" + import + "\""));
  if (const char *form = writtenHere(name.text); helps.empty() && form)
    helps.push_back(form);
  for (const std::string &layer : Library::importable(*file, /*layersAlone=*/true))
    result.push_back(layer);
  reporter.fail(Code::L5, name.location, "unknown " + what + " '" + name.text + "'", helps.empty() ? didYouMean(name.text, result) : helps);
}

Value ModelElaborator::name(const ast::Expression &e, Scope &scope) {
  if (!scope.find(e.text) && e.text != "none") {
    if (findOperation(e.text))
      reporter.fail(Code::L5, e.location, "'" + e.text + "' is an operation and must be called", {"write " + e.text + "(...)"});
    if (Library::findLayer(file, e.text).layer)
      reporter.fail(Code::L16, e.location, "'" + e.text + "' is a layer: create an instance and call that",
                    {"write `name = " + e.text + "(...)`, then name(x)"});
    unknown("name", e, scope);
  }
  return use(Evaluator::name(e, scope), e.location);
}

Value ModelElaborator::list(const ast::Expression &e, Scope &scope) {
  auto isConstant = [](ast::ExpressionKind kind) {
    return kind == ast::ExpressionKind::Integer || kind == ast::ExpressionKind::Number || kind == ast::ExpressionKind::Text ||
           kind == ast::ExpressionKind::Negate || kind == ast::ExpressionKind::Chain;
  };
  if (!e.items.empty() && isConstant(e.items[0]->kind))
    return constants(e, scope);
  AxisValue group;
  group.group = true;
  if (e.items.empty())
    reporter.fail(Code::A3, e.location, "an empty list of axes");
  constexpr size_t most = 16;
  if (e.items.size() > most)
    reporter.fail(Code::L3, e.location, "a list of " + std::to_string(e.items.size()) + " axes, at most " + std::to_string(most));
  for (const auto &item : e.items) {
    AxisValue part = axes(*item, scope, "an element of a list");
    for (const std::string &axis : part.names)
      if (contains(group.names, axis))
        reporter.fail(Code::A3, item->location,
                      "axis '" + axis + "' is in the list twice" +
                          (part.product ? ", the second time as a factor of '" + part.products.back() + "'" : std::string()),
                      {"name it once, or declare a second axis of the same size under another name"});
    group.names.insert(group.names.end(), part.names.begin(), part.names.end());
    group.products.insert(group.products.end(), part.products.begin(), part.products.end());
  }
  return group;
}

AxisValue ModelElaborator::axes(const ast::Expression &e, Scope &scope, const std::string &what) {
  if (e.kind == ast::ExpressionKind::Name && !scope.find(e.text)) {
    std::vector<std::string> names;
    for (const std::string &n : scope.names())
      if (std::holds_alternative<AxisValue>(scope.find(n)->value))
        names.push_back(n);
    reporter.fail(Code::L5, e.location, "unknown axis '" + e.text + "'",
                  e.text == "batch" ? Helps{"declare it, in a layer too: `axis batch`"} : didYouMean(e.text, names));
  }
  Value value = evaluate(e, scope);
  if (auto *axis = std::get_if<AxisValue>(&value))
    return *axis;
  std::vector<std::string> sameSize;
  if (auto *number = std::get_if<int64_t>(&value))
    for (const std::string &name : graph.axisNames())
      if (graph.size(name) == *number && name.find('.') == std::string::npos) // a text cannot write the others
        sameSize.push_back("'" + name + "'");
  reporter.fail(Code::A6, e.location, what + " must be an axis, this is " + kindOf(value),
                sameSize.empty() ? Helps() : Helps{joined(sameSize) + " is an axis of this size"});
}

int ModelElaborator::tensor(const ast::Expression &e, Scope &scope, const std::string &what) {
  Value value = evaluate(e, scope);
  if (auto *tensor = std::get_if<TensorValue>(&value))
    return tensor->node;
  reporter.fail(Code::A6, e.location, what + " must be a tensor, this is " + kindOf(value));
}

std::string ModelElaborator::site(const std::string &kind) {
  std::string prefix = (graph.path.empty() ? "" : graph.path + ".") + kind;
  return prefix + "." + std::to_string(sites[prefix]++);
}

Value ModelElaborator::constant(Location at, const Value &value) {
  auto *axis = std::get_if<AxisValue>(&value);
  if (!axis || (axis->group && !axis->product))
    return value;
  int64_t size = 1;
  for (const std::string &name : axis->names) {
    if (name == "batch")
      reporter.fail(Code::A5, at, "the size of axis 'batch' is the plan's and cannot be used in a model");
    size *= graph.size(name); // fits: its declaration was checked
  }
  return size;
}

Value ModelElaborator::combine(ast::Operator op, Location at, const Value &left, const Value &right) {
  if (std::holds_alternative<TensorValue>(left) || std::holds_alternative<TensorValue>(right))
    return tensorArithmetic(graph, reporter, op, at, left, right);
  return Evaluator::combine(op, at, constant(at, left), constant(at, right));
}

Value ModelElaborator::negate(Location at, const Value &value) {
  if (std::holds_alternative<TensorValue>(value))
    return tensorArithmetic(graph, reporter, ast::Operator::Multiply, at, value, int64_t{-1});
  return Evaluator::negate(at, constant(at, value));
}

Value ModelElaborator::invert(const ast::Expression &operand, Scope &scope) {
  Value value = evaluate(operand, scope);
  if (auto *tensor = std::get_if<TensorValue>(&value))
    return tensorNegation(graph, reporter, operand.location, tensor->node);
  if (auto *truth = std::get_if<bool>(&value))
    return !*truth;
  reporter.fail(Code::A6, operand.location, "the operand of 'not' must be true or false, this is " + kindOf(value));
}

Value ModelElaborator::suffixed(const ast::Expression &e, Scope &scope) {
  const ast::Expression &base = *e.items[0];
  Value value;
  size_t i = 0;
  // The location of a part: from the start of the expression to the end of the suffix.
  auto place = [&](const ast::Suffix &suffix) {
    Location at = e.location;
    if (suffix.location.line == at.line)
      at.length = std::max(at.length > 0 ? 1u : 0u, suffix.location.column + suffix.location.length - at.column);
    return at;
  };
  Binding *binding = base.kind == ast::ExpressionKind::Name ? scope.find(base.text) : nullptr;
  bool called = e.suffixes[0].kind == ast::SuffixKind::Call;
  // A constant may have the name of an operation, as `dropout` has: a call means the operation.
  bool layer = binding && (std::holds_alternative<Instance *>(binding->value) || std::holds_alternative<Poison>(binding->value));
  if (called && base.kind == ast::ExpressionKind::Name && !layer)
    value = call(base, e.suffixes[i++], place(e.suffixes[0]), scope);
  else
    value = evaluate(base, scope);
  for (; i < e.suffixes.size(); ++i) {
    const ast::Suffix &suffix = e.suffixes[i];
    auto *object = std::get_if<Instance *>(&value);
    switch (suffix.kind) {
    case ast::SuffixKind::Call:
      if (!object)
        reporter.fail(Code::L16, suffix.location, kindOf(value) + " cannot be called");
      value = forward(**object, i == 0 ? base.text : "", suffix, place(suffix), scope);
      break;
    case ast::SuffixKind::Select:
      value = select(value, suffix, place(suffix), scope);
      break;
    case ast::SuffixKind::Member:
      if (!object)
        reporter.fail(Code::L16, suffix.location, kindOf(value) + " has no members");
      value = member(**object, suffix.member);
    }
  }
  return value;
}

Value ModelElaborator::call(const ast::Expression &callee, const ast::Suffix &suffix, Location at, Scope &scope) {
  const std::string &name = callee.text;
  bool constants = std::find(constantFunctions().begin(), constantFunctions().end(), name) != constantFunctions().end();
  const Operation *operation = findOperation(name);
  if (constants && !operation) {
    std::vector<Value> arguments;
    for (const ast::Argument &a : suffix.arguments)
      arguments.push_back(constant(a.value->location, evaluate(*a.value, scope)));
    Value value;
    callConstant(name, at, arguments, value);
    return value;
  }
  if (operation) {
    std::vector<Formal> formals;
    for (const OperationFormal &formal : operation->formals)
      formals.push_back({formal.name, formal.optional});
    auto slots = matchArguments(reporter, "'" + name + "'", at, formals, suffix.arguments);
    OperationCall call(*this, *operation, at, std::move(slots), scope);
    return operation->run(call);
  }
  if (Library::findLayer(file, name).layer)
    reporter.fail(Code::L16, at, "a layer needs a name of its own, for its parameters", {"write `name = " + name + "(...)`, then name(x)"});
  if (Binding *binding = scope.find(name))
    reporter.fail(Code::L16, callee.location, "'" + name + "' is " + kindOf(binding->value) + " and cannot be called");
  unknown("layer or operation", callee, scope);
}

std::string ModelElaborator::partName(const std::string &axis, const ast::Expression &e, const AxisValue &given, const TensorType &type) {
  const SumAxis *sum = graph.sum(axis);
  bool isList = given.group && !given.product;
  const std::string part = given.product ? given.products.back() : given.names[0];
  if (isList || !sum || !contains(sum->parts, part)) {
    Helps helps;
    if (!isList && !sum && part != axis)
      helps.push_back("to cut out a part by its name declare a sum: `axis " + axis + " = " + part + " + rest`");
    if (!isList && graph.sizeOfPart(part) < graph.size(axis))
      helps.push_back("for the entry whose number is the size of '" + part + "' write [" + axis + " = 1 * " + part + "]");
    const std::string named = isList ? "the list of axes " + textOf(given.names) : "axis '" + part + "'";
    reporter.fail(Code::A8, e.location, named + " is no part of '" + axis + "', which is " + (sum ? textOf(sum->parts) : "no sum of axes"),
                  helps);
  }
  for (const std::string &factor : graph.factorsOf(part))
    if (contains(type.axes, factor))
      reporter.fail(Code::A8, e.location, "the tensor already has the axis '" + factor + "': " + textOf(type.axes));
  return part;
}

int64_t ModelElaborator::offsetOf(const std::string &axis, const std::string &part) const {
  int64_t offset = 0;
  for (const std::string &each : graph.sum(axis)->parts) {
    if (each == part)
      break;
    offset += graph.sizeOfPart(each);
  }
  return offset;
}

Value ModelElaborator::select(const Value &value, const ast::Suffix &suffix, Location at, Scope &scope) {
  auto *tensor = std::get_if<TensorValue>(&value);
  if (std::holds_alternative<NumberList>(value) || std::holds_alternative<TextList>(value))
    return entry(value, suffix, scope);
  if (!tensor)
    reporter.fail(Code::A8, at, "only a tensor has parts to select, this is " + kindOf(value));
  int node = tensor->node;
  for (const ast::Argument &a : suffix.arguments) {
    if (a.name.text.empty())
      reporter.fail(Code::A8, a.value->location, "a selection names its axis", {"write [axis = index]"});
    ast::Expression axisName;
    axisName.kind = ast::ExpressionKind::Name;
    axisName.text = a.name.text;
    axisName.location = a.name.location;
    AxisValue axis = axes(axisName, scope, "what is selected from");
    TensorType type = graph.type(node);
    if (axis.group || !contains(type.axes, axis.names[0]))
      reporter.fail(Code::A8, a.name.location, "axis '" + a.name.text + "' is not one of the tensor's: " + textOf(type.axes));
    if (axis.names[0] == "batch")
      reporter.fail(Code::A5, a.name.location, "cannot select from axis 'batch': every sequence is treated the same");
    Value chosen = evaluate(*a.value, scope);
    if (auto *given = std::get_if<AxisValue>(&chosen)) { // its size would be a number, and seldom the one that is meant
      const std::string part = partName(axis.names[0], *a.value, *given, type);
      node = partOf(graph, at, node, axis.names[0], part, offsetOf(axis.names[0], part));
      continue;
    }
    int64_t index = integer(*a.value, scope, "an index");
    int64_t size = graph.size(axis.names[0]);
    if (index < 0 || index >= size)
      reporter.fail(Code::A8, a.value->location,
                    "index " + std::to_string(index) + " is outside of axis '" + axis.names[0] + "' of size " + std::to_string(size),
                    {"indices are 0 to " + std::to_string(size - 1)});
    if (size > mostSelected)
      reporter.fail(Code::A8, a.name.location,
                    "axis '" + axis.names[0] + "' of size " + std::to_string(size) + " is too long to select one index of, at most " +
                        std::to_string(mostSelected) + " are possible");
    type.axes = without(type.axes, axis.names);
    node = graph.add(at, "select", {node}, type, {{"axis", axis.names[0]}, {"index", index}});
  }
  return TensorValue{node};
}

} // namespace npar::dsl
