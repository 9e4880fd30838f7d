// Finds the leftmost, then longest added token, and what belongs to it.
#include "engine/text/AddedTokens.h"

#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"

#include <algorithm>

namespace npar::engine {
namespace {

constexpr size_t longestCharacter = 4;

/// The position of the character before `at`.
size_t characterBefore(std::string_view text, size_t at) {
  do
    --at;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80);
  return at;
}

bool isAt(const CharacterSet &set, std::string_view text, size_t at) { return set.contains(*characterAt(text, at)); }

/// The beginning of the white space that ends at `at`, not before `least`.
size_t spacesBefore(std::string_view text, size_t at, size_t least) {
  while (at > least && isAt(setOf(Property::WhiteSpace), text, characterBefore(text, at)))
    at = characterBefore(text, at);
  return at;
}

size_t spacesAfter(std::string_view text, size_t at) {
  while (at < text.size() && isAt(setOf(Property::WhiteSpace), text, at))
    characterAt(text, at);
  return at;
}

} // namespace

void TokenTrie::add(const std::string &text, const Token &token) {
  uint32_t node = 0;
  for (char c : text) {
    uint64_t edge = uint64_t{node} << 8 | static_cast<uint8_t>(c);
    auto [found, fresh] = edges.emplace(edge, static_cast<uint32_t>(tokens.size()));
    if (fresh)
      tokens.emplace_back();
    node = found->second;
  }
  tokens[node] = token;
  begins[static_cast<uint8_t>(text.front())] = true;
  most = std::max(most, text.size());
  anyLeft |= token.leftStrip;
}

const TokenTrie::Token *TokenTrie::find(std::string_view text, size_t from, size_t until, Span &span) const {
  for (size_t begin = from; begin < until; ++begin) {
    if (!begins[static_cast<uint8_t>(text[begin])])
      continue;
    uint32_t node = 0;
    const Token *found = nullptr;
    for (size_t at = begin; at < text.size(); ++at) {
      auto edge = edges.find(uint64_t{node} << 8 | static_cast<uint8_t>(text[at]));
      if (edge == edges.end())
        break;
      node = edge->second;
      if (tokens[node].id >= 0)
        found = &tokens[node], span = {begin, at + 1};
    }
    if (found)
      return found;
  }
  return nullptr;
}

bool AddedTokenScan::standsAlone(const Span &span) const {
  const CharacterSet &word = setOf(Property::Word);
  bool before = span.begin == 0 ? afterWord : isAt(word, waiting, characterBefore(waiting, span.begin));
  return !before && (span.end == waiting.size() || !isAt(word, waiting, span.end));
}

Status AddedTokenScan::push(std::string_view part, bool ends, AddedTokenSink &sink) {
  if (trie.empty())
    return sink.between(part, ends);
  waiting += part;
  if (ends || waiting.size() >= enough) {
    TRY_STATUS(scan(ends, sink));
    enough = 2 * waiting.size();
  }
  if (ends)
    waiting.clear(), passed = search = enough = 0, afterWord = false;
  return {};
}

Status AddedTokenScan::scan(bool ends, AddedTokenSink &sink) {
  // A token that begins this close to the end may turn out to be longer, or to touch a word.
  size_t margin = trie.longest() + longestCharacter;
  size_t until = ends ? waiting.size() : waiting.size() > margin ? waiting.size() - margin : 0;
  while (until < waiting.size() && until > 0 && (static_cast<uint8_t>(waiting[until]) & 0xc0) == 0x80)
    --until;
  Span span;
  while (const TokenTrie::Token *token = trie.find(waiting, search, until, span)) {
    if (!token->singleWord || standsAlone(span)) {
      size_t begin = token->leftStrip ? std::max(passed, spacesBefore(waiting, span.begin, 0)) : span.begin;
      size_t end = token->rightStrip ? spacesAfter(waiting, span.end) : span.end;
      if (!ends && end == waiting.size()) { // more white space may follow
        until = std::min(begin, span.begin);
        break;
      }
      TRY_STATUS(sink.between(std::string_view(waiting).substr(passed, begin > passed ? begin - passed : 0), /*ends=*/true));
      if (begin < end) // the package drops a token whose white space the one before took
        TRY_STATUS(sink.token(token->id, end - begin));
      passed = end; // as in the package, a token may begin in white space that the one before took
    }
    search = span.end;
  }
  search = std::max(search, until);
  size_t decided = std::max(passed, until);
  if (!ends && trie.stripsLeft())
    decided = spacesBefore(waiting, decided, passed);
  TRY_STATUS(sink.between(std::string_view(waiting).substr(passed, decided - passed), ends));
  passed = decided;
  size_t over = std::min(passed, search);
  if (over > 0)
    afterWord = isAt(setOf(Property::Word), waiting, characterBefore(waiting, over));
  waiting.erase(0, over);
  passed -= over, search -= over;
  return {};
}

} // namespace npar::engine
