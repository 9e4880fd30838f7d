// Parts that all pictures share: text that XML can hold, and round marks on an axis.
#pragma once

#include <string>

namespace npar::readable {

/// Escapes text for the content of elements and for attributes. Removes control characters.
std::string escaped(const std::string &text);

/// A round step (1, 2 or 5 times a power of ten) that gives about `marks` marks on an axis of `span`, which is above 0.
double markEvery(double span, int marks);

} // namespace npar::readable
