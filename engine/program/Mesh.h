// Ranks, coordinates and classes: rank = row-major number of its mesh coordinates, the last axis fastest.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::program {

/// Number of ranks.
int64_t worldOf(const Program &program);

/// A rank's coordinate on each mesh axis.
std::vector<int64_t> coordinatesOf(const Program &program, int64_t rank);

int64_t rankAt(const Program &program, const std::vector<int64_t> &coordinates);

/// Index of the class whose fixed coordinates the rank has.
uint32_t classOf(const Program &program, int64_t rank);

/// All ranks of a class, ascending.
std::vector<int64_t> ranksOf(const Program &program, const RankClass &rankClass);

/// The class's fixed coordinate on an axis, -1 when the axis is a parameter of the class.
int64_t fixedCoordinate(const RankClass &rankClass, uint32_t axis);

/// Index of the class with the same fixed coordinates but `coordinate` on a fixed `axis`; -1 when there is none.
int64_t neighbourClass(const Program &program, const RankClass &rankClass, uint32_t axis, int64_t coordinate);

/// The ranks of a collective's group that `rank` belongs to, in member order (row-major over `axes`).
std::vector<int64_t> groupOf(const Program &program, const Collective &collective, int64_t rank);

/// Whether fragments of the phase run once per micro-batch, not once per training step.
bool runsPerMicro(Phase phase);

/// Whether a step orders itself by its dependencies alone, outside of the compute chain: Send, Receive, and collectives that are free.
inline bool isAsync(const Step &step) { return step.kind() == StepKind::Send || step.kind() == StepKind::Receive || step.free(); }

/// How many collectives a Collective step is: more than one for a bucket.
inline uint32_t partsOf(const Step &step) { return step.inputs(); }

/// Elements of a block, which flat pieces are dealt out in (Piece.flat_axes).
constexpr uint64_t flatBlock = 1024;

/// Elements that each of `ranks` ranks holds of a row-major piece of `elements`: whole blocks, equally many, the last ones perhaps padding.
uint64_t flatShare(uint64_t elements, uint64_t ranks);

/// Ranks along mesh axes.
uint64_t ranksAlong(const Program &program, const flatbuffers::Vector<uint32_t> &axes);

/// The number, row-major over mesh axes, that a rank with these coordinates has among the ranks along them.
int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const flatbuffers::Vector<uint32_t> &axes);

/// The same over the axes that split one dimension of a piece: a part of Piece.mesh_axes.
int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const Piece &piece, const PieceDimension &dimension);

/// Bytes of one element.
uint64_t sizeOf(ElementType type);

/// Whether the variable holds the float32 value that a 16-bit parameter, `variable.of()`, is the rounding of.
bool isMaster(const Variable &variable);

/// Index of a parameter's master; -1 when it has none.
int64_t masterOf(const Program &program, uint32_t parameter);

/// `stage0 (ranks 0-3) task B0:1 step 12 "all_reduce h.3.attn" at gpt2.npar:14:3`.
std::string describeStep(const Program &program, const RankClass &rankClass, uint32_t task, uint32_t step);

/// `task B0:1 step 12 "all_reduce h.3.attn" at gpt2.npar:14:3`.
std::string describePlace(const Program &program, const RankClass &rankClass, uint32_t task, uint32_t step);

/// The rank of the class that has coordinate 0 on every mesh axis that is a parameter: `rank 4 (pp = 1, tp = 0)`.
std::string describeExampleRank(const Program &program, const RankClass &rankClass);

/// `F0:1`, or `U0` for a fragment that runs once.
std::string describeTask(const RankClass &rankClass, uint32_t task);

/// `ranks 0-3, 8-11`; of more than eight such runs the first eight, and how many ranks there are.
std::string describeRanks(const Program &program, const RankClass &rankClass);

} // namespace npar::program
