// Weights of a session to a file and back: names, shapes, all or nothing.
#include "engine/checkpoint/Weights.h"
#include "engine/checkpoint/Safetensors.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;

using Tensors = std::vector<std::pair<std::string, StoredTensor>>;

class WeightsTest : public ::testing::Test {
protected:
  void SetUp() override {
    program = pipelineProgram({})->load();
    ASSERT_TRUE(program);
    session = make(1);
    path = "/tmp/npar-weights-" + std::to_string(::getpid());
  }
  void TearDown() override { ::unlink(path.c_str()); }
  std::unique_ptr<Session> make(uint64_t seed) {
    SessionOptions options;
    options.threads = 1, options.seed = seed;
    auto created = Session::create(program, options);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return std::move(*created);
  }
  /// A file of F32 tensors filled with 2.
  void write(std::vector<std::pair<std::string, std::vector<int64_t>>> shapes, const std::string &type = "F32") {
    Tensors tensors;
    for (auto &[name, shape] : shapes) {
      StoredTensor tensor;
      tensor.type = type, tensor.shape = shape;
      tensors.emplace_back(name, tensor);
    }
    std::string content = safetensorsHeader(tensors);
    for (uint64_t i = 0; i < tensors.back().second.end; i += 4)
      content += std::string("\0\0\0\x40", 4);
    std::ofstream(path, std::ios::binary) << content;
  }
  std::string loadError() {
    std::string before = session->parameterHash();
    Status status = loadWeights(*session, program->root(), path);
    EXPECT_EQ(status.code(), Code::BadInput);
    EXPECT_EQ(session->parameterHash(), before) << "nothing may be applied";
    return status.message();
  }
  std::shared_ptr<const program::LoadedProgram> program;
  std::unique_ptr<Session> session;
  std::string path;
};

TEST_F(WeightsTest, savedWeightsComeBack) {
  ASSERT_TRUE(saveWeights(*session, program->root(), path).ok());
  std::unique_ptr<Session> other = make(2);
  EXPECT_NE(other->parameterHash(), session->parameterHash());
  Status status = loadWeights(*other, program->root(), path);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(other->parameterHash(), session->parameterHash());
}

TEST_F(WeightsTest, huggingFaceExtrasAreIgnored) {
  write({{"transformer.w0", {4}},
         {"w1", {4}},
         {"h.0.attn.bias", {1, 1}},
         {"transformer.h.1.attn.masked_bias", {1}},
         {"lm_head.weight", {2, 2}}});
  Status status = loadWeights(*session, program->root(), path);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(*session->readFloat("w0"), std::vector<float>(4, 2.0f));
}

TEST_F(WeightsTest, wrongShapesNameTheTensorAndBoth) {
  write({{"w0", {4}}, {"w1", {2, 2}}});
  EXPECT_EQ(loadError(), "weights '" + path + "' do not fit the model:\n  tensor 'w1' has shape [2, 2], the model's is [4]");
}

TEST_F(WeightsTest, missingAndUnknownAreListed) {
  write({{"w0", {4}}, {"w2", {4}}});
  EXPECT_EQ(loadError(), "weights '" + path + "' do not fit the model:\n  missing in the file: 'w1'\n  unknown to the model: 'w2'");
}

TEST_F(WeightsTest, integersAndDuplicatesAreRefused) {
  write({{"w0", {4}}, {"w1", {4}}}, "I32");
  EXPECT_NE(loadError().find("tensor 'w0' has type I32"), std::string::npos);
  write({{"w0", {4}}, {"transformer.w0", {4}}, {"w1", {4}}});
  EXPECT_NE(loadError().find("twice in the file"), std::string::npos);
}

TEST_F(WeightsTest, fullDiskIsAnErrorAndMissingFileToo) {
  EXPECT_FALSE(saveWeights(*session, program->root(), "/dev/full").ok());
  EXPECT_FALSE(saveWeights(*session, program->root(), "/nonexistent/weights").ok());
  EXPECT_EQ(loadError(), "cannot read weights '" + path + "': No such file or directory");
}

} // namespace
} // namespace npar::testing
