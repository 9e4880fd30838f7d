// The models of the standard library and the meaning of layers, repeats, axes and operations.
#include "Npar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

const Settings smallGpt2 = {{"vocab", "61"}, {"context", "32"}, {"width", "32"}, {"heads", "4"}, {"depth", "2"}, {"length", "16"}};
using Axes = std::vector<std::string>;

/// A model around `body`, with axes batch, seq and embed and an f32 input x.
std::string around(const std::string &body) {
  return "import \"Linear\"\nmodel M(width = 8) {\n axis batch, seq = 4, embed = width\n input x: f32[batch, seq, embed]\n" + body +
         "\n}\ntrain base for M { batch 4 optimizer Sgd(lr = 0.1) }\n";
}

// The four published sizes, under the default plan and on one rank.
TEST(Gpt2, HasThePublishedParameterCounts) {
  const std::pair<const char *, int64_t> sizes[] = {
      {"gpt2", 124439808}, {"gpt2-medium", 354823168}, {"gpt2-large", 774030080}, {"gpt2-xl", 1557611200}};
  for (const auto &[name, parameters] : sizes)
    EXPECT_EQ(countParameters(program(elaborateFile(gpt2, {}, "none", {}, name))), parameters) << name;
  EXPECT_EQ(countParameters(program(elaborateFile(gpt2))), 124439808);
}

TEST(Gpt2, NamesParametersLikeHuggingFace) {
  Program p = program(elaborateFile(gpt2, smallGpt2));
  std::vector<std::string> expected = {"wte.weight", "wpe.weight"};
  for (const char *block : {"h.0.", "h.1."})
    for (const char *name : {"ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias",
                             "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias"})
      expected.push_back(std::string(block) + name);
  expected.insert(expected.end(), {"ln_f.weight", "ln_f.bias"});
  std::vector<std::string> found;
  for (const Parameter &q : p.model.parameters)
    found.push_back(q.path);
  EXPECT_EQ(found, expected);
}

TEST(Gpt2, StoresAndStartsParametersLikeHuggingFace) {
  Program p = program(elaborateFile(gpt2, smallGpt2));
  auto find = [&](const std::string &path) -> const Parameter & {
    for (const Parameter &q : p.model.parameters)
      if (q.path == path)
        return q;
    ADD_FAILURE() << path;
    return p.model.parameters[0];
  };
  const Parameter &attn = find("h.1.attn.c_attn.weight"), &proj = find("h.1.attn.c_proj.weight");
  EXPECT_EQ(attn.type.axes, (Axes{"embed", "part", "head", "feature"}));
  EXPECT_EQ(attn.storedRank, (std::vector<int>{1, 3}));
  EXPECT_EQ(attn.deviation, 0.02);
  EXPECT_EQ(proj.type.axes, (Axes{"head", "feature", "embed"}));
  EXPECT_EQ(proj.storedRank, (std::vector<int>{2, 1}));
  EXPECT_DOUBLE_EQ(proj.deviation, 0.02 / std::sqrt(4.0));
  EXPECT_DOUBLE_EQ(find("h.0.mlp.c_proj.weight").deviation, 0.02 / std::sqrt(4.0));
  EXPECT_EQ(find("h.0.ln_1.weight").init, InitKind::Ones);
  EXPECT_EQ(find("ln_f.bias").init, InitKind::Zeros);
}

TEST(Gpt2, IgnoresTargetsOnlyWhenTold) {
  auto ignored = [](const Settings &settings) {
    Program p = program(elaborateFile(gpt2, settings));
    const Node &loss = p.model.mainLoss();
    auto found = loss.attributes.find("ignore");
    return found == loss.attributes.end() ? std::nullopt : std::optional<int64_t>(std::get<int64_t>(found->second));
  };
  Settings settings = smallGpt2;
  EXPECT_FALSE(ignored(settings));
  settings.push_back({"ignore", "-100"});
  EXPECT_EQ(ignored(settings), -100);
  settings.push_back({"ignore", "none"});
  EXPECT_FALSE(ignored(settings));
}

