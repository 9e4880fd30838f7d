// Keeps pieces, each copied from one place of a script or unknown as a whole.
#include "tools/lib/foreign/shell/Text.h"

#include <algorithm>

namespace npar::foreign::shell {

Text Text::unknown(std::string_view shown, UnknownPointer why) {
  Text text;
  Origin at = why->at;
  text.append(shown, at, std::move(why));
  return text;
}

void Text::append(std::string_view more, Origin origin, UnknownPointer unknown) {
  if (more.empty())
    return;
  bool continues = !unknown && !pieces.empty() && !pieces.back().unknown && pieces.back().origin.file == origin.file &&
                   pieces.back().origin.offset + (text.size() - pieces.back().begin) == origin.offset;
  if (!continues)
    pieces.push_back({text.size(), origin, std::move(unknown)});
  text += more;
}

void Text::append(const Text &other) {
  size_t shift = text.size(), count = other.pieces.size(); // `other` may be this text
  for (size_t i = 0; i < count; ++i) {
    Piece piece = other.pieces[i];
    piece.begin += shift;
    pieces.push_back(std::move(piece));
  }
  text += other.text;
}

UnknownPointer Text::unknown() const {
  for (const Piece &piece : pieces)
    if (piece.unknown)
      return piece.unknown;
  return nullptr;
}

size_t Text::pieceOf(size_t offset) const {
  auto after = std::upper_bound(pieces.begin(), pieces.end(), offset, [](size_t at, const Piece &piece) { return at < piece.begin; });
  return after == pieces.begin() ? 0 : static_cast<size_t>(after - pieces.begin()) - 1;
}

const Unknown *Text::unknownAt(size_t offset) const { return pieces.empty() ? nullptr : pieces[pieceOf(offset)].unknown.get(); }

Origin Text::originAt(size_t offset) const {
  if (pieces.empty())
    return {};
  const Piece &piece = pieces[pieceOf(offset)];
  return {piece.origin.file, piece.origin.offset + (piece.unknown ? 0 : offset - piece.begin)};
}

Text Text::slice(size_t begin, size_t end) const {
  Text result;
  end = std::min(end, text.size());
  for (size_t i = pieceOf(begin); begin < end; ++i) {
    size_t stop = i + 1 < pieces.size() ? std::min(end, pieces[i + 1].begin) : end;
    result.append(std::string_view(text).substr(begin, stop - begin), originAt(begin), pieces[i].unknown);
    begin = stop;
  }
  return result;
}

Text Text::renamed(const UnknownPointer &reason) const {
  Text result = *this;
  for (Piece &piece : result.pieces)
    if (piece.unknown && piece.unknown->name.empty())
      piece.unknown = reason;
  return result;
}

Text Text::withoutUnset(const std::string &name) const {
  Text result;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece &piece = pieces[i];
    size_t end = i + 1 < pieces.size() ? pieces[i + 1].begin : text.size();
    if (!piece.unknown || !piece.unknown->isUnset || piece.unknown->name != name)
      result.append(std::string_view(text).substr(piece.begin, end - piece.begin), piece.origin, piece.unknown);
  }
  return result;
}

Text Text::asCommands() const {
  Text result;
  for (size_t i = 0; i < pieces.size(); ++i) {
    size_t end = i + 1 < pieces.size() ? pieces[i + 1].begin : text.size();
    bool isKnown = !pieces[i].unknown || pieces[i].unknown->isUnset;
    result.append(isKnown ? std::string_view(text).substr(pieces[i].begin, end - pieces[i].begin) : "?", pieces[i].origin,
                  pieces[i].unknown);
  }
  return result;
}

bool Text::operator==(const Text &other) const {
  UnknownPointer mine = unknown(), theirs = other.unknown();
  return text == other.text && mine == theirs;
}

} // namespace npar::foreign::shell
