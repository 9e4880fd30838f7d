// Finds the plan's lines and what the compiled program says of each.
#include "tools/lib/annotate/Annotate.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/show/CollectiveCauses.h"
#include "engine/show/Summary.h"
#include "engine/show/TierUse.h"
#include "engine/show/View.h"
#include "tools/lib/annotate/RepeatedBlocks.h"
#include "tools/lib/models/Compilation.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <set>

namespace npar::annotate {

using models::ProgramPointer;
using readable::humanBytes;

namespace {

using Effects = std::map<uint32_t, std::vector<std::string>>; ///< by line of the plan's file

/// The lines of a plan's declaration: from its name to the bracket that closes it. Comments and texts in quotes hold no brackets.
uint32_t lastLineOf(const dsl::Sources &sources, const dsl::Location &name) {
  int depth = 0;
  for (uint32_t line = name.line; line < name.line + 100000; ++line) {
    std::string text = sources.line(name.file, line);
    bool quoted = false;
    for (size_t i = line == name.line ? name.column : 0; i < text.size(); ++i) {
      if (text[i] == '"')
        quoted = !quoted;
      if (quoted)
        continue;
      if (text[i] == '#')
        break;
      depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
      if (text[i] == '}' && depth == 0)
        return line;
    }
  }
  return name.line;
}

std::string counted(double count, const std::string &what) {
  return count == static_cast<double>(static_cast<uint64_t>(count)) ? fmt::format("{} {}", static_cast<uint64_t>(count), what)
                                                                    : fmt::format("{:.2g} {}", count, what);
}

class Annotation {
public:
  Annotation(const dsl::Program &source, models::Compilation &compilation, const program::Program &program)
      : source(source), compilation(compilation), program(program), view(show::viewOf(program)) {}

  Effects effects() {
    addCollectives();
    addPipeline();
    addStores();
    addTiers();
    addRecompute();
    addExpertBuffer();
    addReductions();
    addLimits();
    return std::move(found);
  }

private:
  void add(const dsl::Location &at, std::string text) {
    if (at.line != 0 && at.file == source.plan.location.file)
      found[at.line].push_back(std::move(text));
  }

  /// Counts the collectives of each kind that a rule causes: in each block, elsewhere per micro-batch, and per step.
  void addCollectives() {
    struct Counts {
      std::map<std::string, uint64_t> block, elsewhere, update;
      uint64_t sent = 0; ///< by the rank that sends most
    };
    std::map<uint32_t, Counts> lines;
    std::set<std::string> blocks;
    for (const show::ViewLabel &label : view.labels)
      if (std::string block = blockOf(label.path, source.model.repeats); !block.empty())
        blocks.insert(block);
    std::string file = compilation.texts().name(source.plan.location.file);
    for (const show::ClassView &part : view.classes) {
      std::vector<uint64_t> times(part.fragments.size());
      for (const show::ViewTask &task : part.tasks)
        ++times[task.fragment];
      std::map<uint32_t, uint64_t> sent;
      for (size_t index = 0; index < part.fragments.size(); ++index)
        for (const show::ViewStep &step : part.fragments[index].steps)
          for (uint32_t line : linesOf(step, file)) {
            const show::ViewMessage &message = step.message;
            bool inBlock = !blockOf(view.labels[step.label].path, source.model.repeats).empty();
            Counts &counts = lines[line];
            ++(!show::lookOf(part.fragments[index].phase).perMicro ? counts.update
               : inBlock                                           ? counts.block
                                                                   : counts.elsewhere)[message.kind];
            sent[line] += times[index] * show::sentBytes(message.collective, step.bytes, message.members);
          }
      for (auto [line, bytes] : sent)
        lines[line].sent = std::max(lines[line].sent, bytes);
    }
    for (const dsl::Rule &rule : source.plan.rules)
      if (rule.location.file == source.plan.location.file && !rule.mesh.empty())
        lines[rule.location.line];
    for (const auto &[line, counts] : lines) {
      std::string text;
      auto list = [&](const std::map<std::string, uint64_t> &kinds, double share, const std::string &where) {
        std::string part;
        for (const auto &[kind, count] : kinds)
          part += (part.empty() ? "" : ", ") + counted(static_cast<double>(count) / share, kind);
        if (!part.empty())
          text += (text.empty() ? "" : "; ") + part + where;
      };
      list(counts.block, static_cast<double>(std::max<size_t>(1, blocks.size())), " per block");
      list(counts.elsewhere, 1, counts.block.empty() ? " per micro-batch" : " elsewhere");
      list(counts.update, 1, " per step");
      found[line].push_back(text.empty() ? "no collective" : text + fmt::format("; {} sent", humanBytes(static_cast<double>(counts.sent))));
    }
  }

