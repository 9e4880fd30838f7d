// Lists which ranks share the model and which are replicas, the blocks of each stage, and the part of each parameter, gradient and
// optimizer state that a rank stores.
//
//   program root --layoutOf--> Layout --+--> layoutText, rankLayoutText  (LayoutText.cpp)
//                                       +--> layoutJson                  (LayoutJson.cpp)
//                                       +--> layoutSvg                   (LayoutSvg.cpp)
//
// Parts are those that a checkpoint is written from (OwnedPieces.h). Nothing here grows with ranks times parameters.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/program/OwnedPieces.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::show {

/// A mesh axis and what its ranks divide.
struct AxisLayout {
  std::string name;
  int64_t size = 1;
  bool samples = false;                ///< the samples of a batch
  bool stages = false;                 ///< the pipeline's stages
  std::vector<std::string> parameters; ///< axes of parameters
  std::vector<std::string> inputs;     ///< axes of inputs, other than the samples
  std::vector<std::string> shares;     ///< "parameters", "gradients", "optimizer": stored in shares (ZeRO)
};

/// A dimension of a variable, and what a rank has of it. `over`: the mesh axes that split it, major to minor.
struct DimensionLayout {
  std::string axis;
  int64_t size = 1, local = 1;
  std::vector<std::string> over;
};

/// A parameter, a gradient or a state of the optimizer in the memory of the ranks of a class.
struct StoredVariable {
  std::string name;             ///< of the program's variable: "wte.weight.exp_avg"
  std::string what;             ///< "parameters", "gradients" or the state's slot, such as "exp_avg"
  std::string type;             ///< "F32"
  uint64_t bytes = 0;           ///< on each rank, padding included
  bool reducedLater = false;    ///< of a gradient: ranks have more of it until the update reduces it to this part
  std::vector<uint32_t> shares; ///< mesh axes whose ranks store a share each of the rectangle, major to minor; empty: all have all of it
  const program::Piece *piece = nullptr;

  /// True if it counts as "parameters", "gradients" or "optimizer".
  bool isPartOf(const std::string &group) const;
};

struct ParameterLayout {
  std::string name;
  std::vector<DimensionLayout> dimensions;
  std::vector<uint32_t> chunks; ///< parts of the stage that use it, ascending; empty: none does
  std::vector<uint32_t> stages; ///< all stages that have it, ascending: more than one for tied parameters
  bool tied = false;            ///< used in several places of the model
  bool frozen = false, state = false;
  std::vector<StoredVariable> stored; ///< parameters first, then gradients, then the optimizer's states

  /// Bytes of `what`; "optimizer" stands for all states.
  uint64_t bytesOf(const std::string &what) const;
  uint64_t elements() const; ///< of the whole parameter
};

/// The ranks of a class, which have the same parameters.
struct StageLayout {
  uint32_t stage = 0, chunks = 1;
  uint32_t programClass = 0;
  int64_t firstRank = 0;   ///< with coordinate 0 on the axes that the class does not fix
  std::string ranks;       ///< "0-1, 4-5"
  std::string coordinates; ///< "pp = 0"
  std::vector<ParameterLayout> parameters;
};

struct Layout {
  const program::Program *program = nullptr; ///< must outlive this
  std::string title;
  int64_t world = 1;
  std::vector<AxisLayout> axes;
  std::vector<uint32_t> modelAxes, replicaAxes; ///< mesh axes that divide parameters, and the others
  std::vector<StageLayout> stages;              ///< by class
  std::vector<int64_t> hostOf, localOf;         ///< by rank; empty: hosts are not known

  /// The ranks that differ from this one along these mesh axes only, itself included, ascending.
  std::vector<int64_t> groupOf(int64_t rank, const std::vector<uint32_t> &axes) const;
  /// "dp = 0, pp = 1"
  std::string coordinatesText(int64_t rank) const;
  const StageLayout &stageOf(int64_t rank) const;
};

/// `places[h]`: the ranks of host h in the order in which they take its places (placeOnHosts); empty: hosts are not known.
Layout layoutOf(const program::Program &program, const std::vector<std::vector<int64_t>> &places);

/// The last names of blocks joined: "h.0-5" for the blocks of `h.0.attn.weight` to `h.5.mlp.bias`.
struct BlockRange {
  std::string path;              ///< "h"; of parameters outside of blocks their own name
  int64_t first = -1, last = -1; ///< -1: no blocks
  std::vector<const ParameterLayout *> parameters;
  std::string text() const;
};
/// The parameters of a chunk in their order, blocks with neighbouring numbers as one range. A parameter that several chunks use is in each.
std::vector<BlockRange> blocksOf(const StageLayout &stage, uint32_t chunk);

std::string layoutText(const Layout &layout);
/// All that one rank stores.
std::string rankLayoutText(const Layout &layout, int64_t rank);
/// `{axes, model_groups, replica_groups, ranks, stages[, rank]}`. `rank`: whose pieces are listed.
OrderedJson layoutJson(const Layout &layout, std::optional<int64_t> rank);
/// A picture: ranks on hosts, and the part of the parameters, gradients and states that ranks store.
std::string layoutSvg(const Layout &layout);

} // namespace npar::show
