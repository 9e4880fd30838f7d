// Names in files that others wrote must not move the cursor, recolour the screen or turn the direction of a line.
#pragma once

#include <string>
#include <string_view>

namespace npar::readable {

/// Replaces control characters (C0 except newline and tab, DEL, C1) and the characters that override the direction of text (U+202A to
/// U+202E, U+2066 to U+2069) by \u001b and the like, which JSON reads as the same, and bytes that are not UTF-8 by \x9b.
class Escaper {
public:
  /// Adds what is certain so far; a character may come in two parts.
  void add(std::string_view text, std::string &out);
  /// Adds what was left incomplete.
  void finish(std::string &out);

private:
  void take(unsigned char byte, std::string &out);
  std::string pending; ///< the beginning of a character, or a carriage return
};

/// All of a text, which ends here.
std::string printable(std::string_view text);

/// The same of a name: line breaks and tabs are replaced too, for a name with one would forge a line or a cell.
std::string printableName(std::string_view name);

} // namespace npar::readable
