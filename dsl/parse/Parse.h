// Text to syntax tree. Refuses what could hurt (nesting, bytes that are no text) before the parser sees it.
#pragma once

#include "dsl/Ast.h"
#include "dsl/Diagnostics.h"

namespace npar::dsl {

constexpr int maximumNesting = 256; ///< depth of parentheses, brackets and braces

/// Checks encoding and nesting of a source. Reports what is wrong and returns false.
bool checkText(uint32_t file, const Sources &sources, Diagnostics &diagnostics);

/// Parses a whole source; null after errors.
std::unique_ptr<ast::File> parseFile(uint32_t file, const Sources &sources, Diagnostics &diagnostics);

/// Parses a source that is one expression, from `offset` (the value of `--set key=value`); null after errors.
ast::ExpressionPtr parseExpression(uint32_t file, size_t offset, const Sources &sources, Diagnostics &diagnostics);

/// Prints a tree as text that parses to the same tree.
void print(const ast::File &file, std::ostream &out);

} // namespace npar::dsl
