// torchtitan: recognizes, reads and writes its TOML, and knows what it lacks. Names and defaults come from its
// torchtitan/config/job_config.py.
#include "tools/lib/foreign/Torchtitan.h"

#include "dsl/AxisSize.h"
#include "engine/files/BoundedText.h"
#include "tools/lib/foreign/EntryList.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/ModelFacts.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

namespace npar::foreign {
namespace {

constexpr const char *withoutShares = "torchtitan's replicas without shares have no tensor or pipeline parallelism";

/// Finds a name in its section, or in [experimental] or [training], where older files have it.
const ForeignEntry *inParallelism(Reading &in, const std::string &name) {
  for (const char *section : {"parallelism.", "experimental.", "training."})
    if (const ForeignEntry *entry = in.find(section + name))
      return entry;
  return nullptr;
}

/// The number of blocks in each part of the pipeline when they are spread evenly. The layers before the first block count as `before`
/// blocks, those after the last one as `after` blocks.
std::vector<int64_t> torchtitanStages(int64_t layers, int64_t parts, int64_t before, int64_t after) {
  std::vector<int64_t> blocks;
  int64_t all = layers + before + after;
  for (int64_t part = 0; part < parts; ++part)
    blocks.push_back(all / parts + (part < all % parts ? 1 : 0) - (part == 0 ? before : 0) - (part == parts - 1 ? after : 0));
  return blocks;
}

/// Takes the schedule of a CSV file next to the settings, as `pipeline_parallel_schedule_csv` names it.
void readScheduleFile(Reading &in, const ForeignEntry &entry) {
  ForeignRun &run = in.run;
  std::filesystem::path path = std::filesystem::path(in.file.path).parent_path() / entry.value;
  engine::Result<std::string> text = files::readBoundedText(path.string(), "the schedule", largestForeignFile);
  if (!text.ok())
    return in.error(entry, text.status().message());
  int64_t last = 0;
  for (size_t at = 0; at < text->size();) { // an action begins with its part of the pipeline: 3F0
    size_t end = std::min(text->find_first_of(",\n", at), text->size()), digit = text->find_first_not_of(" \r", at);
    if (digit < end)
      last = std::max<int64_t>(last, std::strtol(text->c_str() + digit, nullptr, 10));
    at = end + 1;
  }
  if ((last + 1) % run.pp != 0)
    return in.error(entry, fmt::format("the schedule has {} parts of the pipeline, which {} stages do not divide", last + 1, run.pp));
  run.chunks = (last + 1) / run.pp;
  run.schedulePath = std::filesystem::absolute(path).lexically_normal().string();
  run.assumed.push_back("blocks are balanced by cost over the pipeline's stages");
}

void readTorchtitanSchedule(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *schedule = inParallelism(in, "pipeline_parallel_schedule"),
                     *perStage = inParallelism(in, "pipeline_parallel_layers_per_stage"),
                     *file = inParallelism(in, "pipeline_parallel_schedule_csv");
  const ForeignEntry *points = inParallelism(in, "pipeline_parallel_split_points"),
                     *parts = inParallelism(in, "module_fqns_per_model_part");
  const ForeignEntry *less = inParallelism(in, "pipeline_parallel_first_stage_less_layers"),
                     *lessLast = inParallelism(in, "pipeline_parallel_last_stage_less_layers");
  if (run.pp == 1)
    return;
  std::string name = in.word(schedule, "1F1B");
  int64_t layers = run.layers > 0 ? run.layers : hints.layers, chunks = 2, first = in.whole(less, 1, 0), last = in.whole(lessLast, 1, 0);
  if (perStage && layers > 0) {
    int64_t each = in.whole(perStage, 1), parts = (layers + first + last + each - 1) / each;
    if (parts % run.pp != 0)
      in.error(*perStage,
               fmt::format("{} layers, with those that embedding and output count as, make {} parts of {}, which {} stages do not divide",
                           layers + first + last, parts, each, run.pp));
    chunks = std::max<int64_t>(1, parts / run.pp);
  }
  if (points && points->value != "[]")
    in.leave(points, "blocks are spread as torchtitan does without it");
  in.leave(parts, "blocks are spread as torchtitan does without it");
  if (file && !file->value.empty()) {
    in.keep(schedule), in.keep(file);
    return readScheduleFile(in, *file);
  }
  static const std::map<std::string, const char *> known = {
      // PyTorch compares them in lower case
      {"1f1b", "1f1b"},          {"gpipe", "gpipe"},          {"interleaved1f1b", "interleaved"},      {"loopedbfs", "looped_bfs"},
      {"zbvzerobubble", "zb_v"}, {"dualpipev", "dualpipe_v"}, {"interleavedzerobubble", "interleaved"}};
  auto found = known.find(lowerCase(name));
  if (found == known.end())
    in.leave(schedule, "npar does not know this schedule: 1f1b is taken");
  else
    run.schedule = found->second;
  run.chunks = run.schedule == "interleaved" || run.schedule == "looped_bfs" ? chunks
               : run.schedule == "zb_v" || run.schedule == "dualpipe_v"      ? 2
                                                                             : 1;
  if (lowerCase(name) == "interleavedzerobubble")
    in.leave(schedule, "the interleaved schedule is taken, whose backwards are whole");
  if (layers == 0 || run.schedule == "zb_v" || run.schedule == "dualpipe_v") {
    run.assumed.push_back("blocks are balanced by cost over the pipeline's stages");
    return;
  }
  int64_t count = run.pp * run.chunks;
  run.stages = torchtitanStages(layers, count, first, last);
  for (int64_t blocks : run.stages)
    if (blocks < 1) {
      in.diagnostics.error(dsl::Code::F2, run.placeOf("pp"),
                           fmt::format("{} layers leave a stage of the pipeline, which has {} parts, without a block", layers, count));
      return;
    }
}

void readTorchtitanRecompute(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *mode = in.find("activation_checkpoint.mode"), *option = in.find("activation_checkpoint.selective_ac_option");
  std::string how = in.word(mode, "selective"), every = in.word(option, "2");
  if (how == "full" || (how == "selective" && every == "1")) {
    run.recompute = "block";
  } else if (how == "selective" && every == "op") {
    run.recomputed = RecomputedParts{0};
    auto size = [&](const char *name) {
      for (const Constant &one : run.constants)
        if (one.name == name)
          return std::stoll(one.value);
      return 0LL;
    };
    // The block's input and the results of attention and of every second product: queries, values, the gate and the last one.
    int64_t width = size("width"), heads = size("heads"),
            kept = 4 * width + (heads > 0 ? width / heads * size("kv_heads") : 0) + size("mlp");
    in.leave(option, width > 0
                         ? fmt::format("the feed-forward layers are recomputed; torchtitan keeps {} bytes per token and block in "
                                       "16 bits: the results of attention and of every second product",
                                       2 * kept)
                         : "the feed-forward layers are recomputed; torchtitan keeps the results of attention and of every second product");
  } else if (how == "selective") {
    run.recomputed = RecomputedParts{in.whole(option, 2)};
  } else if (how != "none") {
    in.leave(mode, "npar does not know this way to recompute: nothing is");
  }
  if (how == "selective" && !mode)
    run.assumed.push_back("the file does not choose recomputation: torchtitan recomputes every second block by default");
  in.keep(mode), in.keep(option);
}

/// Marks the settings of parts that the file does not turn on.
void skipWhatIsOff(Reading &in) {
  for (const char *section : {"compile.", "fault_tolerance.", "validation."})
    if (!in.isTrue(in.peek(section + std::string("enable"))))
      in.skipSection(section);
  const std::string converters = in.word(in.peek("model.converters"), "");
  for (const char *name : {"quantize.linear.float8", "quantize.linear.mx", "quantize.grouped_mm.float8", "quantize.grouped_mm.mx"}) {
    std::string older = name + std::string(name).rfind('.') + 1; // as older files have it
    if (converters.find(name) == std::string::npos && converters.find("[" + older) == std::string::npos &&
        converters.find(" " + older) == std::string::npos)
      in.skipSection(name + std::string("."));
    if (converters.find(older) == std::string::npos && !in.isTrue(in.peek("float8.enable_float8_linear")))
      in.skipSection(older + ".");
  }
  const std::string mode = in.word(in.peek("activation_checkpoint.mode"), "selective");
  if (mode != "memory_budget")
    in.skipSection("activation_checkpoint.memory_budget");
  if (mode != "selective" || in.word(in.peek("activation_checkpoint.selective_ac_option"), "2") != "op")
    in.skipSection("activation_checkpoint.per_op_sac");
}

/// The ranks that share experts are some of dp and all of cp, and if experts are not split over tp, all of tp too (ParallelDims of
/// torchtitan/distributed/parallel_dims.py). npar's plan splits experts over tp.
void readTorchtitanExperts(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *ep = inParallelism(in, "expert_parallel_degree"), *tp = inParallelism(in, "expert_tensor_parallel_degree");
  const int64_t ranks = in.whole(ep, 1), inside = in.whole(tp, 1);
  if (ranks == 1)
    return;
  if (!hints.modelIsKnown) {
    in.leave(ep, "the model has no experts; --model-config reads one that has");
    return;
  }
  in.place("ep", ep);
  if (ranks % run.cp != 0)
    in.error(*ep, fmt::format("torchtitan's ranks that share experts include all {} of context parallelism, so {} must be a multiple of {}",
                              run.cp, ranks, run.cp));
  else
    run.ep = ranks / run.cp, run.expertsOverContext = run.cp > 1;
  if (inside != run.tp)
    in.error(tp ? *tp : *ep,
             fmt::format("npar's plan of this run splits experts like other layers, over tp {}, and 'expert_tensor_parallel_degree' "
                         "is {}",
                         run.tp, inside));
}

void readTorchtitan(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *local = in.find("training.local_batch_size"), *older = in.find("training.batch_size"),
                     *batch = in.find("training.global_batch_size"), *length = in.find("training.seq_len");
  const ForeignEntry *shard = inParallelism(in, "data_parallel_shard_degree"),
                     *replicate = inParallelism(in, "data_parallel_replicate_degree"), *tp = inParallelism(in, "tensor_parallel_degree");
  const ForeignEntry *pp = inParallelism(in, "pipeline_parallel_degree"), *cp = inParallelism(in, "context_parallel_degree"),
                     *rotate = inParallelism(in, "context_parallel_rotate_method");
  const ForeignEntry *reshard = inParallelism(in, "fsdp_reshard_after_forward"), *noLoss = inParallelism(in, "disable_loss_parallel"),
                     *sequence = inParallelism(in, "enable_sequence_parallel");
  const ForeignEntry *micro = inParallelism(in, "pipeline_parallel_microbatch_size"),
                     *async = inParallelism(in, "enable_async_tensor_parallel");
  const ForeignEntry *balancer = inParallelism(in, "context_parallel_load_balancer");
  if (!local)
    local = older;
  run.tp = in.whole(tp, 1), run.pp = in.whole(pp, 1), run.cp = in.whole(cp, 1), run.replicas = in.whole(replicate, 1);
  int64_t sharded = in.whole(shard, -1, -1);
  if (shard && sharded == 0)
    in.error(*shard, "'data_parallel_shard_degree' is -1 (what the world leaves) or at least 1, not 0");
  run.dp = sharded == -1 ? 0 : sharded;
  run.length = in.whole(length, 2048, 1, Reading::mostSize);
  in.place("tp", tp), in.place("pp", pp), in.place("cp", cp), in.place("dp", shard), in.place("batch", batch ? batch : local),
      in.place("micro", micro), in.place("length", length);
  int64_t each = in.whole(local, 8), global = in.whole(batch, -1, -1, Reading::mostSize);
  if (!local)
    run.assumed.push_back("a rank's batch has 8 sequences, torchtitan's default");
  in.keep(local); // a plan has one run of the pipeline, torchtitan one for each accumulated batch
  run.micro = run.pp > 1 ? in.whole(micro, 1) : each;
  if (each % run.micro != 0)
    in.diagnostics.error(dsl::Code::F2, (micro ? micro : local)->at,
                         fmt::format("local_batch_size {} is not divisible by pipeline_parallel_microbatch_size {}", each, run.micro));
  else
    run.accumulation = each / run.micro;
  run.batch = global > 0 ? global : 0;
  if (run.pp > 1 && run.batch > 0)
    run.assumed.push_back(
        "all micro-batches of a step go through the pipeline in one run, also where torchtitan drains it between accumulated batches");
  run.zero = 3, run.gradientsPerStep = false; // fully_shard: parameters, their gradients and the optimizer's state
  std::string after = in.word(reshard, "default");
  if (after == "never" || (after == "default" && run.pp > 1))
    run.zero = 2; // gathered once for forward and backward
  if (run.dp == 1 && run.cp == 1)
    run.zero = 0;
  if (const std::string name = in.word(in.peek("model.name"), "");
      run.zero == 0 && run.replicas > 1 && run.tp * run.pp > 1 && name.rfind("llama3", 0) == 0)
    in.error(*replicate, withoutShares);
  if (run.replicas > 1) { // apply_ddp and apply_fsdp of torchtitan/models/llama3/infra/parallelize.py
    bool isDdp = run.zero == 0;
    run.bucketBytes = (isDdp ? 100 : 25) << 20;
    run.bucketNote = isDdp ? "default of torchtitan" : "npar's: FSDP reduces each block by itself";
    if (!isDdp)
      run.assumed.push_back(
          "gradients are reduced between replicas in buckets of 25 MiB during the backward pass (FSDP: each block by itself)");
  }
  run.sequenceParallel = run.tp > 1 && (!sequence || in.isTrue(sequence));
  if (in.isTrue(noLoss) && run.tp > 1)
    in.leave(noLoss, "the loss is split over tp with the vocabulary");
  if (in.isTrue(async))
    in.leave(async, "a product does not overlap with its own collective");
  if (run.cp > 1)
    run.ring = in.word(rotate, "allgather") == "allgather" ? "gather" : balancer && balancer->value == "None" ? "ring" : "ring(zigzag)";
  readTorchtitanExperts(in, hints);
  std::string param = elementType(in.word(in.find("training.mixed_precision_param"), "bfloat16")),
              dtype = elementType(in.word(in.find("training.dtype"), "float32"));
  std::string reduced = elementType(in.word(in.find("training.mixed_precision_reduce"), "float32"));
  run.precision = dtype == "bf16" ? "bf16" : param.empty() ? "bf16" : param;
  if (run.precision == "bf16" && dtype != "bf16") {
    run.gradients = "f32", run.reduce = reduced == "bf16" ? "bf16" : "f32";
    run.assumed.push_back(
        "npar stores 16-bit parameters in addition to the optimizer's f32 ones: 2 bytes per parameter more than torchtitan's shares");
  }
  if (dtype == "bf16")
    in.leave(in.find("training.dtype"), "the optimizer's state stays f32");
  readTorchtitanTraining(in);
  if (!hints.modelIsKnown)
    readTorchtitanModel(in);
  else if (const ForeignEntry *name = in.find("model.name"), *flavor = in.find("model.flavor"); name || flavor)
    run.assumed.push_back(
        fmt::format("the model is that of --model-config, whatever '{} {}' of the file is", in.word(name, ""), in.word(flavor, "")));
  readTorchtitanSchedule(in, hints);
  readTorchtitanRecompute(in);
  skipWhatIsOff(in);
  if (const ForeignEntry *norm = in.find("model.norm_type"); norm && norm->value != "rmsnorm")
    in.differs(norm, "Llama has RMSNorm");
  in.finish();
}

void addTorchtitanParallelism(Toml &toml, const ForeignRun &run) {
  // If nothing is sharded, all data-parallel ranks are replicas.
  toml.section("parallelism");
  toml.add("data_parallel_replicate_degree", run.zero > 0 ? run.replicas : run.dp);
  toml.add("data_parallel_shard_degree", run.zero > 0 ? run.dp : 1);
  if (run.zero > 0)
    toml.add("fsdp_reshard_after_forward", std::string(run.zero == 3 ? "always" : "never"));
  toml.add("tensor_parallel_degree", run.tp);
  toml.add("context_parallel_degree", run.cp);
  if (run.expertRanks() > 1)
    toml.add("expert_parallel_degree", run.expertRanks()), toml.add("expert_tensor_parallel_degree", run.tp);
  if (run.cp > 1)
    toml.add("context_parallel_rotate_method", std::string(run.ring == "gather" ? "allgather" : "alltoall"));
  if (run.cp > 1 && run.ring == "ring")
    toml.add("context_parallel_load_balancer", std::string("None"));
  toml.add("pipeline_parallel_degree", run.pp);
  if (run.pp == 1)
    return;
  toml.add("pipeline_parallel_microbatch_size", run.micro);
  if (!run.schedulePath.empty()) // kept as the file has it
    return;
  static const std::map<std::string, const char *> names = {
      {"1f1b", "1F1B"},          {"gpipe", "GPipe"},         {"interleaved", "Interleaved1F1B"}, {"looped_bfs", "LoopedBFS"},
      {"zb_v", "ZBVZeroBubble"}, {"dualpipe_v", "DualPipeV"}};
  toml.add("pipeline_parallel_schedule", std::string(names.at(run.schedule)));
  int64_t parts = run.pp * run.chunks;
  if (run.chunks > 2)
    toml.add("pipeline_parallel_layers_per_stage", (run.layers + 2 + parts - 1) / parts);
}

std::string torchtitanText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) {
  Toml toml;
  if (run.readFrom == run.program && !run.modelSettings.empty()) {
    for (const auto &[key, value] : run.modelSettings)
      toml.addWritten(key, value);
  } else if (run.differences.empty()) {
    addTorchtitanModel(toml, program, diagnostics);
  }
  addTorchtitanOptimizer(toml, run);
  toml.section("training");
  toml.add("local_batch_size", run.pp > 1 ? run.micro * program.plan.microCount : run.micro);
  toml.add("global_batch_size", run.batch);
  toml.add("seq_len", dsl::axisSize(program.model, "seq"));
  if (run.writes(run.training.clip.origin))
    toml.add("max_norm", run.training.clip.value);
  if (run.training.schedule.value != dsl::ScheduleKind::Constant && run.writes(run.training.steps.origin))
    toml.add("steps", run.training.steps.value);
  toml.add("mixed_precision_param", std::string(run.precision == "bf16" ? "bfloat16" : "float32"));
  toml.add("mixed_precision_reduce", std::string("float32"));
  addTorchtitanParallelism(toml, run);
  if (!run.writesOwnPlan()) { // else it is kept, or torchtitan's default
    toml.section("activation_checkpoint");
    toml.add("mode", std::string(run.recompute.empty() ? "none" : "full"));
  }
  if (run.writes(run.training.seed.origin)) {
    toml.section("debug");
    toml.add("seed", run.training.seed.value);
  }
  const std::string option = "selective_ac_option"; // a word even if it is a number
  for (const KeptSetting &one : run.keptToWrite())
    if (one.key == "activation_checkpoint." + option)
      toml.section("activation_checkpoint"), toml.add(option, one.value);
    else
      toml.addWritten(one.key, one.value);
  return toml.text();
}

/// True for a TOML table: `[parallelism]`, `[a.b] # comment`.
bool isTable(std::string_view line) {
  size_t open = line.find_first_not_of(" \t"), close = line.find(']');
  if (open == std::string_view::npos || line[open] != '[' || close == std::string_view::npos || close == open + 1)
    return false;
  for (size_t i = open + 1; i < close; ++i)
    if (!(isWord(line[i]) || line[i] == '.') || (i == open + 1 && !isLetter(line[i]) && line[i] != '_'))
      return false;
  size_t after = line.find_first_not_of(" \t", close + 1);
  return after == std::string_view::npos || line[after] == '#';
}

class Torchtitan : public ForeignProgram {
public:
  const char *key() const override { return "torchtitan"; }
  const char *name() const override { return "torchtitan"; }
  const char *file() const override { return "a torchtitan TOML"; }

