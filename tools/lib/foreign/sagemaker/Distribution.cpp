// Reads the dictionary `distribution`: how many processes there are, and how they share the model and the batch.
#include "tools/lib/foreign/sagemaker/SageMaker.h"

#include "tools/lib/foreign/Accelerate.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::foreign {

const ForeignProgram &huggingFace();

namespace {

constexpr const char *ofModel = "smdistributed.modelparallel.";

const ForeignEntry *parameter(Reading &in, const char *key) { return in.find(std::string(ofModel) + "parameters." + key); }

bool isOn(Reading &in, const char *key) { return in.isTrue(in.find(key)); }

/// Reads the script's arguments, as the Trainer's settings if they are; else the few that most scripts have.
void readScript(Reading &in) {
  ForeignRun &run = in.run;
  std::vector<ForeignEntry> own;
  for (const ForeignEntry &entry : in.file.entries)
    if (entry.key.rfind(ofScript, 0) == 0)
      own.push_back(entry), own.back().key.erase(0, std::string(ofScript).size());
  const bool isTrainer = std::any_of(own.begin(), own.end(), [](const ForeignEntry &entry) {
    return entry.key != "model_name_or_path" && huggingFace().isOnlyHere(entry.key);
  });
  if (isTrainer) {
    ForeignFile script;
    script.program = &huggingFace(), script.path = in.file.path, script.entries = in.takeSection(ofScript);
    if (const ForeignEntry *entry = in.find("entry_point"))
      script.entries.push_back({"", entry->value, entry->at, {}});
    huggingFace().complete(script.entries);
    ForeignHints alone; // the number of devices is not the script's
    alone.world = 1;
    Reading inside(script, run, in.diagnostics);
    huggingFace().read(inside, alone);
    return;
  }
  auto at = [&](const char *key) { return in.find(std::string(ofScript) + key); };
  auto any = [&](std::initializer_list<const char *> keys) {
    const ForeignEntry *found = nullptr;
    for (const char *key : keys)
      if (const ForeignEntry *entry = at(key); entry && !found)
        found = entry;
    return found;
  };
  const ForeignEntry *batch = any({"batch_size", "batch_size_per_device", "per_device_train_batch_size", "train_batch_size"}),
                     *epochs = any({"epochs", "num_train_epochs"}), *rate = any({"lr", "learning_rate"}), *momentum = at("momentum"),
                     *decay = at("weight_decay"), *seed = at("seed");
  run.micro = in.whole(batch, 1);
  in.place("micro", batch);
  run.assumed.push_back(batch ? fmt::format("a process gets {} samples at a time, as {} says", run.micro, batch->key)
                              : "a process gets one sample at a time: no argument of the script states it (batch_size)");
  if (epochs)
    run.request.epochs = in.number(epochs, 1, 1e6);
  if (rate)
    run.training.rate = in.numberSetting(rate, 0);
  if (momentum)
    run.training.optimizer.value = "Sgd", run.training.momentum = in.numberSetting(momentum, 0);
  if (decay)
    run.training.decay = in.numberSetting(decay, 0);
  if (seed)
    run.training.seed = {static_cast<uint64_t>(in.whole(seed, 0, 0)), Origin::File};
}

/// The devices of a host; nothing, with an error, if they are not known.
std::optional<int64_t> devicesOfHost(Reading &in, const ForeignEntry *type) {
  if (!type || type->unknown) {
    if (type)
      in.whole(type, 0); // reports what it depends on
    else
      in.diagnostics.error(dsl::Code::F2, {0, 1, 1, 1}, "the file does not state the type of its instances (instance_type)")
          .help({0, 1, 1, 1}, "give --world N, the number of processes");
    return std::nullopt;
  }
  std::optional<int64_t> devices = devicesOfInstance(type->value);
  if (!devices)
    in.diagnostics
        .error(dsl::Code::F2, type->at, fmt::format("npar does not know how many devices an instance '{}' has", type->value.substr(0, 60)))
        .help(type->at, "give --world N, the number of processes");
  return devices;
}

/// Reads the number of processes, which have a device each.
void readProcesses(Reading &in, const ForeignHints &hints, bool isModelParallel) {
  ForeignRun &run = in.run;
  const ForeignEntry *count = in.find("instance_count"), *type = in.find("instance_type"), *perHost = in.find("mpi.processes_per_host");
  const bool usesMpi = isOn(in, "mpi.enabled"), usesLibrary = isOn(in, "smdistributed.dataparallel.enabled");
  const bool usesTorch = isOn(in, "torch_distributed.enabled"), usesDdp = isOn(in, "pytorchddp.enabled");
  const bool usesMirrors = isOn(in, "multi_worker_mirrored_strategy.enabled");
  in.place("world", count ? count : type);
  if (hints.world > 0)
    return;
  if (!usesMpi && !usesLibrary && !usesTorch && !usesDdp && !usesMirrors && !isModelParallel) {
    in.diagnostics
        .error(dsl::Code::F2, run.placeOf("world"), "the file leaves open how processes work together: no `distribution` is enabled")
        .help(run.placeOf("world"), "give --world N, the number of processes, if the training script starts them itself");
    return;
  }
  const int64_t hosts = in.whole(count, 1);
  std::optional<int64_t> devices;
  if (!perHost || usesLibrary || usesTorch || usesDdp || usesMirrors || type)
    devices = devicesOfHost(in, type);
  int64_t each = devices ? std::max<int64_t>(1, *devices) : 1;
  if (usesMpi)
    each = in.whole(perHost, 1);
  if (usesMpi && devices && *devices > 0 && each > *devices)
    in.error(perHost ? *perHost : *type, fmt::format("{} processes per host are more than the {} devices of an instance '{}'", each,
                                                     *devices, type->value.substr(0, 60)));
  run.world = hosts * each, run.hosts = hosts;
  if (devices && *devices == 0)
    run.assumed.push_back(fmt::format("an instance '{}' has no accelerator: a machine with GPUs is simulated", type->value.substr(0, 60)));
  else if (usesMpi && devices && each < *devices)
    run.assumed.push_back(fmt::format("{} of the {} devices of each host are used (mpi.processes_per_host)", each, *devices));
}

/// Reads where model replicas are: the order of parallelisms in the numbers of ranks, the outermost first.
void readPlacement(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *entry = parameter(in, "placement_strategy");
  std::string word = in.word(entry, "cluster"), order = lowerCase(word) == "cluster"  ? "DPT"
                                                        : lowerCase(word) == "spread" ? "TPD"
                                                                                      : upperCase(word);
  std::string sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != "DPT")
    return in.error(*entry, fmt::format("placement_strategy is 'cluster', 'spread' or an order of the letters D, P and T, not '{}'",
                                        word.substr(0, 40)));
  run.order = order;
}

