// Settings of DeepSpeed inside the files of other programs.
#pragma once

#include "tools/lib/foreign/Reading.h"

namespace npar::foreign {

/// Reads the settings whose names begin with `prefix`. Without a prefix, lists the ones left over.
void readDeepSpeed(Reading &in, const std::string &prefix);

} // namespace npar::foreign
