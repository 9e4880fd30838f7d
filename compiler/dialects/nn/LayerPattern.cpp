// Compares pattern and path component by component.
#include "compiler/dialects/nn/LayerPattern.h"

using llvm::StringRef;

StringRef npar::nn::matchedLayer(StringRef pattern, StringRef path) {
  size_t length = 0; // of the part of the path that has matched
  for (StringRef rest = path; !pattern.empty();) {
    auto [wanted, wantedRest] = pattern.split('.');
    auto [given, givenRest] = rest.split('.');
    if (given.empty() || (wanted != "*" && wanted != given))
      return {};
    length = static_cast<size_t>(given.end() - path.begin());
    pattern = wantedRest;
    rest = givenRest;
  }
  return path.take_front(length);
}
