// What every picture needs: text that XML can hold, and round marks on a time axis.
#pragma once

#include <string>

namespace npar::readable {

/// For element content and attributes; control characters are left out.
std::string escaped(const std::string &text);

/// A round step (1, 2 or 5 times a power of ten) that gives about `marks` marks on an axis of `span`, which is above 0.
double markEvery(double span, int marks);

} // namespace npar::readable
