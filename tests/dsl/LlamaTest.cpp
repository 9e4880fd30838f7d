// Llama: published sizes, Hugging Face's names and shapes; product axes and what rules on them become.
#include "Npar.h"

#include <gtest/gtest.h>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

const std::string llama = stdlib + "/models/llama.npar";
const Settings smallLlama = {{"vocab", "61"}, {"context", "32"}, {"width", "48"}, {"mlp", "40"},
                             {"heads", "12"}, {"kv_heads", "4"}, {"depth", "2"}};
using Axes = std::vector<std::string>;

TEST(Llama, HasThePublishedParameterCounts) {
  const std::pair<const char *, int64_t> sizes[] = {
      {"TinyLlama-1.1B", 1100048384}, {"Llama-2-7B", 6738415616}, {"Llama-2-70B", 68976648192}, {"Llama-3-8B", 8030261248}};
  for (const auto &[name, parameters] : sizes)
    EXPECT_EQ(countParameters(program(elaborateFile(llama, {}, "none", {}, name))), parameters) << name;
  EXPECT_EQ(countParameters(program(elaborateFile(llama))), 1100048384);
}

TEST(Llama, SettingsOverrideAConfiguration) {
  Program p = program(elaborateFile(llama, {{"depth", "3"}}, "none", {}, "Llama-3-8B"));
  EXPECT_EQ(p.model.blocks, 3);
  EXPECT_EQ(sizeOf(p, "vocab"), 128256);
  EXPECT_EQ(std::get<double>(nodesOf(p, "sinusoid")[0]->attributes.at("base")), 500000.0);
}

// The frequencies of Llama 3.1, against Hugging Face's function (float32, hence the bound): high ones stay, low ones are divided by the
// factor.
TEST(Llama, ScalesFrequencies) {
  Program p = program(elaborateFile(llama, {{"depth", "1"}, {"length", "16"}}, "none", {}, "Llama-3.1-8B"));
  const Node &node = *nodesOf(p, "sinusoid")[0];
  EXPECT_EQ(node.attributes.count("base"), 0u);
  const auto &frequencies = std::get<std::vector<double>>(node.attributes.at("frequencies"));
  ASSERT_EQ(frequencies.size(), 64u);
  const std::pair<size_t, double> expected[] = {{0, 1.0},
                                                {20, 0.016560440883040428},
                                                {29, 0.0021665706299245358},
                                                {32, 0.0005248460220173001},
                                                {40, 3.428102354519069e-05},
                                                {63, 3.068925877869333e-07}};
  for (const auto &[i, value] : expected)
    EXPECT_NEAR(frequencies[i] / value, 1, 5e-7) << i;
}

// The tied head is the embedding's weight, stored once; heads may be wider than their share of the width.
TEST(Llama, TiedHeadsAndWideOnes) {
  Program p = program(
      elaborateFile(llama, {{"vocab", "61"}, {"width", "48"}, {"heads", "12"}, {"depth", "2"}, {"tied", "true"}, {"head_dim", "6"}}));
  for (const Parameter &parameter : p.model.parameters)
    EXPECT_NE(parameter.path, "lm_head.weight");
  EXPECT_EQ(sizeOf(p, "feature"), 6);
  EXPECT_EQ(p.model.checkpoint.front().model, "model.embed_tokens.weight");
}

TEST(Llama, NamesAndStoresParametersLikeHuggingFace) {
  Program p = program(elaborateFile(llama, smallLlama));
  std::vector<std::string> expected = {"model.embed_tokens.weight [61, 48]"};
  for (const char *block : {"model.layers.0.", "model.layers.1."})
    for (const char *name : {"self_attn.q_proj.weight [48, 48]", "self_attn.k_proj.weight [16, 48]", "self_attn.v_proj.weight [16, 48]",
                             "self_attn.o_proj.weight [48, 48]", "mlp.gate_proj.weight [40, 48]", "mlp.up_proj.weight [40, 48]",
                             "mlp.down_proj.weight [48, 40]", "input_layernorm.weight [48]", "post_attention_layernorm.weight [48]"})
      expected.push_back(std::string(block) + name);
  expected.insert(expected.end(), {"model.norm.weight [48]", "lm_head.weight [61, 48]"});
  std::vector<std::string> found;
  for (const Parameter &q : p.model.parameters) {
    std::string shape;
    size_t dim = 0;
    for (int merged : q.storedRank) {
      int64_t size = 1;
      for (int i = 0; i < merged; ++i)
        size *= sizeOf(p, q.type.axes[dim++]);
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    }
    found.push_back(q.path + " [" + shape + "]");
  }
  EXPECT_EQ(found, expected);
}

