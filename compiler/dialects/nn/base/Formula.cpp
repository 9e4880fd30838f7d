// Terms are read by recursive descent, which the number of nodes bounds.
#include "compiler/dialects/nn/base/Formula.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace npar::nn {

/// The functions that terms can call.
namespace terms {
namespace {

using Operands = ArrayRef<Scalar>;

Scalar absolute(Scalar x) { return x.make<math::AbsFOp>(x); }
/// 1, -1, or x itself where it is 0 or no number.
Scalar sign(Scalar x) { return select(greater(x, x.like(0)), x.like(1), select(less(x, x.like(0)), x.like(-1), x)); }
/// x to the power of y, computed in float64: kernels have no other.
Scalar power(Scalar x, Scalar y) {
  Type f64 = x.builder().getF64Type();
  return convert(pow(convert(x, f64), convert(y, f64)), x.type());
}
Scalar invert(Scalar x) { return x.make<arith::XOrIOp>(x, x.make<arith::ConstantOp>(x.builder().getBoolAttr(true))); }

/// Tells whether the result is certainly 0. The list has true for each operand that is certainly 0.
using IsZero = bool (*)(ArrayRef<bool>);
bool never(ArrayRef<bool>) { return false; }
bool all(ArrayRef<bool> zero) {
  return llvm::all_of(zero, [](bool each) { return each; });
}
bool any(ArrayRef<bool> zero) {
  return llvm::any_of(zero, [](bool each) { return each; });
}
bool dividend(ArrayRef<bool> zero) { return zero[0] && !zero[1]; }
bool branches(ArrayRef<bool> zero) { return zero[1] && zero[2]; }

struct Function {
  StringRef word;
  size_t operands;
  Scalar (*build)(Operands);
  IsZero isZero;
};

const Function functions[] = {
    {"add", 2, [](Operands in) { return in[0] + in[1]; }, all},
    {"sub", 2, [](Operands in) { return in[0] - in[1]; }, all},
    {"mul", 2, [](Operands in) { return in[0] * in[1]; }, any},
    {"div", 2, [](Operands in) { return in[0] / in[1]; }, dividend},
    {"neg", 1, [](Operands in) { return in[0].make<arith::NegFOp>(in[0]); }, all},
    {"sqrt", 1, [](Operands in) { return sqrt(in[0]); }, all},
    {"exp", 1, [](Operands in) { return exp(in[0]); }, never},
    {"log", 1, [](Operands in) { return log(in[0]); }, never},
    {"tanh", 1, [](Operands in) { return tanh(in[0]); }, all},
    {"abs", 1, [](Operands in) { return absolute(in[0]); }, all},
    {"sign", 1, [](Operands in) { return sign(in[0]); }, all},
    {"pow", 2, [](Operands in) { return power(in[0], in[1]); }, never},
    {"min", 2, [](Operands in) { return minimum(in[0], in[1]); }, all},
    {"max", 2, [](Operands in) { return maximum(in[0], in[1]); }, all},
    {"less", 2, [](Operands in) { return less(in[0], in[1]); }, never},
    {"equal", 2, [](Operands in) { return equal(in[0], in[1]); }, never},
    {"and", 2, [](Operands in) { return both(in[0], in[1]); }, never},
    {"or", 2, [](Operands in) { return either(in[0], in[1]); }, never},
    {"not", 1, [](Operands in) { return invert(in[0]); }, never},
    {"select", 3, [](Operands in) { return select(in[0], in[1], in[2]); }, branches},
};

} // namespace
} // namespace terms

class Formula::Parser {
public:
  Parser(ArrayRef<StringRef> names, Formula &formula, llvm::function_ref<InFlightDiagnostic()> error)
      : names(names), formula(formula), error(error) {}

  LogicalResult define(StringRef text) {
    auto [name, rest] = text.split('=');
    std::optional<size_t> node = whole(rest);
    if (!node)
      return failure();
    defined[name.trim()] = *node;
    return success();
  }

  LogicalResult addResult(StringRef text) {
    std::optional<size_t> node = whole(text);
    if (node)
      formula.results.push_back(*node);
    return success(node.has_value());
  }

private:
  static constexpr size_t mostNodes = 4096, deepest = 512;

