// Constants of a declaration that its text never names: a setting of one would have no effect.
#pragma once

#include "dsl/Ast.h"

#include <vector>

namespace npar::dsl {

std::vector<ast::Name> unusedConstants(const ast::Block &model);
std::vector<ast::Name> unusedConstants(const ast::Train &train);
std::vector<ast::Name> unusedConstants(const ast::Optimizer &optimizer);
std::vector<ast::Name> unusedConstants(const ast::Plan &plan);
std::vector<ast::Name> unusedConstants(const ast::Data &data);

} // namespace npar::dsl
