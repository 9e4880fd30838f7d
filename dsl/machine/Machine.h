// A machine that programs are planned for: the figures from which the cost model computes times. A single table lists all figures, for
// reading, printing and passing them on.
#pragma once

#include "dsl/Diagnostics.h"
#include "engine/program/Elements.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace npar::dsl {

/// The number of floating types, for which a machine has figures, and of those with products.
constexpr size_t countTypes(bool withProducts) {
  size_t count = 0;
  for (const program::ElementRow &row : program::elementRows)
    count += program::isFloating(row.type) && (!withProducts || program::hasProductSteps(row.type));
  return count;
}
constexpr size_t productTypes = countTypes(true);

/// The words of the types, in the order of the machine's lists (program::ElementRow::machineIndex). Those with products come first.
constexpr std::array<const char *, countTypes(false)> machineTypes = [] {
  std::array<const char *, countTypes(false)> words = {};
  for (const program::ElementRow &row : program::elementRows)
    if (program::isFloating(row.type))
      words[row.machineIndex] = row.planWord;
  return words;
}();
constexpr bool areProductsFirst() {
  for (const program::ElementRow &row : program::elementRows)
    if (program::isFloating(row.type) && program::hasProductSteps(row.type) != (row.machineIndex < productTypes))
      return false;
  return true;
}
static_assert(areProductsFirst(), "a machine's lists of products hold the first types alone");

/// Matrix products [m, k] x [k, n] of one core or device: 2 m n k / rate * (1 + rows / m + columns / n + depth / k) seconds. Devices
/// compute whole tiles of the result, one on each unit at a time: the 1 becomes what that takes longer (compiler/cost/CostModel.h).
struct ProductFigures {
  double rate = 0; ///< FLOP/s of a product without edges; 0: the machine has no figures of this type
  double rows = 0, columns = 0, depth = 0;
  double tileRows = 0, tileColumns = 0; ///< size of the largest tile; 0: tiles do not matter
  double halved = 0;                    ///< share of the rate that is left with a tile of half the size; 0: there are none
  double peak = 0;                      ///< FLOP/s that the maker of the device states, without sparsity; 0: not stated
};

/// Attention of one core or device, or its gradients: FLOP / rate * (1 + rows / m) seconds, with m rows of queries and the FLOP that a
/// causal mask leaves.
struct AttentionFigures {
  double rate = 0, rows = 0;
};

/// The kinds of links, from near to far: between two devices, inside a host, between the hosts of a rack, between all hosts.
enum class LinkLevel : uint8_t { Pair, Host, Rack, Cluster };
constexpr std::array<const char *, 4> linkLevels = {"pair", "host", "rack", "cluster"};

/// Ranks use the link of a level if no nearer level joins them.
struct LinkFigures {
  double bandwidth = 0; ///< bytes/s that a rank sends where all of them do; 0: the machine has no such level
  double latency = 0;   ///< seconds before a message's first byte
  double hosts = 0;     ///< Rack: hosts that it joins
  double message = 0;   ///< bytes/s of a message from one rank to another, which a collective's many are faster than; 0: as `bandwidth`
  double holds = 0;     ///< share of a message's time in which its two ranks do not compute
  double reduce = 0;    ///< bytes/s of a rank's vector that the network itself sums; 0: it does not
  double hop = 0;       ///< seconds that each step of a ring over the level costs; 0: collectives take log2 n latencies
  double tree = 0;      ///< share of the bandwidth that all-reduces along trees reach; 0: there are none
  double beside = 0;    ///< share of a collective that overlaps with the product before or after it, piece by piece
};

/// The way from a rank's device to a tier of memory outside of it.
struct TierFigures {
  double bandwidth = 0; ///< bytes/s that a rank moves where all of them do; 0: the machine has no figures of the tier
  double latency = 0;   ///< seconds before the first byte
  double memory = 0;    ///< Host: bytes/s of operands that a rank's share of the processor computes with
};

/// A cache that each core of a processor has for itself.
struct CacheFigures {
  double bandwidth = 0, size = 0; ///< bytes/s of operands that it keeps, how many bytes it keeps; 0: the machine has no figures of it
};

/// Ranks share the cores of a processor; a device is a rank's own.
enum class MachineKind : uint8_t { Processor, Device };

struct HostKind;

