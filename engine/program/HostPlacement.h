// Which host runs which ranks: the order in which a plan (`place`) or a person (`--place`) puts the ranks of a mesh onto hosts.
//
//   mesh dp = 2, pp = 2, tp = 2, so rank = 4 dp + 2 pp + tp; two hosts of four ranks
//     place dp, pp, tp     0 1 2 3 | 4 5 6 7       the mesh's own order, which is also the default
//     place pp, dp, tp     0 1 4 5 | 2 3 6 7       a stage on each host
//     place tp, pp, dp     0 4 2 6 | 1 5 3 7       what exchanges most stands furthest apart
//
// Ranks are numbered by the mesh whatever the order: sums go by mesh coordinate (RULES.md#n5), so that placing moves bytes and changes
// none.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::program {

/// What `place` says, in its own words. In `order` mesh axes, major to minor, or one word alone (those of `placement_strategy` in Amazon
/// SageMaker's model parallel library): `cluster` keeps a replica of the model together (the axes of the batch, then the pipeline's, then
/// all others; DPT there), `spread` keeps equal parts of the replicas together (all others, the pipeline's, those of the batch; TPD);
/// empty: as the mesh has them. The axes of `inside` come last, after those of the order, and no group of ranks along them may reach over
/// hosts.
struct PlaceWords {
  std::vector<std::string> order, inside;
  std::string source; ///< who says so, for messages: "--place", "place at gpt2.npar:14"

  /// "pp, dp inside tp"; "as the mesh" where nothing is said.
  std::string text() const;
};

/// What the plan says.
PlaceWords placeOf(const Program &program);
/// Reads the value of `--place`: names parted by commas or blanks, after `inside` those that stay inside a host.
engine::Result<PlaceWords> readPlace(const std::string &text);

/// What a mesh axis is for, in the order of `cluster`.
enum class AxisRole : uint8_t { Batch, Pipeline, Other };

/// What placing asks of a mesh.
struct PlacedAxis {
  std::string name;
  int64_t size = 1;
  AxisRole role = AxisRole::Other;
};
using PlacedMesh = std::vector<PlacedAxis>;
PlacedMesh placedMesh(const Program &program);

/// All mesh axes, major to minor: the ranks take the places of the hosts in row-major order over them. The last `inside` stay inside a
/// host.
struct PlaceOrder {
  std::vector<uint32_t> axes;
  uint32_t inside = 0;
};

/// Refuses names that are no mesh axes, axes named twice, and axes of more than one rank left out. An axis that was cut for a product axis
/// ("tp.0", "tp.1") also has its old name, which stands for its parts.
engine::Result<PlaceOrder> placeOrder(const PlacedMesh &mesh, const PlaceWords &words);
engine::Result<PlaceOrder> placeOrder(const Program &program, const PlaceWords &words);

/// The ranks in the order in which they take places.
std::vector<int64_t> ranksInOrder(const PlacedMesh &mesh, const PlaceOrder &order);

/// A host and how many ranks it holds, at least one.
struct HostRoom {
  std::string name;
  int64_t ranks = 0;
};

/// For each host its ranks, in the order in which they take its places. Refuses hosts that do not hold as many ranks as the mesh has, and
/// hosts that groups along the axes of `inside` cannot fill, with the numbers that would do.
engine::Result<std::vector<std::vector<int64_t>>> placeOnHosts(const Program &program, const PlaceWords &words,
                                                               const std::vector<HostRoom> &hosts);

/// The ranks of each process, ascending; `hosts` names the host of each. A host's processes fill up in ascending order, hosts by their
/// lowest process. All processes get as many ranks: numbers for which that cannot be are refused with those that would do.
engine::Result<std::vector<std::vector<int64_t>>> ranksOfProcesses(const Program &program, const PlaceWords &words,
                                                                   const std::vector<std::string> &hosts);

/// The mesh as people write it: "dp = 2, pp = 2".
std::string meshText(const Program &program);

} // namespace npar::program
