// Each kind, for one token.
#include "engine/text/TokenText.h"

#include "engine/text/ByteCharacters.h"
#include "engine/text/WordModel.h"

#include <utility>

namespace npar::engine {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view by) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += by.size())
    text.replace(at, from.size(), by);
  return text;
}

std::string cleanedUp(std::string text) {
  constexpr std::pair<const char *, const char *> rules[] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                                             {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                                             {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (auto [from, by] : rules)
    text = replaced(std::move(text), from, by);
  return text;
}

} // namespace

TokenText textOfToken(const Spelling &spelling, const std::string &token) {
  std::string text = token, first;
  if (int byte = spelling.byteNames ? ByteTokens::byteOf(token) : -1; byte >= 0) {
    text = std::string(1, static_cast<char>(byte));
    return {text, text};
  }
  switch (spelling.kind) {
  case Spelling::Kind::Plain:
    first = text;
    break;
  case Spelling::Kind::Spaced:
    first = std::exchange(text, " " + token);
    break;
  case Spelling::Kind::ByteCharacters:
    first = text = bytesOfCharacters(token).value_or(token); // as the package's decoder does
    break;
  case Spelling::Kind::Marked:
    first = replaced(text, spelling.mark, spelling.firstLosesMarks ? "" : " ");
    text = replaced(std::move(text), spelling.mark, " ");
    break;
  case Spelling::Kind::WordPiece:
    first = text;
    text = token.compare(0, spelling.mark.size(), spelling.mark) == 0 ? token.substr(spelling.mark.size()) : " " + token;
    break;
  }
  if (spelling.dropsFirstSpace && !first.empty() && first.front() == ' ')
    first.erase(0, 1);
  if (spelling.cleansUp)
    text = cleanedUp(std::move(text)), first = cleanedUp(std::move(first));
  return {std::move(text), std::move(first)};
}

} // namespace npar::engine
