// Updates of one parameter as compiler text, with the formulas that stdlib/optimizers has.
#pragma once

#include <string>

namespace npar::codegen {

/// AdamW with betas 0.9 and 0.95, epsilon 1e-8 and decay 0.1 on %w, %g, %m and %v of the types `wide` and `gradient`, by a factor and a
/// learning rate. `counted`: the value with the steps that were not skipped, if some are.
inline std::string adamwText(const std::string &results, const std::string &factor, const std::string &rate, const std::string &wide,
                             const std::string &gradient, const std::string &counted = "") {
  const std::string s = "tensor<f64, #nn.axes<>>";
  bool counts = !counted.empty();
  return "%keep, %size, %root = nn.step_values " + rate + (counts ? ", " + counted : "") + " {names = [\"lr\"" +
         (counts ? ", \"#counted\"" : "") +
         "], definitions = [], formulas = [\"sub(1, mul(lr, 0.1))\", \"div(lr, sub(1, pow(0.9, t)))\", \"sqrt(sub(1, pow(0.95, t)))\"]} : "
         "(" +
         s + (counts ? ", " + s : "") + ") -> (" + s + ", " + s + ", " + s + ")\n" + results + " = nn.optimize %w, %g, " + factor +
         ", %m, %v, %keep, %size, %root {names = [\"w\", \"g\", \"m\", \"v\", \"keep\", \"size\", \"root\"], definitions = "
         "[\"%0 = add(m, mul(sub(g, m), 0.099999999999999978))\", \"%1 = add(mul(v, 0.95), mul(mul(g, g), 0.050000000000000044))\"], "
         "formulas = [\"sub(mul(w, keep), mul(size, div(%0, add(div(sqrt(%1), root), 1e-08))))\", \"%0\", \"%1\"]} : (" +
         wide + ", " + gradient + ", " + s + ", " + wide + ", " + wide + ", " + s + ", " + s + ", " + s + ") -> (" + wide + ", " + wide +
         ", " + wide + ")\n";
}

/// SGD with momentum 0.9 and decay 0.1 on %w, %g and %m.
inline std::string sgdText(const std::string &results, const std::string &factor, const std::string &rate, const std::string &type) {
  const std::string s = "tensor<f64, #nn.axes<>>";
  return results + " = nn.optimize %w, %g, " + factor + ", %m, " + rate +
         " {names = [\"w\", \"g\", \"m\", \"lr\"], definitions = [\"%0 = add(mul(m, 0.9), add(g, mul(w, 0.1)))\"], "
         "formulas = [\"sub(w, mul(lr, %0))\", \"%0\"]} : (" +
         type + ", " + type + ", " + s + ", " + type + ", " + s + ") -> (" + type + ", " + type + ")\n";
}

} // namespace npar::codegen
