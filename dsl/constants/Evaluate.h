// Constant expressions: checked integers, numbers, truth values and texts. Models extend it with tensors.
#pragma once

#include "dsl/Ast.h"
#include "dsl/constants/Reporter.h"
#include "dsl/constants/Value.h"

#include <functional>

namespace npar::dsl {

/// One formal argument of a call, in order; arguments with `optional` can be omitted.
struct Formal {
  std::string name;
  bool optional = false;
  bool takesUnit = false; ///< it is a length in a learning rate
};

/// Matches arguments to formals; one slot per formal, null when left out. Reports wrong names and counts. An argument for which `isFlag`
/// holds is a bare name and stands for `name = true`.
std::vector<const ast::Argument *> matchArguments(Reporter &reporter, const std::string &what, Location at,
                                                  const std::vector<Formal> &formals, const std::vector<ast::Argument> &arguments,
                                                  const std::function<bool(const ast::Argument &)> &isFlag = nullptr);

class Evaluator {
public:
  explicit Evaluator(Reporter &reporter) : reporter(reporter) {}
  virtual ~Evaluator() = default;

  /// Throws Stop after reporting.
  Value evaluate(const ast::Expression &expression, Scope &scope);

  int64_t integer(const ast::Expression &expression, Scope &scope, const std::string &what);
  double number(const ast::Expression &expression, Scope &scope, const std::string &what);
  bool truth(const ast::Expression &expression, Scope &scope, const std::string &what);
  /// Fails with `message`, and the numbers of a comparison, where the condition does not hold.
  void require(const ast::Expression &condition, std::string message, Scope &scope);

  /// A function of constants, as `constantFunctions` lists them; false when `name` is no such function.
  bool callConstant(const std::string &name, Location at, const std::vector<Value> &arguments, Value &result);
  /// Converts a value that stands for a number to that number, such as an axis to its size.
  virtual Value constant(Location at, const Value &value);

  Reporter &reporter;

protected:
  /// A calculation of constants with values in the places of names: `8 % 3`. Of any other expression its value.
  std::string withValues(const ast::Expression &expression, Scope &scope);
  /// `[1.5, 2.5]`, or `["a", "b"]`
  Value constants(const ast::Expression &list, Scope &scope);
  /// `list[2]`
  Value entry(const Value &list, const ast::Suffix &suffix, Scope &scope);
  /// Meanings of names, lists and suffixes other than constants; overridden where the text has more than constants.
  virtual Value name(const ast::Expression &expression, Scope &scope);
  virtual Value list(const ast::Expression &expression, Scope &scope);
  virtual Value suffixed(const ast::Expression &expression, Scope &scope);
  /// `[entry for i in count]`
  Value each(const ast::Expression &expression, Scope &scope);
  virtual Value combine(ast::Operator op, Location at, const Value &left, const Value &right);
  virtual Value negate(Location at, const Value &value);
  /// `not operand`
  virtual Value invert(const ast::Expression &operand, Scope &scope);
};

/// The names of the functions of constants.
const std::vector<std::string> &constantFunctions();

} // namespace npar::dsl
