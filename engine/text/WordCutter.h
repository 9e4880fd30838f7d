// Cuts a text into the words within which tokens are merged, by the pre-tokenizers of a tokenizer file.
#pragma once

#include "engine/text/Pattern.h"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace npar::engine {

/// One pre-tokenizer: cuts each piece that the previous ones made.
struct CutRule {
  std::shared_ptr<const Pattern> pattern; ///< none: puts a space before a piece
  bool keepsGaps = true;                  ///< text between matches becomes a piece too, instead of being dropped
  /// Selects the pieces before which a rule without a pattern puts its space.
  enum class Space {
    WhereNone,   ///< pieces that begin without a space
    NoMark,      ///< pieces that begin neither with a space nor with U+2581, which represents one
    FirstNoMark, ///< of these, the one at the beginning of the text
    Always
  };
  Space space = Space::WhereNone;
};

/// For one thread. The cuts do not depend on the parts in which a text comes: a word is returned once no later text could change it.
class WordCutter {
public:
  using Word = std::function<Status(std::string_view)>;
  explicit WordCutter(const std::vector<CutRule> &rules);
  enum class Place { Text, Piece, Within }; ///< at the beginning of the text, of a piece of it, or after words of that piece
  /// Passes the words of `text`, which begins at `place`, to `word` in order; `done` becomes their number of bytes. `goesOn`: more text
  /// will follow, and text that might belong to it is kept.
  Status cut(std::string_view text, Place place, bool goesOn, const Word &word, size_t &done);

private:
  Status apply(size_t rule, std::string_view text, Place place, bool goesOn, const Word &word, size_t &done);
  Status match(size_t rule, std::string_view text, bool goesOn, const Word &word, size_t &done);
  struct Step {
    std::optional<PatternMatcher> matcher;
    bool keepsGaps;
    CutRule::Space space;
  };
  std::vector<Step> steps;
};

} // namespace npar::engine
