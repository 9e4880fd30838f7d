// Copies the characters that a form leaves alone and rewrites the runs of others, each with the character before it.
#include "engine/text/NormalForm.h"

#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"

#include <algorithm>

namespace npar::engine {
namespace {

constexpr char32_t lastCharacter = 0x10ffff;

void decompose(char32_t c, bool compatible, std::u32string &out) {
  using namespace hangul;
  if (isSyllable(c)) {
    char32_t index = c - syllables, trail = index % trailCount;
    out += leads + index / (vowelCount * trailCount);
    out += vowels + index / trailCount % vowelCount;
    if (trail > 0)
      out += trails + trail;
    return;
  }
  std::u32string_view text = decomposition(c, compatible);
  if (text.empty())
    out += c;
  else
    out += text;
}

/// Puts the marks after each character into the order of their classes.
void reorder(std::u32string &text) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && combiningClass(text[end]) != 0)
      ++end;
    std::stable_sort(text.begin() + static_cast<ptrdiff_t>(at), text.begin() + static_cast<ptrdiff_t>(end),
                     [](char32_t a, char32_t b) { return combiningClass(a) < combiningClass(b); });
    at = std::max(end, at + 1);
  }
}

/// Composes each mark with the last character that is none, unless a mark of the same or a higher class is between them.
void compose(std::u32string &text) {
  size_t starter = std::u32string::npos, out = 0;
  uint8_t last = 0; // class of the character before
  for (char32_t c : text) {
    uint8_t own = combiningClass(c);
    bool adjacent = starter != std::u32string::npos && starter + 1 == out;
    if (starter != std::u32string::npos && (adjacent || (last != 0 && last < own)))
      if (char32_t made = composition(text[starter], c)) {
        text[starter] = made;
        continue;
      }
    if (own == 0)
      starter = out;
    last = own;
    text[out++] = c;
  }
  text.resize(out);
}

/// Characters that are not copied: the form changes them, or they can change or move to the character before.
CharacterSet activeCharacters(NormalForm form) {
  std::vector<CharacterSet::Range> ranges;
  std::u32string text;
  for (char32_t c = 0; c <= lastCharacter; ++c) {
    text.clear();
    decompose(c, form.compatible, text);
    if (form.composes)
      compose(text);
    bool copied = text == std::u32string_view(&c, 1) && combiningClass(c) == 0 && !(form.composes && composesBackwards(c));
    if (copied)
      continue;
    if (!ranges.empty() && ranges.back().second + 1 == c)
      ranges.back().second = c;
    else
      ranges.emplace_back(c, c);
  }
  return CharacterSet(std::move(ranges));
}

const CharacterSet &activeIn(NormalForm form) {
  static const CharacterSet sets[] = {activeCharacters({false, false}), activeCharacters({false, true}), activeCharacters({true, false}),
                                      activeCharacters({true, true})};
  return sets[form.compatible * 2 + form.composes];
}

class NormalFormNormalizer : public Normalizer {
public:
  explicit NormalFormNormalizer(NormalForm form) : form(form), active(activeIn(form)) {}

  Result<size_t> apply(std::string_view text, State &, bool goesOn, std::string &out) const override {
    size_t copied = 0, before = 0; // `before`: where the last character that may be copied begins
    std::u32string run;
    for (size_t at = 0; at < text.size();) {
      if (static_cast<uint8_t>(text[at]) < 0x80) {
        before = at++;
        continue;
      }
      size_t begin = at;
      char32_t c = *characterAt(text, at);
      if (!active.contains(c)) {
        before = begin;
        continue;
      }
      size_t from = std::max(before, copied), end = at;
      while (end < text.size()) {
        size_t next = end;
        if (!active.contains(*characterAt(text, next)))
          break;
        end = next;
      }
      out += text.substr(copied, from - copied);
      copied = from;
      if (goesOn && end == text.size())
        return copied; // later characters may belong to this run
      run.clear();
      for (size_t i = from; i < end;)
        decompose(*characterAt(text, i), form.compatible, run);
      reorder(run);
      if (form.composes)
        compose(run);
      for (char32_t each : run)
        appendUtf8(each, out);
      copied = before = at = end;
    }
    size_t end = goesOn ? std::max(before, copied) : text.size();
    out += text.substr(copied, end - copied);
    return end;
  }

private:
  NormalForm form;
  const CharacterSet &active;
};

} // namespace

std::shared_ptr<const Normalizer> normalFormNormalizer(NormalForm form) { return std::make_shared<NormalFormNormalizer>(form); }

} // namespace npar::engine
