// Compares the names of classes: a class is a number, so data that meet must give each number the same name.
#pragma once

#include <string>
#include <vector>

namespace npar::engine {

/// Names by the number of their class, and what has them: "'photos'", "checkpoint 'run/step-20'".
struct ClassNames {
  std::string owner;
  std::vector<std::string> names;
};

/// The first difference in a sentence, "class 0 of 'photos' is 'bird', that of 'pictures' is 'ant'"; empty if the names are equal, or if
/// one of the two has none.
std::string classDifference(const ClassNames &here, const ClassNames &there);

} // namespace npar::engine
