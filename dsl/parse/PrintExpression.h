// Expressions of the syntax tree as .npar text, a part of printing it.
#pragma once

#include "dsl/parse/Parse.h"

#include <ostream>
#include <vector>

namespace npar::dsl {

class ExpressionPrinter {
public:
  explicit ExpressionPrinter(std::ostream &out) : out(out) {}

  void expression(const ast::Expression &e);
  /// Prints an expression, in parentheses if it has parts.
  void operand(const ast::Expression &e);
  void list(const std::vector<ast::ExpressionPtr> &elements, char open, char close);

protected:
  std::ostream &out;

private:
  void suffix(const ast::Suffix &s);
};

} // namespace npar::dsl