  std::set<uint32_t> linesOf(const show::ViewStep &step, const std::string &file) const {
    std::set<uint32_t> lines;
    if (step.kind == program::StepKind::Collective)
      for (uint32_t rule : step.message.rules)
        if (view.labels[rule].file == file)
          lines.insert(view.labels[rule].line);
    return lines;
  }

  void addPipeline() {
    if (!source.plan.pipeline)
      return;
    std::string blocks;
    uint64_t messages = 0, largest = 0;
    for (const show::ClassView &part : view.classes) {
      std::set<std::string> own;
      for (const show::ViewFragment &fragment : part.fragments)
        for (const show::ViewStep &step : fragment.steps) {
          if (std::string block = blockOf(view.labels[step.label].path, source.model.repeats);
              !block.empty() && fragment.phase == program::Phase::Forward && !step.communicates())
            own.insert(block);
          if (step.kind == program::StepKind::Send && show::lookOf(fragment.phase).perMicro)
            ++messages, largest = std::max(largest, step.bytes);
        }
      blocks += (blocks.empty() ? "" : ", ") + std::to_string(own.size());
    }
    add(source.plan.pipeline->location,
        fmt::format("{} stage{} of {} blocks; bubble {:.1f} %; {} messages of at most {} per micro-batch", view.classes.size(),
                    view.classes.size() == 1 ? "" : "s", blocks, 100 * view.bubble, messages, humanBytes(static_cast<double>(largest))));
  }

  /// The same model under a changed plan; null when that plan cannot be.
  ProgramPointer variant(const std::function<void(dsl::Plan &)> &change) {
    dsl::Program changed = source;
    change(changed.plan);
    changed.plan.memoryLimit.reset();
    changed.plan.bubbleLimit.reset();
    engine::Result<models::ProgramPointer> compiled = compilation.compile(changed, /*withoutKernels=*/true, {}, /*withWarnings=*/false);
    return compiled.ok() ? *compiled : nullptr;
  }

  /// The largest number of bytes that any class of ranks has for a purpose, or for the arena.
  static uint64_t largest(const program::Program &program, uint64_t (program::RankClass::*bytes)() const) {
    uint64_t most = 0;
    for (const program::RankClass *one : *program.classes())
      most = std::max(most, (one->*bytes)());
    return most;
  }

  std::string changedText(const program::Program &without, const program::Program &with) const {
    std::string text;
    using Class = program::RankClass;
    for (auto [name, bytes] : {std::pair("parameters", &Class::parameter_bytes), std::pair("gradients", &Class::gradient_bytes),
                               std::pair("optimizer", &Class::optimizer_bytes), std::pair("activations", &Class::activation_bytes),
                               std::pair("arena", &Class::arena_bytes)}) {
      uint64_t before = largest(without, bytes), after = largest(with, bytes);
      if (before != after)
        text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", name, humanBytes(static_cast<double>(after)),
                            humanBytes(static_cast<double>(before)));
    }
    return text.empty() ? "no memory less" : text;
  }