TEST(Llama, GroupsAttendToSharedKeys) {
  Program p = program(elaborateFile(llama, smallLlama));
  const Node &attention = *nodesOf(p, "attention")[1];
  EXPECT_EQ(attention.path, "model.layers.1.self_attn");
  EXPECT_EQ(attention.type.axes, (Axes{"batch", "seq", "kv_head", "group", "feature"}));
  EXPECT_EQ(p.model.nodes[attention.operands[0]].type.axes, (Axes{"batch", "seq", "kv_head", "group", "side", "half"}));
  EXPECT_EQ(p.model.nodes[attention.operands[1]].type.axes, (Axes{"batch", "seq", "kv_head", "side", "half"}));
  EXPECT_EQ(p.model.nodes[attention.operands[2]].type.axes, (Axes{"batch", "seq", "kv_head", "feature"}));
  EXPECT_DOUBLE_EQ(std::get<double>(attention.attributes.at("scale")), 0.5);
  EXPECT_EQ(nodesOf(p, "rms_norm").size(), 5u);
  EXPECT_EQ(p.model.repeats[0].label, "layers");
}

// 4 key/value heads of 3 groups each, over all the ways that a mesh axis can meet them.
TEST(ProductAxes, FactorsTakeWhatDividesThem) {
  struct Case {
    const char *mesh, *rule;
    std::vector<std::string> expectedMesh, expectedRules;
  };
  const Case cases[] = {
      {"tp = 2", "head -> tp", {"tp 2"}, {"kv_head: tp", "hidden: tp"}},
      {"tp = 4", "head -> tp", {"tp 4"}, {"kv_head: tp", "hidden: tp"}},
      {"tp = 3", "head -> tp", {"tp 3"}, {"group: tp", "hidden: tp"}},
      {"dp = 5, tp = 12", "head -> tp", {"dp 5", "tp.0 4", "tp.1 3"}, {"kv_head: tp.0", "group: tp.1", "hidden: tp.0 tp.1"}},
      {"tp = 6", "head -> tp", {"tp.0 2", "tp.1 3"}, {"kv_head: tp.0", "group: tp.1", "hidden: tp.0 tp.1"}},
      {"tp = 8", "head pad -> tp", {"tp.0 4", "tp.1 2"}, {"kv_head pad: tp.0", "group pad: tp.1", "hidden: tp.0 tp.1"}},
      {"node = 2, tp = 6", "head -> node, tp", {"node 2", "tp.0 2", "tp.1 3"}, {"kv_head: node tp.0", "group: tp.1", "hidden: tp.0 tp.1"}},
      {"tp = 1", "head -> tp", {"tp 1"}, {"kv_head: tp", "hidden: tp"}},
      {"tp = 2", "head -> none in op rms_norm", {"tp 2"}, {"kv_head:", "group:", "hidden: tp"}},
  };
  for (const Case &c : cases) {
    std::string text =
        std::string("import \"llama\"\nplan p for Llama { mesh ") + c.mesh + " micro 32 split { " + c.rule + " hidden -> tp } }\n";
    Settings settings = smallLlama;
    settings.push_back({"mlp", "240"});
    Plan plan = program(elaborateText(text, settings)).plan;
    std::vector<std::string> mesh, rules;
    for (const MeshAxis &axis : plan.mesh)
      mesh.push_back(axis.name + " " + std::to_string(axis.size));
    for (const Rule &rule : plan.rules) {
      rules.push_back(rule.axis + (rule.pad ? " pad:" : ":"));
      for (const std::string &name : rule.mesh)
        rules.back() += " " + name;
    }
    EXPECT_EQ(mesh, c.expectedMesh) << text;
    EXPECT_EQ(rules, c.expectedRules) << text;
  }
}

TEST(ProductAxes, StandForTheirSizeAndForTheirFactors) {
  Result result = elaborateText("model M(width = 8) {\n axis batch, seq = 4, embed = width, major = 2, minor = 3, both = major * minor\n"
                                " axis other = both + 1, plain = 2 * minor\n input x: f32[batch, seq, embed]\n"
                                " param w: [both, embed] = ones\n y = einsum(x, w, over = embed)\n loss sum(y, over = [seq, both])\n}\n"
                                "train base for M { batch 4 optimizer Sgd(lr = 0.1) }\n");
  Program p = program(result);
  EXPECT_EQ(sizeOf(p, "other"), 7);
  EXPECT_EQ(sizeOf(p, "plain"), 6);
  EXPECT_EQ(sizeOf(p, "both"), -1);
  EXPECT_EQ(nodesOf(p, "einsum")[0]->type.axes, (Axes{"batch", "seq", "major", "minor"}));
  EXPECT_EQ(p.model.parameters[0].storedRank, (std::vector<int>{2, 1}));
  EXPECT_EQ(nodesOf(p, "sum")[0]->type.axes, Axes{"batch"});
}

} // namespace
