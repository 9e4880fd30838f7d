// Cuts a text into the words that a model encodes, by the pre-tokenizers of a tokenizer file.
#pragma once

#include "engine/text/CharacterSet.h"
#include "engine/text/Pattern.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npar::engine {

/// Finds the places where a text is cut.
struct Delimiter {
  std::shared_ptr<const Pattern> pattern; ///< if null, each character of `set`
  const CharacterSet *set = nullptr;      ///< lives for ever; if null, each `text`
  std::string text;
};

/// The fate of a delimiter.
enum class Behavior {
  Removed,
  Isolated,           ///< a piece of its own
  MergedWithPrevious, ///< with the text before it
  MergedWithNext,
  Contiguous ///< delimiters next to each other are one piece
};

/// One pre-tokenizer, or a part of one: changes each piece that the previous ones made.
struct CutRule {
  enum class Kind {
    Split,
    PrefixSpace,    ///< puts a space before pieces that begin without one (ByteLevel)
    Mark,           ///< writes spaces as `mark` (Metaspace)
    ByteCharacters, ///< writes bytes as printable characters (ByteLevel, if other rules follow it)
    Separate        ///< cuts before each U+2581 that does not follow a character of `joined`
  };
  enum class Prepend { Never, First, Always }; ///< the mark, if the piece begins without it; First: at the beginning of the text

  Kind kind = Kind::Split;
  Delimiter delimiter;
  Behavior behavior = Behavior::Isolated;
  bool inverted = false; ///< the text between delimiters is the delimiter
  std::string mark;
  Prepend prepend = Prepend::Never;
  const CharacterSet *joined = nullptr;
};
CutRule splitRule(std::shared_ptr<const Pattern> pattern, Behavior behavior, bool inverted = false);
CutRule splitRule(const CharacterSet &set, Behavior behavior);
CutRule splitRule(std::string text, Behavior behavior);
CutRule prefixSpaceRule();
CutRule byteCharactersRule();
CutRule separateRule(const CharacterSet &joined);
/// Metaspace without its splitting.
CutRule markRule(std::string mark, CutRule::Prepend prepend);

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
  struct Step {
    CutRule rule;
    std::optional<PatternMatcher> matcher;
    std::string rewritten;
  };
  Status apply(size_t step, std::string_view text, Place place, bool goesOn, const Word &word, size_t &done);
  Status split(size_t step, std::string_view text, Place place, bool goesOn, const Word &word, size_t &done);
  Status separate(size_t step, std::string_view text, bool goesOn, const Word &word, size_t &done);
  Status rewrite(size_t step, std::string_view text, Place place, bool goesOn, const Word &word, size_t &done);
  PatternMatcher::Found next(Step &step, std::string_view text, size_t from, bool goesOn, Span &span);
  std::vector<Step> steps;
};

} // namespace npar::engine
