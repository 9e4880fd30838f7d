// Syntax errors in the words of the language, in place of the parser's own.
#pragma once

#include "dsl/Diagnostics.h"

#include <antlr4-runtime.h>

namespace npar::dsl {

constexpr size_t mostSyntaxErrors = 10; ///< limit per file; further errors are mostly noise

/// Adds what to write in place of `^` and `**`, which the language lacks.
void explainPower(Diagnostic &error, const std::string &sign);

/// Reports one error per line: what was expected and found, the word that was meant, a bracket left open.
class SyntaxErrors : public antlr4::BaseErrorListener {
public:
  /// `whole` is what the text is called where it ends too early: "file", "setting".
  SyntaxErrors(uint32_t file, std::string whole, Diagnostics &diagnostics)
      : file(file), whole(std::move(whole)), diagnostics(diagnostics) {}

  void syntaxError(antlr4::Recognizer *recognizer, antlr4::Token *token, size_t line, size_t column, const std::string &message,
                   std::exception_ptr error) override;

private:
  uint32_t file;
  std::string whole;
  Diagnostics &diagnostics;
  size_t lastLine = 0, count = 0;
};

} // namespace npar::dsl
