// Megatron-LM: recognizes and reads its flags, or the list of arguments that it prints, and knows what it lacks. Names and defaults come
// from its megatron/training/arguments.py and the configuration classes in the same folder.
#include "tools/lib/foreign/megatron/Megatron.h"

#include "tools/lib/foreign/DeepSpeed.h"
#include "tools/lib/foreign/ModelFacts.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <set>

namespace npar::foreign {

const ForeignProgram &deepSpeed();

namespace {

/// The schedule that the flags choose. Flags for zero bubbles come from Megatron-DeepSpeed and the fork at github.com/sail-sg.
std::string scheduleOf(Reading &in) {
  const ForeignEntry *h1 = in.find("enable_zbh1_pipeline"), *exact = in.find("enable_zbh1_exact_semantics");
  bool isH1 = in.isTrue(h1), isAuto = in.isTrue(in.findAny({"enable_zero_bubble", "enable_zb_runtime"})),
       isV = in.isTrue(in.find("zero_bubble_v_schedule"));
  const ForeignEntry *memory = in.find("zero_bubble_v_schedule_mem_setup"), *v = in.find("enable_1f1b_v");
  for (const char *flag : {"enable_zbh1_pipeline", "enable_zbh1_exact_semantics", "enable_zero_bubble", "enable_zb_runtime",
                           "zero_bubble_v_schedule", "zero_bubble_v_schedule_mem_setup"})
    in.keep(in.find(flag));
  if (in.isTrue(exact) && !isH1)
    in.error(*exact, "--enable-zbh1-exact-semantics needs --enable-zbh1-pipeline, as Megatron-DeepSpeed says too");
  if (isH1 && !in.isTrue(exact))
    in.leave(h1, "the gradient of a stage's input is sent before those of its weights are computed, as with --enable-zbh1-exact-semantics");
  if (in.isTrue(v))
    in.leave(v, "npar has no such schedule: the next flag's is taken, or 1f1b");
  if (isV)
    return in.word(memory, "zb") == "half" ? "v_half" : in.word(memory, "zb") == "min" ? "v_min" : "zb_v";
  return isH1 ? "zb_h1" : isAuto ? "zb_auto" : "";
}

void readMegatronPipeline(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *perStage = in.find("num_layers_per_virtual_pipeline_stage"),
                     *virtualStages = in.findAny({"num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size"});
  std::string named = scheduleOf(in);
  const ForeignEntry *first = in.findAny({"decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage"});
  const ForeignEntry *last = in.findAny({"decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage"});
  int64_t layers = run.layers > 0 ? run.layers : hints.layers;
  if (run.pp == 1 || layers == 0) {
    if (run.pp > 1 && !named.empty())
      run.schedule = named;
    if (run.pp > 1)
      run.assumed.push_back("blocks are balanced by cost over the pipeline's stages");
    return;
  }
  if (perStage && !virtualStages && layers % run.pp == 0) {
    int64_t each = in.whole(perStage, 1);
    if (layers / run.pp % each != 0)
      in.error(*perStage, fmt::format("the {} layers of a stage are not divisible by {} per virtual stage", layers / run.pp, each));
    else
      run.chunks = layers / run.pp / each;
  }
  run.chunks = in.whole(virtualStages, run.chunks);
  run.schedule = !named.empty() ? named : run.chunks > 1 ? "interleaved" : "1f1b";
  if (named == "zb_v" || named == "v_half" || named == "v_min")
    run.chunks = 2;
  int64_t parts = run.pp * run.chunks, rest = layers, between = parts;
  if (parts > layers) {
    in.diagnostics.error(dsl::Code::F2, run.placeOf("pp"),
                         fmt::format("{} layers are fewer than the {} parts of the pipeline", layers, parts));
    return;
  }
  int64_t inFirst = in.whole(first, 0, 0), inLast = in.whole(last, 0, 0); // blocks of a whole stage, over all its chunks
  for (auto [entry, blocks] : {std::pair(first, inFirst), std::pair(last, inLast)})
    if (entry && blocks % run.chunks != 0)
      in.error(*entry, fmt::format("{} layers do not go evenly over the {} chunks of a stage", blocks, run.chunks));
  rest -= inFirst + inLast;
  between -= (first ? run.chunks : 0) + (last ? run.chunks : 0);
  if (rest < 0 || between < 0 || (between == 0 ? rest != 0 : rest % between != 0)) {
    in.diagnostics
        .error(dsl::Code::F2, run.placeOf("pp"), fmt::format("{} layers do not go evenly over {} parts of the pipeline", rest, between))
        .help(run.placeOf("pp"),
              "Megatron-LM refuses it too; --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers make a rest");
    return;
  }
  for (int64_t part = 0; part < parts; ++part)
    run.stages.push_back(first && part % run.pp == 0           ? inFirst / run.chunks
                         : last && part % run.pp == run.pp - 1 ? inLast / run.chunks
                                                               : rest / between);
}

void readMegatronRecompute(Reading &in) {
  const ForeignEntry *granularity = in.findAny({"recompute_granularity", "activations_checkpoint_granularity"}),
                     *method = in.findAny({"recompute_method", "activations_checkpoint_method"}),
                     *count = in.findAny({"recompute_num_layers", "activations_checkpoint_num_layers", "checkpoint_num_layers"});
  const ForeignEntry *selective = in.find("recompute_activations"), *all = in.find("checkpoint_activations"),
                     *modules = in.find("recompute_modules");
  bool isOlder = in.isTrue(all) || in.peek("activations_checkpoint_method"); // each of them alone recomputes all blocks
  std::string how = in.word(granularity, isOlder ? "full" : in.isTrue(selective) ? "selective" : "");
  for (const ForeignEntry *one : {granularity, method, count, selective, all, modules})
    in.keep(one);
  if (how == "full") {
    int64_t layers = in.whole(count, 1);
    bool isSome = in.word(method, "uniform") == "block";
    in.run.recompute = !isSome && layers > 1 ? "every " + std::to_string(layers) : "block";
    if (!isSome)
      return;
    in.leave(method, fmt::format("all blocks are recomputed, not {} of each stage", layers));
  } else if (how == "selective") {
    std::string what = in.word(modules, "core_attn");
    if (what != "core_attn")
      in.leave(modules, "of parts of a block, attention alone is recomputed");
    in.run.assumed.push_back("attention's probabilities are recomputed in any case: npar never keeps them");
  } else if (granularity) {
    in.error(*granularity, "'recompute_granularity' is 'full' or 'selective', not '" + how.substr(0, 40) + "'");
  }
}

void readMegatron(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *tp = in.find("tensor_model_parallel_size"), *pp = in.find("pipeline_model_parallel_size"),
                     *cp = in.find("context_parallel_size");
  const ForeignEntry *world = in.find("world_size"), *perNode = in.findAny({"nproc_per_node", "num_gpus"}),
                     *nodes = in.findAny({"nnodes", "num_nodes"}), *micro = in.findAny({"micro_batch_size", "batch_size"}),
                     *batch = in.find("global_batch_size");
  const ForeignEntry *length = in.findAny({"seq_length", "encoder_seq_length"}), *old = in.find("model_parallel_size"),
                     *ulysses = in.find("ds_sequence_parallel_size"); // of Megatron-DeepSpeed
  run.tp = in.whole(tp ? tp : old, 1), run.pp = in.whole(pp, 1), run.cp = in.whole(cp, 1);
  readMegatronExpertParallelism(in);
  in.place("tp", tp ? tp : old), in.place("pp", pp), in.place("cp", cp), in.place("micro", micro), in.place("batch", batch);
  in.place("world", world ? world : nodes ? nodes : perNode), in.place("length", length);
  if (hints.world == 0)
    run.world = world ? in.whole(world, 0) : perNode ? in.whole(perNode, 1) * in.whole(nodes, 1) : 0;
  run.micro = in.whole(micro, 1), run.batch = in.whole(batch, 0, 1, Reading::mostSize);
  run.length = in.whole(length, 0, 1, Reading::mostSize);
  readDeepSpeedBatch(in);
  refuseModel(in);
  if (!micro)
    run.assumed.push_back("a micro-batch has one sequence: --micro-batch-size is not there");
  run.sequenceParallel = in.isTrue(in.find("sequence_parallel")) && run.tp > 1;
  if (int64_t ranks = in.whole(ulysses, 1); ranks > 1) {
    if (run.cp > 1)
      in.error(*ulysses, "npar splits the sequence in one way: by context_parallel_size or by ds_sequence_parallel_size");
    run.cp = ranks, run.ring = "ulysses";
    in.place("cp", ulysses), in.keep(ulysses);
  } else if (const ForeignEntry *how = in.find("cp_comm_type"); how && run.cp > 1) {
    std::string word = how->value;
    if (word.find("all_gather") != std::string::npos)
      run.ring = "gather";
    else if (word == "a2a")
      run.ring = "ulysses";
    else if (word.find("p2p") == std::string::npos)
      in.leave(how, "keys and values go round in a ring");
  }
  if (const ForeignEntry *backend = in.find("attention_backend");
      backend && (backend->value == "unfused" || backend->value == "local" || backend->value == "AttnBackend.unfused"))
    in.leave(backend, "attention is fused: its probabilities are never kept");
  for (const char *flag : {"attention_backend", "use_mcore_models", "use_legacy_models", "use_flash_attn", "use_flash_attn_v1",
                           "use_flash_attn_v2", "use_flash_attn_triton", "manual_gc", "manual_gc_interval"})
    in.keep(in.find(flag));
  if (in.diagnostics.hasErrors())
    return;
  if (!hints.modelIsKnown) {
    if (run.length == 0 && in.find("num_layers"))
      in.diagnostics.error(dsl::Code::F2, in.find("num_layers")->at, "the file does not state the sequence length")
          .help(in.find("num_layers")->at, "add --seq-length to the file");
    else
      readMegatronModel(in, hints);
  } else {
    for (const auto &[key, known] : megatronNames().all())
      if (known.part == Part::Model)
        in.find(key);
    run.assumed.push_back("the model is that of --model-config, whatever the file says of it");
  }
  readMegatronPipeline(in, hints);
  readMegatronRecompute(in);
  readMegatronTraining(in);
  readMegatronRequest(in);
  readMegatronStorage(in, hints);
  in.finish();
}

/// The settings of a functional test of Megatron-LM (model_config.yaml): its flags are the keys below MODEL_ARGS.
std::vector<ForeignEntry> readFunctionalTest(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  const std::string section = "MODEL_ARGS.--";
  std::vector<ForeignEntry> entries;
  for (ForeignEntry &entry : readYaml(text, file, diagnostics))
    if (entry.key.compare(0, section.size(), section) == 0) {
      entry.key.erase(0, section.size());
      std::replace(entry.key.begin(), entry.key.end(), '-', '_');
      if (entry.value != "false") // a flag that is left out
        entries.push_back(std::move(entry));
    }
  return entries;
}

/// True if the text has a line that begins with MODEL_ARGS, as a functional test has.
bool isFunctionalTest(const std::string &text) {
  return text.rfind("MODEL_ARGS:", 0) == 0 || text.find("\nMODEL_ARGS:") != std::string::npos;
}

/// True if the line has a flag: `... --num-layers 4`.
bool hasFlag(std::string_view line) {
  for (size_t at = line.find("--"); at != std::string_view::npos; at = line.find("--", at + 1)) {
    constexpr std::string_view before = " \t\"'(=", after = " \t\"'=";
    if ((at > 0 && before.find(line[at - 1]) == std::string_view::npos) || at + 2 >= line.size() || !isLetter(line[at + 2]))
      continue;
    size_t end = at + 3;
    while (end < line.size() && (isWord(line[end]) || line[end] == '-'))
      ++end;
    if (end == line.size() || after.find(line[end]) != std::string_view::npos)
      return true;
  }
  return false;
}

class Megatron : public ForeignProgram {
public:
  const char *key() const override { return "megatron"; }
  const char *name() const override { return "Megatron-LM"; }
  const char *file() const override { return "Megatron-LM flags"; }

