// A program that has one attention, and its operands for both backends.
#pragma once

#include "engine/program/Attentions.h"
#include "tests/engine/backends/cuda/BothBackends.h"

namespace npar::testing {

struct AttentionCase {
  int64_t rows, keys;
  bool causal = false, gradient = false;
  void (*alter)(program::AttentionT &) = [](program::AttentionT &) {};
};

/// An attention with operands [sample, row, key head, head of the group, column], and operands without gaps [sample, key head, head, row,
/// column].
class OneAttention {
public:
  static constexpr int64_t samples = 2, kvHeads = 2, group = 2, features = 37, values = 20, members = 3;

  OneAttention(program::ElementType type, const AttentionCase &given);
  /// The rest of the program's contents, before the program is built.
  program::ProgramT &content() { return program; }
  program::AttentionT &attention() { return *program.attentions[0]; }
  const program::Program &root();
  std::vector<BothBuffer> buffers() const;

private:
  program::ProgramT program;
  flatbuffers::FlatBufferBuilder builder;
};

/// Compares both backends for a rank that is member `member` of the mesh's second axis. Kernels get `seed`.
void expectTheBitsOfTheProcessor(OneAttention &attention, int64_t member, int64_t seed = 1);

} // namespace npar::testing
