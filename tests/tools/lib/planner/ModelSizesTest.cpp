// Work of a model's blocks and its own axes, from the graphs of whole models.
#include "tests/dsl/Npar.h"
#include "tools/lib/planner/search/BlockProducts.h"
#include "tools/lib/planner/search/OwnAxes.h"
#include "tools/lib/planner/search/RoutedExperts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace npar::planner {
namespace {

using namespace dsl::test;

std::vector<std::string> namesOf(const std::vector<OwnAxis> &axes) {
  std::vector<std::string> names;
  for (const OwnAxis &axis : axes)
    names.push_back(axis.name);
  return names;
}

/// A routed model: 4 experts, each with room for 5 positions of 8.
const std::string routed = R"(
model Routed(depth = 2) {
    axis batch, seq = 8, vocab = 32, embed = 16, hidden = 64, expert = 4, room = 5
    input tokens, targets: i32[batch, seq]
    param table: [vocab, embed] = normal(0.1)
    x = gather(table, tokens, over = vocab)
    repeat layers[depth] {
        param gate: [expert, embed] = normal(0.1)
        param up: [expert, embed, hidden] = normal(0.1)
        param down: [expert, hidden, embed] = normal(0.1)
        p = softmax(einsum(x, gate, over = embed), over = expert)
        best = one_hot(argmax(p, over = expert), over = expert)
        send = one_hot(cumsum(int(best), over = seq) - 1, over = room) * best
        inner = einsum(send, x, over = seq)
        inner = einsum(gelu(einsum(inner, up, over = embed)), down, over = hidden)
        x = x + einsum(send * p, inner, over = [expert, room])
    }
    loss cross_entropy(project(x, table), targets, over = vocab)
}
train base for Routed { batch 8 optimizer Sgd(lr = 0.1) }
)";

TEST(ModelSizes, DenseBlocksHaveThreeProductsForEachElementAndPosition) {
  for (const char *depth : {"1", "3"}) {
    dsl::Program gpt =
        dsl::test::program(elaborateFile(gpt2, {{"width", "32"}, {"heads", "4"}, {"length", "16"}, {"depth", depth}}, "none"));
    EXPECT_DOUBLE_EQ(multiplyAddsOfBlocks(gpt), std::stod(depth) * 3 * (12 * 32 * 32) * 16);
  }
}

TEST(ModelSizes, ExpertsSeeThePositionsOfTheirRooms) {
  double gate = 4 * 16 * 8, experts = 2 * 4 * 16 * 64 * 5;
  EXPECT_DOUBLE_EQ(multiplyAddsOfBlocks(dsl::test::program(elaborateText(routed, {}, "none"))), 2 * 3 * (gate + experts));
}

TEST(ModelSizes, AFrozenWeightHasNoGradient) {
  std::string text = routed;
  text.replace(text.find("{ batch 8"), 9, "{ freeze \"layers.*.up\" batch 8");
  double gate = 4 * 16 * 8, experts = 2 * 4 * 16 * 64 * 5;
  EXPECT_DOUBLE_EQ(multiplyAddsOfBlocks(dsl::test::program(elaborateText(text, {}, "none"))), 2 * (3 * (gate + experts) - experts / 2));
}

TEST(ModelSizes, OwnAxesAreThoseOfWeightsThatBlocksKeep) {
  std::vector<OwnAxis> own = ownAxesOf(dsl::test::program(elaborateText(routed, {}, "none")));
  ASSERT_EQ(namesOf(own), std::vector<std::string>({"expert"}));
  EXPECT_EQ(own[0].size, 4);
  EXPECT_EQ(own[0].others, std::vector<std::string>({"vocab"})); // hidden has an expert everywhere
  std::string renamed = routed;
  for (auto [from, to] : {std::pair("hidden", "middle"), std::pair("embed", "trait")})
    for (size_t at = renamed.find(from); at != std::string::npos; at = renamed.find(from, at))
      renamed.replace(at, std::string(from).size(), to);
  EXPECT_EQ(namesOf(ownAxesOf(dsl::test::program(elaborateText(renamed, {}, "none")))), std::vector<std::string>({"expert", "middle"}));
}

TEST(ModelSizes, OwnAxesOfTheLibraryAreExperts) {
  const std::map<std::string, std::vector<std::string>> others = {
      {"phi3", {"mixed"}},                          // queries, keys and values as one weight, whose rows only a plan of its own can split
      {"resnet", {"kh", "kw", "inner4"}},           // what the convolutions of all blocks, and those of the last stage, have
      {"mnist_cnn", {"second", "row3", "column3"}}, // what both convolutions and the first linear layer have
      {"qwen2_moe", {"shared_hidden", "expert"}},   // not the single gate of the shared expert
      {"deepseek", {"shared_hidden", "dense_hidden", "latent"}}}; // not the sum of a head's features
  int models = 0;
  for (const auto &entry : std::filesystem::directory_iterator(stdlib + "/models")) {
    dsl::Program program = dsl::test::program(elaborateFile(entry.path().string(), {}, "none"));
    auto special = others.find(entry.path().stem().string());
    std::vector<std::string> expected = special != others.end()              ? special->second
                                        : routedExpertsOf(program).count > 1 ? std::vector<std::string>{"expert"}
                                                                             : std::vector<std::string>{};
    EXPECT_EQ(namesOf(ownAxesOf(program)), expected) << entry.path();
    ++models;
  }
  EXPECT_GE(models, 8);
}

} // namespace
} // namespace npar::planner