  /// Stores depend on each other (who shards gradients shards the optimizer), so each is compared with the plan of those before it.
  void addStores() {
    std::vector<dsl::Store> order = source.plan.stores;
    std::stable_sort(order.begin(), order.end(), [](const dsl::Store &a, const dsl::Store &b) { return a.what > b.what; });
    ProgramPointer before;
    for (size_t count = 0; count <= order.size() && !order.empty(); ++count) {
      ProgramPointer after = variant([&](dsl::Plan &plan) { plan.stores.assign(order.begin(), order.begin() + static_cast<long>(count)); });
      if (!after)
        return;
      if (before)
        add(order[count - 1].location, changedText(before->root(), after->root()));
      before = after;
    }
  }

  /// Each rule that stores something outside of the device against the plan without it.
  void addTiers() {
    for (size_t index = 0; index < source.plan.tiers.size(); ++index)
      if (ProgramPointer without = variant([&](dsl::Plan &plan) { plan.tiers.erase(plan.tiers.begin() + static_cast<long>(index)); })) {
        show::TierUse most;
        for (const program::RankClass *one : *program.classes())
          if (show::TierUse use = show::tierUseOf(*one); use.host + use.file >= most.host + most.file)
            most = use;
        std::string moved = show::movedText(most);
        add(source.plan.tiers[index].location,
            changedText(without->root(), program) + (moved.empty() ? "" : "; copies per step: " + moved));
      }
  }

  void addRecompute() {
    if (source.plan.recompute.kind != dsl::RecomputeKind::None)
      addRepeated(source.plan.recompute.location, [](dsl::Plan &plan) { plan.recompute = {}; });
  }

  void addExpertBuffer() {
    if (source.plan.expertBuffer > 0)
      addRepeated(source.plan.expertBufferAt, [](dsl::Plan &plan) { plan.expertBuffer = 0; });
  }

  /// A clause that saves memory by computing again, compared with the plan without it.
  void addRepeated(const dsl::Location &at, const std::function<void(dsl::Plan &)> &without) {
    if (ProgramPointer other = variant(without)) {
      double flops = flopsOf(program), plain = flopsOf(other->root());
      add(at, changedText(other->root(), program) + fmt::format(", {:.1f} % more flops", plain > 0 ? 100 * (flops / plain - 1) : 0));
    }
  }

  /// Buckets and hierarchical reductions against the plan without them: what a rank launches per step, and sends over each mesh axis.
  void addReductions() {
    if (source.plan.bucket > 0)
      if (ProgramPointer without = variant([](dsl::Plan &plan) { plan.bucket = 0; }))
        add(source.plan.bucketAt, fmt::format("{} collectives outside of the micro-batches instead of {}", launchesOf(view),
                                              launchesOf(show::viewOf(without->root()))));
    if (source.plan.library) {
      show::Reductions reductions = show::reductionsOf(program);
      add(source.plan.libraryAt, fmt::format("{} of {} reductions may be added in another order", reductions.library, reductions.all));
    }
    if (source.plan.hierarchical)
      if (ProgramPointer without = variant([](dsl::Plan &plan) { plan.hierarchical = false; }))
        add(source.plan.hierarchicalAt,
            fmt::format("sent per step {} instead of {}", sentText(view), sentText(show::viewOf(without->root()))));
  }

  /// Collectives of a step outside of its micro-batches, of the class that has most; a bucket is one.
  static size_t launchesOf(const show::View &view) {
    size_t most = 0;
    for (const show::ClassView &part : view.classes) {
      size_t count = 0;
      for (const show::ViewFragment &fragment : part.fragments)
        for (const show::ViewStep &step : fragment.steps)
          count += step.kind == program::StepKind::Collective && !show::lookOf(fragment.phase).perMicro;
      most = std::max(most, count);
    }
    return most;
  }

