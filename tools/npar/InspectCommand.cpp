// `npar inspect`: what a compiled program holds and does, without running it: numbers, a picture, a page, a planned timeline.
#include "tools/npar/Command.h"

#include "engine/files/BoundedText.h"
#include "tools/npar/files/PendingFile.h"
#include "tools/npar/foreign/AsRun.h"
#include "tools/npar/machine/MachineFile.h"
#include "tools/npar/model/Compilation.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/PlaceFlag.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/view/Actual.h"
#include "tools/npar/view/Annotate.h"
#include "tools/npar/view/HostTraffic.h"
#include "tools/npar/view/ParameterBytes.h"
#include "tools/npar/view/SavedText.h"
#include "tools/npar/view/Summary.h"
#include "tools/npar/view/Timeline.h"
#include "tools/npar/view/TraceText.h"
#include "tools/npar/view/View.h"
#include "tools/npar/view/ViewJson.h"
#include "tools/npar/view/ViewPage.h"
#include "tools/npar/view/Why.h"

#include <deque>
#include <iostream>
#include <optional>

namespace npar::driver {
namespace {

struct InspectFlags {
  ModelOptions model;
  std::string svg, html, trace, actual;
  std::string as; ///< a program; empty: not given
  std::vector<std::string> compare, compareSettings;
  int64_t hosts = 0, perHost = 0; ///< 0: not given
  std::optional<std::string> place;
  bool json = false, why = false, annotate = false, parameterBytes = false, saved = false;
};

ExitCode writeText(const std::string &path, const std::string &text) {
  engine::Status status = program::writeFileAtomically(path, text.data(), text.size());
  return status.ok() ? ExitCode::Good : fail(status);
}

/// A model to compare with: a text under the same flags, or a program as it is.
ModelOptions otherModel(const InspectFlags &flags, const std::string &other) {
  ModelOptions options = flags.model;
  options.model = other;
  if (options.isCompiled())
    options.plan.reset(), options.train.reset(), options.config.reset(), options.machine.reset(), options.settings.clear(),
        options.kind = program::ProgramKind::Training;
  return options;
}

/// The views to compare with: other models or programs, then the same model under other settings.
ExitCode loadCompared(const InspectFlags &flags, FileClaims &files, std::deque<View> &views) {
  auto add = [&](const ModelOptions &options, const std::string &remark) {
    Outcome<ProgramPointer> loaded = loadModel(options, files, /*withoutKernels=*/true);
    if (!loaded.ok())
      return loaded.code();
    views.push_back(viewOf((*loaded)->root()));
    views.back().title += " (" + remark + ")";
    return ExitCode::Good;
  };
  for (const std::string &other : flags.compare) {
    if (ExitCode code = add(otherModel(flags, other), other); code != ExitCode::Good)
      return code;
  }
  if (flags.compareSettings.empty())
    return ExitCode::Good;
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage, "--compare-set cannot change a compiled program; give the model text (.npar) instead of '" +
                                     flags.model.model + "', or another program with --compare OTHER.npx");
  ModelOptions options = flags.model;
  std::string remark = "with";
  for (const std::string &setting : flags.compareSettings) {
    options.settings.push_back(setting);
    remark += " " + setting;
  }
  return add(options, remark);
}

/// Joins the trace of a run with the plan.
Outcome<Actual> loadActual(const std::string &path, const program::Program &program, const View &planned) {
  engine::Result<std::string> text = program::readBoundedText(path, "", largestTrace);
  if (!text.ok())
    return fail(text.status());
  engine::Result<Actual> actual = actualOf(program, planned, *text, path);
  if (!actual.ok())
    return fail(actual.status());
  return std::move(*actual);
}

/// The accounting of saved activations needs the model's text: a compiled program has buffers, not what gradients ask for.
ExitCode inspectSaved(const InspectFlags &flags) {
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage,
                "--saved needs the model text (.npar); '" + flags.model.model + "' is compiled and no longer knows what its gradients use");
  Outcome<ElaboratedModel> text = elaborateModel(flags.model);
  if (!text.ok())
    return text.code();
  Outcome<compiler::SavedActivations> saved = text->compilation->saved(text->program);
  if (!saved.ok())
    return saved.code();
  if (flags.json)
    std::cout << savedJson(*saved).dump(2) << '\n';
  else
    std::cout << savedText(*saved);
  return ExitCode::Good;
}

/// What stands alone on standard output, by the flag that asks for it; empty: nothing does.
std::string loneFlag(const InspectFlags &flags) {
  return flags.why ? "--why" : flags.parameterBytes ? "--bytes-per-parameter" : flags.hosts > 0 ? "--hosts" : "";
}

