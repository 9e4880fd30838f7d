// Memory allocation: from fragments of steps over values to a class of ranks in the form of the compiled program. No MLIR.
//
// Regions of a class: "static" (variables), "scratch" (temporaries, one slot for all tasks, since compute steps are chained task after
// task, and a second one for tasks that overlap the one before them), "input" (data, a slot per micro-batch), a box per sent or received
// value, a stash per fragment that keeps values and set of fragments that use them ("stash_F0_B0": what F0 keeps for B0), so that what only
// the backward needs is free before the weight gradients, and in forward-only programs "result" (what a step leaves, a slot per
// micro-batch). Variables in another tier than the device's are in the region of that tier, "host" or "file", and what copies between
// tiers make in the host's memory is in "host_scratch".
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace npar::memory {

constexpr uint32_t none = ~0u;

/// A value of a fragment. Values with `alias` share the storage of another value that was defined before.
struct ValueModel {
  uint64_t bytes = 0;
  uint32_t alias = none;
  uint32_t variable = none;   ///< the value read from this variable of the class ...
  uint32_t readAt = 0;        ///< ... at this place in the order of reads, writes and steps
  uint32_t input = none;      ///< the data buffer with this index
  uint32_t result = none;     ///< left in the result buffer with this index
  uint32_t event = none;      ///< received by this transfer event
  std::string stash;          ///< kept for later fragments under this name
  std::string unstash;        ///< kept by an earlier fragment under this name
  std::vector<uint32_t> sent; ///< sent by these transfer events
  program::Tier tier = program::Tier::Device; ///< of scratch and of what is kept; a value that is read from a variable has the variable's
};

/// The queue that a step waits in: the compute chain, or a link between two tiers, one for each direction.
enum class Lane : uint8_t { Compute, ToHost, ToDevice, FromFile, ToFile };
constexpr size_t laneCount = 5;

/// The lane of a copy between tiers. A copy between a device and a file counts as one of the file.
Lane laneOfCopy(program::Tier from, program::Tier to);

/// A step over values. `inplace` lists (output, input) that may share storage.
struct Action {
  program::StepKind kind = program::StepKind::Kernel;
  uint32_t payload = 0, label = 0;
  std::vector<uint32_t> inputs, outputs;
  std::vector<uint64_t> inputOffsets; ///< bytes skipped at the beginning of an input; empty: none
  uint32_t accumulator = none;        ///< Matmul: the value that the product is added to; it shares the output's storage
  std::vector<std::pair<uint32_t, uint32_t>> inplace;
  double flops = 0, seconds = 0;
  double cores = 1;      ///< the work of how many it does meanwhile
  Lane lane = Lane::Compute;
  uint32_t order = 0;    ///< position in the order of reads, writes and steps
  bool free = false;     ///< Collective: outside of the compute chain
  uint32_t until = none; ///< Collective: index of the last action that is meant to run meanwhile, so that it keeps its operands until then
};

/// nn.write: the variable has this value from `order` on.
struct Write {
  uint32_t variable = 0, value = 0, label = 0, order = 0;
};

struct FragmentModel {
  std::string name;
  program::Phase phase = program::Phase::Forward;
  uint32_t chunk = 0; ///< number among the class's parts of the model
  std::vector<ValueModel> values;
  std::vector<Action> actions;
  std::vector<Write> writes;
  double secondsPerByte = 0; ///< cost of the copies that allocation adds
  double fileLatency = 0, fileSecondsPerByte = 0; ///< the same of those to files
};

struct VariableModel {
  uint32_t variable = 0; ///< index in the program
  program::VariableKind kind = program::VariableKind::Parameter;
  uint64_t bytes = 0;
  std::unique_ptr<program::PieceT> piece; ///< the offset is filled in
  std::string output;                     ///< name among outputs, for kind Output
  program::Tier tier = program::Tier::Device;
};

struct InputModel {
  uint64_t bytes = 0;                     ///< in one micro-batch
  std::unique_ptr<program::InputT> input; ///< region and offset are filled in
};

struct ResultModel {
  uint64_t bytes = 0;                             ///< in one micro-batch
  std::unique_ptr<program::ResultBufferT> result; ///< region and offset are filled in
};

struct TaskModel {
  uint32_t fragment = 0, micro = 0;
  double begin = 0, end = 0;
  bool overlaps = false; ///< runs at the same time as the task before it, which must be for another micro-batch
};

struct ClassModel {
  std::string name;
  uint32_t stage = 0;
  std::vector<std::pair<uint32_t, uint32_t>> fixed; ///< mesh axis, coordinate
  std::vector<VariableModel> variables;
  std::vector<InputModel> inputs;
  std::vector<ResultModel> results;
  std::vector<FragmentModel> fragments;
  std::vector<TaskModel> tasks; ///< in order
};

struct AllocationOptions {
  uint32_t microCount = 1;
  uint32_t spareSlots = 1; ///< slots per box beyond those that live instances need, unless there are no more instances
};

/// Allocates the memory of a class: regions, operands, dependencies, slots, task dependencies, statistics. Everything but the communication
/// order. On failure `error` says why.
std::unique_ptr<program::RankClassT> allocateClass(const ClassModel &model, const AllocationOptions &options, std::string &error);

/// Edges that order Send and Receive steps after earlier and before later users of their memory in other tasks; edges that follow from
/// others are left out. Fills `rankClass.task_dependencies`.
void addReuseDependencies(program::RankClassT &rankClass);

/// Gives the steps of the update their planned times, all classes together: a step waits for the steps before it in the fragment that it
/// depends on, a message for its sender, a collective for all members. The end of the update's tasks follows.
void timeUpdates(program::ProgramT &program);

/// Fills the communication orders of a program whose classes have their memory. Empty, or the deadlock that lets no order exist.
std::string orderCommunication(program::ProgramT &program);

} // namespace npar::memory
