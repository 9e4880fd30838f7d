// Makes random scripts of the part of the shell's language that npar follows, in which every word is known.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace npar::foreign::shell::test {

class ScriptGenerator {
public:
  explicit ScriptGenerator(uint64_t seed) : random(seed) {}
  std::string script();

private:
  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); }
  template <size_t count> std::string one(const char *const (&list)[count]) { return list[below(count)]; }
  std::string variable() { return "V" + std::to_string(below(6)); }
  std::string list() { return "A" + std::to_string(below(3)); }
  std::string number() { return "N" + std::to_string(below(4)); }
  std::string plain();
  std::string quotedPlain();
  std::string quoted(int depth);
  std::string expansion(int depth, bool isQuoted);
  std::string word(int depth);
  std::string words(int depth);
  std::string sum(int depth);
  std::string condition(int depth);
  std::string statement(int depth);
  std::string body(int depth);
  std::string launch(int depth);

  std::mt19937_64 random;
  int functions = 0, loops = 0;
};

} // namespace npar::foreign::shell::test
