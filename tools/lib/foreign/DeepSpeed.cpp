// DeepSpeed: recognizes, reads and writes its JSON, and knows what it lacks. Names and defaults come from its documentation and from
// deepspeed/runtime/config.py.
#include "tools/lib/foreign/DeepSpeed.h"

#include "engine/json/Json.h"
#include "tools/lib/foreign/ForeignProgram.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace npar::foreign {

const ForeignEntry *givenToDeepSpeed(Reading &in, const std::string &name) {
  const ForeignEntry *entry = in.find(name);
  if (!entry || entry->value != "auto")
    return entry;
  in.leave(entry, "the program that calls DeepSpeed decides it");
  return nullptr;
}

namespace {

/// Reads the three sizes of the batch, of which DeepSpeed derives those that are missing (DeepSpeedConfig._set_batch_related_parameters).
void readBatch(Reading &in, const std::string &prefix) {
  ForeignRun &run = in.run;
  auto given = [&](const char *key) { return givenToDeepSpeed(in, prefix + key); };
  const ForeignEntry *batch = given("train_batch_size"), *micro = given("train_micro_batch_size_per_gpu"),
                     *steps = given("gradient_accumulation_steps");
  in.place("batch", batch), in.place("micro", micro);
  run.batch = in.whole(batch, 0, 1, Reading::mostSize), run.accumulation = in.whole(steps, 1);
  if (micro)
    run.micro = in.whole(micro, 1);
  else if (batch)
    run.micro = 0; // computed later: batch / (accumulation * dp)
  else
    run.assumed.push_back("a micro-batch has one sequence: the file gives neither train_batch_size nor train_micro_batch_size_per_gpu");
  int64_t each = run.micro * run.accumulation;
  if (batch && micro && steps && run.batch % each != 0)
    in.error(*batch, fmt::format("train_batch_size {} is not divisible by {} sequences of a micro-batch times {} steps", run.batch,
                                 run.micro, run.accumulation));
  else if (batch && micro && steps)
    run.dp = run.batch / each; // the three sizes determine dp
}

void readPrecision(Reading &in, const std::string &prefix) {
  ForeignRun &run = in.run;
  auto given = [&](const char *key) { return givenToDeepSpeed(in, prefix + key); };
  const ForeignEntry *bf16 = given("bf16.enabled"), *older = given("bfloat16.enabled"), *fp16 = given("fp16.enabled");
  bool isBf16 = in.isTrue(bf16) || in.isTrue(older);
  if (isBf16 && in.isTrue(fp16))
    in.error(*fp16, "DeepSpeed refuses bf16 and fp16 together");
  run.precision = isBf16 ? "bf16" : in.isTrue(fp16) ? "fp16" : "f32";
  std::string sums = elementType(in.word(given("data_types.grad_accum_dtype"), "")),
              sent = elementType(in.word(given("communication_data_type"), ""));
  if (run.precision != "f32" && sums == "f32")
    run.gradients = "f32";
  if (run.precision != "f32" && (sent == "f32" || sent == "bf16") && sent != run.precision)
    run.reduce = sent;
}

/// Reads which state is in shares, and how it is moved.
void readZero(Reading &in, const std::string &prefix) {
  ForeignRun &run = in.run;
  const std::string section = prefix + "zero_optimization.";
  auto given = [&](const std::string &key) { return givenToDeepSpeed(in, section + key); };
  const ForeignEntry *stage = given("stage"), *overlap = given("overlap_comm");
  run.zero = in.whole(stage, 0, 0);
  if (run.zero > 3)
    in.error(*stage, fmt::format("ZeRO has stages 0 to 3, not {}", run.zero));
  run.gradientsPerStep = run.zero <= 1;
  in.keep(overlap);
  if (overlap && !in.isTrue(overlap) && overlap->value == "false")
    in.leave(overlap, "gradients are reduced as soon as they are computed");
  else if (!overlap && run.zero < 3)
    run.assumed.push_back(fmt::format(
        "gradients are reduced as soon as they are computed (overlap_comm of DeepSpeed is off by default in ZeRO {})", run.zero));
  if (const ForeignEntry *bucket = given("reduce_bucket_size")) {
    double elements = in.number(bucket, 5e8, 1e12);
    if (elements < 0)
      in.error(*bucket, fmt::format("'{}' is {}, no bucket has fewer than 0 elements", bucket->key, bucket->value.substr(0, 60)));
    run.bucketBytes = static_cast<int64_t>(elements) * (run.precision == "f32" ? 4 : 2);
    in.keep(bucket);
  }
  if (const ForeignEntry *shards = in.find(section + "mics_shard_size"); shards && shards->value != "-1" && shards->value != "0")
    in.leave(shards, "MiCS stores all state in shares over groups of ranks, and once in each group; here shares are over all ranks of dp");
  if (const ForeignEntry *shards = in.find(section + "zero_hpz_partition_size"); shards && in.whole(shards, 1, 0) > 1)
    in.leave(shards,
             "hpZ stores a second copy of the parameters in shares over the ranks of a host; here parameters are stored once, over dp");
  for (const char *what : {"offload_optimizer", "offload_param"}) {
    const ForeignEntry *device = given(std::string(what) + ".device");
    if (device && device->value != "none")
      in.leave(device, "nothing is moved to the host's memory");
    else
      in.skipSection(section + what + ".");
  }
  if (run.zero < 3) { // settings of parameters in shares
    for (const char *key : {"stage3_", "prefetch_bucket_size", "param_persistence", "model_persistence", "max_live", "max_reuse",
                            "sub_group_size", "module_granularity", "leaf_module.", "memory_efficient_linear"})
      in.skipSection(section + key);
  }
}

} // namespace

