// `npar inspect`: what a compiled program holds and does, without running it: numbers, a picture, a page, a planned timeline.
#include "tools/npar/Command.h"

#include "engine/files/BoundedText.h"
#include "engine/files/PendingFile.h"
#include "engine/show/CollectiveCauses.h"
#include "engine/show/HostTraffic.h"
#include "engine/show/Layout.h"
#include "engine/show/MeasuredRun.h"
#include "engine/show/ParameterBytes.h"
#include "engine/show/ParameterShares.h"
#include "engine/show/Summary.h"
#include "engine/show/Timeline.h"
#include "engine/show/TraceText.h"
#include "engine/show/View.h"
#include "engine/show/ViewJson.h"
#include "engine/show/ViewPage.h"
#include "tools/lib/annotate/Annotate.h"
#include "tools/lib/annotate/SavedActivationsText.h"
#include "tools/lib/foreign/AsRun.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/simulate/Prediction.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/ForeignFlags.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"

#include <deque>
#include <fmt/format.h>
#include <iostream>
#include <optional>

namespace npar::driver {
namespace {

/// What is printed. `Summary` is the command without a view's name.
enum class InspectView { Summary, Why, Annotate, Saved, Bytes, Hosts, Layout, Compare, Actual };

struct InspectFlags {
  ModelOptions model;
  std::string svg, html, trace, actual;
  const foreign::ForeignProgram *as = nullptr; ///< null: not given
  std::vector<std::string> compare, comparePlans, compareSettings;
  int64_t hosts = 0, perHost = 0;
  std::optional<int64_t> rank;
  std::optional<std::string> place;
  bool json = false;
};

ExitCode writeText(const std::string &path, const std::string &text) {
  engine::Status status = files::writeFileAtomically(path, text.data(), text.size());
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
ExitCode loadCompared(const InspectFlags &flags, FileClaims &files, std::deque<show::View> &views) {
  auto add = [&](const ModelOptions &options, const std::string &remark) {
    Outcome<ProgramPointer> loaded = loadModel(options, files, /*withoutKernels=*/true);
    if (!loaded.ok())
      return loaded.code();
    views.push_back(show::viewOf((*loaded)->root()));
    views.back().title += " (" + remark + ")";
    return ExitCode::Good;
  };
  for (const std::string &other : flags.compare) {
    if (ExitCode code = add(otherModel(flags, other), other); code != ExitCode::Good)
      return code;
  }
  if (flags.compareSettings.empty() && flags.comparePlans.empty())
    return ExitCode::Good;
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage, std::string(flags.comparePlans.empty() ? "--compare-set" : "--compare-plan") +
                                     " cannot change a compiled program; give the model file (.npar) instead of '" + flags.model.model +
                                     "', or another program to compare it with");
  for (const std::string &plan : flags.comparePlans) {
    ModelOptions options = flags.model;
    options.plan = plan;
    if (ExitCode code = add(options, "plan " + plan); code != ExitCode::Good)
      return code;
  }
  if (flags.compareSettings.empty())
    return ExitCode::Good;
  ModelOptions options = flags.model;
  std::string remark = "with";
  for (const std::string &setting : flags.compareSettings) {
    options.settings.push_back(setting);
    remark += " " + setting;
  }
  return add(options, remark);
}

/// Joins the trace of a run with the plan.
Outcome<show::MeasuredRun> loadActual(const std::string &path, const program::Program &program, const show::View &planned) {
  engine::Result<std::string> text = files::readBoundedText(path, "", show::largestTrace);
  if (!text.ok())
    return fail(text.status());
  engine::Result<show::MeasuredRun> actual = show::measuredRunOf(program, planned, *text, path);
  if (!actual.ok())
    return fail(actual.status());
  return std::move(*actual);
}

using Places = std::vector<std::vector<int64_t>>; ///< the ranks of each host

/// Hosts from --hosts and --per-host, else those of --machine; none where no flag says.
Outcome<std::vector<program::HostRoom>> hostRooms(const InspectFlags &flags, const program::Program &program) {
  std::vector<program::HostRoom> rooms;
  for (int64_t host = 0; host < flags.hosts; ++host)
    rooms.push_back({std::to_string(host), flags.perHost});
  if (!rooms.empty() || !flags.model.machine)
    return rooms;
  Outcome<dsl::Machine> machine = reported(planner::readMachineFile(flags.model.machine, terminal()));
  if (!machine.ok())
    return machine.code();
  return reported(planner::roomsFor(*machine, program::worldOf(program), 0));
}

Outcome<Places> placesOf(const program::Program &program, const program::PlaceWords &words, const std::vector<program::HostRoom> &rooms) {
  engine::Result<Places> places = placeOnHosts(program, words, rooms);
  if (!places.ok())
    return fail(places.status());
  return std::move(*places);
}

/// The ranks placed on hosts, and what they send each other there.
Outcome<show::HostTraffic> placeRanks(const InspectFlags &flags, const program::Program &program) {
  Outcome<program::PlaceWords> words = placeWords(flags.place, program);
  if (!words.ok())
    return words.code();
  Outcome<std::vector<program::HostRoom>> rooms = hostRooms(flags, program);
  if (!rooms.ok())
    return rooms.code();
  Outcome<Places> places = placesOf(program, *words, *rooms);
  if (!places.ok())
    return places.code();
  return show::hostTraffic(program, *words, std::move(*places));
}

/// Where everything is. Without hosts, the ranks have no place on any.
Outcome<show::Layout> layOut(const InspectFlags &flags, const program::Program &program) {
  if (int64_t world = program::worldOf(program); flags.rank && *flags.rank >= world)
    return fail(ExitCode::Usage, fmt::format("--rank {} is out of range: the plan has {} ranks (0 to {})", *flags.rank, world, world - 1));
  Outcome<program::PlaceWords> words = placeWords(flags.place, program);
  if (!words.ok())
    return words.code();
  Outcome<std::vector<program::HostRoom>> rooms = hostRooms(flags, program);
  if (!rooms.ok())
    return rooms.code();
  if (rooms->empty())
    return show::layoutOf(program, {});
  Outcome<Places> places = placesOf(program, *words, *rooms);
  if (!places.ok())
    return places.code();
  return show::layoutOf(program, *places);
}

/// Activations that the backward pass needs, from the model's text: a compiled program has buffers, not what gradients use.
ExitCode showSaved(const InspectFlags &flags) {
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage,
                "'" + flags.model.model + "' is compiled and does not contain what its gradients use; give the model file (.npar)");
  Outcome<ElaboratedModel> text = elaborateModel(flags.model);
  if (!text.ok())
    return text.code();
  Outcome<memory::SavedActivations> saved = reported(text->compilation->saved(text->program));
  if (!saved.ok())
    return saved.code();
  if (flags.json)
    printJson(annotate::savedJson(*saved));
  else
    std::cout << annotate::savedText(*saved);
  return ExitCode::Good;
}

/// The plan's text with the effect of each line.
ExitCode showAnnotated(const InspectFlags &flags) {
  Outcome<annotate::AnnotatedPlan> plan = reported(annotate::annotatePlan(flags.model, terminal()));
  if (!plan.ok())
    return plan.code();
  if (flags.json)
    printJson(annotate::annotatedJson(*plan));
  else
    std::cout << annotate::annotatedText(*plan);
  return ExitCode::Good;
}

/// The plan as a file of another program.
ExitCode showAs(const InspectFlags &flags) {
  if (flags.json || !flags.svg.empty() || !flags.html.empty() || !flags.trace.empty())
    return fail(ExitCode::Usage, "--as prints a file for another program; leave out --json, --svg, --html and --trace");
  if (flags.model.kind != program::ProgramKind::Training)
    return fail(ExitCode::Usage, "--as translates training plans; leave out --for");
  Outcome<std::string> text = reported(foreign::planAs(flags.model, *flags.as, nullptr, terminal()));
  if (!text.ok())
    return text.code();
  std::cout << *text;
  return ExitCode::Good;
}

ExitCode claimFiles(const InspectFlags &flags, FileClaims &files) {
  files.write("--svg", flags.svg, {".svg"});
  files.write("--html", flags.html, {".html"});
  files.write("--trace", flags.trace, {".json"});
  files.read("the trace", flags.actual);
  files.read("the model", flags.model.file());
  for (const std::string &other : flags.compare)
    files.read("the model to compare with", otherModel(flags, other).file());
  if (ExitCode code = reported(files.check()); code != ExitCode::Good)
    return code;
  for (const std::string &path : {flags.svg, flags.html, flags.trace})
    if (!path.empty())
      if (engine::Status status = files::checkWritable(path); !status.ok())
        return fail(status);
  return ExitCode::Good;
}

/// Writes the files that were asked for. They come before text, so that a file that cannot be written leaves no half answer.
ExitCode writePictures(const InspectFlags &flags, const show::View &first, const std::vector<const show::View *> &all) {
  if (!flags.svg.empty())
    if (ExitCode code = writeText(flags.svg, show::timelineSvg(show::timelineOf(first))); code != ExitCode::Good)
      return code;
  if (!flags.html.empty())
    if (ExitCode code = writeText(flags.html, show::viewPage(all)); code != ExitCode::Good)
      return code;
  return flags.trace.empty() ? ExitCode::Good : writeText(flags.trace, show::viewTrace(first));
}

/// Ranks and what they store, of one rank or of all.
ExitCode showLayout(const InspectFlags &flags, const program::Program &program) {
  Outcome<show::Layout> layout = layOut(flags, program);
  if (!layout.ok())
    return layout.code();
  if (!flags.svg.empty())
    if (ExitCode code = writeText(flags.svg, show::layoutSvg(*layout)); code != ExitCode::Good)
      return code;
  if (flags.json) {
    OrderedJson json = show::summaryJson(show::summarize(program));
    show::addView(json, show::viewOf(program));
    json["layout"] = show::layoutJson(*layout, flags.rank);
    printJson(std::move(json));
  } else {
    std::cout << (flags.rank ? show::rankLayoutText(*layout, *flags.rank) : show::layoutText(*layout));
  }
  return ExitCode::Good;
}

/// Flags of the views hosts and layout that say nothing without others.
ExitCode checkHostFlags(const InspectFlags &flags, InspectView view) {
  if (view != InspectView::Layout)
    return ExitCode::Good;
  if ((flags.hosts > 0) != (flags.perHost > 0))
    return fail(ExitCode::Usage, flags.hosts > 0 ? "--hosts needs --per-host K" : "--per-host needs --hosts N");
  if (flags.place && flags.hosts == 0 && !flags.model.machine)
    return fail(ExitCode::Usage, "--place needs hosts: --hosts N and --per-host K, or --machine NAME");
  return ExitCode::Good;
}

ExitCode inspect(const InspectFlags &flags, InspectView view) {
  for (const std::string &setting : flags.compareSettings)
    if (!models::settingOf(setting))
      return fail(ExitCode::Usage, "--compare-set takes KEY=VALUE, such as 'schedule=gpipe', not '" + setting + "'");
  if (view == InspectView::Compare && flags.compare.empty() && flags.comparePlans.empty() && flags.compareSettings.empty())
    return fail(ExitCode::Usage, "nothing to compare with: give another model or program, --compare-plan NAME or --compare-set KEY=VALUE");
  if (ExitCode code = checkHostFlags(flags, view); code != ExitCode::Good)
    return code;
  FileClaims files;
  if (ExitCode code = claimFiles(flags, files); code != ExitCode::Good)
    return code;
  if (flags.as)
    return showAs(flags);
  if (view == InspectView::Saved)
    return showSaved(flags);
  if (view == InspectView::Annotate)
    return showAnnotated(flags);
  Outcome<ProgramPointer> loaded = loadModel(flags.model, files, /*withoutKernels=*/true);
  if (!loaded.ok())
    return loaded.code();
  const program::Program &program = (*loaded)->root();
  if (view == InspectView::Layout)
    return showLayout(flags, program);
  std::optional<show::HostTraffic> traffic;
  if (view == InspectView::Hosts) {
    Outcome<show::HostTraffic> placed = placeRanks(flags, program);
    if (!placed.ok())
      return placed.code();
    traffic = std::move(*placed);
  }
  std::deque<show::View> views = {show::viewOf(program)};
  if (ExitCode code = loadCompared(flags, files, views); code != ExitCode::Good)
    return code;
  std::optional<show::MeasuredRun> actual;
  if (view == InspectView::Actual) {
    Outcome<show::MeasuredRun> joined = loadActual(flags.actual, program, views[0]);
    if (!joined.ok())
      return joined.code();
    actual = std::move(*joined);
  }
  std::vector<const show::View *> all;
  for (const show::View &one : views) {
    all.push_back(&one);
    if (actual && all.size() == 1)
      all.push_back(&actual->measured);
  }
  if (ExitCode code = writePictures(flags, views[0], all); code != ExitCode::Good)
    return code;

  const show::Summary summary = show::summarize(program);
  if (flags.json) {
    OrderedJson json = show::summaryJson(summary);
    show::addView(json, views[0]);
    if (traffic)
      json["placement"] = show::hostTrafficJson(*traffic);
    if (view == InspectView::Bytes)
      json["model_bytes"] = show::modelBytesJson(program);
    for (size_t i = 1; i < views.size(); ++i)
      json["compared"].push_back(show::comparedJson(views[i]));
    if (actual)
      json["actual"] = show::measuredRunJson(views[0], *actual);
    for (const show::ClassView &part : views[0].classes) {
      OrderedJson &one = json["classes"].at(part.programClass);
      if (view == InspectView::Why)
        one["why"] = show::whyJson(views[0], part);
      if (view == InspectView::Bytes) {
        const program::RankClass &rankClass = *program.classes()->Get(part.programClass);
        one["bytes_per_parameter"] = show::parameterBytesJson(program, rankClass);
        one["parameter_shares"] = show::parameterSharesJson(program, rankClass);
      }
    }
    printJson(std::move(json));
  } else if (view == InspectView::Why) {
    std::cout << show::whyText(views[0]);
  } else if (view == InspectView::Bytes) {
    std::cout << show::parameterBytesText(program);
  } else if (traffic) {
    std::cout << show::hostTrafficText(program, *traffic);
  } else {
    std::cout << show::summaryTable(summary) << show::viewText(views[0]);
    if (actual)
      std::cout << show::measuredRunText(views[0], *actual);
    if (views.size() > 1)
      std::cout << show::comparisonText(all);
  }
  return ExitCode::Good;
}

void addPictures(CLI::App &app, InspectFlags &flags) {
  app.option_defaults()->group("Files");
  app.add_option("--svg", flags.svg, "draw the schedule: a lane per stage, communication, live memory")
      ->type_name("FILE.svg")
      ->check(notEmpty());
  app.add_option("--html", flags.html,
                 "write one page to explore: zoom, steps with source lines, dependencies, memory; it needs no network")
      ->type_name("FILE.html")
      ->check(notEmpty());
  app.add_option("--trace", flags.trace, "write the planned timeline for Perfetto or chrome://tracing")
      ->type_name("FILE.json")
      ->check(notEmpty());
}

/// The flags of every view. `anyKind`: programs of evaluation and generation too.
void addCommon(CLI::App &app, InspectFlags &flags, bool anyKind) {
  app.option_defaults()->group("Model and plan");
  addModelFlags(app, flags.model);
  addWorldFlag(app, flags.model);
  addAccumulateFlag(app, flags.model);
  if (anyKind)
    addKindFlag(app, flags.model);
  addMachineTo(app, flags.model);
  app.option_defaults()->group("Options");
  app.add_flag("--json", flags.json, "print one JSON object; bytes and counts are per rank and training step");
}

} // namespace

