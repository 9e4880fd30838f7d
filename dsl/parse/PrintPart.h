// The parts that declarations of all kinds share, as .npar text.
#pragma once

#include "dsl/parse/PrintExpression.h"

namespace npar::dsl {

class PartPrinter : protected ExpressionPrinter {
protected:
  explicit PartPrinter(std::ostream &out) : ExpressionPrinter(out) {}

  void items(const std::vector<ast::Item> &list) {
    for (size_t i = 0; i < list.size(); ++i) {
      out << (i ? ", " : "") << list[i].name.text;
      if (list[i].value) {
        out << " = ";
        expression(*list[i].value);
      }
    }
  }

  /// Prints constants in parentheses; prints nothing if the list is empty.
  void constants(const std::vector<ast::Item> &list) {
    if (list.empty())
      return;
    out << '(';
    items(list);
    out << ')';
  }

  void head(const char *word, const ast::Name &name, const std::vector<ast::Item> &parameters) {
    out << word << ' ' << name.text;
    constants(parameters);
  }

  void names(const std::vector<ast::Name> &list) {
    for (size_t i = 0; i < list.size(); ++i)
      out << (i ? ", " : "") << list[i].text;
  }

  void require(const ast::Expression &condition, const std::string &message) {
    out << "require ";
    expression(condition);
    out << ", \"" << message << '"';
  }

  void setting(const ast::Setting &s, const std::vector<ast::Precision> &precisions = {}) {
    out << "    " << s.name.text << ' ';
    expression(*s.value);
    for (const ast::Precision &each : precisions) {
      out << ", " << each.what.text << ' ';
      expression(*each.value);
      out << (each.hierarchical ? " hierarchical" : "");
    }
    out << '\n';
  }
};

} // namespace npar::dsl
