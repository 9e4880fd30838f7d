// Lists of ranks, hosts and coordinates in a few words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace npar::show {

using Runs = std::vector<std::pair<int64_t, int64_t>>; ///< [first, last], ascending

/// Ascending numbers as runs of neighbours.
Runs runsOf(const std::vector<int64_t> &numbers);

/// "0-3, 8-11", or "0, 8, ... 120" of more than four equally long runs that are equally far apart. A list that is longer than `width` ends
/// after a whole run, with how many numbers there are: "0-2, 5, ... (19 in all)".
std::string runsText(const Runs &runs, size_t width = 48);
std::string numbersText(const std::vector<int64_t> &numbers, size_t width = 48);

/// The same after "rank" or "ranks".
std::string ranksText(const Runs &runs, size_t width = 48);

} // namespace npar::show
