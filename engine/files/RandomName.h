// Names that other users cannot guess, for files and folders in places that they can write.
#pragma once

#include <string>

namespace npar::files {

/// 32 hexadecimal digits from the system's generator.
std::string randomName();

} // namespace npar::files
