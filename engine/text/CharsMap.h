// The precompiled table of a SentencePiece normalizer: which texts become which others.
#pragma once

#include "engine/text/Normalizer.h"

#include <cstdint>
#include <optional>

namespace npar::engine {

/// A double array (darts-clone) of the texts to replace, and the texts that replace them. Immutable.
class CharsMap {
public:
  /// Refuses tables with references outside of themselves and texts that are not UTF-8 or longer than 256 bytes. An empty table changes
  /// nothing.
  static Result<std::shared_ptr<const CharsMap>> read(std::string_view bytes);

  struct Entry {
    size_t length = 0; ///< of the text that is replaced
    std::string_view by;
  };
  /// The longest entry that `text` begins with; of length 0 without one. `open`: a longer text could have a longer one.
  Entry longest(std::string_view text, bool &open) const;
  /// The shortest entry, as the `tokenizers` package takes it.
  Entry shortest(std::string_view text) const;

private:
  template <typename Visit> bool prefixes(std::string_view text, Visit visit) const;
  std::string_view textAt(uint32_t unit) const;
  std::vector<uint32_t> units;
  std::string texts; ///< each ends with a zero byte
};

/// The `Precompiled` normalizer of the `tokenizers` package, which replaces by grapheme clusters.
std::shared_ptr<const Normalizer> precompiledNormalizer(std::shared_ptr<const CharsMap> map);

} // namespace npar::engine
