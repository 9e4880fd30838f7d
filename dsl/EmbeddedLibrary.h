// The texts of the standard library, compiled in (EmbedLibrary.cmake).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace npar::dsl {

/// Path within stdlib/, such as "layers/attention.npar", and text of each.
std::vector<std::pair<std::string, std::string>> embeddedTexts();

} // namespace npar::dsl
