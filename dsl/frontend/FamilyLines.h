// The lines of a family, checked and named by what they do.
#pragma once

#include "dsl/Ast.h"
#include "dsl/constants/Reporter.h"

namespace npar::dsl {

/// Class: an architecture that the model is. Take: a constant of the model has the key's value, or that after `else` where there is no such
/// key. Must: npar computes nothing else than these values of the key. Skip: the key says nothing of what is computed.
enum class FamilyWord { Class, Take, Must, Skip };

struct FamilyLine {
  FamilyWord word = FamilyWord::Class;
  const ast::FamilyRule *rule = nullptr;
};

/// Reports what is wrong with a family for this model; returns the lines that are not.
std::vector<FamilyLine> familyLines(Reporter &reporter, const ast::Family &family, const ast::Block &model);

} // namespace npar::dsl