TEST(Gpt2, IsOneTypedGraph) {
  Program p = program(elaborateFile(gpt2, smallGpt2));
  const Node &loss = p.model.mainLoss();
  EXPECT_EQ(loss.op, "cross_entropy");
  EXPECT_EQ(loss.type.axes, (Axes{"batch", "seq"}));
  EXPECT_EQ(std::get<std::string>(loss.attributes.at("axis")), "vocab");
  auto attention = nodesOf(p, "attention");
  ASSERT_EQ(attention.size(), 2u);
  EXPECT_EQ(attention[1]->path, "h.1.attn");
  EXPECT_EQ(attention[1]->type.axes, (Axes{"batch", "seq", "head", "feature"}));
  EXPECT_EQ(std::get<std::string>(attention[1]->attributes.at("seq")), "seq");
  EXPECT_EQ(std::get<std::string>(attention[1]->attributes.at("key")), "seq.key");
  EXPECT_EQ(std::get<std::string>(attention[1]->attributes.at("feature")), "feature");
  EXPECT_TRUE(std::get<bool>(attention[1]->attributes.at("causal")));
  EXPECT_DOUBLE_EQ(std::get<double>(attention[1]->attributes.at("scale")), 1 / std::sqrt(8.0));
  EXPECT_DOUBLE_EQ(std::get<double>(nodesOf(p, "layer_norm")[0]->attributes.at("epsilon")), 1e-5);
  EXPECT_EQ(std::get<std::string>(nodesOf(p, "gelu")[0]->attributes.at("approximate")), "tanh");
  EXPECT_EQ(sizeOf(p, "seq.key"), 16);
  EXPECT_EQ(sizeOf(p, "batch"), 4); // D * micro
  for (size_t i = 0; i < p.model.nodes.size(); ++i)
    for (int operand : p.model.nodes[i].operands)
      EXPECT_LT(operand, static_cast<int>(i));
}

// One `parameter` node per textual use: the tied table is used by the embedding, before the blocks, and by the head, after them.
TEST(Gpt2, UsesTheTiedTableTwice) {
  Program p = program(elaborateFile(gpt2, smallGpt2));
  std::vector<int> blocks;
  for (const Node *node : nodesOf(p, "parameter"))
    if (std::get<std::string>(node->attributes.at("name")) == "wte.weight")
      blocks.push_back(node->block);
  EXPECT_EQ(blocks, (std::vector<int>{-1, 2}));
  EXPECT_EQ(p.model.blocks, 2);
  ASSERT_EQ(p.model.repeats.size(), 1u);
  EXPECT_EQ(p.model.repeats[0].label, "h");
}

TEST(Gpt2, HasDropoutOnlyWhereTheRateIsAboveZero) {
  EXPECT_TRUE(nodesOf(program(elaborateFile(gpt2, smallGpt2)), "dropout").empty());
  Settings settings = smallGpt2;
  settings.push_back({"dropout", "0.1"});
  Program p = program(elaborateFile(gpt2, settings));
  std::set<std::string> sites;
  for (const Node *node : nodesOf(p, "dropout")) {
    EXPECT_EQ(std::get<double>(node->attributes.at("rate")), 0.1);
    sites.insert(std::get<std::string>(node->attributes.at("site")));
  }
  EXPECT_EQ(sites,
            (std::set<std::string>{"dropout.0", "h.0.attn.dropout.0", "h.0.mlp.dropout.0", "h.1.attn.dropout.0", "h.1.mlp.dropout.0"}));
}

TEST(Mlp, Elaborates) {
  Program p = program(elaborateFile(stdlib + "/models/mlp.npar"));
  EXPECT_EQ(p.train.optimizer().name, "Sgd");
  EXPECT_EQ(p.train.optimizer().number("momentum"), 0.9);
  EXPECT_EQ(nodesOf(p, "relu").size(), 2u);
  EXPECT_EQ(p.plan.dataParallel, 2);
}

TEST(Language, BroadcastsByNameToTheLargerTensor) {
  Program p =
      program(elaborateText(around(" param a: [embed] = ones\n y = a * x - x / a + (2 - x) / 4 + -x + 1\n loss sum(y, over = embed)")));
  std::vector<std::string> ops;
  for (const Node &node : p.model.nodes)
    ops.push_back(node.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"input", "parameter", "mul", "parameter", "div", "sub", "scale", "shift", "scale", "add",
                                           "scale", "add", "shift", "sum"}));
  EXPECT_EQ(nodesOf(p, "mul")[0]->type.axes, (Axes{"batch", "seq", "embed"}));
  EXPECT_EQ(std::get<double>(nodesOf(p, "scale")[1]->attributes.at("factor")), 0.25);
}

