// A pipeline of two stages under data parallelism, written by hand: the smallest program with every kind of communication in its place.
#include "tests/engine/runtime/PipelineProgram.h"

namespace npar::testing {

using namespace program;

std::unique_ptr<ProgramBuilder> pipelineProgram(const PipelineShape &shape) {
  auto owner = std::make_unique<ProgramBuilder>(std::vector<std::pair<std::string, uint32_t>>{{"dp", shape.dataParallel}, {"pp", 2}});
  ProgramBuilder &b = *owner;
  b.program.micro_count = shape.micros, b.program.micro = 1;
  b.program.batch = shape.micros * shape.dataParallel;
  b.program.data_axes = {0};
  b.program.stages = 2;
  if (shape.kernels)
    b.useTestKernels();
  int64_t width = shape.width;
  uint64_t bytes = static_cast<uint64_t>(width) * 4, count = static_cast<uint64_t>(width);
  uint32_t w[2], acc[2];
  for (int stage = 0; stage < 2; ++stage)
    w[stage] = b.variable("w" + std::to_string(stage), VariableKind::Parameter, ElementType::F32, {width});
  for (int stage = 0; stage < 2; ++stage)
    acc[stage] =
        b.variable("w" + std::to_string(stage) + ".grad.0", VariableKind::Accumulator, ElementType::F32, {width}, int32_t(w[stage]));
  uint32_t scale = b.kernel("scale_tokens", width), addLoss = b.kernel("add_loss", width / 4), accumulate = b.kernel("accumulate", width),
           descend = b.kernel("descend", width);

  for (uint32_t stage = 0; stage < 2; ++stage) {
    ClassBuilder &c = b.rankClass("stage" + std::to_string(stage), {{1, stage}});
    std::string s = std::to_string(stage);
    Span weight = c.fixed(bytes), gradient = c.fixed(bytes), loss = c.fixed(8);
    c.piece(w[stage], weight, {width}, {width}, {{}});
    c.piece(acc[stage], gradient, {width}, {width}, {{}});
    Span x = c.perMicro("x", bytes), dx = c.perMicro("dx", bytes);
    uint32_t prologue = 0;
    if (shape.prologue) {
      prologue = c.fragment("P" + s, Phase::Prologue);
      c.step(StepKind::Zero, 0, {}, {gradient}, {}, "zero gradient");
      c.step(StepKind::Zero, 0, {}, {loss}, {}, "zero loss");
    }
    uint32_t forward = c.fragment("F" + s, Phase::Forward);
    if (stage == 0) {
      Span tokens = c.perMicro("tokens", 16);
      c.input("tokens", tokens, {shape.dataParallel, 4}, {1, 4}, {{0}, {}});
      c.step(StepKind::Kernel, scale, {tokens, weight}, {x}, {}, "scale");
      c.step(StepKind::Send, b.transfer(1, 1, 0, count), {x}, {}, {0}, "send x");
    } else {
      c.step(StepKind::Receive, b.transfer(1, 0, 0, count), {}, {x}, {}, "recv x");
      c.step(StepKind::Kernel, addLoss, {x, weight, loss}, {loss}, {0}, "loss");
      c.output("loss", loss);
    }
    uint32_t backward = c.fragment("B" + s, Phase::Backward);
    if (stage == 0) {
      c.step(StepKind::Receive, b.transfer(1, 1, 1, count), {}, {dx}, {}, "recv dx");
      c.step(StepKind::Kernel, accumulate, {gradient, dx}, {gradient}, {0}, "accumulate w0");
    } else {
      c.step(StepKind::Copy, 0, {weight}, {dx}, {}, "dx");
      c.step(StepKind::Send, b.transfer(1, 0, 1, count), {dx}, {}, {0}, "send dx");
      c.step(StepKind::Kernel, accumulate, {gradient, x}, {gradient}, {}, "accumulate w1");
    }
    uint32_t update = c.fragment("U" + s, Phase::Update);
    uint32_t reduce = b.collective(CollectiveKind::AllReduce, ElementType::F32, {0}, 10 + stage, count);
    c.step(StepKind::Collective, reduce, {gradient}, {gradient}, {}, "reduce w" + s);
    c.step(StepKind::Kernel, descend, {weight, gradient}, {weight}, {0}, "update w" + s);
    if (stage == 1)
      c.step(StepKind::Collective, b.collective(CollectiveKind::AllReduce, ElementType::F64, {0}, 12, 1), {loss}, {loss}, {},
             "reduce loss");
    if (shape.prologue)
      c.task(prologue, 0);
    for (int64_t micro = 0; micro < shape.micros; ++micro)
      c.task(forward, static_cast<uint32_t>(micro));
    for (int64_t micro = 0; micro < shape.micros; ++micro)
      c.task(backward, static_cast<uint32_t>(micro));
    c.task(update, 0);
  }
  return owner;
}

std::vector<int32_t> someTokens(const PipelineShape &shape) {
  std::vector<int32_t> tokens(static_cast<size_t>(shape.micros) * shape.dataParallel * 4);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>(i * 7 % 5);
  return tokens;
}

} // namespace npar::testing
