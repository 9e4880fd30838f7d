// Reads the Trainer's devices, batch, types, parallelism and shares: transformers/training_args.py and trainer.py, DeepSpeed's values that
// are "auto" in transformers/integrations/deepspeed.py, and optimum-neuron's NeuronTrainingArguments.
#include "tools/lib/foreign/huggingface/HuggingFace.h"

#include "tools/lib/foreign/Accelerate.h"
#include "tools/lib/foreign/DeepSpeed.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <sstream>

namespace npar::foreign {

const ForeignProgram &deepSpeed(), &accelerate();

namespace {

/// Reads the settings of another program's file, which is part of this one, into the same run.
template <class Read> void readApart(Reading &in, const ForeignProgram &program, std::vector<ForeignEntry> entries, const Read &read) {
  ForeignFile file;
  file.program = &program, file.path = in.file.path, file.entries = std::move(entries);
  Reading inside(file, in.run, in.diagnostics);
  read(inside);
}

/// Removes the assumptions that begin with the words: the Trainer's flags state what another program's file leaves open.
void forget(ForeignRun &run, const std::string &words) {
  auto isThat = [&](const std::string &sentence) { return sentence.compare(0, words.size(), words) == 0; };
  run.assumed.erase(std::remove_if(run.assumed.begin(), run.assumed.end(), isThat), run.assumed.end());
}

/// Reads the file and the flags of `accelerate launch`: the number of devices, types and shares. Returns its kind of distribution, in
/// capital letters; empty: it has none.
std::string readLaunch(Reading &in) {
  std::vector<ForeignEntry> entries = takeLaunch(in);
  in.find("config_file");
  if (entries.empty())
    return "";
  std::string how;
  for (const ForeignEntry &entry : entries)
    if (entry.key == "distributed_type")
      how = upperCase(entry.value);
  readApart(in, accelerate(), std::move(entries), [](Reading &inside) { accelerate().read(inside, {}); });
  forget(in.run, "a micro-batch has one sequence");
  return how;
}

void readDevices(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *world = in.find("world_size"), *perNode = in.findAny({"nproc_per_node", "num_gpus"}),
                     *nodes = in.findAny({"nnodes", "num_nodes"});
  in.place("world", world ? world : nodes ? nodes : perNode);
  if (hints.world > 0)
    return;
  if (world)
    run.world = in.whole(world, 0), run.hosts = 0;
  else if (perNode)
    run.world = in.whole(perNode, 1) * in.whole(nodes, 1), run.hosts = 0;
  if (run.world > 0 || nodes || in.peek("config_file"))
    return;
  run.world = 1;
  run.assumed.push_back("there is one device: no launcher starts the script (with several GPUs on its host the Trainer would use "
                        "DataParallel, which npar does not have); --world N replaces it");
}

void readTypes(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *bf16 = in.find("bf16"), *fp16 = in.find("fp16"), *tf32 = in.find("tf32");
  if (in.isTrue(bf16) && in.isTrue(fp16))
    in.error(*fp16, "the Trainer refuses bf16 and fp16 together");
  if (in.isTrue(bf16) || in.isTrue(fp16)) // else Accelerate's
    run.precision = in.isTrue(bf16) ? "bf16" : "fp16";
  if (run.precision == "f32" && in.isTrue(tf32))
    run.precision = "tf32";
}

bool isNarrow(const ForeignRun &run) { return run.precision == "bf16" || run.precision == "fp16"; }

/// The words of --fsdp, and the file or object of --fsdp_config.
void readFsdp(Reading &in, const ForeignEntry &words) {
  ForeignRun &run = in.run;
  auto at = [&](const std::string &key) {
    const ForeignEntry *plain = in.find(ofTrainersFsdp + key), *prefixed = in.find(std::string(ofTrainersFsdp) + "fsdp_" + key);
    return plain ? plain : prefixed;
  };
  run.zero = 3, run.gradientsPerStep = false, run.bucketBytes = 0;
  bool isHybrid = false, wraps = false;
  std::istringstream text(lowerCase(words.value));
  for (std::string word; text >> word;) {
    if (word == "shard_grad_op" || word == "hybrid_shard_zero2")
      run.zero = 2;
    if (word == "no_shard")
      run.zero = 0, takeFsdpBuckets(run);
    isHybrid = isHybrid || word == "hybrid_shard" || word == "hybrid_shard_zero2";
    wraps = wraps || word == "auto_wrap";
    if (word == "offload")
      in.leave(&words, "nothing is moved to the host's memory");
    static const std::set<std::string> known = {"full_shard",         "shard_grad_op", "no_shard", "hybrid_shard",
                                                "hybrid_shard_zero2", "auto_wrap",     "offload",  "true"};
    if (!known.count(word))
      in.error(words, fmt::format("--fsdp has no word '{}'", word.substr(0, 40)));
  }
  if (const ForeignEntry *reshard = at("reshard_after_forward"); in.word(at("version"), "1") == "2" && reshard && !in.isTrue(reshard))
    run.zero = 2;
  const ForeignEntry *nodes = in.peek("nnodes") ? in.peek("nnodes") : in.peek("num_nodes");
  if (isHybrid) {
    run.replicas = run.hosts > 1 ? run.hosts : in.whole(nodes, 1);
    if (run.replicas > 1)
      takeFsdpBuckets(run);
    run.assumed.push_back(fmt::format("a hybrid strategy has shares inside each of {} machines", run.replicas));
  }
  if (in.isTrue(at("activation_checkpointing")))
    run.recompute = "block";
  if (const ForeignEntry *least = at("min_num_params"); least && in.number(least, 0, 1e15) > 0)
    in.leave(least, "each block is gathered by itself");
  else if (!wraps)
    run.assumed.push_back("each block is gathered by itself (without auto_wrap FSDP gathers the whole model at once)");
  at("transformer_layer_cls_to_wrap");
  if (isNarrow(run))
    run.gradients = "f32", run.reduce = run.precision;
}

/// The Trainer's values for what DeepSpeed's file leaves to it ("auto"); empty: the setting is left out.
std::map<std::string, std::string> valuesForAuto(const ForeignRun &run) {
  const Training &training = run.training;
  auto text = [](const auto &value) { return fmt::format("{}", value); };
  std::map<std::string, std::string> values = {{"train_batch_size", ""},
                                               {"train_micro_batch_size_per_gpu", text(run.micro)},
                                               {"gradient_accumulation_steps", text(run.accumulation)},
                                               {"gradient_clipping", text(training.clip.value)},
                                               {"bf16.enabled", run.precision == "bf16" ? "true" : "false"},
                                               {"fp16.enabled", run.precision == "fp16" ? "true" : "false"},
                                               {"optimizer.params.lr", text(training.rate.value)},
                                               {"optimizer.params.eps", text(training.epsilon.value)},
                                               {"optimizer.params.weight_decay", text(training.decay.value)},
                                               {"optimizer.params.betas", text(training.beta1.value) + " " + text(training.beta2.value)},
                                               {"scheduler.params.warmup_min_lr", "0"},
                                               {"scheduler.params.warmup_max_lr", text(training.rate.value)},
                                               {"scheduler.params.warmup_num_steps", text(std::max<int64_t>(1, training.warmup.value))}};
  values["scheduler.params.total_num_steps"] = text(training.endsWithRun ? Reading::mostSize : training.steps.value);
  return values;
}

/// `flag`: names the file, or is a setting inside of it.
void readDeepSpeedFile(Reading &in, const ForeignEntry &flag) {
  ForeignRun &run = in.run;
  std::vector<ForeignEntry> entries = in.takeSection(ofTrainersDeepSpeed), settings;
  if (entries.empty()) {
    in.error(flag, "--deepspeed needs the path of a JSON file with DeepSpeed's settings");
    return;
  }
  const std::map<std::string, std::string> values = valuesForAuto(run);
  bool hasScheduler = false, hasOptimizer = false, hasPeak = false, ownEnd = false, ownWarmup = false;
  for (ForeignEntry &entry : entries) {
    hasScheduler = hasScheduler || entry.key == "scheduler.type", hasOptimizer = hasOptimizer || entry.key == "optimizer.type";
    hasPeak = hasPeak || entry.key == "scheduler.params.warmup_max_lr";
    if (auto known = values.find(entry.key); known != values.end() && entry.value == "auto") {
      entry.value = known->second;
      ownEnd = ownEnd || entry.key == "scheduler.params.total_num_steps";
      ownWarmup = ownWarmup || entry.key == "scheduler.params.warmup_num_steps";
    }
    if (!entry.value.empty())
      settings.push_back(std::move(entry));
  }
  const Training own = run.training;
  const int64_t micro = run.micro, accumulation = run.accumulation;
  run.gradients.clear(), run.reduce.clear();
  readApart(in, deepSpeed(), std::move(settings), [&](Reading &inside) {
    readDeepSpeed(inside, "", isNarrow(run) ? run.precision : "");
    inside.finish();
  });
  if (!hasScheduler)
    run.training.schedule = own.schedule, run.training.warmup = own.warmup, run.training.steps = own.steps, run.training.final = own.final;
  if (!hasOptimizer && !hasPeak)
    run.training.rate = own.rate;
  if (hasScheduler && !ownEnd)
    run.training.endsWithRun = false;
  if (hasScheduler && !ownWarmup)
    run.training.warmupShare.reset();
  run.training.decaysVectors = hasOptimizer; // its own optimizer gets no groups of parameters
  for (auto [name, file, flags] :
       {std::tuple("sequences per device", run.micro, micro), {"gradient_accumulation_steps", run.accumulation, accumulation}})
    if (file != flags && !in.diagnostics.hasErrors())
      in.error(flag, fmt::format("DeepSpeed's file has {} {}, the Trainer's flags {}: the Trainer refuses that; write \"auto\" there", file,
                                 name, flags));
  forget(run, "nothing is recomputed");
  forget(run, "a micro-batch has one sequence");
}

/// NeuronTrainingArguments: tensor and pipeline parallelism, and ZeRO 1.
void readNeuron(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *tp = in.find("tensor_parallel_size"), *pp = in.find("pipeline_parallel_size"), *zero = in.find("zero_1"),
                     *micros = in.find("pipeline_parallel_num_microbatches"), *plain = in.find("disable_sequence_parallel"),
                     *whole = in.find("disable_embedding_parallelization"), *copies = in.find("kv_size_multiplier"),
                     *sums = in.find("optimizer_use_fp32_grad_acc");
  if (!tp && !pp && !zero && !micros)
    return;
  run.tp = in.whole(tp, 1), run.pp = in.whole(pp, 1);
  in.place("tp", tp), in.place("pp", pp);
  run.zero = in.isTrue(zero) ? 1 : 0, run.gradientsPerStep = true, run.bucketBytes = 0;
  if (!zero)
    run.assumed.push_back(
        "the optimizer's state is not in shares: --zero_1 is not there (releases of optimum-neuron since 0.4 have it by default)");
  run.sequenceParallel = run.tp > 1 && !in.isTrue(plain);
  if (in.isTrue(whole) && run.tp > 1)
    in.leave(whole, "the vocabulary is split over tp");
  if (copies)
    in.leave(copies, "heads of keys and values are repeated as far as tp needs it");
  run.gradients = isNarrow(run) && in.isTrue(sums) ? "f32" : "", run.reduce = "";
  if (run.pp == 1)
    return;
  const int64_t each = run.micro * run.accumulation, count = in.whole(micros, -1, -1);
  run.accumulation = count > 0 ? count : each;
  if (each % run.accumulation != 0)
    in.error(
        micros ? *micros : *pp,
        fmt::format("the {} sequences of a step and device are not divisible by {} micro-batches of the pipeline", each, run.accumulation));
  else
    run.micro = each / run.accumulation;
  run.assumed.push_back("blocks are balanced by cost over the pipeline's stages");
}

/// ParallelismConfig of Accelerate, as JSON.
void readMesh(Reading &in) {
  ForeignRun &run = in.run;
  auto at = [&](const char *key) { return in.find(std::string("parallelism_config.") + key); };
  const ForeignEntry *replicate = at("dp_replicate_size"), *shard = at("dp_shard_size"), *tp = at("tp_size"), *cp = at("cp_size");
  if (!replicate && !shard && !tp && !cp)
    return;
  run.replicas = in.whole(replicate, run.replicas), run.tp = in.whole(tp, run.tp), run.cp = in.whole(cp, run.cp);
  run.dp = shard ? in.whole(shard, 1) : run.dp;
  in.place("dp", shard), in.place("tp", tp), in.place("cp", cp);
  if (run.cp > 1)
    run.ring = "gather";
}

/// Reads the length of a sequence.
void readLength(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const std::string script = scriptOf(in.file);
  const ForeignEntry *block = in.find("block_size"),
                     *most = in.findAny({"max_seq_length", "max_seq_len", "max_length", "max_source_length"});
  const ForeignEntry *length = block ? block : most;
  const bool isLanguage = script.compare(0, 7, "run_clm") == 0 || script.compare(0, 7, "run_mlm") == 0;
  const bool isClassifier =
      script.compare(0, 8, "run_glue") == 0 || script.compare(0, 18, "run_classification") == 0 || script.compare(0, 8, "run_xnli") == 0;
  run.length = in.whole(length, isClassifier ? 128 : 0, 1, Reading::mostSize);
  in.place("length", length);
  if (!length && isLanguage && (hints.positions == 0 || hints.positions > 1024)) { // as they cut what their tokenizers allow
    run.length = 1024;
    run.assumed.push_back("a sequence has 1024 tokens, the script's limit without --block_size or --max_seq_length");
  } else if (!length && isClassifier) {
    run.assumed.push_back("a text is padded to 128 tokens, the script's default for --max_seq_length");
  }
}

} // namespace

void readTrainersStorage(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const std::string how = readLaunch(in);
  readDevices(in, hints);
  readTypes(in);
  const ForeignEntry *micro = in.find("per_device_train_batch_size"), *steps = in.find("gradient_accumulation_steps"),
                     *fsdp = in.find("fsdp"), *deep = in.find("deepspeed"), *capacity = in.find("ddp_bucket_cap_mb"),
                     *recompute = in.findAny({"gradient_checkpointing", "activation_checkpointing"});
  run.micro = in.whole(micro, 8), run.accumulation = in.whole(steps, 1), run.batch = 0;
  in.place("micro", micro);
  if (!micro)
    run.assumed.push_back("a device gets 8 sequences at a time, the Trainer's default");
  if (how.empty())
    takeDdpBuckets(run);
  if (isNarrow(run) && how != "DEEPSPEED") // under autocast the parameters and their gradients stay f32
    run.gradients = "f32", run.reduce = how == "FSDP" ? run.precision : "";
  if (capacity)
    run.bucketBytes = in.whole(capacity, 25) << 20, run.bucketNote = "";
  if (fsdp && in.word(fsdp, "false") != "false")
    readFsdp(in, *fsdp);
  else
    in.skipSection(ofTrainersFsdp);
  in.find("fsdp_config");
  if (const ForeignEntry *stage = in.peek(std::string(ofTrainersDeepSpeed) + "zero_optimization.stage"); deep || stage)
    readDeepSpeedFile(in, deep ? *deep : *stage);
  readNeuron(in);
  readMesh(in);
  if (in.isTrue(recompute))
    run.recompute = "block";
  readLength(in, hints);
}

} // namespace npar::foreign
