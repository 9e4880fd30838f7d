// Builds small compiled programs by hand: for the tests of the verifier and of the engine, which need no compiler then.
//
//   ProgramT program = emptyProgram({{"pp", 2}}, /*micros=*/2);
//   RankClassT &stage = addClass(program, "stage0", {{0, 0}});
//   uint32_t outbox = addRegion(stage, "outbox", 64, 1);
//   uint32_t f0 = addFragment(stage, "F0", Phase::Forward);
//   addStep(program, stage, f0, StepKind::Zero, 0, {}, {{outbox, 0, 64}}, {}, "make");
//   addStep(program, stage, f0, StepKind::Send, addTransfer(program, 0, 1, /*event=*/0, 16), {{outbox, 0, 64}}, {}, {0}, "send");
//   addTask(program, stage, f0, /*micro=*/0);
//   finishProgram(program);   // communication order
#pragma once

#include "engine/program/Deadlock.h"
#include "engine/program/Loader.h"

#include <map>

namespace npar::program {

struct Span {
  uint32_t region;
  uint64_t offset, bytes;
};

inline ProgramT emptyProgram(const std::vector<std::pair<std::string, uint32_t>> &mesh, int64_t micros) {
  ProgramT program;
  for (const auto &[name, size] : mesh) {
    program.mesh.push_back(std::make_unique<MeshAxisT>());
    program.mesh.back()->name = name;
    program.mesh.back()->size = size;
  }
  program.model = "Hand";
  program.micro_count = micros;
  return program;
}

/// An input of the model, i32 of any values over [batch, seq], which ranks of the class keep whole; the batch has `rows` samples, all in
/// one micro-batch.
inline InputT &addInput(ProgramT &program, RankClassT &rankClass, const std::string &name, int64_t rows, int64_t columns) {
  program.batch = program.micro = rows, program.micro_count = 1;
  program.inputs.push_back(std::make_unique<LogicalInputT>());
  LogicalInputT &logical = *program.inputs.back();
  logical.name = name, logical.type = ElementType::I32, logical.axes = {"batch", "seq"}, logical.shape = {rows, columns};
  rankClass.inputs.push_back(std::make_unique<InputT>());
  InputT &input = *rankClass.inputs.back();
  input.input = static_cast<uint32_t>(program.inputs.size() - 1), input.type = ElementType::I32;
  input.dimensions = {PieceDimension(rows, rows, 0, 0), PieceDimension(columns, columns, 0, 0)};
  input.zigzag = {0, 0};
  return input;
}

/// Appends a region to the arena: `slots` slots of `bytes` (rounded up to 64) each.
inline uint32_t addRegion(RankClassT &rankClass, const std::string &name, uint64_t bytes, uint32_t slots) {
  bytes = (bytes + 63) / 64 * 64;
  rankClass.regions.push_back(std::make_unique<RegionT>());
  RegionT &region = *rankClass.regions.back();
  region.name = name;
  region.bytes = bytes;
  region.slots = slots;
  region.offset = rankClass.arena_bytes;
  rankClass.arena_bytes += bytes * slots;
  return rankClass.regions.size() - 1;
}

inline RankClassT &addClass(ProgramT &program, const std::string &name, const std::map<uint32_t, uint32_t> &fixed,
                            uint64_t staticBytes = 64) {
  program.classes.push_back(std::make_unique<RankClassT>());
  RankClassT &rankClass = *program.classes.back();
  rankClass.name = name;
  rankClass.stage = program.classes.size() - 1;
  for (auto [axis, value] : fixed) {
    rankClass.fixed.push_back(std::make_unique<CoordinateT>());
    rankClass.fixed.back()->axis = axis;
    rankClass.fixed.back()->value = value;
  }
  addRegion(rankClass, "static", staticBytes, 1);
  return rankClass;
}

inline uint32_t addFragment(RankClassT &rankClass, const std::string &name, Phase phase) {
  rankClass.fragments.push_back(std::make_unique<FragmentT>());
  rankClass.fragments.back()->name = name;
  rankClass.fragments.back()->phase = phase;
  return rankClass.fragments.size() - 1;
}

inline uint32_t addTransfer(ProgramT &program, uint32_t axis, uint32_t peer, uint32_t event, uint64_t count,
                            ElementType type = ElementType::F32) {
  program.transfers.push_back(std::make_unique<TransferT>());
  TransferT &transfer = *program.transfers.back();
  transfer.axis = axis;
  transfer.peer = peer;
  transfer.event = event;
  transfer.type = type;
  transfer.count = count;
  return program.transfers.size() - 1;
}

inline uint32_t addAllReduce(ProgramT &program, std::vector<uint32_t> axes, uint32_t event, uint64_t count,
                             ElementType type = ElementType::F32, ReduceOp op = ReduceOp::Sum) {
  program.collectives.push_back(std::make_unique<CollectiveT>());
  CollectiveT &collective = *program.collectives.back();
  collective.kind = CollectiveKind::AllReduce;
  collective.op = op;
  collective.type = type;
  collective.axes = std::move(axes);
  collective.event = event;
  collective.count = count;
  return program.collectives.size() - 1;
}

inline uint32_t addStep(ProgramT &program, RankClassT &rankClass, uint32_t fragment, StepKind kind, uint32_t payload,
                        const std::vector<Span> &inputs, const std::vector<Span> &outputs, const std::vector<uint32_t> &dependencies,
                        const std::string &label) {
  FragmentT &owner = *rankClass.fragments[fragment];
  program.labels.push_back(std::make_unique<LabelT>());
  program.labels.back()->text = label;
  owner.steps.emplace_back(kind, 0, inputs.size(), outputs.size(), 0, owner.operands.size(), payload, owner.dependencies.size(),
                           dependencies.size(), program.labels.size() - 1, 0.0, 0.0, 0.0);
  for (const std::vector<Span> *places : {&inputs, &outputs})
    for (const Span &place : *places)
      owner.operands.emplace_back(place.region, 0, place.offset, place.bytes);
  owner.dependencies.insert(owner.dependencies.end(), dependencies.begin(), dependencies.end());
  return owner.steps.size() - 1;
}

/// Appends a task; `slots` gives the slot of each region that is not at slot 0. Planned time: one second per task.
inline uint32_t addTask(RankClassT &rankClass, uint32_t fragment, uint32_t micro, const std::map<uint32_t, uint32_t> &slots = {}) {
  uint32_t index = rankClass.tasks.size();
  rankClass.tasks.emplace_back(fragment, micro, rankClass.bases.size(), 0, double(index), double(index + 1));
  for (uint32_t region = 0; region < rankClass.regions.size(); ++region) {
    auto slot = slots.find(region);
    rankClass.bases.push_back(rankClass.regions[region]->offset +
                              (slot == slots.end() ? 0 : slot->second) * rankClass.regions[region]->bytes);
  }
  return index;
}

/// Chooses the communication order; to be called last. False when the program has a deadlock already.
inline bool finishProgram(ProgramT &program) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Program::Pack(builder, &program));
  auto orders = orderCommunication(*flatbuffers::GetRoot<Program>(builder.GetBufferPointer()));
  for (size_t i = 0; orders && i < program.classes.size(); ++i)
    program.classes[i]->communication_order = (*orders)[i];
  return orders.has_value();
}

} // namespace npar::program