  /// "1.2 MiB over node, 3.4 MiB over dp": outside of micro-batches, by the rank of the first class.
  static std::string sentText(const show::View &view) {
    std::map<std::string, uint64_t> sent;
    for (const show::ViewFragment &fragment : view.classes.front().fragments)
      for (const show::ViewStep &step : fragment.steps)
        if (step.kind == program::StepKind::Collective && !show::lookOf(fragment.phase).perMicro)
          sent[step.message.over] += show::sentBytes(step.message.collective, step.bytes, step.message.members);
    std::string text;
    for (const auto &[over, bytes] : sent)
      text += fmt::format("{}{} over {}", text.empty() ? "" : ", ", humanBytes(static_cast<double>(bytes)), over);
    return text.empty() ? "nothing" : text;
  }

  static double flopsOf(const program::Program &program) {
    double flops = 0;
    for (const program::RankClass *one : *program.classes())
      for (const program::Task *task : *one->tasks())
        for (const program::Step *step : *one->fragments()->Get(task->fragment())->steps())
          flops += step->flops();
    return flops;
  }

  void addLimits() {
    if (source.plan.memoryLimit)
      add(source.plan.memoryLimitAt, fmt::format("the largest arena has {}, {:.1f} % of what is allowed",
                                                 humanBytes(static_cast<double>(largest(program, &program::RankClass::arena_bytes))),
                                                 100 * static_cast<double>(largest(program, &program::RankClass::arena_bytes)) /
                                                     static_cast<double>(*source.plan.memoryLimit)));
    if (source.plan.bubbleLimit)
      add(source.plan.bubbleLimitAt, fmt::format("bubble {:.1f} %", 100 * view.bubble));
  }

  const dsl::Program &source;
  models::Compilation &compilation;
  const program::Program &program;
  show::View view;
  Effects found;
};

std::string joined(const std::vector<std::string> &list) {
  std::vector<std::string> once;
  for (const std::string &text : list)
    if (std::find(once.begin(), once.end(), text) == once.end())
      once.push_back(text);
  return fmt::format("{}", fmt::join(once, "; "));
}

} // namespace

engine::Result<AnnotatedPlan> annotatePlan(const models::ModelOptions &options, engine::Observer &observer) {
  if (options.isCompiled())
    return engine::Status::usage("inspect annotate needs the plan's text: give the model file (.npar) instead of '" + options.model + "'");
  TRY(models::ElaboratedModel elaborated, models::elaborateModel(options, observer));
  models::Compilation &compilation = *elaborated.compilation;
  const dsl::Program &source = elaborated.program;
  if (source.plan.mesh.empty() && source.plan.name == "none")
    return engine::Status::usage("annotate needs a plan with a text, and 'none' has none");
  TRY(models::ProgramPointer program, compilation.compile(source, /*withoutKernels=*/true));
  Effects effects = Annotation(source, compilation, program->root()).effects();

  const dsl::Sources &texts = compilation.texts();
  const dsl::Location &at = source.plan.location;
  AnnotatedPlan plan{source.plan.name, texts.name(at.file), {}};
  for (uint32_t line = at.line, last = lastLineOf(texts, at); line <= last; ++line)
    plan.lines.push_back({line, texts.line(at.file, line), std::move(effects[line])});
  return plan;
}

std::string annotatedText(const AnnotatedPlan &plan) {
  size_t width = 0;
  for (const AnnotatedLine &line : plan.lines)
    if (!line.effects.empty())
      width = std::max(width, line.text.size());
  std::string result;
  for (const AnnotatedLine &line : plan.lines)
    result += (line.effects.empty() ? line.text : fmt::format("{:<{}}  #= {}", line.text, width, joined(line.effects))) + "\n";
  return result;
}

OrderedJson annotatedJson(const AnnotatedPlan &plan) {
  OrderedJson lines = OrderedJson::array();
  for (const AnnotatedLine &line : plan.lines)
    lines.push_back({{"line", line.line}, {"text", line.text}, {"effects", line.effects}});
  return {{"plan", plan.name}, {"file", plan.file}, {"lines", lines}};
}

} // namespace npar::annotate