TEST(Language, TakesTheMeanAsAScaledSum) {
  Program p = program(elaborateText(around(" param a: [embed] = ones\n loss mean(exp(a * x), over = [seq, embed])")));
  EXPECT_EQ(nodesOf(p, "sum")[0]->type.axes, Axes{"batch"});
  EXPECT_DOUBLE_EQ(std::get<double>(nodesOf(p, "scale")[0]->attributes.at("factor")), 1.0 / 32);
}

TEST(Language, EinsumKeepsTheFirstOperandsOrder) {
  Program p =
      program(elaborateText(around(" axis out = 3\n l = Linear(embed, out)\n loss sum(softmax(l(x), over = out), over = [seq, out])")));
  EXPECT_EQ(nodesOf(p, "einsum")[0]->type.axes, (Axes{"batch", "seq", "out"}));
  EXPECT_EQ(std::get<std::string>(nodesOf(p, "softmax")[0]->attributes.at("axis")), "out");
}

TEST(Language, ChainsTwoRepeats) {
  Program p =
      program(elaborateText(around(" repeat a[2] { l = Linear(embed, embed_2) k = Linear(embed_2, embed) x = x + k(l(x)) }\n x = x * 2.0\n"
                                   " repeat b[3] { l = Linear(embed, embed_2) k = Linear(embed_2, embed) x = x + k(l(x)) }\n"
                                   " loss sum(x, over = embed)")
                                .replace(around("").find(" input"), 0, " axis embed_2 = width\n")));
  ASSERT_EQ(p.model.repeats.size(), 2u);
  EXPECT_EQ(p.model.repeats[1].first, 2);
  EXPECT_EQ(p.model.blocks, 5);
  int last = -1;
  for (const Node &node : p.model.nodes) {
    EXPECT_GE(node.block, last);
    last = node.block;
  }
  EXPECT_EQ(last, 5);
}

// The second name of a sequence is no name of a text: an axis may be called `key`, and sequences of two sizes may be attended over.
TEST(Language, AttentionTakesNoNameFromTheText) {
  Program p =
      program(elaborateText(around(" axis other = 4, head = 2, feature = 4, key = 3, items = 5\n param w: [embed, head, feature] = ones\n "
                                   "param v: [key, items, embed] = ones\n"
                                   " q = einsum(x, w, over = embed)\n m = rename(q, from = seq, to = other)\n y = attention(q, q, q)\n"
                                   " z = attention(m, m, m, over = other)\n"
                                   " loss sum(y, over = [head, feature]) + sum(rename(z, from = other, to = seq), over = [head, feature]) +"
                                   " sum(einsum(x, v, over = embed), over = [key, items])")));
  EXPECT_EQ(sizeOf(p, "key"), 3);
  EXPECT_EQ(sizeOf(p, "seq.key"), 4);
  EXPECT_EQ(sizeOf(p, "other.key"), 4);
}

/// The heads of the only attention (axes of v without batch, seq and feature) and its scale, of q, k and v with these shapes.
std::pair<Axes, double> attended(const std::string &axes, const std::string &q, const std::string &k, const std::string &v,
                                 const std::string &more = "") {
  Result r = elaborateText(around(" axis " + axes + "\n param a: [embed, " + q + "] = ones\n param b: [embed, " + k +
                                  "] = ones\n param c: [embed, " + v +
                                  "] = ones\n y = attention(einsum(x, a, over = embed), einsum(x, b, over = embed), einsum(x, c, over = "
                                  "embed)" +
                                  more + ")\n loss mean(project(y, c), over = embed)"));
  EXPECT_TRUE(r.program) << r.messages;
  if (!r.program)
    return {};
  const Node &node = *nodesOf(*r.program, "attention")[0];
  Axes heads = r.program->model.nodes[static_cast<size_t>(node.operands[2])].type.axes;
  return {Axes(heads.begin() + 2, heads.end() - 1), std::get<double>(node.attributes.at("scale"))};
}

