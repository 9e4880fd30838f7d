// Escapes text and rounds marks.
#include "engine/readable/SvgText.h"

#include <cmath>

namespace npar::readable {

std::string escaped(const std::string &text) {
  std::string result;
  for (char letter : text)
    switch (letter) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default: // what XML cannot hold is left out
      if (static_cast<unsigned char>(letter) >= 32)
        result += letter;
    }
  return result;
}

double markEvery(double span, int marks) {
  double raw = span / marks, power = std::pow(10, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power)
      return factor * power;
  return 10 * power;
}

} // namespace npar::readable
