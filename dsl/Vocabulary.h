// The words of the language, for editors: what can begin an item of a block, what can be called.
#pragma once

#include <string>
#include <vector>

namespace npar::dsl {

/// Words that begin an item of a plan, and of a train block: keywords and settings.
std::vector<std::string> planWords();
std::vector<std::string> trainWords();

/// An operation of models with its arguments as a text writes them: "layer_norm(x, over, epsilon = 1e-05)"; `[axis]` is optional.
struct OperationSignature {
  std::string name, text;
  std::vector<std::string> arguments;
};
std::vector<OperationSignature> operationSignatures();

/// Functions of constants, such as "sqrt".
const std::vector<std::string> &constantFunctions();

} // namespace npar::dsl