/// Rates are those of one core or of a whole device, in FLOP/s or bytes/s; times are in seconds. compiler/cost/CostModel.h computes times
/// from them. Figures that a kind of machine does not have are 0.
struct Machine {
  std::string name;
  Location location;
  MachineKind kind = MachineKind::Processor;
  double cores = 0;                       ///< cores that the ranks on the machine share; 1 for a device
  double ranks = 0;                       ///< most ranks of a program on one such host; others are on further hosts
  double spread = 0;                      ///< speed that each further core adds to a long step, in cores
  double grain = 0;                       ///< length in seconds at which a step gains half of that
  double room = 0;                        ///< bytes of memory, of a device its own; 0: unknown
  double units = 0;                       ///< multiprocessors of a device, which compute a tile of a product each; 0: they do not matter
  double reserved = 0;                    ///< bytes of it that no program gets: the device's context, libraries, buffers of messages
  double fragments = 0;                   ///< share of it that is lost between allocations
  double price = 0;                       ///< dollars per hour and host; 0: unknown
  double launch = 0;                      ///< seconds of a step that does nothing
  CacheFigures cache;                     ///< cache of each core
  double near = 0, nearSize = 0, far = 0; ///< bytes/s of operands that the caches keep, how many bytes they keep, bytes/s of others
  double move = 0;                        ///< bytes/s written by steps that zero or copy
  double operation = 0, function = 0; ///< seconds per element in a generated kernel: of an operation, extra for exponentials and the like
  std::array<LinkFigures, linkLevels.size()> links;
  TierFigures hostTier, fileTier; ///< a processor's host tier is its own memory, which has the figures above
  std::array<ProductFigures, productTypes> products;
  ProductFigures tf32; ///< products of float32 whose operands are rounded to TF32; rate 0: they are as those of float32
  std::array<AttentionFigures, machineTypes.size()> attentions, gradients;
  /// The kinds of hosts of an uneven machine, in the order in which ranks fill them (dsl/machine/Hosts.h). The machine's own figures are
  /// then only links, for ranks on several kinds of hosts. Empty: all hosts have the figures above.
  std::vector<HostKind> kinds;

  const LinkFigures &link(LinkLevel level) const { return links[static_cast<size_t>(level)]; }
  LinkFigures &link(LinkLevel level) { return links[static_cast<size_t>(level)]; }
};

/// A number of equal hosts of an uneven machine.
struct HostKind {
  std::string word; ///< name of their machine in the file
  int64_t hosts = 1;
  Machine machine; ///< of one kind
};

enum class FigureKind { Cores, Ranks, Devices, Hosts, Share, Seconds, Bytes, Bandwidth, Rate, Rows, Columns, Terms, Price, Units };

/// The machines that must have a figure: all, those with another figure of its group, none.
enum class FigureNeed { Always, Group, Never };

/// One figure of a machine.
struct Figure {
  const char *group = "", *type = ""; ///< `product f32 { rate ... }`; type: empty where a group has none
  const char *name = "";
  FigureKind kind = FigureKind::Seconds;
  FigureNeed need = FigureNeed::Always;
  bool mayBeZero = false;
  const char *meaning = "";
  double *value = nullptr; ///< the value in the machine that the table describes

  /// "product.f32.rate"
  std::string path() const;
};

/// Returns whether products and attention in a type, an index into machineTypes, have figures on all kinds of hosts.
bool computesIn(const Machine &machine, size_t type);

/// Gives the hosts that lack figures of a type those of another type.
void standIn(Machine &machine, size_t lacking, size_t known);

/// All figures that machines of its kind may have, in the order in which they are printed.
std::vector<Figure> figuresOf(Machine &machine);

/// The figures that the text of an uneven machine has: only figures of links between hosts of different kinds.
std::vector<Figure> figuresBetween(Machine &machine);

/// The figures that the text of this machine states: all except optional ones without a value.
std::vector<Figure> figuresSaid(Machine &machine);

/// A unit of a kind of figure, and how many of seconds, bytes and so on it is.
struct FigureUnit {
  const char *word;
  double factor;
};
/// The units of a kind, from small to large.
const std::vector<FigureUnit> &unitsOf(FigureKind kind);
/// "a bandwidth", "a number of cores"
const char *describe(FigureKind kind);

/// A value with the unit that suits it, such as "9.5 GB/s"; four digits.
std::string figureText(FigureKind kind, double value);

/// The machine as text. Reading it gives the same machine, with figures rounded to four digits.
std::string printMachine(const Machine &machine);

} // namespace npar::dsl
