// Reads the flags of `npar schedule`, makes or reads the schedule, checks and times it.
#include "tools/npar/schedule/ScheduleRequest.h"

#include "dsl/Diagnostics.h"
#include "dsl/Suggestions.h"
#include "engine/files/BoundedText.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <set>

namespace npar::driver {


using namespace schedules;

namespace {

constexpr int64_t mostForwards = 1'000'000; ///< more take minutes and no screen shows them

/// `F=1,B=2.5,W=1,comm=0.1` into the costs; what is not given stays.
ExitCode readCosts(const std::string &text, TimedSchedule &timed) {
  const std::vector<std::string> names = {"F", "B", "W", "comm"};
  std::set<std::string> given;
  double *const values[] = {&timed.cost.forward, &timed.cost.backward, &timed.cost.weight, &timed.transfer};
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin), name = part.substr(0, part.find('='));
    begin = end + 1;
    auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      std::string nearest = name.size() > 1 ? dsl::nearest(name, names) : "";
      return fail(ExitCode::Usage, "--cost has no '" + name + "': it takes F, B, W and comm, such as F=1,B=1,W=1,comm=0" +
                                       (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    if (!given.insert(name).second)
      return fail(ExitCode::Usage, "--cost gives '" + name + "' twice");
    double &value = *values[known - names.begin()];
    const char *first = part.data() + std::min(part.size(), name.size() + 1), *last = part.data() + part.size();
    auto parsed = std::from_chars(first, last, value);
    if (parsed.ec != std::errc() || parsed.ptr != last || !(value >= 0 && value <= 1e12))
      return fail(ExitCode::Usage, "--cost needs a time from 0 to 1e12 for '" + name + "', not '" + std::string(first, last) + "'");
  }
  if (timed.cost.forward + timed.cost.backward + timed.cost.weight <= 0)
    return fail(ExitCode::Usage, "--cost makes every task take no time; give one of F, B and W more than 0");
  return ExitCode::Good;
}

Outcome<TimedSchedule> importFile(const ScheduleFlags &flags, TimedSchedule timed) {
  timed.name = flags.import;
  // More than a schedule may have, so that --check reports one that is too long like any other.
  engine::Result<std::string> text = program::readBoundedText(flags.import, "", 2 * maximumScheduleText);
  if (!text.ok())
    return fail(text.status());
  timed.text = *text;
  ReadSchedule read = checkCsv(*text, flags.sending());
  for (const TextError &error : read.errors)
    timed.faults.push_back({error.stage, error.place, error.reason, error.at.row, error.at.column, error.ofCommunication, error.cycle});
  timed.schedule = std::move(read.schedule);
  if (!timed.faults.empty())
    return timed;
  const Schedule &schedule = timed.schedule;
  if (flags.stages.value_or(schedule.stages()) != schedule.stages() || flags.micros.value_or(schedule.micros) != schedule.micros ||
      (flags.chunks != 0 && flags.chunks != schedule.chunks))
    return fail(ExitCode::BadInput,
                fmt::format("'{}' is for {} stages, {} micro-batches and {} chunks per stage, not {}, {} and {} as asked", flags.import,
                            schedule.stages(), schedule.micros, schedule.chunks, flags.stages.value_or(schedule.stages()),
                            flags.micros.value_or(schedule.micros), flags.chunks != 0 ? flags.chunks : schedule.chunks));
  if (read.communications > 0)
    printRemark(fmt::format("'{}' gives {} communications, which are checked unchanged; times, pictures and programs use npar's own "
                            "order of communications",
                            flags.import, read.communications));
  else if (flags.eager)
    printRemark("'" + flags.import + "' has no communications: --eager has no effect");
  addTimes(timed);
  return timed;
}

} // namespace

void ScheduleFlags::addSource(CLI::App &app) {
  std::string names;
  for (const ScheduleKind &known : scheduleKinds())
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  app.add_option("--kind", kind, "schedule: " + names)->type_name("NAME");
  app.add_option("--chunks", chunks, "number of model parts per stage (default: the schedule's own)")
      ->type_name("V")
      ->check(decimalNumber());
  app.add_option("--from-csv", import, "read the schedule from a file in PyTorch's action format")->type_name("FILE.csv");
}

void ScheduleFlags::addTo(CLI::App &app) {
  app.add_option("--stages", stages, "pipeline stages")->type_name("P")->check(decimalNumber());
  app.add_option("--microbatches", micros, "micro-batches per training step")->type_name("M")->check(decimalNumber());
  app.add_option("--cost", cost,
                 "times of a stage's forward, input backward and weight backward, and of a message (default F=1,B=1,W=1,comm=0); a "
                 "full backward takes B + W")
      ->type_name("F=..,B=..,W=..,comm=..")
      ->check([](const std::string &text) { return text.empty() ? std::string("it is empty") : std::string(); });
  app.add_flag("--eager", eager,
               "sends in the file end without their receives (default: rendezvous, a send ends when its receive has begun)");
  app.add_option("--memory-cap", memoryCap, "maximum number of forward activations that a stage holds at once; more is an error")
      ->type_name("X");
}

Outcome<TimedSchedule> loadSchedule(const ScheduleFlags &flags) {
  TimedSchedule timed;
  if (ExitCode code = readCosts(flags.cost, timed); code != ExitCode::Good)
    return code;
  if (flags.memoryCap && !(*flags.memoryCap > 0 && *flags.memoryCap <= 1e9))
    return fail(ExitCode::Usage, "--memory-cap needs a number of forward activations above 0");
  timed.memoryCap = flags.memoryCap.value_or(0);
  if (!flags.import.empty()) {
    if (!flags.kind.empty())
      return fail(ExitCode::Usage, "--kind and --from-csv both name a schedule; give one");
    return importFile(flags, std::move(timed));
  }
  std::vector<std::string> names;
  for (const ScheduleKind &known : scheduleKinds())
    names.push_back(known.name);
  std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (flags.kind.empty())
    return fail(ExitCode::Usage, "no schedule: give --kind (" + list + ") or --from-csv FILE.csv\nnpar: see 'npar schedule --help'");
  const ScheduleKind *kind = findSchedule(flags.kind);
  if (!kind) {
    std::string nearest = dsl::nearest(flags.kind, names);
    return fail(ExitCode::BadInput,
                "unknown schedule '" + flags.kind + "'; " + (nearest.empty() ? "there are " + list : "did you mean '" + nearest + "'?"));
  }
  if (!flags.stages || !flags.micros)
    return fail(ExitCode::Usage, "give --stages and --microbatches, such as --stages=4 --microbatches=8");
  int stages = *flags.stages, micros = *flags.micros, chunks = flags.chunks == 0 ? std::max(1, kind->chunks) : flags.chunks;
  if (chunks < 0)
    return fail(ExitCode::BadInput, fmt::format("schedule '{}' cannot have {} chunks per stage", kind->name, chunks));
  if (stages > 0 && micros > 0 && static_cast<double>(stages) * micros * chunks > mostForwards)
    return fail(ExitCode::BadInput, fmt::format("stages * micro-batches * chunks = {} * {} * {} are more than {} forwards", stages, micros,
                                                chunks, mostForwards));
  MadeSchedule made = makeTimed(*kind, stages, micros, flags.chunks, timed);
  if (!made.schedule)
    return fail(ExitCode::BadInput, made.refusal);
  return std::move(*made.schedule);
}

bool namesFile(const std::string &word) { return !findSchedule(word) && word.find_first_of("./") != std::string::npos; }

Outcome<TimedSchedule> loadSchedule(const std::string &word, ScheduleFlags flags) {
  flags.kind = word;
  flags.import.clear();
  flags.chunks = 0;
  size_t open = word.find('(');
  if (open != std::string::npos && word.back() == ')' && findSchedule(word.substr(0, open))) {
    const char *first = word.data() + open + 1, *last = word.data() + word.size() - 1;
    auto parsed = std::from_chars(first, last, flags.chunks);
    if (parsed.ec != std::errc() || parsed.ptr != last)
      return fail(ExitCode::Usage, "'" + word + "' wants a number of chunks between the parentheses");
    flags.kind = word.substr(0, open);
  } else if (namesFile(word)) {
    flags.import = word;
    flags.kind.clear();
  }
  return loadSchedule(flags);
}

void printFaults(const TimedSchedule &schedule) {
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::optional<uint32_t> file;
  for (const ScheduleFault &fault : schedule.faults) {
    std::string text =
        fmt::format("stage {}, {} {}: {}", fault.stage, fault.ofCommunication ? "action" : "task", fault.place, fault.reason);
    if (fault.row == 0) {
      printError(text);
      continue;
    }
    if (!file)
      file = sources.add(schedule.name, schedule.text);
    diagnostics.error({*file, static_cast<uint32_t>(fault.row), static_cast<uint32_t>(fault.column), 1}, text);
  }
  diagnostics.print(std::cerr);
}

} // namespace npar::driver
