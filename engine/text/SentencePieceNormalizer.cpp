// Follows Normalizer::Normalize of SentencePiece 0.2; spaces that may be at the end of the text wait.
#include "engine/text/SentencePieceNormalizer.h"

#include "engine/text/SpaceMark.h"
#include "engine/text/Utf8.h"

namespace npar::engine {
namespace {

class SentencePieceNormalizer : public Normalizer {
public:
  SentencePieceNormalizer(const SentencePieceModel &model, std::shared_ptr<const CharsMap> map, TokenTrie whole)
      : map(std::move(map)), whole(std::move(whole)), space(model.marksSpaces ? spaceMark : std::string_view(" ")),
        spaceBefore(model.spaceBefore), dropsExtra(model.dropsExtraSpaces) {}

  Result<size_t> apply(std::string_view text, State &state, bool goesOn, std::string &out) const override {
    size_t at = 0;
    for (CharsMap::Entry next; at < text.size(); at += next.length) {
      if (!nextEntry(text.substr(at), goesOn, next))
        return at;
      std::string_view by = next.by;
      bool leading = dropsExtra && !state.wrote && by == " ";
      if (leading)
        continue;
      if (!state.wrote) {
        state.wrote = true, state.afterSpace = dropsExtra;
        if (spaceBefore)
          dropsExtra ? static_cast<void>(++state.spacesHeld) : static_cast<void>(out += space);
      }
      while (state.afterSpace && !by.empty() && by.front() == ' ')
        by.remove_prefix(1);
      if (!by.empty())
        state.afterSpace = dropsExtra && by.back() == ' ';
      append(by, state, out);
    }
    return at;
  }

private:
  /// What the text begins with and what it becomes. False: that depends on later text.
  bool nextEntry(std::string_view text, bool goesOn, CharsMap::Entry &entry) const {
    if (goesOn && text.size() < whole.longest())
      return false;
    if (Span span; !whole.empty() && whole.find(text, 0, 1, span)) {
      entry = {span.end, text.substr(0, span.end)};
      return true;
    }
    bool open = false;
    entry = map->longest(text, open);
    if (goesOn && open)
      return false;
    if (entry.length == 0) {
      characterAt(text, entry.length);
      entry.by = text.substr(0, entry.length);
    }
    return true;
  }

  /// Spaces at the end of the text are dropped, those that the text writes as marks, too.
  void append(std::string_view text, State &state, std::string &out) const {
    for (size_t i = 0; i < text.size();) {
      bool isMark = text.substr(i, space.size()) == space;
      if (text[i] == ' ' || isMark) {
        i += isMark ? space.size() : 1;
        ++state.spacesHeld;
        if (dropsExtra)
          continue;
      }
      for (; state.spacesHeld > 0; --state.spacesHeld)
        out += space;
      while (i < text.size() && text[i] != ' ' && text.substr(i, space.size()) != space)
        out += text[i++];
    }
  }

  std::shared_ptr<const CharsMap> map;
  TokenTrie whole;
  std::string space;
  bool spaceBefore, dropsExtra;
};

} // namespace

std::shared_ptr<const Normalizer> sentencePieceNormalizer(const SentencePieceModel &model, std::shared_ptr<const CharsMap> map,
                                                          TokenTrie whole) {
  return std::make_shared<SentencePieceNormalizer>(model, std::move(map), std::move(whole));
}

} // namespace npar::engine
