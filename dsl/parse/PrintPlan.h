// Plans of the syntax tree as .npar text, a part of printing it.
#pragma once

#include "dsl/parse/Parse.h"

#include <ostream>

namespace npar::dsl {

void printPlan(const ast::Plan &plan, std::ostream &out);

} // namespace npar::dsl
