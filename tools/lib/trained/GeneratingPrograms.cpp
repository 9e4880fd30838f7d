// Compiles a text for one position, and for many if they can share the memory of its keys and values.
#include "tools/lib/trained/GeneratingPrograms.h"

#include "engine/program/Kept.h"
#include "engine/runtime/Arenas.h"
#include "engine/runtime/BatchShape.h"

#include <algorithm>
#include <map>

namespace npar::trained {

using engine::Result;
using models::ElaboratedModel;
using models::ModelOptions;
using models::ProgramPointer;
using models::SettingsList;

namespace {

/// The shapes of the parameters, in order.
std::vector<std::vector<int64_t>> shapesOf(const dsl::Model &model) {
  std::map<std::string, int64_t> sizes;
  for (const dsl::Axis &axis : model.axes)
    sizes[axis.name] = axis.size;
  std::vector<std::vector<int64_t>> shapes;
  for (const dsl::Parameter &parameter : model.parameters) {
    std::vector<int64_t> &shape = shapes.emplace_back();
    for (const std::string &axis : parameter.type.axes)
      shape.push_back(sizes[axis]);
  }
  return shapes;
}

/// Returns true if two models differ in nothing except the sizes of their axes.
bool sameNodes(const dsl::Model &a, const dsl::Model &b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), [](const dsl::Node &a, const dsl::Node &b) {
    return a.op == b.op && a.operands == b.operands && a.type == b.type && a.attributes == b.attributes;
  });
}

/// The model with these settings, where the text takes them; says nothing.
std::optional<dsl::Model> modelWith(const ModelOptions &options, const SettingsList &settings) {
  Result<dsl::FrontendOptions> frontend = options.frontend();
  if (!frontend.ok())
    return std::nullopt;
  frontend->settings.insert(frontend->settings.end(), settings.begin(), settings.end());
  dsl::Sources sources;
  std::optional<dsl::Program> program = models::elaborateQuietly(*frontend, sources);
  return program ? std::optional(std::move(program->model)) : std::nullopt;
}

/// Elaborates the text with the settings that `choose` adds. Drops a length that the text refuses, that changes shapes of parameters, or
/// with which it computes something else, such as a position counted from the end.
Result<ElaboratedModel> elaborateFor(const NamedModel &named, models::FileClaims &files, const SettingsList &probe,
                                     const ChooseSettings &choose, engine::Observer &observer) {
  TRY(ElaboratedModel text, models::elaborateModel(named.options, observer, probe));
  TRY(SettingsList settings, choose(text.program));
  const dsl::Model &own = text.program.model;
  if (auto length = std::find_if(settings.begin(), settings.end(), [](const auto &setting) { return setting.first == "length"; });
      length != settings.end())
    if (std::optional<dsl::Model> shorter = modelWith(named.options, settings);
        !shorter || shapesOf(*shorter) != shapesOf(own) || !sameNodes(*shorter, own))
      settings.erase(length);
  TRY(text, models::elaborateModel(named.options, observer, settings, /*withWarnings=*/false));
  files.read(text.compilation->texts(), text.program.data);
  TRY_STATUS(files.check());
  return text;
}

/// Number of prompt positions per step, for `rows` samples on a rank: matrix products get enough rows for the speed of long sequences, and
/// little is padded.
int64_t chunkFor(int64_t tokens, int64_t rows, int64_t length) {
  constexpr int64_t grain = 16, enough = 512; // positions; rows of a product
  auto rounded = [&](int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; };
  int64_t most = std::max(grain, enough / rows), steps = rounded(tokens, most) / most;
  return std::min(rounded(rounded(tokens, steps) / steps, grain), length);
}

/// Length of the sequence: the size of the second axis of the losses per position; 0 if they have no such axis.
int64_t lengthOf(const dsl::Model &model) {
  const dsl::Node &loss = model.mainLoss();
  for (const dsl::Axis &axis : model.axes)
    if (loss.type.axes.size() == 2 && axis.name == loss.type.axes[1])
      return axis.size;
  return 0;
}

bool keeps(const program::Program &program) {
  return std::any_of(program.variables()->begin(), program.variables()->end(),
                     [](const program::Variable *variable) { return variable->name()->str() == program::keptPositions; });
}

} // namespace

Result<GeneratingPrograms> compileToGenerate(const NamedModel &named, models::FileClaims &files, const SettingsList &probe,
                                             const ChooseSettings &choose, const int64_t &promptTokens, bool quiet,
                                             engine::Observer &observer) {
  GeneratingPrograms programs;
  if (named.options.isCompiled()) {
    TRY(programs.whole, loadOf(named, files, observer));
    return programs;
  }
  TRY(ElaboratedModel text, elaborateFor(named, files, probe, choose, observer));
  TRY(ProgramPointer step, text.compilation->compileToGenerate(text.program, 1, !quiet, named.options.targets));
  if (!keeps(step->root())) {
    programs.whole = std::move(step);
    return programs;
  }
  programs.step = std::move(step);
  programs.length = lengthOf(text.program.model);
  if (promptTokens < 2 || programs.length < 2)
    return programs;
  const int64_t rows = engine::BatchShape::of(programs.step->root()).rows / text.program.plan.dataParallel;
  TRY(ProgramPointer prompt,
      text.compilation->compileToGenerate(text.program, chunkFor(promptTokens - 1, rows, programs.length), false, named.options.targets));
  // If the pipeline is split differently for many positions, the prompt is computed one position at a time.
  if (engine::whyApart(prompt->root(), programs.step->root()).empty())
    programs.prompt = std::move(prompt);
  return programs;
}

} // namespace npar::trained
