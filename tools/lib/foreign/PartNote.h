// The file that describes a folder with a part of a model's weights, in place of a config.json.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace npar::foreign {

struct PartNote {
  static constexpr const char *fileName = "part.json";
  std::string model, family;      ///< names
  std::string base;               ///< the weights to which the part belongs; empty: not known
  std::vector<std::string> parts; ///< parts of the base that come before this one
  std::vector<std::string> only;  ///< patterns of the parameters in the part
  size_t tensors = 0, of = 0;     ///< number of tensors in the part and in the whole model

  std::string text() const;
};

/// Returns true if the folder has such a file, and no config.json.
bool isPart(const std::string &folder);

} // namespace npar::foreign
