// A machine that programs are planned for: the figures that the cost model computes times from. One table names them all, for the reader,
// the printer and whoever carries them elsewhere.
#pragma once

#include "dsl/Diagnostics.h"

#include <array>
#include <string>
#include <vector>

namespace npar::dsl {

/// The element types that a machine has figures for, in the order of its lists. The last one has no products: they are generated kernels.
constexpr std::array<const char *, 4> machineTypes = {"f32", "bf16", "fp16", "f64"};
constexpr size_t productTypes = 3;

/// Matrix products [m, k] x [k, n] of one core: 2 m n k / rate * (1 + rows / m + columns / n + depth / k) seconds.
struct ProductFigures {
  double rate = 0; ///< FLOP/s of a product without edges
  double rows = 0, columns = 0, depth = 0;
};

/// Attention of one core, or its gradients: FLOP / rate * (1 + rows / m) seconds, with m rows of queries and the FLOP that a causal mask
/// leaves.
struct AttentionFigures {
  double rate = 0, rows = 0;
};

/// Rates are those of one core, in FLOP/s or bytes/s; times are seconds. compiler/cost/CostModel.h says how times follow.
struct Machine {
  std::string name;
  Location location;
  double cores = 0;                       ///< that the ranks on the machine share
  double ranks = 0;                       ///< of a program that stand on one such machine, at most; others have machines of their own
  double spread = 0;                      ///< speed that each further core adds to a long step, in cores
  double grain = 0;                       ///< a step of so many seconds gains half of that
  double launch = 0;                      ///< seconds of a step that does nothing
  double near = 0, nearSize = 0, far = 0; ///< bytes/s of operands that the caches keep, how many bytes they keep, bytes/s of others
  double move = 0;                        ///< bytes/s written by steps that zero or copy
  double operation = 0, function = 0; ///< seconds of one element of a generated kernel: of an operation, of an exponential or the like more
  double link = 0, latency = 0;       ///< bytes/s and seconds of a message between two ranks
  std::array<ProductFigures, productTypes> products;
  std::array<AttentionFigures, machineTypes.size()> attentions, gradients;
};

enum class FigureKind { Cores, Ranks, Share, Seconds, Bytes, Bandwidth, Rate, Rows, Columns, Terms };

/// One figure of a machine.
struct Figure {
  const char *group = "", *type = ""; ///< `product f32 { rate ... }`; type: empty where a group has none
  const char *name = "";
  FigureKind kind = FigureKind::Seconds;
  bool mayBeZero = false;
  const char *meaning = "";
  double *value = nullptr; ///< in the machine that the table was made of

  /// "product.f32.rate"
  std::string path() const;
};

/// All figures, in the order in which they are printed.
std::vector<Figure> figuresOf(Machine &machine);

/// A unit of a kind of figure, and how many of seconds, bytes and so on it is.
struct FigureUnit {
  const char *word;
  double factor;
};
/// From small to large.
const std::vector<FigureUnit> &unitsOf(FigureKind kind);
/// "a bandwidth", "a number of cores"
const char *describe(FigureKind kind);

/// A value with the unit that suits it, such as "9.5 GB/s"; four digits.
std::string figureText(FigureKind kind, double value);

/// The machine as text that reads to the same machine, but for digits after the fourth.
std::string printMachine(const Machine &machine);

} // namespace npar::dsl
