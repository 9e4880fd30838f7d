// A model with other settings than its checkpoint may have the same tensors and still compute something else.
#pragma once

#include <string>
#include <vector>

namespace npar::engine {

/// The settings with which a command names its model.
struct GivenSettings {
  std::vector<std::string> settings; ///< `key=value`
  std::string config;                ///< named configuration; empty: none
};

/// Lists the model's settings and configuration that differ from those of the checkpoint `folder`, "heads=2 there, heads=4 here". Empty if
/// none differ, if a compiled program was trained, and for other folders. `constants` names the model's settings; without them, those that
/// the checkpoint lists are compared. Settings of train block and plan may differ.
std::string otherSettings(const std::string &folder, const GivenSettings &here, const std::vector<std::string> &constants = {});

} // namespace npar::engine
