// Attention and its gradients on a GPU have the bits that the processor gives them: in every type, in pieces, round a ring, beside kept
// keys.
#include "engine/program/Attentions.h"
#include "tests/engine/backends/cuda/BothBackends.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;

constexpr int64_t samples = 2, kvHeads = 2, group = 2, features = 37, values = 20, members = 3;

struct Case {
  int64_t rows, keys;
  bool causal = false, gradient = false;
  void (*alter)(program::AttentionT &) = [](program::AttentionT &) {};
};

/// The program that has this attention alone, with strides for operands that lie as [sample, row, key head, head of the group, column], and
/// those without gaps as [sample, key head, head, row, column].
class OneAttention {
public:
  OneAttention(ElementType type, const Case &given) {
    program::AttentionT attention;
    attention.type = type, attention.causal = given.causal, attention.gradient = given.gradient, attention.scale = 0.02;
    attention.batch = {samples, kvHeads}, attention.heads = group, attention.features = features, attention.values = values;
    attention.rows = given.rows, attention.keys = given.keys;
    given.alter(attention);
    for (const program::AttentionOperand &operand : operandsOf(attention)) {
      int64_t heads = operand.heads, rows = operand.rows, columns = operand.columns;
      attention.strides.push_back(std::make_unique<program::AttentionStridesT>());
      program::AttentionStridesT &strides = *attention.strides.back();
      if (operand.dense)
        strides.batch = {kvHeads * heads * rows * columns, heads * rows * columns}, strides.head = rows * columns, strides.row = columns;
      else
        strides.batch = {rows * kvHeads * heads * columns, heads * columns}, strides.head = heads > 1 ? columns : 0,
        strides.row = kvHeads * heads * columns;
    }
    content.attentions.push_back(std::make_unique<program::AttentionT>(attention));
    for (int64_t size : {int64_t{2}, members}) {
      content.mesh.push_back(std::make_unique<program::MeshAxisT>());
      content.mesh.back()->size = static_cast<uint32_t>(size);
    }
    FinishProgramBuffer(builder, CreateProgram(builder, &content));
  }
  const program::Program &root() { return *program::GetProgram(builder.GetBufferPointer()); }
  std::vector<BothBuffer> buffers() {
    std::vector<BothBuffer> all;
    for (const program::AttentionOperand &operand : operandsOf(*content.attentions[0]))
      all.emplace_back(operand.type, size_t(samples * kvHeads * operand.heads * operand.rows * operand.columns), all.size() + 1);
    return all;
  }

private:
  static std::vector<program::AttentionOperand> operandsOf(const program::AttentionT &attention) {
    flatbuffers::FlatBufferBuilder alone;
    alone.Finish(program::CreateAttention(alone, &attention));
    return program::attentionOperands(*flatbuffers::GetRoot<program::Attention>(alone.GetBufferPointer())).all;
  }

  program::ProgramT content;
  flatbuffers::FlatBufferBuilder builder;
};

void expectTheBitsOfTheProcessor(const Case &given, int64_t member = 0) {
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16}) {
    OneAttention attention(type, given);
    auto cpu = makeBackend("cpu"), cuda = makeBackend("cuda");
    for (Backend *backend : {cpu.get(), cuda.get()}) {
      Status status = backend->load(attention.root());
      ASSERT_TRUE(status.ok()) << status.message();
    }
    const int64_t context[] = {3, 0, 1, 1, member};
    auto attend = [&](Backend &backend, const std::vector<DeviceAddress> &at) {
      EXPECT_TRUE(backend.runAttention(0, at.data(), at.size(), context).ok());
      EXPECT_TRUE(waitUntilDone(backend).ok()); // the context may go
    };
    auto wanted = after(*cpu, attention.buffers(), attend), found = after(*cuda, attention.buffers(), attend);
    expectSameBits(wanted, found, wordOf(type));
  }
}

/// The sequence is dealt out in zigzag order to the members.
void inPieces(program::AttentionT &attention) { attention.axes = {1}, attention.zigzag = 3; }
/// The second step of three.
void onRing(program::AttentionT &attention) {
  attention.axes = {1}, attention.zigzag = 3, attention.ring = true, attention.step = 1;
  attention.unfinished = true, attention.continues = !attention.gradient;
}
void ofKeptKeys(program::AttentionT &attention) { attention.other = true; }

TEST(CudaAttention, OfWholeSequences) {
  for (bool gradient : {false, true})
    for (bool causal : {false, true})
      expectTheBitsOfTheProcessor({causal ? 290 : 40, causal ? 290 : 40, causal, gradient}); // more than a block of keys, less than one
}

TEST(CudaAttention, OfAnotherSequence) {
  for (bool gradient : {false, true})
    for (int64_t keys : {33, 300})
      expectTheBitsOfTheProcessor({5, keys, false, gradient, ofKeptKeys});
}

TEST(CudaAttention, OfPiecesOfASequence) {
  for (int64_t member = 0; member < members; ++member)
    for (bool gradient : {false, true})
      expectTheBitsOfTheProcessor({24, 72, true, gradient, inPieces}, member);
}

TEST(CudaAttention, RoundARing) {
  for (int64_t member = 0; member < members; ++member)
    for (bool gradient : {false, true})
      expectTheBitsOfTheProcessor({24, 24, true, gradient, onRing}, member);
}

TEST(CudaAttention, BesideKeysThatWereKept) { expectTheBitsOfTheProcessor({3, 110, true, false, ofKeptKeys}); }

TEST(CudaAttention, ChangedScoresAreRefused) {
  OneAttention attention(ElementType::F32, {8, 8, false, false, [](program::AttentionT &a) { a.kernels = {0}; }});
  Status status = makeBackend("cuda")->load(attention.root());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("attention 0 changes its scores"), std::string::npos) << status.message();
}

} // namespace
} // namespace npar::testing
