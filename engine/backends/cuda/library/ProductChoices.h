// The algorithms that were chosen, saved between runs, because trying them takes a moment for each kind of product.
#pragma once

#include "engine/backends/cuda/library/ProductTrial.h"
#include "engine/files/PrivateFolder.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace npar::engine::cuda {

/// The choices for one device's name and one version of the library, by the words of a shape. A text of a line each, in the folder of
/// generated kernels (files/PrivateFolder.h: cachePlace), with a hash over all of it at the end.
class ProductChoices {
public:
  /// Reads what is there. What is damaged is as good as nothing, with a remark.
  ProductChoices(const std::string &device, const std::string &version);

  const ProductChoice *find(const std::string &shape) const;
  void add(const std::string &shape, const ProductChoice &choice);
  /// Writes what is new, with what other processes have written meanwhile, whole or not at all. That nothing can be written is a remark.
  void save();

  const std::vector<std::string> &remarks() const { return said; }

private:
  using Choices = std::map<std::string, ProductChoice>;
  Choices read();
  std::string text() const;

  std::optional<files::PrivateFolder> folder; ///< nothing: there is no place for the file
  std::string name, title;                    ///< of the file; its first line
  Choices choices;
  bool changed = false;
  std::vector<std::string> said;
};

} // namespace npar::engine::cuda