  Sign signOfLine(std::string_view line) const override { return isTable(line) ? Sign::Whole : Sign::None; }
  bool hasEnding(const std::string &ending) const override { return ending == ".toml"; }
  std::vector<ForeignEntry> parse(const std::string &text, uint32_t file, bool, dsl::Diagnostics &diagnostics) const override {
    return readToml(text, file, diagnostics);
  }
  void read(Reading &in, const ForeignHints &hints) const override { readTorchtitan(in, hints); }
  const KnownName *nameOf(const std::string &key) const override { return torchtitanNames().find(key); }
  bool isOnlyHere(const std::string &key) const override {
    static const std::set<std::string> names = {"model.flavor",     "model.converters",  "training.local_batch_size",
                                                "training.seq_len", "training.max_norm", "job.dump_folder",
                                                "job.config_file"};
    bool isSection = false;
    for (const char *section :
         {"parallelism.", "activation_checkpoint.", "lr_scheduler.", "experimental.", "comm.", "float8.", "quantize."})
      isSection = isSection || key.rfind(section, 0) == 0;
    return names.count(key) != 0 || (isSection && nameOf(key));
  }

  bool writes() const override { return true; }
  std::string write(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) const override {
    return torchtitanText(run, program, diagnostics);
  }
  const std::set<std::string> &schedules() const override {
    static const std::set<std::string> known = {"1f1b", "gpipe", "interleaved", "looped_bfs", "zb_v", "dualpipe_v"};
    return known;
  }
  std::vector<std::string> optimizers() const override { return {"AdamW", "Adam"}; }
  std::optional<program::ElementType> gradientsOf(program::ElementType compute) const override {
    return compute == program::ElementType::BF16 ? std::optional(program::ElementType::F32) : std::nullopt;
  }
  bool expresses(const PlanShape &plan) const override {
    bool isStored = plan.zero == 3 || (plan.zero == 0 && (plan.dp == 1 || plan.tp * plan.pp == 1));
    return plan.cp == 1 && (plan.tp == 1 || plan.sequence) && isStored && !plan.recomputesEvery;
  }

