// Boundaries of extended grapheme clusters (Unicode annex 29).
#pragma once

#include <cstddef>
#include <string_view>

namespace npar::engine {

/// The end of the cluster that begins at `at`, in valid UTF-8.
size_t graphemeEnd(std::string_view text, size_t at);

} // namespace npar::engine
