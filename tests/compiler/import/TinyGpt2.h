// A GPT-2 as the elaborator would hand it over, built by hand: imports and passes are tested without the front end.
#pragma once

#include "dsl/Program.h"

namespace npar::test {

class TinyGpt2 {
public:
  explicit TinyGpt2(int depth) : depth(depth) { build(); }
  dsl::Program program;

private:
  int depth;
  std::string path;
  int block = -1;
  using Axes = std::vector<std::string>;
  using Attributes = std::map<std::string, dsl::Attribute>;

  int add(const std::string &op, std::vector<int> operands, Axes axes, Attributes attributes = {},
          dsl::ElementType element = dsl::ElementType::F32) {
    dsl::Node node;
    node.op = op;
    node.operands = std::move(operands);
    node.type = {element, std::move(axes)};
    node.attributes = std::move(attributes);
    node.path = path;
    node.block = block;
    program.model.nodes.push_back(node);
    return static_cast<int>(program.model.nodes.size()) - 1;
  }

  void declare(const std::string &name, Axes axes, std::vector<int> stored, dsl::InitKind init, double deviation = 0) {
    dsl::Parameter parameter;
    parameter.path = name;
    parameter.type = {dsl::ElementType::F32, std::move(axes)};
    parameter.storedRank = std::move(stored);
    parameter.init = init;
    parameter.deviation = deviation;
    program.model.parameters.push_back(parameter);
  }

  int use(const std::string &name) {
    for (const dsl::Parameter &parameter : program.model.parameters)
      if (parameter.path == name)
        return add("parameter", {}, parameter.type.axes, {{"name", name}});
    return -1;
  }

  int layerNorm(const std::string &name, int x) {
    path = name;
    declare(name + ".weight", {"embed"}, {1}, dsl::InitKind::Ones);
    declare(name + ".bias", {"embed"}, {1}, dsl::InitKind::Zeros);
    int gamma = use(name + ".weight"), beta = use(name + ".bias");
    return add("layer_norm", {x, gamma, beta}, {"batch", "seq", "embed"}, {{"axis", std::string("embed")}, {"epsilon", 1e-5}});
  }

  int linear(const std::string &name, int x, Axes weight, std::vector<int> stored, Axes bias, Axes result) {
    declare(name + ".weight", weight, std::move(stored), dsl::InitKind::Normal, 0.02);
    declare(name + ".bias", bias, {static_cast<int>(bias.size())}, dsl::InitKind::Zeros);
    int w = use(name + ".weight");
    int product = add("einsum", {x, w}, result);
    int b = use(name + ".bias");
    return add("add", {product, b}, result);
  }

  int attention(const std::string &name, int x) {
    path = name;
    Axes heads{"batch", "seq", "head", "feature"};
    int qkv = linear(name + ".c_attn", x, {"embed", "part", "head", "feature"}, {1, 3}, {"part", "head", "feature"},
                     {"batch", "seq", "part", "head", "feature"});
    int parts[3];
    for (int64_t i = 0; i < 3; ++i)
      parts[i] = add("select", {qkv}, heads, {{"axis", std::string("part")}, {"index", i}});
    int out = add(
        "attention", {parts[0], parts[1], parts[2]}, heads,
        {{"seq", std::string("seq")}, {"key", std::string("key")}, {"feature", std::string("feature")}, {"causal", true}, {"scale", 0.25}});
    return linear(name + ".c_proj", out, {"head", "feature", "embed"}, {2, 1}, {"embed"}, {"batch", "seq", "embed"});
  }

  int mlp(const std::string &name, int x) {
    path = name;
    int hidden = linear(name + ".c_fc", x, {"embed", "hidden"}, {1, 1}, {"hidden"}, {"batch", "seq", "hidden"});
    int active = add("gelu", {hidden}, {"batch", "seq", "hidden"}, {{"approximate", std::string("tanh")}});
    int out = linear(name + ".c_proj", active, {"hidden", "embed"}, {1, 1}, {"embed"}, {"batch", "seq", "embed"});
    return add("dropout", {out}, {"batch", "seq", "embed"}, {{"rate", 0.1}, {"site", name + ".drop"}});
  }

