// The flavors of torchtitan's models that npar has, read and written. Their sizes come from torchtitan/models/{llama3,qwen3}/__init__.py
// and model/args.py.
#include "dsl/AxisSize.h"
#include "tools/lib/foreign/ModelFacts.h"
#include "tools/lib/foreign/Torchtitan.h"

#include <algorithm>
#include <iterator>

namespace npar::foreign {
namespace {

/// Stores what all flavors of a model of torchtitan have in common.
struct Family {
  const char *name;  ///< torchtitan's
  const char *model; ///< npar's, by the name of its file
  const char *written;
  double theta, epsilon;
  bool isScaled;    ///< rotary positions are those of Llama 3.1: factor 8, from 8,192 positions
  bool isPipelined; ///< torchtitan can split it into stages
};

constexpr Family llama3 = {"llama3", "llama", "Llama", 500000, 1e-5, true, true};
constexpr Family qwen3 = {"qwen3", "qwen3", "Qwen3", 1000000, 1e-6, false, false};

struct Flavor {
  const Family &family;
  const char *name;
  int64_t vocab, width, depth, heads, kvHeads, headWidth, mlp;
  bool isTied = false;
};

constexpr Flavor flavors[] = {
    {llama3, "debugmodel", 2048, 256, 6, 16, 16, 16, 768},       {llama3, "8B", 128256, 4096, 32, 32, 8, 128, 14336},
    {llama3, "70B", 128256, 8192, 80, 64, 8, 128, 28672},        {llama3, "405B", 128256, 16384, 126, 128, 8, 128, 53248},
    {qwen3, "debugmodel", 2048, 256, 8, 16, 8, 128, 3072, true}, {qwen3, "0.6B", 151936, 1024, 28, 16, 8, 128, 3072, true},
    {qwen3, "1.7B", 151936, 2048, 28, 16, 8, 128, 6144, true},   {qwen3, "4B", 151936, 2560, 36, 32, 8, 128, 9728, true},
    {qwen3, "8B", 151936, 4096, 36, 32, 8, 128, 12288},          {qwen3, "14B", 151936, 5120, 40, 40, 8, 128, 17408},
    {qwen3, "32B", 151936, 5120, 64, 64, 8, 128, 25600}};

constexpr double scaledBy = 8, low = 1, high = 4, original = 8192; // Llama 3.1

/// The names of all flavors: "llama3 8B, 70B and qwen3 4B".
std::string knownFlavors() {
  std::string all;
  const Family *last = nullptr;
  for (const Flavor &flavor : flavors) {
    const std::string family = last == &flavor.family ? "" : flavor.family.name + std::string(" ");
    all += (all.empty() ? "" : family.empty() ? ", " : " and ") + family + flavor.name;
    last = &flavor.family;
  }
  return all;
}

/// Tells whether positions turn as the family's: by its base, or by the base's frequencies as Llama 3.1 scales them.
bool turnsAs(const Family &family, const dsl::Model &model) {
  std::optional<Llama3Positions> scaled = llama3Positions(model);
  return family.isScaled ? scaled && scaled->base == family.theta && scaled->factor == scaledBy
                         : !scaledPositions(model) && attributeOf(model, "sinusoid", "base", 0) == family.theta;
}

bool isOf(const Flavor &flavor, const dsl::Model &model) {
  auto size = [&](const char *name) { return dsl::axisSize(model, name); };
  const Family &family = flavor.family;
  return model.name == family.written && !hasBiases(model) && size("vocab") == flavor.vocab && size("embed") == flavor.width &&
         model.blocks == flavor.depth && size("kv_head") == flavor.kvHeads && size("group") * flavor.kvHeads == flavor.heads &&
         size("feature") == flavor.headWidth && size("hidden") == flavor.mlp && hasParameter(model, "lm_head.weight") != flavor.isTied &&
         attributeOf(model, "rms_norm", "epsilon", 0) == family.epsilon && turnsAs(family, model);
}

} // namespace

void readTorchtitanModel(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *name = in.find("model.name"), *size = in.find("model.flavor");
  if (!name && !size)
    return;
  const std::string family = in.word(name, "") == "llama3_ft" ? "llama3" : in.word(name, ""); // with torchft, which changes no number
  const auto *flavor = std::find_if(std::begin(flavors), std::end(flavors),
                                    [&](const Flavor &one) { return one.family.name == family && one.name == in.word(size, ""); });
  if (flavor == std::end(flavors)) {
    const ForeignEntry &at = size ? *size : *name;
    in.diagnostics
        .error(dsl::Code::F2, at.at,
               fmt::format("of torchtitan's models npar knows {}, not '{} {}'", knownFlavors(), in.word(name, ""), in.word(size, "")))
        .help(at.at, "--model-config names the config.json of the model");
    return;
  }
  if (run.pp > 1 && !flavor->family.isPipelined)
    in.diagnostics.error(dsl::Code::F2, name->at, fmt::format("torchtitan does not split {} into stages of a pipeline", family));
  run.model = flavor->family.model, run.layers = flavor->depth;
  for (const auto &[key, value] : {std::pair("vocab", flavor->vocab),
                                   {"context", run.length}, // torchtitan's positions end with the sequence
                                   {"length", run.length},
                                   {"width", flavor->width},
                                   {"heads", flavor->heads},
                                   {"depth", flavor->depth},
                                   {"mlp", flavor->mlp},
                                   {"kv_heads", flavor->kvHeads},
                                   {"head_dim", flavor->headWidth}})
    run.constants.push_back({key, std::to_string(value)});
  run.constants.push_back({"theta", fmt::format("{:.1f}", flavor->family.theta)});
  run.constants.push_back({"tied", flavor->isTied ? "true" : "false"});
  if (flavor->family.isScaled)
    for (const auto &[key, value] : {std::pair("rope_factor", scaledBy), {"rope_low", low}, {"rope_high", high}})
      run.constants.push_back({key, fmt::format("{:.1f}", value)});
  if (flavor->family.isScaled)
    run.constants.push_back({"rope", "llama3"}), run.constants.push_back({"rope_original", fmt::format("{:.0f}", original)});
}

void addTorchtitanModel(Toml &toml, const dsl::Program &program, dsl::Diagnostics &diagnostics) {
  const dsl::Model &model = program.model;
  const auto *flavor = std::find_if(std::begin(flavors), std::end(flavors), [&](const Flavor &one) { return isOf(one, model); });
  if (flavor == std::end(flavors)) {
    dsl::Diagnostic &warning =
        diagnostics.warning(model.location, "'" + model.name + "' is none of the torchtitan models that npar knows: [model] is left out");
    if (model.name == llama3.written && !scaledPositions(model))
      warning.help(model.location, "torchtitan's llama3 has the scaled rotary positions of Llama 3.1");
    return;
  }
  toml.section("model");
  toml.add("name", std::string(flavor->family.name));
  toml.add("flavor", std::string(flavor->name));
}

} // namespace npar::foreign