  std::optional<size_t> whole(StringRef text) {
    StringRef rest = text.trim();
    std::optional<size_t> node = term(rest, 0);
    if (node && !rest.trim().empty())
      return refuse("'" + rest + "' follows a term");
    return node;
  }

  std::optional<size_t> refuse(const Twine &what) {
    error() << "formula: " << what;
    return std::nullopt;
  }

  std::optional<size_t> term(StringRef &rest, size_t depth) {
    if (depth > deepest || formula.nodes.size() > mostNodes)
      return refuse("it is too large");
    rest = rest.ltrim();
    StringRef word = rest.take_until([](char c) { return c == '(' || c == ',' || c == ')' || c == ' '; });
    rest = rest.drop_front(word.size()).ltrim();
    if (rest.consume_front("("))
      return call(word, rest, depth);
    if (auto found = defined.find(word); found != defined.end())
      return found->second;
    Node node;
    if (const auto *name = llvm::find(names, word); name != names.end()) {
      node.kind = Kind::Name;
      node.index = static_cast<size_t>(name - names.begin());
    } else if (word.empty() || word.getAsDouble(node.number, /*AllowInexact=*/true)) {
      return refuse("'" + word + "' is no number and no name that is known");
    }
    return add(std::move(node));
  }

  std::optional<size_t> call(StringRef word, StringRef &rest, size_t depth) {
    const terms::Function *function = llvm::find_if(terms::functions, [&](const terms::Function &each) { return each.word == word; });
    if (function == std::end(terms::functions))
      return refuse("unknown function '" + word + "'");
    Node node;
    node.kind = Kind::Function;
    node.index = static_cast<size_t>(function - terms::functions);
    for (size_t i = 0; i < function->operands; ++i) {
      std::optional<size_t> operand = term(rest, depth + 1);
      if (!operand)
        return std::nullopt;
      node.operands.push_back(*operand);
      rest = rest.ltrim();
      if (!rest.consume_front(i + 1 < function->operands ? "," : ")"))
        return refuse("'" + word + "' needs " + Twine(function->operands) + " operands");
    }
    return add(std::move(node));
  }

  size_t add(Node node) {
    formula.nodes.push_back(std::move(node));
    return formula.nodes.size() - 1;
  }

  ArrayRef<StringRef> names;
  Formula &formula;
  llvm::function_ref<InFlightDiagnostic()> error;
  llvm::StringMap<size_t> defined;
};

FailureOr<Formula> Formula::parse(ArrayRef<StringRef> names, ArrayAttr definitions, ArrayAttr results,
                                  llvm::function_ref<InFlightDiagnostic()> error) {
  Formula formula;
  Parser parser(names, formula, error);
  for (Attribute each : definitions)
    if (failed(parser.define(cast<StringAttr>(each).getValue())))
      return failure();
  for (Attribute each : results)
    if (failed(parser.addResult(cast<StringAttr>(each).getValue())))
      return failure();
  return formula;
}

template <typename T, typename Number, typename Apply>
SmallVector<T> Formula::evaluate(ArrayRef<T> names, const Number &number, const Apply &apply) const {
  SmallVector<T> known;
  for (const Node &node : nodes) {
    SmallVector<T, 3> operands;
    for (size_t operand : node.operands)
      operands.push_back(known[operand]);
    known.push_back(node.kind == Kind::Name     ? names[node.index]
                    : node.kind == Kind::Number ? number(node.number)
                                                : apply(terms::functions[node.index], operands));
  }
  SmallVector<T> chosen;
  for (size_t result : results)
    chosen.push_back(known[result]);
  return chosen;
}

SmallVector<Scalar> Formula::build(ArrayRef<Scalar> values) const {
  return evaluate(
      values, [&](double number) { return values.front().like(number); },
      [](const terms::Function &function, ArrayRef<Scalar> operands) { return function.build(operands); });
}

bool Formula::isZeroWhere(ArrayRef<bool> zero) const {
  SmallVector<bool> known = evaluate(
      zero, [](double number) { return number == 0; },
      [](const terms::Function &function, ArrayRef<bool> operands) { return function.isZero(operands); });
  return llvm::all_of(known, [](bool each) { return each; });
}

} // namespace npar::nn
