// Weights of a session to a file and back: names, shapes, all or nothing.
#include "engine/checkpoint/Weights.h"
#include "engine/safetensors/Safetensors.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::CheckpointRuleKind;

using Tensors = std::vector<std::pair<std::string, StoredTensor>>;

class WeightsTest : public ::testing::Test {
protected:
  void SetUp() override {
    use({});
    path = "/tmp/npar-weights-" + std::to_string(::getpid());
  }
  /// Creates a new program and session with these checkpoint rules.
  void use(const std::vector<std::tuple<program::CheckpointRuleKind, std::string, std::string>> &rules) {
    std::unique_ptr<ProgramBuilder> builder = pipelineProgram({});
    for (const auto &[kind, file, model] : rules) {
      builder->program.checkpoint.push_back(std::make_unique<program::CheckpointRuleT>());
      program::CheckpointRuleT &rule = *builder->program.checkpoint.back();
      rule.kind = kind, rule.file = file, rule.model = model;
    }
    program = builder->load();
    ASSERT_TRUE(program);
    session = make(1);
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
  /// A file of F32 or F64 tensors of 4 elements.
  template <typename T> void writeValues(const std::vector<std::pair<std::string, std::vector<T>>> &values) {
    Tensors tensors;
    std::string content;
    for (const auto &[name, list] : values) {
      StoredTensor tensor;
      tensor.type = sizeof(T) == 8 ? "F64" : "F32", tensor.shape = {static_cast<int64_t>(list.size())};
      tensors.emplace_back(name, tensor);
      content.append(reinterpret_cast<const char *>(list.data()), list.size() * sizeof(T));
    }
    std::ofstream(path, std::ios::binary) << safetensorsHeader(tensors) << content;
  }
  std::string loadError() {
    std::string before = session->parameterHash();
    Result<UnstoredParameters> loaded = loadWeights(*session, program->root(), path);
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.status().code(), Code::BadInput);
    EXPECT_EQ(session->parameterHash(), before) << "nothing may be applied";
    return loaded.status().message();
  }
  std::shared_ptr<const program::LoadedProgram> program;
  std::unique_ptr<Session> session;
  std::string path;
};

// Other sessions may not be able to load what this one can.
TEST_F(WeightsTest, nothingIsAppliedBeforeTheCallerAgrees) {
  ASSERT_TRUE(saveWeights(*session, program->root(), path).ok());
  std::unique_ptr<Session> other = make(2);
  const std::string before = other->parameterHash();
  auto refuse = [](const Result<Weights> &weights) { return weights.ok() ? Status::badInput("another session cannot") : weights.status(); };
  EXPECT_EQ(loadWeights(*other, program->root(), path, {}, {}, refuse).status().message(), "another session cannot");
  EXPECT_EQ(other->parameterHash(), before);
}

TEST_F(WeightsTest, savedWeightsComeBack) {
  ASSERT_TRUE(saveWeights(*session, program->root(), path).ok());
  std::unique_ptr<Session> other = make(2);
  EXPECT_NE(other->parameterHash(), session->parameterHash());
  Result<UnstoredParameters> loaded = loadWeights(*other, program->root(), path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->fresh, 0u);
  EXPECT_EQ(other->parameterHash(), session->parameterHash());
}

// The names are the program's to say: nothing is renamed or left out without a rule.
TEST_F(WeightsTest, rulesRenameIgnoreAndCompare) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> tensors = {
      {"transformer.w0", {4}}, {"w1", {4}}, {"h.0.attn.bias", {1, 1}}, {"transformer.h.1.attn.masked_bias", {1}}, {"lm_head.weight", {4}}};
  write(tensors);
  EXPECT_NE(
      loadError().find("unknown to the model: 'h.0.attn.bias', 'lm_head.weight', 'transformer.h.1.attn.masked_bias', 'transformer.w0'"),
      std::string::npos);
  use({{CheckpointRuleKind::Rename, "transformer.*", "*"},
       {CheckpointRuleKind::Ignore, "*.attn.bias", ""},
       {CheckpointRuleKind::Ignore, "*.attn.masked_bias", ""},
       {CheckpointRuleKind::Same, "lm_head.weight", "w0"}});
  Result<UnstoredParameters> loaded = loadWeights(*session, program->root(), path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(*session->readFloat("w0"), std::vector<float>(4, 2.0f));
}

