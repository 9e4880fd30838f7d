// Which tensor of a file is which parameter, by the program's checkpoint rules.
#pragma once

#include "engine/checkpoint/Safetensors.h"
#include "engine/program/CheckpointRules.h"

namespace npar::engine {

/// A tensor of the file, by its name there, and the parameter that it is for.
struct NamedTensor {
  std::string name;
  const StoredTensor *tensor = nullptr;
  const program::Variable *parameter = nullptr;
};

/// Every tensor of the file is in one of the lists, but for those that a rule ignores.
struct FileNames {
  std::vector<NamedTensor> loaded;    ///< in the order of the program's parameters
  std::vector<NamedTensor> same;      ///< must hold the values of their parameter
  std::vector<std::string> unknown;   ///< of the file
  std::vector<std::string> missing;   ///< parameters
  std::vector<std::string> fresh;     ///< parameters that are not in the file and may be so
  std::vector<std::string> ambiguous; ///< "'a' and 'b' for 'parameter'"
};

FileNames namesOf(const program::Program &program, const SafetensorsFile &file);

} // namespace npar::engine