/// Reads what is in shares.
void readShares(Reading &in, int64_t ranks) {
  ForeignRun &run = in.run;
  const ForeignEntry *optimizer = parameter(in, "shard_optimizer_state"), *all = parameter(in, "sharded_data_parallel_degree"),
                     *hybrid = parameter(in, "hybrid_shard_degree"), *bucket = parameter(in, "sdp_reduce_bucket_size"),
                     *clip = parameter(in, "sdp_gradient_clipping");
  run.zero = in.isTrue(optimizer) ? 1 : 0;
  const ForeignEntry *degree = all ? all : hybrid;
  int64_t shares = in.whole(degree, 1, 0);
  if (degree && shares == 0) // PyTorch's own: over all ranks
    shares = ranks;
  if (clip)
    run.training.clip = in.numberSetting(clip, 1);
  if (shares <= 1)
    return;
  if (ranks > 0 && ranks % shares != 0) {
    in.error(*degree, fmt::format("{} data-parallel ranks are not divisible into groups of {}", ranks, shares));
    return;
  }
  run.zero = 3, run.gradientsPerStep = false, run.bucketBytes = 0, run.bucketNote = "";
  run.dp = shares, run.replicas = ranks > 0 ? ranks / shares : 1;
  in.place("dp", degree);
  if (run.replicas > 1) {
    takeFsdpBuckets(run);
    if (bucket)
      run.bucketBytes = static_cast<int64_t>(in.number(bucket, 5e8, 1e12)) * 2, run.bucketNote = "";
  }
}