TEST_F(WeightsTest, ofSeveralRenamesTheFirstHolds) {
  use({{CheckpointRuleKind::Rename, "a.b.*.c", "w*"},
       {CheckpointRuleKind::Rename, "a.*", "x.*"},
       {CheckpointRuleKind::Rename, "last", "w1"}});
  write({{"a.b.0.c", {4}}, {"last", {4}}});
  Result<UnstoredParameters> loaded = loadWeights(*session, program->root(), path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  write({{"w0", {4}}, {"last", {4}}, {"a.b.0.c", {4}}});
  EXPECT_EQ(loadError(), "weights '" + path + "' do not fit the model:\n  two tensors for one parameter: 'a.b.0.c' and 'w0' for 'w0'");
}

TEST_F(WeightsTest, whatMustBeTheSameIsCompared) {
  use({{CheckpointRuleKind::Same, "head", "w0"}, {CheckpointRuleKind::Fresh, "", "w0"}});
  writeValues<float>({{"w0", {1, -0.0f, 3, 4}}, {"w1", {0, 0, 0, 0}}, {"head", {1, 0, 3, 4}}});
  EXPECT_TRUE(loadWeights(*session, program->root(), path).ok());
  writeValues<float>({{"w0", {1, 2, 3, 0.5f}}, {"w1", {0, 0, 0, 0}}, {"head", {1, 2, 3, 0.1f}}});
  EXPECT_EQ(loadError(), "weights '" + path +
                             "' do not fit the model:\n  tensors 'head' and 'w0' must hold the same values and differ: 0.100000001 and 0.5 "
                             "at [3]\n  if one of "
                             "them is a head that is not tied to the embedding, give --set tied=false");
  writeValues<float>({{"w0", {1, 2, 3, 4}}, {"w1", {0, 0, 0, 0}}, {"head", {1, 2}}});
  EXPECT_NE(loadError().find("tensor 'head' has shape [2], the model's is [4]"), std::string::npos);
  writeValues<float>({{"w1", {0, 0, 0, 0}}, {"head", {1, 2, 3, 4}}});
  EXPECT_NE(loadError().find("tensor 'head' must equal 'w0', which is missing in the file"), std::string::npos);
}

TEST_F(WeightsTest, freshParametersKeepTheirValues) {
  use({{CheckpointRuleKind::Fresh, "", "*1"}});
  std::vector<float> before = *session->readFloat("w1");
  write({{"w0", {4}}});
  Result<UnstoredParameters> loaded = loadWeights(*session, program->root(), path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->fresh, 1u);
  EXPECT_EQ(*session->readFloat("w1"), before);
  write({{"w0", {4}}, {"w1", {4}}});
  loaded = loadWeights(*session, program->root(), path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->fresh, 0u);
  EXPECT_EQ(*session->readFloat("w1"), std::vector<float>(4, 2.0f));
}

// Parameters that the caller names are not read from the file and get the values of a new run.
TEST_F(WeightsTest, whatTheCallerNamesIsNotRead) {
  use({{CheckpointRuleKind::Same, "head", "w1"}});
  std::vector<float> drawn = *session->readFloat("w1");
  for (const auto &others : std::vector<std::vector<std::pair<std::string, std::vector<int64_t>>>>{
           {}, {{"w1", {4}}}, {{"w1", {7, 2}}}, {{"w1", {4}}, {"head", {3}}}, {{"w1.bias", {3}}}}) {
    std::vector<std::pair<std::string, std::vector<int64_t>>> tensors = {{"w0", {4}}};
    tensors.insert(tensors.end(), others.begin(), others.end());
    write(tensors);
    ASSERT_TRUE(session->write("w1", std::vector<double>(4, 9.0)).ok());
    Result<UnstoredParameters> loaded = loadWeights(*session, program->root(), path, {"*1*"});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(loaded->asked, std::vector<std::string>{"w1"});
    EXPECT_EQ(*session->readFloat("w0"), std::vector<float>(4, 2.0f));
    EXPECT_EQ(*session->readFloat("w1"), drawn);
  }
  EXPECT_EQ(loadWeights(*session, program->root(), path, {"w1", "x.*"}).status().message(),
            "--fresh 'x.*' matches no parameter of the model, which has 2, the last 'w1'");
  for (const char *pattern : {"w1", "*", "w*", "*1", "w*1", "**w**1**"})
    EXPECT_TRUE(matchesPattern(pattern, "w1")) << pattern;
  for (const char *pattern : {"", "w", "1", "w1*1", "x*", "*w", "w1.*"})
    EXPECT_FALSE(matchesPattern(pattern, "w1")) << pattern;
  EXPECT_TRUE(matchesPattern("a*.b*.c", "a.b.b.cb.c"));
  EXPECT_FALSE(matchesPattern("a*.b*.c", "a.b.b.cb.cd"));
  write({{"w0", {4}}, {"other", {4}}});
  EXPECT_NE(loadWeights(*session, program->root(), path, {"w1"}).status().message().find("unknown to the model: 'other'"),
            std::string::npos);
}

// Programs of four parameters and of none, without a session.
TEST_F(WeightsTest, whatToNameIsTold) {
  auto refusal = [&](const std::vector<std::string> &parameters, const std::vector<std::string> &fresh = {}) {
    program::ProgramT content;
    for (const std::string &name : parameters) {
      content.variables.push_back(std::make_unique<program::VariableT>());
      program::VariableT &variable = *content.variables.back();
      variable.name = name, variable.kind = program::VariableKind::Parameter, variable.type = program::ElementType::F32;
      variable.shape = variable.stored = {4};
    }
    flatbuffers::FlatBufferBuilder builder;
    FinishProgramBuffer(builder, CreateProgram(builder, &content));
    auto store = openTensorStore(path);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return Weights::match(*program::GetProgram(builder.GetBufferPointer()), *store, fresh).status().message();
  };
  write({{"a.w", {4}}, {"b.w", {4}}, {"c.w", {4}}, {"fc.w", {5}}, {"head", {5}}});
  const std::string help = "\nnpar: help: to train a new part on top of these weights, give --fresh ";
  EXPECT_NE(refusal({"a.w", "b.w", "c.w", "fc.w"}).find(help + "'fc.*' with npar train"), std::string::npos);
  EXPECT_NE(refusal({"a.w", "b.w", "c.w", "head"}).find(help + "'head' with npar train"), std::string::npos);
  EXPECT_EQ(refusal({"a.w", "fc.w", "head"}).find("--fresh"), std::string::npos) << "most do not fit";
  EXPECT_EQ(refusal({}, {"*"}), "--fresh '*' matches no parameter of the model, which has none");
}

// A session that drew no values has those of the file and, of what may be missing there, those that it would have drawn.
TEST_F(WeightsTest, nothingIsDrawnInVain) {
  use({{CheckpointRuleKind::Fresh, "", "*1"}});
  std::vector<float> drawn = *session->readFloat("w1");
  SessionOptions options;
  options.threads = 1, options.seed = 1, options.initialise = false;
  auto later = Session::create(program, options);
  ASSERT_TRUE(later.ok()) << later.status().message();
  EXPECT_EQ(*(*later)->readFloat("w1"), std::vector<float>(4, 0.0f));
  write({{"w0", {4}}});
  Result<UnstoredParameters> loaded = loadWeights(**later, program->root(), path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(*(*later)->readFloat("w0"), std::vector<float>(4, 2.0f));
  EXPECT_EQ(*(*later)->readFloat("w1"), drawn);
  EXPECT_FALSE((*later)->initialise("none").ok());
}

TEST_F(WeightsTest, valuesThatAreNotFiniteAreRefused) {
  const float nan = std::nanf(""), infinity = HUGE_VALF;
  const std::string begin = "weights '" + path + "' do not fit the model:\n  values that the model cannot hold: ";
  writeValues<float>({{"w0", {1, 2, nan, nan}}, {"w1", {0, -infinity, 0, 0}}});
  EXPECT_EQ(loadError(), begin + "tensor 'w0' holds nan at [2], tensor 'w1' holds -inf at [1]");
  writeValues<double>({{"w0", {1, 2, 3, 1e300}}, {"w1", {0, 0, 0, 0}}});
  EXPECT_EQ(loadError(), begin + "tensor 'w0' holds 1e+300 at [3], beyond float32");
  writeValues<double>({{"w0", {-0.0, 1e-310, 1e-40, 3.4e38}}, {"w1", {0, 0, 0, 0}}});
  Result<UnstoredParameters> loaded = loadWeights(*session, program->root(), path);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(std::signbit((*session->readFloat("w0"))[0]));
}

TEST_F(WeightsTest, wrongShapesNameTheTensorAndBoth) {
  write({{"w0", {4}}, {"w1", {2, 2}}});
  EXPECT_EQ(loadError(), "weights '" + path + "' do not fit the model:\n  tensor 'w1' has shape [2, 2], the model's is [4]");
}

TEST_F(WeightsTest, missingAndUnknownAreListed) {
  write({{"w0", {4}}, {"w2", {4}}});
  EXPECT_EQ(loadError(), "weights '" + path + "' do not fit the model:\n  missing in the file: 'w1'\n  unknown to the model: 'w2'");
}

TEST_F(WeightsTest, integersAreRefused) {
  write({{"w0", {4}}, {"w1", {4}}}, "I32");
  EXPECT_NE(loadError().find("tensor 'w0' has type I32"), std::string::npos);
}

TEST_F(WeightsTest, fullDiskIsAnErrorAndMissingFileToo) {
  EXPECT_FALSE(saveWeights(*session, program->root(), "/dev/full").ok());
  EXPECT_FALSE(saveWeights(*session, program->root(), path + "/missing/weights").ok());
  EXPECT_EQ(loadError(), "cannot read weights '" + path + "': No such file or directory");
}

} // namespace
} // namespace npar::testing
