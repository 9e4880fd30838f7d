// Prints the tables of a program: everything that is the same for all ranks.
#include "engine/program/PrintText.h"

#include "engine/program/HostPlacement.h"
#include "engine/program/Precision.h"
#include "engine/program/Ranks.h"
#include "engine/program/Words.h"

#include <cstdio>

namespace npar::program {

std::string numberText(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

std::string placeText(const SourcePlace *source) {
  return source ? " at " + source->file()->str() + ":" + std::to_string(source->line()) : "";
}

namespace {

/// The part of a token stream that an input receives, in words.
const char *streamOf(InputRole role) {
  switch (role) {
  case InputRole::Other:
    return "";
  case InputRole::Stream:
    return ", a stream's tokens";
  case InputRole::Shifted:
    return ", a stream's next tokens";
  }
  return "unknown";
}

/// Prints the tables that are the same for all ranks.
class TablePrinter {
public:
  explicit TablePrinter(const Program &program) : program(program) {}

  std::string run() {
    header();
    variables();
    inputs();
    data();
    results();
    checkpointRules();
    kernels();
    return text;
  }

private:
  const Program &program;
  std::string text;

  void line(const std::string &content) { text += content + "\n"; }

  void header() {
    line("program " + program.model()->str() + ", plan " + program.plan()->str() +
         (program.train()->size() ? ", train " + program.train()->str() : "") +
         (program.kind() == ProgramKind::Training ? "" : ", for " + std::string(wordOf(program.kind()))));
    std::string mesh, data;
    for (const MeshAxis *axis : *program.mesh())
      mesh += (mesh.empty() ? "" : ", ") + axis->name()->str() + " = " + std::to_string(axis->size());
    for (uint32_t axis : *program.data_axes())
      data += (data.empty() ? "" : ", ") + program.mesh()->Get(axis)->name()->str();
    line("  " + std::to_string(worldOf(program)) + " ranks" + (mesh.empty() ? "" : ": " + mesh));
    if (program.place())
      line("  placed " + placeOf(program).text() + placeText(program.place()->source()));
    line("  batch " + std::to_string(program.batch()) + (data.empty() ? "" : " over " + data) + ", " +
         std::to_string(program.micro_count()) + " micro-batches of " + std::to_string(program.micro()));
    bool hasIdle = program.active_parameters() != 0 && program.active_parameters() != program.parameters();
    line("  " + std::to_string(program.parameters()) + " parameters, " +
         (hasIdle ? std::to_string(program.active_parameters()) + " of them active, " : "") + "computes in " + computeWord(program) +
         (program.products() == ProductOrder::Fastest ? "" : std::string(", products ") + wordOf(program.products())) + ", seed " +
         std::to_string(program.seed()) + ", " + std::to_string(program.stages()) + " stages" +
         (program.schedule()->size() ? " by " + program.schedule()->str() : ""));
  }

  /// `[embed 16, out 16]`
  template <typename Axes, typename Sizes> static std::string shapeOf(const Axes &axes, const Sizes &sizes) {
    std::string text;
    for (uint32_t i = 0; i < sizes.size(); ++i)
      text += (i ? ", " : "") + axes.Get(i)->str() + " " + std::to_string(sizes.Get(i));
    return "[" + text + "]";
  }

  /// `  w.exp_avg: state f32 [embed 64], stored [64], zeros, exp_avg of w`
  void variables() {
    line("\nvariables");
    for (const Variable *variable : *program.variables()) {
      std::string more = ", " + std::string(wordOf(variable->init()));
      if (hasNumber(variable->init()))
        more += " " + numberText(variable->deviation());
      if (variable->slot()->size())
        more += ", " + variable->slot()->str();
      if (variable->of() >= 0)
        more += " of " + program.variables()->Get(variable->of())->name()->str();
      if (variable->kind() == VariableKind::Accumulator)
        more += " use " + std::to_string(variable->use());
      if (variable->frozen())
        more += ", frozen";
      line("  " + variable->name()->str() + ": " + wordOf(variable->kind()) + " " + wordOf(variable->type()) + " " +
           shapeOf(*variable->axes(), *variable->shape()) + ", stored " + listText(*variable->stored()) + more);
    }
  }

  void inputs() {
    if (program.inputs()->size() == 0)
      return;
    line("\ninputs");
    for (const LogicalInput *input : *program.inputs()) {
      std::string values = input->classes() ? ", 0 to " + std::to_string(input->classes() - 1) : ", any number";
      if (input->axis()->size())
        values += " of " + input->axis()->str() + placeText(input->source());
      if (input->ignore())
        values += ", ignores " + std::to_string(*input->ignore());
      line("  " + input->name()->str() + ": " + wordOf(input->type()) + " " + shapeOf(*input->axes(), *input->shape()) + values +
           streamOf(input->role()));
    }
  }

  /// `  file a.safetensors, b.safetensors: label = "label" below 4 of labels`
  void data() {
    if (!program.data())
      return;
    const DataBlock &block = *program.data();
    line("\ndata " + block.name()->str() + ", " + wordOf(block.order()) + (block.seed() ? " seed " + std::to_string(*block.seed()) : "") +
         ", " + wordOf(block.last()) + " last");
    std::string shares;
    for (double share : *block.shares())
      shares += (shares.empty() ? "  split " : ", ") + numberText(share);
    if (!shares.empty())
      line(shares + " seed " + std::to_string(block.split_seed()));
    for (const DataGroup *group : *block.groups()) {
      std::string files, feeds;
      for (const DataFile *file : *group->files())
        files += (files.empty() ? "  " : ", ") + std::string(wordOf(file->format())) + " \"" + file->path()->str() + "\"" +
                 (file->lengths()->size() ? " lengths \"" + file->lengths()->str() + "\"" : "") +
                 (file->weight() ? " weight " + std::to_string(file->weight()) : "");
      for (const DataFeed *feed : *group->feeds())
        feeds += (feeds.empty() ? ": " : ", ") + feedText(*feed);
      line(files + feeds);
    }
    steps("training", block.training());
    steps("evaluation", block.evaluation());
  }

  /// `  training: resize(256) antialiased, flip(0.5)`
  void steps(const char *use, const flatbuffers::Vector<flatbuffers::Offset<PictureStep>> *list) {
    if (!list || list->size() == 0)
      return;
    std::string text;
    for (const PictureStep *step : *list) {
      text += (text.empty() ? "" : ", ") + std::string(wordOf(step->kind()));
      std::string numbers;
      for (double number : *step->numbers())
        numbers += (numbers.empty() ? "(" : ", ") + numberText(number);
      text += numbers.empty() ? "" : numbers + ")";
      if (step->kind() == PictureStepKind::Resize || step->kind() == PictureStepKind::RandomResizedCrop)
        text += std::string(" ") + wordOf(step->interpolation());
    }
    line(std::string("  ") + use + ": " + text);
  }

  /// `encode("review", tokenizer = "bert")`
  std::string textFeed(const TextFeed &feed) const {
    std::string text = std::string(wordOf(feed.kind())) + "(", between;
    auto add = [&](const std::string &argument) { text += std::exchange(between, ", ") + argument; };
    if (feed.kind() == TextFeedKind::Valid || feed.kind() == TextFeedKind::Segment)
      add(program.inputs()->Get(feed.of())->name()->str());
    for (const flatbuffers::String *column : *feed.columns())
      add(feed.numbered() ? column->str() : "\"" + column->str() + "\"");
    for (const flatbuffers::String *name : *feed.names())
      add("\"" + name->str() + "\"");
    if (feed.tokenizer()->size())
      add("tokenizer = \"" + feed.tokenizer()->str() + "\"");
    if (feed.padding())
      add("pad = " + std::to_string(*feed.padding()));
    if (feed.skip_empty())
      add("skip_empty = true");
    return text + ")";
  }

  std::string feedText(const DataFeed &feed) const {
    std::string text = program.inputs()->Get(feed.input())->name()->str();
    if (feed.tensor()->size())
      text += " = \"" + feed.tensor()->str() + "\"";
    if (feed.shift())
      text += " shifted by " + std::to_string(feed.shift());
    if (feed.folder_class())
      text += " by the class of the folder";
    if (const TextFeed *from = feed.text())
      text += " = " + textFeed(*from);
    if (feed.valid())
      text += " for positions that have tokens";
    if (feed.below())
      text +=
          " below " + std::to_string(feed.below()) + (feed.axis()->size() ? " of " + feed.axis()->str() : "") + placeText(feed.source());
    return text;
  }

  void results() {
    if (program.results()->size() == 0)
      return;
    line("\nresults");
    for (const LogicalResult *result : *program.results())
      line("  " + result->name()->str() + ": " + wordOf(result->type()) + " " + shapeOf(*result->axes(), *result->shape()));
    if (program.measures())
      for (const Measure *measure : *program.measures())
        line("  " + measureText(*measure));
    if (program.predictions())
      for (const Prediction *prediction : *program.predictions())
        line("  prediction " + prediction->name()->str() + " is " + resultName(prediction->result()));
  }

  std::string resultName(uint32_t index) const { return program.results()->Get(index)->name()->str(); }

  std::string measureText(const Measure &measure) const {
    std::string text = std::string(wordOf(measure.kind())) + " " + measure.name()->str() + " of";
    for (uint32_t index : *measure.values())
      text += " " + resultName(index);
    if (measure.counted() >= 0)
      text += " where " + resultName(static_cast<uint32_t>(measure.counted()));
    return measure.weight() == 1 ? text : text + ", weight " + numberText(measure.weight());
  }

  void checkpointRules() {
    if (program.checkpoint()->size() == 0)
      return;
    line("\nnames in files with weights");
    for (const CheckpointRule *rule : *program.checkpoint())
      line("  " + std::string(wordOf(rule->kind())) + " \"" + rule->file()->str() + "\" \"" + rule->model()->str() + "\"");
  }

  void kernels() {
    if (program.kernels()->size() == 0)
      return;
    line("\nkernels");
    for (const Kernel *kernel : *program.kernels())
      line("  " + kernel->symbol()->str() + ": extent " + std::to_string(kernel->extent()) + ", " + numberText(kernel->flops()) + " flops" +
           (kernel->filled() < 1 ? ", filled " + numberText(kernel->filled()) : ""));
  }
};

} // namespace

std::string printTables(const Program &program) { return TablePrinter(program).run(); }

} // namespace npar::program
