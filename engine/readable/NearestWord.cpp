// Edit distance, whatever the case of letters, with neighbouring letters swapped counted as one edit.
#include "engine/readable/NearestWord.h"

#include <algorithm>
#include <cctype>

namespace npar::readable {
namespace {

size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  return table[a.size()][b.size()];
}

} // namespace

static std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string nearestWord(const std::string &word, const std::vector<std::string> &known) {
  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  if (word.size() > 64)
    return best;
  for (const std::string &candidate : known)
    if (size_t distance = editDistance(lower(word), lower(candidate)); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}

} // namespace npar::readable
