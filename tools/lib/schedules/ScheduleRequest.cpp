// Makes or reads the schedule, checks and times it.
#include "tools/lib/schedules/ScheduleRequest.h"

#include "dsl/Suggestions.h"
#include "engine/files/BoundedText.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace npar::schedules {

using engine::Result;
using engine::Status;

namespace {

constexpr int64_t mostForwards = 1'000'000; ///< more take minutes and no screen shows them

/// `F=1,B=2.5,W=1,comm=0.1` into the costs; what is not given stays.
Status readCosts(const std::string &text, TimedSchedule &timed) {
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
      return Status::usage("--cost has no '" + name + "': it takes F, B, W and comm, such as F=1,B=1,W=1,comm=0" +
                           (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    if (!given.insert(name).second)
      return Status::usage("--cost gives '" + name + "' twice");
    double &value = *values[known - names.begin()];
    const char *first = part.data() + std::min(part.size(), name.size() + 1), *last = part.data() + part.size();
    auto parsed = std::from_chars(first, last, value);
    if (parsed.ec != std::errc() || parsed.ptr != last || !(value >= 0 && value <= 1e12))
      return Status::usage("--cost needs a time from 0 to 1e12 for '" + name + "', not '" + std::string(first, last) + "'");
  }
  if (timed.cost.forward + timed.cost.backward + timed.cost.weight <= 0)
    return Status::usage("--cost makes every task take no time; give one of F, B and W more than 0");
  return {};
}

Result<TimedSchedule> importFile(const ScheduleRequest &request, TimedSchedule timed, engine::Observer &observer) {
  timed.name = request.import;
  // More than a schedule may have, so that --check reports one that is too long like any other.
  TRY(timed.text, files::readBoundedText(request.import, "", 2 * maximumScheduleText));
  ReadSchedule read = checkCsv(timed.text, request.sending());
  for (const TextError &error : read.errors)
    timed.faults.push_back({error.stage, error.place, error.reason, error.at.row, error.at.column, error.ofCommunication, error.cycle});
  timed.schedule = std::move(read.schedule);
  if (!timed.faults.empty())
    return timed;
  const Schedule &schedule = timed.schedule;
  if (request.stages.value_or(schedule.stages()) != schedule.stages() || request.micros.value_or(schedule.micros) != schedule.micros ||
      (request.chunks != 0 && request.chunks != schedule.chunks))
    return Status::badInput(fmt::format("'{}' is for {} stages, {} micro-batches and {} chunks per stage, not {}, {} and {} as asked",
                                        request.import, schedule.stages(), schedule.micros, schedule.chunks,
                                        request.stages.value_or(schedule.stages()), request.micros.value_or(schedule.micros),
                                        request.chunks != 0 ? request.chunks : schedule.chunks));
  if (read.communications > 0)
    observer.remark(fmt::format("'{}' gives {} communications, which are checked unchanged; times, pictures and programs use npar's own "
                                "order of communications",
                                request.import, read.communications));
  else if (request.eager)
    observer.remark("'" + request.import + "' has no communications: --eager has no effect");
  addTimes(timed);
  return timed;
}

} // namespace

Result<TimedSchedule> loadSchedule(const ScheduleRequest &request, engine::Observer &observer) {
  TimedSchedule timed;
  TRY_STATUS(readCosts(request.cost, timed));
  if (request.memoryCap && !(*request.memoryCap > 0 && *request.memoryCap <= 1e9))
    return Status::usage("--memory-cap needs a number of forward activations above 0");
  timed.memoryCap = request.memoryCap.value_or(0);
  if (!request.import.empty()) {
    if (!request.kind.empty())
      return Status::usage("--kind and --from-csv both name a schedule; give one");
    return importFile(request, std::move(timed), observer);
  }
  std::vector<std::string> names;
  for (const ScheduleKind &known : scheduleKinds())
    names.push_back(known.name);
  std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (request.kind.empty())
    return Status::usage("no schedule: give --kind (" + list + ") or --from-csv FILE.csv\nnpar: see 'npar schedule --help'");
  const ScheduleKind *kind = findSchedule(request.kind);
  if (!kind) {
    std::string nearest = dsl::nearest(request.kind, names);
    return Status::badInput("unknown schedule '" + request.kind + "'; " +
                            (nearest.empty() ? "there are " + list : "did you mean '" + nearest + "'?"));
  }
  if (!request.stages || !request.micros)
    return Status::usage("give --stages and --microbatches, such as --stages=4 --microbatches=8");
  int stages = *request.stages, micros = *request.micros, chunks = request.chunks == 0 ? std::max(1, kind->chunks) : request.chunks;
  if (chunks < 0)
    return Status::badInput(fmt::format("schedule '{}' cannot have {} chunks per stage", kind->name, chunks));
  if (stages > 0 && micros > 0 && static_cast<double>(stages) * micros * chunks > mostForwards)
    return Status::badInput(
        fmt::format("stages * micro-batches * chunks = {} * {} * {} are more than {} forwards", stages, micros, chunks, mostForwards));
  MadeSchedule made = makeTimed(*kind, stages, micros, request.chunks, timed);
  if (!made.schedule)
    return Status::badInput(made.refusal);
  return std::move(*made.schedule);
}

bool namesFile(const std::string &word) { return !findSchedule(word) && word.find_first_of("./") != std::string::npos; }

Result<TimedSchedule> loadSchedule(const std::string &word, ScheduleRequest request, engine::Observer &observer) {
  request.kind = word;
  request.import.clear();
  request.chunks = 0;
  size_t open = word.find('(');
  if (open != std::string::npos && word.back() == ')' && findSchedule(word.substr(0, open))) {
    const char *first = word.data() + open + 1, *last = word.data() + word.size() - 1;
    auto parsed = std::from_chars(first, last, request.chunks);
    if (parsed.ec != std::errc() || parsed.ptr != last)
      return Status::usage("'" + word + "' wants a number of chunks between the parentheses");
    request.kind = word.substr(0, open);
  } else if (namesFile(word)) {
    request.import = word;
    request.kind.clear();
  }
  return loadSchedule(request, observer);
}

} // namespace npar::schedules
