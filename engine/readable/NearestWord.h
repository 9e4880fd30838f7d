// Finds the word that a person probably meant.
#pragma once

#include <string>
#include <vector>

namespace npar::readable {

/// The word of `known` with the fewest edits from `word`, or empty when none is near (more than a third of its letters).
std::string nearestWord(const std::string &word, const std::vector<std::string> &known);

} // namespace npar::readable