  void checkPipeline(const dsl::Pipeline &pipeline, const ForeignRun &run, Refusals &refusals) const override {
    if (pipeline.counts.empty())
      return warnOfSpread(pipeline, refusals);
    std::vector<int64_t> theirs = torchtitanStages(run.layers, run.pp * run.chunks, 1, 1);
    if (pipeline.counts != theirs)
      refusals.error(pipeline.countsAt, "torchtitan's parts of the pipeline have other numbers of blocks",
                     fmt::format("stages [{}]", fmt::join(theirs, ", ")));
  }
  bool sharesExperts() const override { return true; }
  bool sharesExpertsOverContext() const override { return true; }
  void checkRules(const dsl::Plan &plan, const std::string &tp, const ForeignRun &run, Refusals &refusals) const override {
    if (!tp.empty() && !run.sequenceParallel)
      refusals.error(plan.location, "torchtitan splits the sequence over the ranks of tensor parallelism too",
                     fmt::format("add `seq -> {}` after the other rules", tp));
  }
  void checkStores(const dsl::Plan &plan, const dsl::Store *first, const ForeignRun &run, Refusals &refusals) const override {
    if (first && run.zero == 1)
      refusals.error(first->location, "torchtitan's shares of the optimizer's state come with shares of gradients",
                     "`store { gradients -> ... }`");
    if (run.zero == 0 && run.cp == 1 && run.dp > 1 && run.tp * run.pp > 1 && !run.writesOwnPlan())
      refusals.error(plan.location, withoutShares, "add a `store`");
    if (run.ep > 1 && run.cp > 1 && !run.expertsOverContext)
      refusals.error(plan.location, "torchtitan's ranks that share experts include all ranks of context parallelism",
                     "add their mesh axis to the rule of the experts, behind the others");
    if (run.zero == 0 && run.cp > 1)
      refusals.error(plan.location, "torchtitan stores everything in shares under context parallelism", "add a `store` over it");
  }
  void checkTypes(const dsl::Plan &plan, const ForeignRun &run, Refusals &refusals) const override {
    const std::string &summed = run.sumType(), &reduced = run.reduceType();
    if (run.precision == "fp16")
      refusals.error(plan.location, "torchtitan does not train in fp16");
    if (run.precision == "bf16" && (summed != "f32" || reduced != "f32"))
      refusals.error(plan.location,
                     fmt::format("torchtitan's gradients and their sums are f32, not {}", summed != "f32" ? summed : reduced),
                     "compute bf16, gradients f32, reduce f32");
  }
  void checkRecompute(const dsl::Recompute &recompute, const ForeignRun &run, Refusals &refusals) const override {
    if (run.recompute != "block" && recompute.kind == dsl::RecomputeKind::Every)
      refusals.error(recompute.location, "torchtitan recomputes blocks one at a time", "`recompute block`");
  }
  void checkBucket(const dsl::Plan &plan, Refusals &refusals) const override {
    refusals.warning(plan.bucketAt, "torchtitan reduces the gradients of a block together, whatever their size");
  }
};

} // namespace

const ForeignProgram &torchtitan() {
  static const Torchtitan program;
  return program;
}

} // namespace npar::foreign
