// Normalizers that look at the text as a whole: what is put before it, taken off its ends, or replaced in it.
#pragma once

#include "engine/text/Normalizer.h"
#include "engine/text/Pattern.h"

namespace npar::engine {

/// Puts a text before every text that is not empty.
std::shared_ptr<const Normalizer> prependNormalizer(std::string before);
/// Takes white space off the ends.
std::shared_ptr<const Normalizer> stripNormalizer(bool left, bool right);
/// Replaces each occurrence of a text, or each match of a pattern, from the left.
std::shared_ptr<const Normalizer> replaceNormalizer(std::string text, std::string by);
std::shared_ptr<const Normalizer> replaceNormalizer(std::shared_ptr<const Pattern> pattern, std::string by);

} // namespace npar::engine
