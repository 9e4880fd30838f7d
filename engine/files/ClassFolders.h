// Finds the classes in a folder of pictures. Readers and fingerprints ask here, so a fingerprint covers exactly the data that is read.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::files {

/// True for a sub-folder that is not hidden: the pictures of a class.
bool isClassFolder(const std::string &folder, const std::string &name);

/// The names of the sub-folders of a folder that are classes, ascending.
engine::Result<std::vector<std::string>> classesIn(const std::string &folder);

} // namespace npar::files
