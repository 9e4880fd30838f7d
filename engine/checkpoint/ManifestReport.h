// A manifest for people and scripts: step, model, plan, tensors and files.
#pragma once

#include "engine/checkpoint/Manifest.h"
#include "engine/json/JsonForward.h"

#include <string>

namespace npar::engine {

std::string reportText(const Manifest &manifest, const std::string &folder);
OrderedJson reportJson(const Manifest &manifest, const std::string &folder);

} // namespace npar::engine
