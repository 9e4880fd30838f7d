// Finds the data's kind, its part and the numbers of its classes before it is opened.
#include "tools/npar/eval/EvaluatedData.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/data/SampleCount.h"
#include "engine/data/TextSamples.h"
#include "engine/training/Evaluation.h"
#include "engine/training/TrainedClasses.h"
#include "tools/lib/foreign/ConfigFile.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace npar::driver {

using engine::Result;
using engine::Status;
using trained::NamedModel;

namespace {

/// Checks that the files of the data block exist: a checkpoint stores the model's texts, but not the data files that they name.
Status findBlockFiles(const EvalFlags &flags, const NamedModel &named, const engine::DataPlan &plan) {
  if (named.folder.empty() || !flags.data.files.empty())
    return {};
  std::error_code ignored;
  for (const engine::DataGroup &group : plan.groups)
    for (const engine::DataFile &file : group.files)
      if (!std::filesystem::exists(file.path, ignored))
        return Status::badInput(
            fmt::format("the data block of '{}' reads '{}', and a checkpoint contains no data\nnpar: help: name the data: "
                        "--data {}",
                        named.folder, file.path, plan.groups.size() > 1 ? "INPUT=FILE, for each file" : "FILE"));
  return {};
}

/// True if each token of a file except the first is a target, even if the last sample is incomplete.
bool takesTokens(const EvalFlags &flags, const program::Program &program) {
  return !flags.stream(program).empty() && !flags.part && !training::Evaluation(program).takesWholeSamples();
}

/// Gives the labels of texts the model's numbers: the data may lack a class, or sort the names in another order.
Status numberClasses(engine::DataPlan &plan, const NamedModel &named) {
  engine::TextFeed *feed = plan.find(engine::TextFeedKind::Class);
  if (!feed || !feed->names.empty())
    return {};
  feed->names = training::trainedClasses(named.weights).names;
  const std::vector<std::string> own = namesOfClasses(named);
  if (!feed->names.empty() || own.empty())
    return {};
  TRY_STATUS(engine::nameClasses(plan));
  auto isOwn = [&](const std::string &name) { return std::find(own.begin(), own.end(), name) != own.end(); };
  auto isNumber = [](const std::string &name) { return name.find_first_not_of("0123456789") == std::string::npos; };
  if (std::all_of(feed->names.begin(), feed->names.end(), isOwn) || !std::all_of(feed->names.begin(), feed->names.end(), isNumber))
    feed->names = own;
  else if (feed->names.size() < own.size()) // some of the numbers 0, 1, ...
    for (feed->names.clear(); feed->names.size() < own.size();)
      feed->names.push_back(std::to_string(feed->names.size()));
  return {};
}

/// The samples of the data block or of given files. Of split data only the part to evaluate.
Result<engine::DataPlan> samplesOf(const EvalFlags &flags, const NamedModel &named, const program::Program &program,
                                   const engine::BatchShape &shape) {
  TRY(engine::DataPlan plan, planOf(flags.data, program, shape));
  if (!flags.data.files.empty() && !flags.part) // files given by flags are evaluated whole
    plan.split = {};
  TRY_STATUS(findBlockFiles(flags, named, plan));
  TRY_STATUS(numberClasses(plan, named));
  auto parts = static_cast<int64_t>(plan.split.shares.size());
  if (flags.part > parts) // data without a split have no part 1; without the flag all of them are evaluated
    return Status::badInput(fmt::format("there is no part {} of the data, which {}", flags.part,
                                        parts == 0 ? "are not split" : fmt::format("are split into {}", parts)));
  plan.split.part = static_cast<size_t>(std::max<int64_t>(1, flags.part ? flags.part : parts) - 1);
  return plan;
}

/// Sets the kind of tokens in a token file if --tokens is not given.
Status findTokens(EvalFlags &flags, const NamedModel &named, const program::Program &program) {
  if (!flags.stream(program).empty() && flags.data.tokens.empty())
    flags.data.tokens = guessTokens(flags, named, program);
  return !flags.stream(program).empty() && flags.data.tokens.empty() ? engine::noTokens() : Status();
}

} // namespace

std::string guessTokens(const EvalFlags &flags, const NamedModel &named, const program::Program &program) {
  for (const char *kind : {"u16", "i32"})
    if (files::endsWith(flags.stream(program), std::string(".") + kind))
      return kind;
  const std::string trained = "tokens ";
  if (!named.folder.empty() && engine::isCheckpoint(named.folder))
    if (auto checkpoint = engine::openCheckpointStore(named.folder); checkpoint.ok())
      for (const engine::DataPosition &data : (*checkpoint)->manifest().data)
        if (data.stream.rfind(trained, 0) == 0)
          return data.stream.substr(trained.size());
  for (const program::LogicalInput *input : *program.inputs())
    if (input->role() == program::InputRole::Stream && input->classes() == 256)
      return "bytes";
  return "";
}

std::vector<std::string> namesOfClasses(const NamedModel &named) {
  const std::vector<std::string> trained = training::trainedClasses(named.weights).names;
  return trained.empty() ? foreign::namesOfClasses(named.weights) : trained;
}

Result<std::unique_ptr<engine::OncePass>> openData(const EvalFlags &flags, const NamedModel &named, const program::Program &program) {
  engine::BatchShape shape = engine::BatchShape::of(program);
  uint64_t positions = training::Evaluation::elementsOfSample(*program.results()->Get(0));
  if (takesTokens(flags, program))
    return engine::OncePass::openTokens(flags.stream(program), *engine::tokenFormat(flags.data.tokens), shape, positions);
  TRY(engine::DataPlan plan, samplesOf(flags, named, program, shape));
  return engine::OncePass::open(plan, shape, positions, training::Evaluation(program).takesWholeSamples());
}

Result<int64_t> countData(EvalFlags &flags, const NamedModel &named, const program::Program &program) {
  TRY_STATUS(findTokens(flags, named, program));
  engine::BatchShape shape = engine::BatchShape::of(program);
  if (takesTokens(flags, program))
    return engine::countTokenSamples(flags.stream(program), *engine::tokenFormat(flags.data.tokens), shape);
  TRY(engine::DataPlan plan, samplesOf(flags, named, program, shape));
  return engine::countSamples(plan, shape);
}

} // namespace npar::driver
