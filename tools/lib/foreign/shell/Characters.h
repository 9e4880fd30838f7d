// Tells which characters names have, whatever the locale.
#pragma once

namespace npar::foreign::shell {

inline bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool isWord(char c) { return isLetter(c) || c == '_' || (c >= '0' && c <= '9'); }

} // namespace npar::foreign::shell
