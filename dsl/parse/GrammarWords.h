// The keywords that may begin an item of a block, taken from the grammar, for lists in messages.
#pragma once

#include <string>
#include <vector>

namespace npar::dsl {

enum class GrammarItem { Train, Plan };

/// The keywords that begin an item in a train block or a plan, in the grammar's order: "freeze", "for". Settings, which are plain names to
/// the grammar, are not among them.
std::vector<std::string> keywordsOf(GrammarItem item);

} // namespace npar::dsl
