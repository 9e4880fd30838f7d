// `npar schedule`: generates or reads a pipeline schedule, and checks, times, draws, compares or explains it, without a model.
#include "tools/npar/Command.h"

#include "compiler/schedules/show/ScheduleDiff.h"
#include "compiler/schedules/show/ScheduleExplain.h"
#include "compiler/schedules/show/ScheduleSvg.h"
#include "compiler/schedules/show/ScheduleText.h"
#include "dsl/Diagnostics.h"
#include "tools/lib/schedules/ScheduleRequest.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Outcome.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Terminal.h"

#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

using namespace schedules;

namespace {

struct ScheduleFlags : ScheduleRequest {
  std::string format = "text";
  bool json = false;
  bool asJson() const { return json || format == "json"; }

  /// Adds the flags that all forms of the command share.
  void addTo(CLI::App &app);
  /// Adds --kind, --chunks and --from-csv.
  void addSource(CLI::App &app);
};

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

/// Prints the faults; a fault of a file is shown with its line.
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
    diagnostics.error(dsl::Code::M11, {*file, static_cast<uint32_t>(fault.row), static_cast<uint32_t>(fault.column), 1}, text);
  }
  diagnostics.print(std::cerr);
}

/// The exit code for a schedule: CheckFailed with --check, which found faults; else BadInput if the schedule cannot run.
ExitCode faultCode(const TimedSchedule &timed, bool check) {
  return check ? ExitCode::CheckFailed : timed.times ? ExitCode::Good : ExitCode::BadInput;
}

/// Refuses --eager without a file, since only files have communications for it to apply to.
ExitCode refuseEager(const ScheduleFlags &flags, bool hasFile) {
  return flags.eager && !hasFile ? fail(ExitCode::Usage, "--eager applies to the communications of a file: give a file") : ExitCode::Good;
}

ExitCode show(const ScheduleFlags &flags, bool check) {
  if (ExitCode code = refuseEager(flags, !flags.import.empty()); code != ExitCode::Good)
    return code;
  Outcome<TimedSchedule> timed = reported(loadSchedule(flags, terminal()));
  if (!timed.ok())
    return timed.code();
  ExitCode code = timed->faults.empty() ? ExitCode::Good : faultCode(*timed, check);
  if (flags.asJson() && (timed->times || check)) {
    printJson(scheduleJson(*timed), json::Form::OneLine);
    return code;
  }
  printFaults(*timed);
  if (!timed->times)
    return code;
  if (flags.format == "csv")
    std::cout << printCsv(timed->schedule);
  else if (flags.format == "svg")
    std::cout << scheduleSvg(*timed);
  else
    std::cout << scheduleText(*timed);
  return code;
}

/// Prints the faults of a schedule. BadInput if it cannot run, for forms of output that need its times.
ExitCode needTimes(const TimedSchedule &timed) {
  printFaults(timed);
  return timed.times ? ExitCode::Good : ExitCode::BadInput;
}

ExitCode showExplanation(const ScheduleFlags &flags) {
  if (ExitCode code = refuseEager(flags, !flags.import.empty()); code != ExitCode::Good)
    return code;
  Outcome<TimedSchedule> timed = reported(loadSchedule(flags, terminal()));
  if (!timed.ok())
    return timed.code();
  if (ExitCode code = needTimes(*timed); code != ExitCode::Good)
    return code;
  ScheduleExplanation explanation = explain(*timed);
  if (flags.asJson())
    printJson(explanationJson(*timed, explanation), json::Form::OneLine);
  else
    std::cout << explanationText(*timed, explanation);
  return ExitCode::Good;
}

