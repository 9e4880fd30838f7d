// Values of the names in a model's text, which elaboration reports to editors.
#pragma once

#include "dsl/Program.h"

#include <string>
#include <vector>

namespace npar::dsl {

/// A layer's names have an entry for each use of the layer.
struct NamedValue {
  enum class Kind { Constant, Axes, Tensor, Parameter, Layer };
  Kind kind = Kind::Constant;
  Location at;          ///< of the name where it is declared or assigned
  std::string name;     ///< as written
  std::string path;     ///< of the layer whose text has it; Parameter, Layer: its own
  std::string text;     ///< Constant: its value as a person writes it
  TensorType type;      ///< Tensor, Parameter; Axes: only the axes, under their names in the model
  Location node;        ///< Tensor: of the operation that computes it
  std::string nodePath; ///< Tensor: layer of that operation
};

} // namespace npar::dsl
