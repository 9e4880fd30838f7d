// Edit distances, divisors and lists for hints.
#include "dsl/Suggestions.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <numeric>

namespace npar::dsl {

static std::string inSmallLetters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Levenshtein's distance, where two neighbouring letters that are swapped count as one edit.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above.back();
}

std::string nearest(const std::string &word, const std::vector<std::string> &candidates) {
  std::string best;
  constexpr size_t longest = 64;
  if (word.size() > longest || word.size() < 2)
    return best;
  size_t bestDistance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t difference = candidate.size() > word.size() ? candidate.size() - word.size() : word.size() - candidate.size();
    if (difference >= bestDistance || candidate == word)
      continue;
    if (size_t distance = editDistance(inSmallLetters(word), inSmallLetters(candidate)); distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

Helps didYouMean(const std::string &word, const std::vector<std::string> &candidates) {
  std::string name = nearest(word, candidates);
  return name.empty() ? Helps{} : Helps{{"did you mean '" + name + "'?", word, name}};
}

std::string joined(const std::vector<std::string> &words, const char *last) {
  constexpr size_t most = 20;
  if (words.size() > most) {
    std::vector<std::string> few(words.begin(), words.begin() + most - 1);
    few.push_back("others");
    return joined(few, last);
  }
  std::string result;
  for (size_t i = 0; i < words.size(); ++i)
    result += (i == 0 ? "" : i + 1 == words.size() ? std::string(" ") + last + " " : ", ") + words[i];
  return result;
}

std::string counted(int64_t number, const std::string &word, const char *plural) {
  return std::to_string(number) + " " + word + (number == 1 ? "" : plural);
}

std::string divisorsText(int64_t number, int64_t wanted) {
  std::vector<int64_t> all;
  for (int64_t d = 1; d * d <= number; ++d)
    if (number % d == 0) {
      all.push_back(d);
      if (d * d != number)
        all.push_back(number / d);
    }
  if (all.size() > 1)
    all.erase(std::find(all.begin(), all.end(), 1));
  constexpr size_t most = 8;
  bool some = all.size() > most;
  std::sort(all.begin(), all.end(), [&](int64_t a, int64_t b) {
    int64_t x = std::abs(a - wanted), y = std::abs(b - wanted);
    return x != y ? x < y : a < b;
  });
  all.resize(std::min(all.size(), most));
  std::sort(all.begin(), all.end());
  std::vector<std::string> words;
  for (int64_t d : all)
    words.push_back(std::to_string(d));
  return joined(words) + (words.size() == 1 ? " divides it" : " divide it") + (some ? ", among others" : "");
}

std::string nearestDivisors(int64_t number, int64_t wanted) {
  // Large numbers are not searched to the end: the hint is not worth the time.
  constexpr int64_t reach = 100'000;
  std::vector<std::string> found;
  for (int64_t d = std::min(wanted, number); d > 0 && d > wanted - reach; --d)
    if (number % d == 0) {
      found.push_back(std::to_string(d));
      break;
    }
  for (int64_t d = wanted + 1; d <= number && d < wanted + reach; ++d)
    if (number % d == 0) {
      found.push_back(std::to_string(d));
      break;
    }
  return joined(found);
}

} // namespace npar::dsl