void readDeepSpeed(Reading &in, const std::string &prefix) {
  ForeignRun &run = in.run;
  auto given = [&](const std::string &key) { return givenToDeepSpeed(in, prefix + key); };
  const ForeignEntry *tp = given("tensor_parallel.autotp_size"), *pp = given("pipeline.stages"), *sp = given("sequence_parallel_size");
  for (const char *key : {"tensor_parallel.tp.tp_size", "tensor_parallel.tensor_parallel.tp_size", "tensor_parallel.tp_size"})
    if (const ForeignEntry *other = given(key); other && !tp)
      tp = other;
  in.place("tp", tp), in.place("pp", pp);
  run.tp = std::max<int64_t>(1, in.whole(tp, 1, 0)), run.pp = in.whole(pp, 1);
  if (int64_t ranks = in.whole(sp, 1); ranks > 1) {
    run.cp = ranks, run.ring = "ulysses";
    in.place("cp", sp);
  }
  readBatch(in, prefix);
  readPrecision(in, prefix);
  readZero(in, prefix);
  readDeepSpeedTraining(in, prefix);
  if (const ForeignEntry *cut = given("activation_checkpointing.partition_activations"); in.isTrue(cut))
    in.leave(cut, "what is kept of a block's input is not cut over tp");
  run.assumed.push_back("nothing is recomputed: a script turns it on, --set recompute=block here");
}

namespace {

/// A word, a number or a truth value; numbers separated by blanks make a list.
OrderedJson valueOf(const std::string &value) {
  OrderedJson parsed = OrderedJson::parse(value, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_number() || parsed.is_boolean())
    return parsed;
  OrderedJson list = OrderedJson::array();
  for (size_t begin = 0; begin <= value.size();) {
    size_t end = std::min(value.find(' ', begin), value.size());
    OrderedJson one = OrderedJson::parse(value.substr(begin, end - begin), nullptr, /*allow_exceptions=*/false);
    if (!one.is_number())
      return OrderedJson(value);
    list.push_back(one);
    begin = end + 1;
  }
  return list;
}

/// Adds a setting as a file has it: `key` with its sections.
void addWritten(OrderedJson &json, const std::string &key, const std::string &value) {
  OrderedJson *section = &json;
  for (size_t begin = 0; begin <= key.size();) {
    size_t end = std::min(key.find('.', begin), key.size());
    section = &(*section)[key.substr(begin, end - begin)];
    begin = end + 1;
  }
  *section = valueOf(value);
}

std::string deepSpeedText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) {
  OrderedJson json = {{"train_batch_size", run.batch},
                      {"train_micro_batch_size_per_gpu", run.micro},
                      {"gradient_accumulation_steps", program.plan.microCount}};
  addDeepSpeedTraining(json, run, program.train.location, diagnostics);
  if (run.precision != "f32")
    json[run.precision] = {{"enabled", true}};
  if (run.gradients == "f32")
    json["data_types"] = {{"grad_accum_dtype", "fp32"}};
  if (!run.reduce.empty())
    json["communication_data_type"] = run.reduce == "f32" ? "fp32" : run.reduce == "bf16" ? "bfp16" : "fp16";
  json["zero_optimization"] = {{"stage", run.zero}};
  if (run.zero < 3 && !run.writesOwnPlan()) // as npar's plans do
    json["zero_optimization"]["overlap_comm"] = true;
  if (run.bucketBytes > 0 && !run.writesOwnPlan())
    json["zero_optimization"]["reduce_bucket_size"] = std::max<int64_t>(1, run.bucketBytes / (run.precision == "f32" ? 4 : 2));
  if (run.tp > 1)
    json["tensor_parallel"] = {{"autotp_size", run.tp}};
  if (run.pp > 1)
    json["pipeline"] = {{"stages", run.pp}};
  for (const KeptSetting &one : run.keptToWrite())
    addWritten(json, one.key, one.value);
  return json.dump(2) + "\n";
}

