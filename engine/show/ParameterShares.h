// Finds which mesh axes divide each parameter and its optimizer state.
#pragma once

#include "engine/json/Json.h"
#include "engine/program/Program_generated.h"

#include <string>
#include <vector>

namespace npar::show {

/// Parameters of equal blocks that the same mesh axes divide.
struct ParameterShares {
  std::string path;                               ///< `layers.*.moe.gate`: a block's number is `*`
  size_t count = 0;                               ///< parameters
  std::vector<std::string> split;                 ///< mesh axes that split dimensions, by the plan's rules
  std::vector<std::string> parameters, optimizer; ///< mesh axes that `store` deals the rest out over
};

/// Lists the parameters of a rank of the class in the order of the program.
std::vector<ParameterShares> parameterSharesOf(const program::Program &program, const program::RankClass &rankClass);

std::string parameterSharesText(const program::Program &program, const program::RankClass &rankClass);
/// [{path, count, split, parameters, optimizer}]
OrderedJson parameterSharesJson(const program::Program &program, const program::RankClass &rankClass);

} // namespace npar::show