  Sign signOf(const std::string &text) const override {
    bool isScript = text.compare(0, 2, "#!") == 0 && text.substr(0, text.find('\n')).find("sh") != std::string::npos;
    return isScript || isFunctionalTest(text) ? Sign::Whole : isDump(text) ? Sign::Inside : Sign::None;
  }
  Sign signOfLine(std::string_view line) const override { return hasFlag(line) ? Sign::Inside : Sign::None; }
  bool isShell(const std::string &text) const override { return !isFunctionalTest(text); }
  std::vector<ForeignEntry> parse(const std::string &text, uint32_t file, bool isDump, dsl::Diagnostics &diagnostics) const override {
    return isDump ? readDump(text, file, diagnostics) : readFunctionalTest(text, file, diagnostics);
  }
  std::string shown(const std::string &key, const std::string &value, bool isDump) const override {
    if (isDump)
      return ForeignProgram::shown(key, value, isDump);
    if (key.empty()) // the program that takes the flags
      return value;
    if (key.rfind(ofDeepSpeedFile, 0) == 0)
      return key.substr(std::strlen(ofDeepSpeedFile)) + ": " + value;
    static const std::set<std::string> underscored = {"deepspeed_config", "deepspeed_mpi", "cpu_torch_adam", "ds_fused_adam"};
    std::string flag = "--" + key;
    if (underscored.count(key) == 0)
      std::replace(flag.begin(), flag.end(), '_', '-');
    return flag + (value == "true" ? "" : " " + value);
  }
  void read(Reading &in, const ForeignHints &hints) const override { readMegatron(in, hints); }
  const KnownName *nameOf(const std::string &key) const override {
    return key.rfind(ofDeepSpeedFile, 0) == 0 ? deepSpeedNames().find(key.substr(std::strlen(ofDeepSpeedFile))) : megatronNames().find(key);
  }
  std::optional<ForeignReference> referenceOf(const ForeignEntry &entry) const override {
    if (entry.key != "deepspeed_config")
      return std::nullopt;
    return ForeignReference{&deepSpeed(), ofDeepSpeedFile, /*isOptional=*/true};
  }
  bool isOnlyHere(const std::string &key) const override {
    static const std::set<std::string> names = {"num_layers",
                                                "encoder_num_layers",
                                                "hidden_size",
                                                "num_attention_heads",
                                                "ffn_hidden_size",
                                                "tensor_model_parallel_size",
                                                "pipeline_model_parallel_size",
                                                "model_parallel_size",
                                                "context_parallel_size",
                                                "virtual_pipeline_model_parallel_size",
                                                "num_layers_per_virtual_pipeline_stage",
                                                "micro_batch_size",
                                                "global_batch_size",
                                                "max_position_embeddings",
                                                "sequence_parallel",
                                                "use_distributed_optimizer",
                                                "untie_embeddings_and_output_weights",
                                                "recompute_granularity"};
    return names.count(key) != 0;
  }

