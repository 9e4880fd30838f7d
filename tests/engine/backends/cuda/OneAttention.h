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

/// With strides for operands that lie as [sample, row, key head, head of the group, column], and those without gaps as [sample, key head,
/// head, row, column].
class OneAttention {
public:
  static constexpr int64_t samples = 2, kvHeads = 2, group = 2, features = 37, values = 20, members = 3;

  OneAttention(program::ElementType type, const AttentionCase &given);
  /// What else the program has, before it is made.
  program::ProgramT &content() { return program; }
  program::AttentionT &attention() { return *program.attentions[0]; }
  const program::Program &root();
  std::vector<BothBuffer> buffers() const;

private:
  program::ProgramT program;
  flatbuffers::FlatBufferBuilder builder;
};

/// Of both backends, for a rank that is the member `member` of the mesh's second axis; `seed` is what kernels find as the seed.
void expectTheBitsOfTheProcessor(OneAttention &attention, int64_t member, int64_t seed = 1);

} // namespace npar::testing