TEST(Language, ProductAxesStayLegalInAttention) {
  using Read = std::pair<Axes, double>;
  const std::string sizes = "one = 2, two = 3, f = 4, g = 5, head = one * two, inner = head * f, wide = head * g, own = 1 * two * f";
  EXPECT_EQ(attended(sizes, "head, f", "head, f", "head, f"), (Read{{"one", "two"}, 0.5})); // heads that are a product
  EXPECT_EQ(attended(sizes, "one, two, f", "one, two, f", "one, two, f"), (Read{{"one", "two"}, 0.5}));
  EXPECT_EQ(attended(sizes, "head, f", "one, f", "one, f"), (Read{{"one"}, 0.5}));    // groups of queries
  EXPECT_EQ(attended(sizes, "head, f", "f", "f"), (Read{{}, 0.5}));                   // one head of keys
  EXPECT_EQ(attended(sizes, "inner", "inner", "inner"), (Read{{"one", "two"}, 0.5})); // a projection that is cut into heads
  EXPECT_EQ(attended(sizes, "inner", "inner", "wide"), (Read{{"one", "two"}, 0.5}));  // features of v's own
  EXPECT_EQ(attended(sizes, "head, f", "inner", "wide"), (Read{{"one", "two"}, 0.5}));
  EXPECT_EQ(attended(sizes, "one, two, f", "one, two, f", "one, own"), (Read{{"one"}, 1 / std::sqrt(12.0)})); // what the message advises
  EXPECT_EQ(attended(sizes, "head, f", "head, f", "inner", ", feature = f"), (Read{{"one", "two"}, 0.5}));
}

// `as` gives a path where that is no name of the text; rules name the repeat, patterns its path.
TEST(Language, PathsBesideNames) {
  Program p = program(elaborateText("import \"LayerNorm\"\n" +
                                    around(" repeat blocks[2] as \"encoder.layer\" { under \"a\" { one as \"ln\" = LayerNorm(embed) }\n"
                                           " under \"b\" { two as \"ln\" = LayerNorm(embed) }\n param scale as \"loss\": [embed] = ones\n"
                                           " x = two(one(x)) * scale }\n loss sum(x, over = embed)")));
  std::vector<std::string> paths;
  for (const Parameter &parameter : p.model.parameters)
    paths.push_back(parameter.path);
  EXPECT_EQ(paths.size(), 10u);
  EXPECT_EQ(paths[0], "encoder.layer.0.a.ln.weight");
  EXPECT_EQ(paths[2], "encoder.layer.0.b.ln.weight");
  EXPECT_EQ(paths[9], "encoder.layer.1.loss");
  EXPECT_EQ(p.model.repeats[0].label, "blocks");
  EXPECT_EQ(p.model.repeats[0].path, "encoder.layer.{}");
}

std::vector<std::string> pathsOf(const Program &p) {
  std::vector<std::string> paths;
  for (const Parameter &parameter : p.model.parameters)
    paths.push_back(parameter.path);
  return paths;
}

// The number of a block in expressions, in `if` and in paths; a repeat in a repeat is a part of its block.
TEST(Language, BlocksKnowTheirNumber) {
  Program p = program(elaborateText(
      around(" repeat outer[i in 3] as \"stage{i}.blocks\" {\n"
             "   repeat none[j in 0] { x = x + x }\n   repeat inner[j in i + 1] { param a: [embed] = ones  x = x * a * (i + 0.5) }\n"
             "   if i == 1 { param only as \"{name}_{i}\": [embed] = ones  x = x + only }\n"
             " }\n loss sum(x, over = embed)")
          .replace(around("").find("width = 8"), 9, "width = 8, name = \"bias\"")));
  EXPECT_EQ(pathsOf(p), (std::vector<std::string>{"stage0.blocks.inner.0.a", "stage1.blocks.inner.0.a", "stage1.blocks.inner.1.a",
                                                  "stage1.blocks.bias_1", "stage2.blocks.inner.0.a", "stage2.blocks.inner.1.a",
                                                  "stage2.blocks.inner.2.a"}));
  EXPECT_EQ(p.model.blocks, 3);
  ASSERT_EQ(p.model.repeats.size(), 1u);
  EXPECT_EQ(p.model.repeats[0].path, "stage{}.blocks");
  ASSERT_EQ(p.model.nested.size(), 2u);
  EXPECT_EQ(p.model.nested[1].label, "inner");
  EXPECT_EQ(p.model.nested[1].inside, "outer");
  std::vector<double> factors;
  for (const Node *node : nodesOf(p, "scale"))
    factors.push_back(std::get<double>(node->attributes.at("factor")));
  EXPECT_EQ(factors, (std::vector<double>{0.5, 1.5, 1.5, 2.5, 2.5, 2.5}));
  for (const Node &node : p.model.nodes)
    if (node.op == "scale") {
      EXPECT_EQ(node.path.substr(0, 6), "stage" + std::to_string(node.block)) << node.path;
    }
}

