// Words syntax errors: turns the set of tokens that could follow into a short "expected ... found ...".
#pragma once

#include <set>
#include <string>
#include <vector>

namespace npar::dsl {

/// `expected` holds tokens as the grammar spells them, such as `'('`, `ID` or `<EOF>`. `found` is the text of the token in their place,
/// empty at the end of the text; `whole` is the word for that text ("file", "setting").
std::string describeSyntaxError(std::set<std::string> expected, const std::string &found, const std::string &whole);

/// A word of the language that cannot be a name.
bool isReservedWord(const std::string &text);
/// All words of the language: the reserved ones, and those that mean something in some places and are names elsewhere.
std::vector<std::string> languageWords();

} // namespace npar::dsl