Command addInspectCommand(CLI::App &driver) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App *app = driver.add_subcommand("inspect", "show what each rank stores and computes, without running the program\n\n"
                                                   "Example:\n"
                                                   "  npar inspect gpt2 --set mesh.pp=4 --html gpt2.html\n"
                                                   "  npar inspect why gpt2\n"
                                                   "  npar inspect gpt2 --as megatron\n"
                                                   "\n"
                                                   "Without the name of a view it prints a summary. If a model file has the name of\n"
                                                   "a view, give its path: ./why.\n");
  addCommon(*app, *flags, /*anyKind=*/true);
  app->get_option("MODEL")->required(false);
  addProgramFlag(*app, "--as", flags->as,
                 "print the plan in the format of another program: " + foreign::programFiles(/*written=*/true) +
                     "; an error names a line of the plan that the program does not support",
                 /*written=*/true);
  addPictures(*app, *flags);
  // Flags before a view's name belong to the view where it has them too.
  auto views = std::make_shared<std::vector<std::pair<CLI::App *, InspectView>>>();
  auto addView = [&](const char *name, InspectView view, const std::string &does, const std::string &example, bool anyKind = true) {
    CLI::App *inner = app->add_subcommand(name, does + "\n\nExample:\n  npar inspect " + example);
    inner->group("Views");
    inner->allow_extras();
    inner->footer(exitCodeText);
    addCommon(*inner, *flags, anyKind);
    views->push_back({inner, view});
    return inner;
  };
  addView("why", InspectView::Why,
          "explain each collective: the plan's line that causes it, both layouts, bytes, how often, what would remove it", "why gpt2");
  addView("annotate", InspectView::Annotate, "print the plan's text with the effect of each line after it", "annotate gpt2", false);
  addView("saved", InspectView::Saved, "list the activations that the backward pass of a micro-batch needs, by block and operation",
          "saved gpt2 --set recompute=attention", false);
  addView("bytes", InspectView::Bytes, "show bytes per parameter of weights, gradients and optimizer state on each rank",
          "bytes gpt2 --set zero=3");
  CLI::App *hosts = addView("hosts", InspectView::Hosts, "show which ranks each host has, and the bytes inside and between hosts",
                            "hosts gpt2 --hosts 2 --per-host 4 --place spread");
  CLI::App *layout =
      addView("layout", InspectView::Layout,
              "show which ranks share the model, the blocks of each stage, and the part of each parameter that a rank stores",
              "layout gpt2 --hosts 2 --per-host 8");
  for (CLI::App *inner : {hosts, layout}) {
    CLI::Option *number =
        inner->add_option("--hosts", flags->hosts, "number of hosts")->type_name("N")->check(wholeNumber(1, int64_t{1} << 20));
    CLI::Option *each =
        inner->add_option("--per-host", flags->perHost, "ranks on each host")->type_name("K")->check(wholeNumber(1, int64_t{1} << 20));
    if (inner == hosts)
      number->required(), each->required();
    addPlaceTo(*inner, flags->place);
  }
  layout->add_option("--rank", flags->rank, "list all that one rank stores")->type_name("R")->check(wholeNumber(0, int64_t{1} << 40));
  layout->add_option("--svg", flags->svg, "draw the ranks, and the part of the model that each stores")
      ->type_name("FILE.svg")
      ->check(notEmpty());
  CLI::App *compare = addView("compare", InspectView::Compare, "show two or more plans or programs on one time axis",
                              "compare gpt2 --set mesh.pp=4 --compare-set schedule=gpipe");
  compare->add_option("OTHER", flags->compare, "more compiled programs, or model files compiled with the same flags");
  compare->add_option("--compare-plan", flags->comparePlans, "compare with the same model under this plan; may be repeated")
      ->type_name("NAME")
      ->check(notEmpty())
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  compare
      ->add_option("--compare-set", flags->compareSettings,
                   "compare with the same model under this setting, such as schedule=gpipe; all of them change one program")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  CLI::App *actual = addView("actual", InspectView::Actual, "compare the plan with the trace of a run (npar train --trace)",
                             "actual gpt2 --set vocab=256 --set width=64 --set heads=4 --set length=64 trace.json");
  actual->add_option("TRACE", flags->actual, "the file that npar train --trace wrote")->check(notEmpty())->required();
  for (CLI::App *inner : {compare, actual})
    addPictures(*inner, *flags);
  return {app, [flags, app, views] {
            InspectView view = InspectView::Summary;
            for (const auto &[inner, its] : *views)
              if (inner->parsed()) {
                view = its;
                if (app->get_option("MODEL")->count() > 0)
                  return fail(ExitCode::Usage, "the view comes first: npar inspect " + inner->get_name() + " MODEL");
              }
            if (flags->model.model.empty())
              return fail(ExitCode::Usage, "MODEL is required\nnpar: see 'npar inspect --help'");
            if (view == InspectView::Hosts)
              flags->model.world = flags->hosts * flags->perHost;
            ExitCode code = findMachine(flags->model);
            return code == ExitCode::Good ? inspect(*flags, view) : code;
          }};
}

} // namespace npar::driver