/// The ranks placed on hosts, and what they send each other there; nothing when no hosts were given.
Outcome<std::optional<HostTraffic>> placeRanks(const InspectFlags &flags, const program::Program &program) {
  if (flags.hosts == 0)
    return std::optional<HostTraffic>();
  Outcome<program::PlaceWords> words = placeWords(flags.place, program);
  if (!words.ok())
    return words.code();
  std::vector<program::HostRoom> rooms;
  for (int64_t host = 0; host < flags.hosts; ++host)
    rooms.push_back({std::to_string(host), flags.perHost});
  engine::Result<std::vector<std::vector<int64_t>>> places = placeOnHosts(program, *words, rooms);
  if (!places.ok())
    return fail(places.status());
  return std::optional(hostTraffic(program, *words, std::move(*places)));
}

ExitCode runInspect(const InspectFlags &flags) {
  if ((flags.hosts > 0) != (flags.perHost > 0) || (flags.place && flags.hosts == 0))
    return fail(ExitCode::Usage,
                "--hosts N and --per-host K go together, and --place with both: how many hosts there are, and how many ranks "
                "each of them holds");
  bool others = !loneFlag(flags).empty() || !flags.svg.empty() || !flags.html.empty() || !flags.trace.empty() || !flags.actual.empty() ||
                !flags.compare.empty() || !flags.compareSettings.empty();
  if (!flags.as.empty() && (others || flags.saved || flags.annotate || flags.json))
    return fail(ExitCode::Usage, "--as stands alone: what it prints is for another program");
  if (!flags.as.empty() && flags.model.kind != program::ProgramKind::Training)
    return fail(ExitCode::Usage, "--as is of training: it goes without --for");
  if ((flags.saved || flags.annotate) && (others || (flags.saved && flags.annotate)))
    return fail(ExitCode::Usage,
                std::string(flags.saved ? "--saved" : "--annotate") + " stands alone: of the other outputs it goes with --json only");
  if ((flags.saved || flags.annotate) && flags.model.kind != program::ProgramKind::Training)
    return fail(ExitCode::Usage, std::string(flags.saved ? "--saved" : "--annotate") + " is of training: it goes without --for");
  if (!loneFlag(flags).empty() && !flags.json && flags.html.empty() &&
      !(flags.actual.empty() && flags.compare.empty() && flags.compareSettings.empty()))
    return fail(ExitCode::Usage,
                loneFlag(flags) +
                    " prints nothing else: --actual, --compare and --compare-set go with it only where --json or --html is given");
  for (const std::string &setting : flags.compareSettings)
    if (!settingOf(setting))
      return fail(ExitCode::Usage, "--compare-set wants KEY=VALUE, such as 'schedule=gpipe', not '" + setting + "'");
  FileClaims files;
  files.write("--svg", flags.svg, {".svg"});
  files.write("--html", flags.html, {".html"});
  files.write("--planned-trace", flags.trace, {".json"});
  files.read("--actual", flags.actual);
  files.read("the model", flags.model.file());
  for (const std::string &other : flags.compare)
    files.read("--compare", otherModel(flags, other).file());
  if (ExitCode code = files.check(); code != ExitCode::Good)
    return code;
  for (const std::string &path : {flags.svg, flags.html, flags.trace})
    if (!path.empty())
      if (engine::Status status = checkWritable(path); !status.ok())
        return fail(status);
  for (const auto &[name, format] : foreignFormats())
    if (name == flags.as) {
      Outcome<std::string> text = planAs(flags.model, format);
      if (text.ok())
        std::cout << *text;
      return text.code();
    }
  if (flags.saved)
    return inspectSaved(flags);
  if (flags.annotate)
    return annotatePlan(flags.model, flags.json);
  Outcome<ProgramPointer> loaded = loadModel(flags.model, files, /*withoutKernels=*/true);
  if (!loaded.ok())
    return loaded.code();
  const program::Program &program = (*loaded)->root();
  Outcome<std::optional<HostTraffic>> traffic = placeRanks(flags, program);
  if (!traffic.ok())
    return traffic.code();
  std::deque<View> views = {viewOf(program)};
  if (ExitCode code = loadCompared(flags, files, views); code != ExitCode::Good)
    return code;
  std::optional<Actual> actual;
  if (!flags.actual.empty()) {
    Outcome<Actual> joined = loadActual(flags.actual, program, views[0]);
    if (!joined.ok())
      return joined.code();
    actual = std::move(*joined);
  }
  std::vector<const View *> all;
  for (const View &view : views) {
    all.push_back(&view);
    if (actual && all.size() == 1)
      all.push_back(&actual->measured);
  }

  // Files first: what cannot be written leaves no half answer on standard output.
  if (!flags.svg.empty())
    if (ExitCode code = writeText(flags.svg, timelineSvg(timelineOf(views[0]))); code != ExitCode::Good)
      return code;
  if (!flags.html.empty())
    if (ExitCode code = writeText(flags.html, viewPage(all)); code != ExitCode::Good)
      return code;
  if (!flags.trace.empty())
    if (ExitCode code = writeText(flags.trace, viewTrace(views[0])); code != ExitCode::Good)
      return code;

  Summary summary = summarize(program);
  if (flags.json) {
    nlohmann::ordered_json json = summaryJson(summary);
    addView(json, views[0]);
    if (*traffic)
      json["placement"] = hostTrafficJson(**traffic);
    for (size_t i = 1; i < views.size(); ++i)
      json["compared"].push_back(comparedJson(views[i]));
    if (actual)
      json["actual"] = actualJson(views[0], *actual);
    for (const ClassView &part : views[0].classes) {
      nlohmann::ordered_json &one = json["classes"].at(part.programClass);
      if (flags.why)
        one["why"] = whyJson(views[0], part);
      if (flags.parameterBytes)
        one["bytes_per_parameter"] = parameterBytesJson(program, *program.classes()->Get(part.programClass));
    }
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else if (!loneFlag(flags).empty()) {
    std::vector<std::string> texts;
    if (flags.why)
      texts.push_back(whyText(views[0]));
    if (flags.parameterBytes)
      texts.push_back(parameterBytesText(program));
    if (*traffic)
      texts.push_back(hostTrafficText(program, **traffic));
    for (const std::string &text : texts)
      std::cout << (&text == &texts.front() ? "" : "\n") << text;
  } else {
    std::cout << summaryTable(summary) << viewText(views[0]);
    if (actual)
      std::cout << actualText(views[0], *actual);
    if (views.size() > 1)
      std::cout << comparisonText(all);
  }
  return ExitCode::Good;
}

} // namespace

