// Pipelined training programs without arithmetic, of any size and with every kind of communication, from which the tests of the checks
// start.
#pragma once

#include "tests/engine/program/ProgramBuilder.h"

#include <optional>
#include <random>

namespace npar::program {

/// Mesh [dp, pp, cp, tp]; classes fix pp and cp. Class index = stage * cp + coordinate on cp.
struct PipelineShape {
  uint32_t stages = 2, micros = 2, dp = 1, tp = 1, cp = 1;
  uint32_t slots = 0;         ///< slots of every box; 0: one per micro-batch, so that no memory is reused
  bool splitBackward = false; ///< B and W apart
  bool overlaps = false;      ///< B has memory of its own, so that it can overlap an F
  bool tpReductions = true;   ///< one all_reduce over tp in every F and B: "reduce F", "reduce B"
  bool cpReductions = false;  ///< one over cp in every F: "exchange"
  bool count = false;         ///< P: an all_reduce over all axes, "count"
  bool tied = false;          ///< U: first and last stage send each other the gradient of a tied weight: "send tied", "recv tied"
  bool norm = true;           ///< U: an all_reduce over all axes, "norm"
  bool groups = false;        ///< U: an all_reduce over pp, "reduce pp", then one over dp and pp, "reduce dp pp"
  bool ring = false;          ///< U: each stage sends to the next, the last to the first: "send ring", "recv ring"
  std::vector<std::pair<uint32_t, uint32_t>> skips; ///< F: tensors from one stage to a later one: "send skip", "recv skip"
};

/// A task of a stage: 'F', 'B' or 'W' of a micro-batch. Prologue and update are added.
struct PipelineTask {
  char phase;
  uint32_t micro;
};
using PipelineOrder = std::vector<std::vector<PipelineTask>>; // by stage

PipelineOrder oneForwardOneBackward(const PipelineShape &shape);
/// Any order that a pipeline can run: stages take turns at random with what is ready.
PipelineOrder drawOrder(const PipelineShape &shape, std::mt19937 &chance);

/// Steps of F: "recv act", "forward", "reduce F", "exchange", "close F", "send act"; of B: "recv grad", "backward", "reduce B", "close B",
/// "send grad"; of W: "weight". No communication order yet.
ProgramT buildPipeline(const PipelineShape &shape, const PipelineOrder &order);

/// Gives each class the order in which its communication completes in a simulation. False when the simulation hangs.
bool orderBySimulation(ProgramT &program, std::mt19937 &chance);

/// 1F1B with the order of communication that the compiler would choose.
ProgramT goodPipeline(const PipelineShape &shape);

/// A packed program and its root.
class Packed {
public:
  explicit Packed(const ProgramT &program) { builder.Finish(Program::Pack(builder, &program)); }
  const Program &root() const { return *flatbuffers::GetRoot<Program>(builder.GetBufferPointer()); }

private:
  flatbuffers::FlatBufferBuilder builder;
};

/// A step by its label in the task of a micro-batch; nothing when there is none.
std::optional<CommunicationRef> findStep(const ProgramT &program, uint32_t rankClass, const std::string &label, uint32_t micro = 0);

/// `task F0:1 step 3 "send act"`, as messages name it.
std::string textOf(const ProgramT &program, uint32_t rankClass, const CommunicationRef &step);

} // namespace npar::program
