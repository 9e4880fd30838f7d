// Looks at the ending of the last part of a path.
#include "tools/npar/files/OutputName.h"

#include "engine/files/Destination.h"
#include "tools/npar/terminal/Talk.h"

#include <filesystem>

namespace npar::driver {

ExitCode checkSafetensorsName(const std::string &flag, const std::string &path) {
  const std::filesystem::path name = path;
  const std::string ending = name.extension().string();
  if (ending.empty() || ending == ".safetensors" || program::destinationOf(path).direct)
    return ExitCode::Good;
  return fail(ExitCode::Usage, flag + " writes safetensors, not '" + ending + "': call the file '" +
                                   std::filesystem::path(path).replace_extension(".safetensors").string() + "' instead of '" + path + "'");
}

} // namespace npar::driver
