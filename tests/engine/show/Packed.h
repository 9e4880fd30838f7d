// Programs for the inspector's tests: the two stages of the verifier's tests with planned times, and a way to hold a packed program.
#pragma once

#include "tests/engine/program/TwoStages.h"

namespace npar::program {

/// Keeps the bytes after a root.
struct Packed {
  flatbuffers::FlatBufferBuilder builder;
  explicit Packed(const ProgramT &program) { builder.Finish(Program::Pack(builder, &program)); }
  const Program &root() const { return *flatbuffers::GetRoot<Program>(builder.GetBufferPointer()); }
};

/// A task's steps share its second; messages are under way before or after it, as the compiler plans them.
inline void shareTimes(ProgramT &program) {
  for (auto &rankClass : program.classes)
    for (auto &fragment : rankClass->fragments) {
      auto transfers = [](const Step &step) { return step.kind() == StepKind::Send || step.kind() == StepKind::Receive; };
      double count = 0, place = 0;
      for (const Step &step : fragment->steps)
        count += transfers(step) ? 0 : 1;
      for (Step &step : fragment->steps)
        if (transfers(step)) {
          step.mutate_begin(step.kind() == StepKind::Send ? 1 : -0.25);
          step.mutate_end(step.begin() + 0.25);
        } else {
          step.mutate_begin(place++ / count);
          step.mutate_end(place / count);
        }
    }
}

/// Stage 0: P 0-1, F 1-2, F 2-3, U 6-7; stage 1: P 0-1, F 2-3, F 3-4, U 6-7. The window of forward tasks is 1-4, each stage works 2 of 3 s.
inline ProgramT timedStages() {
  ProgramT program = twoStages();
  shareTimes(program);
  for (uint32_t stage = 0; stage < 2; ++stage) {
    std::vector<Task> &tasks = program.classes[stage]->tasks;
    double begins[] = {0, 1.0 + stage, 2.0 + stage, 6};
    for (size_t i = 0; i < 4; ++i) {
      tasks[i].mutate_begin(begins[i]);
      tasks[i].mutate_end(begins[i] + 1);
    }
  }
  program.plan = "two";
  program.schedule = "1f1b";
  program.stages = 2;
  return program;
}

} // namespace npar::program