Command addInspectCommand(CLI::App &driver) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App *app = driver.add_subcommand("inspect", "show what each rank holds and does, without running it\n\n"
                                                   "Example:\n"
                                                   "  npar inspect gpt2 --set mesh.pp=4 --html gpt2.html --compare-set schedule=gpipe\n"
                                                   "  npar inspect gpt2 --why\n"
                                                   "  npar inspect gpt2 --annotate\n"
                                                   "  npar inspect gpt2 --as megatron\n"
                                                   "  npar inspect gpt2 --hosts 2 --per-host 4 --place spread\n");
  flags->model.addTo(*app);
  flags->model.addKindTo(*app);
  addMachineTo(*app, flags->model);
  app->add_flag("--json", flags->json, "one JSON object on standard output; bytes and counts are per rank and training step");
  app->add_flag("--why", flags->why,
                "explain each collective: the plan's rule and line, the two layouts, bytes, how often, what would remove it");
  app->add_flag("--annotate", flags->annotate, "print the plan's text with the effect of each line after it");
  app->add_option("--as", flags->as,
                  "print the plan as another program takes it: flags of Megatron-LM, a TOML of torchtitan, a JSON of DeepSpeed; what that "
                  "program cannot do is an error at its line")
      ->type_name("PROGRAM")
      ->check(CLI::IsMember({"megatron", "torchtitan", "deepspeed"}));
  app->add_flag("--bytes-per-parameter", flags->parameterBytes,
                "what each rank keeps of parameters, gradients and optimizer states, in bytes per parameter and decimal GB");
  app->add_flag("--saved", flags->saved,
                "only the activations that the backward of a micro-batch needs, by block and operation, in the papers' unit");
  app->add_option("--hosts", flags->hosts,
                  "which ranks stand on which of so many hosts, and the bytes of a training step inside and between them")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 20));
  app->add_option("--per-host", flags->perHost, "ranks that each of the hosts holds")
      ->type_name("K")
      ->check(wholeNumber(1, int64_t{1} << 20));
  addPlaceTo(*app, flags->place);
  app->add_option("--svg", flags->svg, "draw the schedule: one lane per stage, communication, live memory")
      ->type_name("FILE.svg")
      ->check(notEmpty());
  app->add_option("--html", flags->html,
                  "one page to look around in: zoom, steps with source lines, dependencies, memory; needs no network")
      ->type_name("FILE.html")
      ->check(notEmpty());
  app->add_option("--planned-trace", flags->trace, "write the planned timeline for Perfetto or chrome://tracing")
      ->type_name("FILE.json")
      ->check(notEmpty());
  app->add_option("--actual", flags->actual, "lay the trace of a run (npar run --trace) of this program beside the plan")
      ->type_name("FILE.json")
      ->check(notEmpty());
  app->add_option("--compare", flags->compare,
                  "lay another compiled program beside it, or a model text compiled with the same flags (may be repeated)")
      ->type_name("OTHER")
      ->check(notEmpty())
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--compare-set", flags->compareSettings, "lay the same model beside it with this setting changed, such as schedule=gpipe")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return {app, [flags] {
            ExitCode code = findMachine(flags->model);
            return code == ExitCode::Good ? runInspect(*flags) : code;
          }};
}

} // namespace npar::driver