  void build() {
    dsl::Model &model = program.model;
    model.name = "Gpt2";
    model.blocks = depth;
    model.axes = {{"batch", 4, {}}, {"seq", 4, {}},     {"position", 6, {}}, {"vocab", 10, {}}, {"embed", 8, {}},
                  {"head", 2, {}},  {"feature", 4, {}}, {"hidden", 16, {}},  {"part", 3, {}},   {"key", 4, {}}};
    Axes stream{"batch", "seq", "embed"};
    declare("wte.weight", {"vocab", "embed"}, {1, 1}, dsl::InitKind::Normal, 0.02);
    declare("wpe.weight", {"position", "embed"}, {1, 1}, dsl::InitKind::Normal, 0.01);
    int tokens = add("input", {}, {"batch", "seq"}, {{"name", std::string("tokens")}}, dsl::ElementType::I32);
    int targets = add("input", {}, {"batch", "seq"}, {{"name", std::string("targets")}}, dsl::ElementType::I32);
    path = "wte";
    int wte = use("wte.weight");
    int embedded = add("gather", {wte, tokens}, stream, {{"axis", std::string("vocab")}});
    path = "wpe";
    int wpe = use("wpe.weight");
    int index = add("index", {}, {"seq"}, {}, dsl::ElementType::I32);
    int positions = add("gather", {wpe, index}, {"seq", "embed"}, {{"axis", std::string("position")}});
    path = "";
    int x = add("add", {embedded, positions}, stream);
    for (block = 0; block < depth; ++block) {
      std::string name = "h." + std::to_string(block);
      int mixed = attention(name + ".attn", layerNorm(name + ".ln_1", x));
      path = name;
      x = add("add", {x, mixed}, stream);
      int fed = mlp(name + ".mlp", layerNorm(name + ".ln_2", x));
      path = name;
      x = add("add", {x, fed}, stream);
    }
    x = layerNorm("ln_f", x);
    path = "";
    int head = use("wte.weight");
    int logits = add("einsum", {x, head}, {"batch", "seq", "vocab"});
    model.losses = {{}};
    model.losses[0].node = add("cross_entropy", {logits, targets}, {"batch", "seq"}, {{"axis", std::string("vocab")}});
    model.repeats = {{"h", "h.{}", 0, depth, {}}};

    program.train.name = "base";
    program.train.batch = 8;
    dsl::Optimizer &optimizer = program.train.optimizers.front();
    optimizer.rate.kind = dsl::ScheduleKind::Cosine;
    optimizer.rate.warmup = {10}, optimizer.rate.steps = {100};
    optimizer.states = {{"average", "average", 0}};
    optimizer.step.results = {"mul(lr, t)"};
    optimizer.element = {{"%0 = add(average, g)"}, {"sub(w, mul($0, %0))", "%0"}};
    program.train.clip = 1.0;
    program.train.seed = 1;
    dsl::Plan &plan = program.plan;
    plan.name = "three_d";
    plan.mesh = {{"dp", 2, {}}, {"pp", 2, {}}, {"tp", 2, {}}};
    plan.micro = 2;
    plan.microCount = 2;
    plan.dataParallel = 2;
    plan.rules = {{"batch", false, {"dp"}, "", "", {}},
                  {"head", false, {"tp"}, "", "", {}},
                  {"hidden", false, {"tp"}, "", "", {}},
                  {"vocab", true, {"tp"}, "", "", {}},
                  {"seq", false, {"tp"}, "", "", {}}};
    plan.pipeline = dsl::Pipeline{{"h"}, "pp", "1f1b", {}};
  }
};

} // namespace npar::test