ExitCode showDifference(const std::vector<std::string> &words, ScheduleFlags flags) {
  if (words.size() != 2)
    return fail(
        ExitCode::Usage,
        "diff needs two schedules, kinds or files, such as: npar schedule diff 1f1b mine.csv\nnpar: see 'npar schedule diff --help'");
  if (ExitCode code = refuseEager(flags, namesFile(words[0]) || namesFile(words[1])); code != ExitCode::Good)
    return code;
  std::vector<TimedSchedule> both;
  // A file has its own numbers of stages and micro-batches. A kind takes them from the flags or the other schedule, so it is loaded last.
  std::vector<size_t> order = findSchedule(words[0].substr(0, words[0].find('('))) ? std::vector<size_t>{1, 0} : std::vector<size_t>{0, 1};
  both.resize(2);
  for (size_t i : order) {
    Outcome<TimedSchedule> timed = reported(loadSchedule(words[i], flags, terminal()));
    if (!timed.ok())
      return timed.code();
    if (ExitCode code = needTimes(*timed); code != ExitCode::Good)
      return code;
    both[i] = std::move(*timed);
    if (!flags.stages && !flags.micros) {
      flags.stages = both[i].schedule.stages();
      flags.micros = both[i].schedule.micros;
    }
  }
  if (flags.asJson())
    printJson(diffJson(both[0], both[1]), json::Form::OneLine);
  else
    std::cout << diffText(both[0], both[1]);
  return ExitCode::Good;
}

void addFormat(CLI::App &app, ScheduleFlags &flags, const std::vector<std::string> &formats) {
  CLI::Option *format = app.add_option("--format", flags.format, fmt::format("{} (default: text)", fmt::join(formats, ", ")))
                            ->check(CLI::IsMember(formats))
                            ->type_name("FORMAT");
  app.add_flag("--json", flags.json, "same as --format=json")->excludes(format);
}

} // namespace

Command addScheduleCommand(CLI::App &driver) {
  struct All {
    ScheduleFlags own, difference, explanation;
    bool check = false;
    std::vector<std::string> words;
  };
  auto all = std::make_shared<All>();
  CLI::App *app = driver.add_subcommand(
      "schedule", "show, check, compare and explain pipeline schedules\n\n"
                  "Example:\n"
                  "  npar schedule --kind=1f1b --stages=4 --microbatches=8 --cost F=1,B=1,W=1,comm=0.1\n"
                  "  npar schedule --kind=1f1b --stages=4 --microbatches=8 --format=csv > mine.csv\n"
                  "  npar schedule --from-csv mine.csv --check --format=json\n"
                  "  npar schedule --kind=1f1b --stages=4 --microbatches=8 --format=svg > schedule.svg\n\n"
                  "A file has a row per stage and an action per cell, in PyTorch's format: 0F3, 1B0, 1I3, 2W1 (virtual stage, kind,\n"
                  "micro-batch; B is the full backward, I its input part, W its weight part). npar derives the communications; if a\n"
                  "file gives them (0SEND_F3, 1RECV_F3, 1SEND_B0, 0RECV_B0), it must give all, and npar checks them unchanged.");
  all->own.addSource(*app);
  all->own.addTo(*app);
  app->add_flag("--check", all->check,
                "exit with code 3 if the schedule cannot run, violates the order of gradients, or exceeds the memory cap");
  addFormat(*app, all->own, {"text", "json", "csv", "svg"});

  CLI::App *difference = app->add_subcommand("diff", "compare two schedules: order, live activations, messages, bubble\n\n"
                                                     "Example:\n"
                                                     "  npar schedule diff gpipe 1f1b --stages=4 --microbatches=8\n"
                                                     "  npar schedule diff 1f1b mine.csv");
  difference->add_option("SCHEDULES", all->words, "two kinds, such as 1f1b or interleaved(3), or files")->type_name("A B");
  all->difference.addTo(*difference);
  addFormat(*difference, all->difference, {"text", "json"});

  CLI::App *explanation =
      app->add_subcommand("explain", "show where the bubble is, which dependency causes it, and what would reduce it\n\n"
                                     "Example:\n"
                                     "  npar schedule explain --kind=1f1b --stages=4 --microbatches=8");
  all->explanation.addSource(*explanation);
  all->explanation.addTo(*explanation);
  addFormat(*explanation, all->explanation, {"text", "json"});

  for (CLI::App *inner : {difference, explanation}) {
    inner->allow_extras();
    inner->footer(exitCodeText);
  }
  return {app, [all, app, difference, explanation] {
            for (const CLI::App *inner : {difference, explanation})
              for (const CLI::Option *option : app->get_options())
                if (inner->parsed() && option->count() > 0)
                  return fail(ExitCode::Usage, option->get_name() + " precedes '" + inner->get_name() +
                                                   "', which has its own flags: give it after that, if it has this flag");
            if (difference->parsed())
              return showDifference(all->words, all->difference);
            if (explanation->parsed())
              return showExplanation(all->explanation);
            return show(all->own, all->check);
          }};
}

} // namespace npar::driver
