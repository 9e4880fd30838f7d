// Assigns the ranks of a mesh to hosts, in the order given by a plan (`place`) or a user (`--place`).
//
//   mesh dp = 2, pp = 2, tp = 2, so rank = 4 dp + 2 pp + tp; two hosts of four ranks
//     place dp, pp, tp     0 1 2 3 | 4 5 6 7       the mesh's own order, which is also the default
//     place pp, dp, tp     0 1 4 5 | 2 3 6 7       a stage on each host
//     place tp, pp, dp     0 4 2 6 | 1 5 3 7       ranks that exchange most are furthest apart
//
// Ranks are numbered by the mesh, whatever the order. Sums follow mesh coordinates (RULES.md#n5), so placement moves bytes and changes no
// result.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::program {

/// The words of a `place` clause. `order` holds mesh axes, major to minor, or a single strategy, named as in `placement_strategy` of Amazon
/// SageMaker's model parallel library: `cluster` keeps a replica of the model together (batch axes, then the pipeline's, then all others;
/// DPT there), `spread` keeps equal parts of the replicas together (all others, the pipeline's, the batch axes; TPD). Empty means the order
/// of the mesh. The axes of `inside` come last, after those of the order, and no group of ranks along them may span hosts.
struct PlaceWords {
  std::vector<std::string> order, inside;
  std::string source; ///< where the words come from, for messages: "--place", "place at gpt2.npar:14"

  /// "pp, dp inside tp"; "as the mesh" if both lists are empty.
  std::string text() const;
};

/// The plan's `place` clause.
PlaceWords placeOf(const Program &program);
/// Parses the value of `--place`: names separated by commas or blanks; the axes after `inside` stay inside a host.
engine::Result<PlaceWords> readPlace(const std::string &text);

/// Purpose of a mesh axis, in the order of `cluster`.
enum class AxisRole : uint8_t { Batch, Pipeline, Other };

/// The properties of a mesh axis that placement uses.
struct PlacedAxis {
  std::string name;
  int64_t size = 1;
  AxisRole role = AxisRole::Other;
};
using PlacedMesh = std::vector<PlacedAxis>;
PlacedMesh placedMesh(const Program &program);

/// All mesh axes, major to minor: the ranks take the places of the hosts in row-major order over them. The last `inside` axes stay inside a
/// host.
struct PlaceOrder {
  std::vector<uint32_t> axes;
  uint32_t inside = 0;
};

/// Refuses names that are not mesh axes, axes named twice, and missing axes of more than one rank. An axis that was cut for a product axis
/// ("tp.0", "tp.1") can still be named "tp", which refers to all of its parts.
engine::Result<PlaceOrder> placeOrder(const PlacedMesh &mesh, const PlaceWords &words);
engine::Result<PlaceOrder> placeOrder(const Program &program, const PlaceWords &words);

/// The ranks in the order in which they take places.
std::vector<int64_t> ranksInOrder(const PlacedMesh &mesh, const PlaceOrder &order);

/// A host and how many ranks it holds, at least one.
struct HostRoom {
  std::string name;
  int64_t ranks = 0;
};

/// The ranks of each host, in the order in which they take its places. Refuses hosts that do not hold as many ranks as the mesh has, and
/// hosts that groups along the axes of `inside` cannot fill, and names numbers that would work.
engine::Result<std::vector<std::vector<int64_t>>> placeOnHosts(const Program &program, const PlaceWords &words,
                                                               const std::vector<HostRoom> &hosts);

/// The ranks of each process, ascending; `hosts` names the host of each. A host's processes fill up in ascending order, hosts by their
/// lowest process. All processes get the same number of ranks; numbers that make this impossible are refused, with numbers that would work.
engine::Result<std::vector<std::vector<int64_t>>> ranksOfProcesses(const Program &program, const PlaceWords &words,
                                                                   const std::vector<std::string> &hosts);

/// The mesh as it is written in a plan: "dp = 2, pp = 2".
std::string meshText(const Program &program);

} // namespace npar::program