class DeepSpeed : public ForeignProgram {
public:
  const char *key() const override { return "deepspeed"; }
  const char *name() const override { return "DeepSpeed"; }
  const char *file() const override { return "a DeepSpeed JSON"; }

  Sign signOf(const std::string &text) const override {
    size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && text[first] == '{' ? Sign::Whole : Sign::None;
  }
  bool hasEnding(const std::string &ending) const override { return ending == ".json"; }
  std::vector<ForeignEntry> parse(const std::string &text, uint32_t file, bool, dsl::Diagnostics &diagnostics) const override {
    return readJson(text, file, diagnostics);
  }
  bool isNested() const override { return true; }
  std::string shown(const std::string &key, const std::string &value, bool) const override { return key + ": " + value; }
  void read(Reading &in, const ForeignHints &) const override {
    readDeepSpeed(in, "");
    in.finish();
  }
  const KnownName *nameOf(const std::string &key) const override { return deepSpeedNames().find(key); }
  bool isOnlyHere(const std::string &key) const override {
    static const std::set<std::string> names = {
        "train_batch_size", "train_micro_batch_size_per_gpu", "steps_per_print", "wall_clock_breakdown", "bf16.enabled",
        "fp16.enabled",     "zero_allow_untested_optimizer"};
    bool isSection = key.rfind("zero_optimization.", 0) == 0 || key.rfind("activation_checkpointing.", 0) == 0;
    return names.count(key) != 0 || (isSection && nameOf(key));
  }

  bool writes() const override { return true; }
  std::string write(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) const override {
    return deepSpeedText(run, program, diagnostics);
  }
  const std::set<std::string> &schedules() const override {
    static const std::set<std::string> known = {"1f1b"};
    return known;
  }
  std::vector<std::string> optimizers() const override { return {"AdamW", "Adam", "Sgd"}; }
  bool expresses(const PlanShape &plan) const override { return plan.cp == 1 && !plan.sequence; }

  /// The training script also decides which blocks are in which part.
  void checkPipeline(const dsl::Pipeline &pipeline, const ForeignRun &run, Refusals &refusals) const override {
    refusals.warning(pipeline.location,
                     "the training script makes DeepSpeed's pipeline: PipelineModule(..., num_stages = " + std::to_string(run.pp) + ")");
  }
  void checkSequenceOverTensor(const dsl::Rule &rule, Refusals &refusals) const override {
    refusals.error(rule.location, "DeepSpeed does not split the sequence over the ranks of tensor parallelism");
  }
  void checkContext(const dsl::Rule &rule, const ForeignRun &, Refusals &refusals) const override {
    refusals.error(rule.location, "DeepSpeed's settings have no context parallelism with keys and values that are gathered or go round");
  }
  void checkStores(const dsl::Plan &, const dsl::Store *first, const ForeignRun &run, Refusals &refusals) const override {
    if (first && run.replicas > 1)
      refusals.error(first->location, "DeepSpeed's shares are over all ranks of data parallelism");
  }
  void checkRecompute(const dsl::Recompute &recompute, const ForeignRun &, Refusals &refusals) const override {
    refusals.warning(recompute.location, "DeepSpeed has no setting for recomputation: the training script calls its checkpointing");
  }
};

} // namespace

const ForeignProgram &deepSpeed() {
  static const DeepSpeed program;
  return program;
}

} // namespace npar::foreign
