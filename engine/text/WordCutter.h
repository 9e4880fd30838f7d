// Cuts a text into the words within which tokens are merged, by the pre-tokenizers of a tokenizer file.
#pragma once

#include "engine/text/Pattern.h"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace npar::engine {

/// One pre-tokenizer: cuts each piece that the ones before it made.
struct CutRule {
  std::shared_ptr<const Pattern> pattern; ///< none: puts a space before a piece
  bool keepsGaps = true;                  ///< what lies between matches is a piece too, or is dropped
  /// Before which pieces a rule without a pattern puts its space.
  enum class Space {
    WhereNone,   ///< those that begin with none
    NoMark,      ///< those that begin neither with a space nor with U+2581, which stands for one
    FirstNoMark, ///< of these, the one at the beginning of the text
    Always
  };
  Space space = Space::WhereNone;
};

/// For one thread. Where a text is cut does not depend on the parts that it comes in: a word is given out once no text after it could
/// change it.
class WordCutter {
public:
  using Word = std::function<Status(std::string_view)>;
  explicit WordCutter(const std::vector<CutRule> &rules);
  enum class Place { Text, Piece, Within }; ///< at the beginning of the text, of a piece of it, or after words of that piece
  /// Gives the words of `text`, which begins at `place`, in order; their bytes are `done`. `goesOn`: more will follow, and what might
  /// belong to it stays.
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
