// Names that nobody can guess, for files and folders where others may write too.
#pragma once

#include <string>

namespace npar::program {

/// 32 hexadecimal digits from the system's generator.
std::string randomName();

} // namespace npar::program
