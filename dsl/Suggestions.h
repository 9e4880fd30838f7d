// The arithmetic of helpful hints: what word was meant, which numbers would do, lists and counts in words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace npar::dsl {

/// The candidate nearest to `word` in edit distance, whatever the case of letters; empty if more than a third of the letters of `word`
/// differ from each candidate.
std::string nearest(const std::string &word, const std::vector<std::string> &candidates);
/// A sentence of advice under an error.
struct Help {
  Help(std::string text) : text(std::move(text)) {}
  Help(const char *text) : text(text) {}
  Help(std::string text, std::string wrong, std::string right)
      : text(std::move(text)), wrong(std::move(wrong)), right(std::move(right)) {}

  std::string text;
  std::string wrong, right; ///< the error goes away if its place, which has the text `wrong`, has `right`; both empty: not known
  std::string line;         ///< the error goes away with this line at the beginning of its file; empty: not known

  static Help withLine(std::string text, std::string line) {
    Help help(std::move(text));
    help.line = std::move(line);
    return help;
  }
};
using Helps = std::vector<Help>;

/// {"did you mean 'x'?"} or nothing.
Helps didYouMean(const std::string &word, const std::vector<std::string> &candidates);
/// A list in words: "2, 3, 5 or 6".
std::string joined(const std::vector<std::string> &words, const char *last = "or");
/// A number with its word: "1 stage", "2 stages".
std::string counted(int64_t number, const std::string &word, const char *plural = "s");
/// The divisors of `number` above 1, in words: "2, 3, 4, 6 or 12 divide it", "7 divides it". If there are more than eight, the eight nearest
/// to `wanted`, followed by ", among others".
std::string divisorsText(int64_t number, int64_t wanted);
/// The divisors of `number` nearest to `wanted` (one below, one above), in words: "6 or 8".
std::string nearestDivisors(int64_t number, int64_t wanted);

} // namespace npar::dsl