// An axis in braces stays in the path, by the name that it has in the model, whatever the layer calls it.
TEST(Language, AxesInPaths) {
  Program p = program(
      elaborateText("layer Several(each, over) { param w as \"{each}.w\": [over, each] = ones forward(x) = einsum(x, w, over = over) }\n" +
                    around(" axis expert = 2\n experts = Several(expert, embed)\n loss sum(experts(x), over = expert)")));
  EXPECT_EQ(pathsOf(p), (std::vector<std::string>{"experts.{expert}.w"}));
}

// `if` opens no scope, and of the branch that is not taken nothing is there, whatever it says.
TEST(Language, TakesOneBranch) {
  const std::string text = " axis out = 3\n if width == 8 { l = Linear(embed, out)  y = l(x)  checkpoint { same \"a\" = l.weight } }\n"
                           " else { y = no_such_thing }\n if width > 8 { z = y } else { if true { z = y + y } }\n loss sum(z, over = out)";
  Program p = program(elaborateText(around(text)));
  ASSERT_EQ(p.model.parameters.size(), 2u);
  EXPECT_EQ(p.model.parameters[0].path, "l.weight");
  ASSERT_EQ(p.model.checkpoint.size(), 1u);
  EXPECT_EQ(nodesOf(p, "add").size(), 2u); // of the bias, and of y
}

TEST(Language, CheckpointRulesAreKeptInOrder) {
  Program p = program(elaborateText(
      around(" checkpoint { rename \"a.*\" -> \"*\" ignore \"*.mask\" same \"head\" = l.weight fresh \"l.*\" }\n axis out = 3\n"
             " l = Linear(embed, out)\n loss sum(l(x), over = out)\n checkpoint { same \"b\" = \"l.bias\" }")));
  ASSERT_EQ(p.model.checkpoint.size(), 5u);
  EXPECT_EQ(p.model.checkpoint[0].file, "a.*");
  EXPECT_EQ(p.model.checkpoint[0].model, "*");
  EXPECT_EQ(p.model.checkpoint[1].kind, CheckpointRuleKind::Ignore);
  EXPECT_EQ(p.model.checkpoint[2].model, "l.weight");
  EXPECT_EQ(p.model.checkpoint[3].model, "l.*");
  EXPECT_EQ(p.model.checkpoint[4].model, "l.bias");
}

TEST(Language, LeavesOutWhatTheLossDoesNotNeed) {
  Result r =
      elaborateText(around(" axis out = 3\n l = Linear(embed, out)\n k = Linear(embed, out)\n param a: [embed] = ones\n dead = a * x\n"
                           " loss sum(l(x), over = out)"));
  Program p = program(r);
  EXPECT_EQ(p.model.parameters.size(), 2u);
  EXPECT_TRUE(nodesOf(p, "mul").empty());
  EXPECT_NE(r.messages.find("warning: layer 'k' is never called"), std::string::npos) << r.messages;
  EXPECT_NE(r.messages.find("warning: parameter 'a' does not reach the loss"), std::string::npos) << r.messages;
}

