// A program that has one attention, and its operands for both backends.
#include "tests/engine/backends/cuda/OneAttention.h"

#include <gtest/gtest.h>

namespace npar::testing {

using namespace engine;
using program::ElementType;

static program::AttentionOperands operandsOf(const program::AttentionT &attention, flatbuffers::FlatBufferBuilder &builder) {
  builder.Finish(program::CreateAttention(builder, &attention));
  return program::attentionOperands(*flatbuffers::GetRoot<program::Attention>(builder.GetBufferPointer()));
}

OneAttention::OneAttention(ElementType type, const AttentionCase &given) {
  program::AttentionT made;
  made.type = type, made.causal = given.causal, made.gradient = given.gradient, made.scale = 0.02;
  made.batch = {samples, kvHeads}, made.heads = group, made.features = features, made.values = values;
  made.rows = given.rows, made.keys = given.keys;
  given.alter(made);
  flatbuffers::FlatBufferBuilder alone;
  for (const program::AttentionOperand &operand : operandsOf(made, alone).all) {
    if (operand.datum)
      continue;
    int64_t heads = operand.heads, rows = operand.rows, columns = operand.columns;
    made.strides.push_back(std::make_unique<program::AttentionStridesT>());
    program::AttentionStridesT &strides = *made.strides.back();
    if (operand.dense)
      strides.batch = {kvHeads * heads * rows * columns, heads * rows * columns}, strides.head = rows * columns, strides.row = columns;
    else
      strides.batch = {rows * kvHeads * heads * columns, heads * columns}, strides.head = heads > 1 ? columns : 0,
      strides.row = kvHeads * heads * columns;
  }
  program.attentions.push_back(std::make_unique<program::AttentionT>(made));
  for (int64_t size : {int64_t{2}, members}) {
    program.mesh.push_back(std::make_unique<program::MeshAxisT>());
    program.mesh.back()->size = static_cast<uint32_t>(size);
  }
}

const program::Program &OneAttention::root() {
  builder.Clear();
  FinishProgramBuffer(builder, CreateProgram(builder, &program));
  return *program::GetProgram(builder.GetBufferPointer());
}

std::vector<BothBuffer> OneAttention::buffers() const {
  flatbuffers::FlatBufferBuilder alone;
  std::vector<BothBuffer> all;
  for (const program::AttentionOperand &operand : operandsOf(*program.attentions[0], alone).all) {
    int64_t count = operand.heads * operand.rows * operand.columns;
    if (const program::AttentionDatum *datum = operand.datum)
      count = operand.heads * (datum->entries() ? datum->entries() : 1) * (datum->has_query() ? program.attentions[0]->rows : 1) *
              (datum->has_key() ? datum->keys() : 1);
    all.emplace_back(operand.type, size_t(samples * kvHeads * count), all.size() + 1);
  }
  return all;
}

void expectTheBitsOfTheProcessor(OneAttention &attention, int64_t member, int64_t seed) {
  auto cpu = makeBackend("cpu"), cuda = makeBackend("cuda");
  const program::Program &program = attention.root();
  for (Backend *backend : {cpu.get(), cuda.get()}) {
    Status status = backend->load(program);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  const int64_t context[] = {3, 0, seed, 1, member};
  auto attend = [&](Backend &backend, const std::vector<DeviceAddress> &at) {
    EXPECT_TRUE(backend.runAttention(0, at.data(), at.size(), context).ok());
    EXPECT_TRUE(waitUntilDone(backend).ok()); // the context may go
  };
  auto wanted = after(*cpu, attention.buffers(), attend), found = after(*cuda, attention.buffers(), attend);
  expectSameBits(wanted, found, wordOf(attention.attention().type));
}

} // namespace npar::testing
