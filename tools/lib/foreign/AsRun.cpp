// Finds the roles of the mesh axes in a plan, and reports the parts of the plan that another program has no flag for.
#include "tools/lib/foreign/AsRun.h"

#include "tools/lib/foreign/ForeignProgram.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace npar::foreign {
namespace {

/// Tells whether two optimizers differ at most in their weight decay.
bool areAlikeButForDecay(const dsl::Optimizer &a, const dsl::Optimizer &b) {
  auto rest = [](const dsl::Optimizer &one) {
    std::vector<std::pair<std::string, std::vector<double>>> numbers;
    for (const dsl::OptimizerArgument &argument : one.arguments)
      if (argument.name != "decay")
        numbers.emplace_back(argument.name, argument.numbers);
    return numbers;
  };
  return a.name == b.name && rest(a) == rest(b) && a.rate == b.rate;
}

class Translation {
public:
  Translation(const dsl::Program &program, const dsl::KnownSchedules &schedules, const ForeignProgram &target, const ForeignRun *origin,
              dsl::Diagnostics &diagnostics)
      : program(program), plan(program.plan), schedules(schedules), target(target), origin(origin), name(target.name()),
        refusals(diagnostics) {}

  ForeignRun run() {
    result.program = &target;
    if (origin) {
      result.readFrom = origin->program, result.modelSettings = origin->modelSettings, result.differences = origin->differences,
      result.kept = origin->kept, result.isOwnPlan = origin->isOwnPlan;
    }
    for (const dsl::MeshAxis &axis : plan.mesh)
      result.world *= axis.size;
    result.layers = program.model.blocks;
    result.micro = plan.micro, result.batch = program.train.batch;
    readRules();
    readPipeline();
    readSequence();
    readSizes();
    readStores();
    readTypes();
    readRecompute();
    readRest();
    return std::move(result);
  }

private:
  void error(const dsl::Location &at, const std::string &text, const std::string &help = "") { refusals.error(at, text, help); }
  void warning(const dsl::Location &at, const std::string &text) { refusals.warning(at, text); }

  int64_t sizeOf(const std::string &mesh) const {
    for (const dsl::MeshAxis &axis : plan.mesh)
      if (axis.name == mesh)
        return axis.size;
    return 1;
  }
  /// The mesh axes of more than one rank.
  std::vector<std::string> real(const std::vector<std::string> &mesh) const {
    std::vector<std::string> kept;
    for (const std::string &axis : mesh)
      if (sizeOf(axis) > 1)
        kept.push_back(axis);
    return kept;
  }

  void readRules() {
    for (const dsl::Rule &rule : plan.rules) {
      std::vector<std::string> mesh = real(rule.mesh);
      if (mesh.empty() && !rule.mesh.empty())
        continue;
      if (!mesh.empty() && isOfExperts(rule.axis)) {
        readExperts(rule, mesh);
        continue;
      }
      if (rule.axis == "batch")
        mesh.erase(std::remove(mesh.begin(), mesh.end(), ep), mesh.end());
      if (rule.axis == "batch" && mesh.empty())
        continue;
      if (rule.op == "attention" && rule.layer.empty() && !mesh.empty() && wholeOf(rule.axis) == "head") {
        whole = mesh.front(); // Ulysses: with the sequence over the same ranks
      } else if (!rule.op.empty() || !rule.layer.empty() || rule.mesh.empty()) {
        error(rule.location, fmt::format("{} has no rule for one operation or layer ('{}')", name, rule.axis));
      } else if (rule.axis == "batch") {
        if (mesh.size() > 2)
          error(rule.location, fmt::format("{} splits the batch over two mesh axes at most, not {}", name, mesh.size()));
        dp = mesh.back(), outer = mesh.size() > 1 ? mesh.front() : "";
      } else if (rule.axis == "seq") {
        for (const std::string &axis : mesh)
          sequence.emplace_back(axis, &rule);
      } else if (std::string axis = wholeOf(rule.axis); axis == "head" || axis == "hidden" || axis == "vocab") {
        if (mesh.size() > 1 || (!tp.empty() && tp != mesh.front()))
          error(rule.location, fmt::format("{} splits heads, hidden and vocabulary over one mesh axis", name));
        tp = mesh.front(), tensor.insert(axis);
      } else {
        error(rule.location, fmt::format("{} does not split '{}'", name, rule.axis));
      }
    }
    if (tp.empty())
      return;
    for (const char *axis : {"head", "hidden", "vocab"})
      if (hasAxis(axis) && tensor.count(axis) == 0)
        error(plan.location, fmt::format("{} splits '{}' over '{}' too, which this plan leaves whole", name, axis, tp),
              fmt::format("add `{} -> {}`", axis, tp));
  }