  bool writes() const override { return true; }
  std::string write(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) const override {
    return megatronText(run, program, diagnostics);
  }
  const std::set<std::string> &schedules() const override {
    static const std::set<std::string> known = {"1f1b", "interleaved"};
    return known;
  }
  std::vector<std::string> optimizers() const override { return {"AdamW", "Sgd"}; }
  bool decaysVectors() const override { return false; }
  bool expresses(const PlanShape &plan) const override {
    bool sharesApart = plan.zero > 0 && plan.cp > 1; // the shares of a text are over dp alone, Megatron-LM's over cp too
    return !sharesApart && (plan.context != "ring" || plan.hasExperts) && plan.context != "ulysses" &&
           plan.blocks % (plan.pp * plan.chunks) == 0 && plan.inMeshOrder;
  }
  bool numbersDpOutside() const override { return true; }
  bool sharesExperts() const override { return true; }

  void checkPipeline(const dsl::Pipeline &pipeline, const ForeignRun &run, Refusals &refusals) const override {
    int64_t parts = run.pp * run.chunks;
    if (pipeline.counts.empty() && run.layers % parts != 0)
      return refusals.error(
          pipeline.location, fmt::format("Megatron-LM spreads {} blocks evenly over {} parts of the pipeline", run.layers, parts),
          "give the blocks of each part by hand, `stages [...]`: all but those of the first and the last stage must be equal");
    if (pipeline.counts.empty())
      return warnOfSpread(pipeline, refusals);
    for (int64_t part = 0; part < parts; ++part) {
      int64_t stage = part % run.pp;
      size_t like = stage == 0 ? 0 : static_cast<size_t>(stage == run.pp - 1 ? run.pp - 1 : 1);
      if (pipeline.counts[static_cast<size_t>(part)] != pipeline.counts[like])
        return refusals.error(pipeline.countsAt, "Megatron-LM needs pipeline parts of equal size, except for the first and the last stage");
    }
  }
  void checkContext(const dsl::Rule &rule, const dsl::Model &model, const ForeignRun &run, Refusals &refusals) const override {
    if (run.ring != "ring")
      return;
    const char *what = "Megatron-LM's ring has each rank compute a piece of both ends of the sequence";
    if (hasOp(model, "dispatch")) // npar sends rows to experts in the order of positions; both compute the same
      refusals.warning(rule.location, what);
    else
      refusals.error(rule.location, what, "`by ring(zigzag)`");
  }
  void checkTypes(const dsl::Plan &plan, const ForeignRun &run, Refusals &refusals) const override {
    if (run.reduceType() != run.sumType())
      refusals.error(plan.location, fmt::format("Megatron-LM adds gradients up in the type that it stores them in, {}, not {}",
                                                run.sumType(), run.reduceType()));
  }
};

} // namespace

const ForeignProgram &megatron() {
  static const Megatron program;
  return program;
}

} // namespace npar::foreign
