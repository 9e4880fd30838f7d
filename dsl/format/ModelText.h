// The text of a model without what a search of plans replaces, so that a found plan and its model fit in one text.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace npar::dsl {

struct ModelText {
  std::string text;
  bool declaresModel = false; ///< false: the text imports the model, so its constants cannot change here
};

/// The text without its plans, train blocks and configurations. If it declares the model `name`, the defaults of its constants become the
/// given values. Comments stay, except those directly above a block that is removed. Nothing if the text has syntax errors.
std::optional<ModelText> modelText(const std::string &text, const std::string &name,
                                   const std::vector<std::pair<std::string, std::string>> &constants);

} // namespace npar::dsl