  bool isOfExperts(const std::string &axis) const {
    return std::any_of(program.model.nodes.begin(), program.model.nodes.end(), [&](const dsl::Node &node) {
      return node.op == "grouped" && std::get<std::string>(node.attributes.at("axis")) == axis;
    });
  }

  void readExperts(const dsl::Rule &rule, const std::vector<std::string> &mesh) {
    if (!target.sharesExperts())
      return error(rule.location, fmt::format("{} has no expert parallelism", name));
    result.expertsBy = rule.by;
    for (const std::string &axis : mesh)
      if (target.sharesExpertsOverContext() && splits("seq", axis) && !splits("batch", axis))
        expertsOver = axis, expertsAt = rule.location;
      else if (ep.empty() || ep == axis)
        ep = axis;
      else
        return error(rule.location, fmt::format("{} splits experts over one mesh axis", name));
    if (!expertsOver.empty() && mesh.back() != expertsOver)
      error(rule.location, fmt::format("{} splits experts over data parallelism first, and over context parallelism within it", name),
            fmt::format("write `{} -> {}, {} in op grouped`", rule.axis, mesh.back(), expertsOver));
    if (!ep.empty() && !splits("batch", ep))
      error(rule.location, fmt::format("{} shares experts among ranks with other samples", name),
            fmt::format("add '{}' to the rule of 'batch'", ep));
  }

  /// Tells whether a rule splits an axis of the model over a mesh axis.
  bool splits(const std::string &axis, const std::string &mesh) const {
    return std::any_of(plan.rules.begin(), plan.rules.end(), [&](const dsl::Rule &rule) {
      return rule.axis == axis && std::find(rule.mesh.begin(), rule.mesh.end(), mesh) != rule.mesh.end();
    });
  }

  /// The product of axes that has `axis` as a factor ("head" for "kv_head"), else `axis` itself.
  std::string wholeOf(const std::string &axis) const {
    for (const dsl::ProductAxis &product : program.model.products)
      if (std::find(product.factors.begin(), product.factors.end(), axis) != product.factors.end())
        return product.name;
    return axis;
  }

  bool hasAxis(const std::string &axis) const {
    auto isIt = [&](const auto &one) { return one.name == axis; };
    return std::any_of(program.model.axes.begin(), program.model.axes.end(), isIt) ||
           std::any_of(program.model.products.begin(), program.model.products.end(), isIt);
  }

  void readPipeline() {
    if (!plan.pipeline || sizeOf(plan.pipeline->mesh) == 1)
      return;
    const dsl::Pipeline &pipeline = *plan.pipeline;
    pp = pipeline.mesh;
    const std::set<std::string> &of = target.schedules();
    if (!result.writesOwnPlan() && (!pipeline.path.empty() || of.count(pipeline.schedule) == 0))
      error(pipeline.location, fmt::format("{} has no schedule '{}'", name, pipeline.schedule),
            fmt::format("it has {}", fmt::join(of, ", ")));
    if (pipeline.live > 0)
      error(pipeline.liveAt, fmt::format("{} has no limit of micro-batches that a stage holds", name));
    const dsl::KnownSchedule *kind = schedules.find(pipeline.schedule);
    result.schedule = pipeline.schedule, result.schedulePath = pipeline.path;
    result.chunks = pipeline.chunks > 0 ? pipeline.chunks : kind && kind->chunks > 0 ? kind->chunks : 1;
    result.pp = sizeOf(pp);
    result.stages = pipeline.counts;
    target.checkPipeline(pipeline, result, refusals);
  }

