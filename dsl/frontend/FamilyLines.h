// The lines of a family, checked and named by what they do.
#pragma once

#include "dsl/Ast.h"
#include "dsl/constants/Reporter.h"

namespace npar::dsl {

/// Class: an architecture that the model implements. Take: a constant of the model has the key's value, or the value after `else` if the
/// key is missing. Must: npar supports only these values of the key, which an earlier line may take. Skip: the key does not affect the
/// computation.
enum class FamilyWord { Class, Take, Must, Skip };

struct FamilyLine {
  FamilyWord word = FamilyWord::Class;
  const ast::FamilyRule *rule = nullptr;
};

/// Reports errors in a family for this model; returns the correct lines.
std::vector<FamilyLine> familyLines(Reporter &reporter, const ast::Family &family, const ast::Block &model);

} // namespace npar::dsl
