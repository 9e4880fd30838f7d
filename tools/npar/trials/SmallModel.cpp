// Elaborates a model at a small size: every plan of the matrix can split it, and it runs in a moment.
#include "tools/npar/trials/Feature.h"

#include "tools/npar/model/Compilation.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>

namespace npar::driver {
namespace {

/// The words of the standard library's models. An odd vocabulary needs padding, eight heads can be split by two features at once.
const Settings smallSizes = {{"vocab", "67"}, {"context", "16"}, {"length", "16"}, {"width", "32"},   {"heads", "8"},   {"mlp", "64"},
                             {"inner", "64"}, {"kv_heads", "2"}, {"depth", "2"},   {"head_dim", "8"}, {"sources", "16"}};

/// Settings of what each plan of the matrix says itself: they would hold for all of them, or for none.
ExitCode refusePlanSettings(const ModelOptions &options) {
  for (const std::string &setting : options.settings) {
    std::string key = setting.substr(0, setting.find('='));
    if (key.rfind("mesh.", 0) == 0 || key == "batch" || key == "micro" || key == "compute" || key == "recompute")
      return fail(ExitCode::Usage, "'--set " + setting + "' is of a plan, and the plans are made here: each has its own " + key);
  }
  return ExitCode::Good;
}

} // namespace

std::string shrinkingFlags(const std::vector<std::string> &constants) {
  std::string flags;
  for (const auto &[key, value] : smallSizes)
    if (std::find(constants.begin(), constants.end(), key) != constants.end())
      flags += " --set " + key + "=" + value;
  return flags;
}

Outcome<SmallModel> smallModel(const ModelOptions &options) {
  if (ExitCode code = refusePlanSettings(options); code != ExitCode::Good)
    return code;
  SmallModel model;
  model.options = options;
  model.options.plan = "none";
  Outcome<dsl::FrontendOptions> frontend = model.options.frontend();
  if (!frontend.ok())
    return frontend.code();
  model.file = frontend->file;
  Compilation compilation(*frontend);
  Outcome<dsl::Program> program = compilation.elaborate();
  if (!program.ok())
    return program.code();
  for (const std::string &setting : model.options.settings)
    for (const std::string &key : program->idleSettings)
      if (setting.rfind(key + "=", 0) == 0)
        return fail(ExitCode::Usage, "'--set " + setting + "' is of the text's own plans, and the plans are made here");
  model.constants = program->model.constants;
  for (const auto &[key, value] : smallSizes)
    if (std::find(model.constants.begin(), model.constants.end(), key) != model.constants.end())
      model.settings.emplace_back(key, value);
  frontend->settings.insert(frontend->settings.begin(), model.settings.begin(), model.settings.end());
  Compilation small(std::move(*frontend));
  program = small.elaborate();
  if (!program.ok())
    return program.code();
  model.name = program->model.name;
  for (const dsl::Axis &axis : program->model.axes)
    model.axes.push_back(axis.name);
  for (const dsl::ProductAxis &axis : program->model.products)
    model.axes.push_back(axis.name);
  for (const dsl::Repeat &repeat : program->model.repeats)
    model.chains.push_back(repeat.label);
  for (const auto &[key, value] : model.settings)
    if (key == "depth")
      model.blocksPerDepth = std::max<int64_t>(1, program->model.blocks / std::stoll(value));
  if (!program->model.repeats.empty()) {
    model.block = program->model.repeats.front().path;
    model.block.replace(model.block.find("{}"), 2, "0");
  }
  for (const dsl::Node &node : program->model.nodes)
    if (std::find(model.operations.begin(), model.operations.end(), node.op) == model.operations.end())
      model.operations.push_back(node.op);
  return model;
}

} // namespace npar::driver