  void readSequence() {
    for (const auto &[axis, rule] : sequence) {
      if (axis == tp) {
        result.sequenceParallel = true;
        target.checkSequenceOverTensor(*rule, refusals);
        continue;
      }
      if (!cp.empty() && cp != axis)
        error(rule->location, fmt::format("{} splits the sequence over one mesh axis besides tensor parallelism's", name));
      cp = axis;
      result.ring = axis == whole ? "ulysses" : rule->by == "ring_zigzag" ? "ring(zigzag)" : rule->by == "ring" ? "ring" : "gather";
      target.checkContext(*rule, program.model, result, refusals);
    }
    result.expertsOverContext = !expertsOver.empty();
    if (result.expertsOverContext && expertsOver != cp)
      error(expertsAt, fmt::format("{} splits experts over data and context parallelism, and '{}' is neither", name, expertsOver));
    target.checkRules(plan, tp, result, refusals);
  }

  void readSizes() {
    result.tp = tp.empty() ? 1 : sizeOf(tp), result.cp = cp.empty() ? 1 : sizeOf(cp);
    result.ep = ep.empty() ? 1 : sizeOf(ep);
    result.dp = (dp.empty() ? 1 : sizeOf(dp)) * result.ep, result.replicas = outer.empty() ? 1 : sizeOf(outer);
    std::vector<std::string> order, theirs, swapped;
    for (const dsl::MeshAxis &axis : plan.mesh) {
      if (axis.size == 1)
        continue;
      order.push_back(axis.name);
      if (axis.name != tp && axis.name != pp && axis.name != cp && axis.name != dp && axis.name != ep && axis.name != outer)
        error(axis.location,
              fmt::format("mesh axis '{}' has no part in {}: neither tensor, pipeline, context nor data parallelism", axis.name, name));
    }
    for (const std::string &axis : {pp, outer, dp, ep, cp, tp})
      if (!axis.empty())
        theirs.push_back(axis);
    for (const std::string &axis : {outer, dp, ep, pp, cp, tp})
      if (!axis.empty())
        swapped.push_back(axis);
    result.dpOutside = order != theirs && order == swapped && target.numbersDpOutside();
    if (!plan.mesh.empty() && order != theirs && !result.dpOutside)
      warning(plan.mesh.front().location,
              fmt::format("{} numbers its ranks by {}, which changes the ranks of each host", name, fmt::join(theirs, ", ")));
  }

  void readStores() {
    const dsl::Store *first = nullptr, *second = nullptr;
    for (const dsl::Store &store : plan.stores) {
      std::vector<std::string> mesh = real(store.mesh);
      if (store.what == dsl::StoreKind::Secondary) {
        second = &store;
        continue;
      }
      if (mesh.empty())
        continue;
      if (first && mesh != real(first->mesh))
        error(store.location, fmt::format("{} stores everything in shares over the same ranks", name));
      first = &store;
      result.zero = std::max<int64_t>(result.zero, store.what == dsl::StoreKind::Optimizer   ? 1
                                                   : store.what == dsl::StoreKind::Gradients ? 2
                                                                                             : 3);
      if (store.what == dsl::StoreKind::Gradients && store.perStep && plan.microCount > 1)
        error(store.location, fmt::format("{} reduces gradients that it stores in shares with every micro-batch", name));
    }
    if (first) {
      std::vector<std::string> mesh = real(first->mesh);
      auto has = [&](const std::string &axis) { return !axis.empty() && std::find(mesh.begin(), mesh.end(), axis) != mesh.end(); };
      if (has(outer))
        result.dp *= result.replicas, result.replicas = 1;
      if (!ep.empty() && !has(ep))
        error(first->location, fmt::format("{}'s shares are over all data parallelism, which includes '{}'", name, ep));
      if (has(cp) && !has(dp) && outer.empty() && ep.empty()) // shares over context parallelism alone: all ranks of dp are replicas
        std::swap(outer, dp), std::swap(result.dp, result.replicas);
      if ((!dp.empty() && !has(dp)) || (!cp.empty() && !has(cp)) || has(tp) || has(pp))
        error(first->location,
              fmt::format("{}'s shares are over data parallelism{}", name, cp.empty() ? "" : " and context parallelism together"));
    } else {
      result.dp *= result.replicas, result.replicas = 1;
    }
    if (first && second && real(second->mesh) != real(first->mesh))
      readSecond(*second);
    target.checkStores(plan, first, result, refusals);
  }

