// Defines the flag once for `npar train`, `eval`, `generate` and `export`.
#include "tools/npar/model/PartFlag.h"

#include "tools/npar/model/FlagChecks.h"

namespace npar::driver {

void addPart(CLI::App &app, std::vector<std::string> &parts) {
  app.add_option("--weights-part", parts,
                 "weights of some parameters, as npar export --only writes them, in place of those of the other weights; can be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false)
      ->check(notEmpty());
}

} // namespace npar::driver
