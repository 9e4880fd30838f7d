// Reads the settings of one program, then fills in missing sizes and checks that all sizes are consistent.
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/Reading.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::foreign {
namespace {

/// Completes the mesh: dp from the world, or the world from dp.
void fillMesh(ForeignRun &run, const ForeignHints &hints, dsl::Diagnostics &diagnostics) {
  if (hints.world > 0) {
    if (run.world > 0 && run.world != hints.world)
      run.assumed.push_back(
          fmt::format("the mesh has {} devices, as --world or --hosts says, not the {} of the file", hints.world, run.world));
    run.world = hints.world, run.hosts = 0;
  }
  std::string sizes =
      fmt::format("tp {} * pp {} * cp {}{}", run.tp, run.pp, run.cp, run.replicas > 1 ? fmt::format(" * replicas {}", run.replicas) : "");
  int64_t inner = 1;
  for (int64_t size : {run.tp, run.pp, run.cp, run.replicas}) {
    inner *= size;
    if (inner > int64_t{1} << 20) {
      diagnostics.error(dsl::Code::F2, run.placeOf("tp"), fmt::format("the mesh ({}) has more than a million ranks", sizes));
      return;
    }
  }
  dsl::Location at = run.has("world") ? run.placeOf("world") : run.has("tp") ? run.placeOf("tp") : run.placeOf("pp");
  if (run.world == 0 && run.dp > 0)
    run.world = inner * run.dp;
  if (run.world == 0)
    run.world = hints.otherwise;
  if (run.world == 0) {
    diagnostics.error(dsl::Code::F2, at, "the file does not state the number of devices")
        .help(at, "give --world N, or --hosts N with the machine's number of devices per host");
    return;
  }
  if (run.world % inner != 0 || run.world > int64_t{1} << 20) {
    diagnostics.error(dsl::Code::F2, at, fmt::format("{} devices are not divisible by {} ({})", run.world, inner, sizes))
        .help(at, fmt::format("change it with --world N or --hosts N: the next possible number is {}", (run.world / inner + 1) * inner));
    return;
  }
  if (run.dp > 0 && run.dp != run.world / inner)
    diagnostics.error(dsl::Code::F2, run.has("dp") ? run.placeOf("dp") : at,
                      fmt::format("dp {} with {} makes {} ranks, there are {} devices", run.dp, sizes, run.dp * inner, run.world));
  run.dp = run.world / inner;
  if (run.dp % run.ep != 0)
    diagnostics.error(dsl::Code::F2, run.placeOf("ep"),
                      fmt::format("ep {} does not divide the {} {}", run.expertRanks(), run.dp * (run.expertsOverContext ? run.cp : 1),
                                  run.expertsOverContext ? "ranks of data and context parallelism" : "data-parallel ranks"));
  if (run.zero == 0) // nothing is sharded, so all ranks of dp are replicas
    run.dp *= run.replicas, run.replicas = 1;
  for (auto [place, ranks] : {std::pair("group", run.groupRanks), {"secondary", run.secondaryRanks}})
    if (ranks > 0 && run.dp % ranks != 0)
      diagnostics.error(dsl::Code::F2, run.placeOf(place),
                        fmt::format("groups of {} do not divide the {} data-parallel ranks", ranks, run.dp));
    else if (ranks > 0 && run.groupRanks > 0)
      run.replicas *= run.dp / ranks, run.dp = ranks;
}

void fillBatch(ForeignRun &run, const ForeignHints &hints, dsl::Diagnostics &diagnostics) {
  int64_t rows = run.dp * run.replicas;
  dsl::Location at = run.has("batch") ? run.placeOf("batch") : run.placeOf("micro");
  int64_t counted = rows * run.countedRanks; // DeepSpeed: the ranks between which the file's batch is divided
  std::string ranks = run.countedRanks > 1 ? fmt::format("dp {} * tp {}", rows, run.countedRanks) : fmt::format("dp {}", rows);
  if (run.micro == 0) { // two of the three sizes are given
    run.micro = run.batch / (counted * run.accumulation);
    if (run.micro * counted * run.accumulation != run.batch) {
      diagnostics.error(dsl::Code::F2, at,
                        fmt::format("a batch of {} is not divisible by {} times {} micro-batches", run.batch, ranks, run.accumulation));
      return;
    }
  }
  if (run.batch == 0) {
    run.batch = rows * run.micro * run.accumulation;
  } else if (run.countedRanks > 1 && run.batch % (counted * run.micro) == 0) {
    run.assumed.push_back(fmt::format("a step trains {} sequences: the {} of train_batch_size count each {} times, once for every rank of "
                                      "tensor parallelism, as {} does",
                                      run.batch / run.countedRanks, run.batch, run.countedRanks, run.program->name()));
    run.batch /= run.countedRanks;
  } else if (run.countedRanks > 1) {
    diagnostics.error(dsl::Code::F2, at,
                      fmt::format("a batch of {} is not divisible by {} times {} sequences of a micro-batch", run.batch, ranks, run.micro));
    return;
  }
  if (hints.batch > 0)
    run.batch = hints.batch;
  else if (run.batch % (rows * run.micro) != 0)
    diagnostics
        .error(dsl::Code::F2, at,
               fmt::format("a batch of {} is not divisible by dp {} times {} sequences of a micro-batch", run.batch, rows, run.micro))
        .help(at, fmt::format("{} is the next that is", (run.batch / (rows * run.micro) + 1) * rows * run.micro));
}

} // namespace

std::vector<KeptSetting> ForeignRun::keptToWrite() const {
  std::vector<KeptSetting> settings;
  if (readFrom == program)
    for (const KeptSetting &one : kept)
      if (one.part != Part::Plan || isOwnPlan)
        settings.push_back(one);
  return settings;
}

bool ForeignRun::keeps(const std::vector<std::string> &words) const {
  std::vector<KeptSetting> settings = keptToWrite();
  return std::any_of(settings.begin(), settings.end(), [&](const KeptSetting &one) {
    return std::any_of(words.begin(), words.end(), [&](const std::string &word) { return one.key.rfind(word, 0) == 0; });
  });
}

Remarks differencesOf(const ForeignRun &run) { return {"npar has no such model, only a near one", run.differences}; }

std::vector<Remarks> remarksOf(const ForeignRun &run) {
  Remarks assumed = {"assumed", run.assumed}, notTaken = {"not taken", {}};
  for (const NotTaken &one : run.notTaken)
    if (!one.isDifference)
      notTaken.lines.push_back(fmt::format("line {:<5} {}: {}", one.at.line, one.setting, one.why));
  return {assumed, notTaken};
}

dsl::Location ForeignRun::placeOf(const std::string &name) const {
  for (const auto &[known, at] : places)
    if (known == name)
      return at;
  return places.empty() ? dsl::Location{0, 1, 1, 1} : places.front().second;
}

bool ForeignRun::has(const std::string &name) const {
  return std::any_of(places.begin(), places.end(), [&](const auto &place) { return place.first == name; });
}

std::optional<ForeignRun> understand(const ForeignFile &file, const ForeignHints &hints, dsl::Diagnostics &diagnostics) {
  ForeignRun run;
  run.program = file.program, run.path = file.path, run.assumed = file.assumed;
  Reading in(file, run, diagnostics);
  file.program->read(in, hints);
  if (diagnostics.hasErrors())
    return std::nullopt;
  if (run.understood == 0) {
    diagnostics.error(dsl::Code::F2, {0, 1, 1, 1},
                      fmt::format("npar understands no setting of this file as one of {}", run.program->name()));
    return std::nullopt;
  }
  if (run.model.empty() && !hints.modelIsKnown) {
    diagnostics.error(dsl::Code::F2, {0, 1, 1, 1}, "the file does not name the model that it trains")
        .help({0, 1, 1, 1}, "give --model-config PATH: its config.json, or the folder with it");
    return std::nullopt;
  }
  fillMesh(run, hints, diagnostics);
  if (!diagnostics.hasErrors())
    fillBatch(run, hints, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  if (std::vector<std::string> names = run.training.settingsFrom(Origin::Npar); !names.empty())
    run.assumed.push_back(fmt::format("chosen by npar, because the file does not state them: {}", fmt::join(names, ", ")));
  if (run.batch / std::max<int64_t>(1, run.dp * run.replicas * run.micro) < run.pp && run.schedule == "interleaved")
    run.assumed.push_back("there are fewer micro-batches than stages");
  std::sort(run.notTaken.begin(), run.notTaken.end(),
            [](const NotTaken &a, const NotTaken &b) { return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column); });
  return run;
}

} // namespace npar::foreign
