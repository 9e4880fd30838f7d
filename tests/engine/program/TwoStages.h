// A correct two-stage program with everything that the verifier looks at: the tests damage it in one place each.
#pragma once

#include "tests/engine/program/ProgramBuilder.h"

namespace npar::program {

/// Mesh pp = 2, tp = 2; two micro-batches. Stage 0 computes, reduces over tp and sends event 0; stage 1 receives it into an inbox of one
/// slot, adds it to an accumulator; the update reduces event 9 over both axes. One parameter "w" per stage.
inline ProgramT twoStages() {
  ProgramT program = emptyProgram({{"pp", 2}, {"tp", 2}}, 2);
  uint32_t reduce = addAllReduce(program, {1}, 0, 16), norm = addAllReduce(program, {0, 1}, 9, 16);
  uint32_t send = addTransfer(program, 0, 1, 0, 16), receive = addTransfer(program, 0, 0, 0, 16);
  program.kernels.push_back(std::make_unique<KernelT>());
  program.kernels.back()->symbol = "k0";
  for (uint32_t stage = 0; stage < 2; ++stage) {
    program.variables.push_back(std::make_unique<VariableT>());
    VariableT &variable = *program.variables.back();
    variable.name = "w" + std::to_string(stage);
    variable.axes = {"embed"};
    variable.shape = variable.stored = {31};
    RankClassT &rankClass = addClass(program, "stage" + std::to_string(stage), {{0, stage}}, 128);
    rankClass.pieces.push_back(std::make_unique<PieceT>());
    PieceT &piece = *rankClass.pieces.back();
    piece.variable = stage;
    piece.bytes = 64;
    piece.dimensions = {{31, 16, 0, 1}};
    piece.mesh_axes = {1};
    piece.owner = true;
    Span weight = {0, 0, 64}, sum = {0, 64, 64};
    uint32_t box = addRegion(rankClass, stage ? "inbox" : "outbox", 64, 1), scratch = addRegion(rankClass, "scratch", 128, 1);
    Span boxed = {box, 0, 64}, local = {scratch, 0, 64}, other = {scratch, 64, 64};
    uint32_t start = addFragment(rankClass, "P", Phase::Prologue),
             forward = addFragment(rankClass, "F" + std::to_string(stage), Phase::Forward),
             update = addFragment(rankClass, "U" + std::to_string(stage), Phase::Update);
    addStep(program, rankClass, start, StepKind::Zero, 0, {}, {sum}, {}, "zero");
    if (stage == 0) {
      addStep(program, rankClass, forward, StepKind::Kernel, 0, {weight}, {local}, {}, "product");
      addStep(program, rankClass, forward, StepKind::Collective, reduce, {local}, {boxed}, {0}, "all_reduce");
      addStep(program, rankClass, forward, StepKind::Send, send, {boxed}, {}, {1}, "send");
    } else {
      addStep(program, rankClass, forward, StepKind::Receive, receive, {}, {boxed}, {}, "receive");
      addStep(program, rankClass, forward, StepKind::Kernel, 0, {boxed, weight}, {local}, {0}, "product");
      addStep(program, rankClass, forward, StepKind::Kernel, 0, {sum, local}, {sum}, {1}, "accumulate");
    }
    addStep(program, rankClass, update, StepKind::Kernel, 0, {sum}, {local}, {}, "squares");
    addStep(program, rankClass, update, StepKind::Collective, norm, {local}, {other}, {0}, "norm");
    addStep(program, rankClass, update, StepKind::Kernel, 0, {weight, sum, other}, {weight}, {1}, "adamw");
    addTask(rankClass, start, 0);
    addTask(rankClass, forward, 0);
    addTask(rankClass, forward, 1);
    addTask(rankClass, update, 0);
    // The box is used again: its writer waits for the earlier reader.
    if (stage == 0)
      rankClass.task_dependencies = {{2, 1, 1, 2}};
    else
      rankClass.task_dependencies = {{2, 0, 1, 1}};
  }
  finishProgram(program);
  return program;
}

} // namespace npar::program