// A `keep` line keeps a parameter that only another task needs, without a warning.
TEST(Language, KeepsWhatTheLossDoesNotNeed) {
  const std::string body = " a = Linear(embed, [embed2])\n pooler = Linear(embed, [embed2])\n loss a(x) * 1.0\n";
  auto text = [&](const std::string &rule) { return around(" axis embed2 = 3\n" + body + rule); };
  Result without = elaborateText(text(""));
  EXPECT_EQ(program(without).model.parameters.size(), 2u);
  EXPECT_NE(without.messages.find("layer 'pooler' is never called"), std::string::npos);
  Result with = elaborateText(text(" checkpoint { keep \"pooler.*\" }"));
  EXPECT_EQ(with.messages, "");
  Program p = program(with);
  ASSERT_EQ(p.model.parameters.size(), 4u);
  EXPECT_EQ(p.model.parameters[2].path, "pooler.weight");
  ASSERT_EQ(p.model.checkpoint.size(), 1u);
  EXPECT_EQ(p.model.checkpoint[0].model, "pooler.*");
}

// Lists of constants: written out, computed, and read by number; `--set` takes them too.
TEST(Language, HasListsOfConstants) {
  const std::string text =
      "import \"Linear\"\nmodel M(width = 8, scales = none, kinds = [\"b\", \"a\"]) {\n axis batch, seq = 4, embed = width, half = 3\n"
      " input x: f32[batch, seq, embed]\n squares = [float32(0.1 * i * i) for i in half]\n"
      " if kinds[1] == \"a\" { y = x * squares[2] } else { y = x }\n"
      " if scales != none { y = y * scales[ceil(0.5)] * floor(2.5) }\n"
      " table = sinusoid(index(seq), half, frequencies = [1.0, 0.5, 0.1])\n"
      " loss y * sum(table, over = half)\n}\ntrain base for M { batch 4 optimizer Sgd(lr = 0.1) }\n";
  Program p = program(elaborateText(text));
  EXPECT_DOUBLE_EQ(std::get<double>(nodesOf(p, "scale")[0]->attributes.at("factor")), static_cast<double>(0.4F));
  EXPECT_EQ(std::get<std::vector<double>>(nodesOf(p, "sinusoid")[0]->attributes.at("frequencies")),
            (std::vector<double>{1.0, 0.5, static_cast<double>(0.1F)}));
  p = program(elaborateText(text, {{"scales", "[5, 7.5]"}, {"kinds", "[\"a\", \"c\"]"}}));
  EXPECT_DOUBLE_EQ(std::get<double>(nodesOf(p, "scale")[0]->attributes.at("factor")), 7.5);
  EXPECT_DOUBLE_EQ(std::get<double>(nodesOf(p, "scale")[1]->attributes.at("factor")), 2.0);
}

TEST(Language, ALayerOfTheFileHidesAnImportedOne) {
  Program p = program(elaborateText("layer Linear(in, out) { param w: [in, out] = ones forward(x) = project(x, w) }\n" +
                                    around(" axis out = 3\n l = Linear(embed, out)\n loss sum(l(x), over = out)")));
  ASSERT_EQ(p.model.parameters.size(), 1u);
  EXPECT_EQ(p.model.parameters[0].path, "l.w");
}

TEST(Language, NoneEqualsNoneAlone) {
  for (const char *value : {"0", "2.5", "false", "\"a\"", "none"}) {
    std::string text = around(std::string(" c = ") + value + "\n param a: [embed] = ones\n y = x\n if c != none { y = y + 1.0 }\n" +
                              " if none == c { y = y * 2.0 }\n loss sum(y * a, over = embed)");
    Program p = program(elaborateText(text));
    bool isNone = value == std::string("none");
    EXPECT_EQ(nodesOf(p, "scale").size(), isNone ? 1u : 0u) << value;
    EXPECT_EQ(nodesOf(p, "shift").size(), isNone ? 0u : 1u) << value;
  }
}

TEST(Language, ImportsAModelForAPlanOfItsOwn) {
  Result r = elaborateText("import \"gpt2\"\nplan wide(dp = 4) for Gpt2 { mesh dp micro 2 split { batch -> dp } }\n", smallGpt2);
  EXPECT_EQ(program(r).plan.name, "wide");
  EXPECT_EQ(r.program->plan.dataParallel, 4);
  EXPECT_EQ(r.program->train.name, "base");
}

} // namespace