  /// The second share of parameters, of a plan whose first one is over all ranks of data parallelism.
  void readSecond(const dsl::Store &store) {
    if (!target.sharesParametersTwice())
      error(store.location, fmt::format("{} has one set of shares of the parameters", name));
    else if (outer.empty() || result.replicas > 1 || real(store.mesh) != std::vector<std::string>{dp})
      error(store.location, fmt::format("{}'s second shares are over neighboring ranks of data parallelism", name),
            "write `batch -> node, dp`, and `secondary -> dp`");
    result.secondaryRanks = sizeOf(dp);
  }

  void readTypes() {
    using program::ElementType;
    auto word = [](ElementType type) { return isWide(type) ? "f32" : program::rowOf(type).planWord; };
    if (isWide(plan.compute))
      error(plan.location, fmt::format("{} does not train in f64", name));
    result.precision = word(plan.compute);
    if (plan.tf32)
      warning(plan.location, fmt::format("{} has no setting for 'tf32'; the training script enables it: "
                                         "torch.set_float32_matmul_precision(\"high\")",
                                         name));
    if (isNarrow(plan.compute) && plan.gradients && *plan.gradients != plan.compute)
      result.gradients = word(*plan.gradients);
    if (std::string reduced = plan.reduce && isNarrow(plan.compute) ? word(*plan.reduce) : result.sumType(); reduced != result.sumType())
      result.reduce = reduced;
    target.checkTypes(plan, result, refusals);
    for (const dsl::Keep &keep : plan.keeps)
      if (keep.type != ElementType::F32 || (keep.what != "norm" && keep.what != "softmax" && keep.what != "loss"))
        error(keep.location, fmt::format("{} has no flag for the type of '{}'", name, keep.what));
  }

  void readRecompute() {
    const dsl::Recompute &what = plan.recompute;
    switch (what.kind) {
    case dsl::RecomputeKind::None:
    case dsl::RecomputeKind::Attention: // no program keeps the attention probabilities anyway
      return;
    case dsl::RecomputeKind::Block:
      result.recompute = "block";
      break;
    case dsl::RecomputeKind::Every:
      result.recompute = what.every > 1 ? fmt::format("every {}", what.every) : "block";
      break;
    case dsl::RecomputeKind::Layers:
      if (!result.writesOwnPlan()) // else they are those of the file
        error(what.location, fmt::format("{} does not choose layers to recompute by their paths", name), "`recompute block`");
      break;
    }
    if (!result.recompute.empty())
      target.checkRecompute(what, result, refusals);
  }

  void readRest() {
    result.bucketBytes = plan.bucket;
    if (plan.bucket > 0 && !result.writesOwnPlan())
      target.checkBucket(plan, refusals);
    if (plan.expertBuffer > 0)
      warning(plan.expertBufferAt, fmt::format("{} has no buffer for rows of experts: its memory grows with the rows that come", name));
    if (plan.hierarchical)
      warning(plan.hierarchicalAt, fmt::format("{} leaves the order of a reduction to its library", name));
    if (plan.place)
      warning(plan.place->location, fmt::format("the launcher of {} places ranks, in their own order", name));
    if (plan.memoryLimit)
      warning(plan.memoryLimitAt, "npar alone checks this");
    if (plan.bubbleLimit)
      warning(plan.bubbleLimitAt, "npar alone checks this");
    readTraining();
  }

