// Rows of comma-separated files as RFC 4180 defines them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace npar::readable {

/// A field, in quotes if it contains a comma, a quote or a line end.
std::string csvField(const std::string &text);

/// The fields of the first row of a text, without their quotes.
std::vector<std::string> firstCsvRow(std::string_view text);

} // namespace npar::readable
