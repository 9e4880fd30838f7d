// A text of a shell script in which every byte knows where it was written, and unknown parts know why they are unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace npar::foreign::shell {

/// A byte of a file: its index in the sources, and the offset.
struct Origin {
  uint32_t file = 0;
  size_t offset = 0;
};

/// Why npar cannot know a value.
struct Unknown {
  std::string name;     ///< the variable that `--env` can give; empty: none
  std::string why;      ///< completes "it depends on ...": "'NNODES', which the script does not set"
  Origin at;            ///< where it is read or computed
  bool isUnset = false; ///< nothing in the script sets the variable
};
using UnknownPointer = std::shared_ptr<const Unknown>;

/// A value. An unknown part appears as its expression in the script, such as `$NNODES`.
class Text {
public:
  Text() = default;
  Text(std::string_view text, Origin origin) { append(text, origin); }
  static Text unknown(std::string_view shown, UnknownPointer why);

  void append(std::string_view text, Origin origin, UnknownPointer unknown = nullptr);
  void append(const Text &other);
  const std::string &str() const { return text; }
  bool empty() const { return text.empty(); }
  size_t size() const { return text.size(); }
  /// A price for copying it.
  size_t weight() const { return text.size() + 16 * pieces.size(); }
  /// The first reason why a part is unknown; null if everything is known.
  UnknownPointer unknown() const;
  /// The same for the byte at an offset.
  const Unknown *unknownAt(size_t offset) const;
  Origin originAt(size_t offset) const;
  Text slice(size_t begin, size_t end) const;
  /// The same, with another reason for the parts whose reason has no name.
  Text renamed(const UnknownPointer &reason) const;
  /// The same without the parts that are unknown because nothing sets the variable `name`.
  Text withoutUnset(const std::string &name) const;
  /// The same for a text that is read as commands: a part whose value is not known is one `?`, because its expression is no part of the
  /// commands. Variables that nothing sets stay.
  Text asCommands() const;
  /// True if both have the same bytes; unknown parts are the same only for the same reason.
  bool operator==(const Text &other) const;
  bool operator!=(const Text &other) const { return !(*this == other); }

private:
  struct Piece {
    size_t begin; ///< in `text`; the piece ends where the next one begins
    Origin origin;
    UnknownPointer unknown;
  };
  size_t pieceOf(size_t offset) const;
  std::string text;
  std::vector<Piece> pieces;
};

} // namespace npar::foreign::shell
