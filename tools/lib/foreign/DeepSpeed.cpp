// DeepSpeed: recognizes and writes its JSON, and knows what it lacks.
#include "tools/lib/foreign/DeepSpeed.h"

#include "engine/json/Json.h"
#include "tools/lib/foreign/ForeignProgram.h"

#include <algorithm>
#include <set>

namespace npar::foreign {
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
  OrderedJson json = {{"train_batch_size", run.batch * (run.pp == 1 ? run.tp : 1)}, // DeepSpeed divides it by all ranks, see readBatch
                      {"train_micro_batch_size_per_gpu", run.micro},
                      {"gradient_accumulation_steps", program.plan.microCount}};
  addDeepSpeedTraining(json, run, program.train.location, diagnostics);
  bool isAutocast = run.zero == 0 && run.gradients == "f32"; // DeepSpeed has such gradients of a 16-bit model with ZeRO alone
  if (isAutocast)
    json["torch_autocast"] = {{"enabled", true}, {"dtype", run.precision == "bf16" ? "bfloat16" : "float16"}};
  else if (run.precision != "f32")
    json[run.precision] = {{"enabled", true}};
  if (run.gradients == "f32" && !isAutocast)
    json["data_types"] = {{"grad_accum_dtype", "fp32"}};
  if (run.reduceType() != (isAutocast ? "f32" : run.precision)) // which it has by default
    json["communication_data_type"] = run.reduceType() == "f32" ? "fp32" : run.reduceType() == "bf16" ? "bfp16" : "fp16";
  json["zero_optimization"] = {{"stage", run.zero}};
  if (run.replicas > 1)
    json["zero_optimization"]["mics_shard_size"] = run.dp;
  if (run.secondaryGroups() > 1)
    json["zero_optimization"]["zero_hpz_partition_size"] = run.secondaryRanks;
  bool overlaps = run.zero == 2 || (run.zero == 1 && run.bucketBytes > 0); // as npar's plan does; in ZeRO 3 it is the default
  if (overlaps && !run.writesOwnPlan())
    json["zero_optimization"]["overlap_comm"] = true;
  if (run.bucketBytes > 0 && run.zero > 0 && !run.writesOwnPlan())
    json["zero_optimization"]["reduce_bucket_size"] = std::max<int64_t>(1, run.bucketBytes / (run.sumType() == "f32" ? 4 : 2));
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
  bool expresses(const PlanShape &plan) const override { return plan.cp == 1 && !plan.sequence && (plan.pp == 1 || plan.zero < 2); }

  /// The training script also decides which blocks are in which part.
  void checkPipeline(const dsl::Pipeline &pipeline, const ForeignRun &run, Refusals &refusals) const override {
    refusals.warning(pipeline.location,
                     "the training script makes DeepSpeed's pipeline: PipelineModule(..., num_stages = " + std::to_string(run.pp) + ")");
  }
  void checkSequenceOverTensor(const dsl::Rule &rule, Refusals &refusals) const override {
    refusals.error(rule.location, "DeepSpeed does not split the sequence over the ranks of tensor parallelism");
  }
  void checkContext(const dsl::Rule &rule, const dsl::Model &, const ForeignRun &, Refusals &refusals) const override {
    refusals.error(rule.location, "DeepSpeed's settings have no context parallelism with keys and values that are gathered or go round");
  }
  bool sharesParametersTwice() const override { return true; }
  void checkStores(const dsl::Plan &, const dsl::Store *first, const ForeignRun &run, Refusals &refusals) const override {
    if (first && run.replicas > 1 && run.zero < 3)
      refusals.error(first->location, "without parameters in shares, DeepSpeed's shares are over all ranks of data parallelism");
    if (first && run.pp > 1 && run.zero >= 2)
      refusals.error(first->location, "DeepSpeed refuses gradients or parameters in shares in a pipeline");
  }
  void checkBucket(const dsl::Plan &plan, Refusals &refusals) const override {
    if (plan.stores.empty())
      refusals.warning(plan.location, "without ZeRO DeepSpeed reduces gradients after the backward pass, whatever the bucket");
    else if (plan.pipeline)
      refusals.warning(plan.location, "in a pipeline DeepSpeed reduces gradients after the backward pass, whatever the bucket");
  }
  void checkTypes(const dsl::Plan &plan, const ForeignRun &run, Refusals &refusals) const override {
    if (run.zero == 0 && run.pp > 1 && run.precision == "bf16" && run.gradients.empty())
      refusals.warning(plan.location, "DeepSpeed's pipeline stores the optimizer's state of a bf16 model in shares");
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
