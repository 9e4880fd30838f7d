// The ways and their settings; `zero` is the parameter of the plans of the standard library.
#include "tools/lib/planner/search/Ways.h"

#include <fmt/format.h>

namespace npar::planner {
namespace {

struct Way {
  const char *name;
  std::vector<std::string> settings;
};

const std::vector<Way> &ways() {
  static const std::vector<Way> all = {{"dp", {"zero=0", "central=true"}},
                                       {"ddp", {"zero=0", "central=false"}},
                                       {"zero1", {"zero=1", "central=false"}},
                                       {"zero2", {"zero=2", "central=false"}},
                                       {"zero3", {"zero=3", "central=false"}}};
  return all;
}

} // namespace

std::vector<std::string> wayNames() {
  std::vector<std::string> names;
  for (const Way &way : ways())
    names.emplace_back(way.name);
  return names;
}

engine::Result<std::vector<std::string>> settingsOfWay(const std::string &name) {
  for (const Way &way : ways())
    if (way.name == name)
      return way.settings;
  return engine::Status::usage(fmt::format("--ways has no '{}': it knows {}", name, fmt::join(wayNames(), ", ")));
}

} // namespace npar::planner
