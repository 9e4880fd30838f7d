// Elaborates a model, if asked for at a small size, which every plan can split and which runs in a moment.
#include "tools/lib/verify/ModelOutline.h"

#include "engine/status/OptionNames.h"
#include "tools/lib/models/Compilation.h"

#include <algorithm>

namespace npar::verify {
namespace {

/// Constants of the standard library's models. An odd vocabulary needs padding; two features at once can split eight heads.
const Settings smallSizes = {{"vocab", "67"},
                             {"context", "16"},
                             {"length", "16"},
                             {"width", "32"},
                             {"heads", "8"},
                             {"mlp", "64"},
                             {"inner", "64"},
                             {"kv_heads", "2"},
                             {"depth", "2"},
                             {"head_dim", "8"},
                             {"sources", "16"},
                             {"size", "12"},
                             {"patch", "4"},
                             {"height", "128"},
                             {"samples", "1"},
                             {"first", "8"},
                             {"depths", "[1, 1, 1, 1]"},
                             {"widths", "[8, 8, 16, 16]"}};

/// Refuses settings that each drafted plan makes itself.
engine::Status refusePlanSettings(const models::ModelOptions &options) {
  for (const std::string &setting : options.settings) {
    std::string key = setting.substr(0, setting.find('='));
    if (key.rfind("mesh.", 0) == 0 || key == "batch" || key == "micro" || key == "accumulate" || key == "world" || key == "compute" ||
        key == "recompute")
      return engine::Status::usage("'" + nameOf(engine::Option::Setting, setting) +
                                   "' sets a plan, but npar makes its own plans here: each has its own " + key);
  }
  return {};
}

/// True if a node's result or an operand has one of the axes.
bool has(const dsl::Model &model, const dsl::Node &node, const std::vector<std::string> &axes) {
  auto is = [&](const dsl::Node &one) {
    return std::any_of(one.type.axes.begin(), one.type.axes.end(),
                       [&](const std::string &axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); });
  };
  return is(node) || std::any_of(node.operands.begin(), node.operands.end(),
                                 [&](int operand) { return is(model.nodes[static_cast<size_t>(operand)]); });
}

/// The layer in the first block of a repeat that holds all nodes with one of the axes and none with one of the others, with `*` for the
/// block's number; empty if the block has no such layer.
std::string layerOf(const dsl::Model &model, const dsl::Repeat &repeat, const std::vector<std::string> &axes,
                    const std::vector<std::string> &others) {
  size_t gap = repeat.path.find("{}");
  std::string block = repeat.path, layer;
  block.replace(gap, 2, "0");
  auto inside = [](const std::string &path, const std::string &of) { return path == of || path.rfind(of + ".", 0) == 0; };
  for (const dsl::Node &node : model.nodes)
    if (inside(node.path, block) && has(model, node, axes)) {
      layer = layer.empty() ? node.path : layer;
      while (!inside(node.path, layer) && !layer.empty())
        layer.resize(layer.rfind('.') == std::string::npos ? 0 : layer.rfind('.'));
    }
  if (layer.size() <= block.size())
    return "";
  for (const dsl::Node &node : model.nodes)
    if (inside(node.path, layer) && has(model, node, others))
      return "";
  return layer.replace(gap, 1, "*");
}

/// Such layers of all repeats; empty if one of the repeats has none.
std::vector<std::string> layersOf(const dsl::Model &model, const std::vector<std::string> &axes, const std::vector<std::string> &others) {
  std::vector<std::string> layers;
  for (const dsl::Repeat &repeat : model.repeats) {
    layers.push_back(layerOf(model, repeat, axes, others));
    if (layers.back().empty())
      return {};
  }
  return layers;
}

/// An axis and its factors.
std::vector<std::string> withFactors(const dsl::Model &model, const std::string &name) {
  std::vector<std::string> axes = {name};
  for (const dsl::ProductAxis &product : model.products)
    if (product.name == name)
      axes.insert(axes.end(), product.factors.begin(), product.factors.end());
  return axes;
}

std::string valueOf(const std::vector<std::string> &settings, const std::string &key) {
  std::string value;
  for (const std::string &setting : settings)
    if (setting.rfind(key + "=", 0) == 0)
      value = setting.substr(key.size() + 1);
  return value;
}

/// True if the text accepts these settings; the given ones override them.
bool takes(dsl::FrontendOptions frontend, const Settings &settings) {
  frontend.settings.insert(frontend.settings.begin(), settings.begin(), settings.end());
  dsl::Sources sources;
  return models::elaborateQuietly(frontend, sources).has_value();
}

/// A size and others near it: a text can require a multiple of a number, or less than a bound.
std::vector<std::string> sizesNear(const std::string &size) {
  int64_t wanted = std::stoll(size);
  std::vector<std::string> near;
  for (int64_t each : {wanted, wanted / 2, wanted * 3 / 2, wanted * 2, wanted * 3, wanted / 4, wanted * 5 / 2})
    if (each > 0)
      near.push_back(std::to_string(each));
  return near;
}

/// Returns the settings that the text accepts together: all, or as many as can be added one by one to its own sizes, some of them with
/// another value.
Settings settingsTaken(const dsl::FrontendOptions &frontend, const Settings &wanted) {
  if (takes(frontend, wanted))
    return wanted;
  Settings taken, left = wanted;
  auto add = [&](const std::pair<std::string, std::string> &setting, const std::vector<std::string> &values) {
    for (const std::string &value : values) {
      taken.emplace_back(setting.first, value);
      if (takes(frontend, taken))
        return true;
      taken.pop_back();
    }
    return false;
  };
  for (bool near : {false, true})
    for (size_t before = left.size() + 1; left.size() < before;) { // a refused one may be accepted after another one
      before = left.size();
      left.erase(std::remove_if(left.begin(), left.end(),
                                [&](const auto &setting) {
                                  return add(setting, near ? sizesNear(setting.second) : std::vector<std::string>{setting.second});
                                }),
                 left.end());
    }
  return taken;
}

/// The small sizes that a model has constants for. If the user sets a length, the context gets the same.
Settings smallSettings(const std::vector<std::string> &constants, const std::vector<std::string> &set) {
  Settings small;
  for (const auto &[key, value] : smallSizes)
    if (std::find(constants.begin(), constants.end(), key) != constants.end())
      small.emplace_back(key, key == "context" && !valueOf(set, "length").empty() ? valueOf(set, "length") : value);
  return small;
}

engine::Result<ModelOutline> outline(const models::ModelOptions &options, bool isSmall, engine::Observer &observer) {
  TRY_STATUS(refusePlanSettings(options));
  ModelOutline model;
  model.options = options;
  model.options.plan = "none";
  TRY(dsl::FrontendOptions frontend, model.options.frontend());
  model.file = frontend.file;
  dsl::Sources sources;
  std::optional<dsl::Program> withoutPlan = models::elaborateQuietly(frontend, sources);
  if (!withoutPlan) { // a train block can leave the batch to its plan, and so to those that npar makes
    dsl::FrontendOptions batched = frontend;
    batched.settings.emplace_back("batch", "1");
    withoutPlan = models::elaborateQuietly(batched, sources);
    if (withoutPlan)
      frontend = std::move(batched);
  }
  if (withoutPlan)
    for (const std::string &setting : model.options.settings)
      for (const std::string &key : withoutPlan->idleSettings)
        if (setting.rfind(key + "=", 0) == 0)
          return engine::Status::usage("'" + nameOf(engine::Option::Setting, setting) +
                                       "' sets a plan of the file, but npar makes its own plans here");
  TRY(dsl::Program program, models::Compilation(frontend, observer).elaborate());
  model.constants = program.model.constants;
  if (isSmall) {
    model.settings = settingsTaken(frontend, smallSettings(model.constants, options.settings));
    frontend.settings.insert(frontend.settings.begin(), model.settings.begin(), model.settings.end());
    TRY(program, models::Compilation(frontend, observer).elaborate());
  }
  model.name = program.model.name;
  for (const dsl::Axis &axis : program.model.axes)
    model.axes.push_back(axis.name);
  for (const dsl::ProductAxis &axis : program.model.products)
    model.axes.push_back(axis.name);
  for (const dsl::Repeat &repeat : program.model.repeats)
    model.chains.push_back(repeat.label);
  for (const auto &[key, value] : model.settings)
    if (key == "depth")
      model.blocksPerDepth = std::max<int64_t>(1, program.model.blocks / std::stoll(value));
  if (!program.model.repeats.empty()) {
    model.block = program.model.repeats.front().path;
    model.block.replace(model.block.find("{}"), 2, "0");
  }
  std::vector<std::string> heads = withFactors(program.model, "head"), hidden = withFactors(program.model, "hidden");
  model.attentionLayers = layersOf(program.model, heads, hidden), model.feedForwardLayers = layersOf(program.model, hidden, heads);
  for (const dsl::Node &node : program.model.nodes)
    if (std::find(model.operations.begin(), model.operations.end(), node.op) == model.operations.end())
      model.operations.push_back(node.op);
  return model;
}

} // namespace

std::string shrinkingFlags(const std::vector<std::string> &constants) {
  std::string flags;
  for (const auto &[key, value] : smallSizes)
    if (std::find(constants.begin(), constants.end(), key) != constants.end())
      flags += (flags.empty() || !engine::optionsAreMembers ? " " : ", ") + nameOf(engine::Option::Setting, key + "=" + value);
  return flags;
}

engine::Result<ModelOutline> outlineSmall(const models::ModelOptions &options, engine::Observer &observer) {
  return outline(options, /*isSmall=*/true, observer);
}

engine::Result<ModelOutline> outlineModel(const models::ModelOptions &options, engine::Observer &observer) {
  return outline(options, /*isSmall=*/false, observer);
}

} // namespace npar::verify
