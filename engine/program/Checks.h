// The single checks that Verify.h runs: each returns an empty string, or what is wrong and where. All but the first rely on the first.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::program {

/// The largest product of sizes: sums of a few of them fit into 64 bits.
constexpr uint64_t largestSize = uint64_t(1) << 62;

/// Indices in range, enumerations known, operands inside their regions, bases on slots, dependencies earlier, sizes consistent.
std::string checkStructure(const Program &program);

/// Parts of checkStructure. The model's inputs: names, types, shapes over the batch, values, at most one of each role but Other.
std::string checkInputs(const Program &program);
/// Also part of checkStructure. A class's buffers for the inputs: the inputs are known, the parts together cover the whole shape, each
/// region has a slot per micro-batch, and P10 holds for the samples.
std::string checkInputs(const Program &program, const RankClass &rankClass);

/// Also part of checkStructure. The data block, if the program has one: each input is fed by one group of files, all of one kind.
std::string checkData(const Program &program);

/// Part of checkStructure too. Attention: sizes, types and strides of each operand; what a step's operands must hold is `reachesBeyond`.
std::string checkAttentions(const Program &program);

/// Parts of checkStructure. Mesh axes that `what` names: they exist, each once. Each collective by itself: its kind, types and axes, and
/// whether its geometry, shares and pieces of rows fit.
std::string checkAxes(const Program &program, const flatbuffers::Vector<uint32_t> &axes, const std::string &what);
std::string checkCollectiveSizes(const Program &program);

/// Bytes of the operands of a collective that checkCollectiveSizes accepts. Ends are 0 without pieces of rows.
struct CollectiveBytes {
  uint64_t input = 0, output = 0, inputEnds = 0, outputEnds = 0;
};
CollectiveBytes bytesOf(const Program &program, const Collective &collective);

/// Part of checkStructure as well. Matrix products: sizes, types, and what is grouped.
std::string checkMatmuls(const Program &program);
/// The number of operands that a step of the product reads.
uint32_t matmulInputs(const Matmul &matmul);
/// Returns whether the product reaches beyond one of its operands, inputs first, whose sizes in bytes are `sizes`.
bool reachesBeyond(const Matmul &matmul, const std::vector<uint64_t> &sizes);

/// Also part of checkStructure. The kind of the program, and its results: names, types, shapes over the batch. Only forward-only programs
/// have results.
std::string checkResults(const Program &program);
/// A forward-only program holds and runs nothing of a training step. Each result is kept by one class: all of its shape, in a region with a
/// slot per micro-batch.
std::string checkKeptResults(const Program &program);

/// Each (event, micro) has one send and one receive that name each other, with equal count and type.
std::string checkTransfers(const Program &program);

/// Each rank of a collective's group runs the same instance once: kind, operator, type, count, axes and geometry agree.
std::string checkCollectives(const Program &program);

/// The merged event graph is acyclic (see Deadlock.h).
std::string checkDeadlock(const Program &program);

/// Each element of each parameter and optimizer state belongs to exactly one rank.
std::string checkOwnership(const Program &program);

/// Regions and pieces do not overlap, and steps that may run at the same time never touch the same bytes when one writes them.
std::string checkMemory(const Program &program);

} // namespace npar::program
