// Flags of `npar eval`.
#pragma once

#include "engine/data/GivenData.h"
#include "engine/files/Ending.h"
#include "engine/program/PictureInput.h"
#include "engine/program/TextInput.h"
#include "tools/npar/train/DataFlags.h"
#include "tools/npar/use/UseFlags.h"

#include <string>
#include <vector>

namespace npar::driver {

struct EvalFlags {
  UseFlags use;
  DataFlags data;
  int64_t part = 0; ///< part of a split, from 1; 0: not given
  std::vector<std::string> logs;
  std::string outputs;             ///< file for predictions
  bool predicts = false;           ///< predict labels
  std::vector<std::string> labels; ///< file for labels; empty: they are printed
  std::string output;              ///< the output with the scores of classes; empty: the only one

  std::string labelFile() const { return labels.empty() ? "" : labels[0]; }
  /// True for results that need no labels in the data.
  bool hasOutputs() const { return predicts || !outputs.empty(); }
  /// The token file, if exactly one is given; else empty. In place of a data block's pictures or texts a file has pictures or texts, unless
  /// --tokens is given.
  std::string stream(const program::Program &program) const {
    const program::DataBlock *block = program.data();
    const auto format = block ? block->groups()->Get(0)->files()->Get(0)->format() : program::DataFormat::Tensors;
    bool isOther = data.tokens.empty() && (program::hasPictures(format) || program::hasTexts(format) || !data.columns.empty());
    return data.files.size() == 1 && !isOther && engine::GivenFile::of(data.files[0]).mustBeStream() ? data.files[0] : "";
  }
};

} // namespace npar::driver
