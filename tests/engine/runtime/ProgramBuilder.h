// Small compiled programs written by hand, for tests that need no compiler.
#pragma once

#include "engine/program/Loader.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::testing {

using program::StepKind;

/// A byte range of a region.
struct Span {
  uint32_t region = 0;
  uint64_t offset = 0, bytes = 0;
};

class ClassBuilder;

/// Fills a ProgramT; ids are indices in order of creation.
class ProgramBuilder {
public:
  explicit ProgramBuilder(std::vector<std::pair<std::string, uint32_t>> mesh);
  uint32_t variable(const std::string &name, program::VariableKind kind, program::ElementType type, std::vector<int64_t> shape,
                    int32_t of = -1);
  uint32_t kernel(const std::string &symbol, int64_t extent);
  uint32_t collective(program::CollectiveKind kind, program::ElementType type, std::vector<uint32_t> axes, uint32_t event, uint64_t count,
                      program::ReduceOp op = program::ReduceOp::Sum);
  uint32_t transfer(uint32_t axis, uint32_t peer, uint32_t event, uint64_t count);
  ClassBuilder &rankClass(const std::string &name, std::vector<std::pair<uint32_t, uint32_t>> fixed);
  uint32_t label(const std::string &text);
  /// The kernels of TestKernels.c.
  void useTestKernels();
  std::vector<uint8_t> bytes();
  /// Must be accepted: fails the test and returns null otherwise.
  std::shared_ptr<const program::LoadedProgram> load();

  program::ProgramT program;

private:
  std::vector<std::unique_ptr<ClassBuilder>> classes;
};

class ClassBuilder {
public:
  ClassBuilder(ProgramBuilder &owner, program::RankClassT &content) : owner(owner), content(content) {}
  /// Static memory, aligned to 64. All static spans come before the first region.
  Span fixed(uint64_t bytes);
  /// A region with one slot per micro-batch; returns its first `bytes`.
  Span perMicro(const std::string &name, uint64_t bytes);
  void piece(uint32_t variable, Span where, std::vector<int64_t> global, std::vector<int64_t> local,
             std::vector<std::vector<uint32_t>> axes, bool owner = true);
  uint32_t fragment(const std::string &name, program::Phase phase);
  /// Appends to the last fragment; returns the step's index.
  uint32_t step(StepKind kind, uint32_t payload, std::vector<Span> inputs, std::vector<Span> outputs, std::vector<uint32_t> dependencies,
                const std::string &label, double seconds = 1e-6);
  /// The class's share of an input of the program, which may have any values: per dimension its size in a micro-batch (global), what a rank
  /// keeps and the mesh axes that split it. `type` is that of its values, `kept` that of the buffer.
  program::InputT &input(const std::string &name, Span where, std::vector<int64_t> global, std::vector<int64_t> local,
                         std::vector<std::vector<uint32_t>> axes, program::ElementType type = program::ElementType::I32,
                         program::ElementType kept = program::ElementType::I32);
  void output(const std::string &name, Span where);
  uint32_t task(uint32_t fragment, uint32_t micro);

private:
  ProgramBuilder &owner;
  program::RankClassT &content;
};

} // namespace npar::testing
