#include "engine/data/ClassNames.h"

#include "engine/data/NumberText.h"

#include <algorithm>

namespace npar::engine {

std::string classDifference(const ClassNames &here, const ClassNames &there) {
  if (here.names.empty() || there.names.empty())
    return "";
  auto [own, other] = std::mismatch(here.names.begin(), here.names.end(), there.names.begin(), there.names.end());
  if (own == here.names.end() && other == there.names.end())
    return "";
  return own == here.names.end()      ? here.owner + " has no class '" + *other + "', " + there.owner + " has one"
         : other == there.names.end() ? here.owner + " has a class '" + *own + "', " + there.owner + " has none"
                                      : "class " + number(own - here.names.begin()) + " of " + here.owner + " is '" + *own + "', that of " +
                                            there.owner + " is '" + *other + "'";
}

} // namespace npar::engine
