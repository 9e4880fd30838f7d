// Reads --place.
#include "tools/npar/model/PlaceFlag.h"

#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {

void addPlaceTo(CLI::App &app, std::optional<std::string> &place) {
  app.add_option("--place", place,
                 "placement of ranks on hosts, overriding the plan: cluster, spread, or mesh axes with the slowest first, such as 'pp, dp "
                 "inside tp'")
      ->type_name("ORDER")
      ->check(notEmpty());
}

Outcome<program::PlaceWords> placeWords(const std::optional<std::string> &place, const program::Program &program) {
  if (!place)
    return placeOf(program);
  engine::Result<program::PlaceWords> words = program::readPlace(*place);
  if (!words.ok())
    return fail(ExitCode::Usage, words.status().message());
  return *words;
}

} // namespace npar::driver