  void readTraining() {
    const dsl::Train &train = program.train;
    result.training = trainingOf(program, origin ? &origin->training : nullptr);
    const dsl::Optimizer &optimizer = train.optimizer();
    if (std::vector<std::string> theirs = target.optimizers();
        !optimizer.standard || std::find(theirs.begin(), theirs.end(), optimizer.name) == theirs.end())
      error(train.location, fmt::format("no setting of {} chooses optimizer '{}'", name, optimizer.name),
            fmt::format("it has {}", fmt::join(theirs, ", ")));
    if (optimizer.rate.hasFactor())
      error(train.location, fmt::format("no setting of {} multiplies the learning rate by a factor after some steps", name),
            "write a constant, linear or cosine rate");
    else if (!optimizer.rate.isInSteps())
      error(train.location, fmt::format("the learning rate has lengths in epochs or shares of the run, which {} counts in steps", name),
            "write its warm-up and its end in steps");
    for (const dsl::ParameterTraining &one : train.parameters)
      if (one.frozen || one.rate != 1 || !areAlikeButForDecay(train.optimizers[one.optimizer], optimizer)) {
        error(train.location, fmt::format("no setting of {} freezes parameters or trains some in another way", name));
        return;
      }
    if (decaysUnevenly(program))
      error(train.location, fmt::format("no setting of {} gives parameters of one shape different weight decays", name));
    else if (result.training.decay.value != 0 && result.training.decaysVectors != target.decaysVectors())
      warning(train.location,
              target.decaysVectors()
                  ? fmt::format("{} decays biases and norms too, which this train block leaves out", name)
                  : fmt::format("{} does not decay biases and norms, as this train block does; `for \"{}\" {{ decay 0 }}` leaves them out",
                                name, fmt::join(vectorPatterns(program.model), "\", \"")));
    std::vector<std::string> unknown = result.training.settingsFrom(Origin::Npar);
    if (!unknown.empty() && result.readFrom != result.program)
      warning(train.location, fmt::format("not written, because the file of the run does not state them: {}", fmt::join(unknown, ", ")));
    std::vector<std::string> replaced = result.training.settingsFrom(Origin::Instead);
    if (!replaced.empty() && result.readFrom != result.program)
      warning(train.location,
              fmt::format("not written, because npar lacks what the file of the run states: {}", fmt::join(replaced, ", ")));
  }

  const dsl::Program &program;
  const dsl::Plan &plan;
  const dsl::KnownSchedules &schedules;
  const ForeignProgram &target;
  const ForeignRun *origin;
  std::string name;
  Refusals refusals;
  ForeignRun result = startingRun();
  std::string whole;                     ///< the mesh axis that attention has over heads; empty: none besides that of tensor parallelism
  std::string outer, dp, ep, tp, pp, cp; ///< mesh axes by role; empty: no axis has the role
  std::string expertsOver;               ///< an axis of the sequence over which experts are split; empty: none
  dsl::Location expertsAt;
  std::set<std::string> tensor;
  std::vector<std::pair<std::string, const dsl::Rule *>> sequence;

  static ForeignRun startingRun() {
    ForeignRun run;
    run.world = 1;
    return run;
  }
};

} // namespace

std::optional<ForeignRun> runOfPlan(const dsl::Program &program, const dsl::KnownSchedules &schedules, const ForeignProgram &target,
                                    const ForeignRun *origin, dsl::Diagnostics &diagnostics) {
  ForeignRun run = Translation(program, schedules, target, origin, diagnostics).run();
  if (diagnostics.hasErrors())
    return std::nullopt;
  return run;
}

} // namespace npar::foreign