void readModelParallel(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *parts = parameter(in, "partitions"), *degree = parameter(in, "pipeline_parallel_degree"),
                     *tp = parameter(in, "tensor_parallel_degree"), *cp = parameter(in, "context_parallel_degree"),
                     *micros = parameter(in, "microbatches"), *pipeline = parameter(in, "pipeline"), *optimize = parameter(in, "optimize"),
                     *ddp = parameter(in, "ddp"), *horovod = parameter(in, "horovod"), *scaled = parameter(in, "prescaled_batch");
  const ForeignEntry *bf16 = parameter(in, "bf16"), *fp16 = parameter(in, "fp16"), *older = parameter(in, "fp16_params");
  const ForeignEntry *stages = degree ? degree : parts;
  run.pp = in.whole(stages, 1), run.tp = in.whole(tp, 1), run.cp = in.whole(cp, 1);
  in.place("pp", stages), in.place("tp", tp), in.place("cp", cp);
  if (run.cp > 1)
    run.ring = "gather";
  const int64_t count = in.whole(micros, 1), world = hints.world > 0 ? hints.world : run.world, inner = run.pp * run.tp * run.cp;
  if (std::string how = in.word(pipeline, "interleaved"); how == "simple")
    run.schedule = "gpipe";
  else if (how != "interleaved")
    in.error(*pipeline, fmt::format("pipeline is 'interleaved' or 'simple', not '{}'", how.substr(0, 40)));
  else if (run.pp > 1)
    run.assumed.push_back(
        "an interleaved pipeline is 1F1B: a stage prefers backward passes to forward ones; SageMaker decides while it runs");
  readPlacement(in);
  // One rank of tensor parallelism gets a batch of its own, unless the batch is scaled already (prescaled_batch).
  const int64_t batch = run.micro * run.accumulation * (in.isTrue(scaled) ? 1 : run.tp);
  if (batch > Reading::mostSize) {
    in.diagnostics.error(dsl::Code::F2, run.placeOf("micro"),
                         fmt::format("a model replica gets {} samples, at most {} are read", batch, Reading::mostSize));
    return;
  }
  if (batch % count != 0)
    in.error(micros ? *micros : *stages,
             fmt::format("{} samples of a model replica are not divisible into {} micro-batches", batch, count));
  run.micro = std::max<int64_t>(1, batch / count), run.accumulation = count;
  if (run.tp > 1)
    run.assumed.push_back(in.isTrue(scaled)
                              ? "all ranks of tensor parallelism get the same samples (prescaled_batch)"
                              : fmt::format("a model replica gets {} samples: each rank of tensor parallelism gets its own batch", batch));
  if (std::string word = in.word(optimize, "memory"); word != "memory" && word != "speed")
    in.error(*optimize, fmt::format("optimize is 'memory' or 'speed', not '{}'", word.substr(0, 40)));
  else if (run.tp > 1 && word == "memory")
    run.sequenceParallel = true,
    run.assumed.push_back("optimize: memory, the default, stores activations once: sequence parallelism over tp");
  if (world > inner && !in.isTrue(ddp) && !in.isTrue(horovod) && inner > 1)
    in.diagnostics
        .error(dsl::Code::F2, ddp ? ddp->at : run.placeOf("pp"),
               fmt::format("{} processes are more than the {} of one model replica, and ddp is not true", world, inner))
        .help(ddp ? ddp->at : run.placeOf("pp"), "set \"ddp\": True, which trains several replicas");
  run.precision = in.isTrue(bf16) ? "bf16" : in.isTrue(fp16) || in.isTrue(older) ? "fp16" : run.precision;
  if (run.pp > 1)
    run.assumed.push_back("blocks are balanced by cost over the pipeline's stages");
  readShares(in, world > 0 && world % inner == 0 ? world / inner : 0);
}

} // namespace

void readDistribution(Reading &in, const ForeignHints &hints) {
  if (const ForeignEntry *servers = in.find("parameter_server.enabled"); in.isTrue(servers)) {
    in.error(*servers, "npar has no parameter servers, whose workers do not wait for each other: its ranks train in step; use "
                       "multi_worker_mirrored_strategy, or --world N with a file without this entry");
    return;
  }
  readScript(in);
  const bool isModelParallel = isOn(in, "smdistributed.modelparallel.enabled");
  readProcesses(in, hints, isModelParallel);
  if (in.diagnostics.hasErrors())
    return;
  if (in.run.bucketBytes == 0 && in.run.zero == 0)
    takeDdpBuckets(in.run);
  if (isModelParallel)
    readModelParallel(in, hints);
  else
    in.skipSection(ofModel);
}

} // namespace npar::foreign
